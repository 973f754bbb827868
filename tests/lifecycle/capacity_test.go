package lifecycle

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/headroom-eks/headroom/capacity"
	"github.com/headroom-eks/headroom/infra/config"
	"github.com/headroom-eks/headroom/pool"
	"github.com/headroom-eks/headroom/sandbox/world"
)

// promised is what a pool promises in one line of a test's words.
type promised struct {
	realized, maximum, firm int
	by                      capacity.Kind
}

func promise(p capacity.Pool) promised {
	return promised{p.Nodes.Realized, p.Nodes.Maximum, p.Nodes.Firm, p.BoundBy}
}

// promises fails the test unless an update, which changes no pool's objects but what it says, gives these pools.
func (e *environment) promises(want map[string]promised) {
	e.t.Helper()
	doc := e.document(e.up().Outputs)
	got := map[string]promised{}
	for _, p := range doc.Pools {
		if _, asked := want[p.Name]; asked {
			got[p.Name] = promise(p)
		}
	}
	if !maps.Equal(got, want) {
		e.t.Errorf("promised %+v, want %+v", got, want)
	}
}

func (e *environment) quota(code string, vcpus float64) {
	e.t.Helper()
	e.act(func(s *world.State) error { return s.SetQuota(code, vcpus) })
}

// shared are three pools that draw from the same quotas.
func shared() config.Environment {
	serving := provisioned("serving", pool.Karpenter, "g6.xlarge", 12, pool.Spot, pool.OnDemand)
	serving.Priority = 1
	claims := provisioned("claims", pool.Karpenter, "g6.2xlarge", 2, pool.OnDemand)
	claims.DeviceMode, claims.Zones, claims.Priority = pool.DRA, []string{"us-west-2a"}, 2
	return config.Environment{
		PodsSelectPool: true,
		Karpenter:      config.Karpenter{EnableDRA: true},
		Capacity:       config.Capacity{ConfigMap: true, SSMParameter: "/headroom/capacity", ValidFor: "30m"},
		Pools:          []config.Pool{serving, autoscaled("batch", "g6.xlarge", 12), claims},
	}
}

func TestCapacityFollowsTheAccount(t *testing.T) {
	e := start(t, shared())
	e.mayOnly(append(inMode("karpenter"), "cluster-autoscaler", "parameter")...)
	e.step("a pool that may fall back to on-demand leaves an earlier one its part", func() {
		e.spotted()
		e.quota(world.QuotaGOnDemand, 40)
		e.quota(world.QuotaGSpot, 28)
		// claims keeps 16 of 40 vCPUs on demand, whatever serving buys: so serving, which may find spot out of stock,
		// has 24.
		e.promises(map[string]promised{
			"claims":  {0, 2, 2, capacity.ConfiguredKind},
			"serving": {0, 6, 6, capacity.VCPUQuota},
			"batch":   {0, 0, 0, capacity.VCPUQuota},
		})
	})
	documentIsPublished(e)
	mirrorsAreTheOutput(e)
	e.step("the document holds as long as it says", func() {
		doc := e.document(e.up().Outputs)
		if !doc.ObservedAt.Equal(e.now) || !doc.ValidUntil.Equal(e.now.Add(30*time.Minute)) {
			e.t.Errorf("observed %s, valid until %s", doc.ObservedAt, doc.ValidUntil)
		}
	})
	e.step("the time that passed alone writes nothing but the document", func() {
		e.now = e.now.Add(time.Hour)
		later := e.up()
		for _, s := range later.Steps {
			if s.Name != "capacity" || s.Op != "update" { // replaced, it would be away for a moment
				e.t.Errorf("%s %s", s.Op, s.URN)
			}
		}
		if doc := e.document(later.Outputs); !doc.ObservedAt.Equal(e.now) {
			e.t.Errorf("observed %s, want %s", doc.ObservedAt, e.now)
		}
	})
	quotasBound(e)
	unansweredQuestionsPromiseNothing(e)
	e.step("a zone that no longer offers the type leaves the pool's zones", func() {
		e.quota(world.QuotaGOnDemand, 96)
		e.act(func(s *world.State) error { return s.EmptyZone("us-west-2b", "g6.xlarge", false) })
		e.change(func(env *config.Environment) { env.Pools = slices.Delete(env.Pools, 1, 2) })
		p := e.pool(e.up().Outputs, "serving")
		if !slices.Equal(p.Zones, []string{"us-west-2a"}) ||
			!slices.ContainsFunc(p.Notes, func(n string) bool { return strings.Contains(n, "only zone us-west-2a") }) {
			e.t.Errorf("zones %q, notes %q", p.Zones, p.Notes)
		}
	})
	e.step("a type that no zone offers is refused", func() {
		e.act(func(s *world.State) error { return s.EmptyZone("us-west-2a", "g6.xlarge", false) })
		e.refused("serving", "g6.xlarge")
		e.act(func(s *world.State) error { s.FillZone("us-west-2a", "g6.xlarge"); return nil })
	})
	e.step("everything goes", func() { e.down() })
}

