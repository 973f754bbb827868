package plan

import (
	"strings"
	"testing"
	"time"

	"github.com/headroom-eks/headroom/capacity"
	capacityplan "github.com/headroom-eks/headroom/capacity/plan"
	"github.com/headroom-eks/headroom/infra/ask"
	"github.com/headroom-eks/headroom/infra/config"
	"github.com/headroom-eks/headroom/pool"
)

var noon = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

func running(nodes int) capacityplan.Realized {
	return capacityplan.Realized{Nodes: map[capacityplan.Place]int{
		{Zone: "us-west-2a", CapacityType: pool.OnDemand}: nodes,
	}}
}

// promise is what pool gpu-l4 promises.
func promise(t *testing.T, env config.Environment, a ask.Answers, realized capacityplan.Realized) capacity.Pool {
	t.Helper()
	doc := Decide(env, a).Document(Observed{
		Cluster:  "headroom-dev",
		Now:      noon,
		Realized: map[string]capacityplan.Realized{"gpu-l4": realized},
	})
	for _, p := range doc.Pools {
		if p.Name == "gpu-l4" {
			return p
		}
	}
	t.Fatal("no pool gpu-l4")
	return capacity.Pool{}
}

// Field fault BR-20.
func TestFoundingBug(t *testing.T) {
	env := valid(t, with(gpuPool(pool.Fixed, upTo(4), func(p *config.Pool) { p.MinNodeCount = ptr(0) })))
	p := promise(t, env, answers(), running(1))
	if p.Nodes != (capacity.Counts{Realized: 1, Maximum: 1, Firm: 1}) || p.BoundBy != capacity.NoAutoscaler {
		t.Errorf("%+v bound by %s", p.Nodes, p.BoundBy)
	}
}

var denied = ask.Unknown[int]("AccessDenied")

var promises = []struct {
	name          string
	pool          config.Pool
	change        func(*config.Environment)
	answer        func(*ask.Answers)
	realized      int
	maximum, firm int
	boundBy       capacity.Kind
}{
	{"Karpenter, spot and on demand", gpuPool(pool.Karpenter), nil, nil, 0, 4, 4, capacity.ConfiguredKind},
	{"both quotas together", gpuPool(pool.Karpenter, upTo(40)), nil, nil, 0, 32, 16, capacity.VCPUQuota},
	{"a reserve for others", gpuPool(pool.Karpenter, upTo(40)), func(env *config.Environment) {
		env.Capacity.ReservedVCPUs = config.ReservedVCPUs{OnDemand: 60, Spot: 60}
	}, nil, 0, 2, 1, capacity.VCPUQuota},
	{"quotas that could not be read", gpuPool(pool.Karpenter), nil, func(a *ask.Answers) {
		a.Quotas[onDemandQuota], a.Quotas[spotQuota] = denied, denied
	}, 1, 1, 1, capacity.Unknown},
	{"only the spot quota known", gpuPool(pool.Karpenter), nil,
		func(a *ask.Answers) { a.Quotas[onDemandQuota] = denied }, 1, 4, 1, capacity.ConfiguredKind},
	{"cluster-autoscaler", gpuPool(pool.ClusterAutoscaler, upTo(8)), nil, nil, 1, 8, 8, capacity.ConfiguredKind},
	{"claims that cluster-autoscaler cannot wake (field fault BR-11)", gpuPool(pool.ClusterAutoscaler, upTo(8),
		func(p *config.Pool) { p.DeviceMode, p.AcceptNoWakeFromZero = pool.DRA, true }), nil, nil,
		2, 2, 2, capacity.WakeFromZero},
	{"handed over and not applied", gpuPool(pool.Karpenter), handedOver, nil, 0, 0, 0, capacity.NotApplied},
	{"handed over and applied", gpuPool(pool.Karpenter), func(env *config.Environment) {
		env.GitOps = config.GitOps{NodePools: "manifests", Applied: true}
	}, nil, 0, 4, 4, capacity.ConfiguredKind},
	{"static", gpuPool(pool.Karpenter, static(2)), nil, nil, 0, 2, 2, capacity.ConfiguredKind},
	{"reserved", gpuPool(pool.Karpenter, upTo(9), reserved("")), nil, nil, 0, 3, 3, capacity.Reservation},
	{"a reservation that has ended", gpuPool(pool.Karpenter, upTo(9), reserved("2026-01-01T00:00:00Z")), nil, nil,
		0, 0, 0, capacity.Reservation},
	{"zones that could not be asked about", gpuPool(pool.Karpenter), nil,
		func(a *ask.Answers) { delete(a.Offerings, "g6.xlarge") }, 1, 1, 1, capacity.Unknown},
}

func reserved(end string) func(*config.Pool) {
	return func(p *config.Pool) { p.Reservation = &config.Reservation{ID: "cr-1", Count: 3, End: end} }
}

