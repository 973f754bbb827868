package plan

import (
	capacityplan "github.com/headroom-eks/headroom/capacity/plan"
	"github.com/headroom-eks/headroom/components/automode"
	"github.com/headroom-eks/headroom/components/nodepool"
	"github.com/headroom-eks/headroom/infra/config"
	"github.com/headroom-eks/headroom/problem"
)

// autoMode pools are NodePools that EKS itself scales.
type autoMode struct{}

func (autoMode) environment(config.Environment) (none problem.List) { return none }

func (autoMode) check(at string, c config.Pool, env config.Environment) problem.List {
	problems := nodepool.ValidateWake(at, capacityplan.WakeFacts{
		Scaler:            c.Scaler,
		DeviceMode:        c.DeviceMode,
		KubernetesVersion: env.Cluster.KubernetesVersion,
	})
	if !c.Kubelet.IsZero() {
		problems.Join(automode.Refuse(at, automode.Kubelet))
	}
	if c.LocalDisks != "" {
		problems.Join(automode.Refuse(at, automode.LocalDisks))
	}
	return problems
}

func (s autoMode) decide(d *decision, at string, c config.Pool, p *Pool) {
	decideNodePool(s, d, at, c, p)
}

func (autoMode) class(at string, s classSettings, env config.Environment) (nodepool.NodeClass, problem.List) {
	return automode.PlanNodeClass(at, automode.Class{
		StorageGiB:             s.diskGiB,
		CapacityReservationIDs: s.reservationIDs,
		Tags:                   env.Tags,
	})
}
