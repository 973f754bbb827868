package infra

import (
	"strings"
	"testing"
	"time"

	"github.com/headroom-eks/headroom/capacity"
	capacityplan "github.com/headroom-eks/headroom/capacity/plan"
	"github.com/headroom-eks/headroom/infra/config"
	"github.com/headroom-eks/headroom/pool"
)

var noon = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

func running(nodes int, zone string, how pool.CapacityType) capacityplan.Realized {
	return capacityplan.Realized{Nodes: map[capacityplan.Place]int{{Zone: zone, CapacityType: how}: nodes}}
}

// promise is what one pool of an environment promises.
func promise(t *testing.T, members string, f facts, realized map[string]capacityplan.Realized, name string) capacity.Pool {
	t.Helper()
	for _, p := range document("headroom-dev", configured(t, members), f, realized, noon).Pools {
		if p.Name == name {
			return p
		}
	}
	t.Fatalf("no pool %s", name)
	return capacity.Pool{}
}

func TestFoundingBug(t *testing.T) { // field fault BR-20
	p := promise(t,
		`, "pools": [{"name": "gpu-l4", "scaler": "fixed", "instanceTypes": ["g6.xlarge"], "nodeCount": 1, "minNodeCount": 0, "maxNodeCount": 4}]`,
		answers(), map[string]capacityplan.Realized{"gpu-l4": running(1, "us-west-2a", pool.OnDemand)}, "gpu-l4")
	if p.Nodes != (capacity.Counts{Realized: 1, Maximum: 1, Firm: 1}) || p.BoundBy != capacity.NoAutoscaler {
		t.Errorf("%+v bound by %s", p.Nodes, p.BoundBy)
	}
}

func TestPromiseOfEachKindOfPool(t *testing.T) {
	for _, c := range []struct {
		name, members string
		change        func(*facts)
		realized      int
		maximum, firm int
		boundBy       capacity.Kind
	}{
		{"Karpenter, spot and on demand", karpenterPool, nil, 0, 4, 4, capacity.ConfiguredKind},
		{"both quotas together", strings.Replace(karpenterPool, "4}", "40}", 1), nil, 0, 32, 16, capacity.VCPUQuota},
		{"a reserve for others", strings.Replace(karpenterPool, "4}", "40}", 1) +
			`, "capacity": {"reservedVcpus": {"onDemand": 60, "spot": 60}}`, nil, 0, 2, 1, capacity.VCPUQuota},
		{"quotas that could not be read", karpenterPool, func(f *facts) {
			f.Quotas["L-DB2E81BA"], f.Quotas["L-3819A6DF"] = quota{Reason: "AccessDenied"},
				quota{Reason: "AccessDenied"}
		}, 1, 1, 1, capacity.Unknown},
		{"only the spot quota known", karpenterPool,
			func(f *facts) { f.Quotas["L-DB2E81BA"] = quota{Reason: "AccessDenied"} }, 1, 4, 1,
			capacity.ConfiguredKind},
		{"cluster-autoscaler",
			`, "pools": [{"name": "gpu-l4", "scaler": "cluster-autoscaler", "instanceTypes": ["g6.xlarge"], "maxNodeCount": 8}]`, nil, 1, 8, 8, capacity.ConfiguredKind},
		{"claims that cluster-autoscaler cannot wake (field fault BR-11)",
			`, "pools": [{"name": "gpu-l4", "scaler": "cluster-autoscaler", "deviceMode": "dra", "acceptNoWakeFromZero": true, "instanceTypes": ["g6.xlarge"], "maxNodeCount": 8}]`, nil, 2, 2, 2, capacity.WakeFromZero},
		{"handed over and not applied", karpenterPool + `, "gitOps": {"nodePools": "manifests"}`, nil, 0, 0, 0,
			capacity.NotApplied},
		{"handed over and applied", karpenterPool + `, "gitOps": {"nodePools": "manifests", "applied": true}`, nil, 0,
			4, 4, capacity.ConfiguredKind},
		{"static",
			`, "pools": [{"name": "gpu-l4", "scaler": "karpenter", "static": true, "nodeCount": 2, "instanceTypes": ["g6.xlarge"]}]`, nil, 0, 2, 2, capacity.ConfiguredKind},
		{"reserved",
			`, "pools": [{"name": "gpu-l4", "scaler": "karpenter", "maxNodeCount": 9, "instanceTypes": ["g6.xlarge"], "reservation": {"id": "cr-1", "count": 3}}]`, nil, 0, 3, 3, capacity.Reservation},
		{"a reservation that has ended",
			`, "pools": [{"name": "gpu-l4", "scaler": "karpenter", "maxNodeCount": 9, "instanceTypes": ["g6.xlarge"], "reservation": {"id": "cr-1", "count": 3, "end": "2026-01-01T00:00:00Z"}}]`, nil, 0, 0, 0, capacity.Reservation},
		{"zones that could not be asked about", karpenterPool, func(f *facts) { delete(f.Offerings, "g6.xlarge") }, 1,
			1, 1, capacity.Unknown},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := answers()
			if c.change != nil {
				c.change(&f)
			}
			realized := map[string]capacityplan.Realized{"gpu-l4": running(c.realized, "us-west-2a", pool.OnDemand)}
			p := promise(t, c.members, f, realized, "gpu-l4")
			if want := (capacity.Counts{
				Realized: c.realized,
				Maximum:  c.maximum,
				Firm:     c.firm,
			}); p.Nodes != want || p.BoundBy != c.boundBy {
				t.Errorf("want %+v bound by %s, found %+v bound by %s; ceilings %+v", want, c.boundBy, p.Nodes,
					p.BoundBy, p.Ceilings)
			}
		})
	}
}

