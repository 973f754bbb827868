package lifecycle

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/headroom-eks/headroom/capacity"
	"github.com/headroom-eks/headroom/infra/config"
	"github.com/headroom-eks/headroom/pool"
	"github.com/headroom-eks/headroom/sandbox/run"
	"github.com/headroom-eks/headroom/sandbox/world"
)

// group of a pool as the account has it. The copy does not follow it.
func (e *environment) group(name string) (found world.Group) {
	e.t.Helper()
	e.view(func(s *world.State) error {
		g, err := s.GroupOfPool("", name)
		if err == nil {
			found = *g
			found.Tags = maps.Clone(g.Tags)
		}
		return err
	})
	return found
}

// groups of a pool by zone, when it has one in each.
func (e *environment) groups(name string) map[string]world.Group {
	e.t.Helper()
	found := map[string]world.Group{}
	e.view(func(s *world.State) error {
		for _, g := range s.Groups {
			if g.InstanceTags["headroom/pool"] == name && len(g.Subnets) == 1 {
				zone, _ := s.Get(world.SubnetType, g.Subnets[0]).Outputs["availabilityZone"].(string)
				copied := *g
				copied.Tags = maps.Clone(g.Tags)
				found[zone] = copied
			}
		}
		return nil
	})
	return found
}

// scale plays cluster-autoscaler. The pool is named by its label or, when it has several groups, the group by its own
// name.
func (e *environment) scale(name string, nodes int) {
	e.t.Helper()
	e.act(func(s *world.State) error {
		g, err := s.GroupOfPool("", name)
		if err != nil {
			return err
		}
		return s.ScaleGroup(g, nodes, false)
	})
}

// groupSteps are the steps of a plan that touch the sizes of node groups.
func groupSteps(r run.Result) (steps []run.Step) {
	for _, s := range r.Steps {
		if s.Type == world.NodeGroupType && slices.ContainsFunc(s.Diffs,
			func(d string) bool { return strings.HasPrefix(d, "scalingConfig") }) {
			steps = append(steps, s)
		}
	}
	return steps
}

func sizesOf(g world.Group) [3]int { return [3]int{g.Min, g.Desired, g.Max} }

// tiered is a pool of cluster-autoscaler that starts with a node and can fall to none.
func tiered() config.Pool {
	p := autoscaled("gpu-l4", "g6.xlarge", 14)
	p.NodeCount, p.MinNodeCount = new(1), new(0)
	p.Labels = map[string]string{"example.com/tier": "gold"}
	p.Taints = []pool.Taint{{Key: "example.com/workload-type", Value: "inference", Effect: pool.NoSchedule}}
	return p
}