func TestPromiseOfEachKindOfPool(t *testing.T) {
	for _, c := range promises {
		t.Run(c.name, func(t *testing.T) {
			changes := environmentOf(c.pool)
			if c.change != nil {
				changes = append(changes, c.change)
			}
			a := answers()
			if c.answer != nil {
				c.answer(&a)
			}
			p := promise(t, valid(t, changes...), a, running(c.realized))
			want := capacity.Counts{Realized: c.realized, Maximum: c.maximum, Firm: c.firm}
			if p.Nodes != want || p.BoundBy != c.boundBy {
				t.Errorf("want %+v bound by %s, found %+v bound by %s; ceilings %+v", want, c.boundBy, p.Nodes,
					p.BoundBy, p.Ceilings)
			}
		})
	}
}

// Field fault FR-02, and what a reservation holds of the on-demand quota: 64 vCPUs are 16 nodes, 3 of them reserved.
func TestReservationCountsOnceForTwoPoolsAndAgainstTheQuota(t *testing.T) {
	onDemand := func(p *config.Pool) { p.CapacityTypes = []pool.CapacityType{pool.OnDemand} }
	env := valid(t, with(gpuPool(pool.Karpenter, upTo(9), reserved(""))),
		with(gpuPool(pool.Karpenter, named("second"), upTo(9), reserved(""))),
		with(gpuPool(pool.Karpenter, named("third"), upTo(40), onDemand)))
	doc := Decide(env, answers()).Document(Observed{Cluster: "headroom-dev", Now: noon})
	got := map[string]int{}
	for _, p := range doc.Pools {
		got[p.Name] = p.Nodes.Maximum
	}
	if got["gpu-l4"] != 3 || got["second"] != 0 || got["third"] != 13 {
		t.Errorf("%v; want the three instances once, and 13 on demand", got)
	}
}

func TestPoolThatCouldNotBeCountedSaysSoAndPromisesNothing(t *testing.T) {
	p := promise(t, valid(t, karpenterPool...), answers(), capacityplan.Realized{Unknown: "UnauthorizedOperation"})
	if p.Nodes != (capacity.Counts{}) || !strings.Contains(p.Error, "UnauthorizedOperation") {
		t.Errorf("%+v, error %q", p.Nodes, p.Error)
	}
}

func TestLargestGangOfASpreadPoolIsOneZonesShare(t *testing.T) {
	env := valid(t, with(gpuPool(pool.ClusterAutoscaler, upTo(5), func(p *config.Pool) { p.Spread = "per-zone" })))
	p := promise(t, env, answers(), running(0))
	if p.Nodes.Maximum != 5 || p.LargestGang != 3 {
		t.Errorf("maximum %d, largest gang %d", p.Nodes.Maximum, p.LargestGang)
	}
}

func TestEveryPoolIsListedAndOnlyGPUPoolsPromise(t *testing.T) {
	env := valid(t, karpenterPool[0], withGeneral(pool.Karpenter),
		func(env *config.Environment) { env.Capacity.ValidFor = "30m" })
	doc := Decide(env, answers()).Document(Observed{Cluster: "headroom-dev", Now: noon})
	if got := doc.ValidUntil.Sub(doc.ObservedAt); got != 30*time.Minute {
		t.Errorf("valid for %s", got)
	}
	listed := ""
	for _, p := range doc.Pools {
		listed += p.Name + " "
		if p.Name == config.GeneralPool && (p.Advertised || p.Nodes.Maximum > p.Nodes.Realized) {
			t.Errorf("the general pool promises %+v", p.Nodes)
		}
	}
	if listed != "general gpu-l4 system " {
		t.Errorf("pools %s", listed)
	}
}

func TestFewerPodsOnANodeLeaveRoomForMoreNodes(t *testing.T) {
	cost := func(changes ...func(*config.Pool)) int {
		p := Decide(valid(t, with(gpuPool(pool.Karpenter, changes...))), answers()).Pools[1]
		return p.Facts.Uses[0].CostPerNode
	}
	few := cost(func(p *config.Pool) { p.Kubelet.MaxPods = 8 })
	if all := cost(); few >= all || few == 0 {
		t.Errorf("%d addresses with 8 pods, %d with all", few, all)
	}
}

func TestAddressesThatCouldNotBeAskedAgainAreUnknown(t *testing.T) {
	n := Decide(valid(t, existingNetwork...), answers(func(a *ask.Answers) {
		a.Network.CIDR = ask.Known("10.0.0.0/16")
		a.Network.Subnets = []ask.Subnet{
			subnet("subnet-a", "us-west-2a", "vpc-1"), subnet("subnet-b", "us-west-2b", "vpc-1"),
		}
	})).Network
	limits := n.addresses(Observed{FreeAddresses: map[string]ask.Answer[int]{
		"10.0.0.0/20": denied, "10.0.16.0/20": ask.Known(500),
	}})
	if len(limits) != 2 || !strings.Contains(limits[0].Unknown, "AccessDenied") || limits[0].Amount != 0 ||
		limits[1].Unknown != "" || limits[1].Amount != 500-addressReserve {
		t.Errorf("%+v", limits)
	}
}
