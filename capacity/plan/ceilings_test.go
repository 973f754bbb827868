package plan

import (
	"math"
	"slices"
	"testing"
	"time"

	"github.com/headroom-eks/headroom/capacity"
	"github.com/headroom-eks/headroom/pool"
)

func TestConfiguredCeiling(t *testing.T) {
	l4, quad := capacity.PerNode{
		VCPUs:     4,
		MemoryMiB: 16384,
		GPUs:      1,
	}, capacity.PerNode{VCPUs: 48, MemoryMiB: 196608, GPUs: 4}
	for _, c := range []struct {
		name   string
		scaler pool.Scaler
		static bool
		config capacity.Configured
		node   capacity.PerNode
		want   int // -1: unknown
	}{
		{"a fixed pool's count is nodeCount, its bounds have no effect", pool.Fixed, false, capacity.Configured{
			NodeCount:    ptr(1),
			MinNodeCount: ptr(0),
			MaxNodeCount: ptr(4),
		}, l4, 1},
		{"a cluster-autoscaler pool's is maxNodeCount", pool.ClusterAutoscaler, false, capacity.Configured{
			NodeCount:    ptr(1),
			MaxNodeCount: ptr(4),
		}, l4, 4},
		{"without a maximum it is nodeCount", pool.ClusterAutoscaler, false, capacity.Configured{NodeCount: ptr(2)}, l4,
			2},
		{"a static Karpenter pool's is nodeCount", pool.Karpenter, true,
			capacity.Configured{NodeCount: ptr(3), MaxNodeCount: ptr(9)}, l4, 3},
		{"the smallest limit holds", pool.Karpenter, false, capacity.Configured{
			MaxNodeCount: ptr(9),
			Limits:       &capacity.Limits{VCPUs: 16, MemoryMiB: 49152 + 16383, GPUs: 4},
		}, l4, 3},
		{"ten GPUs on 4-GPU nodes are two", pool.AutoMode, false,
			capacity.Configured{Limits: &capacity.Limits{GPUs: 10}}, quad, 2},
		{"a limit below one node is none", pool.Karpenter, false,
			capacity.Configured{Limits: &capacity.Limits{VCPUs: 40}}, quad, 0},
		{"a limit on GPUs holds no node without any", pool.Karpenter, false, capacity.Configured{
			MaxNodeCount: ptr(5),
			Limits:       &capacity.Limits{GPUs: 1},
		}, capacity.PerNode{VCPUs: 2}, 5},
		{"a limit of unknown weight is unknown", pool.Karpenter, false, capacity.Configured{
			MaxNodeCount: ptr(5),
			Limits:       &capacity.Limits{VCPUs: 8},
		}, capacity.PerNode{}, -1},
		{"no bound at all is unknown", pool.Karpenter, false, capacity.Configured{}, l4, -1},
	} {
		got := ConfiguredCeiling(c.scaler, c.static, c.config, c.node)
		if unknown := got.Unknown != ""; unknown != (c.want < 0) || !unknown && got.Nodes != c.want {
			t.Errorf("%s: %+v, want %d", c.name, got, c.want)
		}
	}
}

var oneRuns = Realized{Nodes: map[Place]int{{"a", pool.OnDemand}: 1}}

