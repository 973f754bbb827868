package infra

import (
	"bytes"
	"encoding/json"

	"github.com/headroom-eks/headroom/components/automode"
	"github.com/headroom-eks/headroom/components/nodepool"
	"github.com/headroom-eks/headroom/infra/config"
	"github.com/headroom-eks/headroom/pool"
	"github.com/headroom-eks/headroom/problem"
)

// staticSurge is how many nodes a static pool may have beyond its count while a node is replaced. They are never
// promised.
const staticSurge = 1

// spec of a GPU pool that Karpenter or Auto Mode scales.
func spec(p config.Pool, shape pool.Shape, zones []string) nodepool.Spec {
	s := nodepool.Spec{
		Name: p.Name, CapacityTypes: p.CapacityTypes, Zones: zones, Architecture: shape.Architecture,
		Labels: p.Labels, Taints: p.AllTaints(), StartupTaints: p.StartupTaints, Weight: p.Weight,
		ExpireAfter: p.ExpireAfter, TerminationGracePeriod: p.TerminationGracePeriod,
		Disruption: nodepool.Disruption{ConsolidateAfter: p.ConsolidateAfter, Budgets: budgets(p.Budgets)},
		Advertised: &nodepool.Advertised{
			InstanceTypes: p.InstanceTypes,
			DeviceMode:    p.DeviceMode,
			VCPUs:         shape.VCPUs,
			GPUs:          shape.GPUs,
			Static:        p.Static,
		},
	}
	if p.MaxNodeCount != nil {
		s.Advertised.MaxNodeCount = *p.MaxNodeCount
	}
	if p.Static && p.NodeCount != nil {
		// One more than the count, or Karpenter could never replace a drifted node: it makes the new one first.
		s.Advertised.NodeCount, s.Advertised.MaxNodeCount = *p.NodeCount, *p.NodeCount+staticSurge
	}
	return s
}

func generalSpec(g config.General) nodepool.Spec {
	return nodepool.Spec{
		Name:          generalPool,
		CapacityTypes: g.CapacityTypes,
		Zones:         g.Zones,
		StartupTaints: g.StartupTaints,
		ExpireAfter:   g.ExpireAfter,
		Disruption:    nodepool.Disruption{ConsolidateAfter: g.ConsolidateAfter, Budgets: budgets(g.Budgets)},
		General: &nodepool.General{
			Categories: g.InstanceCategories,
			VCPUs:      g.Limits.VCPUs,
			MemoryGiB:  g.Limits.MemoryGiB,
		},
	}
}

func budgets(given []config.Budget) (out []nodepool.Budget) {
	for _, b := range given {
		out = append(out, nodepool.Budget{
			Nodes:    b.Nodes,
			Schedule: b.Schedule,
			Duration: b.Duration,
			Reasons:  b.Reasons,
		})
	}
	return out
}

// class of a pool that our own Karpenter scales.
func class(env config.Environment, diskGiB int) nodepool.Class {
	return nodepool.Class{AMIAlias: env.Karpenter.AMIAlias, RootVolumeGiB: diskGiB, Tags: env.Tags}
}

func poolClass(p config.Pool, env config.Environment) (nodepool.Class, error) {
	c := class(env, p.DiskGiB)
	c.LocalNVMe = p.LocalDisks != ""
	if r := p.Reservation; r != nil {
		c.CapacityReservationIDs = []string{r.ID}
	}
	var err error
	c.Kubelet, err = kubelet(p.Kubelet)
	return c, err
}

// kubelet settings that the node class knows; another key is an error.
func kubelet(given map[string]any) (settings nodepool.Kubelet, err error) {
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

func autoPool(p config.Pool, env config.Environment, f facts) automode.Pool {
	a := automode.Pool{
		Spec:  spec(p, f.Shapes[p.InstanceTypes[0]], zonesOf(p, env, f)),
		Class: automode.Class{StorageGiB: p.DiskGiB, Tags: env.Tags},
	}
	if r := p.Reservation; r != nil {
		a.Class.CapacityReservationIDs = []string{r.ID}
	}
	return a
}

// judgeNodePool reports what Karpenter or Auto Mode would refuse of a pool, given what a node of it is.
func judgeNodePool(at string, p config.Pool, env config.Environment, f facts, problems *problem.List) {
	switch p.Scaler {
	case pool.Karpenter:
		c, err := poolClass(p, env)
		if err != nil {
			problems.Addf(at+".kubelet", "%v; use settings that the node class knows, see docs/karpenter.md", err)
		}
		problems.Join(nodepool.Validate(at, spec(p, f.Shapes[p.InstanceTypes[0]], zonesOf(p, env, f))))
		problems.Join(nodepool.ValidateClass(at, c))
	case pool.AutoMode:
		problems.Join(automode.ValidatePool(at, autoPool(p, env, f), env.Cluster.KubernetesVersion))
	}
}

// judgeGeneral does the same for the general pool.
func judgeGeneral(env config.Environment, problems *problem.List) {
	switch g := env.General; {
	case g == nil:
	case g.Scaler == pool.Karpenter:
		problems.Join(nodepool.Validate(generalPool, generalSpec(*g)))
		problems.Join(nodepool.ValidateClass(generalPool, class(env, g.DiskGiB)))
	case g.Scaler == pool.AutoMode:
		problems.Join(automode.ValidatePool(generalPool, autoGeneral(env), env.Cluster.KubernetesVersion))
	}
}

func autoGeneral(env config.Environment) automode.Pool {
	return automode.Pool{
		Spec:  generalSpec(*env.General),
		Class: automode.Class{StorageGiB: env.General.DiskGiB, Tags: env.Tags},
	}
}
