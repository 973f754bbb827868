package plan

import (
	"flag"
	"fmt"
	"math/rand"
	"slices"
	"testing"
)

// worlds multiplies how many random worlds are looked at.
var worlds = flag.Int("worlds", 1, "times as many random worlds")

var everything = features{pools: 3, zones: 3, ways: 2, untold: true, shares: true, running: true, free: true,
	unknown: true, cut: true, parts: true, left: true, surge: true}

// mixes of features. Unknown limits and costs hide much, so most worlds have none.
var mixes = []struct {
	name   string
	worlds int
	features
}{
	{"two kinds of limits", 300, features{pools: 3, zones: 3, ways: 2}},
	{"unadvertised, fixed and spread pools", 300,
		features{pools: 3, zones: 3, ways: 2, untold: true, shares: true, surge: true}},
	{"running nodes, in places that were left too", 300,
		features{pools: 3, zones: 3, ways: 2, running: true, left: true}},
	{"free limits", 300, features{pools: 3, zones: 3, ways: 1, running: true, free: true}},
	{"limits cut under what runs", 300, features{pools: 3, zones: 2, ways: 2, running: true, cut: true}},
	{"not every zone with every way", 300, features{pools: 3, zones: 3, ways: 2, parts: true, shares: true}},
	{"unknown", 300, features{pools: 3, zones: 2, ways: 2, unknown: true, running: true, cut: true}},
	{"four pools", 100, features{pools: 4, zones: 2, ways: 2, untold: true, shares: true}},
	{"pools alike", 300, features{pools: 4, zones: 2, ways: 2, alike: true, running: true, cut: true}},
	{"everything", 500, everything},
	{"everything known", 500, func() features { f := everything; f.unknown = false; return f }()},
}

func TestNoPromiseCanBeBrokenByPoolsThatKeepToTheirs(t *testing.T) {
	for _, mix := range mixes {
		t.Run(mix.name, func(t *testing.T) {
			promised := 0
			for seed := range mix.worlds * *worlds {
				w := anyTiny(rand.New(rand.NewSource(int64(seed))), mix.features)
				promise, divided := promises(w.input())
				for _, n := range promise {
					promised += n
				}
				if why := w.broken(promise); why != "" {
					t.Fatalf("world %d: %s\n%+v", seed, why, w)
				}
				if why := w.brokenParts(divided, promise); why != "" {
					t.Fatalf("world %d: %s\n%+v", seed, why, w)
				}
			}
			if promised == 0 {
				t.Error("nothing was promised in any world")
			}
		})
	}
}

// promises of the pools, in the order in which they are listed.
func promises(in Input) ([]int, *world) {
	w := newWorld(in)
	w.serve()
	out := make([]int, len(in.Pools))
	for _, m := range w.members {
		var i int
		if _, err := fmt.Sscanf(m.facts.Name, "p%d", &i); err == nil {
			out[i] = m.promise
		}
	}
	return out, w
}

// brokenParts names a firm part or a gang that can be broken, as broken does a maximum.
func (w *tiny) brokenParts(divided *world, promise []int) string {
	never, hold := w.blocked(), w.holds(promise)
	for _, m := range divided.members {
		var q int
		if _, err := fmt.Sscanf(m.facts.Name, "p%d", &q); err != nil {
			continue
		}
		p := w.pools[q]
		firmly := func(at spot) bool { return at.way == 0 }
		if firm := divided.firm(m); firm > m.facts.Realized.Firm() {
			below := ask{pool: q, most: promise[q] - 1, among: firmly,
				within: func(l layout) bool { return l.byWay[0] < firm }}
			if l, s, broken := w.breaks(below, w.others(q, hold), never); broken {
				return fmt.Sprintf("p%d is promised %d firm nodes and cannot make one more than %+v; taken %s", q, firm,
					l,
					w.show(s))
			}
		}
		if p.share == nil || !p.advertised {
			continue
		}
		if gang := divided.largestGang(m); gang > 0 && !w.gangStands(q, gang, promise, hold, never) {
			return fmt.Sprintf("p%d is promised a gang of %d, and no zone takes it for sure", q, gang)
		}
	}
	return ""
}

// gangStands: one zone always takes the next node of a gang, while the nodes of other zones stay.
func (w *tiny) gangStands(q, gang int, promise, hold []int, never []bool) bool {
	p := w.pools[q]
	for zone := range w.zones {
		here := 0
		elsewhere := [4]int{}
		for at, nodes := range p.runs {
			if at.zone == zone {
				here += nodes
			}
			elsewhere[at.zone] += nodes
		}
		if gang <= here {
			return true
		}
		next := ask{pool: q, most: promise[q] - 1, among: func(at spot) bool { return at.zone == zone },
			within: func(l layout) bool {
				for z := range w.zones {
					if z != zone && l.byZone[z] > elsewhere[z] {
						return false
					}
				}
				return l.byZone[zone] < gang
			}}
		if p.running()-here+gang > promise[q] {
			continue
		}
		if _, _, broken := w.breaks(next, w.others(q, hold), never); !broken {
			return true
		}
	}
	return false
}

func TestTheFormerRuleIsBrokenByPoolsThatKeepToTheirs(t *testing.T) {
	for _, mix := range mixes {
		if mix.unknown {
			continue
		}
		t.Run(mix.name, func(t *testing.T) {
			broken, total := 0, 0
			for seed := range 2 * mix.worlds {
				w := anyTiny(rand.New(rand.NewSource(int64(seed))), mix.features)
				total++
				promise := former(w.input())
				for q, p := range w.pools {
					if promise[q] <= p.running() {
						promise[q] = 0 // only growth is held against it
					}
				}
				if w.broken(promise) != "" {
					broken++
				}
			}
			t.Logf("broken in %d of %d worlds", broken, total)
			if broken == 0 {
				t.Error("the adversary breaks no promise of the former rule: it is too weak to prove anything")
			}
		})
	}
}

func TestTheClosedFormGivesWhatTheRuleSearchedGives(t *testing.T) {
	for _, mix := range mixes {
		if mix.unknown {
			continue
		}
		t.Run(mix.name, func(t *testing.T) {
			for seed := range mix.worlds * *worlds {
				w := anyTiny(rand.New(rand.NewSource(int64(seed))), mix.features)
				promise, _ := promises(w.input())
				if want := w.searched(); !slices.Equal(promise, want) {
					t.Fatalf("world %d: %v, searched %v\n%+v", seed, promise, want, w)
				}
			}
		})
	}
}
