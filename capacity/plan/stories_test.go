package plan

import (
	"fmt"
	"strings"
	"testing"

	"github.com/headroom-eks/headroom/capacity"
	"github.com/headroom-eks/headroom/pool"
)

// These are stories of environments in which an earlier version promised nodes that others could take, or promised none
// where nothing could go wrong.

var (
	onDemand = []pool.CapacityType{pool.OnDemand}
	spotOnly = []pool.CapacityType{pool.Spot}
	both     = []pool.CapacityType{pool.Spot, pool.OnDemand}
)

// g6 is a Karpenter pool of g6.xlarge, at 4 vCPUs a node.
func g6(name string, maximum int, ways []pool.CapacityType) PoolFacts {
	p := l4(name, pool.Karpenter, maximum, 0)
	p.CapacityTypes, p.Uses = ways, QuotaUses("g6.xlarge", 4, ways)
	return p
}

// quotas in vCPUs, on-demand and spot.
func quotas(onDemand, spot float64) []SharedLimit {
	return []SharedLimit{Quotas[0].Limit(onDemand, 0), Quotas[1].Limit(spot, 0)}
}

// zoneAddresses of three zones.
func zoneAddresses(a, b, c int) []SharedLimit {
	var out []SharedLimit
	for i, n := range []int{a, b, c} {
		out = append(out, FreeAddresses(testZones[i], n, 0))
	}
	return out
}

func inZones(p PoolFacts, addresses int) PoolFacts {
	p.Zones = testZones
	p.Uses = append(p.Uses, SubnetUses(testZones, addresses)...)
	return p
}

// share gives a pool so many nodes in a zone, or by a way of buying, by configuration.
func share(p *PoolFacts, zone string, ways []pool.CapacityType, nodes int) SharedLimit {
	key := fmt.Sprint("share/", p.Name, "/", zone, ways)
	p.Uses = append(p.Uses, Use{Limit: key, CostPerNode: 1, Zone: zone, CapacityTypes: ways})
	return SharedLimit{Key: key, Kind: capacity.ConfiguredKind, Unit: "nodes", Amount: nodes}
}

// wants holds maximum and firm of pools by name.
func wants(t *testing.T, doc capacity.Document, want map[string][2]int) map[string]capacity.Pool {
	t.Helper()
	got := byName(doc)
	for name, n := range want {
		if p := got[name]; p.Nodes.Maximum != n[0] || p.Nodes.Firm != n[1] {
			t.Errorf("%s: maximum %d firm %d, want %d and %d; %s", name, p.Nodes.Maximum, p.Nodes.Firm, n[0], n[1],
				p.Ceilings[0])
		}
	}
	return got
}

// When spot is out, the mixed pool would buy on demand all that the firm one was told. So it is told nothing, and by
// whom.
func TestAMixedPoolIsNotToldWhatItCouldTakeFromAFirmOne(t *testing.T) {
	reserved, mixed := g6("firm", 16, onDemand), g6("mixed", 16, both)
	reserved.Priority = 10
	got := wants(t, allocate(quotas(64, 64), reserved, mixed), map[string][2]int{"firm": {16, 16}, "mixed": {0, 0}})
	if c := got["mixed"].Ceilings[0]; c.Rival != "firm" || c.Kind != capacity.VCPUQuota {
		t.Errorf("mixed is bound by %+v, want the quotas and firm as its rival", c)
	}
}

func TestAShareOfOnDemandNodesGivesAMixedPoolItsSpotBack(t *testing.T) {
	reserved, mixed := g6("firm", 12, onDemand), g6("mixed", 16, both)
	reserved.Priority = 10
	wants(t, allocate(quotas(64, 64), reserved, mixed), map[string][2]int{"firm": {12, 12}, "mixed": {4, 4}})
	limits := append(quotas(64, 64), share(&mixed, "", onDemand, 4), share(&mixed, "", spotOnly, 12))
	wants(t, allocate(limits, reserved, mixed), map[string][2]int{"firm": {12, 12}, "mixed": {16, 4}})
}

// Though the mixed pool is served first, it can take no more of the on-demand quota than its part of it.
func TestAShareOfOnDemandNodesGivesAFirmPoolBackWhatAMixedOneCouldTake(t *testing.T) {
	mixed, reserved := g6("mixed", 16, both), g6("firm", 12, onDemand)
	mixed.Priority = 10
	got := wants(t, allocate(quotas(64, 64), mixed, reserved), map[string][2]int{"mixed": {16, 16}, "firm": {0, 0}})
	if rival := got["firm"].Ceilings[0].Rival; rival != "mixed" {
		t.Errorf("firm names rival %q", rival)
	}
	limits := append(quotas(64, 64), share(&mixed, "", onDemand, 4), share(&mixed, "", spotOnly, 12))
	got = wants(t, allocate(limits, mixed, reserved), map[string][2]int{"mixed": {16, 4}, "firm": {12, 12}})
	if got["mixed"].BoundBy != capacity.ConfiguredKind {
		t.Errorf("mixed has all it is given, and is bound by %+v", got["mixed"].Ceilings[0])
	}
}

