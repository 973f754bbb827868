package rules

import (
	"slices"
	"strings"

	"github.com/headroom-eks/headroom/policy/view"
	"github.com/headroom-eks/headroom/pool"
)

var poolTypes = []string{view.TypeNodeGroup, view.TypeNodePool}

// Pool rules look at one managed node group or NodePool.
var poolRules = []Rule{
	{
		Name:     "pool-gpu-tainted",
		Area:     "pools",
		Level:    Mandatory,
		Types:    poolTypes,
		Resource: poolGPUTainted,
		Why:      "A pool with GPUs takes pods that ask for none, which keep its nodes alive and block the GPUs.",
		Remedy:   "add the taint nvidia.com/gpu=true with effect NoSchedule (NO_SCHEDULE in a node group)",
		Faults:   []string{"BR-01", "BR-63"},
	},
	{
		Name:     "pool-gpu-limited",
		Area:     "pools",
		Level:    Mandatory,
		Types:    []string{view.TypeNodePool},
		Resource: poolGPULimited,
		Why: "A GPU NodePool without a limit on a resource has no maximum; a limit on nodes alone lets one node " +
			"too many through.",
		Remedy: "limit nvidia.com/gpu (cpu for a DRA pool) to whole nodes of the pool's type; static pools need " +
			"limits.nodes only",
		Faults: []string{"BR-22", "BR-23"},
	},
	{
		Name:     "pool-gpu-shape",
		Area:     "pools",
		Level:    Mandatory,
		Types:    poolTypes,
		Resource: poolGPUShape,
		Why:      "A pool whose nodes differ in GPUs has no number of GPUs per node that could be advertised.",
		Remedy: "name exact instance types of one size with equal, whole NVIDIA GPUs; restrict other pools to " +
			"categories without GPUs",
		Faults: []string{"BR-27"},
	},
	{
		Name:     "pool-system-fixed",
		Area:     "pools",
		Level:    Mandatory,
		Types:    []string{view.TypeNodeGroup},
		Resource: poolSystemFixed,
		Why:      "Controllers and DNS live on the system group: it must not move, cost GPUs, or keep an add-on away.",
		Remedy: "give the system group min = desired = max of at least 1, types without GPUs, and no taint but " +
			"CriticalAddonsOnly=true:NoSchedule",
		Faults: []string{"BR-09", "BR-56", "BR-57", "BR-59"},
	},
	{
		Name:  "pool-desired-size-seeded",
		Area:  "pools",
		Level: Mandatory,
		Types: []string{view.TypeNodeGroup},
		Stack: poolDesiredSizeSeeded,
		Why:   "An update would pull an autoscaled group back to the size in the code and drain busy nodes.",
		Remedy: "put scalingConfig.desiredSize into the node group's own ignoreChanges (options of a component do " +
			"not reach it), or make the group with components/nodegroup and a scaler that owns the size",
		Faults: []string{"BR-13", "BR-14", "BR-15"},
	},
	{
		Name:     "pool-gpu-kept",
		Area:     "pools",
		Level:    Advisory,
		Types:    []string{view.TypeNodePool},
		Resource: poolGPUKept,
		Why:      "A GPU node is taken away while its model serves, before a replacement is there.",
		Remedy: "use consolidationPolicy WhenEmpty, expireAfter Never or a week and more, and a disruption budget " +
			"of one node",
		Faults: []string{"BR-80"},
	},
	{
		Name:     "pool-limits-text",
		Area:     "pools",
		Level:    Mandatory,
		Types:    []string{view.TypeNodePool},
		Resource: poolLimitsText,
		Why:      "A limit written as a number comes back from the API as text, and every later update plans a change.",
		Remedy:   "write quantities as strings in canonical form",
		Faults:   []string{"BR-25", "BR-26"},
	},
	{
		Name:     "pool-instances-marked",
		Area:     "pools",
		Level:    Mandatory,
		Resource: poolInstancesMarked,
		Why:      "Realized nodes are counted by two tags on the instances; without them a pool reads as empty.",
		Remedy: "tag instances with headroom/cluster and headroom/pool, through the launch template or the node " +
			"class",
		Types:  []string{view.TypeLaunchTemplate, view.TypeEC2NodeClass, view.TypeAutoNodeClass},
		Faults: []string{"BR-04"},
	},
}

