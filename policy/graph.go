package main

import (
	"slices"
	"strings"
)

// Type tokens the rules rely on, as the SDKs register them.
const (
	typeStack          = "pulumi:pulumi:Stack"
	typeLaunchTemplate = "aws:ec2/launchTemplate:LaunchTemplate"
	typeNodeGroup      = "aws:eks/nodeGroup:NodeGroup"
	typeCluster        = "aws:eks/cluster:Cluster"
	typeAddon          = "aws:eks/addon:Addon"
	typeRole           = "aws:iam/role:Role"
	typePolicy         = "aws:iam/policy:Policy"
	typeRolePolicy     = "aws:iam/rolePolicy:RolePolicy"
	typeProfile        = "aws:iam/instanceProfile:InstanceProfile"
	typeQueue          = "aws:sqs/queue:Queue"
	typeQueuePolicy    = "aws:sqs/queuePolicy:QueuePolicy"
	typeEventRule      = "aws:cloudwatch/eventRule:EventRule"
	typeEventTarget    = "aws:cloudwatch/eventTarget:EventTarget"
	typeLogGroup       = "aws:cloudwatch/logGroup:LogGroup"
	typeKey            = "aws:kms/key:Key"
	typeAlias          = "aws:kms/alias:Alias"
	typeNodePool       = "kubernetes:karpenter.sh/v1:NodePool"
	typeEC2NodeClass   = "kubernetes:karpenter.k8s.aws/v1:EC2NodeClass"
	typeAutoNodeClass  = "kubernetes:eks.amazonaws.com/v1:NodeClass"
	typeChart          = "kubernetes:helm.sh/v4:Chart"
	typeDeployment     = "kubernetes:apps/v1:Deployment"
	typeDaemonSet      = "kubernetes:apps/v1:DaemonSet"
	typeStatefulSet    = "kubernetes:apps/v1:StatefulSet"

	poolLabel    = "headroom/pool"
	clusterTag   = "headroom/cluster"
	poolTag      = "headroom/pool"
	gpuResource  = "nvidia.com/gpu"
	systemPool   = "system"
	karpenterAPI = "karpenter.k8s.aws"
)

// Graph is every resource of a stack, as stack rules see it.
type Graph struct{ Resources []Resource }

// OfType gives the resources of the types, in the graph's order.
func (g Graph) OfType(types ...string) []Resource {
	var out []Resource
	for _, r := range g.Resources {
		if slices.Contains(types, r.Type) {
			out = append(out, r)
		}
	}
	return out
}

// Output of the stack by name; absent when the graph has no stack resource.
func (g Graph) Output(name string) Value {
	for _, r := range g.OfType(typeStack) {
		return r.Props.Key(name)
	}
	return Value{path: name}
}

// Controller finds what runs a controller: its chart, the chart's Deployment once it is rendered, or the component that
// wraps both. A chart (helm/v4) shows policies nothing of its own, neither version nor values: only its name and, after
// rendering, its objects.
func (g Graph) Controller(name string) (Resource, bool) {
	for _, r := range g.Resources {
		wrapper := r.Type == "headroom:"+strings.ReplaceAll(name, "-", "")+":Controller"
		object := (r.Type == typeChart || r.Type == typeDeployment) && strings.Contains(r.Name, name) &&
			!strings.Contains(r.Name, name+"-crd")
		if wrapper || object {
			return r, true
		}
	}
	return Resource{}, false
}

// Refers tells whether a property of one resource holds an output of another: by value where both are known, and
// otherwise by what the property was made from, which a preview knows too.
func Refers(from Resource, prop string, to Resource, output string) State {
	held, s1 := from.Props.Key(prop).Text()
	given, s2 := to.Props.Key(output).Text()
	switch {
	case s1 == Known && s2 == Known && held == given:
		return Known
	case slices.Contains(from.PropertyDependencies[prop], to.URN):
		return Known
	case s1 == Unknown || s1 == Known && s2 == Unknown:
		return Unknown
	}
	return Absent
}

// Taint of a pool's nodes, in Kubernetes spelling.
type Taint struct{ Key, Value, Effect string }

// Keeps tells whether the taint keeps pods off that do not tolerate it.
func (t Taint) Keeps() bool { return t.Effect == "NoSchedule" || t.Effect == "NoExecute" }