func documentIsPublished(e *environment) {
	e.step("no output is a secret", func() {
		const mark = "4dabf18193072939515e22adb298388d" // of a secret in a checkpoint
		for _, r := range e.kept() {
			if r.Type != "pulumi:pulumi:Stack" {
				continue
			}
			if !strings.Contains(string(r.Outputs["capacity"]), `"boundBy"`) {
				e.t.Errorf("the stack's output is %s", r.Outputs["capacity"])
			}
			for name, output := range r.Outputs {
				if strings.Contains(string(output), mark) {
					e.t.Errorf("output %s is a secret", name)
				}
			}
			return
		}
		e.t.Error("the checkpoint has no stack")
	})
	e.step("a claim-based control plane is told of the claims alone", func() {
		outputs, err := e.Outputs(testContext)
		if err != nil {
			e.t.Fatal(err)
		}
		text, _ := json.Marshal(outputs["gpuPools"])
		var pools []capacity.GPUPool
		if err := json.Unmarshal(text, &pools); err != nil {
			e.t.Fatal(err)
		}
		if len(pools) != 1 || pools[0].Name != "claims" || pools[0].Nodes != 2 || len(pools[0].Devices) != 1 ||
			pools[0].Devices[0].Count != 1 {
			e.t.Errorf("%s", text)
		}
	})
}

func mirrorsAreTheOutput(e *environment) {
	e.step("the mirrors hold the same document as the output", func() {
		outputs, err := e.Outputs(testContext)
		if err != nil {
			e.t.Fatal(err)
		}
		written, _ := json.Marshal(e.document(outputs))
		same := func(where, text string) {
			e.t.Helper()
			if mirrored, err := capacity.Decode(text); err != nil {
				e.t.Errorf("%s: %v", where, err)
			} else if got, _ := json.Marshal(mirrored); string(got) != string(written) {
				e.t.Errorf("%s holds\n%s\nand the output is\n%s", where, got, written)
			}
		}
		e.view(func(s *world.State) error {
			parameter := s.OfType("aws:ssm/parameter:Parameter")
			if len(parameter) != 1 || parameter[0].Inputs["name"] != "/headroom/capacity" {
				e.t.Fatalf("parameters: %+v", parameter)
			}
			value, _ := parameter[0].Inputs["value"].(string)
			same("the parameter", value)
			var found struct{ Data map[string]string }
			if err := json.Unmarshal(s.Objects[world.ObjectKey("headroom-test", "v1", "ConfigMap", "kube-system",
				"headroom-capacity")], &found); err != nil {
				return err
			}
			same("the ConfigMap", found.Data["capacity.json"])
			return nil
		})
	})
}

func quotasBound(e *environment) {
	e.step("a raised quota is told by the next update", func() {
		e.quota(world.QuotaGOnDemand, 96)
		e.promises(map[string]promised{
			"claims":  {0, 2, 2, capacity.ConfiguredKind},
			"serving": {0, 12, 12, capacity.ConfiguredKind},
			"batch":   {0, 8, 8, capacity.VCPUQuota},
		})
	})
	e.step("running nodes are counted as they were bought", func() {
		e.pending("serving", 3)
		e.scale("batch", 2)
		e.promises(map[string]promised{
			"serving": {3, 12, 12, capacity.ConfiguredKind},
			"batch":   {2, 8, 8, capacity.VCPUQuota},
		})
	})
	e.step("a quota that was taken away lowers the maximum and says so", func() {
		e.quota(world.QuotaGOnDemand, 16)
		e.quota(world.QuotaGSpot, 16)
		doc := e.document(e.up().Outputs)
		for _, p := range doc.Pools {
			if slices.Contains([]string{"serving", "claims"}, p.Name) && p.BoundBy != capacity.VCPUQuota {
				e.t.Errorf("%s: %+v bound by %s", p.Name, p.Nodes, p.BoundBy)
			}
			if p.Name == "serving" && p.Nodes.Maximum >= 12 || p.Name == "claims" && p.Nodes.Maximum > 1 {
				e.t.Errorf("%s: %+v", p.Name, p.Nodes)
			}
		}
	})
}

