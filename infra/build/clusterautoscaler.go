package build

import (
	"slices"

	"github.com/headroom-eks/headroom/components/clusterautoscaler"
	"github.com/headroom-eks/headroom/infra/config"
	"github.com/headroom-eks/headroom/infra/plan"
	"github.com/headroom-eks/headroom/pool"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
)

// clusterAutoscaler installs one controller and tags the groups that it moves.
type clusterAutoscaler struct{}

func (clusterAutoscaler) controller(b *builder) error {
	env := b.plan.Environment
	_, err := clusterautoscaler.New(b.ctx, "cluster-autoscaler", &clusterautoscaler.Args{
		Cluster: b.Cluster.Handle(),
		System: clusterautoscaler.System{
			Pool:   config.SystemPool,
			Nodes:  *env.System.NodeCount,
			Taints: b.plan.Cluster.SystemTaints,
		},
		DRA: slices.ContainsFunc(b.plan.Pools, func(p plan.Pool) bool {
			return p.Facts.DeviceMode == pool.DRA &&
				slices.ContainsFunc(p.Groups, func(g plan.Group) bool { return g.Template != nil })
		}),
		Expander:      env.ClusterAutoscaler.Expander,
		StartupTaints: b.plan.StartupTaintKeys(),
		Repository:    env.ClusterAutoscaler.Repository,
		Needs:         b.systemNodes,
	}, b.inCluster())
	return err
}

func (clusterAutoscaler) pool(b *builder, p plan.Pool) error {
	for _, g := range p.Groups {
		made, err := b.makeGroup(g)
		if err != nil {
			return err
		}
		if _, err := clusterautoscaler.NewGroupTags(b.ctx, g.ResourceName+"-tags", &clusterautoscaler.GroupTagsArgs{
			AsgName:  made.AsgName,
			Template: *g.Template,
		}, pulumi.Providers(b.AWS)); err != nil {
			return err
		}
	}
	return nil
}