// Each of the two NodePools may pass its own limit for a while, so the quota is kept for one node more than the share.
func TestASurgeMayPassAShareToo(t *testing.T) {
	mixed, reserved := g6("mixed", 16, both), g6("firm", 12, onDemand)
	mixed.Priority, mixed.SurgeNodes = 10, 1
	limits := append(quotas(64, 64), share(&mixed, "", onDemand, 4), share(&mixed, "", spotOnly, 12))
	wants(t, allocate(limits, mixed, reserved), map[string][2]int{"mixed": {16, 4}, "firm": {11, 11}})
}

// Zone a has addresses for no node, b and c for two each; the configuration gives each zone one.
func TestASpreadPoolGetsInEachZoneTheSmallerOfShareAndAddresses(t *testing.T) {
	p := inZones(l4("spread", pool.ClusterAutoscaler, 3, 0), 30)
	p.TiedToZone = true
	limits := zoneAddresses(0, 60, 60)
	for _, zone := range testZones {
		limits = append(limits, share(&p, zone, nil, 1))
	}
	got := wants(t, allocate(limits, p), map[string][2]int{"spread": {2, 2}})
	if gang := got["spread"].LargestGang; gang != 1 {
		t.Errorf("gang of %d, want 1: a zone's share", gang)
	}
}

// The general pool may make 32 nodes of 30 addresses. Whether the GPU pool comes before it by name does not matter.
func TestWhatTheGeneralPoolMayTakeIsKeptFromEverybody(t *testing.T) {
	for _, name := range []string{"agpu", "zgpu"} {
		for vcpus, want := range map[int]int{64: 0, 16: 4} {
			gpu := inZones(l4(name, pool.Karpenter, 4, 0), 60)
			general := inZones(l4("general", pool.Karpenter, 0, 0), 30)
			general.Advertised = false
			limits := capacity.Configured{Limits: &capacity.Limits{VCPUs: vcpus}}
			general.Ceilings = []Bound{ConfiguredCeiling(pool.Karpenter, false, limits, capacity.PerNode{VCPUs: 2})}
			got := wants(t, allocate(zoneAddresses(180, 180, 180), gpu, general), map[string][2]int{name: {want, want}})
			if rival := got[name].Ceilings[0].Rival; want == 0 && rival != "general" {
				t.Errorf("%s names rival %q, want general", name, rival)
			}
		}
	}
}

// Nothing scales a fixed pool, but its group makes up for what it lost.
func TestAFixedPoolBelowItsSizeKeepsItsPlaces(t *testing.T) {
	growing, fixed := g6("a-growing", 8, onDemand), g6("z-fixed", 4, onDemand)
	fixed.Scaler = pool.Fixed
	fixed.Realized = Realized{Nodes: map[Place]int{{"us-west-2a", pool.OnDemand}: 1}}
	wants(t, allocate(quotas(32, 0), growing, fixed), map[string][2]int{"a-growing": {4, 4}, "z-fixed": {1, 1}})
}

func TestTwoDefaultPoolsShareTwoQuotasInFull(t *testing.T) {
	got := wants(t, allocate(quotas(64, 64), g6("a", 16, both), g6("b", 16, both)),
		map[string][2]int{"a": {16, 0}, "b": {16, 0}})
	if a := got["a"]; a.BoundBy != capacity.ConfiguredKind || a.Ceilings[1].Rival != "" {
		t.Errorf("a is bound by %+v, want its configuration alone", a.Ceilings)
	}
}

// 16 nodes of 240 addresses fit in the 4,027 of a zone.
func TestThreeZonesHoldThreeTimesWhatOneHolds(t *testing.T) {
	var pools []PoolFacts
	for _, name := range []string{"a", "b", "c"} {
		pools = append(pools, inZones(l4(name, pool.Karpenter, 16, 0), 240))
	}
	wants(t, allocate(zoneAddresses(4027, 4027, 4027), pools...),
		map[string][2]int{"a": {16, 16}, "b": {16, 16}, "c": {16, 16}})
}

