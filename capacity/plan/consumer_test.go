package plan

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/headroom-eks/headroom/capacity"

	"github.com/google/go-cmp/cmp"
	"github.com/headroom-eks/headroom/pool"
	"pgregory.net/rapid"
)

// asText makes every number of a decoded JSON value a text, as some readers of stack outputs do.
func asText(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for key, item := range v {
			v[key] = asText(item)
		}
	case []any:
		for i, item := range v {
			v[i] = asText(item)
		}
	case float64:
		raw, _ := json.Marshal(v)
		return string(raw)
	}
	return v
}

// Field fault BR-90.
func TestADocumentSurvivesTheWayThroughAStackOutput(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := Allocate(anyInput(t))
		raw, err := json.Marshal(want)
		if err != nil {
			t.Fatal(err)
		}
		floats, texts := map[string]any{}, map[string]any{}
		if err := json.Unmarshal(raw, &floats); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(raw, &texts); err != nil {
			t.Fatal(err)
		}
		for name, output := range map[string]any{
			"bytes":    raw,
			"text":     string(raw),
			"floats":   floats,
			"texts":    asText(texts),
			"the type": want,
		} {
			got, err := capacity.Decode(output)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if d := cmp.Diff(want, got); d != "" {
				t.Fatalf("%s: %s", name, d)
			}
		}
	})
}

// Field fault BR-91.
func TestAMissingOutputIsNoCapacity(t *testing.T) {
	for name, output := range map[string]any{"nil": nil, "JSON null": "null", "no bytes": []byte{}, "blank text": " "} {
		doc, err := capacity.Decode(output)
		if err != nil || len(doc.Pools) != 0 || doc.Fits(capacity.Gang{Nodes: 1}).When != capacity.No {
			t.Errorf("%s: %+v, %v; want no capacity and no error", name, doc, err)
		}
	}
}

func TestWhatCannotBeReadIsAnErrorAndNoCapacity(t *testing.T) {
	for name, output := range map[string]any{
		"half a node":          `{"schemaVersion":1,"pools":[{"nodes":{"realized":1.5}}]}`,
		"less than no nodes":   `{"schemaVersion":1,"pools":[{"nodes":{"realized":-1}}]}`,
		"a word for a number":  `{"schemaVersion":1,"pools":[{"nodes":{"realized":"many"}}]}`,
		"too many":             `{"schemaVersion":1,"pools":[{"nodes":{"realized":1e300}}]}`,
		"another version":      `{"schemaVersion":2,"pools":[]}`,
		"no version":           `{"pools":[]}`,
		"a list":               `[]`,
		"pools is no list":     `{"schemaVersion":1,"pools":{"a":1}}`,
		"not JSON":             `{`,
		"an unencodable value": func() {},
	} {
		if doc, err := capacity.Decode(output); err == nil || len(doc.Pools) != 0 {
			t.Errorf("%s: %+v, %v; want an error and no pools", name, doc, err)
		}
	}
}

func TestAFieldAddedWithinAVersionIsIgnored(t *testing.T) {
	doc,
		err := capacity.Decode(
		`{"schemaVersion":"1","new":{"a":1.5},"pools":[{"name":"gpu","nodes":{"maximum":3.0,"new":0.5}}]}`)
	if err != nil || doc.Pools[0].Nodes.Maximum != 3 {
		t.Errorf("%+v, %v; want three nodes", doc, err)
	}
}

func TestPastItsTimeADocumentCountsOnlyWhatRuns(t *testing.T) {
	spot := l4("spot", pool.Karpenter, 4, 1)
	spot.CapacityTypes = append(spot.CapacityTypes, pool.Spot)
	doc := allocate(nil, l4("gpu", pool.Karpenter, 4, 1), spot, l4("lowered", pool.Karpenter, 1, 3))
	if d := cmp.Diff(doc, doc.At(doc.ValidUntil)); d != "" {
		t.Errorf("at its end the document still holds: %s", d)
	}
	late := byName(doc.At(doc.ValidUntil.Add(time.Second)))
	if p := late["gpu"]; p.Nodes != counts(1, 1, 1) || p.GPUs != counts(1, 1, 1) || p.BoundBy != capacity.Expired ||
		p.LargestGang != 1 {
		t.Errorf("%+v, %+v bound by %s, gang %d; want the one that runs", p.Nodes, p.GPUs, p.BoundBy, p.LargestGang)
	}
	if p := late["spot"]; p.Nodes != counts(1, 1, 0) {
		t.Errorf("%+v: which node is firm is not known", p.Nodes)
	}
	if p := late["lowered"]; p.Nodes != counts(3, 1, 1) || p.BoundBy != capacity.ConfiguredKind {
		t.Errorf("%+v bound by %s; want the lowered limit to hold on", p.Nodes, p.BoundBy)
	}
	if doc.Pools[0].Nodes.Maximum != 4 || len(doc.Pools[0].Ceilings) != 1 {
		t.Error("the document itself was changed")
	}
}

