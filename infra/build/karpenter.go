package build

import (
	"slices"

	"github.com/headroom-eks/headroom/components/interruption"
	"github.com/headroom-eks/headroom/components/karpenter"
	"github.com/headroom-eks/headroom/components/nodepool"
	"github.com/headroom-eks/headroom/infra/config"
	"github.com/headroom-eks/headroom/infra/plan"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
)

// karpenterScaler installs the controller with its queue and its nodes' role.
type karpenterScaler struct {
	role  *karpenter.NodeRole
	ready []pulumi.Resource
}

func (k *karpenterScaler) controller(b *builder) error {
	env := b.plan.Environment
	queueArgs := &interruption.Args{Account: b.account}
	if key := env.Karpenter.InterruptionQueueKeyArn; key != "" {
		queueArgs.KMSKeyArn = pulumi.String(key)
	}
	queue, err := interruption.New(b.ctx, "interruption", queueArgs, b.ofAWS())
	if err != nil {
		return err
	}
	k.role, err = karpenter.NewNodeRole(b.ctx, "karpenter-nodes", &karpenter.NodeRoleArgs{
		Cluster:         b.Cluster.Handle(),
		InstanceProfile: env.Karpenter.InstanceProfile,
	}, b.ofAWS())
	if err != nil {
		return err
	}
	b.InterruptionQueueName, b.KarpenterNodeRoleName = queue.QueueName, k.role.Name
	b.KarpenterInstanceProfileName = k.role.InstanceProfileName
	installed, err := karpenter.New(b.ctx, "karpenter", &karpenter.Args{
		Version:    env.Karpenter.Version,
		Repository: env.Karpenter.Repository,
		Settings: karpenter.Settings{
			SystemPool:     config.SystemPool,
			SystemNodes:    *env.System.NodeCount,
			SystemTaints:   b.plan.Cluster.SystemTaints,
			StaticCapacity: slices.ContainsFunc(env.Pools, func(c config.Pool) bool { return c.Static }),
			EnableDRA:      env.Karpenter.EnableDRA,
			IsolatedVpc:    env.Network.Isolated(), // FR-10
		},
		Cluster:     b.Cluster.Handle(),
		NodeRoleArn: k.role.Arn,
		Queue:       &karpenter.QueueArgs{Name: queue.QueueName, Arn: queue.QueueArn, KMSKeyArn: queueArgs.KMSKeyArn},
		// Routes too: nodes are there until the last NodePool is gone.
		Needs: slices.Concat(b.network.Ready, b.systemNodes, queue.Ready, k.role.Ready),
	}, b.inCluster())
	if err == nil {
		k.ready = installed.Ready
	}
	return err
}

func (k *karpenterScaler) pool(b *builder, p plan.Pool) error {
	args := nodepool.Args{RoleName: k.role.Name, Needs: k.ready}
	if k.role.InstanceProfileName != nil {
		args.RoleName, args.InstanceProfile = nil, k.role.InstanceProfileName // never both
	}
	return b.makeNodePool(p, args)
}
