package rules

import (
	"testing"

	"github.com/headroom-eks/headroom/policy/graphtest"
)

var scalerMutations = []mutation{
	{
		rule:     "pool-bounds-scaled",
		resource: "gpu-fixed-group",
		about:    "field fault BR-20: bounds without anything to move between them",
		edit: func(t testing.TB, r *graphtest.Record) {
			r.Set(t, 4, "scalingConfig", "maxSize")
			r.IgnoreChanges = []string{"scalingConfig.desiredSize"}
		},
		unknown: p("scalingConfig", "maxSize"),
		// nor anything that the other group would have been promised
		graph: func(g []graphtest.Record) []graphtest.Record {
			for _, r := range g {
				switch r.Name {
				case "headroom-dev":
					r.Props["capacity"].(map[string]any)["pools"].([]any)[2].(map[string]any)["advertised"] = false
				case "gpu-ca-group":
					r.Props["scalingConfig"].(map[string]any)["maxSize"] = 0
				case "gpu-l4-pool", "gpu-dra-pool", "general-pool":
					taints := r.Props["spec"].(map[string]any)["template"].(map[string]any)["spec"].(map[string]any)
					taints["taints"] = append(taints["taints"].([]any), map[string]any{
						"key":    "x",
						"value":  "y",
						"effect": "NoSchedule",
					})
				}
			}
			g = graphtest.Drop(g, "ca", "cluster-autoscaler", "cluster-autoscaler:kube-system/cluster-autoscaler")
			return g
		},
		env: &Environment{Region: "us-west-2", PodsSelectPool: true},
	},
	{
		rule:     "scalers-disjoint",
		resource: "gpu-ca-group",
		about:    "field fault BR-09: a pod fits pools of both",
		edit:     set("serving", "taints", 1, "key"),
		unknown:  p("taints", 1, "key"),
	},
	{
		rule:     "scalers-disjoint",
		resource: "gpu-dra-pool",
		about:    "two device modes of Karpenter that one pod fits",
		edit:     set("serving", "spec", "template", "spec", "taints", 1, "key"),
		unknown:  p("spec", "template", "spec", "taints", 1, "key"),
	},
	{
		rule:     "scalers-disjoint",
		resource: "cluster-eks-eksCluster",
		about:    "field fault BR-10: Auto Mode beside the others",
		edit:     set(true, "computeConfig", "enabled"),
		unknown:  p("computeConfig", "enabled"),
	},
	{
		rule:     "pool-dra-served",
		resource: "karpenter-chart:kube-system/karpenter",
		about:    "field fault BR-12: the gate is off",
		edit:     set("DRANVIDIAGPU=false", "spec", "template", "spec", "containers", 0, "env", 0, "value"),
		unknown:  p("spec", "template", "spec", "containers", 0, "env", 0, "value"),
	},
	{
		rule:     "pool-dra-served",
		resource: "headroom-dev",
		about:    "field fault BR-11: cluster-autoscaler from zero",
		edit:     set("dra", "capacity", "pools", 2, "deviceMode"),
		unknown:  p("capacity", "pools", 2, "deviceMode"),
	},
}
