package plan

import (
	"bytes"
	"encoding/json"

	"github.com/headroom-eks/headroom/components/karpenter"
	"github.com/headroom-eks/headroom/components/nodepool"
	"github.com/headroom-eks/headroom/infra/config"
	"github.com/headroom-eks/headroom/pool"
	"github.com/headroom-eks/headroom/problem"
)

// karpenterScaler pools are NodePools of a Karpenter that the program installs.
type karpenterScaler struct{}

func (karpenterScaler) environment(env config.Environment) (problems problem.List) {
	problems.Join(karpenter.ValidateVersion("karpenter.version", env.Karpenter.Version, env.Cluster.KubernetesVersion))
	if env.Network.NATGateways == "none" && !env.Karpenter.InstanceProfile { // field fault BR-48
		problems.Add("karpenter.instanceProfile", "is false, and with network.natGateways none the controller cannot "+
			"reach IAM, which has no endpoint, to make one itself", nil, "set it to true")
	}
	return problems
}

func (karpenterScaler) check(at string, c config.Pool, env config.Environment) (problems problem.List) {
	problems.Join(checkKubelet(at+".kubelet", c.Kubelet))
	if c.DeviceMode == pool.DRA && !c.Static {
		problems.Join(nodepool.ValidateDRA(at, env.Karpenter.Version, env.Cluster.KubernetesVersion,
			env.Karpenter.EnableDRA))
	}
	return problems
}

func (karpenterScaler) checkGeneral(string, config.General, config.Environment) (none problem.List) {
	return none
}

func (s karpenterScaler) decide(d *decision, at string, c config.Pool, p *Pool) {
	decideNodePool(s, d, at, c, p)
	p.wake.ScalerVersion, p.wake.DRAEnabled = d.env.Karpenter.Version, d.env.Karpenter.EnableDRA
}

func (karpenterScaler) class(d *decision, at string, s classSettings, n *NodePool) {
	kubelet, err := kubeletSettings(s.kubelet)
	if err != nil {
		d.problems().Add(at+".kubelet", err.Error(), nil, "use settings that the node class knows, see docs/karpenter.md")
	}
	n.Class = nodepool.Class{
		AMIAlias:               d.env.Karpenter.AMIAlias,
		RootVolumeGiB:          s.diskGiB,
		LocalNVMe:              s.localNVMe,
		Kubelet:                kubelet,
		CapacityReservationIDs: s.reservationIDs(),
		Tags:                   d.env.Tags,
	}
	d.problems().Join(nodepool.Validate(at, n.Spec))
	d.problems().Join(nodepool.ValidateClass(at, n.Class))
}

// kubeletSettings that the node class knows; another key is an error.
func kubeletSettings(given map[string]any) (settings nodepool.Kubelet, err error) {
	if len(given) == 0 {
		return settings, nil
	}
	text, err := json.Marshal(given)
	if err != nil {
		return settings, err
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	err = decoder.Decode(&settings) // not in the return: Go leaves open which of the two comes first
	return settings, err
}
