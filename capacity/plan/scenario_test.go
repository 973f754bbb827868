package plan

import (
	"strings"
	"testing"
	"time"

	"github.com/headroom-eks/headroom/capacity"

	"github.com/headroom-eks/headroom/pool"
)

var nine = time.Date(2026, 11, 30, 9, 0, 0, 0, time.UTC)

func ptr(n int) *int { return &n }

// l4 is a pool of g6.xlarge with a configured maximum and some running on-demand nodes in us-west-2a.
func l4(name string, scaler pool.Scaler, maximum, realized int) PoolFacts {
	return PoolFacts{
		Name:           name,
		Scaler:         scaler,
		Advertised:     true,
		DeviceMode:     pool.Plugin,
		InstanceTypes:  []string{"g6.xlarge"},
		CapacityTypes:  []pool.CapacityType{pool.OnDemand},
		Zones:          []string{"us-west-2a", "us-west-2b"},
		PerNode:        capacity.PerNode{VCPUs: 4, MemoryMiB: 16384, GPUs: 1, GPUModel: "L4", GPUMemoryMiB: 22888},
		Configured:     capacity.Configured{MaxNodeCount: ptr(maximum)},
		Realized:       Realized{Nodes: map[Place]int{{"us-west-2a", pool.OnDemand}: realized}},
		ScalesFromZero: true,
		Ceilings:       []Bound{{Kind: capacity.ConfiguredKind, Nodes: maximum}},
	}
}

func allocate(limits []SharedLimit, pools ...PoolFacts) capacity.Document {
	return Allocate(Input{
		Cluster:  "headroom-dev",
		Region:   "us-west-2",
		Now:      nine,
		ValidFor: time.Hour,
		Pools:    pools,
		Limits:   limits,
	})
}

// The bug this project exists to end: field fault BR-20.
func TestAFixedPoolPromisesWhatRunsWhateverItsBounds(t *testing.T) {
	p := l4("gpu-l4", pool.Fixed, 1, 1)
	p.Configured = capacity.Configured{NodeCount: ptr(1), MinNodeCount: ptr(0), MaxNodeCount: ptr(4)}
	got := allocate(nil, p).Pools[0]
	if got.Nodes != counts(1, 1, 1) || got.BoundBy != capacity.NoAutoscaler || got.LargestGang != 1 {
		t.Errorf("nodes %+v bound by %s, gang %d; want 1 of everything, bound by no-autoscaler", got.Nodes, got.BoundBy,
			got.LargestGang)
	}
}

// Field fault BR-21: the reverse fault, a pool published by its starting size.
func TestAPoolWithAScalerPromisesWhatItCanReach(t *testing.T) {
	p := l4("gpu", pool.ClusterAutoscaler, 8, 2)
	p.PerNode.GPUs = 8
	got := allocate(nil, p).Pools[0]
	if got.Nodes != counts(2, 8, 8) || got.GPUs != counts(16, 64, 64) || got.BoundBy != capacity.ConfiguredKind {
		t.Errorf("nodes %+v, GPUs %+v bound by %s; want 2 of 8 nodes and 16 of 64 GPUs, as configured", got.Nodes,
			got.GPUs, got.BoundBy)
	}
}

func TestPoolsShareAQuotaByPriorityAndEachSaysWhoHasTheRest(t *testing.T) {
	batch, serving := l4("batch", pool.Karpenter, 4, 1), l4("serving", pool.Karpenter, 4, 0)
	serving.Priority = 10
	for _, p := range []*PoolFacts{&batch, &serving} {
		p.Uses = QuotaUses("g6.xlarge", 4, p.CapacityTypes)
	}
	// 26 vCPUs, 2 of them for others: six nodes. One runs in batch; serving takes its four; one is left for batch.
	got := byName(allocate([]SharedLimit{Quotas[0].Limit(26.9, 2)}, batch, serving))
	if s := got["serving"]; s.Nodes.Maximum != 4 || s.BoundBy != capacity.ConfiguredKind {
		t.Errorf("serving reaches %d bound by %s, want its configured 4", s.Nodes.Maximum, s.BoundBy)
	}
	b := got["batch"]
	if b.Nodes.Maximum != 2 || b.BoundBy != capacity.VCPUQuota || b.Ceilings[0].Code != "L-DB2E81BA" {
		t.Errorf("batch reaches %d bound by %s %s, want 2 by the on-demand quota", b.Nodes.Maximum, b.BoundBy,
			b.Ceilings[0].Code)
	}
	want := "on-demand: 24 vCPUs at 4 a node (quota of 26 vCPUs, 2 of them assumed to be used by others); others may " +
		"have nodes there: serving 4"
	if b.Ceilings[0].Detail != want || b.Ceilings[0].Rival != "serving" {
		t.Errorf("detail\n got %s\nwant %s", b.Ceilings[0].Detail, want)
	}
}

