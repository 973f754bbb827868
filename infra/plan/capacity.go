package plan

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/headroom-eks/headroom/capacity"
	capacityplan "github.com/headroom-eks/headroom/capacity/plan"
	"github.com/headroom-eks/headroom/components/clusterautoscaler"
	"github.com/headroom-eks/headroom/components/nodepool"
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
	// NodePools as they live, by name. Nil in a preview.
	NodePools map[string]ask.Answer[nodepool.Live]
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
	for _, bound := range []*capacityplan.Bound{p.live(o.Groups, f.Realized),
		p.liveNodePools(o.NodePools, f.Realized)} {
		if bound != nil {
			f.Ceilings = append(f.Ceilings, *bound)
		}
	}
	if raised := p.raised(o); raised != nil {
		for i := range f.Ceilings {
			f.Ceilings[i].PromiseOnly = f.Ceilings[i].PromiseOnly || f.Ceilings[i].Kind == capacity.ConfiguredKind
		}
		f.Ceilings = append(f.Ceilings, *raised)
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
// hand, an update left them out, or a group is degraded or gone. Nil when they allow what was planned.
func (p Pool) live(groups map[string]ask.Answer[clusterautoscaler.Live],
	realized capacityplan.Realized) *capacityplan.Bound {
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
			return unknownLive(fmt.Sprintf("group %s: %s", name, groups[name].Reason()))
		}
		now := min(g.allowedBy(group, realized), g.Args.Scaling.Max)
		allowed, planned = allowed+now, planned+g.Args.Scaling.Max
		switch {
		case !group.Exists:
			said = fmt.Sprintf("group %s does not exist; run pulumi up --refresh", name)
		case group.Degraded():
			said = fmt.Sprintf("group %s is DEGRADED in EKS and may get no more than the %d nodes it has; its "+
				"health in EKS says why", name, now)
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

// raised is what the pool's groups and NodePools allow as they live where that is more than was planned: somebody has
// raised a bound, or this update did not lower it. Nil when they allow no more. Without an answer a group or NodePool
// is taken for what was planned.
func (p Pool) raised(o Observed) *capacityplan.Bound {
	allowed, planned, said := 0, 0, []string{}
	add := func(name string, now, most int) {
		allowed, planned = allowed+max(now, most), planned+most
		if now > most {
			said = append(said, fmt.Sprintf("%s allows more in AWS than the %d nodes that are configured", name, most))
		}
	}
	for _, g := range p.Groups {
		if group, known := o.Groups[g.Args.Name()].Get(); known && g.Template != nil {
			add("group "+g.Args.Name(), group.Max, g.Args.Scaling.Max)
		}
	}
	for _, part := range p.NodePools() {
		live, known := o.NodePools[part.Name].Get()
		most, _, errPlanned := p.allowedBy(nodepool.Planned(part.Spec))
		if now, _, err := p.allowedBy(live); known && err == nil && errPlanned == nil {
			add("NodePool "+part.Name, min(now, math.MaxInt32), min(most, math.MaxInt32))
		}
	}
	if allowed <= planned {
		return nil
	}
	bound := capacityplan.RaisedCeiling(allowed, strings.Join(said, "; ")+"; run pulumi up --refresh")
	return &bound
}

// allowedBy is how many nodes the group allows as it lives.
func (g Group) allowedBy(live clusterautoscaler.Live, realized capacityplan.Realized) int {
	nodes := live.Max
	switch {
	case !live.Degraded():
		return nodes
	case g.Args.Zone != "":
		return min(nodes, realized.In(g.Args.Zone))
	}
	return min(nodes, realized.Total())
}

// liveNodePools is what the pool's NodePools allow in the cluster where that is less than was planned: their limits
// were cut by hand, an update left them out, GitOps applied others, or one is gone. Nil when they allow what was
// planned.
func (p Pool) liveNodePools(found map[string]ask.Answer[nodepool.Live],
	realized capacityplan.Realized) *capacityplan.Bound {
	if found == nil {
		return nil
	}
	allowed, planned, gone, said := 0, 0, false, ""
	for _, part := range p.NodePools() {
		live, known := found[part.Name].Get()
		if !known {
			return unknownLive(fmt.Sprintf("NodePool %s: %s", part.Name, found[part.Name].Reason()))
		}
		most, _, err := p.allowedBy(nodepool.Planned(part.Spec))
		now, by := 0, ""
		if err == nil {
			now, by, err = p.allowedBy(live)
		}
		if err != nil {
			return unknownLive(fmt.Sprintf("NodePool %s: %v", part.Name, err))
		}
		allowed, planned, gone = allowed+min(now, most), planned+most, gone || !live.Exists
		if now < most {
			said = fmt.Sprintf("NodePool %s %s", part.Name, by)
			if live.Exists && !live.Deleting {
				said = fmt.Sprintf("NodePool %s allows %d nodes in the cluster (%s), and %d are configured; run "+
					"pulumi up --refresh", part.Name, now, by, most)
			}
		}
	}
	if allowed >= planned {
		return nil
	}
	if gone { // the nodes it has left are there
		allowed = max(allowed, realized.Total())
	}
	bound := capacityplan.LiveCeiling(allowed, said)
	return &bound
}

// allowedBy is how many nodes of the pool a NodePool allows, and what says so.
func (p Pool) allowedBy(live nodepool.Live) (nodes int, by string, err error) {
	switch {
	case !live.Exists:
		return 0, "does not exist, so nothing scales the pool; run pulumi up --refresh", nil
	case live.Deleting:
		return 0, "is being deleted with its nodes", nil
	}
	node := p.Facts.PerNode
	return live.Nodes(node.VCPUs, node.MemoryMiB, node.GPUs)
}

func unknownLive(reason string) *capacityplan.Bound {
	return &capacityplan.Bound{Kind: capacity.Live, Unknown: reason, PromiseOnly: true}
}

// shares are the limits that only this pool draws from: what the groups and NodePools that live allow, and for a
// NodePool less what displaced nodes take of its limit. More than was planned is no promise, since the pool as a whole
// promises no more than is configured.
func (p Pool) shares(o Observed) []capacityplan.SharedLimit {
	limits := slices.Clone(p.Limits)
	for i, g := range p.Groups {
		if group, known := o.Groups[g.Args.Name()].Get(); known && i < len(limits) { // one group a share
			limits[i].Amount = g.allowedBy(group, o.Realized[p.Name()])
		}
	}
	for i, part := range p.NodePools() {
		live, known := o.NodePools[part.Name].Get()
		if nodes, _, err := p.allowedBy(live); known && err == nil && i < len(limits) { // one NodePool a share
			limits[i].Amount = nodes
		}
	}
	if n := o.Displaced[p.Name()]; n > 0 && len(p.NodePools()) == len(limits) {
		limits[0].Amount = max(0, limits[0].Amount-n)
	}
	return limits
}
