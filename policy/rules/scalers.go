package rules

import (
	"fmt"
	"slices"
	"strings"

	"github.com/headroom-eks/headroom/policy/view"
	"github.com/headroom-eks/headroom/pool"
)

// Scaler rules look at what moves the pools of a whole stack.
var scalerRules = []Rule{
	{
		Name:   "pool-bounds-scaled",
		Area:   "scalers",
		Level:  Mandatory,
		Stack:  poolBoundsScaled,
		Why:    "A node group has room between its size and its maximum, and nothing on the cluster would use it.",
		Remedy: "install cluster-autoscaler for the pool, or make min = desired = max",
		Types:  []string{view.TypeNodeGroup},
		Faults: []string{"BR-20"},
	},
	{
		Name:  "scalers-disjoint",
		Area:  "scalers",
		Level: Mandatory,
		Stack: scalersDisjoint,
		Why: "A pending pod gets a node that it does not need: two scalers answer it and one of the two nodes " +
			"comes up unused, or the node is one of another device mode, where it never runs.",
		Remedy: "give each pool a NoSchedule taint on a key that the other does not use, or declare podsSelectPool " +
			"in headroom:environment; Auto Mode goes alone",
		Types:  []string{view.TypeNodeGroup, view.TypeNodePool, view.TypeCluster},
		Faults: []string{"BR-09", "BR-10"},
	},
	{
		Name:  "pool-dra-served",
		Area:  "scalers",
		Level: Mandatory,
		Stack: poolDRAServed,
		Why:   "A pool claimed through DRA has a scaler that never makes a node for a ResourceClaim.",
		Remedy: "Karpenter: enableDRA; cluster-autoscaler: minNodeCount of at least 1; Auto Mode: Kubernetes 1.36 or " +
			"later; or use device mode plugin",
		Types:  []string{view.TypeStack, view.TypeNodeGroup, view.TypeNodePool, view.TypeCluster},
		Faults: []string{"BR-11", "BR-12"},
	},
}

// scaler is what makes one scaler's promise good in this stack.
type scaler struct {
	// missing says what the stack lacks for the scaler to work; empty when it is there or cannot be told.
	missing func(*Check, view.Graph) string
	// dra reports a pool in which the scaler never makes a node for a ResourceClaim.
	dra func(*Check, view.Graph, view.Group)
}

// scalers that move a node count. No other file of the pack names one.
var scalers = map[pool.Scaler]scaler{
	pool.Karpenter:         {missing: lacksController(pool.Karpenter), dra: karpenterServesDRA},
	pool.ClusterAutoscaler: {missing: lacksController(pool.ClusterAutoscaler), dra: groupIsNeverEmpty},
	pool.AutoMode:          {missing: lacksAutoMode, dra: autoModeServesDRA},
}

// karpenterAPI is the API group of Karpenter's node class. A NodePool of another group is Auto Mode's.
const karpenterAPI = "karpenter.k8s.aws"

// missingScaler says what keeps a pool of this scaler from growing; empty when nothing does or it cannot be told.
func missingScaler(c *Check, g view.Graph, name string) string {
	s, moves := scalers[pool.Scaler(name)]
	if !moves {
		return "nothing moves its node count"
	}
	return s.missing(c, g)
}

func lacksController(name pool.Scaler) func(*Check, view.Graph) string {
	return func(_ *Check, g view.Graph) string {
		if _, found := g.Controller(string(name)); found {
			return ""
		}
		return fmt.Sprintf("no chart, Deployment or component of %s is in this stack", name)
	}
}

func lacksAutoMode(c *Check, g view.Graph) string {
	for _, cluster := range g.OfType(view.TypeCluster) {
		at := cluster.Props.Key("computeConfig", "enabled")
		if on, state := at.Bool(); state == view.Unknown {
			c.Unknown(at)
			return ""
		} else if on {
			return ""
		}
	}
	return "no cluster of this stack has Auto Mode on"
}