// Field fault FR-02.
func TestInstancesOfAReservationCountOnceForAllPoolsThatNameIt(t *testing.T) {
	limit := ReservationLimit(ReservationFacts{ID: "cr-1", Count: 4}, nine)
	var pools []PoolFacts
	for _, name := range []string{"res-a", "res-b"} {
		p := g6(name, 3, []pool.CapacityType{pool.Reserved})
		p.Uses = append(p.Uses, ReservationUse("cr-1", ""))
		pools = append(pools, p)
	}
	got := wants(t, allocate([]SharedLimit{limit}, pools...), map[string][2]int{"res-a": {3, 3}, "res-b": {1, 1}})
	if c := got["res-b"].Ceilings[0]; c.Kind != capacity.Reservation || c.Code != "cr-1" || c.Rival != "res-a" {
		t.Errorf("res-b is bound by %+v, want the reservation and res-a as its rival", c)
	}
	other := ReservationLimit(ReservationFacts{ID: "cr-1", Count: 5}, nine)
	got = wants(t, allocate([]SharedLimit{limit, other}, pools...), map[string][2]int{"res-a": {0, 0}, "res-b": {0, 0}})
	if c := got["res-a"].Ceilings[0]; !strings.Contains(c.Detail, "listed twice") {
		t.Errorf("two counts for one reservation: %+v", c)
	}
}

// A reservation that a pool may use beside on-demand capacity adds to its quota.
func TestAPoolOfReservedAndOnDemandReachesBoth(t *testing.T) {
	p := g6("gpu", 9, []pool.CapacityType{pool.Reserved, pool.OnDemand})
	p.Uses = append(p.Uses, ReservationUse("cr-1", ""))
	limits := append(quotas(12, 0), ReservationLimit(ReservationFacts{ID: "cr-1", Count: 2}, nine))
	wants(t, allocate(limits, p), map[string][2]int{"gpu": {5, 5}})
}

// What is left over beside whole nodes of one size is given to a pool of smaller ones.
func TestTheRemainderOfAQuotaServesASmallerNode(t *testing.T) {
	a, b := g6("a", 9, onDemand), g6("b", 9, onDemand)
	a.Uses = QuotaUses("g6.2xlarge", 8, onDemand)
	wants(t, allocate(quotas(20, 0), a, b), map[string][2]int{"a": {2, 2}, "b": {1, 1}})
}

// Both may fall back to the same eight on-demand nodes.
func TestTwoMixedPoolsAreFirmOnlyAsFarAsTheQuotaCoversBoth(t *testing.T) {
	wants(t, allocate(quotas(32, 64), g6("a", 6, both), g6("b", 4, both)), map[string][2]int{"a": {6, 4}, "b": {4, 2}})
}

// The node of p1 may go, and one of p2 may come to where it was: p1's would not come back. The note says so.
func TestANodeWhoseReturnIsNotSureIsShownAndNotPromised(t *testing.T) {
	p1, p2 := l4("p1", pool.Karpenter, 1, 1), l4("p2", pool.Karpenter, 2, 0)
	zones := []string{"us-west-2a", "us-west-2b"}
	p1.Uses, p2.Uses = SubnetUses(zones, 3), SubnetUses(zones, 1)
	p2.Realized = Realized{Nodes: map[Place]int{{"us-west-2b", pool.OnDemand}: 2}}
	got := wants(t, allocate([]SharedLimit{PlannedAddresses("us-west-2a", []int{29}, 0), PlannedAddresses("us-west-2b",
		[]int{29}, 1)}, p1, p2), map[string][2]int{"p1": {1, 1}})
	if notes := strings.Join(got["p1"].Notes, " "); !strings.Contains(notes, "0 of them are sure to come back") {
		t.Errorf("notes %q", notes)
	}
}

// Were the quota 8 vCPUs, a would get both nodes and b none, because b could take them. When it cannot be read, b must
// not get more.
func TestAFactLostAboutOnePoolIsNoGainForAnother(t *testing.T) {
	a, b := g6("a", 2, onDemand), g6("b", 4, both)
	wants(t, allocate(quotas(8, 8), a, b), map[string][2]int{"a": {2, 2}, "b": {0, 0}})
	lost := quotas(8, 8)
	lost[0] = Quotas[0].UnknownLimit("AccessDenied")
	wants(t, allocate(lost, a, b), map[string][2]int{"a": {0, 0}, "b": {0, 0}})
}

// A pool that was served earlier counts with what a later one may do of which something is not known.
func TestAPoolInDoubtCountsWithAllItMayTakeForThoseBeforeItToo(t *testing.T) {
	a, doubtful := g6("a", 8, onDemand), g6("b-doubtful", 5, onDemand)
	doubtful.Ceilings = append(doubtful.Ceilings, Bound{Kind: capacity.Zones, Unknown: "AccessDenied"})
	got := wants(t, allocate(quotas(32, 0), a, doubtful), map[string][2]int{"a": {3, 3}, "b-doubtful": {0, 0}})
	if rival := got["a"].Ceilings[0].Rival; rival != "b-doubtful" {
		t.Errorf("a names rival %q", rival)
	}
}

