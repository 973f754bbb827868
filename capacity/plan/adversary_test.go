package plan

import (
	"fmt"
	"math/rand"
	"slices"
	"strings"
	"time"

	"github.com/headroom-eks/headroom/capacity"
	"github.com/headroom-eks/headroom/pool"
)

// The adversary is written from the definition of a promise and knows nothing of the rule:
//
//	While pool p has fewer nodes than its promise, the next one can be placed, whatever every other pool did within
//	its own promise (unadvertised and fixed pools, and those in doubt, within all they may take), in any order, in
//	any of the places they may use, with running nodes replaced anywhere they may go.
//
// It looks for a state of the world that others can bring about and in which p's next node finds no room.

// tiny is a world small enough to look at every state. Limits are those of the zones, then those of the ways of buying.
type tiny struct {
	zones, ways int
	// reserved: the first way of buying is a capacity reservation, which counts in instances.
	reserved bool
	limits   []tinyLimit
	pools    []tinyPool
}

type tinyLimit struct {
	amount  int
	free    bool // amount is what is free beside taken
	taken   int  // known to be held by running nodes
	unknown bool
}

func (l tinyLimit) total() int {
	if l.free {
		return l.amount + l.taken
	}
	return l.amount
}

type spot struct{ zone, way int }

type tinyPool struct {
	cost []int // by limit; 0 is not known
	// may lists, by way of buying, in which zones the pool may have it.
	may [][]bool
	// share by zone and wayShare by way, or nil.
	share, wayShare []int
	runs            map[spot]int
	// maximum by configuration, of which only promised are promised (a scaler that others can wake).
	maximum, promised int
	surge, priority   int
	kept              int // by the scaler, whatever pods ask for
	advertised, fixed bool
	unknownMaximum    bool
	uncounted         bool
}

func (p tinyPool) allows(at spot) bool { return p.may[at.way][at.zone] }

func (p tinyPool) running() (n int) {
	for _, nodes := range p.runs {
		n += nodes
	}
	return n
}

// limitsOf the pool: those of the places it may use.
func (p tinyPool) draws(w *tiny, limit int) bool {
	for way := range w.ways {
		for zone := range w.zones {
			if p.may[way][zone] && (limit == zone || limit == w.zones+way) {
				return true
			}
		}
	}
	return false
}

// over is how many nodes run beyond what their way of buying is given: the NodePools of the others still grow to their
// own limits.
func (p tinyPool) over() (n int) {
	for way, share := range p.wayShare {
		runs := 0
		for at, nodes := range p.runs {
			if at.way == way && slices.Contains(p.may[way], true) { // a way that was left has no share
				runs += nodes
			}
		}
		n += max(0, runs-share)
	}
	return n
}

// mayHold is how many nodes the pool may have within its promise.
func (p tinyPool) mayHold(w *tiny, promise int) int {
	n := max(promise, p.running(), p.kept)
	if n > 0 { // without a node there is none to replace
		n += p.surge
	}
	over := p.over()
	n += over
	untold := !p.advertised || p.fixed || p.unknownMaximum || p.uncounted || p.promised < p.maximum
	for i := range w.limits {
		untold = untold || p.cost[i] == 0 && p.draws(w, i)
	}
	if untold && p.maximum > 0 {
		n = max(n, p.maximum+p.surge+over)
	}
	return n
}

// blocked lists the limits in which a node never finds room for sure: those nobody knows, and those of which a pool may
// take nobody knows how much.
func (w *tiny) blocked() []bool {
	out := make([]bool, len(w.limits))
	for i, l := range w.limits {
		out[i] = l.unknown
		for _, p := range w.pools {
			if p.cost[i] == 0 && p.draws(w, i) && p.maximum+p.running() > 0 {
				out[i] = true
			}
			if p.uncounted {
				out[i] = true // its nodes may be anywhere
			}
		}
	}
	return out
}

// state is what is taken of each limit, by new nodes and by those that ran from the start: six bits each.
type state uint64

const bitsEach = 6

func (s state) new(limit int) int { return int(s>>(2*bitsEach*limit)) & (1<<bitsEach - 1) }
func (s state) old(limit int) int { return int(s>>(2*bitsEach*limit+bitsEach)) & (1<<bitsEach - 1) }

func added(limit, new, old int) state {
	return state(new)<<(2*bitsEach*limit) | state(old)<<(2*bitsEach*limit+bitsEach)
}