func TestPoolThatCouldNotBeCountedSaysSoAndPromisesNothing(t *testing.T) {
	p := promise(t, karpenterPool, answers(),
		map[string]capacityplan.Realized{"gpu-l4": {Unknown: "UnauthorizedOperation"}}, "gpu-l4")
	if p.Nodes != (capacity.Counts{}) || !strings.Contains(p.Error, "UnauthorizedOperation") {
		t.Errorf("%+v, error %q", p.Nodes, p.Error)
	}
}

func TestLargestGangOfASpreadPoolIsOneZonesShare(t *testing.T) {
	p := promise(t,
		`, "pools": [{"name": "gpu-l4", "scaler": "cluster-autoscaler", "spread": "per-zone", "instanceTypes": ["g6.xlarge"], "maxNodeCount": 5}]`,
		answers(), nil, "gpu-l4")
	if p.Nodes.Maximum != 5 || p.LargestGang != 3 {
		t.Errorf("maximum %d, largest gang %d", p.Nodes.Maximum, p.LargestGang)
	}
}

func TestEveryPoolIsListedAndOnlyGPUPoolsPromise(t *testing.T) {
	doc := document("headroom-dev", configured(t, karpenterPool+
		`, "general": {"scaler": "karpenter", "limits": {"vcpus": 64, "memoryGiB": 256}}, "capacity": {"validFor": "30m"}`), answers(), nil, noon)
	if got := doc.ValidUntil.Sub(doc.ObservedAt); got != 30*time.Minute {
		t.Errorf("valid for %s", got)
	}
	names := ""
	for _, p := range doc.Pools {
		names += p.Name + " "
		if p.Name == generalPool && (p.Advertised || p.Nodes.Maximum > p.Nodes.Realized) {
			t.Errorf("the general pool promises %+v", p.Nodes)
		}
	}
	if names != "general gpu-l4 system " {
		t.Errorf("pools %s", names)
	}
}

func TestFewerPodsOnANodeLeaveRoomForMoreNodes(t *testing.T) {
	env := configured(t,
		`, "pools": [{"name": "a", "scaler": "karpenter", "instanceTypes": ["g6.xlarge"], "maxNodeCount": 4, "kubelet": {"maxPods": 8}}]`)
	shape := answers().Shapes["g6.xlarge"]
	few, all := addresses(shape, env.Pools[0], env), addresses(shape, configured(t, karpenterPool).Pools[0], env)
	if few >= all || few == 0 {
		t.Errorf("%d addresses with 8 pods, %d with all", few, all)
	}
}

func TestAddressesThatCouldNotBeAskedAgainAreUnknown(t *testing.T) {
	env := config.Environment{Network: config.Network{Existing: &config.ExistingNetwork{VPCID: "vpc-1"}}}
	f := facts{Subnets: []subnet{
		{
			ID:            "subnet-a",
			Zone:          "us-west-2a",
			FreeAddresses: 500,
			Unknown:       "AccessDenied",
		}, {ID: "subnet-b", Zone: "us-west-2b", FreeAddresses: 500},
	}}
	limits := addressLimits(env, f)
	if len(limits) != 2 || !strings.Contains(limits[0].Unknown, "AccessDenied") || limits[0].Amount != 0 ||
		limits[1].Unknown != "" || limits[1].Amount != 500-addressReserve {
		t.Errorf("%+v", limits)
	}
}
