package publish

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/headroom-eks/headroom/capacity"
	"github.com/headroom-eks/headroom/components/nodepool"
	"github.com/headroom-eks/headroom/infra/ask"
	"github.com/headroom-eks/headroom/infra/plan"
	"github.com/headroom-eks/headroom/pool"
)

func TestPoolsOfClaimsReachTheOutput(t *testing.T) {
	text, err := json.Marshal(capacity.Document{Pools: []capacity.Pool{
		{
			Name:        "claims",
			Advertised:  true,
			DeviceMode:  pool.DRA,
			PerNode:     capacity.PerNode{GPUs: 1},
			Nodes:       capacity.Counts{Maximum: 3},
			LargestGang: 3,
		},
		{
			Name:        "plugin",
			Advertised:  true,
			DeviceMode:  pool.Plugin,
			PerNode:     capacity.PerNode{GPUs: 1},
			Nodes:       capacity.Counts{Maximum: 3},
			LargestGang: 3,
		},
	}})
	if err != nil {
		t.Fatal(err)
	}
	pools, err := gpuPools(string(text))
	if err != nil || len(pools) != 1 {
		t.Fatalf("%v, %v", pools, err)
	}
	if got := pools[0].(map[string]any); got["name"] != "claims" || got["nodes"] != 3.0 {
		t.Errorf("%v", got)
	}
}

func TestAFallOfAnyNumberIsNamedUntilTheOutputIsWritten(t *testing.T) {
	document := func(maximum, firm, gang int) capacity.Document {
		return capacity.Document{ValidUntil: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), Pools: []capacity.Pool{
			{Name: "gpu", Nodes: capacity.Counts{Maximum: maximum, Firm: firm}, LargestGang: gang},
		}}
	}
	before := document(4, 3, 2)
	for _, c := range []struct {
		after capacity.Document
		want  string
	}{
		{document(4, 3, 2), ""},
		{document(5, 4, 3), ""},
		{document(3, 3,
			2), `too much of "gpu" (maximum 4 -> 3) until this update has ended (valid until 2026-01-02T03:04:05Z)`},
		{document(4, 2, 2), `"gpu" (firm 3 -> 2)`},
		{document(4, 3, 1), `"gpu" (largest gang 2 -> 1)`},
		{capacity.Document{}, `"gpu" (gone, had 0 of 4 nodes)`},
	} {
		got := falls(before, c.after)
		if (got == "") != (c.want == "") || !strings.Contains(got, c.want) {
			t.Errorf("got %q, want %q", got, c.want)
		}
	}
}

func TestNodePoolsThatHoldTheirPoolBackAreNamed(t *testing.T) {
	there := ask.Known(nodepool.Live{Exists: true})
	for _, c := range []struct {
		o    plan.Observed
		want string
	}{
		{plan.Observed{NodePools: map[string]ask.Answer[nodepool.Live]{"a": there}}, ""},
		{plan.Observed{
			NodePools: map[string]ask.Answer[nodepool.Live]{"a": ask.Known(nodepool.Live{})},
			NotMade:   map[string]bool{"a": true},
		}, ""},
		{plan.Observed{NodePools: map[string]ask.Answer[nodepool.Live]{
			"a": there, "b": ask.Known(nodepool.Live{}), "c": ask.Unknown[nodepool.Live]("403 Forbidden"),
		}}, "capacity: pools promise no more than what runs: NodePools c could not be read (403 Forbidden); " +
			"NodePools b are " +
			"not in the cluster; pulumi refresh and then pulumi up make those of this stack again"},
	} {
		if got := heldBack(c.o); got != c.want {
			t.Errorf("got %q, want %q", got, c.want)
		}
	}
}
