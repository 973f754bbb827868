package plan

import (
	"fmt"
	"time"

	"github.com/headroom-eks/headroom/capacity"
	capacityplan "github.com/headroom-eks/headroom/capacity/plan"
	"github.com/headroom-eks/headroom/infra/ask"
	"github.com/headroom-eks/headroom/pool"
)

// Observed is what was seen when the pools existed.
type Observed struct {
	// Cluster is its name, which may have a suffix that the configuration does not know.
	Cluster string
	Now     time.Time
	// Realized nodes by pool.
	Realized map[string]capacityplan.Realized
	// FreeAddresses of the private subnets of an existing network, by id.
	FreeAddresses map[string]ask.Answer[int]
}

// Document is the capacity contract of what was planned and observed.
func (p Plan) Document(o Observed) capacity.Document {
	validFor, err := time.ParseDuration(p.Environment.Capacity.ValidFor)
	if err != nil {
		validFor = 0 // Check has refused it; a document that is never valid promises nothing
	}
	in := capacityplan.Input{Cluster: o.Cluster, Region: p.Account.Region, Now: o.Now, ValidFor: validFor}
	for _, one := range p.Pools {
		in.Pools = append(in.Pools, one.observed(o.Realized[one.Name()]))
		in.Limits = append(in.Limits, one.Limits...)
	}
	in.Limits = append(in.Limits, p.reservationsAndQuotas(o.Now)...)
	in.Limits = append(in.Limits, p.Network.addresses(o.FreeAddresses)...)
	return capacityplan.Allocate(in)
}

// reservationsAndQuotas lists each reservation once, and the quotas less what reservations hold of them: a reservation
// counts against the on-demand quota whether it is used or not.
// https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/ec2-capacity-reservations.html
func (p Plan) reservationsAndQuotas(now time.Time) (limits []capacityplan.SharedLimit) {
	held, counted := map[string]int{}, map[string]bool{}
	for _, one := range p.Pools {
		r := one.reservation
		if r == nil {
			continue
		}
		end, _ := time.Parse(time.RFC3339, r.End) // Check has refused anything else than a time or nothing
		limit := capacityplan.ReservationLimit(capacityplan.ReservationFacts{ID: r.ID, Count: r.Count, End: end}, now)
		limits = append(limits, limit)
		if q, found := capacityplan.QuotaFor(one.Facts.InstanceTypes[0], pool.OnDemand); found && !counted[r.ID] {
			counted[r.ID] = true
			held[q.Code] += limit.Amount * one.Facts.PerNode.VCPUs
		}
	}
	for _, q := range p.Quotas {
		if vcpus := held[q.Key]; vcpus > 0 {
			q.Amount = max(0, q.Amount-vcpus)
			q.Detail += fmt.Sprintf(", %d held by reservations", vcpus)
		}
		limits = append(limits, q)
	}
	return limits
}

// observed are the facts of the pool with what depends on the nodes that exist.
func (p Pool) observed(realized capacityplan.Realized) capacityplan.PoolFacts {
	f := p.Facts
	f.Realized = realized
	f.Ceilings = append([]capacityplan.Bound(nil), f.Ceilings...)
	if p.wake != nil {
		w := *p.wake
		w.Realized = realized
		var bound *capacityplan.Bound
		if f.ScalesFromZero, bound = capacityplan.Wake(w); bound != nil {
			f.Ceilings = append(f.Ceilings, *bound)
		}
	}
	if p.handedOver {
		f.Ceilings = append(f.Ceilings, capacityplan.NotAppliedCeiling(realized))
	}
	return f
}
