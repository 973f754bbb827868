package build

import (
	"github.com/headroom-eks/headroom/components/nodegroup"
	"github.com/headroom-eks/headroom/infra/config"
	"github.com/headroom-eks/headroom/infra/plan"
)

// fixed pools are managed groups that nothing scales.
type fixed struct{}

func (fixed) controller(*builder) error { return nil }

func (fixed) pool(b *builder, p plan.Pool) error {
	for _, g := range p.Groups {
		if _, err := b.makeGroup(g); err != nil {
			return err
		}
	}
	return nil
}

// makeSystemGroup makes the fixed group that carries controllers and DNS, and the role of every managed group. Auto
// Mode has neither.
func (b *builder) makeSystemGroup() (err error) {
	if b.plan.Cluster.AutoMode {
		b.systemNodes = b.Cluster.Ready
		return nil
	}
	b.nodeRole, err = nodegroup.NewRole(b.ctx, "node-role", &nodegroup.RoleArgs{Account: b.account}, b.ofAWS())
	if err != nil {
		return err
	}
	for _, p := range b.plan.Pools {
		if p.Name() != config.SystemPool {
			continue
		}
		for _, g := range p.Groups {
			made, err := b.makeGroup(g)
			if err != nil {
				return err
			}
			b.systemNodes = append(b.systemNodes, made.Ready...)
		}
	}
	return nil
}

// makeGroup makes a decided managed group.
func (b *builder) makeGroup(g plan.Group) (*nodegroup.NodeGroup, error) {
	if g.Say != "" {
		if err := b.ctx.Log.Info(g.Say, nil); err != nil {
			return nil, err
		}
	}
	args := g.Args
	args.Cluster, args.Role = b.Cluster.Handle(), b.nodeRole
	args.Subnets = b.network.Private.In(args.Subnets.Zones()...) // the same subnets, with their ids
	args.Needs = b.network.Ready                                 // without routes no node joins
	made, err := nodegroup.New(b.ctx, g.ResourceName, &args, b.ofAWS())
	if err == nil {
		b.Parts = append(b.Parts, Part{Pool: g.Args.Pool, Ready: made.Arn})
	}
	return made, err
}
