package rules

var nodeMutations = []mutation{
	{
		rule:     "nodes-imds-v2",
		resource: "system-template",
		about:    "IMDSv1",
		edit:     set("optional", "metadataOptions", "httpTokens"),
		unknown:  p("metadataOptions", "httpTokens"),
	},
	{
		rule:     "nodes-imds-v2",
		resource: "gpu-l4-class",
		about:    "field fault BR-78: hop limit 2",
		edit:     set(2, "spec", "metadataOptions", "httpPutResponseHopLimit"),
		unknown:  p("spec", "metadataOptions"),
	},
	{rule: "nodes-imds-v2", resource: "gpu-ca-group", about: "no template of ours", edit: set(nil, "launchTemplate")},
	{
		rule:     "nodes-volumes-encrypted",
		resource: "system-template",
		about:    "not encrypted",
		edit:     set("false", "blockDeviceMappings", 0, "ebs", "encrypted"),
		unknown:  p("blockDeviceMappings", 0, "ebs", "encrypted"),
	},
	{
		rule:     "nodes-volumes-encrypted",
		resource: "gpu-l4-class",
		about:    "left to the image",
		edit:     set([]any{}, "spec", "blockDeviceMappings"),
		unknown:  p("spec", "blockDeviceMappings"),
	},
	{
		rule:     "nodes-image-pinned",
		resource: "gpu-l4-class",
		about:    "field fault BR-79: alias latest",
		edit:     set("al2023@latest", "spec", "amiSelectorTerms", 0, "alias"),
		unknown:  p("spec", "amiSelectorTerms"),
	},
	{
		rule:     "nodes-image-pinned",
		resource: "gpu-ca-group",
		about:    "template version $Latest",
		edit:     set("$Latest", "launchTemplate", "version"),
		unknown:  p("launchTemplate", "version"),
	},
	{
		rule:     "nodes-image-pinned",
		resource: "gpu-ca-group",
		about:    "no AMI release",
		edit:     set(nil, "releaseVersion"),
		unknown:  p("releaseVersion"),
	},
	{
		rule:     "nodes-image-pinned",
		resource: "cluster-coredns",
		about:    "no add-on version",
		edit:     set(nil, "addonVersion"),
		unknown:  p("addonVersion"),
	},
	{
		rule:     "workload-image-pinned",
		resource: "nvidia-device-plugin:kube-system/nvidia-device-plugin",
		about:    "field fault BR-95: image latest",
		edit:     set("nvcr.io/nvidia/k8s-device-plugin:latest", "spec", "template", "spec", "containers", 0, "image"),
		unknown:  p("spec", "template", "spec", "containers", 0, "image"),
	},
	{
		rule:     "workload-image-pinned",
		resource: "store",
		about:    "no tag, and a port in the registry",
		edit:     set("registry.example:5000/store", "spec", "template", "spec", "containers", 0, "image"),
	},
}
