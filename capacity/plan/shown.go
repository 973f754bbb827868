package plan

import (
	"math/bits"
	"slices"
)

// shown is what the document calls the maximum (step 10).
func (m *member) shown() int {
	n := noBound
	for _, c := range m.ceilings {
		n = min(n, c.Nodes)
	}
	return n
}

// firm is the part of the maximum that on-demand or reserved capacity backs: the on-demand nodes that run, or the
// largest number at which the next one can always be bought so.
func (w *world) firm(m *member) int {
	f := m.facts
	if !firm(f.CapacityTypes) {
		return 0
	}
	promised := m.promise
	if ways := m.need(wayNeed); ways != nil {
		among := ways.among(func(p place) bool { return firm(p.types) })
		own := 0
		if m.product() {
			own = w.careful.own(m, ways, among)
		} else {
			own = w.careful.ownTogether(m, among, func(zones uint64) int {
				if z := m.need(zoneNeed); z == nil || w.careful.own(m, z, zones) >= m.promise {
					return noBound
				}
				return 0
			})
		}
		promised = min(promised, own)
	}
	return min(m.shown(), max(promised, f.Realized.Firm()))
}

// among is the places of the need for which something holds.
func (n *need) among(holds func(place) bool) (mask uint64) {
	for i, p := range n.places[:min(len(n.places), manyPlaces)] {
		if holds(p) {
			mask |= 1 << i
		}
	}
	return mask
}

// largestGang is the maximum, or what the best zone gives where a gang's nodes have to be in one. Nodes in other zones
// stay and count against the promise; those that are here are here.
func (w *world) largestGang(m *member) int {
	if !m.facts.Advertised {
		return 0
	}
	if !m.facts.TiedToZone {
		return m.shown()
	}
	zones := slices.Clone(m.facts.Zones)
	for place := range m.facts.Realized.Nodes {
		zones = append(zones, place.Zone)
	}
	slices.Sort(zones)
	best := 0
	for _, zone := range slices.Compact(zones) {
		best = max(best, w.gangIn(m, zone))
	}
	return min(best, m.shown())
}

func (w *world) gangIn(m *member, zone string) int {
	here := m.facts.Realized.In(zone)
	elsewhere := m.realized - here
	gang := m.promise - elsewhere
	if z := m.need(zoneNeed); z != nil {
		gang = min(gang, w.careful.own(m, z, z.among(func(p place) bool { return p.zone == zone })))
	}
	if ways := m.need(wayNeed); !m.product() {
		with := ways.among(func(p place) bool { return p.zones == nil || slices.Contains(p.zones, zone) })
		if bits.OnesCount64(with) == 0 {
			gang = 0
		}
		gang = min(gang, w.careful.own(m, ways, with)-elsewhere)
	}
	return max(gang, here)
}