// possible: a limit may hold more than its total only if nothing was added since. Nodes that ran from the start may
// still take all that they will, where only what is free is known.
func (w *tiny) possible(s state) bool {
	for i, l := range w.limits {
		taken := s.new(i)
		if l.unknown || taken == 0 {
			continue
		}
		if !l.free {
			taken += s.old(i)
		}
		if taken > l.total() {
			return false
		}
	}
	return true
}

// layout is one way to place a pool's nodes.
type layout struct {
	state
	nodes         int
	byZone, byWay [4]int
}

// layouts lists every way to place up to so many nodes of a pool.
func (w *tiny) layouts(p tinyPool, most int) (out []layout) {
	var at []spot
	for way := range w.ways {
		for zone := range w.zones {
			if s := (spot{zone, way}); p.allows(s) || p.runs[s] > 0 {
				at = append(at, s)
			}
		}
	}
	var newByZone, newByWay [4]int
	var place func(i int, l layout)
	place = func(i int, l layout) {
		if i == len(at) {
			for zone := range w.zones {
				if p.share != nil && newByZone[zone] > 0 && l.byZone[zone] > p.share[zone] {
					return
				}
			}
			beyond := 0 // each NodePool of a pool may pass its own limit for a while
			for way := range w.ways {
				if p.wayShare != nil {
					beyond += min(newByWay[way], max(0, l.byWay[way]-p.wayShare[way]))
				}
			}
			if beyond > p.surge {
				return
			}
			out = append(out, l)
			return
		}
		s := at[i]
		for old := 0; old <= p.runs[s] && l.nodes+old <= most; old++ {
			for fresh := 0; l.nodes+old+fresh <= most; fresh++ {
				if fresh > 0 && !p.allows(s) {
					break
				}
				next := l
				next.nodes += old + fresh
				next.byZone[s.zone] += old + fresh
				next.byWay[s.way] += old + fresh
				for _, limit := range []int{s.zone, w.zones + s.way} {
					next.state += added(limit, fresh*p.cost[limit], old*p.cost[limit])
				}
				if !w.possible(next.state) {
					break
				}
				newByZone[s.zone] += fresh
				newByWay[s.way] += fresh
				place(i+1, next)
				newByZone[s.zone] -= fresh
				newByWay[s.way] -= fresh
			}
		}
	}
	place(0, layout{})
	return out
}

// others lists every state that all pools but one can bring about, each within what it may hold.
func (w *tiny) others(but int, hold []int) []state {
	states := map[state]bool{0: true}
	for q, p := range w.pools {
		if q == but {
			continue
		}
		moves := map[state]bool{}
		for _, l := range w.layouts(p, hold[q]) {
			moves[l.state] = true
		}
		next := make(map[state]bool, len(states))
		for s := range states {
			for m := range moves {
				if sum := s + m; w.possible(sum) {
					next[sum] = true
				}
			}
		}
		states = next
	}
	out := make([]state, 0, len(states))
	for s := range states {
		out = append(out, s)
	}
	return out
}

// full: a node of p finds no room in the limit.
func (w *tiny) full(p tinyPool, limit int, s state, never []bool) bool {
	return never[limit] || p.cost[limit] == 0 || s.new(limit)+s.old(limit)+p.cost[limit] > w.limits[limit].total()
}

// ask is what is asked of the adversary: that a pool's next node, below a number, finds no room among some places.
type ask struct {
	pool int
	// among the places it may use, all if nil.
	among func(spot) bool
	// within says which of the pool's own layouts count as below the number.
	within func(layout) bool
	most   int
}

// breaks looks for a state in which the next node has no room; states are those that the others can bring about.
func (w *tiny) breaks(a ask, states []state, never []bool) (layout, state, bool) {
	p := w.pools[a.pool]
	for _, l := range w.layouts(p, a.most) {
		if a.within != nil && !a.within(l) {
			continue
		}
	next:
		for _, s := range states {
			sum := s + l.state
			if !w.possible(sum) {
				continue
			}
			for way := range w.ways {
				if p.wayShare != nil && l.byWay[way] >= p.wayShare[way] || w.full(p, w.zones+way, sum, never) {
					continue
				}
				for zone := range w.zones {
					if !p.may[way][zone] || a.among != nil && !a.among(spot{zone, way}) {
						continue
					}
					if (p.share == nil || l.byZone[zone] < p.share[zone]) && !w.full(p, zone, sum, never) {
						continue next
					}
				}
			}
			return l, sum, true
		}
	}
	return layout{}, 0, false
}

