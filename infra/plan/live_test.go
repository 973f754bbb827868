package plan

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/headroom-eks/headroom/capacity"
	capacityplan "github.com/headroom-eks/headroom/capacity/plan"
	"github.com/headroom-eks/headroom/components/clusterautoscaler"
	"github.com/headroom-eks/headroom/components/nodepool"
	"github.com/headroom-eks/headroom/infra/ask"
	"github.com/headroom-eks/headroom/infra/config"
	"github.com/headroom-eks/headroom/pool"
)

// promised is what pool gpu-l4 of a plan promises, given what was observed beside one running node.
func promised(t *testing.T, p Plan, change func(*Observed)) capacity.Pool {
	t.Helper()
	o := Observed{Cluster: "headroom-dev", Now: noon, Realized: map[string]capacityplan.Realized{"gpu-l4": running(1)}}
	change(&o)
	for _, one := range p.Document(o).Pools {
		if one.Name == "gpu-l4" {
			return one
		}
	}
	t.Fatal("no pool gpu-l4")
	return capacity.Pool{}
}

type groups = map[string]ask.Answer[clusterautoscaler.Live]

func TestWhatLivesBoundsThePromise(t *testing.T) {
	planned := Decide(valid(t, with(gpuPool(pool.ClusterAutoscaler, upTo(8)))), answers())
	name := planned.Pools[1].GroupNames()[0]
	degraded := clusterautoscaler.Live{Exists: true, Status: "DEGRADED", Max: 8, Desired: 8}
	for _, c := range []struct {
		name    string
		live    groups
		maximum int
		boundBy capacity.Kind
		says    string
	}{
		{"as planned", groups{name: ask.Known(clusterautoscaler.Live{Exists: true, Max: 8})}, 8,
			capacity.ConfiguredKind, ""},
		{"larger by hand", groups{name: ask.Known(clusterautoscaler.Live{Exists: true, Max: 20})}, 8,
			capacity.ConfiguredKind, ""},
		{"cut by hand", groups{name: ask.Known(clusterautoscaler.Live{Exists: true, Max: 2})}, 2, capacity.Live,
			"allows 2 nodes in AWS, and 8 are configured; run pulumi up --refresh"},
		{"gone", groups{name: ask.Known(clusterautoscaler.Live{})}, 0, capacity.Live, "does not exist"},
		{"degraded (review M4)", groups{name: ask.Known(degraded)}, 1, capacity.Live, "is DEGRADED in EKS"},
		{"not answered", groups{name: ask.Unknown[clusterautoscaler.Live]("AccessDenied")}, 1, capacity.Unknown,
			"AccessDenied"},
		{"not asked about", groups{}, 1, capacity.Unknown, "it was not asked"},
		{"a preview", nil, 8, capacity.ConfiguredKind, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := promised(t, planned, func(o *Observed) { o.Groups = c.live })
			if p.Nodes.Maximum != c.maximum || p.BoundBy != c.boundBy ||
				!strings.Contains(p.Ceilings[0].Detail, c.says) {
				t.Errorf("maximum %d bound by %v, want %d by %s that says %q", p.Nodes.Maximum, p.Ceilings[0],
					c.maximum,
					c.boundBy, c.says)
			}
		})
	}
}

