package main

import (
	"testing"
)

// What is right in another way than the golden graph's must not fire either.
func TestCompliantVariants(t *testing.T) {
	taint := func(key, effect string) any {
		return []any{map[string]any{"key": key, "value": "true", "effect": effect}}
	}
	for _, v := range []struct {
		about, resource string
		edit            func(testing.TB, *record)
		graph           func([]record) []record
	}{
		{
			about:    "field fault BR-24: more realized than allowed, after a limit was lowered",
			resource: "headroom-dev",
			edit: func(t testing.TB, r *record) {
				r.set(t, 9, "capacity", "pools", 0, "nodes", "realized")
			},
		},
		{
			about:    "a public endpoint that is off",
			resource: "cluster-eks-eksCluster",
			edit:     set(map[string]any{"endpointPublicAccess": false}, "vpcConfig"),
		},
		{
			about:    "all log types",
			resource: "cluster-eks-eksCluster",
			edit:     set([]any{"api", "audit", "authenticator", "scheduler"}, "enabledClusterLogTypes"),
		},
		{
			about:    "a version in its last days of standard support",
			resource: "cluster-eks-eksCluster",
			edit:     set("1.34", "version"),
		},
		{
			about:    "the system group with its one allowed taint",
			resource: "system-group",
			edit:     set(taint("CriticalAddonsOnly", "NO_SCHEDULE"), "taints"),
		},
		{
			about:    "a fixed pool of no nodes, which EKS gives a maximum of 1",
			resource: "gpu-fixed-group",
			graph: func(g []record) []record {
				advertise(g, 0, 2)
				return drop(g, "ca", "cluster-autoscaler", "cluster-autoscaler:kube-system/cluster-autoscaler",
					"gpu-ca-group")
			},
			edit: func(t testing.TB, r *record) {
				r.set(t, map[string]any{"minSize": 0, "desiredSize": 0, "maxSize": 1}, "scalingConfig")
			},
		},
		{about: "a static pool, limited in nodes alone", resource: "gpu-l4-pool", edit: func(t testing.TB, r *record) {
			r.set(t, 3, "spec", "replicas")
			r.set(t, map[string]any{"nodes": "3"}, "spec", "limits")
		}},
		{
			about:    "desired size ignored with the whole of scalingConfig",
			resource: "gpu-ca-group",
			edit:     func(_ testing.TB, r *record) { r.IgnoreChanges = []string{"scalingConfig"} },
		},
		{
			about:    "an expiry of a week",
			resource: "gpu-l4-pool",
			edit:     set("168h", "spec", "template", "spec", "expireAfter"),
		},
		{about: "several instance types of one shape", resource: "gpu-l4-pool",
			edit: set([]any{"g6.xlarge", "g5.xlarge"}, "spec", "template", "spec", "requirements", 0, "values")},
		{
			about:    "a general pool that excludes GPUs by property",
			resource: "general-pool",
			edit: set(map[string]any{"key": "karpenter.k8s.aws/instance-gpu-count", "operator": "DoesNotExist"},
				"spec", "template", "spec", "requirements", 0),
		},
		{about: "a custom AMI without an EKS release", resource: "gpu-ca-group", edit: func(t testing.TB, r *record) {
			r.set(t, "CUSTOM", "amiType")
			r.set(t, nil, "releaseVersion")
		}},
		{
			about:    "an AMI by id",
			resource: "gpu-l4-class",
			edit:     set([]any{map[string]any{"id": "ami-1"}}, "spec", "amiSelectorTerms"),
		},
		{
			about:    "an image by digest alone",
			resource: "store",
			edit: set("registry.example:5000/store@sha256:00", "spec", "template", "spec", "containers", 0,
				"image"),
		},
		{
			about:    "reads that end in a star",
			resource: "ca-policy",
			edit:     replace("ec2:DescribeInstanceTypes", "ec2:Describe*", "policy"),
		},
		{
			about:    "a document given as an object",
			resource: "karpenter-interruption",
			edit: func(t testing.TB, r *record) {
				r.set(t, map[string]any{"Statement": map[string]any{
					"Effect":   "Allow",
					"Action":   []any{"sqs:ReceiveMessage", "sqs:DeleteMessage", "sqs:GetQueueUrl"},
					"Resource": "arn:aws:sqs:us-west-2:123456789012:dev-interruption-1a2b3c4",
				}}, "policy")
			},
		},
		{
			about:    "a customer key that EventBridge may use",
			resource: "interruption-queue",
			edit:     set("arn:aws:kms:us-west-2:123456789012:key/k-1", "kmsMasterKeyId"),
			graph: func(g []record) []record {
				for _, r := range g {
					if r.Name == "cluster-secrets" {
						r.Props["policy"] = `{"Statement":[{"Effect":"Allow","Principal":{"Service":["events.amazonaws.com"]},"Action":["kms:Decrypt","kms:GenerateDataKey*"],"Resource":"*"}]}`
					}
				}
				return g
			},
		},
		{about: "a stack without Karpenter needs no queue", graph: func(g []record) []record {
			advertise(g, 2, 4)
			return drop(g, "gpu-l4-pool", "gpu-dra-pool", "general-pool", "interruption-spot",
				"interruption-spot-target", "karpenter-interruption")
		}},
	} {
		t.Run(v.about, func(t *testing.T) {
			records := loadGraph(t)
			if v.graph != nil {
				records = v.graph(records)
			}
			if v.edit != nil {
				v.edit(t, find(t, records, v.resource))
			}
			found := evaluate(records, testEnv, nil)
			for _, name := range violating(found) {
				t.Errorf("%s:\n%s", name, texts(found[name]))
			}
		})
	}
}

