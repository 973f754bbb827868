package view

import (
	"slices"
	"strings"

	"github.com/headroom-eks/headroom/pool"
)

// systemPool is the name of the pool that carries controllers and DNS.
const systemPool = "system"

// Group is a managed node group or a NodePool, read alike. Several may make up one pool, one for each
// zone.
type Group struct {
	Resource
	Managed bool  // a managed node group; otherwise a NodePool
	Label   Value // its name, the label headroom/pool
	TaintsV Value
	Taints  []pool.Taint
	// TypesV is where the instance types stand; Hardware what they are, when the pool names them exactly.
	TypesV   Value
	Hardware []Hardware
	// Loose: the pool chooses instance types by property and could choose GPUs.
	Loose bool
	// Unread: a part that decides what the pool is was unknown.
	Unread bool
}

// GPU says whether the pool makes GPU nodes, or could.
func (p Group) GPU() bool {
	return p.Loose || slices.ContainsFunc(p.Hardware, func(h Hardware) bool { return h.GPU }) ||
		slices.ContainsFunc(p.Taints, func(t pool.Taint) bool { return t.Key == pool.GPUResource }) ||
		p.Limits().Key(pool.GPUResource).State() != Absent
}

// NodeClassGroup is the API group of a NodePool's node class, which says whose NodePool it is; absent for a managed
// group.
func (p Group) NodeClassGroup() Value {
	return p.Props.Key("spec", "template", "spec", "nodeClassRef", "group")
}

// Limits of a NodePool; absent for a managed group.
func (p Group) Limits() Value {
	if p.Managed {
		return Value{}
	}
	return p.Props.Key("spec", "limits")
}

// System says whether this is the fixed group that carries controllers and DNS.
func (p Group) System() bool {
	name, _ := p.Label.Text()
	return p.Managed && name == systemPool
}

// ReadGroup views a managed node group or NodePool; ok is false for any other type.
func ReadGroup(r Resource) (p Group, ok bool) {
	p.Resource = r
	switch r.Type {
	case TypeNodeGroup:
		p.Managed = true
		p.Label, p.TaintsV, p.TypesV = r.Props.Key("labels", pool.PoolLabel), r.Props.Key("taints"),
			r.Props.Key("instanceTypes")
		types, state := p.TypesV.Texts()
		p.Unread = state == Unknown
		for _, t := range types {
			p.Hardware = append(p.Hardware, hardware(t))
		}
	case TypeNodePool:
		template := r.Props.Key("spec", "template")
		p.Label, p.TaintsV = template.Key("metadata", "labels", pool.PoolLabel), template.Key("spec", "taints")
		p.readRequirements(template.Key("spec", "requirements"))
	default:
		return p, false
	}
	taints, state := p.TaintsV.Elements()
	p.Unread = p.Unread || state == Unknown
	for _, t := range taints {
		key, s1 := t.Key("key").Text()
		value, s3 := t.Key("value").Text() // may be absent
		effect, s2 := t.Key("effect").Text()
		if s1 != Known || s2 != Known || s3 == Unknown {
			p.Unread = true
			continue
		}
		p.Taints = append(p.Taints, pool.Taint{Key: key, Value: value, Effect: kubernetesEffect(effect)})
	}
	return p, true
}

// kubernetesEffect is the effect of a taint in Kubernetes spelling; a node group has that of EKS.
func kubernetesEffect(written string) pool.Effect {
	for _, e := range pool.Effects {
		if e.EKS() == written {
			return e
		}
	}
	return pool.Effect(written)
}

// KeepsOff says whether a taint keeps pods off that do not tolerate it.
func KeepsOff(t pool.Taint) bool { return t.Effect == pool.NoSchedule || t.Effect == pool.NoExecute }

