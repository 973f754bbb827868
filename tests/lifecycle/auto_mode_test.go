package lifecycle

import (
	"slices"
	"strings"
	"testing"

	"github.com/headroom-eks/headroom/infra/config"
	"github.com/headroom-eks/headroom/pool"
	"github.com/headroom-eks/headroom/sandbox/kubernetes"
	"github.com/headroom-eks/headroom/sandbox/run"
	"github.com/headroom-eks/headroom/sandbox/world"
)

// pending plays pods for which Karpenter or Auto Mode brings a pool to a number of nodes.
func (e *environment) pending(name string, nodes int) {
	e.t.Helper()
	e.act(func(s *world.State) error {
		_, err := kubernetes.ScaleNodePool(s, s.OfType(clusterToken)[0].ID, name, nodes)
		return err
	})
}

// made are the resources of a type that a result creates, by their logical names.
func made(r run.Result, typ string) (names []string) {
	for _, s := range r.Steps {
		if s.Type == typ && s.Op == "create" {
			names = append(names, s.Name)
		}
	}
	slices.Sort(names)
	return names
}

// clusterStep is what an update does to the cluster itself.
func (e *environment) clusterStep(r run.Result) run.Step {
	e.t.Helper()
	found := r.Named("cluster-eks-eksCluster")
	if len(found) != 1 {
		e.t.Fatalf("steps of the cluster: %+v", found)
	}
	return found[0]
}

// computeConfig of the cluster in the account.
func (e *environment) computeConfig() (settings map[string]any) {
	e.t.Helper()
	e.view(func(s *world.State) error {
		settings, _ = s.OfType(clusterToken)[0].Outputs["computeConfig"].(map[string]any)
		return nil
	})
	return settings
}

func TestAutoModeFromNothingToNothing(t *testing.T) {
	e := start(t, config.Environment{
		Pools: []config.Pool{provisioned("gpu-l4", pool.AutoMode, "g6.xlarge", 4, pool.OnDemand)},
	})
	e.mayOnly(inMode("auto-mode")...)
	e.step("nothing is made beside it that Auto Mode brings or excludes, field fault BR-10", func() {
		first := e.up()
		for _, typ := range []string{
			"aws:eks/nodeGroup:NodeGroup", "aws:eks/addon:Addon", "aws:sqs/queue:Queue",
			"aws:cloudwatch/eventRule:EventRule", "kubernetes:helm.sh/v4:Chart",
			"aws:eks/accessEntry:AccessEntry", // EKS makes the one of the role that the cluster carries
		} {
			if names := made(first, typ); len(names) > 0 {
				e.t.Errorf("made %s %q", typ, names)
			}
		}
		if names := made(first, "kubernetes:karpenter.sh/v1:NodePool"); !slices.Equal(names,
			[]string{"pool-gpu-l4-pool"}) {
			e.t.Errorf("node pools: %q", names)
		}
		for _, name := range made(first, "aws:iam/role:Role") {
			if strings.Contains(name, "karpenter") {
				e.t.Errorf("made role %s", name)
			}
		}
	})
	e.step("its nodes are counted and its maximum is soft", func() {
		e.pending("gpu-l4", 2)
		p := e.pool(e.up().Outputs, "gpu-l4")
		if p.Nodes.Realized != 2 || p.Nodes.Maximum != 4 || !p.MaximumIsSoft || !p.ScalesFromZero {
			e.t.Errorf("%+v, soft %t, from zero %t", p.Nodes, p.MaximumIsSoft, p.ScalesFromZero)
		}
	})
	e.step("the next update plans nothing", func() { e.settled() })
	e.step("everything goes, its nodes too", func() { e.down() })
}

// The three environments that a cluster is switched between.
var (
	withoutAutoMode = []config.Pool{fixed("gpu-l4", "g6.xlarge", 1)}
	withAutoMode    = []config.Pool{provisioned("gpu-auto", pool.AutoMode, "g6.xlarge", 2, pool.OnDemand)}
	ownGeneral      = config.General{
		Scaler:        pool.AutoMode,
		CapacityTypes: []pool.CapacityType{pool.OnDemand},
		Limits:        config.GeneralLimits{VCPUs: 16, MemoryGiB: 64},
	}
)

