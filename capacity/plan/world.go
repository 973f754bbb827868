package plan

import (
	"cmp"
	"slices"

	"github.com/headroom-eks/headroom/capacity"
)

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
		m.findOver()
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
