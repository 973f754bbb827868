// Package plan is the arithmetic behind the capacity contract: facts about pools and limits in, the document out.
//
// It owns what a limit, a ceiling and the addresses of a node are, what it takes to wake a pool, and the rule by which
// limits that pools share are divided. It asks nobody anything and decides nothing about a pool: facts are handed to
// Allocate, which is a pure function. It imports no Pulumi.
package plan

import (
	"cmp"
	"math/bits"
	"slices"

	"github.com/headroom-eks/headroom/capacity"
)

// Allocate computes the document. It is a pure function: the same facts give the same document, in whatever order pools
// and limits are listed. It never fails; what is unknown or makes no sense (a use of a limit nobody listed, a cost of
// zero) lowers what is promised and is said in a ceiling.
//
// A promise holds whatever the others do within theirs: while a pool has fewer nodes than its promise, the next one has
// room, in whatever order nodes came and went, wherever they were put and however they were bought. Pools that are not
// advertised, fixed ones, and those in doubt count with all that they may take. The rule:
//
//  1. Places: where a pool may grow, and where nodes of it run (limits.go).
//  2. Limits: known in total, known by what is free and what running nodes are known to hold of it, or unknown.
//  3. Occupancy: what each pool may hold without being told, before anyone is served (occupancy.go).
//  4. Unit: whatever runs, a multiple of the greatest common divisor of the costs is taken of a limit.
//  5. Demand: what has to be taken of a place before a node finds no room there.
//  6. Supply: what a pool may take of a set of places.
//  7. Safety: a pool is safe at a number if, of each need, some set of its places cannot be blocked: the demand of the
//     set is more than its own nodes and all other pools can take of it (safety.go).
//  8. Where not every zone goes with every way of buying, a set of ways counts only with zones that go with them all.
//  9. Serving: by priority, then by name, each pool gets the largest number that keeps it, and all advertised pools
//     served before it, safe. What runs does not stop it.
//  10. Shown is the larger of that number and of what runs, within the pool's own ceilings. Firm and the largest gang
//     are found last and lower nobody.
//
// Losing a fact never raises a number of any pool, with one exception: where the lost ceiling was below what is
// realized, what is realized is advertised again. For that, two books are kept. The hopeful one takes unknowns to be
// without end and gives the most that a pool could be promised; the careful one counts on no unknown, and on every pool
// holding, and having to be kept, what the hopeful one says.
func Allocate(in Input) capacity.Document {
	w := newWorld(in)
	w.serve()
	return w.document(in)
}

// world is all that is divided and among whom.
type world struct {
	limits []limit
	// members in the order in which they are served.
	members []*member
	// sets of places that count for someone.
	sets     []units
	setByKey map[string]int
	// careful and hopeful are two accounts of what everyone may take.
	careful, hopeful *book
}

// book keeps what pools may take, and which are to be kept safe.
type book struct {
	w       *world
	hopeful bool
	// charged by set: what all pools may take of it together.
	charged []int
	// held by pool: the nodes it may hold.
	held   []int
	guards []guard
	// guardOf finds the one guard of a class without shares: the pool that is hardest to keep safe stands for all.
	guardOf map[*class]int
}

// guard is a pool that was served: it stays safe at its number.
type guard struct {
	member       *member
	number, held int
}

func newWorld(in Input) *world {
	w := &world{setByKey: map[string]int{}}
	limits, byKey := newLimits(in)
	w.limits = limits
	for i := range in.Pools {
		w.members = append(w.members, newMember(&in.Pools[i]))
	}
	slices.SortStableFunc(w.members, func(a, b *member) int {
		return cmp.Or(cmp.Compare(b.facts.Priority, a.facts.Priority), cmp.Compare(a.facts.Name, b.facts.Name))
	})
	w.findPlaces(byKey)
	for _, m := range w.members {
		m.empties(w)
		m.findLeft(w)
		m.divides(w)
	}
	found := map[*class]bool{}
	for _, m := range w.members {
		if !found[m.class] {
			found[m.class] = true
			m.class.findSets(w)
		}
	}
	for _, m := range w.members {
		m.findSupplies(w)
	}
	w.careful, w.hopeful = w.newBook(false), w.newBook(true)
	return w
}

// findPlaces gives each pool its needs, and pools that need the same one class.
func (w *world) findPlaces(byKey map[string]int) {
	drawn, classes := make([]int, len(w.limits)), map[string]*class{}
	for _, m := range w.members {
		counted := map[string]bool{}
		for _, u := range m.facts.Uses {
			if !counted[u.Limit] {
				counted[u.Limit] = true
				drawn[byKey[u.Limit]]++
			}
		}
	}
	share := func(l int) bool { return w.limits[l].Kind == capacity.ConfiguredKind && drawn[l] == 1 }
	for i, m := range w.members {
		m.index = i
		key := usesKey(m.facts.Uses, byKey)
		if classes[key] == nil {
			classes[key] = &class{needs: needsOf(m.facts.Uses, w.limits, byKey, share), shareless: true}
			for _, n := range classes[key].needs {
				classes[key].notice(n)
			}
		}
		m.class = classes[key]
		m.doubt = m.doubt || m.costless
	}
}

// divides takes the costs of the pool into the units of the limits it may draw from (step 4).
func (m *member) divides(w *world) {
	for _, n := range m.needs {
		for _, p := range n.places {
			for _, d := range p.draws {
				w.limits[d.limit].unit = gcd(w.limits[d.limit].unit, d.cost)
			}
		}
	}
	for _, l := range m.left {
		w.limits[l.limit].unit = gcd(w.limits[l.limit].unit, l.cost)
	}
}

