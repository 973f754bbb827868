package config

import (
	"fmt"

	"github.com/headroom-eks/headroom/components/nodepool"
	"github.com/headroom-eks/headroom/problem"
)

// Spec of a pool as a NodePool, as far as the configuration says it: what hangs on AWS's answers is missing, which is
// the zones that offer it and the shape of a node.
func (p Pool) Spec() nodepool.Spec {
	s := nodepool.Spec{
		Name:                   p.Name,
		CapacityTypes:          p.CapacityTypes,
		Zones:                  p.Zones,
		Labels:                 p.Labels,
		Taints:                 p.AllTaints(),
		StartupTaints:          p.StartupTaints,
		Weight:                 p.Weight,
		ExpireAfter:            p.ExpireAfter,
		TerminationGracePeriod: p.TerminationGracePeriod,
		Disruption:             nodepool.Disruption{ConsolidateAfter: p.ConsolidateAfter, Budgets: p.Budgets},
		Advertised: &nodepool.Advertised{
			InstanceTypes:        p.InstanceTypes,
			DeviceMode:           p.DeviceMode,
			Static:               p.Static,
			MaxOnDemandNodeCount: p.MaxOnDemandNodeCount,
		},
	}
	if p.MaxNodeCount != nil {
		s.Advertised.MaxNodeCount = *p.MaxNodeCount
	}
	if p.Static && p.NodeCount != nil {
		s.Advertised.NodeCount = *p.NodeCount
	}
	return s
}

// Spec of the general pool as a NodePool.
func (g General) Spec() nodepool.Spec {
	return nodepool.Spec{
		Name:                   GeneralPool,
		CapacityTypes:          g.CapacityTypes,
		Zones:                  g.Zones,
		StartupTaints:          g.StartupTaints,
		ExpireAfter:            g.ExpireAfter,
		TerminationGracePeriod: g.TerminationGracePeriod,
		Disruption:             nodepool.Disruption{ConsolidateAfter: g.ConsolidateAfter, Budgets: g.Budgets},
		General: &nodepool.General{
			Categories: g.InstanceCategories,
			VCPUs:      g.Limits.VCPUs,
			MemoryGiB:  g.Limits.MemoryGiB,
		},
	}
}

// ReservationIDs that the pool may use.
func (p Pool) ReservationIDs() []string {
	if p.Reservation == nil {
		return nil
	}
	return []string{p.Reservation.ID}
}

// validateParts keeps what the second NodePool of a pool needs for itself: its name, and a weight just above the
// first's. With a pool of that weight beside it, Karpenter would try the two in an order that nobody has asked for.
func (e Environment) validateParts(problems *problem.List) {
	for _, p := range e.Pools {
		if p.MaxOnDemandNodeCount == nil {
			continue
		}
		for i, other := range e.Pools {
			at := poolPath("pools", i, other.Name)
			if other.Name == nodepool.SpotName(p.Name) {
				problems.Add(at+".name", fmt.Sprintf("is that of the NodePool for spot of pool %q", p.Name), nil,
					"choose another")
			}
			if other.Scaler.Dynamic() && !other.Static && other.Weight == p.Weight+1 {
				problems.Add(at+".weight", fmt.Sprintf("is that of the NodePool for spot of pool %q, one above the "+
					"pool's", p.Name), other.Weight, "leave that weight free")
			}
		}
	}
}
