package pool

import "fmt"

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

// Same reports whether Kubernetes takes both for one taint: key and effect are equal, whatever the values.
func (t Taint) Same(other Taint) bool { return t.Key == other.Key && t.Effect == other.Effect }
