package lifecycle

import (
	"strings"
	"testing"

	"github.com/headroom-eks/headroom/capacity"
	"github.com/headroom-eks/headroom/infra/config"
	"github.com/headroom-eks/headroom/pool"
	"github.com/headroom-eks/headroom/sandbox/kubernetes"
	"github.com/headroom-eks/headroom/sandbox/world"
)

// Quotas of 64 vCPUs hold 16 nodes on demand and 16 spot nodes.
func TestALivePoolIsDividedByWaysOfBuyingAndMadeOneAgain(t *testing.T) {
	mixed := provisioned("mixed", pool.Karpenter, "g6.xlarge", 16, pool.Spot, pool.OnDemand)
	mixed.Priority = 1
	firm := provisioned("firm", pool.Karpenter, "g6.xlarge", 12, pool.OnDemand)
	e := start(t, config.Environment{Pools: []config.Pool{mixed, firm}})
	e.spotted()
	e.up()
	e.step("undivided, it may take the whole quota from a pool of one way", func() {
		e.grow("mixed", 3)
		e.onDemandNode("mixed")
		e.promises(map[string]promised{"mixed": {4, 16, 16, capacity.ConfiguredKind},
			"firm": {0, 0, 0, capacity.VCPUQuota}})
	})
	dividesAPool(e)
	followsTheLimits(e)
	e.step("made one again, the NodePool for spot goes with its nodes", func() {
		e.changePool("mixed", func(p *config.Pool) { p.MaxOnDemandNodeCount = nil })
		undivided := e.changed(map[string]string{"pool-mixed-pool NodePool": "update",
			"pool-mixed-spot NodePool": "delete"}, "spec")
		if said := undivided.Messages("warning"); !strings.Contains(said, "mixed-spot (12 nodes)") {
			e.t.Errorf("no word about the nodes that go: %s", said)
		}
		if p := promise(e.pool(undivided.Outputs, "mixed")); p != (promised{2, 16, 16, capacity.ConfiguredKind}) {
			e.t.Errorf("%+v", p)
		}
		if n := e.nodesIn("mixed-spot"); n != 0 {
			e.t.Errorf("%d nodes are left", n)
		}
		e.settled()
		e.promises(map[string]promised{"mixed": {2, 16, 16, capacity.ConfiguredKind},
			"firm": {0, 0, 0, capacity.VCPUQuota}})
	})
	e.down()
}

func dividesAPool(e *environment) {
	e.step("divided, no node goes and the ones to be replaced are announced", func() {
		e.changePool("mixed", func(p *config.Pool) { p.MaxOnDemandNodeCount = new(4) })
		if said := e.preview().Messages("warning"); !strings.Contains(said, "are replaced, as its budgets allow: "+
			"mixed (3 nodes)") {
			e.t.Errorf("no word about spot nodes: %s", said)
		}
		divided := e.changed(map[string]string{"pool-mixed-pool NodePool": "update",
			"pool-mixed-spot NodePool": "create"}, "spec")
		if n := e.nodesIn("mixed"); n != 4 {
			e.t.Errorf("%d nodes run in the NodePool that stays, want 4", n)
		}
		// The three count in the NodePool of on-demand nodes, which has one more node left of its four.
		p := e.pool(divided.Outputs, "mixed")
		if promise(p) != (promised{4, 13, 1, capacity.Live}) || !strings.Contains(p.Ceilings[0].Detail,
			"3 spot nodes that ran when the pool was divided") {
			e.t.Errorf("%+v by %+v", promise(p), p.Ceilings[0])
		}
		e.settled()
	})
}

func followsTheLimits(e *environment) {
	e.step("once Karpenter has replaced them, both pools have all that they are given", func() {
		e.act(func(s *world.State) error {
			for _, i := range s.NodesOfPool("headroom-test", "mixed") {
				if i.Spot {
					s.Terminate(i.ID, "drifted")
				}
			}
			_, err := kubernetes.ScaleNodePool(s, "headroom-test", "mixed-spot", 3)
			return err
		})
		e.promises(map[string]promised{"mixed": {4, 16, 4, capacity.ConfiguredKind},
			"firm": {0, 12, 12, capacity.VCPUQuota}})
	})
	e.step("pods get spot nodes first, and no more on demand than the limit", func() {
		e.grow("mixed", 14)
		if spot, onDemand := e.nodesIn("mixed-spot"), e.nodesIn("mixed"); spot != 12 || onDemand != 2 {
			e.t.Errorf("%d spot nodes and %d on demand, want 12 and 2", spot, onDemand)
		}
		e.promises(map[string]promised{"mixed": {14, 16, 4, capacity.ConfiguredKind},
			"firm": {0, 12, 12, capacity.VCPUQuota}})
		e.act(func(s *world.State) error {
			if _, err := kubernetes.ScaleNodePool(s, "headroom-test", "mixed", 17); err == nil {
				e.t.Error("17 nodes were made of 16")
			}
			_, err := kubernetes.ScaleNodePool(s, "headroom-test", "mixed", 14)
			return err
		})
	})
}

// nodesIn counts the running nodes of a NodePool.
func (e *environment) nodesIn(nodePool string) (n int) {
	e.t.Helper()
	e.view(func(s *world.State) error { n = len(s.NodesOfPool("headroom-test", nodePool)); return nil })
	return n
}

// onDemandNode adds a node to a NodePool as Karpenter does when spot is out.
func (e *environment) onDemandNode(nodePool string) {
	e.t.Helper()
	e.act(func(s *world.State) error {
		one := s.NodesOfPool("headroom-test", nodePool)[0]
		_, err := s.Launch(world.Launch{Types: []string{one.Type}, Subnets: []string{one.Subnet}, Tags: one.Tags,
			Cluster: one.Cluster, Pool: one.Pool, SecurityGroups: one.SecurityGroups})
		return err
	})
}