// Issue 11, point 6: what the cluster says of a NodePool bounds the promise.
func TestTheNodePoolThatLivesBoundsThePromise(t *testing.T) {
	static := func(p *config.Pool) {
		p.Static, p.NodeCount, p.MaxNodeCount = true, new(3), nil
	}
	gpus := func(n string) nodepool.Live {
		return nodepool.Live{Exists: true, Limits: map[string]string{pool.GPUResource: n}}
	}
	replicas := func(n int) nodepool.Live {
		return nodepool.Live{Exists: true, Replicas: &n, Limits: map[string]string{"nodes": "4"}}
	}
	deleting := gpus("8")
	deleting.Deleting = true
	type answer = ask.Answer[nodepool.Live]
	for _, c := range []struct {
		name    string
		pool    func(*config.Pool)
		live    map[string]answer
		maximum int
		boundBy capacity.Kind
		says    string
	}{
		{"as planned", upTo(8), map[string]answer{"gpu-l4": ask.Known(gpus("8"))}, 8, capacity.ConfiguredKind, ""},
		{"raised by hand", upTo(8), map[string]answer{"gpu-l4": ask.Known(gpus("80"))}, 8, capacity.ConfiguredKind, ""},
		{"without limits", upTo(8), map[string]answer{"gpu-l4": ask.Known(nodepool.Live{Exists: true})}, 8,
			capacity.ConfiguredKind, ""},
		{"cut by hand", upTo(8), map[string]answer{"gpu-l4": ask.Known(gpus("2"))}, 2, capacity.Live,
			"NodePool gpu-l4 allows 2 nodes in the cluster (limit nvidia.com/gpu 2), and 8 are configured"},
		{"cut to nothing", upTo(8), map[string]answer{"gpu-l4": ask.Known(gpus("0"))}, 0, capacity.Live,
			"allows 0 nodes"},
		{"gone", upTo(8), map[string]answer{"gpu-l4": ask.Known(nodepool.Live{})}, 1, capacity.Live,
			"does not exist, so nothing scales the pool"},
		{"going", upTo(8), map[string]answer{"gpu-l4": ask.Known(deleting)}, 0, capacity.Live, "is being deleted"},
		{"a limit that nobody can count", upTo(8), map[string]answer{"gpu-l4": ask.Known(nodepool.Live{
			Exists: true, Limits: map[string]string{"ephemeral-storage": "1Ti"}})}, 1, capacity.Unknown,
			"limit ephemeral-storage"},
		{"not answered", upTo(8), map[string]answer{"gpu-l4": ask.Unknown[nodepool.Live]("401 Unauthorized")}, 1,
			capacity.Unknown, "401 Unauthorized"},
		{"not asked about", upTo(8), map[string]answer{}, 1, capacity.Unknown, "it was not asked"},
		{"a preview", upTo(8), nil, 8, capacity.ConfiguredKind, ""},
		{"static as planned", static, map[string]answer{"gpu-l4": ask.Known(replicas(3))}, 3, capacity.ConfiguredKind,
			""},
		{"static cut by hand", static, map[string]answer{"gpu-l4": ask.Known(replicas(2))}, 2, capacity.Live,
			"replicas 2"},
	} {
		t.Run(c.name, func(t *testing.T) {
			planned := Decide(valid(t, with(gpuPool(pool.Karpenter, c.pool))), answers())
			p := promised(t, planned, func(o *Observed) { o.NodePools = c.live })
			if p.Nodes.Maximum != c.maximum || p.BoundBy != c.boundBy ||
				!strings.Contains(p.Ceilings[0].Detail, c.says) {
				t.Errorf("maximum %d bound by %v, want %d by %s that says %q", p.Nodes.Maximum, p.Ceilings[0],
					c.maximum,
					c.boundBy, c.says)
			}
		})
	}
}

func TestEachNodePoolOfADividedPoolBoundsItsWayOfBuying(t *testing.T) {
	planned := Decide(valid(t, with(gpuPool(pool.Karpenter, upTo(8), func(p *config.Pool) {
		p.CapacityTypes = []pool.CapacityType{pool.Spot, pool.OnDemand}
		p.MaxOnDemandNodeCount = new(3)
	}))), answers())
	for name, c := range map[string]struct {
		onDemand, spot string // limits in GPUs; empty: gone
		maximum, firm  int
	}{
		"as planned":     {"3", "5", 8, 3},
		"spot cut":       {"3", "2", 5, 3},
		"on demand cut":  {"1", "5", 6, 1},
		"spot raised":    {"3", "9", 8, 3},
		"spot gone":      {"3", "", 3, 3},
		"on demand gone": {"", "5", 5, 1}, // the one that runs
		"both gone":      {"", "", 1, 1},
	} {
		live := map[string]ask.Answer[nodepool.Live]{}
		for i, limit := range []string{c.onDemand, c.spot} {
			one := nodepool.Live{}
			if limit != "" {
				one = nodepool.Live{Exists: true, Limits: map[string]string{pool.GPUResource: limit}}
			}
			live[planned.Pools[1].NodePools()[i].Name] = ask.Known(one)
		}
		p := promised(t, planned, func(o *Observed) { o.NodePools = live })
		if p.Nodes.Maximum != c.maximum || p.Nodes.Firm != c.firm {
			t.Errorf("%s: %+v by %+v, want %d and %d", name, p.Nodes, p.Ceilings, c.maximum, c.firm)
		}
	}
}

