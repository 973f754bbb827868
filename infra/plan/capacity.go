package plan

import (
	"time"

	"github.com/headroom-eks/headroom/capacity"
	capacityplan "github.com/headroom-eks/headroom/capacity/plan"
	"github.com/headroom-eks/headroom/infra/ask"
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
		in.Pools = append(in.Pools, one.observed(o.Realized[one.Name()], o.Now))
		in.Limits = append(in.Limits, one.Limits...)
	}
	in.Limits = append(in.Limits, p.Quotas...)
	in.Limits = append(in.Limits, p.Network.addresses(o.FreeAddresses)...)
	return capacityplan.Allocate(in)
}

// observed are the facts of the pool with what depends on the nodes that exist and on the time.
func (p Pool) observed(realized capacityplan.Realized, now time.Time) capacityplan.PoolFacts {
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
	if r := p.reservation; r != nil {
		end, _ := time.Parse(time.RFC3339, r.End) // Check has refused anything else than a time or nothing
		f.Ceilings = append(f.Ceilings, capacityplan.ReservationCeiling(
			capacityplan.ReservationFacts{ID: r.ID, Count: r.Count, End: end}, now))
	}
	if p.handedOver {
		f.Ceilings = append(f.Ceilings, capacityplan.NotAppliedCeiling(realized))
	}
	return f
}
