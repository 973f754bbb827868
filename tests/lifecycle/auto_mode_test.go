package lifecycle

import (
	"slices"
	"strings"
	"testing"

	"github.com/headroom-eks/headroom/sandbox/kubernetes"
	"github.com/headroom-eks/headroom/sandbox/run"
	"github.com/headroom-eks/headroom/sandbox/world"
)

// pending plays pods for which Karpenter or Auto Mode brings a pool to a number of nodes.
func (e *environment) pending(pool string, nodes int) {
	e.t.Helper()
	e.act(func(s *world.State) error {
		_, err := kubernetes.ScaleNodePool(s, s.OfType("aws:eks/cluster:Cluster")[0].ID, pool, nodes)
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
func (e *environment) computeConfig() (config map[string]any) {
	e.t.Helper()
	e.view(func(s *world.State) error {
		config, _ = s.OfType("aws:eks/cluster:Cluster")[0].Outputs["computeConfig"].(map[string]any)
		return nil
	})
	return config
}

func TestAutoModeFromNothingToNothing(t *testing.T) {
	e := start(t, stackFile("pools: [{name: gpu-l4, scaler: auto-mode, instanceTypes: [g6.xlarge], capacityTypes: "+
		"[on-demand], maxNodeCount: 4}]"))
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

func TestSwitchingAutoModeKeepsTheCluster(t *testing.T) {
	const (
		fixed = "pools: [{name: gpu-l4, scaler: fixed, instanceTypes: [g6.xlarge], nodeCount: 1}]"
		auto  = "pools: [{name: gpu-auto, scaler: auto-mode, instanceTypes: [g6.xlarge], capacityTypes: [on-demand], " +
			"maxNodeCount: 2}]"
		own = "general: {scaler: auto-mode, capacityTypes: [on-demand], limits: {vcpus: 16, memoryGiB: 64}}"
	)
	e := start(t, stackFile(fixed, "autoMode: {}"))
	e.up()
	inPlace := func(r run.Result) {
		e.t.Helper()
		if step := e.clusterStep(r); step.Op != "update" || len(step.Replaces) > 0 {
			e.t.Errorf("the cluster's step is %s, replacing for %q", step.Op, step.Replaces)
		}
	}
	e.step("a switch is refused until it is allowed, field fault BR-83", func() {
		e.configure(fixed, auto)
		e.refused("autoMode", "would switch it on", "autoMode.allowSwitch: true")
	})
	e.step("opting in without built-in pools updates the cluster in place and sends no node role", func() {
		e.configure("autoMode: {}", "autoMode: {allowSwitch: true, builtInPools: []}\n    "+own)
		in := e.up()
		inPlace(in)
		if config := e.computeConfig(); config["enabled"] != true || config["nodeRoleArn"] != nil {
			e.t.Errorf("computeConfig is %v", config)
		}
		if entries := made(in, "aws:eks/accessEntry:AccessEntry"); len(entries) != 1 {
			e.t.Errorf("access entries of our own: %q", entries)
		}
		e.settled()
	})
	e.step("pools go in an update of their own, with their nodes", func() {
		e.pending("gpu-auto", 1)
		e.pending("general", 1)
		e.configure(auto, "pools: []", "allowSwitch: true,", "allowSwitch: true, keep: true,", own, "")
		out := e.up()
		if len(out.Named("cluster-eks-eksCluster")) > 0 {
			e.t.Errorf("the cluster is touched already: %+v", out.Named("cluster-eks-eksCluster"))
		}
		e.view(func(s *world.State) error {
			for _, i := range s.SortedInstances((*world.Instance).Running) {
				e.t.Errorf("%s of %s still runs", i.ID, i.Pool)
			}
			return nil
		})
	})
	e.step("opting out updates the cluster in place", func() {
		e.configure("pools: []", fixed, " keep: true,", "")
		inPlace(e.up())
		if config := e.computeConfig(); config["enabled"] != false {
			e.t.Errorf("computeConfig is %v", config)
		}
		e.settled()
	})
	e.step("opting in with a built-in pool updates the cluster in place and sends a node role", func() {
		e.configure(fixed, auto, "builtInPools: []", "builtInPools: [system]")
		inPlace(e.up())
		if config := e.computeConfig(); config["enabled"] != true || config["nodeRoleArn"] == nil {
			e.t.Errorf("computeConfig is %v", config)
		}
		e.settled()
	})
	e.step("the last built-in pool cannot be taken away, since that replaces the cluster", func() {
		e.configure("builtInPools: [system]", "builtInPools: []", auto, auto+"\n    "+own)
		e.refused("autoMode.builtInPools", "replace")
		e.configure("builtInPools: []", "builtInPools: [system]", own, "")
	})
	e.step("opting out with a built-in pool keeps the node role in the cluster's settings", func() {
		e.configure(auto, "pools: []", "allowSwitch: true,", "allowSwitch: true, keep: true,")
		e.up()
		e.configure("pools: []", fixed, " keep: true,", "")
		inPlace(e.up())
		if config := e.computeConfig(); config["enabled"] != false || config["nodeRoleArn"] == nil {
			e.t.Errorf("computeConfig is %v", config)
		}
		e.settled()
	})
	e.step("opting in again with another node role is refused, since that replaces the cluster", func() {
		e.configure(fixed, auto)
		e.refused("autoMode.builtInPools", "replace")
	})
	e.step("opting in again without built-in pools is refused too, since the settings cannot lose the role", func() {
		e.configure("builtInPools: [system]", "builtInPools: []", auto, auto+"\n    "+own)
		e.refused("autoMode.builtInPools", "replace")
		e.configure(auto+"\n    "+own, fixed)
	})
	e.step("everything goes", func() { e.down() })
}

func TestAutoModeIsNotSharedWithPoolsOfOurs(t *testing.T) {
	e := start(t, stackFile("autoMode: {keep: true}", "pools: [{name: gpu-l4, scaler: fixed, instanceTypes: "+
		"[g6.xlarge], nodeCount: 1}]"))
	e.refused("autoMode.keep", "gpu-l4")
}