func TestAPoolOfSpotAndOnDemandReachesBothQuotasAndOnlyTheOnDemandPartIsFirm(t *testing.T) {
	p := l4("gpu", pool.Karpenter, 10, 0)
	p.CapacityTypes = []pool.CapacityType{pool.Spot, pool.OnDemand}
	p.Uses = QuotaUses("g6.xlarge", 4, p.CapacityTypes)
	got := allocate([]SharedLimit{Quotas[0].Limit(8, 0), Quotas[1].Limit(12, 0)}, p).Pools[0]
	if got.Nodes != counts(0, 5, 2) || got.BoundBy != capacity.VCPUQuota {
		t.Errorf("%+v bound by %s, want 5 nodes, 2 of them firm, by the quotas", got.Nodes, got.BoundBy)
	}
}

func TestAQuotaThatCannotBeReadLeavesWhatRunsAndKeepsTheRestForThatPool(t *testing.T) {
	denied, other := l4("denied", pool.Karpenter, 4, 1), l4("other", pool.Karpenter, 4, 0)
	denied.Uses = append(QuotaUses("g6.xlarge", 4, denied.CapacityTypes), SubnetUses([]string{"us-west-2a"}, 10)...)
	other.Uses = SubnetUses([]string{"us-west-2a"}, 10)
	got := byName(allocate([]SharedLimit{Quotas[0].UnknownLimit("AccessDenied"), FreeAddresses("us-west-2a", 50, 0)},
		denied, other))
	d := got["denied"]
	if d.Nodes != counts(1, 1, 1) || d.BoundBy != capacity.Unknown || d.Ceilings[0].Of != capacity.VCPUQuota ||
		!strings.Contains(d.Ceilings[0].Detail, "AccessDenied") {
		t.Errorf("%+v bound by %+v, want the one that runs, by an unknown quota", d.Nodes, d.Ceilings[0])
	}
	// The pool may still be at its configured 4 at 10 addresses each; that leaves one.
	if o := got["other"]; o.Nodes.Maximum != 1 || o.BoundBy != capacity.SubnetAddresses ||
		o.Ceilings[0].Rival != "denied" {
		t.Errorf("other reaches %d bound by %+v, want 1 by the addresses left", o.Nodes.Maximum, o.Ceilings[0])
	}
}

func TestClusterAutoscalerCannotStartAPoolOfClaimsFromZero(t *testing.T) {
	for _, c := range []struct{ realized, minimum, maximum int }{{0, 0, 0}, {0, 1, 0}, {1, 1, 4}, {2, 0, 2}} {
		p := l4("gpu", pool.ClusterAutoscaler, 4, c.realized)
		p.DeviceMode = pool.DRA
		fromZero, ceiling := Wake(WakeFacts{
			Scaler:            p.Scaler,
			DeviceMode:        pool.DRA,
			ScalerVersion:     "1.36.1",
			KubernetesVersion: "1.36",
			MinNodeCount:      c.minimum,
			Realized:          p.Realized,
		})
		if ceiling != nil {
			p.Ceilings = append(p.Ceilings, *ceiling)
		}
		if got := allocate(nil, p).Pools[0]; fromZero || got.Nodes.Maximum != c.maximum {
			t.Errorf("minimum %d, %d run: reaches %d, want %d (field fault BR-11)", c.minimum, c.realized,
				got.Nodes.Maximum, c.maximum)
		}
	}
}

func TestTenGPUsOnFourGPUNodesAreTwoNodes(t *testing.T) {
	p := l4("gpu", pool.Karpenter, 0, 0)
	p.InstanceTypes, p.PerNode = []string{"g6.12xlarge"}, capacity.PerNode{VCPUs: 48, MemoryMiB: 196608, GPUs: 4}
	limits := capacity.Configured{Limits: &capacity.Limits{GPUs: 10}}
	p.Ceilings = []Bound{ConfiguredCeiling(pool.Karpenter, false, limits, p.PerNode)}
	got := allocate(nil, p).Pools[0]
	if got.Nodes.Maximum != 2 || got.GPUs.Maximum != 8 || got.Ceilings[0].Detail != "limit of 10 GPUs at 4 each" {
		t.Errorf("%d nodes, %d GPUs, %q; want 2 nodes and 8 GPUs", got.Nodes.Maximum, got.GPUs.Maximum,
			got.Ceilings[0].Detail)
	}
}