// karpenterPool is a NodePool that Karpenter serves, or nil.
func karpenterPool(g view.Graph) *view.Group {
	for _, p := range g.Groups() {
		if group, _ := p.NodeClassGroup().Text(); !p.Managed && group == karpenterAPI {
			return &p
		}
	}
	return nil
}

// nodePools gives the NodePools of Karpenter and those of Auto Mode; what cannot be told is noted.
func nodePools(c *Check, g view.Graph) (karpenter, auto []view.Group) {
	for _, p := range g.Groups() {
		if p.Managed {
			continue
		}
		group := p.NodeClassGroup()
		switch text, state := group.Text(); {
		case !c.Known(group, state):
		case text == karpenterAPI:
			karpenter = append(karpenter, p)
		default:
			auto = append(auto, p)
		}
	}
	return karpenter, auto
}

// scaled gives the managed groups that something may grow.
func scaled(c *Check, g view.Graph) []view.Group {
	var out []view.Group
	for _, p := range g.Groups() {
		if !p.Managed {
			continue
		}
		low, high := p.Props.Key("scalingConfig", "minSize"), p.Props.Key("scalingConfig", "maxSize")
		minimum, s1 := low.Int()
		maximum, s2 := high.Int()
		if c.Known(low, s1) && c.Known(high, s2) && minimum < maximum {
			out = append(out, p)
		}
	}
	return out
}

func poolBoundsScaled(c *Check, g view.Graph) {
	_, installed := g.Controller(string(pool.ClusterAutoscaler))
	for _, r := range g.OfType(view.TypeNodeGroup) {
		scaling := r.Props.Key("scalingConfig")
		desired, s1 := scaling.Key("desiredSize").Int()
		maximum, s2 := scaling.Key("maxSize").Int()
		if c.Known(scaling.Key("desiredSize"), s1) && c.Known(scaling.Key("maxSize"), s2) && maximum > desired &&
			!installed {
			c.Violation(scaling.Key("maxSize"), "desiredSize is %s and this stack has no cluster-autoscaler",
				scaling.Key("desiredSize").Show())
		}
	}
}

func scalersDisjoint(c *Check, g view.Graph) {
	groups := scaled(c, g)
	karpenter, auto := nodePools(c, g)
	autoModeAlone(c, g, karpenter, auto)
	if c.Env.PodsSelectPool {
		return
	}
	modes := deviceModes(c, g)
	served := slices.Concat(karpenter, groups, auto)
	for i, p := range served {
		for _, q := range served[:i] {
			scalers, devices := p.Managed != q.Managed, differ(modes, p, q)
			switch {
			case !scalers && !devices:
			case p.Unread || q.Unread:
				c.Unknown(p.TaintsV)
			case apart(p, q) && apart(q, p):
			case scalers:
				c.Violation(p.TaintsV, "a pod could fit pool %s of cluster-autoscaler and pool %s of Karpenter",
					p.Label.Show(), q.Label.Show())
			default:
				c.Violation(p.TaintsV, "a pod could fit pool %s and pool %s, and its GPUs are claimed in another way "+
					"there",
					p.Label.Show(), q.Label.Show())
			}
		}
	}
}

// deviceModes of the pools that are advertised, by name.
func deviceModes(c *Check, g view.Graph) map[string]string {
	modes := map[string]string{}
	for _, a := range advertisedPools(c, g) {
		name, s1 := a.Key("name").Text()
		mode, s2 := a.Key("deviceMode").Text()
		if c.Known(a.Key("name"), s1) && c.Known(a.Key("deviceMode"), s2) {
			modes[name] = mode
		}
	}
	return modes
}

// differ says that both pools are advertised and that pods claim their GPUs in different ways.
func differ(modes map[string]string, p, q view.Group) bool {
	one, _ := p.Label.Text()
	other, _ := q.Label.Text()
	return modes[one] != "" && modes[other] != "" && modes[one] != modes[other]
}

