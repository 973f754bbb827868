package lifecycle

import (
	"strings"
	"testing"

	"github.com/headroom-eks/headroom/capacity"
	"github.com/headroom-eks/headroom/infra/config"
	"github.com/headroom-eks/headroom/pool"
	"github.com/headroom-eks/headroom/sandbox/world"
)

// What somebody changed in AWS by hand changes no input of the program, so an update sends nothing. The document says
// what lives all the same.
func TestTheDocumentSaysWhatLivesAndNotWhatIsConfigured(t *testing.T) {
	moved := autoscaled("moved", "g6.xlarge", 3)
	moved.CapacityTypes = []pool.CapacityType{pool.OnDemand}
	e := start(t, config.Environment{Pools: []config.Pool{moved}})
	if p := promise(e.pool(e.up().Outputs, "moved")); p != (promised{0, 3, 3, capacity.ConfiguredKind}) {
		t.Fatalf("%+v", p)
	}
	e.step("instances of others are taken out of the quota", func() {
		e.quota(world.QuotaGOnDemand, 12)
		launch := world.Launch{Types: []string{"g6.xlarge"}}
		e.act(func(s *world.State) error {
			launch.Subnets = e.subnets(s)
			_, err := s.Launch(launch)
			return err
		})
		if p := promise(e.pool(e.up().Outputs, "moved")); p != (promised{0, 2, 2, capacity.VCPUQuota}) {
			e.t.Errorf("%+v", p)
		}
		// A node of ours whose pool has left the program holds its part too.
		e.act(func(s *world.State) error {
			launch.Tags = map[string]string{"headroom/cluster": "headroom-test", "headroom/pool": "gone"}
			_, err := s.Launch(launch)
			return err
		})
		if p := promise(e.pool(e.up().Outputs, "moved")); p != (promised{0, 1, 1, capacity.VCPUQuota}) {
			e.t.Errorf("beside a node without a pool: %+v", p)
		}
		e.quota(world.QuotaGOnDemand, 64)
	})
	e.step("a subnet that somebody filled has no node", func() {
		e.act(func(s *world.State) error {
			for _, id := range e.subnets(s) {
				if err := s.TakeAddresses(id, 8180); err != nil {
					return err
				}
			}
			return nil
		})
		if p := promise(e.pool(e.up().Outputs, "moved")); p != (promised{0, 0, 0, capacity.SubnetAddresses}) {
			e.t.Errorf("%+v", p)
		}
		e.act(func(s *world.State) error {
			for _, id := range e.subnets(s) {
				if err := s.TakeAddresses(id, 0); err != nil {
					return err
				}
			}
			return nil
		})
	})
	fallsInAPreview(e)
	boundsCutByHand(e)
}

func fallsInAPreview(e *environment) {
	e.step("a preview names the pools of which the output says too much until the update has ended", func() {
		e.up()
		if said := e.preview().Messages("warning"); strings.Contains(said, "says too much") {
			e.t.Errorf("nothing changes, and the preview says %q", said)
		}
		e.trying(func(env *config.Environment) { env.Pools[0].MaxNodeCount = new(2) }, func() {
			if said := e.preview().Messages("warning"); !strings.Contains(said,
				`the output says too much of "moved" (maximum 3 -> 2`) {
				e.t.Errorf("the preview says %q", said)
			}
		})
	})
}

func boundsCutByHand(e *environment) {
	e.step("bounds cut by hand hold the promise", func() {
		e.act(func(s *world.State) error {
			g, err := s.GroupOfPool("", "moved")
			if err != nil {
				return err
			}
			return s.SetGroupBounds(g, 0, 1)
		})
		if p := promise(e.pool(e.up().Outputs, "moved")); p != (promised{0, 1, 1, capacity.Live}) {
			e.t.Errorf("%+v", p)
		}
	})
}

// subnets of the network, private ones.
func (e *environment) subnets(s *world.State) (ids []string) {
	for _, r := range s.OfType("aws:ec2/subnet:Subnet") {
		if public, _ := r.Inputs["mapPublicIpOnLaunch"].(bool); !public {
			ids = append(ids, r.ID)
		}
	}
	return ids
}
