package lifecycle

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/pulumi/pulumi/sdk/v3/go/auto/optup"

	"github.com/headroom-eks/headroom/capacity"
	"github.com/headroom-eks/headroom/infra/config"
	"github.com/headroom-eks/headroom/pool"
	"github.com/headroom-eks/headroom/sandbox/kubernetes"
	"github.com/headroom-eks/headroom/sandbox/run"
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

func TestTheDocumentSaysWhatTheClusterSaysOfItsNodePools(t *testing.T) {
	e := start(t, config.Environment{
		Pools: []config.Pool{provisioned("gpu-l4", pool.Karpenter, "g6.xlarge", 3, pool.OnDemand)},
	})
	says := func(want promised, detail string) {
		e.t.Helper()
		p := e.pool(e.up().Outputs, "gpu-l4")
		if promise(p) != want || !strings.Contains(p.Ceilings[0].Detail, detail) {
			e.t.Errorf("%+v by %+v, want %+v", promise(p), p.Ceilings[0], want)
		}
	}
	limit := func(n string) {
		e.t.Helper()
		e.act(func(s *world.State) error {
			return kubernetes.LimitNodePool(s, "headroom-test", "gpu-l4", pool.GPUResource, n)
		})
	}
	e.step("as made, it allows what is configured", func() { says(promised{0, 3, 3, capacity.ConfiguredKind}, "") })
	e.step("a limit cut by hand holds the promise", func() {
		limit("1")
		says(promised{0, 1, 1, capacity.Live}, "allows 1 nodes in the cluster (limit nvidia.com/gpu 1)")
	})
	e.step("a limit raised by hand raises no promise", func() {
		limit("8")
		says(promised{0, 3, 3, capacity.ConfiguredKind}, "")
	})
	e.step("without the right to ask, what runs is promised and the update goes through", func() {
		e.grow("gpu-l4", 2)
		e.act(func(s *world.State) error { return s.Deny("nodepools.karpenter.sh:list") })
		says(promised{2, 2, 2, capacity.Unknown}, "403 Forbidden")
		e.act(func(s *world.State) error { return s.Allow("nodepools.karpenter.sh:list") })
	})
	e.step("a NodePool deleted by hand scales nothing", func() {
		e.act(func(s *world.State) error { return kubernetes.DeleteNodePool(s, "headroom-test", "gpu-l4") })
		says(promised{0, 0, 0, capacity.Live}, "NodePool gpu-l4 does not exist")
	})
	e.step("after a refresh it is made again and promised in full", func() {
		if _, err := e.Refresh(testContext); err != nil {
			e.t.Fatal(err)
		}
		says(promised{0, 3, 3, capacity.ConfiguredKind}, "")
	})
	e.step("everything goes", func() { e.down() })
}

// Issue 11, point 6: an update with --target promises what lives, not what is configured.
func TestATargetedUpdatePromisesWhatTheOthersStillAre(t *testing.T) {
	e := start(t, config.Environment{
		PodsSelectPool: true,
		Pools:          []config.Pool{provisioned("gpu-l4", pool.Karpenter, "g6.xlarge", 2, pool.OnDemand)},
	})
	vpc := one(e, e.up(), "aws:ec2/vpc:Vpc").URN
	e.change(func(env *config.Environment) {
		env.Pools[0].MaxNodeCount = new(6)
		env.Pools = append(env.Pools, provisioned("gpu-new", pool.Karpenter, "g6.xlarge", 4, pool.OnDemand))
	})
	done, err := e.UpWith(testContext, optup.Target([]string{vpc}))
	if err != nil {
		t.Fatalf("%v\n%s", err, done.Screen)
	}
	e.step("a NodePool that was left out keeps its old limit", func() {
		if p := e.pool(done.Outputs, "gpu-l4"); promise(p) != (promised{0, 2, 2, capacity.Live}) {
			e.t.Errorf("%+v by %+v", promise(p), p.Ceilings)
		}
	})
	e.step("one that was never made has none", func() {
		if p := e.pool(done.Outputs, "gpu-new"); promise(p) != (promised{0, 0, 0, capacity.NotApplied}) {
			e.t.Errorf("%+v by %+v", promise(p), p.Ceilings)
		}
	})
	e.step("the whole update promises what is configured", func() {
		if p := e.pool(e.up().Outputs, "gpu-l4"); promise(p) != (promised{0, 6, 6, capacity.ConfiguredKind}) {
			e.t.Errorf("%+v by %+v", promise(p), p.Ceilings)
		}
	})
}

func TestAnUpdateThatGoesOnAfterAnErrorSaysWhatItCouldNotMake(t *testing.T) {
	e := start(t, config.Environment{
		Pools: []config.Pool{fixed("well", "g6.xlarge", 1), autoscaled("scarce", "g6.2xlarge", 2)},
	})
	e.act(func(s *world.State) error { return s.Deny("eks:CreateNodegroup") })
	e.fails(func(ctx context.Context) (run.Result, error) { return e.UpWith(ctx, optup.ContinueOnError()) },
		"eks:CreateNodegroup")
	outputs, err := e.Outputs(testContext)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"well", "scarce"} {
		if p := e.pool(outputs, name); p.Nodes.Maximum != 0 || !slices.ContainsFunc(p.Ceilings,
			func(c capacity.Ceiling) bool { return c.Kind == capacity.NotApplied }) {
			t.Errorf("%s: %+v by %+v", name, p.Nodes, p.Ceilings)
		}
	}
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
