package karpenter_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	awsv1 "github.com/aws/karpenter-provider-aws/pkg/apis/v1"
	"github.com/aws/karpenter-provider-aws/pkg/utils"
	"github.com/headroom-eks/headroom/components/nodepool"
	"github.com/headroom-eks/headroom/pool"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structural "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	sigsjson "sigs.k8s.io/json"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/yaml"
)

// pools of every kind that the program can ask for.
func pools() map[string]nodepool.Spec {
	spot := []pool.CapacityType{pool.Spot, pool.OnDemand}
	advertised := func(change func(*nodepool.Spec)) nodepool.Spec {
		s := nodepool.Spec{
			Name:          "gpu-l4",
			CapacityTypes: spot,
			Zones:         []string{"us-west-2a", "us-west-2b"},
			Taints:        []pool.Taint{pool.GPUTaint},
			Advertised: &nodepool.Advertised{
				InstanceTypes: []string{"g6.xlarge"},
				DeviceMode:    pool.Plugin,
				VCPUs:         4,
				GPUs:          1,
				MaxNodeCount:  4,
			},
		}
		change(&s)
		return s
	}
	return map[string]nodepool.Spec{
		"general": {Name: "general", CapacityTypes: spot, General: &nodepool.General{VCPUs: 1000, MemoryGiB: 4096}},
		"general, narrow": {
			Name:          "general",
			CapacityTypes: spot,
			Architecture:  "arm64",
			General: &nodepool.General{
				VCPUs:         8,
				MemoryGiB:     32,
				Categories:    []string{"m"},
				Families:      []string{"m7g", "m8g"},
				MinGeneration: 7,
			},
		},
		"plugin": advertised(func(*nodepool.Spec) {}),
		"dra":    advertised(func(s *nodepool.Spec) { s.Advertised.DeviceMode = pool.DRA }),
		"static": advertised(func(s *nodepool.Spec) {
			s.Advertised.Static, s.Advertised.NodeCount, s.Advertised.MaxNodeCount = true, 2, 0
		}),
		"static, none yet": advertised(func(s *nodepool.Spec) {
			s.Advertised.Static, s.Advertised.NodeCount, s.Advertised.MaxNodeCount = true, 0, 3
		}),
		"everything set": advertised(everythingSet),
		"divided": advertised(func(s *nodepool.Spec) {
			onDemand := 1
			s.Weight, s.Advertised.MaxOnDemandNodeCount = 99, &onDemand
		}),
	}
}

func everythingSet(s *nodepool.Spec) {
	s.Advertised.InstanceTypes, s.Advertised.VCPUs, s.Advertised.GPUs = []string{"g6.12xlarge", "g6e.12xlarge"},
		48, 4
	s.CapacityTypes = pool.CapacityTypes
	s.Labels = map[string]string{"team": "inference", "example.com/tier": "a"}
	s.StartupTaints = []pool.Taint{{
		Key:    "node.cilium.io/agent-not-ready",
		Value:  "true",
		Effect: pool.NoExecute,
	}}
	s.Weight, s.ExpireAfter, s.TerminationGracePeriod = 50, "720h", "1h30m"
	s.Disruption = nodepool.Disruption{
		ConsolidationPolicy: "Balanced",
		ConsolidateAfter:    "Never",
		Budgets: []nodepool.Budget{
			{Nodes: "1"}, {
				Nodes:    "0",
				Schedule: "0 8 * * mon-fri",
				Duration: "10h",
				Reasons:  []string{"Underutilized", "Drifted"},
			},
			{Nodes: "10%", Schedule: "@daily", Duration: "1h30m", Reasons: []string{"Empty", "Unhealthy"}},
		},
	}
}