// input is the same world as facts for Allocate.
func (w *tiny) input() Input {
	in := Input{Cluster: "c", Region: "r", Now: nine, ValidFor: time.Hour}
	zone := func(z int) string { return testZones[z] }
	way := []pool.CapacityType{pool.OnDemand, pool.Spot}
	if w.reserved {
		way[0] = pool.Reserved
	}
	for i, l := range w.limits {
		s := SharedLimit{Key: fmt.Sprint("quota ", i-w.zones), Kind: capacity.VCPUQuota, Amount: l.amount}
		if i < w.zones {
			s.Key, s.Kind = SubnetKey(zone(i)), capacity.SubnetAddresses
		} else if w.reserved && i == w.zones {
			s.Kind = capacity.Reservation
		}
		s.Free, s.Taken = l.free, l.taken
		if l.unknown {
			s.Unknown = "denied"
		}
		in.Limits = append(in.Limits, s)
	}
	for i, p := range w.pools {
		in.Pools = append(in.Pools, w.facts(&in, fmt.Sprint("p", i), p, zone, way))
	}
	return in
}

func (w *tiny) facts(in *Input, name string, p tinyPool, zone func(int) string, way []pool.CapacityType) PoolFacts {
	f := PoolFacts{
		Name:       name,
		Scaler:     pool.Karpenter,
		Advertised: p.advertised,
		Priority:   p.priority,
		SurgeNodes: p.surge,
		KeptNodes:  p.kept,
		TiedToZone: p.share != nil,
		PerNode:    capacity.PerNode{GPUs: 1},
		Realized:   Realized{Nodes: map[Place]int{}},
		Ceilings:   []Bound{{Kind: capacity.ConfiguredKind, Nodes: p.maximum}},
	}
	if p.fixed {
		f.Scaler = pool.Fixed
	}
	if p.unknownMaximum {
		f.Ceilings = append(f.Ceilings, Bound{Kind: capacity.Zones, Unknown: "denied"})
	}
	if p.promised < p.maximum {
		f.Ceilings = append(f.Ceilings, Bound{Kind: capacity.WakeFromZero, Nodes: p.promised, PromiseOnly: true})
	}
	if p.uncounted {
		f.Realized.Unknown = "denied"
	}
	for at, nodes := range p.runs {
		f.Realized.Nodes[Place{zone(at.zone), way[at.way]}] += nodes
	}
	for z := range w.zones {
		if p.draws(w, z) {
			f.Zones = append(f.Zones, zone(z))
			f.Uses = append(f.Uses, Use{Limit: SubnetKey(zone(z)), CostPerNode: p.cost[z], Zone: zone(z)})
			if p.share != nil {
				key := "share/" + name + "/" + zone(z)
				in.Limits = append(in.Limits, SharedLimit{Key: key, Kind: capacity.ConfiguredKind, Amount: p.share[z]})
				f.Uses = append(f.Uses, Use{Limit: key, CostPerNode: 1, Zone: zone(z)})
			}
		}
	}
	for y := range w.ways {
		if p.draws(w, w.zones+y) {
			f.CapacityTypes = append(f.CapacityTypes, way[y])
			f.Uses = append(f.Uses, w.wayUses(p, y, way[y:y+1], zone)...)
		}
		if p.draws(w, w.zones+y) && p.wayShare != nil {
			key := "share/" + name + "/" + string(way[y])
			in.Limits = append(in.Limits, SharedLimit{Key: key, Kind: capacity.ConfiguredKind, Amount: p.wayShare[y]})
			f.Uses = append(f.Uses, Use{Limit: key, CostPerNode: 1, CapacityTypes: way[y : y+1]})
		}
	}
	return f
}

// wayUses are those of one way of buying: one for each of its zones, unless it can be had in all of the pool's.
func (w *tiny) wayUses(p tinyPool, y int, types []pool.CapacityType, zone func(int) string) (uses []Use) {
	use := Use{Limit: fmt.Sprint("quota ", y), CostPerNode: p.cost[w.zones+y], CapacityTypes: types}
	everywhere := true
	for z := range w.zones {
		everywhere = everywhere && (p.may[y][z] || !p.draws(w, z))
	}
	if everywhere {
		return []Use{use}
	}
	for z := range w.zones {
		if p.may[y][z] {
			use.Zone = zone(z)
			uses = append(uses, use)
		}
	}
	return uses
}

// order in which the pools are served.
func (w *tiny) order() []int {
	order := make([]int, len(w.pools))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return w.pools[b].priority - w.pools[a].priority })
	return order
}

func (w *tiny) holds(promise []int) []int {
	hold := make([]int, len(w.pools))
	for i, p := range w.pools {
		hold[i] = p.mayHold(w, promise[i])
	}
	return hold
}

