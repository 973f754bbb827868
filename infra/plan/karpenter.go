package plan

import (
	capacityplan "github.com/headroom-eks/headroom/capacity/plan"
	"github.com/headroom-eks/headroom/components/karpenter"
	"github.com/headroom-eks/headroom/components/nodepool"
	"github.com/headroom-eks/headroom/infra/config"
	"github.com/headroom-eks/headroom/problem"
)

// karpenterScaler pools are NodePools of a Karpenter that the program installs.
type karpenterScaler struct{}

func (karpenterScaler) environment(env config.Environment) (problems problem.List) {
	problems.Join(karpenter.ValidateVersion("karpenter.version", env.Karpenter.Version, env.Cluster.KubernetesVersion))
	if env.Network.Isolated() && !env.Karpenter.InstanceProfile { // field fault BR-48
		problems.Add("karpenter.instanceProfile", "is false, and from a network without a way out the controller "+
			"cannot reach IAM, which has no endpoint, to make one itself", nil, "set it to true")
	}
	return problems
}

func (karpenterScaler) check(at string, c config.Pool, env config.Environment) problem.List {
	return nodepool.ValidateWake(at, capacityplan.WakeFacts{
		Scaler:            c.Scaler,
		Static:            c.Static,
		DeviceMode:        c.DeviceMode,
		ScalerVersion:     env.Karpenter.Version,
		DRAEnabled:        env.Karpenter.EnableDRA,
		KubernetesVersion: env.Cluster.KubernetesVersion,
	})
}

func (s karpenterScaler) decide(d *decision, at string, c config.Pool, p *Pool) {
	decideNodePool(s, d, at, c, p)
	p.wake.ScalerVersion, p.wake.DRAEnabled = d.env.Karpenter.Version, d.env.Karpenter.EnableDRA
}

func (karpenterScaler) class(at string, s classSettings, env config.Environment) (nodepool.NodeClass, problem.List) {
	if env.Network.PrefixDelegation && s.kubelet.MaxPods == 0 {
		// Karpenter counts pods without prefixes, and tells the kubelet so: pkg/providers/instancetype/types.go of
		// v1.15.0, and https://github.com/aws/karpenter-provider-aws/issues/6102 (FR-16).
		s.kubelet.MaxPods = capacityplan.MaxPods(s.smallest, true)
	}
	return nodepool.PlanNodeClass(at, nodepool.Class{
		AMIAlias:               env.Karpenter.AMIAlias,
		RootVolumeGiB:          s.diskGiB,
		LocalNVMe:              s.localNVMe,
		Kubelet:                s.kubelet,
		CapacityReservationIDs: s.reservationIDs,
		Tags:                   env.Tags,
	})
}