func classes() map[string]nodepool.Manifest {
	cfsQuota := false
	byRole := nodepool.Wiring{
		Cluster:          "gpu-west",
		SubnetIDs:        []string{"subnet-0a", "subnet-0b"},
		SecurityGroupIDs: []string{"sg-0a"},
		Role:             "node-role-1",
	}
	byProfile := byRole
	byProfile.Role, byProfile.InstanceProfile = "", "node-profile-1"
	out := map[string]nodepool.Manifest{}
	for name, c := range map[string]struct {
		class  nodepool.Class
		wiring nodepool.Wiring
	}{
		"plain":   {nodepool.Class{AMIAlias: "al2023@v20260911", RootVolumeGiB: 200}, byRole},
		"profile": {nodepool.Class{AMIAlias: "al2023@v20260911", RootVolumeGiB: 20}, byProfile},
		"everything set": {nodepool.Class{
			AMIAlias: "al2023@v20260911", RootVolumeGiB: 16384, RootVolumeKMSKeyID: "alias/nodes", LocalNVMe: true,
			Tags: map[string]string{"team": "ml", "cost-centre": "42"}, CapacityReservationIDs: []string{"cr-0a1b"},
			Kubelet: nodepool.Kubelet{
				MaxPods:        58,
				PodsPerCore:    10,
				SystemReserved: map[string]string{"cpu": "100m", "memory": "200Mi"},
				KubeReserved:   map[string]string{"ephemeral-storage": "1Gi", "pid": "100"},
				EvictionHard:   map[string]string{"memory.available": "5%"},
				EvictionSoft: map[string]string{"nodefs.available": "10%",
					"imagefs.inodesFree": "500Mi"},
				EvictionSoftGracePeriod:     map[string]string{"nodefs.available": "1m30s", "imagefs.inodesFree": "2m"},
				ImageGCHighThresholdPercent: 80,
				ImageGCLowThresholdPercent:  60,
				CPUCFSQuota:                 &cfsQuota,
			},
		}, byRole},
	} {
		planned, problems := nodepool.PlanNodeClass(name, c.class)
		if err := problems.Err(); err != nil {
			panic(err)
		}
		out[name] = planned.Manifest("gpu-l4", c.wiring)
	}
	return out
}

// strict decodes a manifest, through the YAML that GitOps would apply, into Karpenter's own type; an unknown field is
// an error.
func strict(t *testing.T, m nodepool.Manifest, into any) map[string]any {
	t.Helper()
	text, err := m.YAML()
	if err != nil {
		t.Fatal(err)
	}
	asJSON, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	if unknown, err := sigsjson.UnmarshalStrict(asJSON, into); err != nil || len(unknown) > 0 {
		t.Fatalf("field fault BR-25: %v %v\n%s", err, unknown, text)
	}
	var object map[string]any
	if err := sigsjson.UnmarshalCaseSensitivePreserveInts(asJSON, &object); err != nil {
		t.Fatal(err)
	}
	return object
}

// definition is the part of the real CRD that an API server holds objects against.
type definition struct {
	schema  *structural.Structural
	openAPI validation.SchemaValidator
	rules   *cel.Validator
}