var wakes = []struct {
	name     string
	facts    WakeFacts
	fromZero bool
	bounded  string // "", "bound" or "unknown"
}{
	{"Karpenter, plugin", WakeFacts{Scaler: pool.Karpenter, DeviceMode: pool.Plugin}, true, ""},
	{"Karpenter, no GPUs", WakeFacts{Scaler: pool.Karpenter}, true, ""},
	{"Karpenter 1.15, DRA on", WakeFacts{
		Scaler:            pool.Karpenter,
		DeviceMode:        pool.DRA,
		ScalerVersion:     "1.15.0",
		KubernetesVersion: "1.34",
		DRAEnabled:        true,
	}, true, ""},
	{"Karpenter 1.15, DRA on, leading v", WakeFacts{
		Scaler:            pool.Karpenter,
		DeviceMode:        pool.DRA,
		ScalerVersion:     "v1.15.2",
		KubernetesVersion: "1.36",
		DRAEnabled:        true,
	}, true, ""},
	{"Karpenter 1.15, DRA off (field fault BR-12)", WakeFacts{
		Scaler:            pool.Karpenter,
		DeviceMode:        pool.DRA,
		ScalerVersion:     "1.15.0",
		KubernetesVersion: "1.36",
		Realized:          oneRuns,
	}, false, "bound"},
	{"Karpenter 1.14, DRA on", WakeFacts{
		Scaler:            pool.Karpenter,
		DeviceMode:        pool.DRA,
		ScalerVersion:     "1.14.1",
		KubernetesVersion: "1.36",
		DRAEnabled:        true,
	}, false, "bound"},
	{"Karpenter 1.9 is before 1.15", WakeFacts{
		Scaler:            pool.Karpenter,
		DeviceMode:        pool.DRA,
		ScalerVersion:     "1.9.0",
		KubernetesVersion: "1.36",
		DRAEnabled:        true,
	}, false, "bound"},
	{"Karpenter, DRA, Kubernetes 1.33", WakeFacts{
		Scaler:            pool.Karpenter,
		DeviceMode:        pool.DRA,
		ScalerVersion:     "1.15.0",
		KubernetesVersion: "1.33",
		DRAEnabled:        true,
	}, false, "bound"},
	{"Karpenter, DRA, version unknown", WakeFacts{
		Scaler:            pool.Karpenter,
		DeviceMode:        pool.DRA,
		KubernetesVersion: "1.36",
		DRAEnabled:        true,
	}, false, "unknown"},
	{"static Karpenter needs no switch", WakeFacts{
		Scaler:        pool.Karpenter,
		Static:        true,
		DeviceMode:    pool.DRA,
		ScalerVersion: "1.14.0",
	}, true, ""},
	{"Auto Mode, plugin", WakeFacts{
		Scaler:            pool.AutoMode,
		DeviceMode:        pool.Plugin,
		KubernetesVersion: "1.33",
	}, true, ""},
	{"Auto Mode, DRA, 1.36", WakeFacts{
		Scaler:            pool.AutoMode,
		DeviceMode:        pool.DRA,
		KubernetesVersion: "1.36",
	}, true, ""},
	{"Auto Mode, DRA, 1.35", WakeFacts{
		Scaler:            pool.AutoMode,
		DeviceMode:        pool.DRA,
		KubernetesVersion: "1.35",
	}, false, "bound"},
	{"Auto Mode, DRA, version unknown", WakeFacts{Scaler: pool.AutoMode, DeviceMode: pool.DRA}, false, "unknown"},
	{"cluster-autoscaler, plugin", WakeFacts{Scaler: pool.ClusterAutoscaler, DeviceMode: pool.Plugin}, true, ""},
	{"cluster-autoscaler, DRA, one runs and stays", WakeFacts{
		Scaler:            pool.ClusterAutoscaler,
		DeviceMode:        pool.DRA,
		ScalerVersion:     "1.36.1",
		KubernetesVersion: "1.36",
		MinNodeCount:      1,
		Realized:          oneRuns,
	}, false, ""},
	{"cluster-autoscaler, DRA, one runs and may go", WakeFacts{
		Scaler:            pool.ClusterAutoscaler,
		DeviceMode:        pool.DRA,
		ScalerVersion:     "1.36.1",
		KubernetesVersion: "1.36",
		Realized:          oneRuns,
	}, false, "bound"},
	{"cluster-autoscaler, DRA, none runs", WakeFacts{
		Scaler:            pool.ClusterAutoscaler,
		DeviceMode:        pool.DRA,
		ScalerVersion:     "1.36.1",
		KubernetesVersion: "1.36",
		MinNodeCount:      1,
	}, false, "bound"},
	{"cluster-autoscaler 1.34, DRA", WakeFacts{
		Scaler:            pool.ClusterAutoscaler,
		DeviceMode:        pool.DRA,
		ScalerVersion:     "1.34.0",
		KubernetesVersion: "1.34",
		MinNodeCount:      1,
		Realized:          oneRuns,
	}, false, "bound"},
	{"fixed", WakeFacts{Scaler: pool.Fixed, DeviceMode: pool.DRA}, false, ""},
	{"a scaler nobody knows", WakeFacts{Scaler: "escalator", DeviceMode: pool.DRA}, false, "unknown"},
}

func TestWakeTable(t *testing.T) {
	for _, c := range wakes {
		fromZero, ceiling := Wake(c.facts)
		bounded := ""
		if ceiling != nil {
			bounded = "bound"
			if ceiling.Unknown != "" {
				bounded = "unknown"
			}
			if !ceiling.PromiseOnly || ceiling.Nodes != 0 && ceiling.Nodes != c.facts.Realized.Total() {
				t.Errorf("%s: %+v, want a bound of the promise to what runs", c.name, ceiling)
			}
		}
		if fromZero != c.fromZero || bounded != c.bounded {
			t.Errorf("%s: from zero %t, %q; want %t, %q", c.name, fromZero, bounded, c.fromZero, c.bounded)
		}
	}
}

