package rules

import (
	"testing"

	"github.com/headroom-eks/headroom/policy/graphtest"
	"github.com/headroom-eks/headroom/pool"
)

var capacityMutations = []mutation{
	{
		rule:     "capacity-within-ceilings",
		resource: "headroom-dev",
		about:    "maximum above a ceiling",
		edit:     set(2, "capacity", "pools", 0, "ceilings", 0, "nodes"),
		unknown:  p("capacity"),
	},
	{rule: "capacity-within-ceilings", resource: "headroom-dev", about: "no output", edit: set(nil, "capacity")},
	{
		rule:     "capacity-within-ceilings",
		resource: "headroom-dev",
		about:    "a pool without a maximum",
		edit:     set(nil, "capacity", "pools", 3, "nodes", "maximum"),
		unknown:  p("capacity", "pools", 3, "nodes", "maximum"),
	},
	{
		rule:     "capacity-within-ceilings",
		resource: "headroom-dev",
		about:    "firm above maximum",
		edit:     set(9, "capacity", "pools", 0, "nodes", "firm"),
		unknown:  p("capacity", "pools", 0, "nodes", "firm"),
	},
	{
		rule:     "capacity-within-ceilings",
		resource: "headroom-dev",
		about:    "a gang larger than the maximum",
		edit:     set(4, "capacity", "pools", 0, "largestGang"),
		unknown:  p("capacity", "pools", 0, "largestGang"),
	},
	{
		rule:     "capacity-within-ceilings",
		resource: "headroom-dev",
		about:    "GPUs that are not nodes times GPUs per node",
		edit:     set(4, "capacity", "pools", 2, "gpus", "maximum"),
		unknown:  p("capacity", "pools", 2, "gpus", "maximum"),
	},
	{
		rule:     "capacity-within-pool",
		resource: "gpu-l4-pool",
		about:    "field fault BR-20: a limit of two nodes under an advertised three",
		edit:     set("2", "spec", "limits", pool.GPUResource),
		unknown:  p("spec", "limits"),
	},
	{
		rule:  "capacity-within-pool",
		about: "the limit of a NodePool that others apply",
		graph: func(g []graphtest.Record) []graphtest.Record {
			for _, r := range g {
				if r.Name == "gpu-l4-pool" {
					r.Props["spec"].(map[string]any)["limits"] = map[string]any{pool.GPUResource: "2"}
				}
			}
			return asManifest(g, "gpu-l4-pool")
		},
	},
	{
		rule:     "capacity-within-pool",
		resource: "gpu-dra-pool",
		about:    "a cpu limit of one node under an advertised two",
		edit:     set("15", "spec", "limits", "cpu"),
		unknown:  p("spec", "limits"),
	},
	{
		rule:     "capacity-within-pool",
		resource: "gpu-l4-pool",
		about:    "two NodePools of one node each under an advertised three",
		graph:    func(g []graphtest.Record) []graphtest.Record { return divided(g, "1") },
		edit:     set("1", "spec", "limits", pool.GPUResource),
		unknown:  p("spec", "limits"),
	},
	{
		rule:     "capacity-has-scaler",
		resource: "headroom-dev",
		about:    "field fault BR-20: nothing moves the pool",
		edit:     set("fixed", "capacity", "pools", 0, "scaler"),
		unknown:  p("capacity", "pools", 0, "scaler"),
	},
	{
		rule:  "capacity-has-scaler",
		about: "Karpenter is not installed",
		graph: func(g []graphtest.Record) []graphtest.Record {
			return graphtest.Drop(g, "karpenter", "karpenter-chart", "karpenter-chart:kube-system/karpenter")
		},
	},
	{
		rule:     "gpu-budget",
		resource: "gpu-ca-group",
		about:    "above the budget",
		settings: map[string]map[string]any{"gpu-budget": {"maxGpus": 14.0}},
		edit:     func(testing.TB, *graphtest.Record) {},
		unknown:  p("instanceTypes"),
	},
}