// broken names a promise that the others can break, or says nothing.
func (w *tiny) broken(promise []int) string {
	never, hold := w.blocked(), w.holds(promise)
	for q := range w.pools {
		if promise[q] == 0 {
			continue
		}
		if l, s, broken := w.breaks(ask{pool: q, most: promise[q] - 1}, w.others(q, hold), never); broken {
			return fmt.Sprintf("p%d is promised %d and cannot make one more than %+v; taken %s", q, promise[q], l,
				w.show(s))
		}
	}
	return ""
}

func (w *tiny) show(s state) string {
	var b strings.Builder
	for i, l := range w.limits {
		fmt.Fprintf(&b, "%d+%d of %d, ", s.new(i), s.old(i), l.total())
	}
	return b.String()
}

// features that a random world may have.
type features struct {
	pools, zones, ways                                                     int
	alike, untold, shares, running, free, unknown, cut, parts, left, surge bool
}

// anyTiny draws a world.
func anyTiny(r *rand.Rand, f features) *tiny {
	w := &tiny{zones: 1 + r.Intn(f.zones), ways: 1 + r.Intn(f.ways)}
	maybe := func(on bool, oneIn int) bool { return on && r.Intn(oneIn) == 0 }
	free := maybe(f.free, 2)
	w.reserved = maybe(f.parts, 4)
	for i := range w.zones + w.ways {
		l := tinyLimit{amount: r.Intn(9), unknown: maybe(f.unknown, 8)}
		l.free = free && i < w.zones
		w.limits = append(w.limits, l)
	}
	for i := range 1 + r.Intn(f.pools) {
		p := anyTinyPool(r, w, f)
		if f.alike && i == 1 {
			p.cost, p.may = w.pools[0].cost, w.pools[0].may
		}
		w.pools = append(w.pools, p)
	}
	for i := range w.limits { // what runs has room, unless limits were cut, and holds something of what is not free
		runs := 0
		for _, p := range w.pools {
			for at, nodes := range p.runs {
				if at.zone == i || w.zones+at.way == i {
					runs += nodes * p.cost[i]
				}
			}
		}
		l := &w.limits[i]
		if l.free && runs > 0 {
			l.taken = r.Intn(runs + 1)
		}
		if !l.free && !f.cut {
			l.amount = max(l.amount, runs)
		}
	}
	return w
}

func anyTinyPool(r *rand.Rand, w *tiny, f features) tinyPool {
	maybe := func(on bool, oneIn int) bool { return on && r.Intn(oneIn) == 0 }
	p := tinyPool{advertised: !maybe(f.untold, 6), fixed: maybe(f.untold, 8), priority: r.Intn(3), maximum: r.Intn(4)}
	p.unknownMaximum, p.uncounted = maybe(f.unknown, 12), maybe(f.unknown, 24)
	p.promised, p.runs = p.maximum, map[spot]int{}
	if maybe(f.untold, 8) {
		p.promised = r.Intn(p.maximum + 1)
	}
	if maybe(f.surge, 5) {
		p.surge = 1
	}
	if maybe(f.surge, 5) {
		p.kept = r.Intn(p.maximum + 1)
	}
	zone, way := 1+r.Intn(3), 1+r.Intn(3) // what a node takes of addresses and of vCPUs
	for i := range w.limits {
		cost := zone
		if i >= w.zones {
			cost = way
			if w.reserved && i == w.zones {
				cost = 1
			}
		}
		if maybe(f.unknown, 24) {
			cost = 0
		}
		p.cost = append(p.cost, cost)
	}
	zones, ways := subset(r, w.zones), subset(r, w.ways)
	for y := range w.ways {
		p.may = append(p.may, make([]bool, w.zones))
		mine := zones
		if maybe(f.parts, 3) {
			mine = subset(r, w.zones)
		}
		for z := range w.zones {
			p.may[y][z] = ways[y] && mine[z]
		}
	}
	if maybe(f.shares, 3) {
		for range w.zones {
			p.share = append(p.share, r.Intn(3))
		}
	}
	if maybe(f.shares, 5) {
		for range w.ways {
			p.wayShare = append(p.wayShare, r.Intn(3))
		}
	}
	if !f.running {
		return p
	}
	for range r.Intn(3) {
		at := spot{r.Intn(w.zones), r.Intn(w.ways)}
		if (p.allows(at) || f.left && !w.reserved) && (f.cut || p.running() < p.maximum) {
			p.runs[at]++
		}
	}
	return p
}

// subset of n things, at least one.
func subset(r *rand.Rand, n int) []bool {
	out := make([]bool, n)
	for i := range out {
		out[i] = r.Intn(2) == 0
	}
	out[r.Intn(n)] = true
	return out
}
