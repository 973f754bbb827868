package build

import (
	"slices"

	"github.com/headroom-eks/headroom/components/automode"
	"github.com/headroom-eks/headroom/components/nodepool"
	"github.com/headroom-eks/headroom/infra/plan"
)

// autoMode lets nodes of our own classes join an Auto Mode cluster.
type autoMode struct{ access *automode.Access }

func (a *autoMode) controller(b *builder) (err error) {
	a.access, err = automode.New(b.ctx, "auto-mode", &automode.Args{
		Settings:            automode.Settings{Enabled: true, BuiltInPools: b.plan.Environment.AutoMode.BuiltInPools},
		Cluster:             b.Cluster.Handle(),
		ClusterRoleName:     b.Cluster.RoleName,
		ClusterNodeRoleName: b.Cluster.NodeRoleName,
	}, b.ofAWS())
	return err
}

func (a *autoMode) pool(b *builder, p plan.Pool) error {
	return b.makeNodePool(p, nodepool.Args{
		RoleName: a.access.NodeRoleName,
		Needs:    slices.Concat(a.access.Ready, b.network.Ready), // routes outlive every node
	})
}
