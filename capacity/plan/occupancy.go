package plan

import (
	"fmt"
	"slices"

	"github.com/headroom-eks/headroom/capacity"
)

// member is a pool while capacity is divided.
type member struct {
	facts *PoolFacts
	*class
	realized int
	// ceilings found so far, those of the pool alone first.
	ceilings []capacity.Ceiling
	// index of the pool in the order in which pools are served.
	index int
	// low is the smallest ceiling of its own, 0 when one is unknown; high leaves unknown ones out.
	low, high int
	// reach is all that its scaler may take, untold that this is more than it promises: a fixed pool's group makes up
	// for lost nodes, an unadvertised pool promises none, pods of others can wake what the promise leaves out.
	reach  int
	untold bool
	// over is how many nodes run beyond the shares of their ways of buying.
	over int
	// doubt: the size of the pool or what its nodes take is not known.
	doubt bool
	// left lists limits from which nodes draw that run where the pool may not grow any more.
	left []leftover
	// supplies by set: what the pool may take of it.
	supplies []supply
	// promise is what the pool may always reach.
	promise int
}

// leftover is nodes that run outside the places where their pool may grow.
type leftover struct {
	draw
	need  int
	nodes int
}

// newMember finds what a pool may hold before anyone is served, by what it says of itself (step 3).
func newMember(f *PoolFacts) *member {
	m := &member{facts: f, realized: f.Realized.Total()}
	m.addOwnCeilings()
	return m
}

// addOwnCeilings adds the ceilings that concern this pool alone.
func (m *member) addOwnCeilings() {
	bounds := m.ownBounds()
	m.low, m.high, m.reach = noBound, noBound, noBound
	scaler := noBound // the smallest ceiling that binds the scaler
	for _, b := range bounds {
		if b.Unknown != "" {
			m.low, m.doubt = 0, true
			m.ceilings = append(m.ceilings, capacity.Ceiling{
				Kind:   capacity.Unknown,
				Of:     b.Kind,
				Nodes:  m.realized,
				Code:   b.Code,
				Detail: unknownDetail(b.Kind, b.Unknown),
			})
			continue
		}
		nodes := min(max(b.Nodes, 0), noBound)
		m.ceilings = append(m.ceilings, capacity.Ceiling{Kind: b.Kind, Nodes: nodes, Code: b.Code, Detail: b.Detail})
		m.low, m.high = min(m.low, nodes), min(m.high, nodes)
		if b.PromiseOnly {
			continue
		}
		scaler = min(scaler, nodes)
		if (b.Kind == capacity.ConfiguredKind || b.Kind == capacity.Live) && nodes > 0 {
			nodes += m.surge()
		}
		m.reach = min(m.reach, nodes)
	}
	m.untold = m.high < scaler
}

func (m *member) ownBounds() []Bound {
	f := m.facts
	bounds := slices.Clone(f.Ceilings)
	if f.Realized.Unknown != "" {
		bounds = append(bounds, Bound{Kind: capacity.RealizedCount, Unknown: f.Realized.Unknown, PromiseOnly: true})
	} else {
		if !f.Scaler.Scales() {
			bounds = append(bounds, Bound{Kind: capacity.NoAutoscaler, Nodes: m.realized, PromiseOnly: true,
				Detail: "nothing scales this pool; what runs is all it has"})
		}
		if !f.Advertised {
			bounds = append(bounds, Bound{Kind: capacity.NotAdvertised, Nodes: m.realized, PromiseOnly: true,
				Detail: "the pool promises no nodes beyond those that run"})
		}
	}
	if len(bounds) == 0 && len(f.Uses) == 0 {
		bounds = append(bounds, Bound{Kind: capacity.ConfiguredKind, Unknown: "no ceiling of this pool is known"})
	}
	return bounds
}

func (m *member) surge() int { return min(max(m.facts.SurgeNodes, 0), mostNodes) }

// spare is how many nodes there may be beside the pool's number.
func (m *member) spare() int { return min(m.surge()+m.over, mostNodes) }

// findOver counts the nodes beyond the shares of their ways of buying. Each way has a NodePool of its own, and nothing
// holds them together: where one has more than its share, the others still grow to theirs.
func (m *member) findOver() {
	ways := m.need(wayNeed)
	if ways == nil || m.shareless {
		return
	}
	shares := map[int]int{}
	for _, p := range ways.places {
		shares[p.shareOf] = p.share
	}
	for of, share := range shares {
		m.over += max(0, m.facts.Realized.count(func(at Place) bool {
			return slices.ContainsFunc(ways.places, func(p place) bool { return p.shareOf == of && p.matches(at) })
		})-share)
	}
	m.over = min(m.over, mostNodes)
	m.reach += m.over
}

// occupies is what the pool may hold when it is promised a number of nodes. Careful, it is the most there may be;
// hopeful, the least: of a pool in doubt, what is seen of it. A pool without a node has none to replace, so it holds no
// spare one either.
func (m *member) occupies(promised int, hopeful bool) int {
	nodes := max(promised, m.realized, min(m.facts.KeptNodes, mostNodes))
	if nodes > 0 {
		nodes += m.spare()
	}
	if m.untold && !m.doubt || m.doubt && !hopeful {
		nodes = max(nodes, m.reach)
	}
	return min(nodes, mostNodes)
}

const costUnknown = "what a node of a pool that draws from it takes is not known"

// empties finds the limits of which the pool may take any part: nobody can count on them.
func (m *member) empties(w *world) {
	kinds := map[capacity.Kind]bool{}
	for _, n := range m.needs {
		for _, p := range n.places {
			for _, d := range p.draws {
				kinds[w.limits[d.limit].Kind] = true
				if d.cost == 0 && (m.reach > 0 || m.realized > 0) {
					w.limits[d.limit].empty(costUnknown)
				}
				if (m.untold || m.doubt) && m.reach >= mostNodes {
					w.limits[d.limit].empty("a pool that draws from it may take any number of nodes")
				}
			}
		}
	}
	if m.facts.Realized.Unknown == "" {
		return
	}
	// Its nodes may run anywhere, and may not have taken yet all that they will take.
	for l := range w.limits {
		if kinds[w.limits[l].Kind] {
			w.limits[l].empty("the running nodes of a pool that draws from it could not be counted")
		}
	}
}

// findLeft lists the limits of the kinds which the pool draws from where nodes of it run and may not grow.
func (m *member) findLeft(w *world) {
	draws, costs := map[int]bool{}, map[capacity.Kind]leftover{}
	for i, n := range m.needs {
		for _, p := range n.places {
			if p.shareOf >= 0 {
				draws[p.shareOf] = true
			}
			for _, d := range p.draws {
				draws[d.limit] = true
				kind := w.limits[d.limit].Kind
				costs[kind] = leftover{draw: draw{cost: max(costs[kind].cost, d.cost)}, need: i}
			}
		}
	}
	for l := range w.limits {
		of, drawn := costs[w.limits[l].Kind]
		if !drawn || draws[l] {
			continue
		}
		of.limit = l
		of.nodes = m.facts.Realized.count(func(at Place) bool {
			return slices.ContainsFunc(w.limits[l].seen, func(u Use) bool { return u.mayMatch(at) })
		})
		if of.nodes > 0 && of.cost == 0 {
			w.limits[l].empty(costUnknown)
		} else if of.nodes > 0 {
			m.left = append(m.left, of)
		}
	}
}

func unknownDetail(kind capacity.Kind, reason string) string {
	return fmt.Sprintf("%s could not be determined, so only what is certain is advertised: %s", kind, reason)
}