var effectsOfEKS = map[string]string{
	"NO_SCHEDULE":        "NoSchedule",
	"NO_EXECUTE":         "NoExecute",
	"PREFER_NO_SCHEDULE": "PreferNoSchedule",
}

// Pool is a managed node group or a NodePool, read alike.
type Pool struct {
	Resource
	Managed bool  // a managed node group; otherwise a NodePool
	Label   Value // its name, the label headroom/pool
	TaintsV Value
	Taints  []Taint
	// TypesV is where the instance types stand; Hardware what they are, when the pool names them exactly.
	TypesV   Value
	Hardware []Hardware
	// Loose: the pool chooses instance types by property and could choose GPUs.
	Loose bool
	// Unread: a part that decides what the pool is was unknown.
	Unread bool
}

// GPU tells whether the pool makes GPU nodes, or could.
func (p Pool) GPU() bool {
	return p.Loose || slices.ContainsFunc(p.Hardware, func(h Hardware) bool { return h.GPU }) ||
		slices.ContainsFunc(p.Taints, func(t Taint) bool { return t.Key == gpuResource }) ||
		p.Limits().Key(gpuResource).State() != Absent
}

// Limits of a NodePool; absent for a managed group.
func (p Pool) Limits() Value {
	if p.Managed {
		return Value{}
	}
	return p.Props.Key("spec", "limits")
}

// System tells whether this is the fixed group that carries controllers and DNS.
func (p Pool) System() bool {
	name, _ := p.Label.Text()
	return p.Managed && name == systemPool
}

// readPool views a managed node group or NodePool; ok is false for any other type.
func readPool(r Resource) (p Pool, ok bool) {
	p.Resource = r
	switch r.Type {
	case typeNodeGroup:
		p.Managed = true
		p.Label, p.TaintsV, p.TypesV = r.Props.Key("labels", poolLabel), r.Props.Key("taints"),
			r.Props.Key("instanceTypes")
		types, state := p.TypesV.Texts()
		p.Unread = state == Unknown
		for _, t := range types {
			p.Hardware = append(p.Hardware, hardware(t))
		}
	case typeNodePool:
		template := r.Props.Key("spec", "template")
		p.Label, p.TaintsV = template.Key("metadata", "labels", poolLabel), template.Key("spec", "taints")
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
		if kubernetes, found := effectsOfEKS[effect]; found {
			effect = kubernetes
		}
		p.Taints = append(p.Taints, Taint{key, value, effect})
	}
	return p, true
}

// readRequirements decides which instance types a NodePool may choose. Keys are compared without their domain, which
// differs between Karpenter and Auto Mode. https://karpenter.sh/v1.15/concepts/scheduling/#well-known-labels
func (p *Pool) readRequirements(requirements Value) {
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

// emptyFixed tells whether a managed group is fixed at no nodes: EKS takes no maximum of 0, so the group has 1 that
// nothing uses.
func emptyFixed(r Resource) bool {
	scaling := r.Props.Key("scalingConfig")
	sizes := [3]int{}
	for i, key := range []string{"minSize", "desiredSize", "maxSize"} {
		n, state := scaling.Key(key).Int()
		if state != Known {
			return false
		}
		sizes[i] = n
	}
	return sizes == [3]int{0, 0, 1} && !ignoresDesiredSize(r)
}

// ignoresDesiredSize tells whether the node group's own options leave the desired size to its scaler.
func ignoresDesiredSize(r Resource) bool {
	return slices.ContainsFunc(r.IgnoreChanges, func(path string) bool {
		return slices.Contains([]string{"scalingConfig.desiredSize", `scalingConfig["desiredSize"]`, "scalingConfig"},
			path)
	})
}

// Pools of the graph, in its order.
func (g Graph) Pools() []Pool {
	var pools []Pool
	for _, r := range g.Resources {
		if p, ok := readPool(r); ok {
			pools = append(pools, p)
		}
	}
	return pools
}

// MaxNodes is the most nodes the pool's own resource allows, and where that is written. Limits in CPU and GPUs are
// whole nodes of the smallest type. Known only when there is such a bound.
func (p Pool) MaxNodes() (int, Value, State) {
	if p.Managed {
		at := p.Props.Key("scalingConfig", "maxSize")
		n, state := at.Int()
		if emptyFixed(p.Resource) {
			n = 0
		}
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
	for _, key := range []string{"nodes", gpuResource, "cpu"} {
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
func (p Pool) perNode(key string) int {
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
