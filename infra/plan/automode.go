package plan

import (
	"time"

	"github.com/headroom-eks/headroom/components/automode"
	"github.com/headroom-eks/headroom/components/nodepool"
	"github.com/headroom-eks/headroom/infra/config"
	"github.com/headroom-eks/headroom/pool"
	"github.com/headroom-eks/headroom/problem"
	"k8s.io/apimachinery/pkg/util/validation"
)

// autoMode pools are NodePools that EKS itself scales.
type autoMode struct{}

func (autoMode) environment(env config.Environment) (problems problem.List) {
	if env.System.Tainted {
		problems.Add("system", "Auto Mode has no system group of ours", nil, "remove system.tainted")
	}
	return problems
}

func (autoMode) check(at string, c config.Pool, env config.Environment) (problems problem.List) {
	problems.Join(automode.ValidateDeviceMode(at, c.DeviceMode, env.Cluster.KubernetesVersion))
	problems.Join(checkLifetime(at, nodepool.Spec{
		Name:                   c.Name,
		ExpireAfter:            c.ExpireAfter,
		TerminationGracePeriod: c.TerminationGracePeriod,
		Advertised: &nodepool.Advertised{
			InstanceTypes: []string{"g6.xlarge"},
			DeviceMode:    pool.Plugin,
			VCPUs:         1,
			GPUs:          1,
			MaxNodeCount:  1,
		},
		Taints: []pool.Taint{pool.GPUTaint},
	}, len(c.StartupTaints) > 0))
	return problems
}

func (autoMode) checkGeneral(at string, g config.General, env config.Environment) (problems problem.List) {
	return checkLifetime(at, nodepool.Spec{
		Name:        config.GeneralPool,
		ExpireAfter: g.ExpireAfter,
		General:     &nodepool.General{VCPUs: 1, MemoryGiB: 1},
	}, len(g.StartupTaints) > 0)
}

// checkLifetime reports the name, the lifetime and the startup taints that Auto Mode refuses. The spec has nothing else
// that could be wrong: the configuration's own rules speak of the rest, and of what is no duration.
func checkLifetime(at string, spec nodepool.Spec, startupTaints bool) (problems problem.List) {
	if startupTaints {
		problems.Join(automode.Refuse(at, automode.StartupTaints))
	}
	for _, d := range []string{spec.ExpireAfter, spec.TerminationGracePeriod} {
		if _, err := time.ParseDuration(d); err != nil && d != "" && d != "Never" {
			return problems
		}
	}
	if len(validation.IsDNS1123Label(spec.Name)) > 0 {
		return problems
	}
	spec.CapacityTypes = []pool.CapacityType{pool.OnDemand}
	problems.Join(automode.ValidatePool(at, automode.Pool{Spec: spec}, config.DefaultKubernetesVersion))
	return problems
}

func (s autoMode) decide(d *decision, at string, c config.Pool, p *Pool) {
	decideNodePool(s, d, at, c, p)
}

func (autoMode) class(d *decision, at string, s classSettings, n *NodePool) {
	n.AutoModeClass = automode.Class{
		StorageGiB:             s.diskGiB,
		CapacityReservationIDs: s.reservationIDs(),
		Tags:                   d.env.Tags,
	}
	d.problems().Join(automode.ValidatePool(at, automode.Pool{Spec: n.Spec, Class: n.AutoModeClass},
		d.env.Cluster.KubernetesVersion))
}