// The examples of the CNI's own documentation, addresses of the interfaces themselves added.
// https://github.com/aws/amazon-vpc-cni-k8s/blob/master/docs/eni-and-ip-target.md and prefix-and-ip-target.md
func TestAddressesPerNodeAsTheCNIDocumentsThem(t *testing.T) {
	type instance struct{ enis, addresses int }
	small, large := instance{3, 4}, instance{15, 50} // t3.small, p3dn.24xlarge
	prefixes := CNI{PrefixDelegation: true}
	targets := func(warm, minimum int, prefix bool) CNI {
		return CNI{PrefixDelegation: prefix, WarmIPTarget: warm, MinimumIPTarget: minimum}
	}
	for _, c := range []struct {
		name string
		cni  CNI
		on   instance
		pods int
		want int
	}{
		{"default, idle", CNI{}, small, 0, 3 + 1},
		{"default, 5 pods", CNI{}, small, 5, 9 + 3},
		{"default, full", CNI{}, small, 9, 9 + 3},
		{"default, large, 3 pods", CNI{}, large, 3, 98 + 2},
		{"default, large, 95 pods", CNI{}, large, 95, 147 + 3},
		{"no warm interface", CNI{WarmENITarget: ptr(0)}, small, 5, 6 + 2},
		{"warm 1, minimum 1, 5 pods", targets(1, 1, false), small, 5, 6 + 2},
		{"warm 2, minimum 5, idle", targets(2, 5, false), small, 0, 5 + 2},
		{"warm 2, minimum 5, 5 pods", targets(2, 5, false), small, 5, 7 + 3},
		{"warm 5, minimum 10, large, 45 pods", targets(5, 10, false), large, 45, 50 + 2},
		{"prefixes, idle", prefixes, small, 0, 16 + 1},
		{"prefixes, 5 pods", prefixes, small, 5, 32 + 1},
		{"prefixes, 17 pods", prefixes, small, 17, 48 + 1},
		{"prefixes, 58 pods", prefixes, small, 58, 80 + 2},
		{"prefixes, warm 1, minimum 1, 58 pods", targets(1, 1, true), small, 58, 64 + 2},
		{"prefixes, warm 7, minimum 20, 58 pods", targets(7, 20, true), small, 58, 80 + 2},
		{"a given number", CNI{AddressesPerNode: 33}, instance{}, 5, 33},
		{"an unknown instance", CNI{}, instance{}, 5, 0},
	} {
		if got := c.cni.AddressesNeeded(c.on.enis, c.on.addresses, c.pods); got != c.want {
			t.Errorf("%s: %d addresses, want %d", c.name, got, c.want)
		}
	}
}

func TestPlannedAddressesLeaveOutWhatAWSKeeps(t *testing.T) {
	if got := PlannedAddresses("a", []int{20, 24}, 100); got.Amount != 4091+251-100 || got.Free {
		t.Errorf("%+v, want 4091 and 251 addresses less 100, running nodes included", got)
	}
}

func TestPoolZones(t *testing.T) {
	zones, note, err := PoolZones("g6.xlarge", []string{"c", "a", "b"}, []string{"b", "a", "d", "a"}, nil)
	if err != nil || note != "" || !slices.Equal(zones, []string{"a", "b"}) {
		t.Errorf("%v, %q, %v; want a and b", zones, note, err)
	}
	if zones, note, err = PoolZones("g6.xlarge", []string{"a", "b"}, []string{"a", "b"}, []string{"b"}); err != nil ||
		note == "" || !slices.Equal(zones, []string{"b"}) {
		t.Errorf("%v, %q, %v; want b with a warning", zones, note, err)
	}
	if zones, _, err = PoolZones("g6.xlarge", []string{"a"}, []string{"b"}, nil); err == nil || zones != nil {
		t.Errorf("%v, %v; want an error", zones, err)
	}
}

