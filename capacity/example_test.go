package capacity_test

import (
	"fmt"
	"time"

	"github.com/headroom-eks/headroom/capacity"
	"github.com/headroom-eks/headroom/components/pool"
)

// output is what `pulumi stack output capacity` gives, shortened.
const output = `{
  "schemaVersion": 1, "cluster": "headroom-dev", "region": "us-west-2",
  "observedAt": "2026-11-30T09:00:00Z", "validUntil": "2026-11-30T10:00:00Z",
  "pools": [{
    "name": "gpu-l4", "scaler": "karpenter", "advertised": true, "deviceMode": "plugin",
    "perNode": {"vcpus": 4, "memoryMiB": 16384, "gpus": 1, "gpuModel": "L4"}, "capacityTypes": ["on-demand"],
    "nodes": {"realized": 1, "maximum": 3.0, "firm": "3"}, "gpus": {"realized": 1, "maximum": 3, "firm": 3},
    "boundBy": "vcpu-quota", "largestGang": 3,
    "ceilings": [{"kind": "vcpu-quota", "nodes": 3, "code": "L-DB2E81BA"}, {"kind": "configured", "nodes": 4}]
  }]
}`

func ExampleDocument_Fits() {
	doc, err := capacity.Decode(output)
	if err != nil {
		fmt.Println(err)
		return
	}
	gang := capacity.Gang{Nodes: 2, GPUsPerNode: 1, GPUModel: "L4"}
	onTime, late := doc.ObservedAt.Add(time.Minute), doc.ValidUntil.Add(time.Minute)
	fmt.Println(doc.At(onTime).Fits(gang).When)
	fmt.Println(doc.At(late).Fits(gang).When)
	gang.Nodes = 4
	answer := doc.At(onTime).Fits(gang)
	fmt.Println(answer.When, "-", answer.Reason)
	// Output:
	// after scaling
	// no
	// no - pool gpu-l4 can give one gang 3 nodes, not 4; bound by vcpu-quota L-DB2E81BA
}

func ExampleDecode_missing() {
	doc, err := capacity.Decode(nil) // the stack's first update failed: there is no output
	fmt.Println(len(doc.Pools), err)
	// Output: 0 <nil>
}

func ExampleDiff() {
	before, _ := capacity.Decode(output)
	after, _ := capacity.Decode(output)
	after.Pools[0].Nodes.Maximum = 2
	fmt.Print(capacity.Markdown(capacity.Diff(before, after)))
	// Output: - `gpu-l4`: **lower** maximum 3 -> 2 (vcpu-quota L-DB2E81BA)
}

func ExampleAllocate() {
	quota, _ := capacity.QuotaFor("g6.xlarge", pool.OnDemand)
	maximum := 4
	configured := capacity.Configured{MaxNodeCount: &maximum}
	node := capacity.PerNode{VCPUs: 4, MemoryMiB: 16384, GPUs: 1, GPUModel: "L4"}
	doc := capacity.Allocate(capacity.Input{
		Cluster:  "headroom-dev",
		Region:   "us-west-2",
		Now:      time.Date(2026, 11, 30, 9, 0, 0, 0, time.UTC),
		ValidFor: time.Hour,
		Limits:   []capacity.SharedLimit{quota.Limit(16, 4)},
		Pools: []capacity.PoolFacts{{
			Name:          "gpu-l4",
			Scaler:        pool.Karpenter,
			Advertised:    true,
			DeviceMode:    pool.Plugin,
			CapacityTypes: []pool.CapacityType{pool.OnDemand},
			PerNode:       node,
			Configured:    configured,
			Realized: capacity.Realized{Nodes: map[capacity.Place]int{{Zone: "us-west-2a",
				CapacityType: pool.OnDemand}: 1}},
			Ceilings: []capacity.Bound{capacity.ConfiguredCeiling(pool.Karpenter, false, configured, node)},
			Uses:     capacity.QuotaUses("g6.xlarge", node.VCPUs, []pool.CapacityType{pool.OnDemand}),
		}},
	})
	p := doc.Pools[0]
	fmt.Printf("%d of %d nodes\n%s\n", p.Nodes.Realized, p.Nodes.Maximum, p.Ceilings[0])
	// Output: 1 of 3 nodes vcpu-quota L-DB2E81BA: on-demand: 3 nodes fit in 12 of 12 vCPUs at 4 each (quota of 16
	// vCPUs, 4 of them assumed to be used by others)
}
