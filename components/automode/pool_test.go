package automode_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/headroom-eks/headroom/components/automode"
	"github.com/headroom-eks/headroom/components/nodepool"
	"github.com/headroom-eks/headroom/pool"
	quantity "k8s.io/apimachinery/pkg/api/resource"
	"pgregory.net/rapid"
)

func gpuSpec() nodepool.Spec {
	return nodepool.Spec{
		Name: "gpu-l4", CapacityTypes: []pool.CapacityType{pool.Spot, pool.OnDemand}, Zones: []string{"us-west-2a"},
		Taints: []pool.Taint{pool.GPUTaint},
		Advertised: &nodepool.Advertised{
			InstanceTypes: []string{"g6.xlarge"}, DeviceMode: pool.Plugin, VCPUs: 4, GPUs: 1, MaxNodeCount: 4,
		},
	}
}

func generalSpec() nodepool.Spec {
	return nodepool.Spec{
		Name:          "general",
		CapacityTypes: []pool.CapacityType{pool.OnDemand},
		General:       &nodepool.General{VCPUs: 64, MemoryGiB: 256},
	}
}

// class of the given settings, which are fine.
func class(c automode.Class) nodepool.NodeClass {
	planned, problems := automode.PlanNodeClass("class", c)
	if err := problems.Err(); err != nil {
		panic(err)
	}
	return planned
}

// planned gives the value at a path of the NodePool's spec.
func planned(t *testing.T, spec nodepool.Spec) (at func(path ...string) any) {
	t.Helper()
	nodePool, err := nodepool.PlanNodePool(nodepool.Parts(spec)[0], automode.NodeClass)
	if err != nil {
		t.Fatal(err)
	}
	return func(path ...string) any {
		var value any = nodePool.Spec
		for _, key := range path {
			value = value.(map[string]any)[key]
		}
		return value
	}
}

func requirement(t *testing.T, requirements any, key string) any {
	t.Helper()
	for _, r := range requirements.([]any) {
		if r := r.(map[string]any); r["key"] == key {
			return r["values"]
		}
	}
	return nil
}

// Field fault BR-10: never the node class of a Karpenter of ours.
func TestNodePoolRefersToTheNodeClassOfAutoMode(t *testing.T) {
	spec := planned(t, gpuSpec())
	want := map[string]any{"group": "eks.amazonaws.com", "kind": "NodeClass", "name": "gpu-l4"}
	if diff := cmp.Diff(want, spec("template", "spec", "nodeClassRef")); diff != "" {
		t.Error(diff)
	}
	m := class(automode.Class{}).Manifest("gpu-l4", nodepool.Wiring{})
	if m.APIVersion != "eks.amazonaws.com/v1" || m.Kind != "NodeClass" || m.Metadata["name"] != "gpu-l4" {
		t.Errorf("%s %s %v", m.APIVersion, m.Kind, m.Metadata)
	}
}

func TestGeneralPoolUsesTheLabelsOfAutoMode(t *testing.T) {
	spec := planned(t, generalSpec())
	requirements := spec("template", "spec", "requirements")
	if text := fmt.Sprint(requirements); strings.Contains(text, "karpenter.k8s.aws") {
		t.Errorf("labels of another node class: %s", text)
	}
	if got := requirement(t, requirements, "eks.amazonaws.com/instance-category"); got == nil {
		t.Errorf("no instance category in %v", requirements)
	}
	if diff := cmp.Diff(map[string]any{"cpu": "64", "memory": "256Gi"}, spec("limits")); diff != "" {
		t.Error(diff)
	}
}

// AWS lists the label under "not supported" in Auto Mode.
func TestOperatingSystemIsNoRequirement(t *testing.T) {
	for _, s := range []nodepool.Spec{gpuSpec(), generalSpec()} {
		spec := planned(t, s)
		if got := requirement(t, spec("template", "spec", "requirements"), "kubernetes.io/os"); got != nil {
			t.Errorf("%s: %v", s.Name, got)
		}
	}
}

func TestGPUPoolIsTaintedBoundedAndInItsZones(t *testing.T) {
	spec := planned(t, gpuSpec())
	wantTaints := []any{map[string]any{"key": "nvidia.com/gpu", "value": "true", "effect": "NoSchedule"}}
	if diff := cmp.Diff(wantTaints, spec("template", "spec", "taints")); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(map[string]any{"nvidia.com/gpu": "4"}, spec("limits")); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]any{map[string]any{"nodes": "1"}}, spec("disruption", "budgets")); diff != "" {
		t.Error(diff)
	}
	requirements := spec("template", "spec", "requirements")
	if diff := cmp.Diff([]any{"us-west-2a"}, requirement(t, requirements, "topology.kubernetes.io/zone")); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]any{"g6.xlarge"}, requirement(t, requirements,
		"node.kubernetes.io/instance-type")); diff != "" {
		t.Error(diff)
	}
}

// Field fault BR-23 was seen on Auto Mode: no limit may bind below maxNodeCount whole nodes.
func TestEveryLimitLeavesRoomForTheMaximum(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		spec := gpuSpec()
		a := *spec.Advertised
		a.MaxNodeCount = rapid.IntRange(1, 500).Draw(t, "maximum")
		a.GPUs, a.VCPUs = rapid.IntRange(1, 8).Draw(t, "gpus"), rapid.IntRange(2, 192).Draw(t, "vcpus")
		a.DeviceMode = rapid.SampledFrom(pool.DeviceModes).Draw(t, "mode")
		spec.Advertised = &a
		nodePool, err := nodepool.PlanNodePool(nodepool.Parts(spec)[0], automode.NodeClass)
		if err != nil {
			t.Fatal(err)
		}
		perNode := map[string]int{"nvidia.com/gpu": a.GPUs, "cpu": a.VCPUs}
		limits := nodePool.Spec["limits"].(map[string]any)
		if len(limits) == 0 {
			t.Fatal("no limit at all")
		}
		for resource, limit := range limits {
			got := quantity.MustParse(limit.(string))
			if want := int64(a.MaxNodeCount * perNode[resource]); got.Value() != want {
				t.Fatalf("%s: limit %v, want %d", resource, limit, want)
			}
		}
	})
}

