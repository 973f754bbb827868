package infra

import (
	"fmt"

	"github.com/headroom-eks/headroom/components/automode"
	"github.com/headroom-eks/headroom/components/clusterautoscaler"
	"github.com/headroom-eks/headroom/components/karpenter"
	"github.com/headroom-eks/headroom/components/nodepool"
	"github.com/headroom-eks/headroom/components/pool"
	"github.com/headroom-eks/headroom/infra/config"
	"github.com/headroom-eks/headroom/problem"
)

// validate reports everything that can be said of the configuration before AWS is asked anything: the configuration's own rules, and those
// of the components that it would use.
func validate(env config.Environment) problem.List {
	problems := env.Validate()
	var claimants []pool.Claimant
	if env.General != nil {
		claimants = append(claimants, pool.Claimant{Name: generalPool, Scaler: env.General.Scaler})
	}
	for i, p := range env.Pools {
		claimants = append(claimants, pool.Claimant{Name: p.Name, Scaler: p.Scaler, Taints: p.AllTaints()})
		validateScaler(fmt.Sprintf("pools[%d] %q", i, p.Name), p, env, &problems)
	}
	problems.Join("", pool.ValidateOverlap("pools", claimants, env.PodsSelectPool))

	if env.Uses(pool.Karpenter) {
		problems.Join("", karpenter.ValidateVersion("karpenter.version", env.Karpenter.Version, env.Cluster.KubernetesVersion))
		if env.Network.NATGateways == "none" && !env.Karpenter.InstanceProfile {
			problems.Add("karpenter.instanceProfile", "is false, and with network.natGateways none the controller cannot reach IAM, "+
				"which has no endpoint, to make one itself; set it to true") // field fault BR-48
		}
	}
	if env.Uses(pool.ClusterAutoscaler) {
		_, found := clusterautoscaler.ReleaseFor("cluster.kubernetesVersion", env.Cluster.KubernetesVersion, clusterautoscaler.Release{})
		problems.Join("", found)
	}
	if env.Uses(pool.AutoMode) && env.System.Tainted {
		problems.Add("system", "Auto Mode has no system group of ours; remove system.tainted")
	}
	return problems
}

func validateScaler(at string, p config.Pool, env config.Environment, problems *problem.List) {
	switch p.Scaler {
	case pool.Karpenter:
		if p.DeviceMode == pool.DRA && !p.Static {
			problems.Join("", nodepool.ValidateDRA(at, env.Karpenter.Version, env.Cluster.KubernetesVersion, env.Karpenter.EnableDRA))
		}
	case pool.AutoMode:
		problems.Join("", automode.ValidateDeviceMode(at, p.DeviceMode, env.Cluster.KubernetesVersion))
		if len(p.StartupTaints) > 0 {
			problems.Join("", automode.Refuse(at, automode.StartupTaints))
		}
	case pool.ClusterAutoscaler:
		groups := 1
		if p.Spread != "" {
			groups = len(p.Zones)
			if groups == 0 {
				groups = len(env.Network.Zones)
			}
		}
		if p.MinNodeCount != nil {
			problems.Join("", clusterautoscaler.ValidateWake(at, p.DeviceMode, *p.MinNodeCount, groups, p.AcceptNoWakeFromZero))
		}
	}
}
