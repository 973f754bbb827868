package plan

import (
	"fmt"
	"math/bits"
	"slices"
)

// fewPlaces is how many alternatives a need may have for all their sets to be looked at. With more, only sets of
// neighbours are: less may be promised then, never more.
const fewPlaces, manyPlaces = 6, 60

// set is some of a pool's places of one need (T in the rule): if less can be taken of them together than it takes to
// block each, one of them has room.
type set struct {
	id     int // in world.charges; -1 when what a node takes is not known
	places uint64
	// demand is the least that has to be taken of all of them to block each; a node of the pool takes cost of it.
	demand, cost int
	// room is how many nodes of the pool the places hold while none of them has reached its share.
	room int
	// unsure: careful, nothing can be promised here. open: hopeful, there is no end to it.
	unsure, open bool
	// zones that go with every way of buying in the set, as places of the pool's zone need.
	zones uint64
}

// spent is some places of a pool that have all reached their share, with that many nodes of the pool.
type spent struct {
	places uint64
	nodes  int
}

// supply is what a pool may take of one set: cost for each node, but not of more nodes than most.
type supply struct{ cost, most int }

func (s supply) of(nodes int) int { return s.cost * min(nodes, s.most) }

// weighedLimit is a limit within a set, with a weight that makes a node of the pool take the same of each.
type weighedLimit struct{ limit, weight int }

// units of a set: what its places and their limits weigh, and in how large steps a node is counted. Counted in nodes of
// the pool's own size, larger and smaller ones rounded up, a set sees that what is left over holds no whole node.
type units struct {
	groups [][]weighedLimit
	step   int
}

// mostWeight bounds how far costs of one node in one set may differ, so that nothing overflows.
const mostWeight = 1 << 12

// findSets lists the sets of a need (step 7) and the places that its own shares may close.
func (w *world) findSets(n *need) {
	count := min(len(n.places), manyPlaces)
	exact := count <= fewPlaces
	n.spent = []spent{{}}
	if exact {
		n.spent = spentOf(n.places)
		for mask := uint64(1); mask < 1<<count; mask++ {
			w.addSet(n, mask, true)
		}
		return
	}
	for from := range count {
		for to := from + 1; to <= count; to++ {
			w.addSet(n, 1<<to-1<<from, false)
		}
	}
}

// spentOf lists the sets of places that may have reached their shares. A place without a share never does, one whose
// share is 0 always has; places of one share do together.
func spentOf(places []place) (out []spent) {
next:
	for mask := range uint64(1) << len(places) {
		x, counted := spent{places: mask}, map[int]bool{}
		for i, p := range places {
			in := mask&(1<<i) != 0
			if in && p.shareOf < 0 || !in && p.share <= 0 {
				continue next
			}
			if before, again := counted[p.shareOf]; again && before != in && p.shareOf >= 0 {
				continue next
			}
			if in && !counted[p.shareOf] {
				x.nodes += p.share
			}
			counted[p.shareOf] = in
		}
		out = append(out, x)
	}
	return out
}

// addSet adds the places of the mask as a set, counted as it is and in whole nodes of the pool's.
func (w *world) addSet(n *need, mask uint64, exact bool) {
	t := set{id: -1, places: mask, cost: 1}
	for i, p := range n.places {
		if mask&(1<<i) == 0 {
			continue
		}
		for _, d := range p.draws {
			t.unsure = t.unsure || d.cost == 0 || w.limits[d.limit].unsure() != ""
			t.open = t.open || d.cost == 0 || w.limits[d.limit].Unknown != ""
			if d.cost > 0 {
				t.cost = t.cost / gcd(t.cost, d.cost) * d.cost
			}
			if t.cost > mostCost*mostWeight {
				return
			}
		}
	}
	if t.open {
		n.sets = append(n.sets, t)
		return
	}
	for _, step := range slices.Compact([]int{1, t.cost}) {
		if weighed, counts := w.weigh(n, t, step, exact); counts {
			n.sets = append(n.sets, weighed)
		}
	}
}

// weigh finds what it takes to block the whole set, in a unit in which a node of the pool takes the same everywhere.
func (w *world) weigh(n *need, t set, step int, exact bool) (weighed set, counts bool) {
	key := fmt.Append(nil, step)
	u := units{step: step}
	whole := true
	for i, p := range n.places {
		if t.places&(1<<i) == 0 {
			continue
		}
		least, group := noDemand, []weighedLimit{}
		for _, d := range p.draws {
			weight := t.cost / d.cost
			if weight > mostWeight {
				return t, false
			}
			l := w.limits[d.limit]
			whole = whole && l.unit == d.cost
			least = min(least, weight*l.demand(d.cost))
			group = append(group, weighedLimit{d.limit, weight})
			key = fmt.Appendf(key, " %d*%d", d.limit, weight)
		}
		if p.shareOf >= 0 && exact {
			t.room += p.share - 1
		} else {
			t.room = noBound
		}
		if !exact && p.shareOf >= 0 {
			least = min(least, p.share*t.cost)
		}
		u.groups, key = append(u.groups, group), append(key, ';')
		t.demand = min(t.demand+(least+step-1)/step, noDemand)
	}
	if step > 1 && whole {
		return t, false // all nodes count in whole ones of the pool's anyway
	}
	t.room, t.cost = min(t.room, noBound), t.cost/step
	id, known := w.setByKey[string(key)]
	if !known {
		id = len(w.sets)
		w.setByKey[string(key)] = id
		w.sets = append(w.sets, u)
	}
	t.id = id
	return t, true
}

