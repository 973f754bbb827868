package capacity

import (
	"testing"
	"time"

	"github.com/headroom-eks/headroom/components/pool"
)

var nine = time.Date(2026, 11, 30, 9, 0, 0, 0, time.UTC)

func ptr(n int) *int { return &n }

// l4 is a pool of g6.xlarge with a configured maximum and some running on-demand nodes in us-west-2a.
func l4(name string, scaler pool.Scaler, maximum, realized int) PoolFacts {
	return PoolFacts{
		Name: name, Scaler: scaler, Advertised: true, DeviceMode: pool.Plugin,
		InstanceTypes: []string{"g6.xlarge"}, CapacityTypes: []pool.CapacityType{pool.OnDemand}, Zones: []string{"us-west-2a", "us-west-2b"},
		PerNode:        PerNode{VCPUs: 4, MemoryMiB: 16384, GPUs: 1, GPUModel: "L4", GPUMemoryMiB: 22888},
		Configured:     Configured{MaxNodeCount: ptr(maximum)},
		Realized:       Realized{Nodes: map[Place]int{{"us-west-2a", pool.OnDemand}: realized}},
		ScalesFromZero: true,
		Ceilings:       []Bound{{Kind: ConfiguredKind, Nodes: maximum}},
	}
}

func allocate(limits []SharedLimit, pools ...PoolFacts) Document {
	return Allocate(Input{Cluster: "headroom-dev", Region: "us-west-2", Now: nine, ValidFor: time.Hour, Pools: pools, Limits: limits})
}

// The bug this project exists to end: field fault BR-20.
func TestAFixedPoolPromisesWhatRunsWhateverItsBounds(t *testing.T) {
	p := l4("gpu-l4", pool.Fixed, 1, 1)
	p.Configured = Configured{NodeCount: ptr(1), MinNodeCount: ptr(0), MaxNodeCount: ptr(4)}
	got := allocate(nil, p).Pools[0]
	if got.Nodes != (Counts{Realized: 1, Maximum: 1, Firm: 1}) || got.BoundBy != NoAutoscaler || got.LargestGang != 1 {
		t.Errorf("nodes %+v bound by %s, gang %d; want 1 of everything, bound by no-autoscaler", got.Nodes, got.BoundBy, got.LargestGang)
	}
}