// gpuGroup reads the group and says whether the rules for GPU pools apply; what cannot be read is noted.
func gpuGroup(c *Check, r view.Resource) (view.Group, bool) {
	p, _ := view.ReadGroup(r)
	if p.Unread {
		c.Unknown(p.TypesV)
	}
	return p, p.GPU()
}

func poolGPUTainted(c *Check, r view.Resource) {
	p, gpu := gpuGroup(c, r)
	if !gpu || p.TaintsV.State() == view.Unknown {
		return
	}
	if !slices.ContainsFunc(p.Taints, func(t pool.Taint) bool {
		return t.Key == pool.GPUResource &&
			view.KeepsOff(t)
	}) && !p.Unread {
		c.Violation(p.TaintsV, "pool %s has GPUs and no taint %s that keeps pods off", p.Label.Show(), pool.GPUResource)
	}
}

func poolGPULimited(c *Check, r view.Resource) {
	p, gpu := gpuGroup(c, r)
	if !gpu || r.Props.Key("spec", "replicas").State() != view.Absent {
		return
	}
	limits := p.Limits()
	if limits.State() == view.Unknown {
		c.Unknown(limits)
		return
	}
	for _, key := range []string{pool.GPUResource, "cpu", "memory"} {
		if limits.Key(key).State() != view.Absent {
			return
		}
	}
	c.Violation(limits, "pool %s has GPUs and no limit on GPUs, cpu or memory", p.Label.Show())
}

func poolGPUShape(c *Check, r view.Resource) {
	p, gpu := gpuGroup(c, r)
	if !gpu {
		return
	}
	if p.Loose {
		c.Violation(p.TypesV, "pool %s may make GPU nodes and does not name their instance types", p.Label.Show())
		return
	}
	for i, h := range p.Hardware {
		first := p.Hardware[0]
		_, size, _ := strings.Cut(h.Type, ".")
		_, firstSize, _ := strings.Cut(first.Type, ".")
		switch {
		case h.Fractional:
			c.Violation(p.TypesV, "type %d of the list has a share of a GPU", i+1)
		case h.GPU && !h.NVIDIA:
			c.Violation(p.TypesV, "type %d of the list has GPUs that are not NVIDIA's", i+1)
		case h.GPU != first.GPU || h.GPUs != first.GPUs || size != firstSize:
			c.Violation(p.TypesV, "type %d of the list differs from the first in size or GPUs", i+1)
		case h.GPU && h.GPUs == 0:
			c.Unknown(p.TypesV)
		}
	}
}

// systemTaint is the one that add-ons of EKS tolerate.
var systemTaint = pool.Taint{Key: "CriticalAddonsOnly", Value: "true", Effect: pool.NoSchedule}

func poolSystemFixed(c *Check, r view.Resource) {
	p, _ := view.ReadGroup(r)
	if p.Label.State() == view.Unknown {
		c.Unknown(p.Label)
	}
	if !p.System() {
		return
	}
	if p.Unread {
		c.Unknown(p.TypesV)
	}
	for _, h := range p.Hardware {
		if h.GPU {
			c.Violation(p.TypesV, "the system group has GPUs")
		}
	}
	for _, t := range p.Taints {
		if t != systemTaint {
			c.Violation(p.TaintsV, "the system group has a taint that add-ons do not tolerate")
		}
	}
	scaling := r.Props.Key("scalingConfig")
	desired, state := scaling.Key("desiredSize").Int()
	if !c.Known(scaling.Key("desiredSize"), state) {
		return
	}
	if desired < 1 {
		c.Violation(scaling.Key("desiredSize"), "the system group has no node")
	}
	for _, bound := range []string{"minSize", "maxSize"} {
		at := scaling.Key(bound)
		if n, state := at.Int(); c.Known(at, state) && n != desired {
			c.Violation(at, "it differs from desiredSize %s, so the system group is not fixed",
				scaling.Key("desiredSize").Show())
		}
	}
}

