package plan

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	capacityplan "github.com/headroom-eks/headroom/capacity/plan"
	"github.com/headroom-eks/headroom/infra/ask"
	"github.com/headroom-eks/headroom/infra/config"
	"github.com/headroom-eks/headroom/pool"
)

// Quota is one from which pools draw.
type Quota struct {
	capacityplan.Quota
	// VCPUs that AWS allows.
	VCPUs ask.Answer[int]
	// Reserved vCPUs are kept for what others may still start.
	Reserved int
}

// limit is the quota as a limit that pools share: less what is kept for others, what capacity reservations hold of it,
// and what others are seen to use.
func (q Quota) limit(held int, others map[string]ask.Answer[int]) capacityplan.SharedLimit {
	vcpus, known := q.VCPUs.Get()
	if !known {
		return q.UnknownLimit(q.VCPUs.Reason())
	}
	used := 0
	if others != nil {
		if used, known = others[q.Code].Get(); !known {
			return q.UnknownLimit("what others in the account use of it: " + others[q.Code].Reason())
		}
	}
	limit := q.Limit(float64(vcpus), q.Reserved)
	limit.Amount = max(0, limit.Amount-held-used)
	if held > 0 {
		limit.Detail += fmt.Sprintf(", %d held by reservations", held)
	}
	if used > 0 {
		limit.Detail += fmt.Sprintf(", %d used now by instances of no pool here", used)
	}
	return limit
}

// quotas collects those from which pools draw.
func (d *decision) quotas() {
	d.reservations()
	given := d.env.Capacity.ReservedVCPUs
	reserved := map[pool.CapacityType]int{pool.OnDemand: given.OnDemand, pool.Spot: given.Spot}
	for _, q := range capacityplan.Quotas {
		if answer, drawn := d.answers.Quotas[q.Code]; drawn {
			d.plan.Quotas = append(d.plan.Quotas, Quota{
				Quota:    q,
				VCPUs:    answer,
				Reserved: reserved[q.CapacityType],
			})
		}
	}
	d.startingNodes()
}

// Reservation is a capacity reservation that pools name. Its instances count once, however many pools name it.
type Reservation struct {
	capacityplan.ReservationFacts
	// Quota is the code of the on-demand quota that the reservation counts against, used or not; may be empty.
	// https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/ec2-capacity-reservations.html
	Quota string
	// VCPUs of one instance.
	VCPUs int
}

// reservations collects the capacity reservations that pools name, each once. Check has refused pools that say
// different things of one.
func (d *decision) reservations() {
	for _, c := range d.env.Pools {
		if c.Reservation == nil || slices.ContainsFunc(d.plan.Reservations,
			func(r Reservation) bool { return r.ID == c.Reservation.ID }) {
			continue
		}
		end, _ := time.Parse(time.RFC3339, c.Reservation.End) // Check has refused anything else than a time or nothing
		r := Reservation{
			ReservationFacts: capacityplan.ReservationFacts{ID: c.Reservation.ID, Count: c.Reservation.Count, End: end},
			VCPUs:            d.answers.Shapes[c.InstanceTypes[0]].Value().VCPUs,
		}
		if q, found := capacityplan.QuotaFor(c.InstanceTypes[0], pool.OnDemand); found {
			r.Quota = q.Code
		}
		d.plan.Reservations = append(d.plan.Reservations, r)
	}
}

// startingNodes refuses nodes that are still to be made at once, without a pod asking, when a quota cannot hold even
// them: the update would fail half-way. Nodes that run already are not counted: a quota that was lowered under them
// removes none, and the contract tells of it.
func (d *decision) startingNodes() {
	needed, by := map[string]int{}, map[string][]string{}
	for _, p := range d.plan.Pools {
		var draws []capacityplan.Use
		for _, use := range p.Facts.Uses {
			if _, isQuota := d.answers.Quotas[use.Limit]; isQuota {
				draws = append(draws, use)
			}
		}
		if p.starting == 0 || len(draws) != 1 { // a pool with a choice may take what is left elsewhere
			continue
		}
		needed[draws[0].Limit] += p.starting * draws[0].CostPerNode
		by[draws[0].Limit] = append(by[draws[0].Limit], p.Name())
	}
	for _, p := range d.plan.Pools {
		if p.Name() == config.SystemPool && p.starting > 0 {
			needed[capacityplan.StandardQuota] = p.starting * p.Facts.PerNode.VCPUs
			by[capacityplan.StandardQuota] = []string{p.Name()}
		}
	}
	for _, code := range slices.Sorted(maps.Keys(needed)) {
		if vcpus, known := d.answers.Quotas[code].Get(); known && needed[code] > vcpus {
			d.problems().Add("pools",
				fmt.Sprintf("%s start with nodes of %d vCPUs together, and the quota %s allows %d",
					strings.Join(by[code], ", "), needed[code], code, vcpus), nil, "ask AWS for more or lower their "+
					"counts")
		}
	}
}
