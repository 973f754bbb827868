package plan

import (
	"fmt"
	"slices"
	"time"

	"github.com/headroom-eks/headroom/capacity"
	capacityplan "github.com/headroom-eks/headroom/capacity/plan"
	"github.com/headroom-eks/headroom/components/clusterautoscaler"
	"github.com/headroom-eks/headroom/infra/ask"
)

// Observed is what was seen when the pools existed.
type Observed struct {
	// Cluster is its name, which may have a suffix that the configuration does not know.
	Cluster string
	Now     time.Time
	// Realized nodes by pool.
	Realized map[string]capacityplan.Realized
	// Displaced are spot nodes, by pool, in the NodePool of a divided pool that buys them no longer: they ran when it
	// was divided. Karpenter replaces them, and meanwhile they count against that NodePool's limit.
	Displaced map[string]int
	// FreeAddresses of the private subnets, by CIDR. Those of a new network that is not made yet are missing.
	FreeAddresses map[string]ask.Answer[int]
	// Groups are the managed groups that cluster-autoscaler moves, as they live, by name. Nil in a preview, which shows
	// what the update would reach.
	Groups map[string]ask.Answer[clusterautoscaler.Live]
	// NotMade are the pools whose resources this update left out or failed to make.
	NotMade map[string]bool
	// OthersVCPUs of each quota are taken by instances of the account that are in no pool of the plan.
	OthersVCPUs map[string]ask.Answer[int]
}

// Document is the capacity contract of what was planned and observed.
func (p Plan) Document(o Observed) capacity.Document {
	validFor, err := time.ParseDuration(p.Environment.Capacity.ValidFor)
	if err != nil {
		validFor = 0 // Check has refused it; a document that is never valid promises nothing
	}
	in := capacityplan.Input{Cluster: o.Cluster, Region: p.Account.Region, Now: o.Now, ValidFor: validFor}
	for _, one := range p.Pools {
		in.Pools = append(in.Pools, one.observed(o))
		in.Limits = append(in.Limits, one.shares(o)...)
	}
	held := map[string]int{} // vCPUs, by quota
	for _, r := range p.Reservations {
		limit := capacityplan.ReservationLimit(r.ReservationFacts, o.Now)
		held[r.Quota] += limit.Amount * r.VCPUs
		in.Limits = append(in.Limits, limit)
	}
	for _, q := range p.Quotas {
		in.Limits = append(in.Limits, q.limit(held[q.Code], o.OthersVCPUs))
	}
	in.Limits = append(in.Limits, p.Network.addresses(o)...)
	return capacityplan.Allocate(in)
}

// observed are the facts of the pool with what depends on the nodes that exist and on the time.
func (p Pool) observed(o Observed) capacityplan.PoolFacts {
	f := p.Facts
	f.Realized = o.Realized[p.Name()]
	f.Ceilings = slices.Clone(f.Ceilings)
	if p.wake != nil {
		w := *p.wake
		w.Realized = f.Realized
		var bound *capacityplan.Bound
		if f.ScalesFromZero, bound = capacityplan.Wake(w); bound != nil {
			f.Ceilings = append(f.Ceilings, *bound)
		}
	}
	if p.handedOver || o.NotMade[p.Name()] {
		f.Ceilings = append(f.Ceilings, capacityplan.NotAppliedCeiling(f.Realized))
	}
	if bound := p.live(o.Groups); bound != nil {
		f.Ceilings = append(f.Ceilings, *bound)
	}
	if n, parts := o.Displaced[p.Name()], p.NodePools(); n > 0 && len(parts) > 1 {
		most := parts[0].Spec.Advertised.MaxNodeCount
		f.Ceilings = append(f.Ceilings, capacityplan.LiveCeiling(p.NodePool.Spec.Advertised.MaxNodeCount-min(n, most),
			fmt.Sprintf("%d spot nodes that ran when the pool was divided take of the %d that NodePool %s may have, "+
				"until they are replaced", n, most, parts[0].Name)))
		f.SurgeNodes += n // the other NodePool grows to its limit beside them
	}
	return f
}

// live is what the pool's managed groups allow in AWS where that is less than was planned: their bounds were cut by
// hand, an update left them out, or a group is gone. Nil when they allow what was planned.
func (p Pool) live(groups map[string]ask.Answer[clusterautoscaler.Live]) *capacityplan.Bound {
	if groups == nil {
		return nil
	}
	allowed, planned, said := 0, 0, ""
	for _, g := range p.Groups {
		if g.Template == nil { // nothing moves a fixed group: it promises what runs, whatever its bounds
			continue
		}
		name := g.Args.Name()
		group, known := groups[name].Get()
		if !known {
			return &capacityplan.Bound{
				Kind:        capacity.Live,
				Unknown:     fmt.Sprintf("group %s: %s", name, groups[name].Reason()),
				PromiseOnly: true,
			}
		}
		allowed += min(group.Max, g.Args.Scaling.Max)
		planned += g.Args.Scaling.Max
		switch {
		case !group.Exists:
			said = fmt.Sprintf("group %s does not exist; run pulumi up --refresh", name)
		case group.Max < g.Args.Scaling.Max:
			said = fmt.Sprintf("group %s allows %d nodes in AWS, and %d are configured; run pulumi up --refresh", name,
				group.Max, g.Args.Scaling.Max)
		}
	}
	if allowed >= planned {
		return nil
	}
	bound := capacityplan.LiveCeiling(allowed, said)
	return &bound
}

// shares are the limits that only this pool draws from, no larger than the groups that live allow, and for a NodePool
// less what displaced nodes take of its limit.
func (p Pool) shares(o Observed) []capacityplan.SharedLimit {
	limits := slices.Clone(p.Limits)
	for i, g := range p.Groups {
		if group, known := o.Groups[g.Args.Name()].Get(); known && i < len(limits) { // one group a share
			limits[i].Amount = min(limits[i].Amount, group.Max)
		}
	}
	if n := o.Displaced[p.Name()]; n > 0 && len(p.NodePools()) == len(limits) {
		limits[0].Amount = max(0, limits[0].Amount-n)
	}
	return limits
}