func TestReadingADocumentLateNeverRaisesANumber(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		doc := Allocate(anyInput(t))
		late := doc.At(doc.ValidUntil.Add(time.Minute))
		for i, was := range doc.Pools {
			is := late.Pools[i]
			if is.Nodes.Maximum > min(was.Nodes.Maximum, was.Nodes.Realized) ||
				is.Nodes.Firm > min(was.Nodes.Firm, is.Nodes.Maximum) ||
				is.LargestGang > min(was.LargestGang, is.Nodes.Maximum) || is.GPUs.Maximum > was.GPUs.Maximum {
				t.Fatalf("%+v became %+v", was, is)
			}
		}
	})
}

var gangs = []struct {
	name string
	gang capacity.Gang
	when capacity.When
	pool string
	kind capacity.Kind
}{
	{"on what runs", capacity.Gang{Nodes: 2, GPUsPerNode: 1, GPUModel: "l4"}, capacity.Now, "small", ""},
	{"after scaling, with the fewest GPUs idle", capacity.Gang{
		Nodes:       3,
		GPUsPerNode: 1,
		GPUModel:    "L4",
	}, capacity.AfterScaling, "small", ""},
	{"only the larger pool reaches it", capacity.Gang{Nodes: 5, GPUModel: "L4"}, capacity.AfterScaling, "large",
		""},
	{"more GPUs a node", capacity.Gang{
		Nodes:       7,
		GPUsPerNode: 2,
		GPUModel:    "L4",
	}, capacity.AfterScaling, "large", ""},
	{"more nodes than quotas give", capacity.Gang{
		Nodes:       8,
		GPUsPerNode: 2,
		GPUModel:    "L4",
	}, capacity.No, "large", capacity.VCPUQuota},
	{"more nodes than configured", capacity.Gang{
		Nodes:      5,
		DeviceMode: pool.Plugin,
		GPUModel:   "L4",
	}, capacity.No, "small", capacity.ConfiguredKind},
	{"a node that runs may be spot", capacity.Gang{
		Nodes:       1,
		GPUsPerNode: 2,
		Firm:        true,
	}, capacity.AfterScaling, "large", ""},
	{"firm ones of a spot pool", capacity.Gang{
		Nodes:       2,
		GPUsPerNode: 2,
		Firm:        true,
	}, capacity.AfterScaling, "large", ""},
	{"more firm ones than the on-demand quota", capacity.Gang{
		Nodes:       3,
		GPUsPerNode: 2,
		Firm:        true,
	}, capacity.No, "large", capacity.VCPUQuota},
	{"two in different zones are no gang of a tied pool", capacity.Gang{Nodes: 2, GPUModel: "L40S"},
		capacity.AfterScaling, "tied",
		""},
	{"one zone gives less than the maximum", capacity.Gang{Nodes: 6, Pool: "tied"}, capacity.No, "tied",
		capacity.ConfiguredKind},
	{"a model nobody has", capacity.Gang{Nodes: 1, GPUModel: "H100"}, capacity.No, "", ""},
	{"more GPUs than a node has", capacity.Gang{Nodes: 1, GPUsPerNode: 8}, capacity.No, "", ""},
	{"a pool that promises nothing", capacity.Gang{Nodes: 1, Pool: "general"}, capacity.No, "", ""},
}

func TestFits(t *testing.T) {
	small, large := l4("small", pool.Karpenter, 4, 2), l4("large", pool.Karpenter, 8, 1)
	large.PerNode.GPUs, large.DeviceMode = 4, pool.DRA
	large.CapacityTypes = append(large.CapacityTypes, pool.Spot)
	large.Uses = QuotaUses("g6.12xlarge", 4, large.CapacityTypes)
	tied := l4("tied", pool.Karpenter, 6, 2)
	tied.PerNode.GPUModel, tied.TiedToZone = "L40S", true
	tied.Realized.Nodes = map[Place]int{{"us-west-2a", pool.OnDemand}: 1, {"us-west-2b", pool.OnDemand}: 1}
	general := l4("general", pool.Karpenter, 9, 9)
	general.Advertised, general.PerNode = false, capacity.PerNode{VCPUs: 4}
	doc := allocate([]SharedLimit{Quotas[0].Limit(8, 0), Quotas[1].Limit(20, 0)}, small, large, tied, general)
	for _, c := range gangs {
		got := doc.Fits(c.gang)
		if got.When != c.when || got.Pool != c.pool || got.Ceiling.Kind != c.kind || got.Reason == "" {
			t.Errorf("%s: %+v; want %q on %q by %q", c.name, got, c.when, c.pool, c.kind)
		}
	}
}