func (c *class) findSets(w *world) {
	for i := range c.needs {
		w.findSets(&c.needs[i])
	}
	if ways, zones := c.need(wayNeed), c.need(zoneNeed); ways != nil && zones != nil {
		zonesOf(ways, zones)
	}
}

// newBook opens with what pools hold without being told.
func (w *world) newBook(hopeful bool) *book {
	b := &book{w: w, hopeful: hopeful, charged: make([]int, len(w.sets)), held: make([]int, len(w.members))}
	b.guardOf = map[*class]int{}
	for _, m := range w.members {
		b.hold(m, 0)
	}
	return b
}

// hold charges a pool with what it may hold when it is promised a number.
func (b *book) hold(m *member, number int) {
	nodes := m.occupies(number, b.hopeful)
	for id, s := range m.supplies {
		b.charged[id] += s.of(nodes) - s.of(b.held[m.index])
	}
	b.held[m.index] = nodes
}

// keep holds a number for a pool and keeps it safe from those served after it.
func (b *book) keep(m *member, number int) {
	number = min(number, mostNodes)
	b.hold(m, number)
	if number == 0 {
		return
	}
	g := guard{m, number, b.held[m.index]}
	at, again := b.guardOf[m.class]
	switch {
	case !m.shareless:
		b.guards = append(b.guards, g)
	case !again:
		b.guardOf[m.class] = len(b.guards)
		b.guards = append(b.guards, g)
	case g.held-g.number < b.guards[at].held-b.guards[at].number:
		b.guards[at] = g
	}
}

// serve divides (step 9).
func (w *world) serve() {
	for _, m := range w.members {
		if !m.facts.Advertised {
			m.addSharedCeilings(w, w.careful.grants(m))
			continue
		}
		granted := w.careful.grants(m)
		most := m.high
		for _, g := range w.hopeful.grants(m) {
			most = min(most, g.nodes())
		}
		m.promise = m.low
		for _, g := range granted {
			m.promise = min(m.promise, g.nodes())
		}
		m.addSharedCeilings(w, granted)
		w.careful.keep(m, most)
		w.hopeful.keep(m, m.promise)
	}
}

// grant is what the limits of one need give a pool.
type grant struct {
	need *need
	// own is the largest number at which the pool is safe itself, kept the largest at which earlier ones stay safe;
	// keeps is the one that is hardest to keep safe.
	own, kept int
	keeps     *member
}

func (g grant) nodes() int { return min(g.own, g.kept) }

// grants lists, by need, what the limits give the pool when its turn comes.
func (b *book) grants(m *member) []grant {
	out := make([]grant, 0, len(m.needs))
	for i := range m.needs {
		n := &m.needs[i]
		own := b.own(m, n, everywhere)
		if n.name == wayNeed && !m.product() {
			own = b.ownTogether(m, everywhere, func(zones uint64) int {
				if z := m.need(zoneNeed); z != nil {
					return b.own(m, z, zones)
				}
				return noBound
			})
		}
		out = append(out, grant{need: n, own: own, kept: noBound})
	}
	if len(out) == 0 {
		return out
	}
	for _, g := range b.guards {
		name, kept := b.keeps(g, m)
		at := max(slices.IndexFunc(out, func(g grant) bool { return g.need.name == name }), 0)
		if kept < out[at].kept {
			out[at].kept, out[at].keeps = kept, g.member
		}
	}
	return out
}

// keeps is the largest number of a pool that keeps a guarded one safe, and the need that says so. What the pool holds
// anyway does not count as growth.
func (b *book) keeps(g guard, p *member) (name string, kept int) {
	anyway := max(p.realized, b.held[p.index]-p.surge())
	kept = noBound
	product := g.member.product()
	for i := range g.member.needs {
		n := &g.member.needs[i]
		nodes := noBound
		switch {
		case product || n.name != wayNeed && n.name != zoneNeed:
			nodes = b.beside(g, p, n, everywhere)
		case n.name == wayNeed:
			nodes = b.besideTogether(g, p)
		}
		if nodes = max(nodes, anyway); nodes < kept && p.touches(g.member, n) {
			name, kept = n.name, nodes
		}
	}
	return name, kept
}

// besideTogether is beside where not every zone goes with every way.
func (b *book) besideTogether(g guard, p *member) int {
	none := func(nodes int) int {
		if g.number-1 < nodes {
			return noBound
		}
		return 0
	}
	return g.member.need(wayNeed).stands(everywhere, b.hopeful, none, func(nodes int, t *set) int {
		kept := b.besideIn(g, p, nodes, t)
		if z := g.member.need(zoneNeed); z != nil {
			kept = min(kept, b.beside(g, p, z, t.zones))
		}
		return kept
	})
}

// touches: growth of the pool can matter to a need of another. Where zones and ways go together, all needs
// of the other count.
func (p *member) touches(other *member, n *need) bool {
	if !other.product() {
		return slices.ContainsFunc(other.needs, func(n need) bool { return p.draws(&n) })
	}
	return p.draws(n)
}

// draws: new nodes of the pool may draw from a place of a need.
func (p *member) draws(other *need) bool {
	for _, theirs := range other.places {
		for _, n := range p.needs {
			for _, mine := range n.places {
				if slices.ContainsFunc(mine.draws, func(d draw) bool {
					return slices.ContainsFunc(theirs.draws, func(e draw) bool { return d.limit == e.limit })
				}) {
					return true
				}
			}
		}
	}
	return false
}

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
