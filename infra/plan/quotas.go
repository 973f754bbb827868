package plan

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	capacityplan "github.com/headroom-eks/headroom/capacity/plan"
	"github.com/headroom-eks/headroom/infra/ask"
	"github.com/headroom-eks/headroom/pool"
)

// Quota is one from which pools draw.
type Quota struct {
	capacityplan.Quota
	// VCPUs that AWS allows.
	VCPUs ask.Answer[int]
	// Reserved vCPUs are kept for what others may still start, and for the account's own capacity reservations, which
	// hold theirs whether they are used or not.
	Reserved int
}

// limit is the quota as a limit that pools share: less what is reserved, and less what others are seen to use.
func (q Quota) limit(others map[string]ask.Answer[int]) capacityplan.SharedLimit {
	vcpus, known := q.VCPUs.Get()
	if !known {
		return q.UnknownLimit(q.VCPUs.Reason())
	}
	if others == nil {
		return q.Limit(float64(vcpus), q.Reserved)
	}
	used, known := others[q.Code].Get()
	if !known {
		return q.UnknownLimit("what others in the account use of it: " + others[q.Code].Reason())
	}
	limit := q.Limit(float64(vcpus), q.Reserved+used)
	if used > 0 {
		limit.Detail += fmt.Sprintf("; instances that are not this cluster's use %d now", used)
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
				Reserved: reserved[q.CapacityType] + d.heldByReservations(q),
			})
		}
	}
	d.startingNodes()
}

// reservations are the capacity reservations that pools name, each once: its instances count once, however many pools
// name it.
func (d *decision) reservations() {
	for _, c := range d.env.Pools {
		if c.Reservation == nil || slices.ContainsFunc(d.plan.Reservations,
			func(r capacityplan.ReservationFacts) bool { return r.ID == c.Reservation.ID }) {
			continue
		}
		end, _ := time.Parse(time.RFC3339, c.Reservation.End) // Check has refused anything else than a time or nothing
		d.plan.Reservations = append(d.plan.Reservations,
			capacityplan.ReservationFacts{ID: c.Reservation.ID, Count: c.Reservation.Count, End: end})
	}
}

// heldByReservations are the vCPUs of an on-demand quota that the reservations hold, used or not.
// https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/capacity-reservations-using.html (on-demand instance limits)
func (d *decision) heldByReservations(q capacityplan.Quota) (vcpus int) {
	counted := map[string]bool{}
	for _, c := range d.env.Pools {
		if c.Reservation == nil || counted[c.Reservation.ID] {
			continue
		}
		counted[c.Reservation.ID] = true
		if by, found := capacityplan.QuotaFor(c.InstanceTypes[0], pool.OnDemand); found && by.Code == q.Code {
			vcpus += c.Reservation.Count * d.answers.Shapes[c.InstanceTypes[0]].Value().VCPUs
		}
	}
	return vcpus
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
	for _, code := range slices.Sorted(maps.Keys(needed)) {
		if vcpus, known := d.answers.Quotas[code].Get(); known && needed[code] > vcpus {
			d.problems().Add("pools", fmt.Sprintf("%s start with nodes of %d vCPUs together, and the quota %s allows %d",
				strings.Join(by[code], ", "), needed[code], code, vcpus), nil, "ask AWS for more or lower their counts")
		}
	}
}
