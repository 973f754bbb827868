package rules_test

import (
	"fmt"
	"slices"
	"time"

	"github.com/headroom-eks/headroom/policy/rules"
	"github.com/headroom-eks/headroom/policy/view"
	"github.com/pulumi/pulumi/sdk/v3/go/property"
)

// ownerNamed is a rule that another pack adds to ours.
var ownerNamed = rules.Rule{
	Name:   "owner-named",
	Area:   "ours",
	Level:  rules.Mandatory,
	Why:    "Nobody is called when the node group fails.",
	Remedy: "set the tag owner",
	Types:  []string{view.TypeNodeGroup},
	Resource: func(c *rules.Check, r view.Resource) {
		c.Expect(r.Props.Key("tags", "owner"), "the group has no owner", func(v view.Value) bool {
			text, _ := v.Text()
			return text != ""
		})
	},
}

// Another pack takes some of these rules, adds its own, and hands them to serve.Pack; its tests run them without an
// engine.
func Example() {
	list := []rules.Rule{ownerNamed}
	for _, r := range rules.All {
		if slices.Contains([]string{"pool-gpu-tainted", "tags-present"}, r.Name) {
			list = append(list, r)
		}
	}
	group := view.NewResource(view.TypeNodeGroup, "gpu", "urn:gpu", property.NewMap(map[string]property.Value{
		"instanceTypes": property.New([]property.Value{property.New("g6.xlarge")}),
		"tags":          property.New(map[string]property.Value{"environment": property.New("dev")}),
	}))
	for _, r := range list {
		for _, f := range r.OnResource(rules.Check{Now: time.Now()}, group) {
			fmt.Printf("%s (%s) refuses %s\n", r.Name, r.Level, f.Path)
		}
	}
	// Output:
	// owner-named (mandatory) refuses tags.owner
	// pool-gpu-tainted (mandatory) refuses taints
}
