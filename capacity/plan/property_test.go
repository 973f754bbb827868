package plan

import (
	"flag"
	"fmt"
	"math"
	"math/rand"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/headroom-eks/headroom/capacity"

	"github.com/google/go-cmp/cmp"
	"github.com/headroom-eks/headroom/pool"
	"pgregory.net/rapid"
)

// TestMain draws more cases than rapid's default of 100; -rapid.checks still decides.
func TestMain(m *testing.M) {
	if err := flag.Set("rapid.checks", "1000"); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}

var testZones = []string{"a", "b", "c"}

// anyInput draws a whole environment: pools of every scaler that share two quotas and three zones, some of it unknown,
// some of it nonsense that a config would refuse.
func anyInput(t *rapid.T) Input {
	in := Input{Cluster: "c", Region: "r", Now: nine, ValidFor: time.Hour}
	// A network is either asked for its free addresses or planned by arithmetic.
	freeNetwork := rapid.Bool().Draw(t, "freeNetwork")
	for _, q := range Quotas[:2] {
		l := q.limit()
		l.Amount, l.Unknown = rapid.IntRange(0, 60).Draw(t, l.Key), someReason(t, l.Key)
		in.Limits = append(in.Limits, l)
	}
	for _, zone := range testZones {
		l := SharedLimit{Key: SubnetKey(zone), Kind: capacity.SubnetAddresses, Unit: "addresses", Free: freeNetwork}
		l.Amount, l.Unknown = rapid.IntRange(0, 60).Draw(t, l.Key), someReason(t, l.Key)
		in.Limits = append(in.Limits, l)
	}
	for i := range rapid.IntRange(1, 6).Draw(t, "pools") {
		p := anyPool(t, fmt.Sprintf("p%d", i))
		if len(p.Uses) > 0 && len(p.CapacityTypes) == 2 && rapid.IntRange(0, 2).Draw(t, "a limit for each way") == 0 {
			for _, way := range p.CapacityTypes {
				nodes := rapid.IntRange(0, 5).Draw(t, "of "+string(way))
				in.Limits = append(in.Limits, share(&p, "", []pool.CapacityType{way}, nodes))
			}
		}
		in.Pools = append(in.Pools, p)
	}
	return in
}

func anyPool(t *rapid.T, name string) PoolFacts {
	p := PoolFacts{
		Name:       name,
		Scaler:     rapid.SampledFrom(pool.Scalers).Draw(t, "scaler"),
		Advertised: rapid.IntRange(0, 4).Draw(t, "advertised") > 0,
		Priority:   rapid.IntRange(0, 2).Draw(t, "priority"),
		CapacityTypes: rapid.SampledFrom([][]pool.CapacityType{{pool.OnDemand}, {pool.Spot},
			{pool.Spot, pool.OnDemand}}).Draw(t, "types"),
		Zones:      rapid.SampledFrom([][]string{{"a"}, {"b"}, {"a", "b"}, {"a", "b", "c"}}).Draw(t, "zones"),
		TiedToZone: rapid.Bool().Draw(t, "tied"),
		SurgeNodes: max(0, rapid.IntRange(-3, 2).Draw(t, "surge")),
		Realized:   Realized{Nodes: map[Place]int{}, Unknown: someReason(t, "realized")},
		PerNode:    capacity.PerNode{GPUs: 1},
	}
	for range rapid.IntRange(0, 3).Draw(t, "places") {
		place := Place{rapid.SampledFrom(testZones).Draw(t, "zone"), rapid.SampledFrom(p.CapacityTypes).Draw(t, "type")}
		p.Realized.Nodes[place] = rapid.IntRange(0, 3).Draw(t, "nodes")
	}
	p.Ceilings = append(p.Ceilings, Bound{
		Kind:    capacity.ConfiguredKind,
		Nodes:   rapid.IntRange(0, 8).Draw(t, "configured"),
		Unknown: someReason(t, "configured"),
	})
	if rapid.IntRange(0, 2).Draw(t, "wake") == 0 {
		p.Ceilings = append(p.Ceilings, Bound{
			Kind:        capacity.WakeFromZero,
			Nodes:       p.Realized.Total(),
			PromiseOnly: true,
			Unknown:     someReason(t, "wake"),
		})
	}
	if rapid.IntRange(0, 3).Draw(t, "group") == 0 {
		p.Ceilings = append(p.Ceilings, NodeGroupSizeCeiling(1, rapid.IntRange(1, 6).Draw(t, "group size")))
	}
	if rapid.IntRange(0, 4).Draw(t, "quota") > 0 {
		p.Uses = append(p.Uses, QuotaUses("g6.xlarge", cost(t), p.CapacityTypes)...)
	}
	if rapid.IntRange(0, 4).Draw(t, "subnets") > 0 {
		p.Uses = append(p.Uses, SubnetUses(p.Zones, cost(t))...)
	}
	return p
}

