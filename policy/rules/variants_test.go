package rules

import (
	"maps"
	"testing"

	"github.com/headroom-eks/headroom/policy/graphtest"
	"github.com/headroom-eks/headroom/policy/view"
	"github.com/headroom-eks/headroom/pool"
	"sigs.k8s.io/yaml"
)

// variant is right in another way than the golden graph.
type variant struct {
	about, resource string
	edit            func(testing.TB, *graphtest.Record)
	graph           func([]graphtest.Record) []graphtest.Record
}

// asManifest takes a NodePool out of the stack and puts it into the output of manifests.
func asManifest(g []graphtest.Record, name string) []graphtest.Record {
	for _, r := range g {
		if r.Name != name {
			continue
		}
		object := maps.Clone(r.Props)
		object["kind"] = "NodePool"
		text, err := yaml.Marshal(object)
		if err != nil {
			panic(err)
		}
		for _, stack := range g {
			if stack.Type == view.TypeStack {
				stack.Props[view.ManifestsOutput] = map[string]any{name + ".yaml": string(text)}
			}
		}
	}
	return graphtest.Drop(g, name)
}

// divided gives the pool gpu-l4 a second NodePool, for spot, with a limit of its own.
func divided(g []graphtest.Record, limit string) []graphtest.Record {
	for _, r := range g {
		if r.Name != "gpu-l4-pool" {
			continue
		}
		spot := r
		spot.Name, spot.Props = "gpu-l4-spot", maps.Clone(r.Props)
		spec := maps.Clone(r.Props["spec"].(map[string]any))
		spec["limits"] = map[string]any{pool.GPUResource: limit}
		spot.Props["spec"], spot.Props["metadata"] = spec, map[string]any{"name": "gpu-l4-spot"}
		return append(g, spot)
	}
	panic("no pool gpu-l4")
}

var variants = []variant{
	{
		about:    "a pool whose NodePools allow what it advertises only together",
		resource: "gpu-l4-pool",
		graph:    func(g []graphtest.Record) []graphtest.Record { return divided(g, "2") },
		edit:     set("1", "spec", "limits", pool.GPUResource),
	},
	{
		about:    "field fault BR-24: more realized than allowed, after a limit was lowered",
		resource: "headroom-dev",
		edit: func(t testing.TB, r *graphtest.Record) {
			r.Set(t, 9, "capacity", "pools", 0, "nodes", "realized")
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
		edit: set([]any{map[string]any{
			"key":    "CriticalAddonsOnly",
			"value":  "true",
			"effect": "NO_SCHEDULE",
		}}, "taints"),
	},
	{
		about:    "a static pool, limited in nodes alone",
		resource: "gpu-l4-pool",
		edit: func(t testing.TB, r *graphtest.Record) {
			r.Set(t, 3, "spec", "replicas")
			r.Set(t, map[string]any{"nodes": "3"}, "spec", "limits")
		},
	},
	{
		about:    "desired size ignored with the whole of scalingConfig",
		resource: "gpu-ca-group",
		edit:     func(_ testing.TB, r *graphtest.Record) { r.IgnoreChanges = []string{"scalingConfig"} },
	},
	{
		about:    "the live size of a group whose bounds change, which its component knows",
		resource: "gpu-ca-group",
		edit:     func(_ testing.TB, r *graphtest.Record) { r.IgnoreChanges = nil },
	},
	{
		about:    "a pool whose NodePool others apply",
		resource: "headroom-dev",
		edit:     func(testing.TB, *graphtest.Record) {},
		graph:    func(g []graphtest.Record) []graphtest.Record { return asManifest(g, "gpu-l4-pool") },
	},
	{
		about:    "an expiry of a week",
		resource: "gpu-l4-pool",
		edit:     set("168h", "spec", "template", "spec", "expireAfter"),
	},
	{
		about:    "several instance types of one shape",
		resource: "gpu-l4-pool",
		edit:     set([]any{"g6.xlarge", "g5.xlarge"}, "spec", "template", "spec", "requirements", 0, "values"),
	},
	{
		about:    "a general pool that excludes GPUs by property",
		resource: "general-pool",
		edit: set(map[string]any{"key": "karpenter.k8s.aws/instance-gpu-count", "operator": "DoesNotExist"},
			"spec", "template", "spec", "requirements", 0),
	},
	{
		about:    "a custom AMI without an EKS release",
		resource: "gpu-ca-group",
		edit: func(t testing.TB, r *graphtest.Record) {
			r.Set(t, "CUSTOM", "amiType")
			r.Set(t, nil, "releaseVersion")
		},
	},
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
		edit: func(t testing.TB, r *graphtest.Record) {
			r.Set(t, map[string]any{"Statement": map[string]any{
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
		graph: func(g []graphtest.Record) []graphtest.Record {
			for _, r := range g {
				if r.Name == "cluster-secrets" {
					r.Props["policy"] = `{"Statement":[{"Effect":"Allow","Resource":"*",` +
						`"Principal":{"Service":["events.amazonaws.com"]},` +
						`"Action":["kms:Decrypt","kms:GenerateDataKey*"]}]}`
				}
			}
			return g
		},
	},
	{
		about: "a stack without Karpenter needs no queue",
		graph: func(g []graphtest.Record) []graphtest.Record {
			advertise(g, 2, 4)
			return graphtest.Drop(g, "gpu-l4-pool", "gpu-dra-pool", "general-pool", "interruption-spot",
				"interruption-spot-target", "karpenter-interruption")
		},
	},
}

func TestCompliantVariants(t *testing.T) {
	for _, v := range variants {
		t.Run(v.about, func(t *testing.T) {
			records := graphtest.Golden(t)
			if v.graph != nil {
				records = v.graph(records)
			}
			if v.edit != nil {
				v.edit(t, graphtest.Find(t, records, v.resource))
			}
			found := evaluate(records, testEnv, nil)
			for _, name := range violating(found) {
				t.Errorf("%s:\n%s", name, texts(found[name]))
			}
		})
	}
}

// advertise leaves only some pools in the output capacity.
func advertise(g []graphtest.Record, from, to int) {
	for _, r := range g {
		if r.Type == view.TypeStack {
			capacity := r.Props["capacity"].(map[string]any)
			capacity["pools"] = capacity["pools"].([]any)[from:to]
		}
	}
}