func TestGroupsOfClusterAutoscaler(t *testing.T) {
	e := start(t, config.Environment{Pools: []config.Pool{tiered()}})
	e.mayOnly(inMode("cluster-autoscaler")...)
	e.step("the Auto Scaling group carries the pool's labels, taints and resources", func() {
		e.up()
		const prefix = "k8s.io/cluster-autoscaler/node-template/"
		got := map[string]string{}
		for key, value := range e.group("gpu-l4").Tags {
			if name, ours := strings.CutPrefix(key, prefix); ours {
				got[name] = value
			}
		}
		want := map[string]string{
			"label/headroom/pool":                 "gpu-l4",
			"label/example.com/tier":              "gold",
			"label/k8s.amazonaws.com/accelerator": "nvidia-l4",
			"taint/nvidia.com/gpu":                "true:NoSchedule",
			"taint/example.com/workload-type":     "inference:NoSchedule",
			"resources/nvidia.com/gpu":            "1",
			"resources/ephemeral-storage":         "179Gi",
			"resources/cpu":                       "3920m",
			"resources/memory":                    "14162Mi",
			"resources/pods":                      "58",
		}
		if !maps.Equal(got, want) {
			e.t.Errorf("template tags are %v, want %v", got, want)
		}
	})
	e.step("a second update plans nothing", func() { e.settled() })
	editsLeaveSizesAlone(e)
	changedBoundsKeepLiveSizes(e)
	e.step("a maximum that AWS inflated is planned back after a refresh, without touching the size", func() {
		e.act(func(s *world.State) error {
			g, err := s.GroupOfPool("", "gpu-l4")
			if err != nil {
				return err
			}
			return s.SetGroupBounds(g, 5, 40)
		})
		e.scale("gpu-l4", 7)
		if _, err := e.Refresh(testContext); err != nil {
			e.t.Fatal(err)
		}
		if planned := groupSteps(e.preview()); len(planned) != 1 ||
			!slices.Equal(planned[0].Diffs, []string{"scalingConfig.maxSize"}) {
			e.t.Errorf("planned: %+v", planned)
		}
		e.up()
		if got := sizesOf(e.group("gpu-l4")); got != [3]int{5, 7, 15} {
			e.t.Errorf("minimum, desired, maximum are %v", got)
		}
		e.settled()
	})
	e.step("a maximum below the live size is refused before anything is made", func() {
		e.changePool("gpu-l4", func(p *config.Pool) { p.MaxNodeCount = new(6) })
		e.refused("gpu-l4", "is below the 7 nodes that the group has (found 6)", "drain it to 6 first")
	})
	tagsChangeAlone(e)
	e.step("everything goes", func() { e.down() })
}

func tagsChangeAlone(e *environment) {
	e.step("what a node has for pods changes, and no node and no group with it", func() {
		e.changePool("gpu-l4", func(p *config.Pool) { p.MaxNodeCount = new(15) })
		e.change(func(env *config.Environment) { env.Network.PrefixDelegation = true })
		tagged := e.up()
		for _, s := range tagged.Steps {
			if s.Type == world.NodeGroupType || strings.Contains(s.Type, "launchTemplate") {
				e.t.Errorf("the update changes %+v", s)
			}
		}
		tags := e.group("gpu-l4").Tags
		if tags["k8s.io/cluster-autoscaler/node-template/resources/pods"] != "110" {
			e.t.Errorf("tags %v", tags)
		}
		if p := e.pool(tagged.Outputs, "gpu-l4"); p.Nodes.Realized != 7 {
			e.t.Errorf("%+v", p.Nodes)
		}
	})
}

func editsLeaveSizesAlone(e *environment) {
	e.step("a grown group keeps its size through an unrelated edit, field fault BR-13", func() {
		e.scale("gpu-l4", 12)
		e.change(func(env *config.Environment) { env.Tags["team"] = "two" })
		edit := e.up()
		if steps := groupSteps(edit); len(steps) > 0 {
			e.t.Errorf("the edit changes sizes: %+v", steps)
		}
		if len(edit.Steps) == 0 {
			e.t.Error("the edit changes nothing at all")
		}
		if got := sizesOf(e.group("gpu-l4")); got != [3]int{0, 12, 14} {
			e.t.Errorf("minimum, desired, maximum are %v", got)
		}
		if p := e.pool(e.up().Outputs, "gpu-l4"); p.Nodes.Realized != 12 {
			e.t.Errorf("the contract says %+v", p.Nodes)
		}
	})
	e.step("a changed nodeCount plans nothing", func() {
		e.changePool("gpu-l4", func(p *config.Pool) { p.NodeCount = new(3) })
		e.settled()
	})
}