// cost of a node; now and then it is not known.
func cost(t *rapid.T) int {
	if rapid.IntRange(0, 14).Draw(t, "cost unknown") == 0 {
		return 0
	}
	return rapid.IntRange(1, 9).Draw(t, "cost")
}

func someReason(t *rapid.T, label string) string {
	if rapid.IntRange(0, 9).Draw(t, label+" unknown") == 0 {
		return "denied"
	}
	return ""
}

// anyWorld is an environment of the shapes above, or one of the adversary's small worlds, with every feature.
func anyWorld(t *rapid.T) Input {
	if rapid.Bool().Draw(t, "tiny") {
		f := everything
		f.pools = 4
		return anyTiny(rand.New(rand.NewSource(rapid.Int64().Draw(t, "world"))), f).input()
	}
	return anyInput(t)
}

func byName(d capacity.Document) map[string]capacity.Pool {
	out := map[string]capacity.Pool{}
	for _, p := range d.Pools {
		out[p.Name] = p
	}
	return out
}

func facts(in Input, name string) PoolFacts {
	return in.Pools[slices.IndexFunc(in.Pools, func(p PoolFacts) bool { return p.Name == name })]
}

func limitOf(in Input, key string) SharedLimit {
	return in.Limits[slices.IndexFunc(in.Limits, func(l SharedLimit) bool { return l.Key == key })]
}

func TestMaximumIsTheSmallestCeilingAndBelowRealizedOnlyWithAReason(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := anyWorld(t)
		for name, p := range byName(Allocate(in)) {
			f, smallest := facts(in, name), p.Ceilings[0].Nodes
			for _, c := range p.Ceilings {
				smallest = min(smallest, c.Nodes)
			}
			if p.Nodes.Maximum != smallest || p.BoundBy != p.Ceilings[0].Kind {
				t.Fatalf("%s: maximum %d bound by %s, ceilings %+v", name, p.Nodes.Maximum, p.BoundBy, p.Ceilings)
			}
			for _, b := range f.Ceilings {
				if b.Unknown == "" && p.Nodes.Maximum > b.Nodes {
					t.Fatalf("%s: maximum %d is above the ceiling %+v", name, p.Nodes.Maximum, b)
				}
				if b.Unknown != "" && p.Nodes.Maximum > f.Realized.Total() {
					t.Fatalf("%s: maximum %d is above what is realized, and %s is unknown", name, p.Nodes.Maximum,
						b.Kind)
				}
			}
			if p.Nodes.Realized != f.Realized.Total() {
				t.Fatalf("%s: realized %d is not what runs, %d", name, p.Nodes.Realized, f.Realized.Total())
			}
			if p.Nodes.Maximum < p.Nodes.Realized && len(p.Notes) == 0 {
				t.Fatalf("%s: maximum %d is below realized %d and nothing says why", name, p.Nodes.Maximum,
					p.Nodes.Realized)
			}
			if f.Realized.Unknown != "" && (p.Nodes.Maximum != 0 || p.Error == "") {
				t.Fatalf("%s: %+v, error %q, and what is realized is unknown", name, p.Nodes, p.Error)
			}
			if p.Nodes.Firm < 0 || p.Nodes.Firm > p.Nodes.Maximum || p.LargestGang < 0 ||
				p.LargestGang > p.Nodes.Maximum {
				t.Fatalf("%s: firm %d or gang %d is not within the maximum %d", name, p.Nodes.Firm, p.LargestGang,
					p.Nodes.Maximum)
			}
			if !firm(f.CapacityTypes) && p.Nodes.Firm != 0 {
				t.Fatalf("%s: spot counts as firm", name)
			}
		}
	})
}

