package plan_test

import (
	"fmt"
	"time"

	"github.com/headroom-eks/headroom/capacity"
	"github.com/headroom-eks/headroom/capacity/plan"
	"github.com/headroom-eks/headroom/pool"
)

func ExampleAllocate() {
	quota, _ := plan.QuotaFor("g6.xlarge", pool.OnDemand)
	maximum := 4
	configured := capacity.Configured{MaxNodeCount: &maximum}
	node := capacity.PerNode{VCPUs: 4, MemoryMiB: 16384, GPUs: 1, GPUModel: "L4"}
	doc := plan.Allocate(plan.Input{
		Cluster:  "headroom-dev",
		Region:   "us-west-2",
		Now:      time.Date(2026, 11, 30, 9, 0, 0, 0, time.UTC),
		ValidFor: time.Hour,
		Limits:   []plan.SharedLimit{quota.Limit(16, 4)},
		Pools: []plan.PoolFacts{{
			Name:          "gpu-l4",
			Scaler:        pool.Karpenter,
			Advertised:    true,
			DeviceMode:    pool.Plugin,
			CapacityTypes: []pool.CapacityType{pool.OnDemand},
			PerNode:       node,
			Configured:    configured,
			Realized: plan.Realized{Nodes: map[plan.Place]int{{Zone: "us-west-2a",
				CapacityType: pool.OnDemand}: 1}},
			Ceilings: []plan.Bound{plan.ConfiguredCeiling(pool.Karpenter, false, configured, node)},
			Uses:     plan.QuotaUses("g6.xlarge", node.VCPUs, []pool.CapacityType{pool.OnDemand}),
		}},
	})
	p := doc.Pools[0]
	fmt.Printf("%d of %d nodes\n%s\n%s\n", p.Nodes.Realized, p.Nodes.Maximum, p.BoundBy, p.Ceilings[0].Detail)
	// Output:
	// 1 of 3 nodes
	// vcpu-quota
	// on-demand: 12 vCPUs at 4 a node (quota of 16 vCPUs, 4 of them assumed to be used by others)
}
