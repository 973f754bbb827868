package build

import (
	"github.com/headroom-eks/headroom/components/nodepool"
	"github.com/headroom-eks/headroom/infra/plan"
)

// makeNodePool makes the NodePools of a decided pool, or gives them as manifests to those who apply it elsewhere. The
// caller fills in as whom its nodes run and what must outlive them.
func (b *builder) makeNodePool(p plan.Pool, args nodepool.Args) error {
	args.Spec, args.Class = p.NodePool.Spec, p.NodePool.Class
	args.Cluster = b.Cluster.Handle()
	args.SubnetIDs = b.network.Private.In(p.NodePool.Zones...).IDs()
	gitOps := b.plan.Environment.GitOps
	args.KeepOnDelete = gitOps.NodePools == "keep"
	if gitOps.NodePools == "manifests" {
		files, err := nodepool.Manifests(p.Name(), &args)
		b.Manifests = append(b.Manifests, files)
		return err
	}
	made, err := nodepool.New(b.ctx, "pool-"+p.Name(), &args, b.inCluster())
	if err == nil {
		b.Parts = append(b.Parts, Part{Pool: p.Name(), Ready: made.Name})
	}
	return err
}
