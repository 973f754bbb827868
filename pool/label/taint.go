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
			problems.Addf(at, "the key is not a qualified name: %s", msg)
		}
		for _, msg := range validation.IsValidLabelValue(t.Value) {
			problems.Addf(at, "value %q is not allowed: %s", t.Value, msg)
		}
		if !slices.Contains(pool.Effects, t.Effect) {
			problems.Addf(at, "effect %q is unknown; use one of %s, %s, %s", t.Effect, pool.NoSchedule, pool.NoExecute,
				pool.PreferNoSchedule)
		}
		for _, earlier := range taints[:i] {
			if earlier.Key == t.Key && earlier.Effect == t.Effect {
				problems.Addf(at, "the taint is given twice with effect %s; keep one", t.Effect)
				break
			}
		}
	}
	return problems
}

// inDomain tells whether a key lies in a domain that Kubernetes or EKS keeps for itself, sub-domains included.
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