// autoModeAlone reports other pools beside Auto Mode, and pools of Auto Mode in a cluster where it is off.
func autoModeAlone(c *Check, g view.Graph, karpenter, auto []view.Group) {
	for _, cluster := range g.OfType(view.TypeCluster) {
		at := cluster.Props.Key("computeConfig", "enabled")
		on, state := at.Bool()
		if c.Known(at, state) && on {
			if others := slices.Concat(karpenter, managed(g)); len(others) > 0 {
				c.Violation(at, "beside Auto Mode stands pool %s (%s)", others[0].Label.Show(), others[0].Type)
			}
		} else if len(auto) > 0 && state != view.Unknown {
			c.Violation(auto[0].NodeClassGroup(), "Auto Mode is off in cluster %s", cluster.Name)
		}
	}
}

func managed(g view.Graph) (out []view.Group) {
	for _, p := range g.Groups() {
		if p.Managed {
			out = append(out, p)
		}
	}
	return out
}

// apart says whether p keeps off the pods written for q: it has a taint on a key that q does not use. Values do not
// matter, since a toleration with operator Exists takes any. The program's own check (infra/plan) compares the
// same way.
func apart(p, q view.Group) bool {
	return slices.ContainsFunc(p.Taints, func(t pool.Taint) bool {
		return view.KeepsOff(t) && !slices.ContainsFunc(q.Taints,
			func(other pool.Taint) bool { return other.Key == t.Key })
	})
}

func poolDRAServed(c *Check, g view.Graph) {
	for _, a := range advertisedPools(c, g) {
		mode, s1 := a.Key("deviceMode").Text()
		name, s2 := a.Key("scaler").Text()
		label, s3 := a.Key("name").Text()
		if !c.Known(a.Key("deviceMode"), s1) || !c.Known(a.Key("scaler"), s2) || !c.Known(a.Key("name"), s3) ||
			mode != string(pool.DRA) {
			continue
		}
		maximum, s4 := a.Key("nodes", "maximum").Int()
		realized, s5 := a.Key("nodes", "realized").Int()
		if s4 == view.Known && s5 == view.Known && maximum <= realized {
			continue // promises nothing that a scaler would have to make
		}
		s, moves := scalers[pool.Scaler(name)]
		if !moves {
			continue // capacity-has-scaler reports it
		}
		for _, p := range groupsNamed(g.Groups(), label) {
			s.dra(c, g, p)
		}
	}
}

func groupIsNeverEmpty(c *Check, _ view.Graph, p view.Group) {
	c.Expect(p.Props.Key("scalingConfig", "minSize"), "cluster-autoscaler cannot start a DRA pool from zero on AWS",
		func(v view.Value) bool { n, _ := v.Int(); return n >= 1 })
}

func autoModeServesDRA(c *Check, g view.Graph, _ view.Group) {
	for _, cluster := range g.OfType(view.TypeCluster) {
		c.Expect(cluster.Props.Key("version"), "Auto Mode serves DRA from Kubernetes 1.36 on",
			func(v view.Value) bool {
				text, _ := v.Text()
				n, ok := minor(text)
				return ok && n >= 36
			})
	}
}

// karpenterServesDRA reads the gate off the rendered controller: a chart shows policies no values. A static pool makes
// its nodes without a claim.
func karpenterServesDRA(c *Check, g view.Graph, p view.Group) {
	if p.Props.Key("spec", "replicas").State() != view.Absent {
		return
	}
	for _, r := range g.OfType(view.TypeDeployment) {
		if !strings.Contains(r.Name, string(pool.Karpenter)) {
			continue
		}
		containers, _ := r.Props.Key("spec", "template", "spec", "containers").Elements()
		for _, container := range containers {
			env, _ := container.Key("env").Elements()
			for _, e := range env {
				if key, _ := e.Key("name").Text(); key == "AWS_FEATURE_GATES" {
					c.Expect(e.Key("value"), "a DRA pool is waiting for this controller with its gate off",
						func(v view.Value) bool {
							text, _ := v.Text()
							return strings.Contains(text, "DRANVIDIAGPU=true")
						})
					return
				}
			}
		}
	}
	c.Unknown(p.Props.Key("spec", "template")) // the chart is not rendered yet
}
