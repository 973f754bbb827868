package nodepool

import (
	"math"
	"strings"
	"testing"

	"github.com/headroom-eks/headroom/pool"
)

func TestNodesThatALiveNodePoolAllows(t *testing.T) {
	two := 2
	for name, c := range map[string]struct {
		live  Live
		nodes int
		by    string
	}{
		"no limit": {Live{}, math.MaxInt, ""},
		"a part of a node is none": {Live{Limits: map[string]string{pool.GPUResource: "10"}}, 2,
			"limit nvidia.com/gpu 10"},
		"the smallest limit":         {Live{Limits: map[string]string{"cpu": "48", "nodes": "5"}}, 1, "limit cpu 48"},
		"a limit of nothing":         {Live{Limits: map[string]string{"nodes": "0"}}, 0, "limit nodes 0"},
		"below nothing":              {Live{Limits: map[string]string{"nodes": "-3"}}, 0, "limit nodes -3"},
		"memory":                     {Live{Limits: map[string]string{"memory": "384Gi"}}, 2, "limit memory 384Gi"},
		"a fraction is rounded down": {Live{Limits: map[string]string{"cpu": "95500m"}}, 1, "limit cpu 95500m"},
		"more than can be counted":   {Live{Limits: map[string]string{"nodes": "1e30"}}, math.MaxInt, ""},
		"replicas":                   {Live{Replicas: &two}, 2, "replicas 2"},
		"replicas under their limit": {Live{Replicas: &two, Limits: map[string]string{"nodes": "3"}}, 2, "replicas 2"},
		"replicas over a lower limit": {Live{Replicas: &two, Limits: map[string]string{"nodes": "1"}}, 1,
			"limit nodes 1"},
	} {
		nodes, by, err := c.live.Nodes(48, 192*1024, 4)
		if err != nil || nodes != c.nodes || by != c.by {
			t.Errorf("%s: %d by %q, %v; want %d by %q", name, nodes, by, err, c.nodes, c.by)
		}
	}
}

func TestALimitThatCannotBeCountedInNodesIsAnError(t *testing.T) {
	for limit, says := range map[string]string{
		"ephemeral-storage": "what a node takes of the limit ephemeral-storage 1 is not known",
		"cpu":               "what a node takes of the limit cpu 1 is not known",
	} {
		if _, _, err := (Live{Limits: map[string]string{limit: "1"}}).Nodes(0, 1024, 1); err == nil ||
			!strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v", limit, err)
		}
	}
	if _, _, err := (Live{Limits: map[string]string{"cpu": "lots"}}).Nodes(4, 1024, 1); err == nil {
		t.Error("it took lots for a quantity")
	}
	if nodes, _, err := (Live{Limits: map[string]string{pool.GPUResource: "1"}}).Nodes(4, 1024, 0); err != nil ||
		nodes != math.MaxInt {
		t.Errorf("a node without GPUs: %d, %v", nodes, err)
	}
}

func TestAPlannedNodePoolAllowsWhatIsConfigured(t *testing.T) {
	for name, c := range map[string]struct {
		advertised Advertised
		nodes      int
	}{
		"plugin": {Advertised{DeviceMode: pool.Plugin, VCPUs: 48, GPUs: 4, MaxNodeCount: 3}, 3},
		"claims": {Advertised{DeviceMode: pool.DRA, VCPUs: 48, GPUs: 4, MaxNodeCount: 3}, 3},
		"static": {Advertised{VCPUs: 48, GPUs: 4, Static: true, NodeCount: 2, MaxNodeCount: 3}, 2},
	} {
		if nodes, _, err := Planned(Spec{Advertised: &c.advertised}).Nodes(48, 192*1024, 4); err != nil ||
			nodes != c.nodes {
			t.Errorf("%s: %d, %v; want %d", name, nodes, err, c.nodes)
		}
	}
}
