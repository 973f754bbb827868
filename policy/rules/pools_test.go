package rules

import (
	"testing"

	"github.com/headroom-eks/headroom/policy/graphtest"
	"github.com/headroom-eks/headroom/pool"
)

var poolMutations = []mutation{
	{
		rule:     "pool-gpu-tainted",
		resource: "gpu-fixed-group",
		about:    "field fault BR-01: no taint",
		edit:     set(nil, "taints"),
		unknown:  p("taints"),
	},
	{
		rule:     "pool-gpu-tainted",
		resource: "gpu-fixed-group",
		about:    "a taint that only prefers",
		edit:     set("PREFER_NO_SCHEDULE", "taints", 0, "effect"),
		unknown:  p("taints", 0, "effect"),
	},
	{
		rule:     "pool-gpu-tainted",
		resource: "gpu-l4-pool",
		about:    "a NodePool without the GPU taint",
		edit:     set("other", "spec", "template", "spec", "taints", 0, "key"),
		unknown:  p("spec", "template", "spec", "taints"),
	},
	{
		rule:     "pool-gpu-limited",
		resource: "gpu-l4-pool",
		about:    "field fault BR-22: a limit on nodes alone",
		edit:     set(map[string]any{"nodes": "3"}, "spec", "limits"),
		unknown:  p("spec", "limits"),
	},
	{
		rule:     "pool-gpu-shape",
		resource: "gpu-fixed-group",
		about:    "mixed sizes",
		edit:     set([]any{"g5.xlarge", "g5.2xlarge"}, "instanceTypes"),
		unknown:  p("instanceTypes"),
	},
	{
		rule:     "pool-gpu-shape",
		resource: "gpu-fixed-group",
		about:    "field fault BR-27: a share of a GPU",
		edit:     set([]any{"g6f.xlarge"}, "instanceTypes"),
		unknown:  p("instanceTypes", 0),
	},
	{
		rule:     "pool-gpu-shape",
		resource: "gpu-fixed-group",
		about:    "not NVIDIA",
		edit:     set([]any{"g4ad.xlarge"}, "instanceTypes"),
	},
	{
		rule:     "pool-gpu-shape",
		resource: "gpu-fixed-group",
		about:    "GPUs and none in one pool",
		edit:     set([]any{"g5.xlarge", "m6i.xlarge"}, "instanceTypes"),
		unknown:  p("instanceTypes"),
	},
	{
		rule:     "pool-system-fixed",
		resource: "system-group",
		about:    "tainted beyond what add-ons tolerate",
		edit:     set([]any{map[string]any{"key": "team", "value": "ml", "effect": "NO_SCHEDULE"}}, "taints"),
		unknown:  p("taints"),
	},
	{
		rule:     "pool-system-fixed",
		resource: "system-group",
		about:    "not fixed",
		edit:     set(0, "scalingConfig", "desiredSize"),
		unknown:  p("scalingConfig", "desiredSize"),
		// the cluster-autoscaler of the graph would be allowed to grow it: only the rule for the system group objects
		graph: func(g []graphtest.Record) []graphtest.Record {
			for _, r := range g {
				if r.Name == "system-group" {
					r.Props["scalingConfig"] = map[string]any{"minSize": 0, "desiredSize": 0, "maxSize": 0}
				}
			}
			return g
		},
	},
	{
		rule:     "pool-desired-size-seeded",
		resource: "gpu-ca-group",
		about:    "field faults BR-13 and BR-15: desired size is not ignored",
		edit:     func(_ testing.TB, r *graphtest.Record) { r.IgnoreChanges, r.Parent = nil, "" },
	},
	{
		rule:     "pool-gpu-kept",
		resource: "gpu-l4-pool",
		about:    "field fault BR-80: expires every three hours",
		edit:     set("3h", "spec", "template", "spec", "expireAfter"),
		unknown:  p("spec", "template", "spec", "expireAfter"),
	},
	{
		rule:     "pool-gpu-kept",
		resource: "gpu-l4-pool",
		about:    "consolidated while in use",
		edit:     set("WhenEmptyOrUnderutilized", "spec", "disruption", "consolidationPolicy"),
		unknown:  p("spec", "disruption", "consolidationPolicy"),
	},
	{
		rule:     "pool-gpu-kept",
		resource: "gpu-l4-pool",
		about:    "no budget",
		edit:     set(nil, "spec", "disruption", "budgets"),
		unknown:  p("spec", "disruption", "budgets"),
	},
	{
		rule:     "pool-limits-text",
		resource: "general-pool",
		about:    "field fault BR-26: a number",
		edit:     set(64, "spec", "limits", "cpu"),
		unknown:  p("spec", "limits", "cpu"),
	},
	{
		rule:     "pool-instances-marked",
		resource: "gpu-ca-template",
		about:    "instances without the pool tag",
		edit:     set(nil, "tagSpecifications", 0, "tags", pool.PoolTag),
		unknown:  p("tagSpecifications"),
	},
	{
		rule:     "pool-instances-marked",
		resource: "gpu-l4-class",
		about:    "nodes of Karpenter without the cluster tag",
		edit:     set(nil, "spec", "tags", pool.ClusterTag),
		unknown:  p("spec", "tags", pool.ClusterTag),
	},
	{
		rule:     "pool-instances-marked",
		resource: "auto-class",
		about:    "nodes of Auto Mode without tags",
		edit:     set(nil, "spec", "tags"),
		unknown:  p("spec", "tags"),
	},
}