func unansweredQuestionsPromiseNothing(e *environment) {
	e.step("a quota that cannot be read leaves what is realized, and the update goes through", func() {
		e.act(func(s *world.State) error { return s.Deny("servicequotas:GetServiceQuota") })
		e.promises(map[string]promised{
			"serving": {3, 3, 0, capacity.Unknown},
			"batch":   {2, 2, 2, capacity.Unknown},
			"claims":  {0, 0, 0, capacity.Unknown},
		})
		e.act(func(s *world.State) error { return s.Allow("servicequotas:GetServiceQuota") })
	})
	e.step("nodes that cannot be counted are promised to nobody, and the update goes through", func() {
		e.act(func(s *world.State) error { return s.Deny("ec2:DescribeInstances") })
		result := e.up()
		for _, name := range []string{"serving", "batch", "claims", "system"} {
			p := e.pool(result.Outputs, name)
			if !strings.Contains(p.Error, "ec2:DescribeInstances") || p.Nodes != (capacity.Counts{}) ||
				p.BoundBy != capacity.Unknown {
				e.t.Errorf("%s: %+v bound by %s, error %q", name, p.Nodes, p.BoundBy, p.Error)
			}
		}
		e.act(func(s *world.State) error { return s.Allow("ec2:DescribeInstances") })
	})
}

func TestLargestGangWhenAZoneGoes(t *testing.T) {
	gangs := autoscaled("gangs", "g6.xlarge", 8)
	gangs.Spread = "per-zone"
	e := start(t, config.Environment{
		Network: config.Network{Zones: []string{"us-west-2a", "us-west-2b", "us-west-2c"}},
		Pools:   []config.Pool{gangs},
	})
	if p := e.pool(e.up().Outputs, "gangs"); p.LargestGang != 3 || p.Nodes.Maximum != 8 {
		t.Errorf("over three zones: %+v, largest gang %d", p.Nodes, p.LargestGang)
	}
	e.act(func(s *world.State) error { return s.EmptyZone("us-west-2c", "g6.xlarge", false) })
	if p := e.pool(e.up().Outputs, "gangs"); p.LargestGang != 4 || p.Nodes.Maximum != 8 ||
		!slices.Equal(p.Zones, []string{"us-west-2a", "us-west-2b"}) {
		t.Errorf("over two zones: %+v, largest gang %d, zones %q", p.Nodes, p.LargestGang, p.Zones)
	}
	e.settled()
}

func TestAddressesOfASmallNetworkBound(t *testing.T) {
	e := start(t, config.Environment{
		Network: config.Network{CIDR: "10.0.0.0/21", Zones: []string{"us-west-2a", "us-west-2b"}},
		Pools:   []config.Pool{autoscaled("gpu-l4", "g6.xlarge", 40)},
	})
	e.quota(world.QuotaGOnDemand, 1000)
	p := e.pool(e.up().Outputs, "gpu-l4")
	if p.BoundBy != capacity.SubnetAddresses || p.Nodes.Maximum < 1 || p.Nodes.Maximum >= 40 {
		t.Fatalf("%+v bound by %s", p.Nodes, p.BoundBy)
	}
	// What is promised can really be started, system nodes beside it.
	e.scale("gpu-l4", p.Nodes.Maximum)
	if full := e.pool(e.up().Outputs, "gpu-l4"); full.Nodes.Realized != p.Nodes.Maximum ||
		full.Nodes.Maximum != p.Nodes.Maximum {
		t.Errorf("promised %d, then %+v", p.Nodes.Maximum, full.Nodes)
	}
}

func TestReservationBacksAPool(t *testing.T) {
	block := provisioned("block", pool.Karpenter, "g6.xlarge", 4, pool.Reserved)
	block.Reservation = &config.Reservation{ID: "cr-0123456789abcdef0", Count: 2, End: "2026-11-30T09:20:00Z"}
	e := start(t, config.Environment{Pools: []config.Pool{block}})
	e.step("it is the ceiling, firm, and ends the promise with itself", func() {
		doc := e.document(e.up().Outputs)
		p := e.pool(map[string]any{"capacity": doc}, "block")
		if promise(p) != (promised{0, 2, 2, capacity.Reservation}) {
			e.t.Errorf("%+v", promise(p))
		}
		if want := e.now.Add(20 * time.Minute); !doc.ValidUntil.Equal(want) {
			e.t.Errorf("valid until %s, want the reservation's end %s", doc.ValidUntil, want)
		}
	})
	e.step("ended, it backs nothing", func() {
		e.now = e.now.Add(time.Hour)
		e.promises(map[string]promised{"block": {0, 0, 0, capacity.Reservation}})
	})
}