// Field fault BR-24.
func TestALoweredLimitShowsMoreRealizedThanMaximumAndSaysWhy(t *testing.T) {
	got := allocate(nil, l4("gpu", pool.Karpenter, 1, 4)).Pools[0]
	if got.Nodes != counts(4, 1, 1) || got.LargestGang != 1 || len(got.Notes) != 1 {
		t.Errorf("%+v, gang %d, notes %q; want 4 realized, maximum 1, and a note", got.Nodes, got.LargestGang,
			got.Notes)
	}
}

// Nodes that run may not have taken yet all the addresses that they will take: only what they are known to hold counts
// beside what is free.
func TestFreeAddressesCountWithWhatRunningNodesAreKnownToHold(t *testing.T) {
	p := l4("gpu", pool.Karpenter, 9, 2)
	p.Uses = SubnetUses([]string{"us-west-2a", "us-west-2b"}, 30)
	limits := []SharedLimit{holding(60, FreeAddresses("us-west-2a", 40, 0)), FreeAddresses("us-west-2b", 75, 5)}
	got := allocate(limits, p).Pools[0]
	if got.Nodes.Maximum != 5 || got.BoundBy != capacity.SubnetAddresses {
		t.Errorf("reaches %d bound by %s; want 2 that run and hold 60, 1 more in 40 addresses and 2 in 70",
			got.Nodes.Maximum, got.BoundBy)
	}
	limits[0].Taken = 0
	if got := allocate(limits, p).Pools[0]; got.Nodes.Maximum != 3 {
		t.Errorf("reaches %d; want 3: the nodes that run may still take 60 of the 110 addresses", got.Nodes.Maximum)
	}
}

func TestAGangTiedToAZoneIsAsLargeAsTheBestZone(t *testing.T) {
	p := l4("gpu", pool.Karpenter, 9, 2)
	p.Uses = SubnetUses([]string{"us-west-2a", "us-west-2b"}, 30)
	limits := []SharedLimit{holding(60, FreeAddresses("us-west-2a", 40, 0)), FreeAddresses("us-west-2b", 70, 0)}
	if got := allocate(limits, p).Pools[0]; got.LargestGang != 5 {
		t.Errorf("gang of %d over all zones, want the maximum, 5", got.LargestGang)
	}
	p.TiedToZone = true
	if got := allocate(limits, p).Pools[0]; got.LargestGang != 3 {
		t.Errorf("gang of %d in one zone, want 3: two that run and one that fits in us-west-2a", got.LargestGang)
	}
	p.Ceilings[0].Nodes = 4
	p.Realized.Nodes[Place{"us-west-2a", pool.OnDemand}] = 0
	p.Realized.Nodes[Place{"us-west-2b", pool.OnDemand}] = 1
	limits[0] = FreeAddresses("us-west-2a", 900, 0)
	if got := allocate(limits, p).Pools[0]; got.LargestGang != 3 {
		t.Errorf("gang of %d, want 3: the fourth node runs in the other zone", got.LargestGang)
	}
}

func TestAReservationEndsAndTheDocumentWithIt(t *testing.T) {
	p := l4("gpu", pool.Karpenter, 9, 0)
	p.CapacityTypes = []pool.CapacityType{pool.Reserved}
	facts := ReservationFacts{
		ID:        "cr-1",
		Count:     4,
		End:       nine.Add(20 * time.Minute),
		Checked:   true,
		Active:    true,
		Instances: 3,
	}
	p.Uses = []Use{ReservationUse("cr-1", "")}
	doc := allocate([]SharedLimit{ReservationLimit(facts, nine)}, p)
	if got := doc.Pools[0]; got.Nodes != counts(0, 3, 3) || got.BoundBy != capacity.Reservation ||
		!doc.ValidUntil.Equal(facts.End) {
		t.Errorf("%+v bound by %s until %s; want 3 firm by the reservation until its end", got.Nodes, got.BoundBy,
			doc.ValidUntil)
	}
	got := Allocate(Input{Now: facts.End, ValidFor: time.Hour, Pools: []PoolFacts{p},
		Limits: []SharedLimit{ReservationLimit(facts, facts.End)}})
	if got.Pools[0].Nodes.Maximum != 0 || !got.ValidUntil.Equal(facts.End.Add(time.Hour)) {
		t.Errorf("reaches %d until %s; want 0 once the reservation ended, and the usual hour",
			got.Pools[0].Nodes.Maximum, got.ValidUntil)
	}
}