// The general pool is bounded in vCPUs and memory; its limits as planned are no ceiling of their own.
func TestTheLimitsOfTheGeneralPoolAreReadAsItsNodesCount(t *testing.T) {
	env := valid(t, with(gpuPool(pool.Karpenter)), func(env *config.Environment) {
		env.General = &config.General{Scaler: pool.Karpenter, Limits: config.GeneralLimits{VCPUs: 16, MemoryGiB: 64}}
		env.PodsSelectPool = true
	})
	planned := Decide(env, answers())
	live := map[string]ask.Answer[nodepool.Live]{}
	for _, p := range planned.Pools {
		for _, part := range p.NodePools() {
			live[part.Name] = ask.Known(nodepool.Planned(part.Spec))
		}
	}
	for _, p := range planned.Document(Observed{Now: noon, NodePools: live}).Pools {
		if slices.ContainsFunc(p.Ceilings, func(c capacity.Ceiling) bool {
			return c.Kind == capacity.Live || c.Kind == capacity.Unknown
		}) {
			t.Errorf("%s: %v", p.Name, p.Ceilings)
		}
	}
}

func TestAGroupCutInOneZoneBoundsTheShareOfThatZone(t *testing.T) {
	planned := Decide(valid(t, with(gpuPool(pool.ClusterAutoscaler, upTo(8),
		func(p *config.Pool) { p.Spread = "per-zone" }))), answers())
	live := groups{}
	for i, name := range planned.Pools[1].GroupNames() {
		live[name] = ask.Known(clusterautoscaler.Live{Exists: true, Max: []int{1, 4}[i]})
	}
	p := promised(t, planned, func(o *Observed) { o.Groups = live })
	if p.Nodes.Maximum != 5 || p.LargestGang != 4 {
		t.Errorf("maximum %d, largest gang %d; want 5 and 4", p.Nodes.Maximum, p.LargestGang)
	}
}

// Review M4: a degraded group keeps its nodes and may get no more; the group of the other zone works.
func TestAGroupDegradedInOneZonePromisesTheNodesOfThatZone(t *testing.T) {
	planned := Decide(valid(t, with(gpuPool(pool.ClusterAutoscaler, upTo(8),
		func(p *config.Pool) { p.Spread = "per-zone" }))), answers())
	live := groups{}
	for i, name := range planned.Pools[1].GroupNames() {
		status := []string{"DEGRADED", "ACTIVE"}[i]
		live[name] = ask.Known(clusterautoscaler.Live{Exists: true, Status: status, Max: []int{4, 2}[i]})
	}
	for _, working := range []int{0, 1} { // nodes in the other zone
		p := promised(t, planned, func(o *Observed) {
			o.Groups = live
			o.Realized["gpu-l4"] = capacityplan.Realized{Nodes: map[capacityplan.Place]int{
				{Zone: "us-west-2a", CapacityType: pool.OnDemand}: 1,
				{Zone: "us-west-2b", CapacityType: pool.OnDemand}: working,
			}}
		})
		if p.Nodes.Maximum != 3 || p.LargestGang != 2 {
			t.Errorf("%d nodes in the other zone: maximum %d, largest gang %d; want 3 and 2", working,
				p.Nodes.Maximum, p.LargestGang)
		}
	}
}

func TestAPoolThatTheUpdateLeftOutPromisesWhatRuns(t *testing.T) {
	planned := Decide(valid(t, karpenterPool...), answers())
	p := promised(t, planned, func(o *Observed) { o.NotMade = map[string]bool{"gpu-l4": true} })
	if p.Nodes.Maximum != 1 || p.BoundBy != capacity.NotApplied {
		t.Errorf("maximum %d bound by %s", p.Nodes.Maximum, p.BoundBy)
	}
}