// poolDesiredSizeSeeded accepts a size that is sent when the group's component says that it belongs to the scaler: then
// the bounds change, EKS takes all three numbers at once, and the size is the one that the group has. Whether it moves,
// only the plan shows (policy/cmd/plancheck).
func poolDesiredSizeSeeded(c *Check, g view.Graph) {
	owned := map[string]bool{}
	for _, r := range g.OfType(view.TypePoolGroup) {
		owner, _ := r.Props.Key("desiredSizeOwner").Text()
		owned[r.URN] = owner == "scaler"
	}
	for _, p := range scaled(c, g) {
		if scaling := p.Props.Key("scalingConfig"); !view.IgnoresDesiredSize(p.Resource) && !owned[p.Parent] {
			c.Violation(scaling.Key("desiredSize"), "a group between %s and %s nodes belongs to its scaler, and this "+
				"update would set it", scaling.Key("minSize").Show(), scaling.Key("maxSize").Show())
		}
	}
}

func poolGPUKept(c *Check, r view.Resource) {
	if _, gpu := gpuGroup(c, r); !gpu {
		return
	}
	static := r.Props.Key("spec", "replicas").State() != view.Absent
	if at := r.Props.Key("spec", "disruption", "consolidationPolicy"); !static {
		c.Expect(at, "GPU nodes are taken away while pods run on them",
			func(v view.Value) bool { text, _ := v.Text(); return text == "WhenEmpty" })
	}
	c.Expect(r.Props.Key("spec", "template", "spec", "expireAfter"), "GPU nodes expire, whatever runs on them",
		longLived)
	budgets := r.Props.Key("spec", "disruption", "budgets")
	list, state := budgets.Elements()
	if state == view.Unknown {
		c.Unknown(budgets)
		return
	}
	if !slices.ContainsFunc(list, func(b view.Value) bool {
		n, s := b.Key("nodes").Int()
		return s == view.Known &&
			n <= 1
	}) {
		c.Violation(budgets, "no budget keeps disruption to one node at a time")
	}
}

// longLived holds for an expiry of Never or a week and more, in hours as Karpenter prints them.
func longLived(v view.Value) bool {
	text, _ := v.Text()
	hours, found := strings.CutSuffix(text, "h")
	n, ok := digits(hours)
	return text == "Never" || found && ok && n >= 7*24
}

func digits(text string) (n int, ok bool) {
	for _, r := range text {
		if r < '0' || r > '9' || n > 1<<30 {
			return 0, false
		}
		n = n*10 + int(r-'0')
	}
	return n, text != ""
}

func poolLimitsText(c *Check, r view.Resource) {
	limits := r.Props.Key("spec", "limits")
	keys, state := limits.Keys()
	c.Known(limits, state)
	for _, key := range keys {
		c.Expect(limits.Key(key), "a quantity is text, in a flat map",
			func(v view.Value) bool { _, s := v.Text(); return s == view.Known })
	}
}

func poolInstancesMarked(c *Check, r view.Resource) {
	tagged := r.Props.Key("spec", "tags")
	if r.Type == view.TypeLaunchTemplate {
		list, state := r.Props.Key("tagSpecifications").Elements()
		if state == view.Unknown {
			c.Unknown(r.Props.Key("tagSpecifications"))
			return
		}
		i := slices.IndexFunc(list, func(v view.Value) bool {
			kind,
				_ := v.Key("resourceType").Text()
			return kind == "instance"
		})
		if i < 0 {
			c.Violation(r.Props.Key("tagSpecifications"), "no tags for instances")
			return
		}
		tagged = list[i].Key("tags")
	}
	for _, key := range []string{pool.ClusterTag, pool.PoolTag} {
		c.Expect(tagged.Key(key), "instances would not be counted",
			func(v view.Value) bool { text, s := v.Text(); return s == view.Known && text != "" })
	}
}