// What others of the account use is charged before anyone.
func TestWhatOthersOfTheAccountUseIsNotPromised(t *testing.T) {
	wants(t, allocate([]SharedLimit{Quotas[0].Limit(64, 60)}, g6("gpu", 6, onDemand)), map[string][2]int{"gpu": {1, 1}})
}

// A group of 1..3 that somebody cut to 0..1 promises 1, and pools that share its quota count with 3, to which it may be
// set back.
func TestAGroupCutByHandPromisesWhatItIsAndKeepsWhatItMayBecome(t *testing.T) {
	cut, other := g6("a-cut", 3, onDemand), g6("b-other", 9, onDemand)
	cut.Ceilings = append(cut.Ceilings, LiveCeiling(1, "the group's maximum is 1"))
	got := wants(t, allocate(quotas(20, 0), cut, other), map[string][2]int{"a-cut": {1, 1}, "b-other": {2, 2}})
	if got["a-cut"].BoundBy != capacity.Live {
		t.Errorf("bound by %s", got["a-cut"].BoundBy)
	}
}

// A reservation lies in one zone; on-demand nodes may be in all three. Zone a is full.
func TestAReservationInAFullZoneDoesNotCount(t *testing.T) {
	p := inZones(g6("gpu", 9, []pool.CapacityType{pool.Reserved, pool.OnDemand}), 30)
	p.Uses = append(p.Uses, ReservationUse("cr-1", "a"))
	limits := append(quotas(12, 0), ReservationLimit(ReservationFacts{ID: "cr-1", Count: 2}, nine))
	wants(t, allocate(append(limits, zoneAddresses(20, 300, 300)...), p), map[string][2]int{"gpu": {3, 3}})
}

func TestAZonesShareCountsOnceThoughTheZoneHasTwoSubnets(t *testing.T) {
	p := l4("spread", pool.ClusterAutoscaler, 4, 0)
	p.TiedToZone = true
	limits := []SharedLimit{share(&p, "a", nil, 3)}
	for _, subnet := range []string{"a/1", "a/2"} {
		l := FreeAddresses(subnet, 60, 0)
		limits = append(limits, l)
		p.Uses = append(p.Uses, Use{Limit: l.Key, CostPerNode: 30, Zone: "a"})
	}
	wants(t, allocate(limits, p), map[string][2]int{"spread": {3, 3}})
	limits[2].Amount = 20
	wants(t, allocate(limits, p), map[string][2]int{"spread": {2, 2}})
}

func TestALimitByConfigurationThatTwoPoolsNameIsSharedAndNoShare(t *testing.T) {
	a, b := l4("a", pool.Karpenter, 4, 0), l4("b", pool.Karpenter, 4, 0)
	limit := SharedLimit{Key: "both", Kind: capacity.ConfiguredKind, Unit: "nodes", Amount: 5}
	for _, p := range []*PoolFacts{&a, &b} {
		p.Uses = []Use{{Limit: "both", CostPerNode: 1, Zone: "a"}}
	}
	wants(t, allocate([]SharedLimit{limit}, a, b), map[string][2]int{"a": {4, 4}, "b": {1, 1}})
}

// Of pools that are alike, the one that has what it was promised is the hardest to keep safe. One that runs more than
// it is promised has some to lose.
func TestOfPoolsAlikeTheOneWithTheLeastToLoseIsKeptSafe(t *testing.T) {
	lowered, other, mixed := g6("a-lowered", 1, onDemand), g6("b-other", 2, onDemand), g6("c-mixed", 5, both)
	lowered.Realized = Realized{Nodes: map[Place]int{{"us-west-2a", pool.OnDemand}: 3}}
	got := wants(t, allocate(quotas(24, 80), lowered, other, mixed),
		map[string][2]int{"a-lowered": {1, 1}, "b-other": {2, 2}, "c-mixed": {1, 1}})
	if rival := got["c-mixed"].Ceilings[0].Rival; rival != "b-other" {
		t.Errorf("c-mixed names rival %q", rival)
	}
}

// A pool that has no node and was promised none replaces none.
func TestAPoolWithoutNodesKeepsNoSpareFromOthers(t *testing.T) {
	small, quad := g6("small", 16, onDemand), g6("z-quad", 4, onDemand)
	quad.Uses, quad.SurgeNodes = QuotaUses("g6.12xlarge", 48, onDemand), 1
	wants(t, allocate(quotas(48, 0), small, quad), map[string][2]int{"small": {12, 12}, "z-quad": {0, 0}})
}
