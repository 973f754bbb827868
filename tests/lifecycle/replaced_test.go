package lifecycle

import (
	"testing"

	"github.com/headroom-eks/headroom/infra/config"
	"github.com/headroom-eks/headroom/pool"
	"github.com/headroom-eks/headroom/sandbox/world"
)

// What an update deletes is still there when its document is written: Pulumi deletes last.
func TestNodesThatTheSameUpdateDeletesAreNotPromised(t *testing.T) {
	claims := autoscaled("claims", "g6.xlarge", 4)
	claims.DeviceMode, claims.AcceptNoWakeFromZero = pool.DRA, true
	e := start(t, config.Environment{
		PodsSelectPool: true,
		Pools:          []config.Pool{claims, fixed("moved", "g6.xlarge", 1)},
	})
	e.up()
	e.act(func(s *world.State) error {
		s.LinkRole(world.SpotRole) // Karpenter's default buys spot too
		g, err := s.GroupOfPool("headroom-test", "claims")
		if err != nil {
			return err
		}
		return s.ScaleGroup(g, 2, false)
	})
	e.changePool("claims", func(p *config.Pool) { p.CapacityTypes = []pool.CapacityType{pool.Spot} })
	e.changePool("moved", func(p *config.Pool) { *p = provisioned("moved", pool.Karpenter, "g6.xlarge", 2) })
	e.promises(map[string]promised{
		"claims": {0, 0, 0, "wake-from-zero"}, // its group is a new one, which nothing can wake
		"moved":  {0, 2, 2, "configured"},
	})
}

// A protecting question that AWS does not answer stops the update: silence must not read as an empty account.
func TestWhatRunsIsNotChangedUnseen(t *testing.T) {
	e := start(t, config.Environment{
		Pools: []config.Pool{provisioned("gpu-l4", pool.Karpenter, "g6.xlarge", 2)},
	})
	e.spotted()
	e.up()
	e.grow("gpu-l4", 1)
	e.change(func(env *config.Environment) { env.GitOps.NodePools = "manifests" })
	e.act(func(s *world.State) error { return s.Deny("ec2:DescribeInstances") })
	result := e.fails(e.Up, "running nodes of pool gpu-l4 could not be asked about")
	if result.Changed() {
		t.Errorf("it changed %v", result.Ops())
	}
}
