package lifecycle

import (
	"testing"

	"github.com/headroom-eks/headroom/sandbox/world"
)

// What an update deletes is still there when its document is written: Pulumi deletes last.
func TestNodesThatTheSameUpdateDeletesAreNotPromised(t *testing.T) {
	e := start(t, stackFile("pools:",
		"  - {name: claims, scaler: cluster-autoscaler, deviceMode: dra, acceptNoWakeFromZero: true, instanceTypes: "+
			"[g6.xlarge], maxNodeCount: 4}",
		"  - {name: moved, scaler: fixed, instanceTypes: [g6.xlarge], nodeCount: 1}", "podsSelectPool: true"))
	e.up()
	e.act(func(s *world.State) error {
		s.LinkRole(world.SpotRole) // Karpenter's default buys spot too
		g, err := s.GroupOfPool("headroom-test", "claims")
		if err != nil {
			return err
		}
		return s.ScaleGroup(g, 2, false)
	})
	e.configure("maxNodeCount: 4}", "maxNodeCount: 4, capacityTypes: [spot]}",
		"{name: moved, scaler: fixed, instanceTypes: [g6.xlarge], nodeCount: 1}", "{name: moved, scaler: karpenter, "+
			"instanceTypes: [g6.xlarge], maxNodeCount: 2}")
	e.promises(map[string]promised{
		"claims": {0, 0, 0, "wake-from-zero"}, // its group is a new one, which nothing can wake
		"moved":  {0, 2, 2, "configured"},
	})
}

// A protecting question that AWS does not answer stops the update: silence must not read as an empty account.
func TestWhatRunsIsNotChangedUnseen(t *testing.T) {
	e := start(t, stackFile("pools:", "  - {name: gpu-l4, scaler: karpenter, instanceTypes: [g6.xlarge], "+
		"maxNodeCount: 2}"))
	e.spotted()
	e.up()
	e.grow("gpu-l4", 1)
	e.configure("pools:", "gitOps: {nodePools: manifests}\n    pools:")
	e.act(func(s *world.State) error { return s.Deny("ec2:DescribeInstances") })
	result := e.fails(e.Up, "running nodes of pool gpu-l4 could not be asked about")
	if result.Changed() {
		t.Errorf("it changed %v", result.Ops())
	}
}
