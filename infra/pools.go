package infra

import (
	"fmt"
	"slices"

	"github.com/headroom-eks/headroom/components/automode"
	"github.com/headroom-eks/headroom/components/clusterautoscaler"
	"github.com/headroom-eks/headroom/components/gpu"
	"github.com/headroom-eks/headroom/components/interruption"
	"github.com/headroom-eks/headroom/components/karpenter"
	"github.com/headroom-eks/headroom/components/nodegroup"
	"github.com/headroom-eks/headroom/components/nodepool"
	"github.com/headroom-eks/headroom/infra/config"
	"github.com/headroom-eks/headroom/pool"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
)

// buildSystem makes the fixed group that carries controllers and DNS, and the role of every managed group. Auto Mode
// has neither.
func (s *stack) buildSystem() (err error) {
	if s.env.Uses(pool.AutoMode) {
		s.systemNodes = s.cluster.Ready
		return nil
	}
	s.nodeRole, err = nodegroup.NewRole(s.ctx, "node-role", &nodegroup.RoleArgs{
		Account: s.account(),
	}, pulumi.Providers(s.aws))
	if err != nil {
		return err
	}
	system, err := s.managedGroup("system", nodegroup.Args{
		Pool:           systemPool,
		Subnets:        s.network.Private,
		InstanceTypes:  []string{s.env.System.InstanceType},
		Shape:          s.facts.Shapes[s.env.System.InstanceType],
		Scaling:        nodegroup.Fixed(*s.env.System.NodeCount),
		ReleaseVersion: s.env.System.AMIRelease,
		DiskGiB:        s.env.System.DiskGiB,
		Taints:         s.systemTaints(),
	})
	if err != nil {
		return err
	}
	s.systemNodes = system.Ready
	return nil
}

// managedGroup makes a group, and has it counted when it is there.
func (s *stack) managedGroup(name string, args nodegroup.Args) (*nodegroup.NodeGroup, error) {
	args.Cluster, args.Role = s.cluster.Handle(), s.nodeRole
	args.Needs = s.network.Ready // without routes no node joins
	made, err := nodegroup.New(s.ctx, name, &args, pulumi.Providers(s.aws))
	if err == nil {
		s.made = append(s.made, made.Arn)
		s.groups[args.Pool] = append(s.groups[args.Pool], args.Name())
	}
	return made, err
}

// buildManagedPools makes the groups of fixed and cluster-autoscaler pools, and the autoscaler when a pool needs it.
func (s *stack) buildManagedPools() error {
	for i, p := range s.env.Pools {
		if !p.Scaler.ManagedGroup() {
			continue
		}
		decided, problems := groups(fmt.Sprintf("pools[%d] %q", i, p.Name), p, s.env, s.facts)
		if err := problems.Err(); err != nil {
			return err
		}
		for _, g := range decided {
			if g.Say != "" {
				if err := s.ctx.Log.Info(g.Say, nil); err != nil {
					return err
				}
			}
			args := g.Args
			args.Subnets = s.network.Private.In(args.Subnets.Zones()...)
			name := groupName(p, args.Zone)
			made, err := s.managedGroup(name, args)
			if err != nil {
				return err
			}
			if p.Scaler != pool.ClusterAutoscaler {
				continue
			}
			if _, err := clusterautoscaler.NewGroupTags(s.ctx, name+"-tags", &clusterautoscaler.GroupTagsArgs{
				AsgName: made.AsgName, Template: template(p, args.Shape),
			}, pulumi.Providers(s.aws)); err != nil {
				return err
			}
		}
	}
	if !s.env.Uses(pool.ClusterAutoscaler) {
		return nil
	}
	_, err := clusterautoscaler.New(s.ctx, "cluster-autoscaler", &clusterautoscaler.Args{
		Cluster: s.cluster.Handle(),
		System:  clusterautoscaler.System{Pool: systemPool, Nodes: *s.env.System.NodeCount, Taints: s.systemTaints()},
		DRA: slices.ContainsFunc(s.env.Pools, func(p config.Pool) bool {
			return p.Scaler == pool.ClusterAutoscaler && p.DeviceMode == pool.DRA
		}),
		Expander: s.env.ClusterAutoscaler.Expander, StartupTaints: startupTaintKeys(s.env),
		Repository: s.env.ClusterAutoscaler.Repository, Needs: s.systemNodes,
	}, s.inCluster())
	return err
}

// buildSpotRole makes the account's service-linked role for spot, for those who ask.
func (s *stack) buildSpotRole() error {
	if !s.env.Spot.CreateServiceLinkedRole {
		return nil
	}
	_, err := karpenter.NewSpotRole(s.ctx, "spot-role", pulumi.Provider(s.aws))
	return err
}

