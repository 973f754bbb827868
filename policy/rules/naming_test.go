package rules

import (
	"github.com/headroom-eks/headroom/policy/graphtest"
)

var namingMutations = []mutation{
	{
		rule:     "tags-present",
		resource: "interruption-queue",
		about:    "no tags",
		edit:     set(nil, "tags"),
		unknown:  p("tags"),
	},
	{
		rule:     "names-distinct",
		resource: "interruption-spot",
		about:    "field fault BR-31: a fixed name",
		unknown:  p("name"),
		edit:     set("spot", "name"),
		graph: func(g []graphtest.Record) []graphtest.Record {
			for _, r := range g {
				if r.Name == "interruption-spot-target" {
					r.Props["rule"] = "spot"
				}
			}
			return g
		},
	},
	{
		rule:     "names-distinct",
		resource: "karpenter-interruption",
		about:    "the same name twice",
		edit:     set("ca-policy-6e7f809", "name"),
		unknown:  p("name"),
	},
	{
		rule:  "pack-sees-types",
		about: "no cluster came by",
		graph: func(g []graphtest.Record) []graphtest.Record { return graphtest.Drop(g, "cluster-eks-eksCluster") },
	},
}