// withoutAFact makes one known thing unknown.
func withoutAFact(t *rapid.T, in Input) Input {
	in.Limits, in.Pools = slices.Clone(in.Limits), slices.Clone(in.Pools)
	p := &in.Pools[rapid.IntRange(0, len(in.Pools)-1).Draw(t, "lost of pool")]
	p.Ceilings, p.Uses = slices.Clone(p.Ceilings), slices.Clone(p.Uses)
	switch rapid.IntRange(0, 3).Draw(t, "lost") {
	case 0:
		// What the configuration gives cannot be lost.
		l := &in.Limits[rapid.IntRange(0, len(in.Limits)-1).Draw(t, "lost limit")]
		if l.Kind != capacity.ConfiguredKind {
			l.Unknown = "denied"
		}
	case 1:
		p.Ceilings[rapid.IntRange(0, len(p.Ceilings)-1).Draw(t, "lost ceiling")].Unknown = "denied"
	case 2:
		p.Realized.Unknown = "denied"
	case 3:
		for i := range p.Uses {
			if limitOf(in, p.Uses[i].Limit).Kind != capacity.ConfiguredKind {
				p.Uses[i].CostPerNode = 0
			}
		}
	}
	return in
}

func TestLosingAPermissionNeverRaisesANumberOfAnyPool(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := anyWorld(t)
		lost := in
		for range rapid.IntRange(1, 3).Draw(t, "facts lost") {
			lost = withoutAFact(t, lost)
		}
		before, after := byName(Allocate(in)), byName(Allocate(lost))
		for name, old := range before {
			now, runs := after[name], facts(in, name).Realized
			bestZone := 0
			for _, nodes := range old.RealizedByZone {
				bestZone = max(bestZone, nodes)
			}
			if !old.TiedToZone {
				bestZone = old.Nodes.Realized
			}
			for _, n := range []struct {
				what          string
				was, is, runs int
			}{
				{"realized", old.Nodes.Realized, now.Nodes.Realized, 0},
				{"maximum", old.Nodes.Maximum, now.Nodes.Maximum, old.Nodes.Realized},
				{"firm", old.Nodes.Firm, now.Nodes.Firm, runs.Firm()},
				{"GPUs", old.GPUs.Maximum, now.GPUs.Maximum, old.GPUs.Realized},
				{"largest gang", old.LargestGang, now.LargestGang, bestZone},
			} {
				// The one exception: a ceiling below what runs, once it is not known, gives way to what runs.
				if n.is > max(n.was, n.runs) {
					t.Fatalf("%s: %s rose from %d to %d (%d run)", name, n.what, n.was, n.is, n.runs)
				}
			}
		}
	})
}

func TestOrderOfPoolsNeverMatters(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := anyWorld(t)
		shuffled := in
		r := rand.New(rand.NewSource(rapid.Int64().Draw(t, "seed")))
		shuffled.Pools, shuffled.Limits = shuffle(r, in.Pools), shuffle(r, in.Limits)
		for i := range shuffled.Pools {
			shuffled.Pools[i].Uses = shuffle(r, shuffled.Pools[i].Uses)
			shuffled.Pools[i].Ceilings = shuffle(r, shuffled.Pools[i].Ceilings)
		}
		if d := cmp.Diff(Allocate(in), Allocate(shuffled)); d != "" {
			t.Fatal(d)
		}
	})
}

func shuffle[T any](r *rand.Rand, in []T) []T {
	out := slices.Clone(in)
	r.Shuffle(len(out), func(i, j int) { out[i], out[j] = out[j], out[i] })
	return out
}

// With nothing unknown. It is the promise that rises: where more runs than is promised, the maximum shows what runs.
func TestMoreOfALimitNeverLowersThePromisesInPriorityOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := everything
		f.unknown, f.pools = false, 4
		in := anyTiny(rand.New(rand.NewSource(rapid.Int64().Draw(t, "world"))), f).input()
		more := in
		more.Limits = slices.Clone(in.Limits)
		raised := &more.Limits[rapid.IntRange(0, len(in.Limits)-1).Draw(t, "raised")]
		if raised.Kind == capacity.ConfiguredKind {
			return // a share is configuration, not quota
		}
		raised.Amount += rapid.IntRange(1, 9).Draw(t, "by")
		was, is := promisesInOrder(in), promisesInOrder(more)
		if slices.Compare(is, was) < 0 {
			t.Fatalf("promises in priority order fell from %v to %v", was, is)
		}
	})
}

func promisesInOrder(in Input) (out []int) {
	w := newWorld(in)
	w.serve()
	for _, m := range w.members {
		out = append(out, m.promise)
	}
	return out
}

