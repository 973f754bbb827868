package plan

import "slices"

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
	anyway := max(p.realized, b.held[p.index]-p.spare())
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
