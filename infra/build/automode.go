package build

import (
	"github.com/headroom-eks/headroom/components/automode"
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
	args := &automode.PoolArgs{
		Pool:         automode.Pool{Spec: p.NodePool.Spec, Class: p.NodePool.AutoModeClass},
		Cluster:      b.Cluster.Handle(),
		Access:       a.access,
		SubnetIDs:    b.network.Private.In(p.NodePool.Zones...).IDs(),
		Needs:        b.network.Ready, // routes outlive every node
		KeepOnDelete: b.plan.Environment.GitOps.NodePools == "keep",
	}
	if b.plan.Environment.GitOps.NodePools == "manifests" {
		files, err := automode.Manifests(p.Name(), args)
		b.Manifests = append(b.Manifests, files)
		return err
	}
	made, err := automode.NewPool(b.ctx, "pool-"+p.Name(), args, b.inCluster())
	if err == nil {
		b.Pools = append(b.Pools, made.Name)
	}
	return err
}
