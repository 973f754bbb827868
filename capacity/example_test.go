package capacity_test

import (
	"fmt"
	"time"

	"github.com/headroom-eks/headroom/capacity"
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
	// not-known
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
