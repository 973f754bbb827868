package plan

import (
	"flag"
	"fmt"
	"github.com/headroom-eks/headroom/capacity"
	"math/rand"
	"os"
	"slices"
	"testing"
	"time"

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
		in.Pools = append(in.Pools, anyPool(t, fmt.Sprintf("p%d", i)))
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
		in := anyInput(t)
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
			if !slices.Contains(f.CapacityTypes, pool.OnDemand) && p.Nodes.Firm != 0 {
				t.Fatalf("%s: spot counts as firm", name)
			}
		}
	})
}

// All maxima can be reached together: for every set of limits of one kind, the pools that can draw from nothing else
// fit into it.
func TestSumsNeverExceedASharedCeiling(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := anyInput(t)
		doc := byName(Allocate(in))
		for _, keys := range [][]string{{Quotas[0].Code}, {Quotas[1].Code}, {Quotas[0].Code, Quotas[1].Code},
			{SubnetKey("a")}, {SubnetKey("b")}, {SubnetKey("c")}, {SubnetKey("a"), SubnetKey("b")},
			{SubnetKey("b"), SubnetKey("c")},
			{SubnetKey("a"), SubnetKey("b"), SubnetKey("c")}} {
			amount, used, known := 0, 0, true
			for _, key := range keys {
				l := limitOf(in, key)
				amount, known = amount+l.Amount, known && l.Unknown == ""
			}
			first := limitOf(in, keys[0])
			for name, p := range doc {
				f, only, each := facts(in, name), false, 0
				for _, u := range f.Uses {
					if limitOf(in, u.Limit).Kind == first.Kind {
						only, each = (each == 0 || only) && slices.Contains(keys, u.Limit), u.CostPerNode
					}
					if slices.Contains(keys, u.Limit) && f.Realized.Unknown != "" && !first.Free {
						known = false // nobody knows what is left then
					}
				}
				if !only || each == 0 {
					continue
				}
				nodes := p.Nodes.Maximum
				if first.Free {
					nodes = max(0, nodes-p.Nodes.Realized)
				}
				used += nodes * each
			}
			// With an undeterminable limit each pool has what runs, however much that is.
			if known && used > amount && !unknownCost(in, keys) {
				t.Fatalf("%v: the maxima take %d of %d", keys, used, amount)
			}
		}
	})
}

// unknownCost tells whether a pool draws from these limits at an unknown cost, which makes them undeterminable if it
// has nodes.
func unknownCost(in Input, keys []string) bool {
	for _, p := range in.Pools {
		for _, u := range p.Uses {
			if slices.Contains(keys, u.Limit) && u.CostPerNode == 0 && p.Realized.Total() > 0 {
				return true
			}
		}
	}
	return false
}

func TestFirmNodesNeverExceedTheOnDemandQuota(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := anyInput(t)
		onDemand := limitOf(in, Quotas[0].Code)
		used := 0
		for name, p := range byName(Allocate(in)) {
			f := facts(in, name)
			if f.Realized.Unknown != "" || unknownCost(in, []string{onDemand.Key}) || onDemand.Unknown != "" {
				return
			}
			for _, u := range f.Uses {
				if u.Limit == onDemand.Key {
					used += p.Nodes.Firm * u.CostPerNode
				}
			}
		}
		if used > onDemand.Amount {
			t.Fatalf("firm nodes take %d of %d vCPUs", used, onDemand.Amount)
		}
	})
}