func TestAPoolWhoseNodesCannotBeCountedPromisesNothingAndHidesNoOther(t *testing.T) {
	lost, other := l4("lost", pool.Karpenter, 4, 3), l4("other", pool.Karpenter, 4, 1)
	lost.Realized.Unknown = "UnauthorizedOperation"
	got := byName(allocate(nil, lost, other))
	if l := got["lost"]; l.Nodes != (capacity.Counts{}) || l.BoundBy != capacity.Unknown ||
		l.Ceilings[0].Of != capacity.RealizedCount ||
		!strings.Contains(l.Error, "Unauthorized") {
		t.Errorf("%+v bound by %+v, error %q; want nothing and the reason", l.Nodes, l.Ceilings[0], l.Error)
	}
	if o := got["other"]; o.Nodes.Maximum != 4 || o.Error != "" {
		t.Errorf("other reaches %d, error %q; want 4 (field fault BR-91)", o.Nodes.Maximum, o.Error)
	}
	// Where they share a quota that counts running nodes, nobody knows what is left of it.
	lost.Uses, other.Uses = QuotaUses("g6.xlarge", 4, lost.CapacityTypes),
		QuotaUses("g6.xlarge", 4, other.CapacityTypes)
	if o := byName(allocate([]SharedLimit{Quotas[0].Limit(400, 0)}, lost, other))["other"]; o.Nodes.Maximum != 1 ||
		o.BoundBy != capacity.Unknown {
		t.Errorf("other reaches %d bound by %s; want the one that runs, unknown", o.Nodes.Maximum, o.BoundBy)
	}
}

func TestAPoolThatOneLimitHoldsTakesNoMoreOfAnother(t *testing.T) {
	a, b := l4("a", pool.Karpenter, 9, 0), l4("b", pool.Karpenter, 9, 0)
	a.Uses = append(QuotaUses("g6.xlarge", 4, a.CapacityTypes), SubnetUses([]string{"us-west-2a"}, 10)...)
	b.Uses = SubnetUses([]string{"us-west-2a"}, 10)
	got := byName(allocate([]SharedLimit{Quotas[0].Limit(8, 0), FreeAddresses("us-west-2a", 90, 0)}, a, b))
	if got["a"].Nodes.Maximum != 2 || got["b"].Nodes.Maximum != 7 {
		t.Errorf("a reaches %d, b %d; want 2 by the quota, and the other 7", got["a"].Nodes.Maximum,
			got["b"].Nodes.Maximum)
	}
}

// Doubt about a pool must not become another pool's gain two limits further on: of the first and second share the
// quota, the second and third a zone. The first has one node by its zone or by its group.
func TestDoubtTravelsAlongTheLimitsThatPoolsShare(t *testing.T) {
	facts := func(advertised bool, zone, group int) ([]SharedLimit, []PoolFacts) {
		var pools []PoolFacts
		for _, name := range []string{"1", "2", "3"} {
			pools = append(pools, l4(name, pool.Karpenter, 2, 0))
		}
		quota := QuotaUses("g6.xlarge", 1, []pool.CapacityType{pool.OnDemand})
		pools[0].Uses = append(SubnetUses([]string{"us-west-2a"}, 1), quota...)
		pools[1].Uses = append(SubnetUses([]string{"us-west-2b"}, 1), quota...)
		pools[2].Uses = SubnetUses([]string{"us-west-2b"}, 1)
		pools[0].Ceilings = append(pools[0].Ceilings, NodeGroupSizeCeiling(1, group))
		pools[0].Advertised = advertised
		return []SharedLimit{Quotas[0].Limit(2, 0), FreeAddresses("us-west-2a", zone, 0),
			FreeAddresses("us-west-2b", 2, 0)}, pools
	}
	for name, lose := range map[string]func([]SharedLimit, []PoolFacts){
		"a zone":    func(l []SharedLimit, _ []PoolFacts) { l[1].Unknown = "denied" },
		"a quota":   func(l []SharedLimit, _ []PoolFacts) { l[0].Unknown = "denied" },
		"a ceiling": func(_ []SharedLimit, p []PoolFacts) { p[0].Ceilings[1].Unknown = "denied" },
		"a cost":    func(_ []SharedLimit, p []PoolFacts) { p[0].Uses[0].CostPerNode = 0 },
		"a count":   func(_ []SharedLimit, p []PoolFacts) { p[0].Realized.Unknown = "denied" },
	} {
		for _, advertised := range []bool{true, false} {
			for zone := 1; zone <= 2; zone++ {
				limits, pools := facts(advertised, zone, 3-zone)
				before := byName(allocate(limits, pools...))
				lose(limits, pools)
				for pool, now := range byName(allocate(limits, pools...)) {
					if was := before[pool].Nodes.Maximum; now.Nodes.Maximum > was {
						t.Errorf("%s is lost: pool %s rose from %d to %d", name, pool, was, now.Nodes.Maximum)
					}
				}
			}
		}
	}
}