func TestDiffSaysWhatChangedAndWhy(t *testing.T) {
	was := allocate(nil, l4("a", pool.Karpenter, 4, 1), l4("b", pool.Karpenter, 4, 1), l4("gone", pool.Karpenter, 2, 0))
	lost := l4("b", pool.Karpenter, 4, 1)
	lost.Realized.Unknown = "denied"
	is := allocate(nil, l4("a", pool.Karpenter, 3, 2), lost, l4("new", pool.Karpenter, 2, 0))
	if d := capacity.Diff(was, was); len(d) != 0 || capacity.Markdown(d) != "" {
		t.Errorf("nothing changed, and the difference is %v", d)
	}
	want := "- `a`: **lower** realized 1 -> 2, maximum 4 -> 3 (configured), firm 4 -> 3, largest gang 4 -> 3\n" +
		"- `b`: **lower** realized 1 -> 0, maximum 4 -> 0 (unknown realized: realized could not be determined, so " +
		"only what is certain is advertised: denied), " +
		"firm 4 -> 0, largest gang 4 -> 0, bound by unknown, was configured, not observed: realized nodes could not " +
		"be counted: denied\n" +
		"- `gone`: **lower** gone, had 0 of 2 nodes\n" +
		"- `new`: new, 0 of 2 nodes (configured)\n"
	if got := capacity.Markdown(capacity.Diff(was, is)); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestGPUPoolsAreTheAdvertisedDRAPools(t *testing.T) {
	l4pool, other, plugin := l4("l4", pool.Karpenter, 4, 1), l4("other", pool.Karpenter, 2, 0),
		l4("plugin", pool.Karpenter, 4, 0)
	l4pool.DeviceMode, other.DeviceMode, other.PerNode.GPUModel = pool.DRA, pool.DRA, "B9000"
	hidden := other
	hidden.Name, hidden.Advertised = "hidden", false
	got, err := json.Marshal(capacity.GPUPools(allocate(nil, plugin, other, l4pool, hidden)))
	const device = `"devices":[{"name":"gpu","claim":"DRA","driver":"gpu.nvidia.com",` +
		`"deviceClassName":"gpu.nvidia.com","count":1,`
	want := `[{"name":"l4","nodes":4,` + device +
		`"attributes":{"architecture":{"string":"Ada Lovelace"},"cudaComputeCapability":{"version":"8.9.0"},` +
		`"productName":{"string":"NVIDIA L4"}},"capacity":{"memory":{"value":"23034Mi"}}}]},` +
		`{"name":"other","nodes":2,` + device + `"attributes":{},"capacity":{}}]}]`
	if err != nil || string(got) != want {
		t.Errorf("%v\n got %s\nwant %s", err, got, strings.TrimSpace(want))
	}
	if raw, _ := json.Marshal(capacity.GPUPools(capacity.Document{})); string(raw) != "[]" {
		t.Errorf("no pools are %s, want an empty list", raw)
	}
}

// A scheduler of gpuPools knows pools and no zones: it takes what it is given as one fabric.
func TestGPUPoolsGiveOfAPoolTiedToAZoneWhatItsBestZoneHolds(t *testing.T) {
	spread := inZones(l4("spread", pool.ClusterAutoscaler, 5, 0), 30)
	limits := zoneAddresses(30, 90, 60)
	for i, nodes := range []int{2, 2, 1} { // of the shares, zone a holds one node
		limits = append(limits, share(&spread, testZones[i], nil, nodes))
	}
	wide := inZones(l4("wide", pool.Karpenter, 9, 0), 30) // no shares: one zone or another
	for _, c := range []struct {
		pool          PoolFacts
		maximum, gang int
	}{{spread, 4, 2}, {wide, 6, 3}} {
		c.pool.DeviceMode, c.pool.TiedToZone = pool.DRA, true
		doc := allocate(limits, c.pool)
		given := capacity.GPUPools(doc)[0].Nodes
		if p := doc.Pools[0]; p.Nodes.Maximum != c.maximum || given != c.gang {
			t.Errorf("%s: maximum %d, given %d, want %d and %d", p.Name, p.Nodes.Maximum, given, c.maximum, c.gang)
		}
	}
}

// A gang that a scheduler may place by gpuPools fits, and a larger one at most on more nodes than the maximum that run.
func TestWhatGPUPoolsGiveIsTheLargestGangThatFits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := anyWorld(t)
		for i := range in.Pools {
			in.Pools[i].DeviceMode = pool.DRA
		}
		doc := Allocate(in)
		for _, p := range capacity.GPUPools(doc) {
			fits := func(nodes int) capacity.When {
				return doc.Fits(capacity.Gang{Nodes: nodes, Pool: p.Name}).When
			}
			if p.Nodes > 0 && fits(p.Nodes) == capacity.No || fits(p.Nodes+1) == capacity.AfterScaling {
				t.Fatalf("%s is given with %d nodes: a gang of so many %s, one more %s", p.Name, p.Nodes,
					fits(p.Nodes), fits(p.Nodes+1))
			}
		}
	})
}