func definitionOf(t *testing.T, name string) definition {
	t.Helper()
	objects, err := render(t, "karpenter-crd", nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range objects {
		text, err := json.Marshal(o)
		if err != nil {
			t.Fatal(err)
		}
		var crd apiextensionsv1.CustomResourceDefinition
		if err := json.Unmarshal(text, &crd); err != nil {
			t.Fatal(err)
		}
		if crd.Name != name {
			continue
		}
		var internal apiextensions.JSONSchemaProps
		if err := apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(
			crd.Spec.Versions[0].Schema.OpenAPIV3Schema, &internal, nil); err != nil {
			t.Fatal(err)
		}
		schema, err := structural.NewStructural(&internal)
		if err != nil {
			t.Fatal(err)
		}
		openAPI, _, err := validation.NewSchemaValidator(&internal)
		if err != nil {
			t.Fatal(err)
		}
		return definition{schema, openAPI, cel.NewValidator(schema, true, celconfig.PerCallLimit)}
	}
	t.Fatalf("the chart has no definition %s", name)
	return definition{}
}

// admit does what an API server does with a new object: it defaults, finds unknown fields, and holds it against schema
// and rules.
func (d definition) admit(object map[string]any) error {
	defaulting.Default(object, d.schema)
	if unknown := pruning.PruneWithOptions(object, d.schema, true,
		structural.UnknownFieldPathOptions{TrackUnknownFieldPaths: true}); len(unknown) > 0 {
		return fmt.Errorf("unknown fields %v", unknown)
	}
	errs := validation.ValidateCustomResource(nil, object, d.openAPI)
	rules, _ := d.rules.Validate(context.Background(), nil, d.schema, object, nil, celconfig.RuntimeCELCostBudget)
	return append(errs, rules...).ToAggregate()
}

func TestNodePoolsAreKarpentersOwn(t *testing.T) {
	d := definitionOf(t, "nodepools.karpenter.sh")
	for name, spec := range pools() {
		t.Run(name, func(t *testing.T) {
			if err := nodepool.Validate(name, spec, nodepool.EC2NodeClass).Err(); err != nil {
				t.Fatal(err)
			}
			for _, part := range nodepool.Parts(spec) {
				m, err := nodepool.PlanNodePool(part, nodepool.EC2NodeClass)
				if err != nil {
					t.Fatal(err)
				}
				var got karpv1.NodePool
				object := strict(t, m, &got)
				if err := got.RuntimeValidate(context.Background()); err != nil {
					t.Errorf("%s: RuntimeValidate: %v", part.Name, err)
				}
				if err := d.admit(object); err != nil {
					t.Errorf("%s: the API server would refuse it: %v", part.Name, err)
				}
			}
		})
	}
}

func TestNodeClassesAreKarpentersOwn(t *testing.T) {
	d := definitionOf(t, "ec2nodeclasses.karpenter.k8s.aws")
	for name, m := range classes() {
		t.Run(name, func(t *testing.T) {
			var got awsv1.EC2NodeClass
			object := strict(t, m, &got)
			if err := d.admit(object); err != nil {
				t.Errorf("the API server would refuse it: %v", err)
			}
			if errs := awsv1.ValidateKubeletConfig(got.Spec.Kubelet); len(errs) > 0 {
				t.Errorf("the kubelet settings are refused: %v", errs)
			}
			if _, err := utils.GetTags(&got, &karpv1.NodeClaim{}, "gpu-west"); err != nil {
				t.Errorf("field fault BR-66: %v", err)
			}
			if (got.Spec.Role == "") == (got.Spec.InstanceProfile == nil) {
				t.Errorf("field fault BR-48: role %q, instance profile %v", got.Spec.Role, got.Spec.InstanceProfile)
			}
			if got.AMIFamily() != awsv1.AMIFamilyAL2023 || got.Spec.AMISelectorTerms[0].Alias == "al2023@latest" {
				t.Errorf("field fault BR-79: AMI family %s, terms %v", got.AMIFamily(), got.Spec.AMISelectorTerms)
			}
		})
	}
}

// What we refuse ourselves, Karpenter would refuse too: our refusals say it before anything is made.
func TestTheDefinitionsRefuseWhatIsWrong(t *testing.T) {
	d := definitionOf(t, "nodepools.karpenter.sh")
	for name, c := range map[string]struct {
		change func(spec map[string]any)
		want   string
	}{
		"resource limit of a static pool": {func(s map[string]any) { s["replicas"] = int64(1) },
			"only 'limits.nodes' is supported"},
		"limits of the old API": {func(
			s map[string]any) {
			s["limits"] = map[string]any{"resources": map[string]any{"cpu": "1"}}
		}, "limits.resources"},
		"unknown field": {func(s map[string]any) { s["ttlSecondsAfterEmpty"] = int64(30) }, "ttlSecondsAfterEmpty"},
		"schedule without duration": {func(s map[string]any) {
			s["disruption"].(map[string]any)["budgets"] = []any{map[string]any{"nodes": "1", "schedule": "@daily"}}
		}, "must be set with 'duration'"},
	} {
		t.Run(name, func(t *testing.T) {
			m, err := nodepool.PlanNodePool(nodepool.Parts(pools()["plugin"])[0], nodepool.EC2NodeClass)
			if err != nil {
				t.Fatal(err)
			}
			object := strict(t, m, &karpv1.NodePool{})
			c.change(object["spec"].(map[string]any))
			if err := d.admit(object); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("field fault BR-25: %v, want %q", err, c.want)
			}
		})
	}
}
