// Package pool is the vocabulary that every scaler shares: scalers, capacity types, device modes, taints, labels, tags
// and the shape of a node.
//
// It owns the words and their rules (what Kubernetes, EKS and EC2 accept). It does not own the configuration of a pool,
// which each component takes in its own Args, nor any arithmetic over several pools. It imports no Pulumi.
package pool

import "slices"

// Scaler names what moves a pool's node count.
type Scaler string

const (
	Fixed             Scaler = "fixed" // nothing does
	ClusterAutoscaler Scaler = "cluster-autoscaler"
	Karpenter         Scaler = "karpenter"
	AutoMode          Scaler = "auto-mode"
)

// Scalers lists every scaler a pool may name.
var Scalers = []Scaler{Fixed, ClusterAutoscaler, Karpenter, AutoMode}

// ManagedGroup reports whether the pools of this scaler are EKS managed node groups.
func (s Scaler) ManagedGroup() bool { return s == Fixed || s == ClusterAutoscaler }

// Dynamic reports whether the pools of this scaler are NodePools, without a minimum and without a desired size.
func (s Scaler) Dynamic() bool { return s == Karpenter || s == AutoMode }

// Scales says that something moves the node count of this scaler's pools.
func (s Scaler) Scales() bool { return s != Fixed }

// ExcludesOthers says that pools of this scaler share a cluster with no pool of another.
func (s Scaler) ExcludesOthers() bool { return s == AutoMode }

// CapacityType is how EC2 sells the instances. Kubernetes spelling, as Karpenter uses it.
type CapacityType string

const (
	OnDemand CapacityType = "on-demand"
	Spot     CapacityType = "spot"
	Reserved CapacityType = "reserved"
)

// CapacityTypes lists every capacity type a pool may name.
var CapacityTypes = []CapacityType{OnDemand, Spot, Reserved}

// EKS is the spelling that the EKS API wants for a managed node group.
func (c CapacityType) EKS() string {
	switch c {
	case Spot:
		return "SPOT"
	case Reserved:
		return "CAPACITY_BLOCK"
	default:
		return "ON_DEMAND"
	}
}

// DeviceMode is how pods claim the GPUs of a node.
type DeviceMode string

const (
	Plugin DeviceMode = "plugin" // the nvidia.com/gpu resource of the device plugin
	DRA    DeviceMode = "dra"    // ResourceClaims of Dynamic Resource Allocation
)

// DeviceModes lists every device mode a pool may name.
var DeviceModes = []DeviceMode{Plugin, DRA}

// Tags and labels that mark what belongs to a pool. Realized nodes are counted by the two tags, whatever the scaler.
const (
	ClusterTag = "headroom/cluster"
	PoolTag    = "headroom/pool"
	PoolLabel  = "headroom/pool"

	// StackTag of a cluster names the stack that made it, as project/stack.
	StackTag = "headroom/stack"

	// AcceleratorLabel keeps cluster-autoscaler from adding a second node while the first one's device plugin
	// registers.
	// https://github.com/kubernetes/autoscaler/issues/1949
	AcceleratorLabel = "k8s.amazonaws.com/accelerator"

	GPUResource = "nvidia.com/gpu"
	GPUTaintKey = "nvidia.com/gpu"
)

// GPUTaint keeps pods that ask for no GPU off GPU nodes.
var GPUTaint = Taint{Key: GPUTaintKey, Value: "true", Effect: NoSchedule}

// InstanceTags are the two tags that mark an instance as a node of a pool.
func InstanceTags(cluster, pool string) map[string]string {
	return map[string]string{ClusterTag: cluster, PoolTag: pool}
}

// Shape is what one node of a pool is made of, as EC2 describes its instance type.
type Shape struct {
	InstanceType string
	VCPUs        int
	MemoryMiB    int
	GPUs         int
	GPUModel     string // as EC2 names it, for example "L4"
	GPUMemoryMiB int    // of one GPU
	Architecture string // "x86_64" or "arm64"
	MaxENIs      int    // network interfaces
	IPv4PerENI   int    // addresses on each interface
}

// Tolerations that let a pod run on nodes with any of the given taints, without repeats.
func Tolerations(taints []Taint) []Toleration {
	var out []Toleration
	for _, t := range taints {
		tol := Toleration{Key: t.Key, Operator: "Equal", Value: t.Value, Effect: t.Effect}
		if t.Value == "" {
			tol.Operator = "Exists"
		}
		if !slices.Contains(out, tol) {
			out = append(out, tol)
		}
	}
	return out
}

// Toleration is a Kubernetes toleration as charts and manifests write it.
type Toleration struct {
	Key      string `json:"key,omitempty"`
	Operator string `json:"operator"`
	Value    string `json:"value,omitempty"`
	Effect   Effect `json:"effect,omitempty"`
}

// Tolerates reports whether a pod with this toleration may run on a node with the taint.
// https://kubernetes.io/docs/concepts/scheduling-eviction/taint-and-toleration/
func (t Toleration) Tolerates(taint Taint) bool {
	if t.Effect != "" && t.Effect != taint.Effect {
		return false
	}
	if t.Operator == "Exists" {
		return t.Key == "" || t.Key == taint.Key
	}
	return t.Key == taint.Key && t.Value == taint.Value
}