func TestInstancesOfOthersAreTakenOutOfTheQuota(t *testing.T) {
	onDemand := func(p *config.Pool) { p.CapacityTypes = []pool.CapacityType{pool.OnDemand} }
	planned := Decide(valid(t, with(gpuPool(pool.Karpenter, upTo(16), onDemand))), answers())
	for _, c := range []struct {
		name    string
		others  map[string]ask.Answer[int]
		maximum int
		says    string
	}{
		{"nobody else", map[string]ask.Answer[int]{onDemandQuota: ask.Known(0), spotQuota: ask.Known(0)}, 16, ""},
		{"another stack", map[string]ask.Answer[int]{onDemandQuota: ask.Known(8)}, 14, "8 used now"},
		{"not answered", map[string]ask.Answer[int]{onDemandQuota: denied}, 1, "AccessDenied"},
	} {
		p := promised(t, planned, func(o *Observed) { o.OthersVCPUs = c.others })
		if p.Nodes.Maximum != c.maximum || !strings.Contains(p.Ceilings[0].Detail, c.says) {
			t.Errorf("%s: maximum %d, %v; want %d", c.name, p.Nodes.Maximum, p.Ceilings[0], c.maximum)
		}
	}
}

// Field fault FR-02.
func TestAReservationNamedByTwoPoolsCountsOnce(t *testing.T) {
	env := valid(t, with(gpuPool(pool.Karpenter, reserved("")), gpuPool(pool.Karpenter, named("res-b"), reserved(""))),
		func(env *config.Environment) { env.PodsSelectPool = true })
	sum := 0
	for _, p := range Decide(env, answers()).Document(Observed{Now: noon}).Pools {
		sum += p.Nodes.Maximum
	}
	if sum > 3 {
		t.Errorf("a reservation of 3 instances promises %d nodes", sum)
	}
	names(t, Check(environment(with(gpuPool(pool.Karpenter, reserved("")),
		gpuPool(pool.Karpenter, named("res-b"), reserved("2027-01-01T00:00:00Z"))))),
		`pools[1] "res-b".reservation: pool "gpu-l4" gives another count or end for cr-1`)
}

func TestAReservationHoldsItsPartOfTheOnDemandQuota(t *testing.T) {
	onDemand := func(p *config.Pool) { p.CapacityTypes = []pool.CapacityType{pool.OnDemand} }
	env := valid(t, with(gpuPool(pool.Karpenter, upTo(16), onDemand), gpuPool(pool.Karpenter, named("a"), reserved("")),
		gpuPool(pool.Karpenter, named("b"), reserved(""))),
		func(env *config.Environment) { env.PodsSelectPool = true })
	// 64 vCPUs less three instances of 4, whether they run or not: 13 nodes.
	if p := promised(t, Decide(env, answers()), func(*Observed) {}); p.Nodes.Maximum != 13 {
		t.Errorf("maximum %d, %v", p.Nodes.Maximum, p.Ceilings[0])
	}
}

func TestAFullSubnetOfOurOwnNetworkBoundsThePromise(t *testing.T) {
	planned := Decide(valid(t, karpenterPool...), answers())
	free := map[string]ask.Answer[int]{}
	for _, s := range planned.Network.Private {
		free[s.CIDR] = ask.Known(addressReserve)
	}
	if p := promised(t, planned, func(o *Observed) { o.FreeAddresses = free }); p.Nodes.Maximum != 1 ||
		p.BoundBy != capacity.SubnetAddresses {
		t.Errorf("maximum %d bound by %s", p.Nodes.Maximum, p.BoundBy)
	}
}

func TestAFixedPoolIsNotAskedForTheBoundsOfItsGroup(t *testing.T) {
	planned := Decide(valid(t, with(gpuPool(pool.Fixed))), answers())
	p := promised(t, planned, func(o *Observed) { o.Groups = groups{} })
	if p.BoundBy != capacity.NoAutoscaler || p.Error != "" ||
		slices.ContainsFunc(p.Ceilings, func(c capacity.Ceiling) bool { return c.Kind == capacity.Unknown }) {
		t.Errorf("bound by %s, error %q, ceilings %v", p.BoundBy, p.Error, p.Ceilings)
	}
}