func TestNodeClassSelectsByIDAndCarriesBothPoolTags(t *testing.T) {
	got := class(automode.Class{
		StorageGiB:    200,
		StorageKeyArn: "arn:aws:kms:us-west-2:123456789012:key/k",
		Tags:          map[string]string{"env": "dev"},
	}).Manifest("gpu-l4", nodepool.Wiring{
		Cluster:          "headroom-dev",
		Role:             "nodes-1a2b",
		SubnetIDs:        []string{"subnet-a", "subnet-b"},
		SecurityGroupIDs: []string{"sg-1"},
	})
	want := map[string]any{
		"role":                       "nodes-1a2b",
		"subnetSelectorTerms":        []any{map[string]any{"id": "subnet-a"}, map[string]any{"id": "subnet-b"}},
		"securityGroupSelectorTerms": []any{map[string]any{"id": "sg-1"}},
		"ephemeralStorage": map[string]any{"size": "200Gi",
			"kmsKeyID": "arn:aws:kms:us-west-2:123456789012:key/k"},
		"networkPolicy":          "DefaultAllow",
		"networkPolicyEventLogs": "Disabled",
		"snatPolicy":             "Random",
		"tags": map[string]string{
			"env":              "dev",
			"headroom/cluster": "headroom-dev",
			"headroom/pool":    "gpu-l4",
		},
	}
	if diff := cmp.Diff(want, got.Spec); diff != "" {
		t.Error(diff)
	}
}

func TestPlanDoesNotChangeItsInput(t *testing.T) {
	spec, tags := gpuSpec(), map[string]string{"env": "dev"}
	planned(t, spec)
	class(automode.Class{Tags: tags}).Manifest("gpu-l4", nodepool.Wiring{})
	if diff := cmp.Diff(map[string]string{"env": "dev"}, tags); diff != "" || spec.ExpireAfter != "" {
		t.Errorf("tags %s, expireAfter %q", diff, spec.ExpireAfter)
	}
}

// Auto Mode lets no node live longer than 21 days, while an advertised pool of our own Karpenter never expires.
func TestLifetimeStaysWithinAutoModes(t *testing.T) {
	for _, test := range []struct {
		expire, grace string
		ok            bool
	}{
		{"", "", true}, {"480h", "24h", true}, {"480h", "", true}, {"503h", "1h", true},
		{"Never", "", false}, {"504h", "", false}, {"480h", "25h", false}, {"720h", "", false},
	} {
		spec := gpuSpec()
		spec.ExpireAfter, spec.TerminationGracePeriod = test.expire, test.grace
		err := nodepool.Validate("pools[0]", spec, automode.NodeClass).Err()
		if (err == nil) != test.ok {
			t.Errorf("expireAfter %q, grace %q: %v", test.expire, test.grace, err)
		}
	}
	spec := planned(t, gpuSpec())
	if got := spec("template", "spec", "expireAfter"); got != "480h" {
		t.Errorf("default of an advertised pool: %v", got)
	}
}

var refusedSpecs = []struct {
	name, want string
	change     func(*nodepool.Spec)
}{
	{"name of EKS's node class", `name: is one that EKS keeps for itself (found "default")`,
		func(s *nodepool.Spec) { s.Name = "default" }},
	{"name of a built-in pool", `name: is one that EKS keeps for itself (found "system")`,
		func(s *nodepool.Spec) { s.Name = "system" }},
	{"static", "pools[0].static: is not possible", func(s *nodepool.Spec) {
		s.Advertised.Static, s.Advertised.NodeCount = true, 2
	}},
	{"Cilium's startup taint", "pools[0].startupTaints: is not possible", func(s *nodepool.Spec) {
		s.StartupTaints = []pool.Taint{{Key: "node.cilium.io/agent-not-ready", Value: "true", Effect: pool.NoExecute}}
	}},
	{"what nodepool refuses", "add nvidia.com/gpu=true:NoSchedule", func(s *nodepool.Spec) { s.Taints = nil }},
}

func TestAPoolThatAutoModeRefusesIsRefused(t *testing.T) {
	for _, c := range refusedSpecs {
		t.Run(c.name, func(t *testing.T) {
			spec := gpuSpec()
			c.change(&spec)
			err := nodepool.Validate("pools[0]", spec, automode.NodeClass).Err()
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
	for _, spec := range []nodepool.Spec{gpuSpec(), generalSpec()} {
		if err := nodepool.Validate("pools[0]", spec, automode.NodeClass).Err(); err != nil {
			t.Errorf("%s: %v", spec.Name, err)
		}
	}
}

var karpentersTag = map[string]string{"karpenter.sh/nodepool": "x"}

func TestAClassThatEKSRefusesIsNotPlanned(t *testing.T) {
	for want, c := range map[string]automode.Class{
		"class.diskGiB: is out of range (found 60000)":                   {StorageGiB: 60000},
		"are set by Karpenter":                                           {Tags: karpentersTag},
		`class.capacityReservationIDs[0]: is not a capacity reservation`: {CapacityReservationIDs: []string{"r"}},
	} {
		_, problems := automode.PlanNodeClass("class", c)
		if err := problems.Err(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}
