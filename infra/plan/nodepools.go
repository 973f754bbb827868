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
	// class plans the node class of a NodePool, and reports what is wrong with it.
	class(at string, s classSettings, env config.Environment) (nodepool.NodeClass, problem.List)
}

// classSettings are what the configuration of a pool says of its node class.
type classSettings struct {
	diskGiB        int
	localNVMe      bool
	reservationIDs []string
	kubelet        nodepool.Kubelet
	// smallest node that the pool can make; of a GPU pool all are alike in vCPUs.
	smallest pool.Shape
}

// staticSurge is how many nodes a static pool may have beyond its count while a node is replaced. They are never
// promised.
const staticSurge = 1

// decideNodePool makes a GPU pool a NodePool of a scaler that checks its limits with delay, and so may pass them for a
// while.
func decideNodePool(s nodePooler, d *decision, at string, c config.Pool, p *Pool) {
	p.NodePool = d.nodePool(s, at, d.spec(c, p), p.Facts.Zones, classSettings{
		diskGiB:        c.DiskGiB,
		localNVMe:      c.LocalDisks != "",
		reservationIDs: c.ReservationIDs(),
		kubelet:        c.Kubelet,
		smallest:       d.answers.Shapes[c.InstanceTypes[0]].Value(),
	})
	p.addWays()
	if len(p.NodePools()) == 1 && d.env.GitOps.NodePools == "apply" {
		p.NodePool.Leaving = nodepool.SpotName(p.Name())
	}
	p.handedOver = d.leftToGitOps()
	p.Facts.MaximumIsSoft = !c.Static
	switch {
	case c.Static:
		p.Facts.KeptNodes, p.Facts.SurgeNodes = *c.NodeCount, staticSurge
		if d.live == nil { // in a live cluster they may be there already
			p.starting = *c.NodeCount
		}
	case c.MaxNodeCount != nil:
		for _, part := range p.NodePools() { // each may pass its own limit
			p.Facts.SurgeNodes += capacityplan.SurgeNodes(part.Spec.Advertised.MaxNodeCount,
				d.env.Capacity.SurgeMarginPercent, 0)
		}
	}
}

// addWays makes the limit of each NodePool, where there are several, a limit that only this pool draws from, by the
// ways in which that NodePool buys.
func (p *Pool) addWays() {
	parts := p.NodePools()
	if len(parts) < 2 {
		return
	}
	ways := slices.Clone(p.Facts.Uses)
	for _, part := range parts {
		key := p.addShare(part.Name, part.Spec.Advertised.MaxNodeCount, "limit of NodePool "+part.Name)
		for _, use := range ways { // a way that no limit holds is not counted on
			if len(use.CapacityTypes) == 1 && slices.Contains(part.Spec.CapacityTypes, use.CapacityTypes[0]) {
				p.Facts.Uses = append(p.Facts.Uses, capacityplan.Use{
					Limit:         key,
					CostPerNode:   1,
					CapacityTypes: use.CapacityTypes,
				})
			}
		}
	}
}

// leftToGitOps says that nobody vouches for the pools' objects: they are not confirmed to be applied elsewhere, or this
// very update deletes those it made, after it has counted.
func (d *decision) leftToGitOps() bool {
	deletes := d.live != nil && d.answers.Former.Value().NodePools == "apply"
	return d.env.GitOps.NodePools == "manifests" && (!d.env.GitOps.Applied || deletes)
}

// nodePool of a spec with its class; what either cannot be is a problem of the pool at that path.
func (d *decision) nodePool(s nodePooler, at string, spec nodepool.Spec, zones []string, c classSettings) *NodePool {
	class, problems := s.class(at, c, d.env)
	d.problems().Join(problems)
	if spec.Advertised == nil || spec.Advertised.VCPUs > 0 { // a type that EC2 does not describe is reported once
		d.problems().Join(nodepool.Validate(at, spec, class.Kind))
	}
	return &NodePool{Spec: spec, Class: class, Zones: zones}
}

// spec of a GPU pool's NodePool: what the configuration says of it, and what AWS says of its nodes.
func (d *decision) spec(c config.Pool, p *Pool) nodepool.Spec {
	shape := d.answers.Shapes[c.InstanceTypes[0]].Value()
	s := c.Spec()
	s.Zones, s.Architecture = p.Facts.Zones, shape.Architecture
	s.Advertised.VCPUs, s.Advertised.GPUs = shape.VCPUs, shape.GPUs
	if c.Static {
		// One more than the count, or Karpenter could never replace a drifted node: it makes the new one first.
		s.Advertised.MaxNodeCount = s.Advertised.NodeCount + staticSurge
	}
	return s
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
		Uses:           d.plan.Network.uses(zones, d.addresses(smallestGeneral, 0)),
		Notes: []string{"its nodes have several shapes; the smallest it could make stand for all when addresses are " +
			"kept for it"},
	}
	f.Ceilings = []capacityplan.Bound{capacityplan.ConfiguredCeiling(f.Scaler, false, f.Configured, f.PerNode)}
	p := Pool{Facts: f, StartupTaints: g.StartupTaints}
	if s, ok := scalers[g.Scaler].(nodePooler); ok { // Check has refused any other
		p.NodePool = d.nodePool(s, config.GeneralPool, g.Spec(), zones, classSettings{
			diskGiB:  g.DiskGiB,
			smallest: smallestGeneral,
		})
	}
	return p
}