// noDemand is more than all pools together can take.
const noDemand = 1 << 61

// supplies of the pool into every set (step 6): of what a node takes in different places the most, and of a place that
// has a share, or is not the pool's any more, no more nodes than the share or than those that run there. A scaler that
// may pass the pool's maximum for a while may pass each share.
func (m *member) findSupplies(w *world) {
	alike := m.shareless && len(m.left) == 0 // the same for all pools of its class
	if alike && m.class.supplies != nil {
		m.supplies = m.class.supplies
		return
	}
	m.supplies = make([]supply, len(w.sets))
	if alike {
		m.class.supplies = m.supplies
	}
	for id, u := range w.sets {
		s := supply{}
		for i, n := range m.needs {
			most, surge := 0, 0
			for _, p := range n.places {
				if cost := u.takes(p.draws); cost > 0 {
					s.cost, surge = max(s.cost, cost), m.surge()
					most += max(p.share, m.runsAt(p))
				}
			}
			for _, l := range m.left {
				if cost := u.takes([]draw{l.draw}); l.need == i && cost > 0 {
					s.cost = max(s.cost, cost)
					most += min(l.nodes, mostNodes)
				}
			}
			s.most = min(max(s.most, most+surge), mostNodes)
		}
		m.supplies[id] = s
	}
}

// runsAt counts the nodes that may run at a place, where it matters: at one with a share.
func (m *member) runsAt(p place) int {
	if p.share >= mostNodes {
		return 0
	}
	return min(m.facts.Realized.count(p.matches), mostNodes)
}

// takes is what a node with these draws takes of the set.
func (u units) takes(draws []draw) (cost int) {
	for _, group := range u.groups {
		most := 0
		for _, g := range group {
			for _, d := range draws {
				if d.limit == g.limit {
					most = max(most, d.cost*g.weight)
				}
			}
		}
		cost += (most + u.step - 1) / u.step
	}
	return cost
}

// stands is the least, over the places that the pool's own shares may have closed, of the best that a set of the others
// gives (step 7, with the exact share). Only places among the mask count.
func (n *need) stands(among uint64, hopeful bool, none func(nodes int) int, gives func(nodes int, t *set) int) int {
	least := noBound
	always := n.spent[0].places // shares of 0
	for _, x := range n.spent {
		if x.places&^among != always&^among {
			continue
		}
		best := none(x.nodes)
		for i := range n.sets {
			t := &n.sets[i]
			if t.places&x.places != 0 || t.places&^among != 0 || t.unsure && !hopeful {
				continue
			}
			best = max(best, gives(x.nodes, t))
		}
		least = min(least, best)
	}
	return least
}

const everywhere = ^uint64(0)

// own is the largest number at which a pool's next node has room, by one need, whatever the others do within theirs.
func (b *book) own(m *member, n *need, among uint64) int {
	return n.stands(among, b.hopeful, func(nodes int) int { return nodes }, func(nodes int, t *set) int {
		return b.ownIn(m, nodes, t)
	})
}

// ownIn is the same by one set, when the pool's own nodes have closed some other places with so many of them.
func (b *book) ownIn(m *member, nodes int, t *set) int {
	if t.open {
		return noBound
	}
	left := t.demand - (b.charged[t.id] - m.supplies[t.id].of(b.held[m.index]))
	switch {
	case left <= 0:
		return nodes
	case t.demand >= noDemand, t.room < noBound && t.cost*t.room < left:
		return noBound
	default:
		return min(nodes+(left+t.cost-1)/t.cost, mostNodes)
	}
}

// ownTogether is own over ways and zones where not every zone goes with every way: a set of ways stands only with zones
// that go with each of them (step 8).
func (b *book) ownTogether(m *member, ways uint64, zone func(among uint64) int) int {
	return m.need(wayNeed).stands(ways, b.hopeful, func(nodes int) int { return nodes }, func(nodes int, t *set) int {
		return min(b.ownIn(m, nodes, t), zone(t.zones))
	})
}

// beside is the largest number of another pool beside which a guarded one stays safe at its own, by one need.
func (b *book) beside(g guard, p *member, n *need, among uint64) int {
	none := func(nodes int) int {
		if g.number-1 < nodes {
			return noBound
		}
		return 0
	}
	return n.stands(among, b.hopeful, none, func(nodes int, t *set) int { return b.besideIn(g, p, nodes, t) })
}

func (b *book) besideIn(g guard, p *member, nodes int, t *set) int {
	others := g.number - 1 - nodes
	if others < 0 || t.open {
		return noBound
	}
	s := p.supplies[t.id]
	left := t.demand - t.cost*min(others, t.room) -
		(b.charged[t.id] - g.member.supplies[t.id].of(g.held) - s.of(b.held[p.index]))
	switch {
	case left <= 0:
		return 0
	case s.cost*s.most < left:
		return noBound
	default:
		return max((left-1)/s.cost-p.spare(), 0)
	}
}

// zonesOf a set of ways, as places of the pool's zone need.
func zonesOf(ways, zones *need) {
	for i := range ways.sets {
		t := &ways.sets[i]
		t.zones = everywhere
		for rest := t.places; rest != 0; rest &= rest - 1 {
			p := ways.places[bits.TrailingZeros64(rest)]
			if p.zones == nil {
				continue
			}
			with := uint64(0)
			for j := range min(len(zones.places), manyPlaces) {
				for _, z := range p.zones {
					if zones.places[j].zone == z {
						with |= 1 << j
					}
				}
			}
			t.zones &= with
		}
	}
}
