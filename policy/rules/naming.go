package rules

import (
	"regexp"
	"strings"

	"github.com/headroom-eks/headroom/policy/view"
	"github.com/pulumi/pulumi/sdk/v3/go/property"
)

// Naming rules look at names, tags, and at whether the pack was asked at all.
var namingRules = []Rule{
	{
		Name:     "tags-present",
		Area:     "naming",
		Level:    Mandatory,
		Types:    taggable,
		Resource: tagsPresent,
		Why:      "Nobody can tell who owns a resource, or what it costs.",
		Remedy:   "set tags in headroom:environment",
		Settings: []Setting{
			{Name: "keys", Doc: "tags that everything carries", Default: []string{"environment"}},
		},
	},
	{
		Name:   "names-distinct",
		Area:   "naming",
		Level:  Mandatory,
		Stack:  namesDistinct,
		Why:    "A second cluster in the same account and region fails on a name that is taken.",
		Remedy: "leave the name to Pulumi, or put the cluster's name into it",
		Types:  named,
		Faults: []string{"BR-31", "BR-32", "BR-88"},
	},
	{
		Name:   "pack-sees-types",
		Area:   "naming",
		Level:  Mandatory,
		Stack:  packSeesTypes,
		Why:    "A rule whose resource type never appears passes in silence.",
		Remedy: "correct the type token in the pack, or the list in the environment's policy config",
		Types:  []string{view.TypeStack},
		Faults: []string{"BR-95"},
		Settings: []Setting{
			{
				Name:    "types",
				Doc:     "resource types of which the pack must have seen at least one",
				Default: []string{view.TypeCluster},
			},
		},
	},
}

// taggable types of the graph. Node classes and launch templates also mark instances: pool-instances-marked.
var taggable = []string{
	view.TypeCluster, view.TypeNodeGroup, view.TypeAddon, view.TypeLaunchTemplate, view.TypeRole, view.TypePolicy,
	view.TypeProfile, view.TypeQueue,
	view.TypeEventRule, view.TypeLogGroup, view.TypeKey,
	"aws:iam/openIdConnectProvider:OpenIdConnectProvider", "aws:ec2/vpc:Vpc", "aws:ec2/subnet:Subnet",
	"aws:ec2/internetGateway:InternetGateway",
	"aws:ec2/natGateway:NatGateway", "aws:ec2/eip:Eip", "aws:ec2/routeTable:RouteTable",
	"aws:ec2/vpcEndpoint:VpcEndpoint",
}

// named types live in one namespace of the account, or of the account and region.
var named = []string{view.TypeRole, view.TypePolicy, view.TypeProfile, view.TypeQueue, view.TypeEventRule,
	view.TypeLogGroup, view.TypeAlias,
	view.TypeLaunchTemplate}

// autoNamed is what Pulumi appends to a logical name, or AWS to a prefix.
var autoNamed = regexp.MustCompile(`[-.]?([0-9a-f]{7}|[0-9]{26})$`)

func tagsPresent(c *Check, r view.Resource) {
	tags := r.Props.Key("tags")
	for _, key := range c.Strings("keys") {
		c.Expect(tags.Key(key), "the tag is missing",
			func(v view.Value) bool { text, s := v.Text(); return s == view.Known && text != "" })
	}
}

func namesDistinct(c *Check, g view.Graph) {
	cluster := ""
	for _, r := range g.OfType(view.TypeCluster) {
		name, state := r.Props.Key("name").Text()
		if !c.Known(r.Props.Key("name"), state) {
			return
		}
		cluster = name
	}
	if cluster == "" {
		return
	}
	first := map[string]string{}
	for _, r := range g.OfType(named...) {
		at := r.Props.Key("name")
		name, state := at.Text()
		if !c.Known(at, state) {
			continue
		}
		key := r.Type + "\x00" + name
		if other, taken := first[key]; taken {
			c.Violation(at, "%s has the same name", other)
		}
		first[key] = r.Name
		if !autoNamed.MatchString(name) && !strings.Contains(name, cluster) {
			c.Violation(at, "the name is fixed and does not hold the cluster's")
		}
	}
}

func packSeesTypes(c *Check, g view.Graph) {
	for _, typ := range c.Strings("types") {
		if c.Seen[typ] == 0 {
			seen := view.NewValue(g.StackURN(), "resources of type "+typ, property.New(0.0))
			c.Violation(seen, "the pack was shown none")
		}
	}
}