func TestAPoolThatIsNotAdvertisedIsChargedWhatItMayTake(t *testing.T) {
	general, gpu := l4("general", pool.Karpenter, 0, 1), l4("gpu", pool.Karpenter, 9, 0)
	general.Advertised, general.Priority = false, 1
	limits := capacity.Configured{Limits: &capacity.Limits{VCPUs: 16}}
	general.Ceilings = []Bound{ConfiguredCeiling(pool.Karpenter, false, limits, capacity.PerNode{VCPUs: 2})}
	general.Uses, gpu.Uses = SubnetUses([]string{"us-west-2a"}, 10), SubnetUses([]string{"us-west-2a"}, 10)
	got := byName(allocate([]SharedLimit{FreeAddresses("us-west-2a", 100, 0)}, general, gpu))
	if g := got["general"]; g.Nodes.Maximum != 1 || g.BoundBy != capacity.NotAdvertised || g.LargestGang != 0 {
		t.Errorf("general promises %d bound by %s, gang %d; want only what runs", g.Nodes.Maximum, g.BoundBy,
			g.LargestGang)
	}
	if got["gpu"].Nodes.Maximum != 2 || got["gpu"].Ceilings[0].Rival != "general" {
		t.Errorf("gpu reaches %d; want 2: the general pool may have eight nodes", got["gpu"].Nodes.Maximum)
	}
}

func TestASurgeIsKeptBackFromOthersAndNotAdvertised(t *testing.T) {
	soft, other := l4("a-soft", pool.Karpenter, 2, 0), l4("b-other", pool.Karpenter, 9, 0)
	soft.SurgeNodes = SurgeNodes(2, 10, 0)
	soft.Uses, other.Uses = QuotaUses("g6.xlarge", 4, soft.CapacityTypes),
		QuotaUses("g6.xlarge", 4, other.CapacityTypes)
	got := byName(allocate([]SharedLimit{Quotas[0].Limit(20, 0)}, soft, other))
	if got["a-soft"].Nodes.Maximum != 2 || got["b-other"].Nodes.Maximum != 2 {
		t.Errorf("soft reaches %d, other %d; want 2 and 2 of 5 nodes, one kept back", got["a-soft"].Nodes.Maximum,
			got["b-other"].Nodes.Maximum)
	}
}

func TestNonsenseLowersThePromiseAndNeverPanics(t *testing.T) {
	p := l4("gpu", pool.Karpenter, 4, 1)
	p.Uses = []Use{{Limit: "nobody listed it", CostPerNode: 1}}
	if got := allocate(nil, p).Pools[0]; got.Nodes.Maximum != 1 || got.BoundBy != capacity.Unknown {
		t.Errorf("a use of an unlisted limit: reaches %d bound by %s; want what runs", got.Nodes.Maximum, got.BoundBy)
	}
	p.Uses, p.Ceilings = nil, nil
	if got := allocate(nil, p).Pools[0]; got.Nodes.Maximum != 1 || got.BoundBy != capacity.Unknown {
		t.Errorf("no ceiling at all: reaches %d bound by %s; want what runs", got.Nodes.Maximum, got.BoundBy)
	}
	p.Ceilings = []Bound{{Kind: capacity.ConfiguredKind, Nodes: -3}}
	if got := allocate(nil, p).Pools[0]; got.Nodes.Maximum != 0 {
		t.Errorf("a negative ceiling: reaches %d, want 0", got.Nodes.Maximum)
	}
	if got := Allocate(Input{}); len(got.Pools) != 0 || got.Pools == nil {
		t.Errorf("no pools: %v, want an empty list", got.Pools)
	}
}

// holding is a limit of which running nodes are known to hold so much.
func holding(taken int, l SharedLimit) SharedLimit {
	l.Taken = taken
	return l
}

func counts(realized, maximum, firm int) capacity.Counts {
	return capacity.Counts{Realized: realized, Maximum: maximum, Firm: firm}
}