// Whatever a pool with an unknown ceiling, or one that is not advertised, may still take, the promises made after it
// stand.
func TestAPromiseStandsBesideWhatUncertainPoolsMayTake(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := anyInput(t)
		doc := byName(Allocate(in))
		for _, l := range in.Limits {
			for name, p := range doc {
				mine := facts(in, name)
				each, alternatives := costOf(in, mine, l)
				if each == 0 || alternatives != 1 || l.Unknown != "" || p.Nodes.Maximum <= p.Nodes.Realized {
					continue
				}
				need := (p.Nodes.Maximum - p.Nodes.Realized) * each
				for _, other := range in.Pools {
					otherEach, _ := costOf(in, other, l)
					if other.Priority <= mine.Priority && (other.Priority != mine.Priority || other.Name >= name) {
						continue
					}
					c := other.Ceilings[0]
					if otherEach == 0 || c.Unknown != "" || c.Kind != capacity.ConfiguredKind || other.Advertised &&
						other.Realized.Unknown == "" {
						continue
					}
					reach := c.Nodes + other.SurgeNodes
					for _, b := range other.Ceilings[1:] {
						if !b.PromiseOnly {
							reach = min(reach, b.Nodes)
						}
					}
					need += max(0, reach-other.Realized.Total()) * otherEach
				}
				if need > l.Amount {
					t.Fatalf("%s: promised growth and what uncertain pools may take need %d of %d %s", name, need,
						l.Amount, l.Key)
				}
			}
		}
	})
}

func costOf(in Input, p PoolFacts, l SharedLimit) (each, alternatives int) {
	for _, u := range p.Uses {
		if limitOf(in, u.Limit).Kind == l.Kind {
			alternatives++
		}
		if u.Limit == l.Key {
			each = u.CostPerNode
		}
	}
	return each, alternatives
}

// withoutAFact makes one known thing unknown.
func withoutAFact(t *rapid.T, in Input) Input {
	in.Limits, in.Pools = slices.Clone(in.Limits), slices.Clone(in.Pools)
	p := &in.Pools[rapid.IntRange(0, len(in.Pools)-1).Draw(t, "lost of pool")]
	p.Ceilings, p.Uses = slices.Clone(p.Ceilings), slices.Clone(p.Uses)
	switch rapid.IntRange(0, 3).Draw(t, "lost") {
	case 0:
		in.Limits[rapid.IntRange(0, len(in.Limits)-1).Draw(t, "lost limit")].Unknown = "denied"
	case 1:
		p.Ceilings[rapid.IntRange(0, len(p.Ceilings)-1).Draw(t, "lost ceiling")].Unknown = "denied"
	case 2:
		p.Realized.Unknown = "denied"
	case 3:
		for i := range p.Uses {
			p.Uses[i].CostPerNode = 0
		}
	}
	return in
}

func TestLosingAPermissionNeverRaisesANumberOfAnyPool(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := anyInput(t)
		before, after := byName(Allocate(in)), byName(Allocate(withoutAFact(t, in)))
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
		in := anyInput(t)
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

func TestAddingQuotaNeverLowersTheMaximaInPriorityOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := anyInput(t)
		more := in
		more.Limits = slices.Clone(in.Limits)
		more.Limits[rapid.IntRange(0, len(in.Limits)-1).Draw(t, "raised")].Amount += rapid.IntRange(1, 20).Draw(t, "by")
		was, is := maximaInPriorityOrder(in), maximaInPriorityOrder(more)
		if slices.Compare(is, was) < 0 {
			t.Fatalf("maxima in priority order fell from %v to %v", was, is)
		}
	})
}

func maximaInPriorityOrder(in Input) (out []int) {
	pools := slices.Clone(in.Pools)
	slices.SortFunc(pools, func(a, b PoolFacts) int {
		if a.Priority != b.Priority {
			return b.Priority - a.Priority
		}
		if a.Name < b.Name {
			return -1
		}
		return 1
	})
	doc := byName(Allocate(in))
	for _, p := range pools {
		out = append(out, doc[p.Name].Nodes.Maximum)
	}
	return out
}

// The other side of truth: capacity that does exist is not refused.
func TestWithPlentyOfEverythingAPoolIsPromisedItsOwnSmallestCeiling(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := anyInput(t)
		for i := range in.Limits {
			in.Limits[i].Amount = 1000
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
