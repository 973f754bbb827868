package plan

import (
	"slices"

	capacityplan "github.com/headroom-eks/headroom/capacity/plan"

	"github.com/headroom-eks/headroom/capacity"
	"github.com/headroom-eks/headroom/components/nodepool"
	"github.com/headroom-eks/headroom/infra/config"
	"github.com/headroom-eks/headroom/pool"
	"github.com/headroom-eks/headroom/problem"
)

// nodePooler is a scaler whose pools are NodePools. The general pool is one.
type nodePooler interface {
	// checkGeneral reports what it refuses of the general pool by configuration alone.
	checkGeneral(at string, g config.General, env config.Environment) problem.List
	// class gives a decided NodePool its node class, and reports what the scaler refuses of either.
	class(d *decision, at string, s classSettings, n *NodePool)
}

// classSettings are what the configuration of a pool says of its node class.
type classSettings struct {
	diskGiB     int
	localNVMe   bool
	reservation *config.Reservation
	kubelet     map[string]any
}

func settingsOf(c config.Pool) classSettings {
	return classSettings{
		diskGiB:     c.DiskGiB,
		localNVMe:   c.LocalDisks != "",
		reservation: c.Reservation,
		kubelet:     c.Kubelet,
	}
}

func (s classSettings) reservationIDs() []string {
	if s.reservation == nil {
		return nil
	}
	return []string{s.reservation.ID}
}

// staticSurge is how many nodes a static pool may have beyond its count while a node is replaced. They are never
// promised.
const staticSurge = 1

// decideNodePool makes a GPU pool a NodePool of a scaler that checks its limits with delay, and so may pass them for a
// while.
func decideNodePool(s nodePooler, d *decision, at string, c config.Pool, p *Pool) {
	n := &NodePool{Spec: d.spec(c, p), Zones: p.Facts.Zones}
	s.class(d, at, settingsOf(c), n)
	p.NodePool = n
	p.handedOver = d.leftToGitOps()
	p.Facts.MaximumIsSoft = !c.Static
	switch {
	case c.Static:
		p.Facts.SurgeNodes = staticSurge
		if d.live == nil { // in a live cluster they may be there already
			p.starting = *c.NodeCount
		}
	case c.MaxNodeCount != nil:
		p.Facts.SurgeNodes = capacityplan.SurgeNodes(*c.MaxNodeCount, d.env.Capacity.SurgeMarginPercent, 0)
	}
}

func (d *decision) leftToGitOps() bool {
	return d.env.GitOps.NodePools == "manifests" && !d.env.GitOps.Applied
}

// spec of a GPU pool's NodePool.
func (d *decision) spec(c config.Pool, p *Pool) nodepool.Spec {
	shape := d.answers.Shapes[c.InstanceTypes[0]].Value()
	s := nodepool.Spec{
		Name:                   c.Name,
		CapacityTypes:          c.CapacityTypes,
		Zones:                  p.Facts.Zones,
		Architecture:           shape.Architecture,
		Labels:                 c.Labels,
		Taints:                 c.AllTaints(),
		StartupTaints:          c.StartupTaints,
		Weight:                 c.Weight,
		ExpireAfter:            c.ExpireAfter,
		TerminationGracePeriod: c.TerminationGracePeriod,
		Disruption:             nodepool.Disruption{ConsolidateAfter: c.ConsolidateAfter, Budgets: budgets(c.Budgets)},
		Advertised: &nodepool.Advertised{
			InstanceTypes: c.InstanceTypes,
			DeviceMode:    c.DeviceMode,
			VCPUs:         shape.VCPUs,
			GPUs:          shape.GPUs,
			Static:        c.Static,
		},
	}
	if c.MaxNodeCount != nil {
		s.Advertised.MaxNodeCount = *c.MaxNodeCount
	}
	if c.Static {
		// One more than the count, or Karpenter could never replace a drifted node: it makes the new one first.
		s.Advertised.NodeCount, s.Advertised.MaxNodeCount = *c.NodeCount, *c.NodeCount+staticSurge
	}
	return s
}

func budgets(given []config.Budget) (out []nodepool.Budget) {
	for _, b := range given {
		out = append(out, nodepool.Budget{Nodes: b.Nodes, Schedule: b.Schedule, Duration: b.Duration, Reasons: b.Reasons})
	}
	return out
}

// smallestGeneral is the smallest node that the general pool is assumed to make: of the categories it may use, none
// takes more addresses for a vCPU than a .large, so a pool of such nodes is the worst that subnets have to bear.
var smallestGeneral = pool.Shape{VCPUs: 2, MemoryMiB: 4096, MaxENIs: 3, IPv4PerENI: 10}

// generalPool decides the pool for everything without a GPU. It is never advertised.
func (d *decision) generalPool(g config.General) Pool {
	zones := d.plan.Network.Zones
	if len(g.Zones) > 0 {
		zones = slices.Sorted(slices.Values(g.Zones))
	}
	f := capacityplan.PoolFacts{
		Name:          config.GeneralPool,
		Scaler:        g.Scaler,
		InstanceTypes: []string{},
		CapacityTypes: g.CapacityTypes,
		Zones:         zones,
		PerNode:       capacity.PerNodeOf(smallestGeneral),
		Configured: capacity.Configured{
			Limits: &capacity.Limits{VCPUs: g.Limits.VCPUs, MemoryMiB: g.Limits.MemoryGiB * 1024},
		},
		Labels:         map[string]string{pool.PoolLabel: config.GeneralPool},
		ScalesFromZero: true,
		MaximumIsSoft:  true,
		Uses:           capacityplan.SubnetUses(zones, d.addresses(smallestGeneral, nil)),
		Notes: []string{"its nodes have several shapes; the smallest it could make stand for all when addresses are " +
			"kept for it"},
	}
	f.Ceilings = []capacityplan.Bound{capacityplan.ConfiguredCeiling(f.Scaler, false, f.Configured, f.PerNode)}
	n := &NodePool{Zones: zones, Spec: nodepool.Spec{
		Name:          config.GeneralPool,
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
	}}
	if s, ok := scalers[g.Scaler].(nodePooler); ok { // Check has refused any other
		s.class(d, config.GeneralPool, classSettings{diskGiB: g.DiskGiB}, n)
	}
	return Pool{Facts: f, NodePool: n, StartupTaints: g.StartupTaints}
}