// buildKarpenter installs the controller with its queue and makes its pools.
func (s *stack) buildKarpenter() error {
	if !s.env.Uses(pool.Karpenter) {
		return nil
	}
	k := s.env.Karpenter
	queueArgs := &interruption.Args{Account: s.account()}
	if k.InterruptionQueueKeyARN != "" {
		queueArgs.KMSKeyArn = pulumi.String(k.InterruptionQueueKeyARN)
	}
	queue, err := interruption.New(s.ctx, "interruption", queueArgs, pulumi.Providers(s.aws))
	if err != nil {
		return err
	}
	role, err := karpenter.NewNodeRole(s.ctx, "karpenter-nodes", &karpenter.NodeRoleArgs{
		Cluster:         s.cluster.Handle(),
		InstanceProfile: k.InstanceProfile,
	}, pulumi.Providers(s.aws))
	if err != nil {
		return err
	}
	s.interruptionQueueName, s.karpenterNodeRoleName = queue.QueueName, role.Name
	controller, err := karpenter.New(s.ctx, "karpenter", &karpenter.Args{
		Version:    k.Version,
		Repository: k.Repository,
		Settings: karpenter.Settings{
			SystemPool:     systemPool,
			SystemNodes:    *s.env.System.NodeCount,
			SystemTaints:   s.systemTaints(),
			StaticCapacity: slices.ContainsFunc(s.env.Pools, func(p config.Pool) bool { return p.Static }),
			EnableDRA:      k.EnableDRA,
			IsolatedVPC:    s.env.Network.NATGateways == "none",
		},
		Cluster:     s.cluster.Handle(),
		NodeRoleArn: role.Arn,
		Queue:       &karpenter.QueueArgs{Name: queue.QueueName, Arn: queue.QueueArn, KMSKeyArn: queueArgs.KMSKeyArn},
		// Routes too: nodes are there until the last NodePool is gone.
		Needs: slices.Concat(s.network.Ready, s.systemNodes, queue.Ready, role.Ready),
	}, s.inCluster())
	if err != nil {
		return err
	}
	makePool := func(spec nodepool.Spec, class nodepool.Class, zones []string) error {
		args := &nodepool.Args{
			Spec:            spec,
			Class:           class,
			Cluster:         s.cluster.Handle(),
			SubnetIDs:       s.network.Private.In(zones...).IDs(),
			RoleName:        role.Name,
			InstanceProfile: role.InstanceProfileName,
			Needs:           controller.Ready,
			KeepOnDelete:    s.env.GitOps.NodePools == "keep",
		}
		if args.InstanceProfile != nil {
			args.RoleName = nil // never both
		}
		if s.env.GitOps.NodePools == "manifests" {
			files, err := nodepool.Manifests(spec.Name, args)
			s.manifests = append(s.manifests, files)
			return err
		}
		made, err := nodepool.New(s.ctx, "pool-"+spec.Name, args, s.inCluster())
		if err == nil {
			s.made = append(s.made, made.Name)
		}
		return err
	}
	if g := s.env.General; g != nil && g.Scaler == pool.Karpenter {
		zones := g.Zones
		if len(zones) == 0 {
			zones = networkZones(s.env, s.facts)
		}
		if err := makePool(generalSpec(*g), class(s.env, g.DiskGiB), zones); err != nil {
			return err
		}
	}
	for _, p := range s.env.Pools {
		if p.Scaler != pool.Karpenter {
			continue
		}
		zones := zonesOf(p, s.env, s.facts)
		class, err := poolClass(p, s.env)
		if err != nil {
			return err
		}
		if err := makePool(spec(p, s.facts.Shapes[p.InstanceTypes[0]], zones), class, zones); err != nil {
			return err
		}
	}
	return nil
}

// buildAutoMode lets nodes of our own classes join an Auto Mode cluster and makes its pools.
func (s *stack) buildAutoMode() error {
	if !s.env.Uses(pool.AutoMode) {
		return nil
	}
	settings := automode.Settings{Enabled: true, BuiltInPools: s.env.AutoMode.BuiltInPools}
	access, err := automode.New(s.ctx, "auto-mode", &automode.Args{
		Settings:            settings,
		Cluster:             s.cluster.Handle(),
		ClusterRoleName:     s.cluster.RoleName,
		ClusterNodeRoleName: s.cluster.NodeRoleName,
	}, pulumi.Providers(s.aws))
	if err != nil {
		return err
	}
	var planned []automode.Pool
	if g := s.env.General; g != nil && g.Scaler == pool.AutoMode {
		planned = append(planned, autoGeneral(s.env))
	}
	for _, p := range s.env.Pools {
		if p.Scaler == pool.AutoMode {
			planned = append(planned, autoPool(p, s.env, s.facts))
		}
	}
	for _, p := range planned {
		zones := p.Spec.Zones
		if len(zones) == 0 {
			zones = networkZones(s.env, s.facts)
		}
		args := &automode.PoolArgs{
			Pool:         p,
			Cluster:      s.cluster.Handle(),
			Access:       access,
			SubnetIDs:    s.network.Private.In(zones...).IDs(),
			Needs:        s.network.Ready, // routes outlive every node
			KeepOnDelete: s.env.GitOps.NodePools == "keep",
		}
		if s.env.GitOps.NodePools == "manifests" {
			files, err := automode.Manifests(p.Spec.Name, args)
			if err != nil {
				return err
			}
			s.manifests = append(s.manifests, files)
			continue
		}
		made, err := automode.NewPool(s.ctx, "pool-"+p.Spec.Name, args, s.inCluster())
		if err != nil {
			return err
		}
		s.made = append(s.made, made.Name)
	}
	return nil
}

// buildGPU installs what makes GPUs claimable. Auto Mode's nodes bring it.
func (s *stack) buildGPU() error {
	if s.env.GPU.ProvidedElsewhere || len(s.env.Pools) == 0 || s.env.Uses(pool.AutoMode) {
		return nil
	}
	args := &gpu.Args{
		DevicePluginVersion: s.env.GPU.DevicePluginVersion,
		DRADriverVersion:    s.env.GPU.DRADriverVersion,
		Repository:          s.env.GPU.Repository,
		Needs:               slices.Concat(s.cluster.Ready, s.systemNodes),
	}
	for _, p := range s.env.Pools {
		args.Pools = append(args.Pools, gpu.Pool{
			Name: p.Name, Scaler: p.Scaler, DeviceMode: p.DeviceMode, Taints: append(p.AllTaints(), p.StartupTaints...),
		})
	}
	_, err := gpu.New(s.ctx, "gpu", args, s.inCluster())
	return err
}
