package plan

import (
	"strings"
	"testing"

	"github.com/headroom-eks/headroom/capacity"
	capacityplan "github.com/headroom-eks/headroom/capacity/plan"
	"github.com/headroom-eks/headroom/components/nodepool"
	"github.com/headroom-eks/headroom/infra/ask"
	"github.com/headroom-eks/headroom/infra/config"
	"github.com/headroom-eks/headroom/pool"
)

// divided lets so many nodes of a pool be on-demand.
func divided(onDemand int) func(*config.Pool) {
	return func(p *config.Pool) { p.MaxOnDemandNodeCount = ptr(onDemand) }
}

// bought are running nodes by how they were bought.
func bought(onDemand, spot int) capacityplan.Realized {
	return capacityplan.Realized{Nodes: map[capacityplan.Place]int{
		{Zone: "us-west-2a", CapacityType: pool.OnDemand}: onDemand,
		{Zone: "us-west-2a", CapacityType: pool.Spot}:     spot,
	}}
}

// beside are the promises of pool gpu-l4 and of a pool firm, which buys on demand alone and comes after it.
func beside(t *testing.T, o Observed, changes ...func(*config.Pool)) (mixed, firm capacity.Pool) {
	t.Helper()
	oneWay := func(p *config.Pool) { p.CapacityTypes = []pool.CapacityType{pool.OnDemand} }
	env := valid(t, with(gpuPool(pool.Karpenter, append(changes, upTo(16))...)),
		with(gpuPool(pool.Karpenter, named("later"), upTo(12), oneWay)))
	o.Cluster, o.Now = "headroom-dev", noon
	for _, p := range Decide(env, answers()).Document(o).Pools {
		switch p.Name {
		case "gpu-l4":
			mixed = p
		case "later":
			firm = p
		}
	}
	return mixed, firm
}

// Quotas of 64 vCPUs hold 16 nodes each.
func TestAPoolDividedByWaysLeavesTheOnDemandQuotaToOthers(t *testing.T) {
	mixed, firm := beside(t, Observed{})
	if mixed.Nodes.Maximum != 16 || firm.Nodes.Maximum != 0 {
		t.Errorf("undivided: %+v and %+v", mixed.Nodes, firm.Nodes)
	}
	mixed, firm = beside(t, Observed{}, divided(4))
	if mixed.Nodes != (capacity.Counts{Maximum: 16, Firm: 4}) || firm.Nodes.Maximum != 12 {
		t.Errorf("divided: %+v and %+v", mixed.Nodes, firm.Nodes)
	}
	reserve := func(p *config.Pool) {
		p.CapacityTypes = []pool.CapacityType{pool.Reserved, pool.Spot, pool.OnDemand}
		p.Reservation = &config.Reservation{ID: "cr-0123456789abcdef0", Count: 2}
	}
	// The reservation holds 2 of the 16 nodes of the quota, and the pool may take 4 more.
	mixed, firm = beside(t, Observed{}, divided(4), reserve)
	if mixed.Nodes != (capacity.Counts{Maximum: 16, Firm: 4}) || firm.Nodes.Maximum != 10 {
		t.Errorf("divided, with a reservation: %+v and %+v", mixed.Nodes, firm.Nodes)
	}
}

// Nothing holds two NodePools together, so a pool that has more nodes of one way than its limit is not at its maximum.
func TestNodesAboveALimitOfTheirWayCountBesideTheMaximum(t *testing.T) {
	o := Observed{Realized: map[string]capacityplan.Realized{"gpu-l4": bought(10, 0)}}
	mixed, firm := beside(t, o, divided(4))
	if mixed.Nodes != (capacity.Counts{Realized: 10, Maximum: 16, Firm: 10}) || firm.Nodes.Maximum != 6 {
		t.Errorf("%+v and %+v", mixed.Nodes, firm.Nodes)
	}
}

// Three spot nodes ran in the pool's NodePool when it was divided: it makes one node more on demand, and the other one
// all its twelve.
func TestDisplacedNodesTakeOfTheLimitOfTheirNodePool(t *testing.T) {
	o := Observed{
		Realized:  map[string]capacityplan.Realized{"gpu-l4": bought(0, 3)},
		Displaced: map[string]int{"gpu-l4": 3},
	}
	mixed, _ := beside(t, o, divided(4))
	if mixed.Nodes != (capacity.Counts{Realized: 3, Maximum: 13, Firm: 1}) ||
		mixed.BoundBy != capacity.Live || !strings.Contains(mixed.Ceilings[0].Detail,
		"3 spot nodes that ran when the pool was divided take of the 4 that NodePool gpu-l4 may have") {
		t.Errorf("%+v, ceiling %+v", mixed.Nodes, mixed.Ceilings[0])
	}
}

func TestThePlanNamesTheNodePoolsOfAPoolAndTheirLimits(t *testing.T) {
	of := func(changes ...func(*config.Pool)) (got []string, leaving string) {
		p := Decide(valid(t, with(gpuPool(pool.Karpenter, append(changes, upTo(16))...))), answers()).Pools[1]
		for _, part := range p.NodePools() {
			got = append(got, part.Name+" "+nodepool.Limits(part.Spec)[pool.GPUResource])
		}
		return got, p.NodePool.Leaving
	}
	if got, leaving := of(divided(4)); strings.Join(got, ", ") != "gpu-l4 4, gpu-l4-spot 12" || leaving != "" {
		t.Errorf("divided: %q, leaving %q", got, leaving)
	}
	if got, leaving := of(); strings.Join(got, ", ") != "gpu-l4 16" || leaving != "gpu-l4-spot" {
		t.Errorf("undivided: %q, leaving %q", got, leaving)
	}
}

func TestNodesThatADivisionReplacesAreAnnounced(t *testing.T) {
	displaced := func(a *ask.Answers) { a.Displaced["gpu-l4"] = ask.Known(3) }
	mixed := gpuPool(pool.Karpenter, upTo(16), divided(4))
	said := warning(Decide(valid(t, with(mixed)), answers(living(), displaced)),
		"maxOnDemandNodeCount makes a NodePool")
	if !strings.Contains(said, "gpu-l4 (3 nodes)") {
		t.Errorf("divided: %q", said)
	}
	mixed.MaxOnDemandNodeCount = nil
	said = warning(Decide(valid(t, with(mixed)), answers(living(), displaced)), "without maxOnDemandNodeCount")
	if !strings.Contains(said, "gpu-l4-spot (3 nodes)") {
		t.Errorf("undivided: %q", said)
	}
	if said = warning(Decide(valid(t, with(mixed)), answers(living())), "maxOnDemandNodeCount"); said != "" {
		t.Errorf("nothing is replaced, and it says %q", said)
	}
}
