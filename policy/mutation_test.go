package main

import (
	"slices"
	"strings"
	"testing"
)

// mutation flips one property of the golden graph; exactly one rule must fire.
type mutation struct {
	rule, resource string
	about          string
	edit           func(testing.TB, *record)
	// unknown is the path that decides: made unknown, the rule must say so and report no violation. Empty where an
	// option of the resource or its absence decides, which is always known.
	unknown []any
	// graph edits the whole graph instead of one resource.
	graph    func([]record) []record
	env      *Environment
	settings map[string]map[string]any
}

func set(v any, path ...any) func(testing.TB, *record) {
	return func(t testing.TB, r *record) { t.Helper(); r.set(t, v, path...) }
}

func replace(old, new string, path ...any) func(testing.TB, *record) {
	return func(t testing.TB, r *record) { t.Helper(); r.replace(t, old, new, path...) }
}

func p(steps ...any) []any { return steps }

const federated = `oidc.eks.us-west-2.amazonaws.com/id/ABC`

var mutations = []mutation{
	{rule: "capacity-within-ceilings", resource: "headroom-dev", about: "maximum above a ceiling",
		edit: set(2, "capacity", "pools", 0, "ceilings", 0, "nodes"), unknown: p("capacity")},
	{rule: "capacity-within-ceilings", resource: "headroom-dev", about: "no output", edit: set(nil, "capacity")},
	{
		rule:     "capacity-within-ceilings",
		resource: "headroom-dev",
		about:    "a pool without a maximum",
		edit:     set(nil, "capacity", "pools", 3, "nodes", "maximum"),
		unknown:  p("capacity", "pools", 3, "nodes", "maximum"),
	},
	{rule: "capacity-within-ceilings", resource: "headroom-dev", about: "firm above maximum",
		edit: set(9, "capacity", "pools", 0, "nodes", "firm"), unknown: p("capacity", "pools", 0, "nodes", "firm")},
	{rule: "capacity-within-ceilings", resource: "headroom-dev", about: "a gang larger than the maximum",
		edit: set(4, "capacity", "pools", 0, "largestGang"), unknown: p("capacity", "pools", 0, "largestGang")},
	{rule: "capacity-within-ceilings", resource: "headroom-dev", about: "GPUs that are not nodes times GPUs per node",
		edit: set(4, "capacity", "pools", 2, "gpus", "maximum"), unknown: p("capacity", "pools", 2, "gpus", "maximum")},
	{
		rule:     "capacity-within-pool",
		resource: "gpu-l4-pool",
		about:    "field fault BR-20: a limit of two nodes under an advertised three",
		edit:     set("2", "spec", "limits", gpuResource),
		unknown:  p("spec", "limits"),
	},
	{rule: "capacity-within-pool", resource: "gpu-dra-pool", about: "a cpu limit of one node under an advertised two",
		edit: set("15", "spec", "limits", "cpu"), unknown: p("spec", "limits")},
	{rule: "capacity-has-scaler", resource: "headroom-dev", about: "field fault BR-20: nothing moves the pool",
		edit: set("fixed", "capacity", "pools", 0, "scaler"), unknown: p("capacity", "pools", 0, "scaler")},
	{rule: "capacity-has-scaler", about: "Karpenter is not installed", graph: func(g []record) []record {
		return drop(g, "karpenter", "karpenter-chart", "karpenter-chart:kube-system/karpenter")
	}},
	{
		rule:     "gpu-budget",
		resource: "gpu-ca-group",
		about:    "above the budget",
		settings: map[string]map[string]any{"gpu-budget": {"maxGpus": 14.0}},
		edit:     func(testing.TB, *record) {},
		unknown:  p("instanceTypes"),
	},
	{
		rule:     "pool-gpu-tainted",
		resource: "gpu-fixed-group",
		about:    "field fault BR-01: no taint",
		edit:     set(nil, "taints"),
		unknown:  p("taints"),
	},
	{rule: "pool-gpu-tainted", resource: "gpu-fixed-group", about: "a taint that only prefers",
		edit: set("PREFER_NO_SCHEDULE", "taints", 0, "effect"), unknown: p("taints", 0, "effect")},
	{
		rule:     "pool-gpu-tainted",
		resource: "gpu-l4-pool",
		about:    "a NodePool without the GPU taint",
		edit:     set("other", "spec", "template", "spec", "taints", 0, "key"),
		unknown:  p("spec", "template", "spec", "taints"),
	},
	{rule: "pool-gpu-limited", resource: "gpu-l4-pool", about: "field fault BR-22: a limit on nodes alone",
		edit: set(map[string]any{"nodes": "3"}, "spec", "limits"), unknown: p("spec", "limits")},
	{rule: "pool-gpu-shape", resource: "gpu-fixed-group", about: "mixed sizes",
		edit: set([]any{"g5.xlarge", "g5.2xlarge"}, "instanceTypes"), unknown: p("instanceTypes")},
	{rule: "pool-gpu-shape", resource: "gpu-fixed-group", about: "field fault BR-27: a share of a GPU",
		edit: set([]any{"g6f.xlarge"}, "instanceTypes"), unknown: p("instanceTypes", 0)},
	{
		rule:     "pool-gpu-shape",
		resource: "gpu-fixed-group",
		about:    "not NVIDIA",
		edit:     set([]any{"g4ad.xlarge"}, "instanceTypes"),
	},
	{rule: "pool-gpu-shape", resource: "gpu-fixed-group", about: "GPUs and none in one pool",
		edit: set([]any{"g5.xlarge", "m6i.xlarge"}, "instanceTypes"), unknown: p("instanceTypes")},
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
		graph: func(g []record) []record {
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
		edit:     func(_ testing.TB, r *record) { r.IgnoreChanges = nil },
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
	{rule: "pool-instances-marked", resource: "gpu-ca-template", about: "instances without the pool tag",
		edit: set(nil, "tagSpecifications", 0, "tags", poolTag), unknown: p("tagSpecifications")},
	{rule: "pool-instances-marked", resource: "gpu-l4-class", about: "nodes of Karpenter without the cluster tag",
		edit: set(nil, "spec", "tags", clusterTag), unknown: p("spec", "tags", clusterTag)},
	{
		rule:     "pool-instances-marked",
		resource: "auto-class",
		about:    "nodes of Auto Mode without tags",
		edit:     set(nil, "spec", "tags"),
		unknown:  p("spec", "tags"),
	},

	{
		rule:     "pool-bounds-scaled",
		resource: "gpu-fixed-group",
		about:    "field fault BR-20: bounds without anything to move between them",
		edit: func(t testing.TB, r *record) {
			r.set(t, 4, "scalingConfig", "maxSize")
			r.IgnoreChanges = []string{"scalingConfig.desiredSize"}
		},
		unknown: p("scalingConfig", "maxSize"),
		graph: func(g []record) []record { // nor anything that the other group would have been promised
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
			g = drop(g, "ca", "cluster-autoscaler", "cluster-autoscaler:kube-system/cluster-autoscaler")
			return g
		},
		env: &Environment{Region: "us-west-2", PodsSelectPool: true},
	},
	{rule: "scalers-disjoint", resource: "gpu-ca-group", about: "field fault BR-09: a pod fits pools of both",
		edit: set("serving", "taints", 1, "key"), unknown: p("taints", 1, "key")},
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
	{rule: "pool-dra-served", resource: "headroom-dev", about: "field fault BR-11: cluster-autoscaler from zero",
		edit: set("dra", "capacity", "pools", 2, "deviceMode"), unknown: p("capacity", "pools", 2, "deviceMode")},

	{
		rule:     "cluster-endpoint-closed",
		resource: "cluster-eks-eksCluster",
		about:    "open to the world",
		edit:     set([]any{"192.0.2.0/24", "0.0.0.0/0"}, "vpcConfig", "publicAccessCidrs"),
		unknown:  p("vpcConfig", "publicAccessCidrs"),
	},
	{
		rule:     "cluster-endpoint-closed",
		resource: "cluster-eks-eksCluster",
		about:    "open by default",
		edit:     set(map[string]any{}, "vpcConfig"),
		unknown:  p("vpcConfig", "endpointPublicAccess"),
	},
	{
		rule:     "cluster-secrets-encrypted",
		resource: "cluster-eks-eksCluster",
		about:    "no encryption",
		edit:     set(nil, "encryptionConfig"),
		unknown:  p("encryptionConfig"),
	},
	{
		rule:     "cluster-secrets-encrypted",
		resource: "cluster-eks-eksCluster",
		about:    "something else is encrypted",
		edit:     set([]any{"other"}, "encryptionConfig", "resources"),
		unknown:  p("encryptionConfig", "provider", "keyArn"),
	},
	{rule: "cluster-logs-on", resource: "cluster-eks-eksCluster", about: "no authenticator log",
		edit: set([]any{"api", "audit"}, "enabledClusterLogTypes"), unknown: p("enabledClusterLogTypes")},
	{
		rule:     "cluster-version-supported",
		resource: "cluster-eks-eksCluster",
		about:    "out of standard support",
		edit:     set("1.33", "version"),
		unknown:  p("version"),
	},
	{
		rule:     "cluster-version-supported",
		resource: "cluster-eks-eksCluster",
		about:    "unheard of",
		edit:     set("1.99", "version"),
	},
	{
		rule:     "cluster-version-supported",
		resource: "cluster-eks-eksCluster",
		about:    "not pinned",
		edit:     set(nil, "version"),
	},
	{
		rule:     "cluster-protected",
		resource: "cluster-eks-eksCluster",
		about:    "field faults BR-83 and BR-89: may be replaced",
		edit:     func(_ testing.TB, r *record) { r.Protect = false },
	},

	{
		rule:     "nodes-imds-v2",
		resource: "system-template",
		about:    "IMDSv1",
		edit:     set("optional", "metadataOptions", "httpTokens"),
		unknown:  p("metadataOptions", "httpTokens"),
	},
	{rule: "nodes-imds-v2", resource: "gpu-l4-class", about: "field fault BR-78: hop limit 2",
		edit: set(2, "spec", "metadataOptions", "httpPutResponseHopLimit"), unknown: p("spec", "metadataOptions")},
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
	{rule: "nodes-image-pinned", resource: "gpu-l4-class", about: "field fault BR-79: alias latest",
		edit: set("al2023@latest", "spec", "amiSelectorTerms", 0, "alias"), unknown: p("spec", "amiSelectorTerms")},
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
	{rule: "workload-image-pinned", resource: "store", about: "no tag, and a port in the registry",
		edit: set("registry.example:5000/store", "spec", "template", "spec", "containers", 0, "image")},

	{rule: "iam-trust-exact", resource: "karpenter-role-role", about: "field fault BR-36: a star in the subject",
		edit: replace("kube-system:karpenter", "kube-system:*", "assumeRolePolicy"), unknown: p("assumeRolePolicy")},
	{
		rule:     "iam-trust-exact",
		resource: "karpenter-role-role",
		about:    "by likeness",
		edit:     replace("StringEquals", "StringLike", "assumeRolePolicy"),
	},
	{rule: "iam-trust-exact", resource: "karpenter-role-role", about: "field fault BR-35: keyed with the scheme",
		edit: replace(federated+":sub", "https://"+federated+":sub", "assumeRolePolicy")},
	{rule: "iam-trust-exact", resource: "karpenter-role-role", about: "field fault BR-37: the key of another issuer",
		edit: replace(federated+":aud", "oidc.eks.us-west-2.amazonaws.com/id/OTHER:aud", "assumeRolePolicy")},
	{
		rule:     "iam-trust-exact",
		resource: "karpenter-role-role",
		about:    "another audience",
		edit:     replace("sts.amazonaws.com", "example.com", "assumeRolePolicy"),
	},
	{rule: "iam-actions-named", resource: "karpenter-iam-integration", about: "all of a service",
		edit: replace("iam:DeleteInstanceProfile", "eks:*", "policy"), unknown: p("policy")},
	{
		rule:     "iam-actions-named",
		resource: "karpenter-iam-integration",
		about:    "everything but",
		edit:     replace(`"Action": ["iam:Add`, `"NotAction": ["iam:Add`, "policy"),
	},
	{rule: "iam-pass-role-scoped", resource: "karpenter-iam-integration", about: "any role",
		edit: replace("arn:aws:iam::123456789012:role/nodes-1f2e3d4", "*", "policy"), unknown: p("policy")},
	{rule: "iam-autoscaler-scoped", resource: "ca-policy", about: "any group of the account",
		edit: replace("aws:ResourceTag/", "aws:RequestedTag/", "policy"), unknown: p("policy")},
	{rule: "iam-autoscaler-scoped", resource: "ca-policy", about: "field fault BR-05: the read is cancelled by the tag",
		edit: replace(`"autoscaling:SetDesiredCapacity", `, `"eks:DescribeNodegroup", `, "policy")},
	{
		rule:     "partition-matches-region",
		resource: "karpenter-iam-integration",
		about:    "field fault BR-40: a written partition",
		edit: replace("arn:aws:iam::123456789012:instance-profile", "arn:aws-cn:iam::123456789012:instance-profile",
			"policy"),
	},

	{
		rule:     "queue-tls-only",
		resource: "interruption-queue-policy",
		about:    "plain HTTP is not refused",
		edit:     replace("aws:SecureTransport", "aws:Other", "policy"),
		unknown:  p("policy"),
	},
	{
		rule:     "queue-encryption-reachable",
		resource: "interruption-queue",
		about:    "not encrypted",
		edit:     set(false, "sqsManagedSseEnabled"),
		unknown:  p("sqsManagedSseEnabled"),
	},
	{
		rule:     "queue-encryption-reachable",
		resource: "interruption-queue",
		about:    "the key AWS manages",
		edit:     set("alias/aws/sqs", "kmsMasterKeyId"),
		unknown:  p("kmsMasterKeyId"),
	},
	{rule: "queue-encryption-reachable", resource: "interruption-queue", about: "a key that EventBridge may not use",
		edit: set("arn:aws:kms:us-west-2:123456789012:key/k-1", "kmsMasterKeyId")},
	{rule: "interruption-rules-complete", resource: "interruption-spot", about: "misspelt",
		edit: replace("Interruption Warning", "interruption warning", "eventPattern"), unknown: p("eventPattern")},
	{rule: "interruption-rules-complete", about: "field fault BR-33: one missing", graph: func(g []record) []record {
		return drop(g, "interruption-rebalance", "interruption-rebalance-target")
	}},
	{
		rule:  "interruption-rules-complete",
		about: "no target",
		graph: func(g []record) []record { return drop(g, "interruption-rebalance-target") },
	},
	{rule: "interruption-rules-complete", resource: "interruption-spot-target", about: "another target",
		edit: set("arn:aws:sqs:us-west-2:123456789012:other", "arn"), unknown: p("arn")},
	{
		rule:     "interruption-rules-complete",
		resource: "interruption-spot",
		about:    "switched off",
		edit:     set("DISABLED", "state"),
	},
	{rule: "interruption-rules-complete", resource: "interruption-queue-policy", about: "EventBridge may not send",
		edit: replace("sqs:SendMessage", "sqs:GetQueueUrl", "policy"), unknown: p("policy")},
	{rule: "interruption-queue-readable", resource: "karpenter-interruption", about: "field fault BR-30: may not read",
		edit: replace(`"sqs:ReceiveMessage"`, `"sqs:ListQueues"`, "policy"), unknown: p("policy")},
	{rule: "interruption-queue-readable", resource: "karpenter-interruption", about: "another queue too",
		edit: replace(`"Resource": "arn:aws:sqs:us-west-2:123456789012:dev-interruption-1a2b3c4"`,
			`"Resource": ["arn:aws:sqs:us-west-2:123456789012:dev-interruption-1a2b3c4", "arn:aws:sqs:us-west-2:123456789012:other"]`, "policy")},

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
		graph: func(g []record) []record {
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
		graph: func(g []record) []record { return drop(g, "cluster-eks-eksCluster") },
	},
}

// mutate applies a mutation to a fresh golden graph and gives the graph and the mutated resource, if it is one.
func (m mutation) mutate(t testing.TB, edit func(testing.TB, *record)) []record {
	t.Helper()
	records := loadGraph(t)
	if m.graph != nil {
		records = m.graph(records)
	}
	if m.resource != "" && edit != nil {
		edit(t, find(t, records, m.resource))
	}
	return records
}

func (m mutation) evaluate(records []record) map[string][]Finding {
	env := testEnv
	if m.env != nil {
		env = *m.env
	}
	return evaluate(records, env, m.settings)
}

func TestOneFlippedPropertyFiresExactlyItsRule(t *testing.T) {
	for _, m := range mutations {
		t.Run(m.rule+"/"+m.about, func(t *testing.T) {
			found := m.evaluate(m.mutate(t, m.edit))
			if got := violating(found); !slices.Equal(got, []string{m.rule}) {
				for _, name := range got {
					t.Logf("%s:\n%s", name, texts(found[name]))
				}
				t.Fatalf("fired %v, want exactly %s", got, m.rule)
			}
			for _, f := range found[m.rule] {
				if !f.Unknown && (!strings.Contains(f.Text, "Remedy: ") || f.Path == "") {
					t.Errorf("no remedy or path: %s", f.Text)
				}
			}
		})
	}
}

func TestEveryRuleHasAMutation(t *testing.T) {
	for _, rule := range Rules {
		if !slices.ContainsFunc(mutations, func(m mutation) bool { return m.rule == rule.Name }) {
			t.Errorf("no mutation for %s", rule.Name)
		}
	}
}

// Field fault BR-94: an unknown value is neither a pass nor a violation.
func TestAnUnknownValueIsNotedAndNotReported(t *testing.T) {
	for _, m := range mutations {
		if m.unknown == nil {
			continue
		}
		t.Run(m.rule+"/"+m.about, func(t *testing.T) {
			records := m.mutate(t, set(unknown{}, m.unknown...))
			found := m.evaluate(records)[m.rule]
			noted := false
			for _, f := range found {
				noted = noted || f.Unknown
				if !f.Unknown {
					t.Errorf("violation on an unknown value: %s", f.Text)
				}
			}
			if !noted {
				t.Error("the rule said nothing about an unknown value")
			}
		})
	}
}

func TestASecretIsCheckedAndNeverShown(t *testing.T) {
	for _, m := range mutations {
		if m.resource == "" {
			continue
		}
		t.Run(m.rule+"/"+m.about, func(t *testing.T) {
			records := m.mutate(t, m.edit)
			leaves := map[string]bool{}
			for _, r := range records {
				collect(r.Props, leaves)
				for key, v := range r.Props {
					r.Props[key] = secret{v}
				}
			}
			found := m.evaluate(records)[m.rule]
			if !slices.ContainsFunc(found, func(f Finding) bool { return !f.Unknown }) {
				t.Fatal("the rule does not look into secrets")
			}
			remedy := ""
			for _, rule := range Rules {
				if rule.Name == m.rule {
					remedy = rule.Remedy
				}
			}
			for _, f := range found {
				said := strings.ReplaceAll(f.Text, remedy, "")
				for leaf := range leaves {
					if strings.Contains(said, leaf) {
						t.Errorf("%q is shown in: %s", leaf, said)
					}
				}
			}
		})
	}
}

// collect gathers what a message must not hold: strings of the resources, but for plain words, which messages have too,
// and what a resource's type says anyway.
func collect(v any, into map[string]bool) {
	switch v := v.(type) {
	case map[string]any:
		for key, e := range v {
			if key != "apiVersion" && key != "kind" {
				collect(e, into)
			}
		}
	case []any:
		for _, e := range v {
			collect(e, into)
		}
	case string:
		if len(v) > 3 && strings.ContainsAny(v, "0123456789:/.") && v != gpuResource && v != testEnv.Region {
			into[v] = true
		}
	}
}
