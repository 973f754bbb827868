package label

import (
	"fmt"
	"slices"
	"strings"

	"github.com/headroom-eks/headroom/pool"
	"github.com/headroom-eks/headroom/problem"
	"k8s.io/apimachinery/pkg/util/validation"
)

// ValidateTaints reports every taint that Kubernetes would refuse, and every repeat. Path names the list.
func ValidateTaints(path string, taints []pool.Taint) (problems problem.List) {
	for i, t := range taints {
		at := fmt.Sprintf("%s[%d] %q", path, i, t.Key)
		for _, msg := range validation.IsQualifiedName(t.Key) {
			problems.Add(at, "the key is refused by Kubernetes: "+msg, nil, "")
		}
		for _, msg := range validation.IsValidLabelValue(t.Value) {
			problems.Add(at, "the value is refused by Kubernetes: "+msg, t.Value, "")
		}
		problem.OneOf(&problems, at+".effect", t.Effect, pool.Effects)
		for _, earlier := range taints[:i] {
			if earlier.Same(t) {
				problems.Add(at, "the taint is given twice with one effect", string(t.Effect), "keep one")
				break
			}
		}
	}
	return problems
}

// maxGroupTaints is EKS's limit for a managed group.
// https://docs.aws.amazon.com/eks/latest/userguide/node-taints-managed-node-groups.html
const maxGroupTaints = 50

// ValidateGroupTaints reports what EKS refuses of the taints of a managed group, beyond what ValidateTaints does. All
// are the taints that its nodes get, startup taints and those of the program included.
func ValidateGroupTaints(path string, all []pool.Taint) (problems problem.List) {
	if n := len(all); n > maxGroupTaints {
		problems.Add(path, fmt.Sprintf("are more than the %d that EKS takes for a managed group, startup taints and "+
			"the GPU taint included", maxGroupTaints), n, "remove some")
	}
	for _, t := range all {
		problems.Join(groupKey(fmt.Sprintf("%s %q", path, t.Key), t.Key))
	}
	return problems
}

// ValidateStartupTaints reports what ValidateTaints does, and taints that stay: those among the pool's own too.
func ValidateStartupTaints(path string, startup, taints []pool.Taint) problem.List {
	problems := ValidateTaints(path, startup)
	for i, t := range startup {
		if slices.ContainsFunc(taints, t.Same) {
			problems.Add(fmt.Sprintf("%s[%d] %q", path, i, t.Key), "is among the pool's taints too, with the same "+
				"effect",
				string(t.Effect), "keep one")
		}
	}
	return problems
}

// ValidateTaintDomains reports taints under the domains that Karpenter keeps for itself. Its nodes never get rid of a
// copy of one. https://karpenter.sh/docs/concepts/disruption/#disruption-controller
func ValidateTaintDomains(path string, taints []pool.Taint) (problems problem.List) {
	for i, t := range taints {
		if domain, own := inDomain(t.Key, karpenterDomains...); own {
			problems.Add(fmt.Sprintf("%s[%d] %q", path, i, t.Key),
				fmt.Sprintf("taints under %s are Karpenter's own", domain),
				nil, "use a domain of your own")
		}
	}
	return problems
}

// inDomain reports whether a key lies in a domain that Kubernetes or EKS keeps for itself, sub-domains included.
func inDomain(key string, domains ...string) (string, bool) {
	domain, _, found := strings.Cut(key, "/")
	if !found {
		return "", false
	}
	for _, d := range domains {
		if domain == d || strings.HasSuffix(domain, "."+d) {
			return d, true
		}
	}
	return "", false
}