// A node takes its addresses out of one subnet: two of a zone that have half of them left each hold none. Two nodes of
// the system group may stand in either.
func TestWhatTwoSubnetsOfAZoneHaveLeftIsNotAddedUp(t *testing.T) {
	shape := answers().Shapes["g6.xlarge"].Value()
	half := shape.MaxENIs * shape.IPv4PerENI / 2
	third := subnet("subnet-c", "us-west-2a", "vpc-1")
	third.Found = ask.Known(ask.SubnetDescription{VpcID: "vpc-1", Zone: "us-west-2a", CIDR: "10.0.32.0/20"})
	env := valid(t, existingNetwork[0], with(gpuPool(pool.Karpenter)))
	planned := Decide(env, answers(func(a *ask.Answers) {
		a.Network.CIDR = ask.Known("10.0.0.0/16")
		a.Network.Subnets = []ask.Subnet{
			subnet("subnet-a", "us-west-2a", "vpc-1"), subnet("subnet-b", "us-west-2b", "vpc-1"), third,
		}
	}))
	free := func(a, b, c int) map[string]ask.Answer[int] {
		return map[string]ask.Answer[int]{
			"10.0.0.0/20": ask.Known(a), "10.0.16.0/20": ask.Known(b), "10.0.32.0/20": ask.Known(c),
		}
	}
	nobody := func(o *Observed) { o.Realized = map[string]capacityplan.Realized{} }
	for _, c := range []struct {
		free    map[string]ask.Answer[int]
		maximum int
	}{
		{free(addressReserve+5*half, 0, addressReserve+5*half), 2},
		{free(addressReserve+6*half, 0, addressReserve+5*half), 3},
		{free(addressReserve+6*half, 0, addressReserve+6*half), 4},
	} {
		p := promised(t, planned, func(o *Observed) { nobody(o); o.FreeAddresses = c.free })
		if p.Nodes.Maximum != c.maximum {
			t.Errorf("free %v: maximum %d, want %d; %v", c.free, p.Nodes.Maximum, c.maximum, p.Ceilings[0])
		}
	}
}

// A limit that somebody raised promises nothing more, and others must not count on what its pool may now take.
func TestALimitThatWasRaisedTakesFromOthersAndPromisesNothing(t *testing.T) {
	onDemand := func(p *config.Pool) { p.CapacityTypes = []pool.CapacityType{pool.OnDemand} }
	planned := Decide(valid(t, func(env *config.Environment) { env.PodsSelectPool = true },
		with(gpuPool(pool.Karpenter, named("firm"), upTo(8), onDemand, func(p *config.Pool) { p.Priority = 1 }),
			gpuPool(pool.Karpenter, named("raised"), upTo(8), onDemand))), answers())
	limit := func(gpus string) ask.Answer[nodepool.Live] {
		return ask.Known(nodepool.Live{Exists: true, Limits: map[string]string{pool.GPUResource: gpus}})
	}
	for _, c := range []struct {
		raised           ask.Answer[nodepool.Live]
		firm, ofTheOther int
	}{
		{limit("8"), 8, 8},
		{limit("10"), 6, 8},
		{limit("200"), 0, 8},
		{ask.Known(nodepool.Live{Exists: true}), 0, 8},
	} {
		document := planned.Document(Observed{
			Now: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC),
			Realized: map[string]capacityplan.Realized{
				"system": {}, "firm": {}, "raised": {},
			},
			NodePools:   map[string]ask.Answer[nodepool.Live]{"firm": limit("8"), "raised": c.raised},
			OthersVCPUs: map[string]ask.Answer[int]{"L-DB2E81BA": ask.Known(0)},
		})
		got := map[string]int{}
		for _, p := range document.Pools {
			got[p.Name] = p.Nodes.Maximum
		}
		if got["firm"] != c.firm || got["raised"] > c.ofTheOther {
			t.Errorf("limit %v: firm is promised %d, want %d; raised %d, at most %d", c.raised, got["firm"], c.firm,
				got["raised"], c.ofTheOther)
		}
	}
}

// The update that takes a pool's objects out of the stack deletes them after it has counted.
func TestObjectsThatAnUpdateDeletesPromiseNothing(t *testing.T) {
	applied := func(env *config.Environment) { env.GitOps = config.GitOps{NodePools: "manifests", Applied: true} }
	there := map[string]ask.Answer[nodepool.Live]{"gpu-l4": ask.Known(nodepool.Live{
		Exists: true, Limits: map[string]string{pool.GPUResource: "8"},
	})}
	for former, want := range map[string]int{"apply": 1, "keep": 8, "manifests": 8} {
		planned := Decide(valid(t, with(gpuPool(pool.Karpenter, upTo(8))), applied), answers(func(a *ask.Answers) {
			living()(a)
			a.Former = ask.Known(ask.Former{NodePools: former})
		}))
		p := promised(t, planned, func(o *Observed) { o.NodePools = there })
		if p.Nodes.Maximum != want {
			t.Errorf("after %s: promised %d, want %d", former, p.Nodes.Maximum, want)
		}
	}
}