func TestReservationLimit(t *testing.T) {
	active := ReservationFacts{ID: "cr-1", Count: 4, Checked: true, Active: true, Instances: 6}
	for _, c := range []struct {
		name   string
		change func(*ReservationFacts)
		want   int // -1: unknown
	}{
		{"the config's count holds when smaller", func(*ReservationFacts) {}, 4},
		{"the reservation's holds when smaller", func(r *ReservationFacts) { r.Instances = 2 }, 2},
		{"not checked, the config is taken at its word",
			func(r *ReservationFacts) { r.Checked, r.Active = false, false }, 4},
		{"reading denied is unknown, so that losing the permission raises nothing",
			func(r *ReservationFacts) { r.CheckError = "denied" }, -1},
		{"not active", func(r *ReservationFacts) { r.Active = false }, 0},
		{"past its end by config", func(r *ReservationFacts) { r.End = nine.Add(-time.Second) }, 0},
		{"past its own end", func(r *ReservationFacts) { r.End, r.EndsAt = nine.Add(time.Hour), nine }, 0},
		{"before its end", func(r *ReservationFacts) { r.EndsAt = nine.Add(time.Second) }, 4},
	} {
		r := active
		c.change(&r)
		if got := ReservationLimit(r, nine); (got.Unknown != "") != (c.want < 0) || c.want >= 0 &&
			got.Amount != c.want {
			t.Errorf("%s: %+v, want %d", c.name, got, c.want)
		}
	}
}

func TestQuotas(t *testing.T) {
	for instanceType, want := range map[string][]string{
		"g6.xlarge":        {"L-DB2E81BA", "L-3819A6DF"},
		"gr6.4xlarge":      {"L-DB2E81BA", "L-3819A6DF"},
		"g6e.xlarge":       {"L-DB2E81BA", "L-3819A6DF"},
		"p4d.24xlarge":     {"L-417A185B", "L-7212CCBC"},
		"p5.48xlarge":      {"L-417A185B", "L-C4BD4855"},
		"p5en.48xlarge":    {"L-417A185B", "L-C4BD4855"},
		"p6-b200.48xlarge": {"L-417A185B"},
		"m6i.xlarge":       nil,
		"":                 nil,
	} {
		var got []string
		for _, use := range QuotaUses(instanceType, 4, []pool.CapacityType{pool.OnDemand, pool.Spot, pool.Reserved}) {
			got = append(got, use.Limit)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%q draws from %v, want %v", instanceType, got, want)
		}
	}
	for value, want := range map[float64]int{7.9: 6, 0: 0, -4: 0, 1: 0, math.Inf(1): noBound - 1} {
		if got := Quotas[0].Limit(value, 1); got.Amount != want || got.Unknown != "" {
			t.Errorf("quota of %v less 1: %+v, want %d", value, got, want)
		}
	}
	if Quotas[0].Limit(math.NaN(), 0).Unknown == "" {
		t.Error("a quota that is no number is known")
	}
}

func TestSpotThatNoKnownQuotaCountsIsNotKnownWhereItIsTheOnlyWay(t *testing.T) {
	p := l4("gpu", pool.Karpenter, 4, 0)
	p.CapacityTypes = []pool.CapacityType{pool.Spot}
	p.Uses = QuotaUses("p6-b200.48xlarge", 192, p.CapacityTypes)
	if got := allocate(nil, p).Pools[0]; got.Nodes.Maximum != 0 || got.BoundBy != capacity.Unknown {
		t.Errorf("%+v bound by %s, want nothing", got.Nodes, got.BoundBy)
	}
}

func TestSurgeNodes(t *testing.T) {
	for _, c := range []struct{ maximum, percent, nodes, want int }{{4, 0, 0, 0}, {4, 10, 0, 1}, {40, 10, 0, 4},
		{4, 10, 2, 2}, {-1, -1, -1, 0}} {
		if got := SurgeNodes(c.maximum, c.percent, c.nodes); got != c.want {
			t.Errorf("%+v: %d", c, got)
		}
	}
}

func TestNodeGroupQuotas(t *testing.T) {
	if got := NodeGroupSizeCeiling(2, DefaultNodesPerGroup); got.Nodes != 900 || got.PromiseOnly {
		t.Errorf("%+v, want 900 nodes in two groups", got)
	}
	if NodeGroupsFit(30, DefaultGroupsPerCluster) != nil || NodeGroupsFit(31, DefaultGroupsPerCluster) == nil {
		t.Error("30 groups fit and 31 do not")
	}
}

func TestNotAppliedPromisesWhatRuns(t *testing.T) {
	p := l4("gpu", pool.Karpenter, 4, 1)
	p.Ceilings = append(p.Ceilings, NotAppliedCeiling(p.Realized))
	if got := allocate(nil, p).Pools[0]; got.Nodes.Maximum != 1 || got.BoundBy != capacity.NotApplied {
		t.Errorf("%+v bound by %s, want the one that runs", got.Nodes, got.BoundBy)
	}
}
