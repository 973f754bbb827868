// Package plan is the arithmetic behind the capacity contract: facts about pools and limits in, the document out.
//
// It owns what a limit, a ceiling and the addresses of a node are, what it takes to wake a pool, and the rule by which
// limits that pools share are divided. It asks nobody anything and decides nothing about a pool: facts are handed to
// Allocate, which is a pure function. It imports no Pulumi.
package plan

import "github.com/headroom-eks/headroom/capacity"

// Allocate computes the document. It is a pure function: the same facts give the same document, in whatever order pools
// and limits are listed. It never fails; what is unknown or makes no sense (a use of a limit nobody listed, a cost of
// zero) lowers what is promised and is said in a ceiling.
//
// A promise holds whatever the others do within theirs: while a pool has fewer nodes than its promise, the next one has
// room, in whatever order nodes came and went, wherever they were put and however they were bought. Pools that are not
// advertised, fixed ones, and those in doubt count with all that they may take. The rule:
//
//  1. Places: where a pool may grow, and where nodes of it run (limits.go, world.go).
//  2. Limits: known in total, known by what is free and what running nodes are known to hold of it, or unknown.
//  3. Occupancy: what each pool may hold without being told, before anyone is served (occupancy.go).
//  4. Unit: whatever runs, a multiple of the greatest common divisor of the costs is taken of a limit.
//  5. Demand: what has to be taken of a place before a node finds no room there.
//  6. Supply: what a pool may take of a set of places.
//  7. Safety: a pool is safe at a number if, of each need, some set of its places cannot be blocked: the demand of the
//     set is more than its own nodes and all other pools can take of it (safety.go).
//  8. Where not every zone goes with every way of buying, a set of ways counts only with zones that go with them all.
//  9. Serving: by priority, then by name, each pool gets the largest number that keeps it, and all advertised pools
//     served before it, safe (book.go). What runs does not stop it.
//  10. Shown is the larger of that number and of what runs, within the pool's own ceilings. Firm and the largest gang
//     are found last and lower nobody (shown.go).
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
