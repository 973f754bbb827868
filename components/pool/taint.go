package pool

import (
	"fmt"
	"slices"
	"strings"

	"github.com/headroom-eks/headroom/problem"
	"k8s.io/apimachinery/pkg/util/validation"
)

// Effect of a taint, in Kubernetes spelling.
type Effect string

const (
	NoSchedule       Effect = "NoSchedule"
	NoExecute        Effect = "NoExecute"
	PreferNoSchedule Effect = "PreferNoSchedule"
)

// Effects lists every effect a taint may have.
var Effects = []Effect{NoSchedule, NoExecute, PreferNoSchedule}

// EKS is the spelling that the EKS node group API wants; every Kubernetes object wants the other one.
// https://docs.aws.amazon.com/eks/latest/APIReference/API_Taint.html
func (e Effect) EKS() string {
	switch e {
	case NoExecute:
		return "NO_EXECUTE"
	case PreferNoSchedule:
		return "PREFER_NO_SCHEDULE"
	default:
		return "NO_SCHEDULE"
	}
}

// Taint of a node.
type Taint struct {
	// Key of the taint, with or without a domain.
	Key string `json:"key"`
	// Value of the taint; may be empty.
	Value string `json:"value,omitempty"`
	// Effect in Kubernetes spelling.
	Effect Effect `json:"effect" jsonschema:"enum=NoSchedule,enum=NoExecute,enum=PreferNoSchedule"`
}

// String is the form kubectl uses: key=value:Effect.
func (t Taint) String() string { return fmt.Sprintf("%s=%s:%s", t.Key, t.Value, t.Effect) }

// ValidateTaints reports every taint that Kubernetes would refuse, and every repeat. Path names the list.
func ValidateTaints(path string, taints []Taint) (problems problem.List) {
	for i, t := range taints {
		at := fmt.Sprintf("%s[%d] %q", path, i, t.Key)
		for _, msg := range validation.IsQualifiedName(t.Key) {
			problems.Add(at, "the key is not a qualified name: %s", msg)
		}
		for _, msg := range validation.IsValidLabelValue(t.Value) {
			problems.Add(at, "value %q is not allowed: %s", t.Value, msg)
		}
		if !slices.Contains(Effects, t.Effect) {
			problems.Add(at, "effect %q is unknown; use one of %s, %s, %s", t.Effect, NoSchedule, NoExecute,
				PreferNoSchedule)
		}
		for _, earlier := range taints[:i] {
			if earlier.Key == t.Key && earlier.Effect == t.Effect {
				problems.Add(at, "the taint is given twice with effect %s; keep one", t.Effect)
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