func changedBoundsKeepLiveSizes(e *environment) {
	e.step("a raised maximum does not shrink a grown group", func() {
		e.changePool("gpu-l4", func(p *config.Pool) { p.MaxNodeCount = new(15) })
		raised := e.up()
		if steps := groupSteps(raised); len(steps) != 1 || len(raised.Steps) != 1 {
			e.t.Errorf("the update does %v", raised.Ops())
		}
		const bounds = "bounds are to go from 0..14 to 0..15, desired size stays at 12"
		if said := raised.Messages("info"); !strings.Contains(said, bounds) {
			e.t.Errorf("it says %q", said)
		}
		if got := sizesOf(e.group("gpu-l4")); got != [3]int{0, 12, 15} {
			e.t.Errorf("minimum, desired, maximum are %v", got)
		}
		e.settled()
	})
	e.step("a minimum raised below the live size leaves the size", func() {
		e.changePool("gpu-l4", func(p *config.Pool) { p.MinNodeCount = new(2) })
		e.up()
		if got := sizesOf(e.group("gpu-l4")); got != [3]int{2, 12, 15} {
			e.t.Errorf("minimum, desired, maximum are %v", got)
		}
		e.settled()
	})
	e.step("a minimum raised above the live size brings the size along, and says so", func() {
		e.scale("gpu-l4", 2)
		e.changePool("gpu-l4", func(p *config.Pool) { p.NodeCount, p.MinNodeCount = new(5), new(5) })
		raised := e.up()
		if len(raised.Steps) != 1 || len(groupSteps(raised)) != 1 {
			e.t.Errorf("the update does %v", raised.Ops())
		}
		if said := raised.Messages("info"); !strings.Contains(said, "desired size goes from 2 to 5, because "+
			"minNodeCount is now 5") {
			e.t.Errorf("it says %q", said)
		}
		if got := sizesOf(e.group("gpu-l4")); got != [3]int{5, 5, 15} {
			e.t.Errorf("minimum, desired, maximum are %v", got)
		}
		e.settled()
	})
}

func TestGroupForEachZoneAndClaims(t *testing.T) {
	claims := autoscaled("claims", "g6.xlarge", 7)
	claims.DeviceMode, claims.MinNodeCount, claims.Spread = pool.DRA, new(3), "per-zone"
	e := start(t, config.Environment{
		Network: config.Network{Zones: []string{"us-west-2a", "us-west-2b", "us-west-2c"}},
		Pools:   []config.Pool{claims},
	})
	e.step("the pool's counts are split over a group for each zone", func() {
		p := e.pool(e.up().Outputs, "claims")
		got := map[string][3]int{}
		for zone, g := range e.groups("claims") {
			got[zone] = sizesOf(g)
		}
		want := map[string][3]int{"us-west-2a": {1, 1, 3}, "us-west-2b": {1, 1, 2}, "us-west-2c": {1, 1, 2}}
		if !maps.Equal(got, want) {
			e.t.Errorf("groups are %v, want %v", got, want)
		}
		if p.Nodes.Realized != 3 || p.Nodes.Maximum != 7 {
			e.t.Errorf("the contract says %+v", p.Nodes)
		}
		if p.LargestGang != 3 || !p.TiedToZone {
			e.t.Errorf("the largest gang is %d, tied to a zone: %t; want the share of one zone, 3", p.LargestGang,
				p.TiedToZone)
		}
	})
	e.step("a group of claims is not woken by pods of the device plugin", func() {
		for zone, g := range e.groups("claims") {
			const prefix = "k8s.io/cluster-autoscaler/node-template/"
			if n := g.Tags[prefix+"resources/nvidia.com/gpu"]; n != "0" {
				e.t.Errorf("%s: nvidia.com/gpu is %q", zone, n)
			}
			if label, found := g.Tags[prefix+"label/k8s.amazonaws.com/accelerator"]; found {
				e.t.Errorf("%s: accelerator label %q, with which a node never gets ready", zone, label)
			}
		}
	})
	e.step("a zone whose share falls below its nodes is refused", func() {
		e.scale(e.groups("claims")["us-west-2a"].NodeGroup, 3)
		e.trying(func(env *config.Environment) { env.Pools[0].MaxNodeCount = new(6) }, func() {
			e.refused("us-west-2a", "is below the 3 nodes that the group has (found 2)")
		})
	})
	claimsAtZero(e)
	e.step("everything goes", func() { e.down() })
}

