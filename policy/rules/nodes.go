package rules

import (
	"slices"
	"strings"

	"github.com/headroom-eks/headroom/policy/view"
)

// Node rules look at what instances are started from.
var nodeRules = []Rule{
	{
		Name:     "nodes-imds-v2",
		Area:     "nodes",
		Level:    Mandatory,
		Resource: nodesIMDSv2,
		Why:      "A pod could read the node's credentials from instance metadata.",
		Remedy:   "set httpTokens required and httpPutResponseHopLimit 1, in a launch template or node class of ours",
		Types:    []string{view.TypeLaunchTemplate, view.TypeNodeGroup, view.TypeEC2NodeClass},
		Faults:   []string{"BR-78"},
	},
	{
		Name:     "nodes-volumes-encrypted",
		Area:     "nodes",
		Level:    Mandatory,
		Resource: nodesVolumesEncrypted,
		Why:      "A node's disk, with the models and secrets on it, is not encrypted.",
		Remedy:   "set ebs.encrypted true on every block device mapping",
		Types:    []string{view.TypeLaunchTemplate, view.TypeEC2NodeClass},
		Faults:   []string{"BR-67"},
	},
	{
		Name:     "nodes-image-pinned",
		Area:     "nodes",
		Level:    Mandatory,
		Resource: nodesImagePinned,
		Why:      "An image, alias, template or add-on that follows the latest rolls the fleet on somebody else's day.",
		Remedy:   "pin the version in config",
		Types:    []string{view.TypeNodeGroup, view.TypeEC2NodeClass, view.TypeAddon},
		Faults:   []string{"BR-79"},
	},
	{
		Name:     "workload-image-pinned",
		Area:     "nodes",
		Level:    Mandatory,
		Resource: workloadImagePinned,
		Why:      "A container image without a fixed tag is another program after the next restart.",
		Remedy:   "pin the image by tag or digest in the chart's values",
		Types:    []string{view.TypeDeployment, view.TypeDaemonSet, view.TypeStatefulSet},
		Faults:   []string{"BR-95"},
	},
}

func nodesIMDSv2(c *Check, r view.Resource) {
	options := r.Props.Key("metadataOptions")
	switch r.Type {
	case view.TypeNodeGroup:
		if at := r.Props.Key("launchTemplate"); at.State() == view.Absent {
			c.Violation(at, "without a template of ours EKS lets pods reach instance metadata (hop limit 2)")
		}
		return
	case view.TypeEC2NodeClass:
		options = r.Props.Key("spec", "metadataOptions")
	}
	c.Expect(options.Key("httpTokens"), "IMDSv1 answers without a token",
		func(v view.Value) bool { text, _ := v.Text(); return text == "required" })
	c.Expect(options.Key("httpPutResponseHopLimit"), "pods can reach the node's instance metadata",
		func(v view.Value) bool { n, s := v.Int(); return s == view.Known && n == 1 })
}

func nodesVolumesEncrypted(c *Check, r view.Resource) {
	mappings := r.Props.Key("blockDeviceMappings")
	if r.Type == view.TypeEC2NodeClass {
		mappings = r.Props.Key("spec", "blockDeviceMappings")
	}
	list, state := mappings.Elements()
	switch {
	case state == view.Unknown:
		c.Unknown(mappings)
	case len(list) == 0:
		c.Violation(mappings, "the root volume is left to the image's defaults")
	}
	for _, m := range list {
		c.Expect(m.Key("ebs", "encrypted"), "the volume is not encrypted",
			func(v view.Value) bool { on, _ := v.Bool(); return on })
	}
}

func nodesImagePinned(c *Check, r view.Resource) {
	pinned := func(v view.Value) bool {
		text, s := v.Text()
		return s != view.Known || text != "" && !strings.Contains(strings.ToLower(text), "latest") && text != "$Default"
	}
	switch r.Type {
	case view.TypeAddon:
		c.Expect(r.Props.Key("addonVersion"), "the add-on takes whatever is the default that day", pinned)
	case view.TypeNodeGroup:
		if at := r.Props.Key("launchTemplate"); at.State() != view.Absent {
			c.Expect(at.Key("version"), "the template's version moves", pinned)
		}
		if ami, state := r.Props.Key("amiType").Text(); state != view.Known || ami != "CUSTOM" {
			c.Expect(r.Props.Key("releaseVersion"), "the AMI release moves", pinned)
		}
	case view.TypeEC2NodeClass:
		terms := r.Props.Key("spec", "amiSelectorTerms")
		list, state := terms.Elements()
		if state == view.Unknown {
			c.Unknown(terms)
		} else if len(list) == 0 {
			c.Violation(terms, "no image is chosen")
		}
		for _, term := range list {
			for _, key := range []string{"alias", "name"} {
				if at := term.Key(key); at.State() != view.Absent {
					c.Expect(at, "the alias moves with every release", pinned)
				}
			}
		}
	}
}

func workloadImagePinned(c *Check, r view.Resource) {
	spec := r.Props.Key("spec", "template", "spec")
	for _, key := range []string{"initContainers", "containers"} {
		list, state := spec.Key(key).Elements()
		c.Known(spec.Key(key), state)
		for _, container := range list {
			c.Expect(container.Key("image"), "no fixed tag", func(v view.Value) bool {
				text, _ := v.Text()
				if strings.Contains(text, "@sha256:") {
					return true
				}
				name := text[strings.LastIndex(text, "/")+1:]
				_, tag, found := strings.Cut(name, ":")
				return found && !slices.Contains([]string{"", "latest"}, tag)
			})
		}
	}
}
