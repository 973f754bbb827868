package rules

import (
	"fmt"
	"strings"

	"github.com/headroom-eks/headroom/policy/view"
	"github.com/headroom-eks/headroom/pool"
	"github.com/pulumi/pulumi/sdk/v3/go/property"
)

// Capacity rules hold the stack's output `capacity` to the stack's own resources.
var capacityRules = []Rule{
	{
		Name:   "capacity-within-ceilings",
		Area:   "capacity",
		Level:  Mandatory,
		Stack:  capacityWithinCeilings,
		Why:    "A pool advertises nodes that cannot appear: the second pod of a gang would stay Pending.",
		Remedy: "advertise the smallest ceiling, and nothing above it",
		Types:  []string{view.TypeStack},
		Faults: []string{"BR-19", "BR-20", "BR-21"},
	},
	{
		Name:   "capacity-within-pool",
		Area:   "capacity",
		Level:  Mandatory,
		Stack:  capacityWithinPool,
		Why:    "A pool advertises more nodes than its own node group or NodePool allows.",
		Remedy: "raise the pool's maximum, or advertise less",
		Types:  []string{view.TypeStack, view.TypeNodeGroup, view.TypeNodePool},
		Faults: []string{"BR-20", "BR-22", "BR-23"},
	},
	{
		Name:   "capacity-has-scaler",
		Area:   "capacity",
		Level:  Mandatory,
		Stack:  capacityHasScaler,
		Why:    "A pool advertises more nodes than it has, and nothing in this stack would add them.",
		Remedy: "install the pool's scaler, or make the pool fixed and advertise what is realized",
		Types:  []string{view.TypeStack, view.TypeCluster, view.TypeChart},
		Faults: []string{"BR-20"},
	},
	{
		Name:   "gpu-budget",
		Area:   "capacity",
		Level:  Mandatory,
		Stack:  gpuBudget,
		Why:    "All pools at their maximum would run more GPUs than this environment may pay for.",
		Remedy: "lower a pool's maximum, or raise maxGpus in the environment's policy config",
		Types:  []string{view.TypeNodeGroup, view.TypeNodePool},
		Settings: []Setting{
			{Name: "maxGpus", Doc: "GPUs of all pools at their maximum", Default: 64},
		},
	},
}

// advertisedPools of the output; the others make no promise in nodes.
func advertisedPools(c *Check, g view.Graph) (out []view.Value) {
	at := g.Output("capacity").Key("pools")
	pools, state := at.Elements()
	c.Known(at, state)
	for _, p := range pools {
		if advertised, state := p.Key("advertised").Bool(); state == view.Absent ||
			c.Known(p.Key("advertised"), state) &&
				advertised {
			out = append(out, p)
		}
	}
	return out
}

func capacityWithinCeilings(c *Check, g view.Graph) {
	if at := g.Output("capacity"); at.State() == view.Absent && len(g.Groups()) > 0 {
		c.Violation(at, "the stack has pools and no output of this name")
	}
	for _, p := range advertisedPools(c, g) {
		at := p.Key("nodes", "maximum")
		maximum, state := at.Int()
		if state == view.Absent {
			c.Violation(at, "every pool says how many nodes it can reach")
			continue
		}
		if !c.Known(at, state) {
			continue
		}
		ceilings, state := p.Key("ceilings").Elements()
		c.Known(p.Key("ceilings"), state)
		for _, ceiling := range ceilings {
			nodes, state := ceiling.Key("nodes").Int()
			if c.Known(ceiling.Key("nodes"), state) && maximum > nodes {
				c.Violation(at, "pool %s has a ceiling of kind %s at %s nodes", p.Key("name").Show(),
					ceiling.Key("kind").Show(), ceiling.Key("nodes").Show())
			}
		}
		for _, part := range []string{"firm", "largestGang"} {
			lower := p.Key("nodes", part)
			if part == "largestGang" {
				lower = p.Key(part)
			}
			if n, state := lower.Int(); c.Known(lower, state) && n > maximum {
				c.Violation(lower, "it is above the pool's maximum of %s nodes", at.Show())
			}
		}
		per, s1 := p.Key("perNode", "gpus").Int()
		gpus, s2 := p.Key("gpus", "maximum").Int()
		if c.Known(p.Key("perNode", "gpus"), s1) && c.Known(p.Key("gpus", "maximum"), s2) && gpus != per*maximum {
			c.Violation(p.Key("gpus", "maximum"), "%s nodes of %s GPUs are another number", at.Show(),
				p.Key("perNode", "gpus").Show())
		}
	}
}

