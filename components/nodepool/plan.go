package nodepool

import (
	"cmp"
	"maps"
	"strconv"
	"time"

	"github.com/headroom-eks/headroom/pool"
	"github.com/headroom-eks/headroom/problem"
	"k8s.io/apimachinery/pkg/api/resource"
)

// ClassKind is a kind of node class, and what it makes different about the NodePools that refer to it. Two kinds are
// never mixed in one cluster (field fault BR-10).
type ClassKind struct {
	Group, Version, Kind string
	// LabelDomain of instance-category, instance-family, instance-gpu-count and their like.
	LabelDomain string
	// InstanceTag holds the name of its NodePool on an instance.
	InstanceTag string
	// OmitsOS: the label of the operating system is not supported in requirements.
	OmitsOS bool
	// AdvertisedExpireAfter and GeneralExpireAfter are the default ages of nodes.
	AdvertisedExpireAfter, GeneralExpireAfter string
	// Drain is how long a node may drain when the pool does not say, and End how long AWS then takes to end it.
	Drain, End time.Duration
	// Rules of this kind about a pool with its defaults, beside those of every NodePool; nil when there are none.
	Rules func(path string, spec Spec) problem.List
	// FormerType of the component that made pools of this kind, so that an update keeps them; empty when there was
	// none.
	FormerType string
}

// EC2NodeClass of a Karpenter that we run. A drain without a limit ends when the pods do.
// https://karpenter.sh/v1.15/concepts/nodeclasses/
var EC2NodeClass = ClassKind{
	Group:       "karpenter.k8s.aws",
	Version:     "v1",
	Kind:        "EC2NodeClass",
	LabelDomain: "karpenter.k8s.aws",
	// https://github.com/aws/karpenter-provider-aws/blob/v1.15.0/pkg/utils/utils.go#L118
	InstanceTag: "karpenter.sh/nodepool",
	// Expiry takes a model down before its replacement is ready (field fault BR-80).
	AdvertisedExpireAfter: Never,
	GeneralExpireAfter:    "720h",
	Drain:                 15 * time.Minute,
	End:                   15 * time.Minute,
}

// Well-known labels of nodes. https://karpenter.sh/v1.15/concepts/scheduling/#well-known-labels
const (
	instanceTypeLabel = "node.kubernetes.io/instance-type"
	capacityTypeLabel = "karpenter.sh/capacity-type"
	zoneLabel         = "topology.kubernetes.io/zone"
	archLabel         = "kubernetes.io/arch"
	osLabel           = "kubernetes.io/os"
)

// PlanNodePool gives a NodePool of a valid Spec (see Validate and Parts), referring to a node class of the given kind
// and the pool's name. Errors only when the manifest cannot be written, which no Spec is known to cause.
func PlanNodePool(part Part, kind ClassKind) (Manifest, error) {
	spec := part.Spec.withDefaults(kind)
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
		APIVersion: "karpenter.sh/v1", Kind: "NodePool", Metadata: map[string]any{"name": part.Name}, Spec: body,
	}, nil
}

// Requirements that every node of the pool fulfils.
func Requirements(spec Spec, kind ClassKind) []Requirement {
	spec = spec.withDefaults(kind)
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
	out = append(out, in(capacityTypeLabel, capacityTypes...), in(archLabel, kubernetesArch(spec.Architecture)))
	if !kind.OmitsOS {
		out = append(out, in(osLabel, "linux"))
	}
	if len(spec.Zones) > 0 {
		out = append(out, in(zoneLabel, spec.Zones...))
	}
	return out
}

// Limits of a part of a pool, as canonical quantities, so that a later update finds no difference (field fault BR-26).
// Each allows MaxNodeCount whole nodes and not one more (field faults BR-22, BR-23).
func Limits(spec Spec) map[string]string {
	switch a, g := spec.Advertised, spec.General; {
	case a != nil && a.Static:
		// the only limit a static pool may have
		return map[string]string{"nodes": quantity(cmp.Or(a.MaxNodeCount, a.NodeCount))}
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

// deleteTimeout of a NodePool: its nodes may drain for the whole grace period, and AWS then has to end the instances.
func deleteTimeout(spec Spec, kind ClassKind) time.Duration {
	grace, err := time.ParseDuration(spec.TerminationGracePeriod)
	if err != nil { // none is set
		grace = kind.Drain
	}
	return grace + kind.End
}