// readRequirements decides which instance types a NodePool may choose. Keys are compared without their domain, which
// differs between Karpenter and Auto Mode. https://karpenter.sh/v1.15/concepts/scheduling/#well-known-labels
func (p *Group) readRequirements(requirements Value) {
	p.TypesV = requirements
	list, state := requirements.Elements()
	p.Unread = state == Unknown
	narrowed, gpus := false, false
	for _, r := range list {
		key, s1 := r.Key("key").Text()
		operator, s2 := r.Key("operator").Text()
		values, s3 := r.Key("values").Texts()
		if s1 == Unknown || s2 == Unknown || s3 == Unknown {
			p.Unread = true
			continue
		}
		_, key, _ = strings.Cut(key, "/")
		switch {
		case key == "instance-type" && operator == "In":
			p.TypesV = r.Key("values")
			for _, t := range values {
				p.Hardware = append(p.Hardware, hardware(t))
			}
		case (key == "instance-family" || key == "instance-category") && operator == "In":
			narrowed = true
			gpus = gpus || slices.ContainsFunc(values, gpuFamily)
		case strings.HasPrefix(key, "instance-gpu-") && operator == "DoesNotExist":
			narrowed = true
		case strings.HasPrefix(key, "instance-gpu-"):
			gpus = true
		}
	}
	p.Loose = len(p.Hardware) == 0 && !p.Unread && (gpus || !narrowed)
}

// IgnoresDesiredSize says whether the node group's own options leave the desired size to its scaler.
func IgnoresDesiredSize(r Resource) bool {
	return slices.ContainsFunc(r.IgnoreChanges, func(path string) bool {
		return slices.Contains([]string{"scalingConfig.desiredSize", `scalingConfig["desiredSize"]`, "scalingConfig"},
			path)
	})
}

// Groups of the graph, in its order, and after them the NodePools that the stack gives as manifests to those who apply
// them elsewhere.
func (g Graph) Groups() []Group {
	var pools []Group
	for _, r := range slices.Concat(g.Resources, g.manifests()) {
		if p, ok := ReadGroup(r); ok {
			pools = append(pools, p)
		}
	}
	return pools
}

// ManifestsOutput is the stack output with the manifests that others apply: file name to YAML.
const ManifestsOutput = "manifests"

// manifests gives the NodePools of that output as if they were resources; their URN is the stack's.
func (g Graph) manifests() (out []Resource) {
	files := g.Output(ManifestsOutput)
	names, _ := files.Keys()
	for _, name := range names {
		object := files.Key(name).YAML()
		if kind, _ := object.Key("kind").Text(); kind == "NodePool" {
			out = append(out, Resource{Type: TypeNodePool, Name: name, URN: object.URN(), Props: object})
		}
	}
	return out
}

// MaxNodes is the most nodes the pool's own resource allows, and where that is written. Limits in CPU and GPUs are
// whole nodes of the smallest type. Known only when there is such a bound.
func (p Group) MaxNodes() (int, Value, State) {
	if p.Managed {
		at := p.Props.Key("scalingConfig", "maxSize")
		n, state := at.Int()
		return n, at, state
	}
	if at := p.Props.Key("spec", "replicas"); at.State() != Absent {
		n, state := at.Int()
		return n, at, state
	}
	best, bound, found := 0, p.Limits(), Absent
	if bound.State() == Unknown {
		found = Unknown
	}
	for _, key := range []string{"nodes", pool.GPUResource, "cpu"} {
		at := p.Limits().Key(key)
		n, state := at.Int()
		per := p.perNode(key)
		if state != Known || per == 0 {
			continue
		}
		if nodes := n / per; found != Known || nodes < best {
			best, bound, found = nodes, at, Known
		}
	}
	return best, bound, found
}

// perNode is how much of a limit one node takes, 0 when the pool's types do not say.
func (p Group) perNode(key string) int {
	if key == "nodes" {
		return 1
	}
	least := 0
	for _, h := range p.Hardware {
		n := h.GPUs
		if key == "cpu" {
			n = h.VCPUs
		}
		if n == 0 {
			return 0
		}
		if least == 0 || n < least {
			least = n
		}
	}
	return least
}