// The other side of truth: capacity that does exist is not refused.
func TestWithPlentyOfEverythingAPoolIsPromisedItsOwnSmallestCeiling(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := anyInput(t)
		for i := range in.Limits {
			in.Limits[i].Amount = 10000
		}
		for name, p := range byName(Allocate(in)) {
			f, want, known := facts(in, name), noBound, true
			for _, b := range f.Ceilings {
				want, known = min(want, b.Nodes), known && b.Unknown == ""
			}
			for _, u := range f.Uses {
				known = known && u.CostPerNode > 0 && limitOf(in, u.Limit).Unknown == ""
			}
			for _, other := range in.Pools {
				known = known && other.Realized.Unknown == "" &&
					!slices.ContainsFunc(other.Uses, func(u Use) bool { return u.CostPerNode == 0 }) &&
					!slices.ContainsFunc(other.Ceilings, func(b Bound) bool { return b.Unknown != "" })
			}
			if f.Scaler == pool.Fixed || !f.Advertised {
				want = min(want, f.Realized.Total())
			}
			if known && p.Nodes.Maximum != want {
				t.Fatalf("%s: maximum %d, want %d; %+v", name, p.Nodes.Maximum, want, p.Ceilings)
			}
		}
	})
}

// anyNumber is often one at which arithmetic could break.
func anyNumber(t *rapid.T, label string) int {
	return rapid.OneOf(rapid.IntRange(-2, 9), rapid.SampledFrom([]int{math.MinInt, math.MaxInt, noBound, mostNodes,
		mostNodes + 1, mostCost, mostCost + 1, 1 << 40})).Draw(t, label)
}

func TestNothingPanicsOnNonsense(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		zones := []string{"", "a", "b", "c", "d", "e", "f", "g", "h"}
		types := []pool.CapacityType{pool.OnDemand, pool.Spot, "", "nonsense"}
		text := func(of ...string) string { return rapid.SampledFrom(of).Draw(t, "text") }
		in := Input{Now: nine, ValidFor: time.Duration(anyNumber(t, "valid"))}
		for range rapid.IntRange(0, 6).Draw(t, "limits") {
			in.Limits = append(in.Limits, SharedLimit{
				Key: text("x", "y", "z"), Kind: capacity.Kind(text("", "configured", "vcpu-quota", "unknown")),
				Amount: anyNumber(t, "amount"), Taken: anyNumber(t, "taken"), Free: rapid.Bool().Draw(t, "free"),
				Unknown: text("", "", "denied"),
			})
		}
		for range rapid.IntRange(0, 5).Draw(t, "pools") {
			p := PoolFacts{
				Name: text("", "p", "q"), Scaler: pool.Scaler(text("", "fixed", "karpenter")),
				Advertised: rapid.Bool().Draw(t, "advertised"), TiedToZone: rapid.Bool().Draw(t, "tied"),
				Priority: anyNumber(t, "priority"), SurgeNodes: anyNumber(t, "surge"),
				CapacityTypes: rapid.SliceOfN(rapid.SampledFrom(types), 0, 3).Draw(t, "types"),
				Zones:         rapid.SliceOfN(rapid.SampledFrom(zones), 0, 9).Draw(t, "zones"),
				Realized:      Realized{Nodes: map[Place]int{}, Unknown: text("", "", "denied")},
				PerNode:       capacity.PerNode{GPUs: anyNumber(t, "gpus")},
			}
			for range rapid.IntRange(0, 2).Draw(t, "places") {
				at := Place{text(zones...), rapid.SampledFrom(types).Draw(t, "type")}
				p.Realized.Nodes[at] = anyNumber(t, "nodes")
			}
			for range rapid.IntRange(0, 2).Draw(t, "ceilings") {
				p.Ceilings = append(p.Ceilings, Bound{Kind: capacity.Kind(text("", "configured")),
					Nodes: anyNumber(t, "ceiling"), Unknown: text("", "", "denied"),
					PromiseOnly: rapid.Bool().Draw(t, "only")})
			}
			for range rapid.IntRange(0, 10).Draw(t, "uses") {
				p.Uses = append(p.Uses, Use{Limit: text("x", "y", "z", "unlisted"), CostPerNode: anyNumber(t, "cost"),
					Zone:          text(zones...),
					CapacityTypes: rapid.SliceOfN(rapid.SampledFrom(types), 0, 2).Draw(t, "use types")})
			}
			in.Pools = append(in.Pools, p)
		}
		for _, p := range Allocate(in).Pools {
			if p.Nodes.Maximum < 0 || p.Nodes.Firm < 0 || p.LargestGang < 0 || p.Nodes.Firm > p.Nodes.Maximum ||
				p.LargestGang > p.Nodes.Maximum {
				t.Fatalf("%+v, gang %d", p.Nodes, p.LargestGang)
			}
		}
	})
}
