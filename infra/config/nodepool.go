package config

import (
	"github.com/headroom-eks/headroom/components/nodepool"
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
			InstanceTypes: p.InstanceTypes,
			DeviceMode:    p.DeviceMode,
			Static:        p.Static,
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
		Name:          GeneralPool,
		CapacityTypes: g.CapacityTypes,
		Zones:         g.Zones,
		StartupTaints: g.StartupTaints,
		ExpireAfter:   g.ExpireAfter,
		Disruption:    nodepool.Disruption{ConsolidateAfter: g.ConsolidateAfter, Budgets: g.Budgets},
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