// groupsNamed gives the groups of a pool, by the label headroom/pool: several when the pool is spread over zones.
func groupsNamed(groups []view.Group, name string) []view.Group {
	var out []view.Group
	for _, p := range groups {
		if label, state := p.Label.Text(); state == view.Known && label == name {
			out = append(out, p)
		}
	}
	return out
}

func capacityWithinPool(c *Check, g view.Graph) {
	groups := g.Groups()
	for _, a := range advertisedPools(c, g) {
		name, s1 := a.Key("name").Text()
		at := a.Key("nodes", "maximum")
		maximum, s2 := at.Int()
		realized, s3 := a.Key("nodes", "realized").Int()
		if !c.Known(a.Key("name"), s1) || !c.Known(at, s2) || !c.Known(a.Key("nodes", "realized"), s3) {
			continue
		}
		sum, bounded, allowed := 0, true, []string{}
		for _, p := range groupsNamed(groups, name) {
			n, where, state := p.MaxNodes()
			bounded = bounded && c.Known(where, state)
			sum, allowed = sum+n, append(allowed, where.Path()+" "+where.Show())
		}
		// More may be realized than is allowed: lowering a limit removes nothing (field fault BR-24).
		if bounded && len(allowed) > 0 && maximum > sum && maximum > realized {
			c.Violation(at, "the resources of pool %s allow fewer nodes (%s)", a.Key("name").Show(),
				strings.Join(allowed, ", "))
		}
	}
}

func capacityHasScaler(c *Check, g view.Graph) {
	groups := g.Groups()
	for _, a := range advertisedPools(c, g) {
		at := a.Key("nodes", "maximum")
		name, s0 := a.Key("name").Text()
		maximum, s1 := at.Int()
		realized, s2 := a.Key("nodes", "realized").Int()
		scaler, s3 := a.Key("scaler").Text()
		if !c.Known(a.Key("name"), s0) || !c.Known(at, s1) || !c.Known(a.Key("nodes", "realized"), s2) ||
			!c.Known(a.Key("scaler"), s3) ||
			maximum <= realized {
			continue
		}
		if missing := missingScaler(c, g, scaler); missing != "" {
			c.Violation(at, "%s nodes are realized, the scaler is %s, and %s", a.Key("nodes", "realized").Show(),
				a.Key("scaler").Show(), missing)
			continue
		}
		if len(groupsNamed(groups, name)) > 0 {
			continue
		}
		if given := g.Output(view.ManifestsOutput); given.State() == view.Unknown {
			c.Unknown(given)
			continue
		}
		c.Violation(at, "no node group or NodePool of this stack or its manifests has the label %s with the value %s",
			pool.PoolLabel, a.Key("name").Show())
	}
}

func gpuBudget(c *Check, g view.Graph) {
	total, parts := 0, []string{}
	for _, p := range g.Groups() {
		if len(p.Hardware) == 0 && p.Unread {
			c.Unknown(p.TypesV)
			continue
		}
		if !p.GPU() {
			continue
		}
		nodes, at, state := p.MaxNodes()
		most := 0
		for _, h := range p.Hardware {
			most = max(most, h.GPUs)
		}
		// without a bound or an exact type other rules refuse the pool; here nothing can be added up
		if state == view.Absent || most == 0 {
			c.Unknown(p.TypesV)
			continue
		}
		if !c.Known(at, state) {
			continue
		}
		total += nodes * most
		parts = append(parts, fmt.Sprintf("pool %s %d", p.Label.Show(), nodes*most))
	}
	if budget := c.Int("maxGpus"); total > budget {
		all := view.NewValue(g.StackURN(), "GPUs of all pools at maximum", property.New(float64(total)))
		c.Violation(all, "the environment's budget is %d (%s)", budget, strings.Join(parts, ", "))
	}
}
