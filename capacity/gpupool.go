package capacity

import "github.com/headroom-eks/headroom/pool"

// GPUPool is one entry of the stack output `gpuPools`, in the shape that a claim-based control plane reads from a
// cluster.
// https://github.com/modelplaneai/modelplane/blob/main/apis/inferenceclusters/definition.yaml
type GPUPool struct {
	// Name of the pool.
	Name string `json:"name"`
	// Nodes is the pool's maximum, or its largest gang when it is tied to a zone: gangs of no more nodes together all
	// fit, one after the other, since its best zone holds them whichever zones the first ones take. Such a scheduler
	// takes 0 as "no capacity", not as "can grow".
	Nodes int `json:"nodes"`
	// Devices of one node.
	Devices []GPUDevice `json:"devices"`
}

// GPUDevice is a group of equal devices of one node.
type GPUDevice struct {
	Name string `json:"name"`
	// Claim is how pods get the device; always DRA here.
	Claim string `json:"claim"`
	// Driver publishes the device; it is also the domain of the attributes.
	Driver          string `json:"driver"`
	DeviceClassName string `json:"deviceClassName"`
	// Count of such devices on one node.
	Count int `json:"count"`
	// Attributes by bare name, as the driver reports them.
	Attributes map[string]GPUAttribute `json:"attributes"`
	// Capacity by bare name.
	Capacity map[string]GPUCapacity `json:"capacity"`
}

// GPUAttribute holds exactly one value.
type GPUAttribute struct {
	String  *string `json:"string,omitempty"`
	Version *string `json:"version,omitempty"`
	Bool    *bool   `json:"bool,omitempty"`
	Int     *int    `json:"int,omitempty"`
}

// GPUCapacity is a Kubernetes quantity.
type GPUCapacity struct {
	Value string `json:"value"`
}

// nvidiaDriver is the name of NVIDIA's DRA driver and of its device class for whole GPUs.
const nvidiaDriver = "gpu.nvidia.com"

// reported is what the driver says of a GPU model. Only models that were looked up are here; of others nothing is said
// rather than guessed. From the device metadata that Karpenter 1.15 carries for g6, gr6 and g6e:
// https://github.com/aws/karpenter-provider-aws/blob/v1.15.0/pkg/providers/drametadata/zz_generated_gpu_metadata.go
var reported = map[string]struct{ product, architecture, computeCapability, memory string }{
	"L4":   {"NVIDIA L4", "Ada Lovelace", "8.9.0", "23034Mi"},
	"L40S": {"NVIDIA L40S", "Ada Lovelace", "8.9.0", "46068Mi"},
}

// GPUPools are the advertised DRA pools of a document. A scheduler takes a pool for one fabric, so a pool that is tied
// to a zone counts with its largest gang. Plugin pools are left out: a scheduler that counts claims charges nothing to
// pods without one.
func GPUPools(doc Document) []GPUPool {
	out := []GPUPool{}
	for _, p := range doc.Pools {
		if !p.Advertised || p.DeviceMode != pool.DRA {
			continue
		}
		device := GPUDevice{
			Name:            "gpu",
			Claim:           "DRA",
			Driver:          nvidiaDriver,
			DeviceClassName: nvidiaDriver,
			Count:           p.PerNode.GPUs,
			Attributes:      map[string]GPUAttribute{},
			Capacity:        map[string]GPUCapacity{},
		}
		if r, known := reported[p.PerNode.GPUModel]; known {
			device.Attributes = map[string]GPUAttribute{
				"productName":           {String: &r.product},
				"architecture":          {String: &r.architecture},
				"cudaComputeCapability": {Version: &r.computeCapability},
			}
			device.Capacity = map[string]GPUCapacity{"memory": {Value: r.memory}}
		}
		out = append(out, GPUPool{
			Name:    p.Name,
			Nodes:   min(p.Nodes.Maximum, p.LargestGang),
			Devices: []GPUDevice{device},
		})
	}
	return out
}
