package nodepool

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/headroom-eks/headroom/pool"
	"k8s.io/apimachinery/pkg/api/resource"
)

// ClassKind is a kind of node class and the domain of the instance labels that go with it. The two are never mixed in
// one cluster (field fault BR-10).
type ClassKind struct {
	Group, Version, Kind string
	// LabelDomain of instance-category, instance-family, instance-gpu-count and their like.
	LabelDomain string
}

var (
	// EC2NodeClass of a Karpenter that we run. https://karpenter.sh/v1.15/concepts/nodeclasses/
	EC2NodeClass = ClassKind{
		Group:       "karpenter.k8s.aws",
		Version:     "v1",
		Kind:        "EC2NodeClass",
		LabelDomain: "karpenter.k8s.aws",
	}
	// AutoModeNodeClass of EKS Auto Mode. https://docs.aws.amazon.com/eks/latest/userguide/create-node-pool.html
	AutoModeNodeClass = ClassKind{
		Group:       "eks.amazonaws.com",
		Version:     "v1",
		Kind:        "NodeClass",
		LabelDomain: "eks.amazonaws.com",
	}
)

// Well-known labels of nodes. https://karpenter.sh/v1.15/concepts/scheduling/#well-known-labels
const (
	instanceTypeLabel = "node.kubernetes.io/instance-type"
	capacityTypeLabel = "karpenter.sh/capacity-type"
	zoneLabel         = "topology.kubernetes.io/zone"
	archLabel         = "kubernetes.io/arch"
	osLabel           = "kubernetes.io/os"
)

// PlanNodePool gives the NodePool of a valid Spec (see Validate), referring to a node class of the given kind and the
// pool's name. Errors only when the manifest cannot be written, which no Spec is known to cause.
func PlanNodePool(spec Spec, kind ClassKind) (Manifest, error) {
	spec = spec.withDefaults()
	labels := map[string]string{}
	maps.Copy(labels, spec.Labels)
	labels[pool.PoolLabel] = spec.Name

	planned := nodePoolSpec{
		Template: template{
			Metadata: templateMetadata{Labels: labels},
			Spec: templateSpec{
				NodeClassRef:           classRef{Group: kind.Group, Kind: kind.Kind, Name: spec.Name},
				Requirements:           Requirements(spec, kind),
				Taints:                 taints(spec.Taints),
				StartupTaints:          taints(spec.StartupTaints),
				ExpireAfter:            spec.ExpireAfter,
				TerminationGracePeriod: spec.TerminationGracePeriod,
			},
		},
		Disruption: disruption(spec.Disruption),
		Limits:     Limits(spec),
		Weight:     spec.Weight,
	}
	if a := spec.Advertised; a != nil && a.Static {
		planned.Replicas = &a.NodeCount
		// Karpenter ignores both for a static pool.
		planned.Disruption.ConsolidationPolicy, planned.Disruption.ConsolidateAfter = "", ""
	}
	body, err := object(planned)
	if err != nil {
		return Manifest{}, err
	}
	return Manifest{
		APIVersion: "karpenter.sh/v1", Kind: "NodePool", Metadata: map[string]any{"name": spec.Name}, Spec: body,
	}, nil
}

// Requirements that every node of the pool fulfils.
func Requirements(spec Spec, kind ClassKind) []Requirement {
	spec = spec.withDefaults()
	in := func(key string, values ...string) Requirement {
		return Requirement{Key: key, Operator: "In", Values: values}
	}
	var out []Requirement
	if a := spec.Advertised; a != nil {
		out = append(out, in(instanceTypeLabel, a.InstanceTypes...))
	}
	if g := spec.General; g != nil {
		out = append(out, in(kind.LabelDomain+"/instance-category", g.Categories...))
		if len(g.Families) > 0 {
			out = append(out, in(kind.LabelDomain+"/instance-family", g.Families...))
		}
		out = append(out,
			Requirement{
				Key:      kind.LabelDomain + "/instance-generation",
				Operator: "Gt",
				Values:   []string{strconv.Itoa(g.MinGeneration - 1)},
			},
			Requirement{Key: kind.LabelDomain + "/instance-gpu-count", Operator: "DoesNotExist"})
	}
	var capacityTypes []string
	for _, c := range spec.CapacityTypes {
		capacityTypes = append(capacityTypes, string(c))
	}
	out = append(out, in(capacityTypeLabel, capacityTypes...), in(archLabel, kubernetesArch(spec.Architecture)),
		in(osLabel, "linux"))
	if len(spec.Zones) > 0 {
		out = append(out, in(zoneLabel, spec.Zones...))
	}
	return out
}

// Limits of the whole pool, as canonical quantities, so that a later update finds no difference (field fault BR-26).
// Each allows MaxNodeCount whole nodes and not one more (field faults BR-22, BR-23).
func Limits(spec Spec) map[string]string {
	spec = spec.withDefaults()
	switch a, g := spec.Advertised, spec.General; {
	case a != nil && a.Static:
		return map[string]string{"nodes": quantity(a.MaxNodeCount)} // the only limit a static pool may have
	case a != nil && a.DeviceMode == pool.DRA:
		return map[string]string{"cpu": quantity(a.MaxNodeCount * a.VCPUs)}
	case a != nil:
		return map[string]string{pool.GPUResource: quantity(a.MaxNodeCount * a.GPUs)}
	case g != nil:
		memory := resource.NewQuantity(int64(g.MemoryGiB)<<30, resource.BinarySI)
		return map[string]string{"cpu": quantity(g.VCPUs), "memory": memory.String()}
	default:
		return nil
	}
}

func quantity(n int) string { return resource.NewQuantity(int64(n), resource.DecimalSI).String() }

// kubernetesArch is the Kubernetes spelling of an architecture in EC2's.
func kubernetesArch(ec2 string) string {
	if ec2 == "x86_64" {
		return "amd64"
	}
	return ec2
}

func taints(list []pool.Taint) (out []taint) {
	for _, t := range list {
		out = append(out, taint{Key: t.Key, Value: t.Value, Effect: string(t.Effect)})
	}
	return out
}

// Family of an instance type: what stands before the dot.
func Family(instanceType string) string {
	family, _, _ := strings.Cut(instanceType, ".")
	return family
}

// fractionalFamilies carry a slice of a GPU: their labels and their count of GPUs disagree (field fault BR-27).
var fractionalFamilies = []string{"g6f", "gr6f"}

// Fractional tells whether nodes of an instance type have less than one whole GPU.
func Fractional(instanceType string) bool {
	return slices.Contains(fractionalFamilies, Family(instanceType))
}

// minDeleteTimeout leaves the nodes time to drain and to be terminated.
const minDeleteTimeout = 15 * time.Minute

// deleteTimeout of a NodePool: nodes may drain for the whole grace period first.
func deleteTimeout(spec Spec) time.Duration {
	grace, err := time.ParseDuration(spec.TerminationGracePeriod)
	if err != nil {
		grace = minDeleteTimeout // none is set: a drain ends when the pods do
	}
	return minDeleteTimeout + grace
}
