package main

import (
	"slices"
	"strings"
)

// Scaler rules look at what moves the pools of a whole stack.
var scalerRules = []Rule{
	{
		Name: "pool-bounds-scaled", Area: "scalers", Level: Mandatory, Stack: poolBoundsScaled,
		Why:    "A node group has room between its size and its maximum, and nothing on the cluster would use it.",
		Remedy: "install cluster-autoscaler for the pool, or make min = desired = max",
		Types:  []string{typeNodeGroup}, Faults: []string{"BR-20"},
	},
	{
		Name:  "scalers-disjoint",
		Area:  "scalers",
		Level: Mandatory,
		Stack: scalersDisjoint,
		Why:   "Two scalers answer the same pending pod: one of the two nodes comes up unused.",
		Remedy: "give each pool a NoSchedule taint on a key that the other does not use, or declare podsSelectPool " +
			"in headroom:environment; Auto Mode goes alone",
		Types:  []string{typeNodeGroup, typeNodePool, typeCluster},
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
		Types:  []string{typeStack, typeNodeGroup, typeNodePool, typeCluster},
		Faults: []string{"BR-11", "BR-12"},
	},
}

// scaled gives the managed groups that something may grow.
func scaled(c *Check, g Graph) []Pool {
	var out []Pool
	for _, p := range g.Pools() {
		if !p.Managed || emptyFixed(p.Resource) {
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

func poolBoundsScaled(c *Check, g Graph) {
	_, installed := g.Controller("cluster-autoscaler")
	for _, r := range g.OfType(typeNodeGroup) {
		if emptyFixed(r) {
			continue
		}
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

func scalersDisjoint(c *Check, g Graph) {
	groups := scaled(c, g)
	var auto, karpenter []Pool
	for _, p := range g.Pools() {
		if p.Managed {
			continue
		}
		api := p.Props.Key("spec", "template", "spec", "nodeClassRef", "group")
		switch text, state := api.Text(); {
		case !c.Known(api, state):
		case text == karpenterAPI:
			karpenter = append(karpenter, p)
		default:
			auto = append(auto, p)
		}
	}
	for _, cluster := range g.OfType(typeCluster) {
		at := cluster.Props.Key("computeConfig", "enabled")
		on, state := at.Bool()
		if c.Known(at, state) && on {
			if others := append(slices.Clone(karpenter), managed(g)...); len(others) > 0 {
				c.Violation(at, "beside Auto Mode stands pool %s (%s)", others[0].Label.Show(), others[0].Type)
			}
		} else if len(auto) > 0 && state != Unknown {
			c.Violation(auto[0].Props.Key("spec", "template", "spec", "nodeClassRef", "group"),
				"Auto Mode is off in cluster %s", cluster.Name)
		}
	}
	for _, p := range karpenter {
		for _, q := range groups {
			if c.Env.PodsSelectPool {
				continue
			}
			if p.Unread || q.Unread {
				c.Unknown(p.TaintsV)
				continue
			}
			if apart(p, q) && apart(q, p) {
				continue
			}
			c.Violation(p.TaintsV, "a pod could fit pool %s of Karpenter and pool %s of cluster-autoscaler",
				p.Label.Show(), q.Label.Show())
		}
	}
}

func managed(g Graph) (out []Pool) {
	for _, p := range g.Pools() {
		if p.Managed {
			out = append(out, p)
		}
	}
	return out
}

// apart tells whether p keeps off the pods written for q: it has a taint on a key that q does not use. Values do not
// matter, since a toleration with operator Exists takes any. The program's own check (pool.ValidateOverlap) compares
// the same way.
func apart(p, q Pool) bool {
	return slices.ContainsFunc(p.Taints, func(t Taint) bool {
		return t.Keeps() && !slices.ContainsFunc(q.Taints, func(other Taint) bool { return other.Key == t.Key })
	})
}

func poolDRAServed(c *Check, g Graph) {
	for _, a := range advertisedPools(c, g) {
		mode, s1 := a.Key("deviceMode").Text()
		scaler, s2 := a.Key("scaler").Text()
		name, s3 := a.Key("name").Text()
		if !c.Known(a.Key("deviceMode"), s1) || !c.Known(a.Key("scaler"), s2) || !c.Known(a.Key("name"), s3) ||
			mode != "dra" {
			continue
		}
		maximum, s4 := a.Key("nodes", "maximum").Int()
		realized, s5 := a.Key("nodes", "realized").Int()
		if s4 == Known && s5 == Known && maximum <= realized {
			continue // promises nothing that a scaler would have to make
		}
		for _, p := range poolsNamed(g.Pools(), name) {
			switch scaler {
			case "cluster-autoscaler":
				c.Expect(p.Props.Key("scalingConfig", "minSize"), "cluster-autoscaler cannot start a DRA pool from "+
					"zero on AWS",
					func(v Value) bool { n, _ := v.Int(); return n >= 1 })
			case "karpenter":
				if p.Props.Key("spec", "replicas").State() == Absent {
					karpenterServesDRA(c, g, p)
				}
			case "auto-mode":
				for _, cluster := range g.OfType(typeCluster) {
					c.Expect(cluster.Props.Key("version"), "Auto Mode serves DRA from Kubernetes 1.36 on",
						func(v Value) bool {
							text, _ := v.Text()
							n, ok := minor(text)
							return ok && n >= 36
						})
				}
			}
		}
	}
}

// karpenterServesDRA reads the gate off the rendered controller: a chart shows policies no values.
func karpenterServesDRA(c *Check, g Graph, p Pool) {
	for _, r := range g.OfType(typeDeployment) {
		if !strings.Contains(r.Name, "karpenter") {
			continue
		}
		containers, _ := r.Props.Key("spec", "template", "spec", "containers").Elements()
		for _, container := range containers {
			env, _ := container.Key("env").Elements()
			for _, e := range env {
				if key, _ := e.Key("name").Text(); key == "AWS_FEATURE_GATES" {
					c.Expect(e.Key("value"), "a DRA pool is waiting for this controller with its gate off",
						func(v Value) bool {
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
