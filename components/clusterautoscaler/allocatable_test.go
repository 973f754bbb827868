package clusterautoscaler

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/resource"
	"pgregory.net/rapid"
)

// Tried-2, section 4, part 1, finding 9: a template with all of the memory started nodes on which no pod fit.
func TestATemplateHasWhatIsAllocatable(t *testing.T) {
	for name, c := range map[string]struct {
		nodes []Node
		want  map[string]string
	}{
		// Real nodes of the type have 14.6 to 14.9 GiB, 58 pods.
		"g6.xlarge": {[]Node{{4, 16384, 58}}, map[string]string{"cpu": "3920m", "memory": "14162Mi", "pods": "58"}},
		"g6.48xlarge": {[]Node{{192, 786432, 737}},
			map[string]string{"cpu": "191450m", "memory": "718987Mi", "pods": "737"}},
		"the smaller of two": {[]Node{{4, 32768, 58}, {4, 16384, 110}},
			map[string]string{"cpu": "3920m", "memory": "13590Mi", "pods": "58"}},
		"a type that nobody described": {[]Node{{}}, map[string]string{"cpu": "0m", "memory": "0Mi", "pods": "0"}},
	} {
		if diff := cmp.Diff(c.want, allocatable(c.nodes)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

func TestAllocatableIsReadByTheAutoscalerAndNeverAboveTheNode(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := Node{
			VCPUs:     rapid.IntRange(0, 448).Draw(t, "vcpus"),
			MemoryMiB: rapid.IntRange(0, 32<<20).Draw(t, "memory"),
			MaxPods:   rapid.IntRange(0, 737).Draw(t, "pods"),
		}
		most := map[string]resource.Quantity{
			"cpu":    *resource.NewQuantity(int64(n.VCPUs), resource.DecimalSI),
			"memory": *resource.NewQuantity(int64(n.MemoryMiB)<<20, resource.BinarySI),
			"pods":   *resource.NewQuantity(int64(n.MaxPods), resource.DecimalSI),
		}
		for name, text := range allocatable([]Node{n}) {
			// as aws_manager.go does it
			value, err := resource.ParseQuantity(text)
			if err != nil || value.Sign() < 0 || value.Cmp(most[name]) > 0 {
				t.Fatalf("%s of %+v is %q: %v", name, n, text, err)
			}
		}
	})
}