// advertise leaves only some pools in the output capacity.
func advertise(g []record, from, to int) {
	for _, r := range g {
		if r.Type == typeStack {
			capacity := r.Props["capacity"].(map[string]any)
			capacity["pools"] = capacity["pools"].([]any)[from:to]
		}
	}
}

// In the preview of a new stack an ARN is unknown, but what it was made from is not: dependencies tell which queue a
// target has.
func TestLinksAreReadFromDependenciesInAPreview(t *testing.T) {
	queue := record{Type: typeQueue, Name: "q", Props: map[string]any{"arn": unknown{}}}.resource()
	target := record{Type: typeEventTarget, Name: "t", Props: map[string]any{"arn": unknown{}}}.resource()
	if got := Refers(target, "arn", queue, "arn"); got != Unknown {
		t.Errorf("without dependencies the link is %v, want unknown", got)
	}
	target.PropertyDependencies = map[string][]string{"arn": {queue.URN}}
	if got := Refers(target, "arn", queue, "arn"); got != Known {
		t.Errorf("with dependencies the link is %v, want known", got)
	}
	target.Props = record{Props: map[string]any{"arn": "arn:other"}}.resource().Props
	target.PropertyDependencies = nil
	queue.Props = record{Props: map[string]any{"arn": "arn:own"}}.resource().Props
	if got := Refers(target, "arn", queue, "arn"); got != Absent {
		t.Errorf("two known and different values are linked: %v", got)
	}
}

func TestHardwareIsReadFromTheNameOfAType(t *testing.T) {
	for name, want := range map[string]Hardware{
		"g6.xlarge":            {GPU: true, NVIDIA: true, GPUs: 1, VCPUs: 4},
		"g6.12xlarge":          {GPU: true, NVIDIA: true, GPUs: 4, VCPUs: 48},
		"g6.48xlarge":          {GPU: true, NVIDIA: true, GPUs: 8, VCPUs: 192},
		"gr6.4xlarge":          {GPU: true, NVIDIA: true, GPUs: 1, VCPUs: 16},
		"g6f.large":            {GPU: true, NVIDIA: true, Fractional: true, VCPUs: 2},
		"gr6f.4xlarge":         {GPU: true, NVIDIA: true, Fractional: true, VCPUs: 16},
		"g4ad.xlarge":          {GPU: true, VCPUs: 4},
		"p5.48xlarge":          {GPU: true, NVIDIA: true, GPUs: 8, VCPUs: 192},
		"p6-b200.metal":        {GPU: true, NVIDIA: true, GPUs: 1},
		"g9.xlarge":            {GPU: true, NVIDIA: true, VCPUs: 4}, // a family the table does not have: GPUs unknown
		"m6i.large":            {VCPUs: 2},
		"c7gn.2xlarge":         {VCPUs: 8},
		"r6gd.metal":           {},
		"inf2.xlarge":          {VCPUs: 4},
		"pppxlarge":            {},
		"":                     {},
		"g6.99999999999xlarge": {GPU: true, NVIDIA: true, GPUs: 1, VCPUs: 399999999996},
	} {
		want.Type = name
		if got := hardware(name); got != want {
			t.Errorf("%s: got %+v, want %+v", name, got, want)
		}
	}
}

func TestWildcardsMatchAsIAMDoes(t *testing.T) {
	for _, c := range []struct {
		pattern, text string
		want          bool
	}{
		{"*", "iam:passrole", true}, {"iam:*", "iam:passrole", true}, {"iam:pass*", "iam:passrole", true},
		{"iam:*role", "iam:passrole", true},
		{"iam:p*s*e", "iam:passrole", true}, {"iam:passrole", "iam:passrole", true}, {"", "iam:passrole", false},
		{"sqs:*", "iam:passrole", false},
		{"iam:passrole*x", "iam:passrole", false}, {"iam:pass**", "iam:passrole", true},
		{"iam:passrole*passrole", "iam:passrole", false},
	} {
		if got := like(c.pattern, c.text); got != c.want {
			t.Errorf("%q against %q: %v", c.pattern, c.text, got)
		}
	}
}

func TestRegionsHaveTheirPartition(t *testing.T) {
	for region, want := range map[string]string{
		"us-west-2":      "aws",
		"cn-north-1":     "aws-cn",
		"us-gov-west-1":  "aws-us-gov",
		"eusc-de-east-1": "aws-eusc",
		"":               "",
	} {
		if got := partition(region); got != want {
			t.Errorf("%s: %s, want %s", region, got, want)
		}
	}
	gov := evaluate(loadGraph(t), Environment{Region: "us-gov-west-1"}, nil)["partition-matches-region"]
	if len(gov) == 0 {
		t.Error("field fault BR-40: arn:aws: passes in us-gov-west-1")
	}
	if unknown := evaluate(loadGraph(t), Environment{}, nil)["partition-matches-region"]; len(unknown) == 0 ||
		!unknown[0].Unknown {
		t.Error("without a region the rule must say that it cannot tell")
	}
}
