package plan

import "slices"

// searched is the rule as it is written (see Allocate), found by trying every number and every set, for small worlds in
// which everything is known. The closed form has to give the same.
func (w *tiny) searched() []int {
	out := make([]int, len(w.pools))
	var served []int
	for _, q := range w.order() {
		if !w.pools[q].advertised {
			continue
		}
		p := w.pools[q]
		most := min(p.maximum, p.promised)
		if p.fixed {
			most = min(most, p.running())
		}
		served = append(served, q)
		for n := most; n > 0; n-- {
			out[q] = n
			hold := w.holds(out)
			if !slices.ContainsFunc(served, func(e int) bool { return !w.safe(e, out[e], hold) }) {
				break
			}
			out[q] = 0
		}
	}
	return out
}

// safe at a number: whatever places its own shares have closed, some set of ways is not blocked, and some set of zones
// that go with all of them.
func (w *tiny) safe(q, number int, hold []int) bool {
	if number == 0 {
		return true
	}
	p := w.pools[q]
	var ways, zones []int
	for i := range w.limits {
		if p.draws(w, i) && i < w.zones {
			zones = append(zones, i)
		} else if p.draws(w, i) {
			ways = append(ways, i)
		}
	}
	return every(ways, func(closed []int) bool {
		return w.stands(q, number, hold, p.wayShare, w.zones, ways, closed, func(set []int) bool {
			var with []int
			for _, z := range zones {
				if !slices.ContainsFunc(set, func(y int) bool { return !p.may[y-w.zones][z] }) {
					with = append(with, z)
				}
			}
			return every(with, func(closed []int) bool {
				return w.stands(q, number, hold, p.share, 0, with, closed, nil)
			})
		})
	})
}

// stands: with the closed places closed by the pool's own shares, a set of the others is not blocked.
func (w *tiny) stands(q, number int, hold, share []int, first int, places, closed []int, also func([]int) bool) bool {
	others := number - 1
	for _, i := range closed {
		if share == nil {
			return true // nothing closes a place without a share
		}
		others -= share[i-first]
	}
	for _, i := range places {
		if share != nil && share[i-first] == 0 && !slices.Contains(closed, i) {
			return true // always closed
		}
	}
	if others < 0 {
		return true
	}
	return !every(places, func(set []int) bool {
		if len(set) == 0 || slices.ContainsFunc(set, func(i int) bool { return slices.Contains(closed, i) }) {
			return true
		}
		open := w.unblocked(q, others, hold, share, first, set, false) ||
			w.unblocked(q, others, hold, share, first, set, true)
		return !open || also != nil && !also(set)
	})
}

// unblocked: more is demanded of a set than can be supplied, counted as it is, or in whole nodes of the
// pool's own size, others rounded up.
func (w *tiny) unblocked(q, others int, hold, share []int, first int, set []int, inNodes bool) bool {
	p, unit, step := w.pools[q], 1, 1
	for _, i := range set {
		unit = unit / gcd(unit, p.cost[i]) * p.cost[i]
	}
	if inNodes {
		step = unit
	}
	room := 0
	left := 0
	for _, i := range set {
		left += ceilDiv(unit/p.cost[i]*w.demand(i, p.cost[i]), step)
		if share == nil {
			room = noBound
		} else {
			room += share[i-first] - 1
		}
	}
	left -= unit / step * min(others, room)
	for other, o := range w.pools {
		if other == q {
			continue
		}
		cost, most, surge := 0, 0, 0
		theirs := o.share
		if first > 0 {
			theirs = o.wayShare
		}
		for _, i := range set {
			runs := 0
			for at, nodes := range o.runs {
				if at.zone == i || w.zones+at.way == i {
					runs += nodes
				}
			}
			grows := 0
			if o.draws(w, i) {
				grows = hold[other]
				if theirs != nil {
					grows, surge = max(theirs[i-first], runs), o.surge
				}
			} else {
				grows = runs
			}
			if grows+surge > 0 {
				cost, most = max(cost, ceilDiv(unit/p.cost[i]*o.cost[i], step)), most+grows
			}
		}
		left -= cost * min(hold[other], most+surge)
	}
	return left > 0
}

func (w *tiny) demand(limit, cost int) int {
	unit := 0
	for _, p := range w.pools {
		runs := false
		for at := range p.runs {
			runs = runs || at.zone == limit || w.zones+at.way == limit
		}
		if p.draws(w, limit) || runs {
			unit = gcd(unit, p.cost[limit])
		}
	}
	total := w.limits[limit].total()
	if total < cost {
		return 0
	}
	return (total/unit+1)*unit - cost
}

// every: something holds for each subset.
func every(of []int, holds func([]int) bool) bool {
	for mask := range 1 << len(of) {
		var set []int
		for i, v := range of {
			if mask&(1<<i) != 0 {
				set = append(set, v)
			}
		}
		if !holds(set) {
			return false
		}
	}
	return true
}
