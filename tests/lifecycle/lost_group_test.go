package lifecycle

import (
	"strings"
	"testing"

	"github.com/headroom-eks/headroom/capacity"
	"github.com/headroom-eks/headroom/infra/config"
	"github.com/headroom-eks/headroom/pool"
	"github.com/headroom-eks/headroom/sandbox/run"
	"github.com/headroom-eks/headroom/sandbox/world"
)

// stock empties or fills the zones of an instance type.
func (e *environment) stock(instanceType string, there bool) {
	e.t.Helper()
	e.act(func(s *world.State) error {
		for _, zone := range []string{"us-west-2a", "us-west-2b"} {
			if there {
				s.FillZone(zone, instanceType)
			} else if err := s.EmptyZone(zone, instanceType, true); err != nil {
				return err
			}
		}
		return nil
	})
}

// touched are the pools whose resources an update makes, changes or deletes, by what it does to the node group.
func touched(r run.Result) map[string]string {
	out := map[string]string{}
	for key, op := range changes(r) {
		if name, found := strings.CutSuffix(key, "-group NodeGroup"); found {
			out[name] = op
		}
	}
	return out
}

// Review M4, and the second try's finding 12: a group that EKS could not make is named and replaced, and nothing else
// is; the pods that run on it get nodes first.
func TestAGroupThatEKSCouldNotMakeIsReplacedByTheNextUpdate(t *testing.T) {
	e := start(t, config.Environment{
		Pools: []config.Pool{fixed("well", "g6.xlarge", 1), autoscaledFrom("scarce", "g6.2xlarge", 1, 3)},
	})
	e.stock("g6.2xlarge", false)
	e.step("its update fails", func() { e.fails(e.Up, "CREATE_FAILED", "InsufficientInstanceCapacity") })
	var first string
	e.step("without stock the next one tries another group, and says so", func() {
		first = e.group("scarce").NodeGroup
		failed := e.fails(e.Up, "CREATE_FAILED", first+"-1")
		if said := failed.Messages("warning"); !strings.Contains(said, first+" of pool scarce is CREATE_FAILED") {
			e.t.Errorf("it says %q", said)
		}
	})
	e.step("with stock it is replaced, and nothing else is", func() {
		e.stock("g6.2xlarge", true)
		done := e.up()
		if p := promise(e.pool(done.Outputs, "scarce")); p != (promised{1, 3, 3, capacity.ConfiguredKind}) {
			e.t.Errorf("scarce promises %+v", p)
		}
		if p := promise(e.pool(done.Outputs, "well")); p != (promised{1, 1, 1, capacity.NoAutoscaler}) {
			e.t.Errorf("well promises %+v", p)
		}
		if got := touched(done); len(got) != 1 || !strings.Contains(got["pool-scarce"], "create-replacement") {
			e.t.Errorf("it does %v", changes(done))
		}
		if last := e.group("scarce").NodeGroup; last != first+"-2" { // the one group of the pool
			e.t.Errorf("%s lives after %s", last, first)
		}
	})
	e.step("the update after it plans nothing", func() {
		if planned := e.preview(); planned.Changed() || strings.Contains(planned.Messages("warning"), "EKS has lost") {
			e.t.Errorf("it plans %v and says %q", planned.Ops(), planned.Messages("warning"))
		}
	})
	e.step("everything goes", func() { e.down() })
}

// Review M4: a degraded group works and is left alone; nodes it does not have are not promised.
func TestADegradedGroupStaysAndPromisesTheNodesItHas(t *testing.T) {
	e := start(t, config.Environment{Pools: []config.Pool{autoscaledFrom("gpu-l4", "g6.xlarge", 1, 4)}})
	e.up()
	status := func(status string) {
		e.act(func(s *world.State) error {
			g, err := s.GroupOfPool("", "gpu-l4")
			if err != nil {
				return err
			}
			return s.SetGroupStatus(g, status)
		})
	}
	e.step("degraded", func() {
		status("DEGRADED")
		done := e.up()
		if p := promise(e.pool(done.Outputs, "gpu-l4")); p != (promised{1, 1, 1, capacity.Live}) {
			e.t.Errorf("%+v", p)
		}
		if said := done.Messages("warning"); !strings.Contains(said, "DEGRADED") {
			e.t.Errorf("it says %q", said)
		}
		if len(touched(done)) > 0 {
			e.t.Errorf("it does %v", changes(done))
		}
		e.settled()
	})
	e.step("well again", func() {
		status("ACTIVE")
		if p := promise(e.pool(e.up().Outputs, "gpu-l4")); p != (promised{1, 4, 4, capacity.ConfiguredKind}) {
			e.t.Errorf("%+v", p)
		}
	})
}

// autoscaledFrom is a pool of cluster-autoscaler on demand, with nodes from the start.
func autoscaledFrom(name, instanceType string, nodes, most int) config.Pool {
	p := autoscaled(name, instanceType, most)
	p.NodeCount, p.CapacityTypes = new(nodes), []pool.CapacityType{pool.OnDemand}
	return p
}

// Review M5: what the preview says of a quota without room is what the update then meets, and with room it goes on.
func TestAnUpdateOfNodesWithoutRoomIsSaidBeforehand(t *testing.T) {
	e := start(t, config.Environment{
		System: config.System{AMIRelease: "1.36.3-20260827"},
		Pools:  []config.Pool{fixed("gpu-l4", "g6.xlarge", 1)},
	})
	e.up()
	const without = "quota L-DB2E81BA allows 8 vCPUs, 4 run in managed groups, and up to 16 more are needed"
	e.quota(world.QuotaGOnDemand, 8)
	e.change(func(env *config.Environment) { env.System.AMIRelease = "1.36.3-20260911" })
	e.step("the preview warns and the update fails", func() {
		if said := e.preview().Messages("warning"); !strings.Contains(said, without) {
			e.t.Errorf("it says %q", said)
		}
		e.fails(e.Up, "NodeCreationFailure", "VcpuLimitExceeded")
	})
	e.step("with room it goes on", func() {
		e.quota(world.QuotaGOnDemand, 20)
		if done := e.up(); strings.Contains(done.Messages("warning"), "are needed to replace") {
			e.t.Errorf("it says %q", done.Messages("warning"))
		}
		e.settled()
	})
}

// Review m6: EKS wants the whole release, and the path of an image holds its date alone.
func TestAReleaseOfAnotherPatchThanItsDateIsRefused(t *testing.T) {
	e := start(t, config.Environment{
		System: config.System{AMIRelease: "1.36.2-20260911"},
		Pools:  []config.Pool{fixed("gpu-l4", "g6.xlarge", 1)},
	})
	e.refused(`system.amiRelease: is not the release of its date`, "pin 1.36.3-20260911")
}

// Which attempt lives is read from this stack's cluster, also where others have the same name with another suffix:
// otherwise a second attempt would be taken for none and replaced.
func TestALostGroupOfOneOfSeveralClustersOfANameIsReplacedOnce(t *testing.T) {
	cluster := config.Cluster{Name: "shared", UniqueSuffix: true}
	first := start(t, config.Environment{Cluster: cluster})
	first.up()
	e := inAccountOf(first, "second", config.Environment{
		Cluster: cluster,
		Pools:   []config.Pool{fixed("scarce", "g6.2xlarge", 1)},
	})
	e.stock("g6.2xlarge", false)
	e.fails(e.Up, "CREATE_FAILED")
	e.stock("g6.2xlarge", true)
	if got := touched(e.up()); len(got) != 1 || !strings.Contains(got["pool-scarce"], "create-replacement") {
		t.Errorf("it does %v", got)
	}
	e.settled()
}