func claimsAtZero(e *environment) {
	e.step("claims that can fall to zero are refused, field fault BR-11", func() {
		e.changePool("claims", func(p *config.Pool) { p.MinNodeCount = new(0) })
		e.refused(`pools[0] "claims".minNodeCount: lets a DRA pool fall to zero`, "acceptNoWakeFromZero: true")
		e.changePool("claims", func(p *config.Pool) { p.MinNodeCount = new(2) })
		e.refused(`"claims".minNodeCount: over 3 zones leaves zones whose DRA group is at zero`, "(found 2)")
	})
	e.step("accepted by key, claims that can fall to zero advertise what is realized", func() {
		e.changePool("claims", func(p *config.Pool) { p.AcceptNoWakeFromZero, p.MinNodeCount = true, new(0) })
		p := e.pool(e.up().Outputs, "claims")
		if p.Nodes.Realized != 5 || p.Nodes.Maximum != 5 || p.BoundBy != capacity.WakeFromZero || p.ScalesFromZero {
			e.t.Errorf("%+v bound by %s, scales from zero: %t", p.Nodes, p.BoundBy, p.ScalesFromZero)
		}
		for _, g := range e.groups("claims") {
			e.scale(g.NodeGroup, 0)
		}
		p = e.pool(e.up().Outputs, "claims")
		if p.Nodes.Maximum != 0 || p.BoundBy != capacity.WakeFromZero {
			e.t.Errorf("at zero: %+v bound by %s", p.Nodes, p.BoundBy)
		}
		e.settled()
	})
}

func TestClusterAutoscalerBesideKarpenter(t *testing.T) {
	e := start(t, config.Environment{Pools: []config.Pool{
		autoscaled("batch", "g6.xlarge", 4),
		provisioned("serving", pool.Karpenter, "g6.2xlarge", 4, pool.OnDemand),
	}})
	apart := func(name string) {
		e.changePool(name, func(p *config.Pool) {
			p.Taints = []pool.Taint{{Key: "example.com/" + name, Value: "special", Effect: pool.NoSchedule}}
		})
	}
	e.step("a pod that two scalers could answer is refused, naming the pools, field fault BR-09", func() {
		e.refused(`"batch" and "serving"`, "from cluster-autoscaler as well as from karpenter", "podsSelectPool: true")
	})
	e.step("a taint on one side is not enough", func() {
		apart("batch")
		e.refused(`"batch" and "serving"`)
	})
	e.step("accepted when each has a taint the other lacks", func() {
		apart("serving")
		planned := e.preview()
		if len(planned.Named("pool-batch-group")) != 1 || len(planned.Named("pool-serving-pool")) != 1 {
			e.t.Errorf("planned: %v", planned.Ops())
		}
	})
	e.step("accepted when every pod selects its pool", func() {
		e.changePool("serving", func(p *config.Pool) { p.Taints = nil })
		e.change(func(env *config.Environment) { env.PodsSelectPool = true })
		e.preview()
	})
}

func TestClusterAutoscalerOfAnotherMinorIsRefused(t *testing.T) {
	e := start(t, config.Environment{
		Cluster: config.Cluster{
			KubernetesVersion: "1.33",
			Addons: config.Addons{
				VpcCNI:    "v1.20.0-eksbuild.1",
				KubeProxy: "v1.33.0-eksbuild.1",
				CoreDNS:   "v1.12.0-eksbuild.1",
				EBSCSI:    "v1.50.0-eksbuild.1",
			},
		},
		System: config.System{AMIRelease: "1.33.3-20260911"},
		Pools:  []config.Pool{autoscaled("gpu-l4", "g6.xlarge", 4)},
	})
	e.refused("cluster.kubernetesVersion", "1.33")
}