func TestSwitchingAutoModeKeepsTheCluster(t *testing.T) {
	e := start(t, config.Environment{Pools: withoutAutoMode})
	e.up()
	e.step("a switch is refused until it is allowed, field fault BR-83", func() {
		e.trying(func(env *config.Environment) { env.Pools = withAutoMode }, func() {
			e.refused("autoMode", "would switch it on", "autoMode.allowSwitch: true")
		})
	})
	e.step("opting in without built-in pools updates the cluster in place and sends no node role", func() {
		e.change(func(env *config.Environment) {
			env.AutoMode = config.AutoMode{AllowSwitch: true, BuiltInPools: []string{}}
			env.General, env.Pools = &ownGeneral, withAutoMode
		})
		in := e.up()
		e.switched(in, true, false)
		if entries := made(in, "aws:eks/accessEntry:AccessEntry"); len(entries) != 1 {
			e.t.Errorf("access entries of our own: %q", entries)
		}
	})
	e.step("pools go in an update of their own, with their nodes", func() {
		e.pending("gpu-auto", 1)
		e.pending("general", 1)
		e.change(func(env *config.Environment) { env.AutoMode.Keep, env.General, env.Pools = true, nil, nil })
		out := e.up()
		if len(out.Named("cluster-eks-eksCluster")) > 0 {
			e.t.Errorf("the cluster is touched already: %+v", out.Named("cluster-eks-eksCluster"))
		}
		for _, node := range e.nodes() {
			e.t.Errorf("%s still runs", node)
		}
	})
	e.step("opting out updates the cluster in place", func() {
		e.change(func(env *config.Environment) { env.AutoMode.Keep, env.Pools = false, withoutAutoMode })
		e.switched(e.up(), false, false)
	})
	e.step("opting in with a built-in pool updates the cluster in place and sends a node role", func() {
		e.change(func(env *config.Environment) {
			env.AutoMode.BuiltInPools, env.Pools = []string{"system"}, withAutoMode
		})
		e.switched(e.up(), true, true)
	})
	switchBackWithTheNodeRole(e)
	e.step("everything goes", func() { e.down() })
}

// switchBackWithTheNodeRole: a built-in pool has given the cluster a node role, which EKS never takes away.
func switchBackWithTheNodeRole(e *environment) {
	e.step("the last built-in pool cannot be taken away, since that replaces the cluster", func() {
		e.trying(func(env *config.Environment) {
			env.AutoMode.BuiltInPools, env.General = []string{}, &ownGeneral
		}, func() { e.refused("autoMode.builtInPools", "replace") })
	})
	e.step("opting out with a built-in pool keeps the node role in the cluster's settings", func() {
		e.change(func(env *config.Environment) { env.AutoMode.Keep, env.Pools = true, nil })
		e.up()
		e.change(func(env *config.Environment) { env.AutoMode.Keep, env.Pools = false, withoutAutoMode })
		e.switched(e.up(), false, true)
	})
	e.step("opting in again with another node role is refused, since that replaces the cluster", func() {
		e.trying(func(env *config.Environment) { env.Pools = withAutoMode }, func() {
			e.refused("autoMode.builtInPools", "replace")
		})
	})
	e.step("opting in again without built-in pools is refused too, since the settings cannot lose the role", func() {
		e.trying(func(env *config.Environment) {
			env.AutoMode.BuiltInPools, env.General, env.Pools = []string{}, &ownGeneral, withAutoMode
		}, func() { e.refused("autoMode.builtInPools", "replace") })
	})
}

// switched wants an update to have changed the cluster in place, to these settings of Auto Mode, and to have settled.
func (e *environment) switched(r run.Result, enabled, nodeRole bool) {
	e.t.Helper()
	if step := e.clusterStep(r); step.Op != "update" || len(step.Replaces) > 0 {
		e.t.Errorf("the cluster's step is %s, replacing for %q", step.Op, step.Replaces)
	}
	if settings := e.computeConfig(); settings["enabled"] != enabled || (settings["nodeRoleArn"] != nil) != nodeRole {
		e.t.Errorf("computeConfig is %v", settings)
	}
	e.settled()
}

func TestAutoModeIsNotSharedWithPoolsOfOurs(t *testing.T) {
	e := start(t, config.Environment{AutoMode: config.AutoMode{Keep: true}, Pools: withoutAutoMode})
	e.refused("autoMode.keep", "gpu-l4")
}
