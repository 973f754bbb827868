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

var place = automode.Placement{
	Cluster:          "headroom-dev",
	NodeRoleName:     "nodes-1a2b",
	SubnetIDs:        []string{"subnet-b", "subnet-a"},
	SecurityGroupIDs: []string{"sg-1"},
}

func gpuPool() automode.Pool {
	return automode.Pool{Spec: nodepool.Spec{
		Name: "gpu-l4", CapacityTypes: []pool.CapacityType{pool.Spot, pool.OnDemand}, Zones: []string{"us-west-2a"},
		Taints: []pool.Taint{pool.GPUTaint},
		Advertised: &nodepool.Advertised{
			InstanceTypes: []string{"g6.xlarge"}, DeviceMode: pool.Plugin, VCPUs: 4, GPUs: 1, MaxNodeCount: 4,
		},
	}}
}

func generalPool() automode.Pool {
	return automode.Pool{Spec: nodepool.Spec{
		Name:          "general",
		CapacityTypes: []pool.CapacityType{pool.OnDemand},
		General:       &nodepool.General{VCPUs: 64, MemoryGiB: 256},
	}}
}

// planned gives both objects, and the value at a path of the NodePool's spec.
func planned(t *testing.T, p automode.Pool) (class nodepool.Manifest, at func(path ...string) any) {
	t.Helper()
	class, nodePool, err := automode.PlanPool(p, place)
	if err != nil {
		t.Fatal(err)
	}
	return class, func(path ...string) any {
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
	class, spec := planned(t, gpuPool())
	want := map[string]any{"group": "eks.amazonaws.com", "kind": "NodeClass", "name": "gpu-l4"}
	if diff := cmp.Diff(want, spec("template", "spec", "nodeClassRef")); diff != "" {
		t.Error(diff)
	}
	if class.APIVersion != "eks.amazonaws.com/v1" || class.Kind != "NodeClass" || class.Metadata["name"] != "gpu-l4" {
		t.Errorf("%s %s %v", class.APIVersion, class.Kind, class.Metadata)
	}
}

func TestGeneralPoolUsesTheLabelsOfAutoMode(t *testing.T) {
	_, spec := planned(t, generalPool())
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
	for _, p := range []automode.Pool{gpuPool(), generalPool()} {
		_, spec := planned(t, p)
		if got := requirement(t, spec("template", "spec", "requirements"), "kubernetes.io/os"); got != nil {
			t.Errorf("%s: %v", p.Spec.Name, got)
		}
	}
}

func TestGPUPoolIsTaintedBoundedAndInItsZones(t *testing.T) {
	_, spec := planned(t, gpuPool())
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
		p := gpuPool()
		a := *p.Spec.Advertised
		a.MaxNodeCount = rapid.IntRange(1, 500).Draw(t, "maximum")
		a.GPUs, a.VCPUs = rapid.IntRange(1, 8).Draw(t, "gpus"), rapid.IntRange(2, 192).Draw(t, "vcpus")
		a.DeviceMode = rapid.SampledFrom(pool.DeviceModes).Draw(t, "mode")
		p.Spec.Advertised = &a
		_, nodePool, err := automode.PlanPool(p, place)
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
	p := gpuPool()
	p.Class = automode.Class{
		StorageGiB:    200,
		StorageKeyArn: "arn:aws:kms:us-west-2:123456789012:key/k",
		Tags:          map[string]string{"env": "dev"},
	}
	class, _ := planned(t, p)
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
	if diff := cmp.Diff(want, class.Spec); diff != "" {
		t.Error(diff)
	}
}

func TestPlanDoesNotChangeItsInput(t *testing.T) {
	p := gpuPool()
	p.Class.Tags = map[string]string{"env": "dev"}
	planned(t, p)
	if diff := cmp.Diff(map[string]string{"env": "dev"}, p.Class.Tags); diff != "" || p.Spec.ExpireAfter != "" {
		t.Errorf("tags %s, expireAfter %q", diff, p.Spec.ExpireAfter)
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
		p := gpuPool()
		p.Spec.ExpireAfter, p.Spec.TerminationGracePeriod = test.expire, test.grace
		err := automode.ValidatePool("pools[0]", p, "1.36").Err()
		if (err == nil) != test.ok {
			t.Errorf("expireAfter %q, grace %q: %v", test.expire, test.grace, err)
		}
	}
	_, spec := planned(t, gpuPool())
	if got := spec("template", "spec", "expireAfter"); got != "480h" {
		t.Errorf("default of an advertised pool: %v", got)
	}
}

func TestInvalidPoolsAreRefused(t *testing.T) {
	for _, test := range []struct {
		name, want string
		change     func(*automode.Pool)
	}{
		{"name of EKS's node class", `"default" is the NodeClass`, func(p *automode.Pool) { p.Spec.Name = "default" }},
		{"name of a built-in pool", `"system" is a pool that EKS keeps`,
			func(p *automode.Pool) { p.Spec.Name = "system" }},
		{"static", "pools[0].static: not possible", func(p *automode.Pool) {
			p.Spec.Advertised.Static, p.Spec.Advertised.NodeCount = true, 2
		}},
		{"Cilium's startup taint", "pools[0].startupTaints: not possible", func(p *automode.Pool) {
			p.Spec.StartupTaints = []pool.Taint{{
				Key:    "node.cilium.io/agent-not-ready",
				Value:  "true",
				Effect: pool.NoExecute,
			}}
		}},
		{"storage too large", "60000 is outside", func(p *automode.Pool) { p.Class.StorageGiB = 60000 }},
		{"tag of EKS's", "keeps tags under",
			func(p *automode.Pool) { p.Class.Tags = map[string]string{"karpenter.sh/nodepool": "x"} }},
		{"reserved without a reservation", "without capacityReservationIds", func(p *automode.Pool) {
			p.Spec.CapacityTypes = []pool.CapacityType{pool.Reserved}
		}},
		{"what nodepool refuses", "add nvidia.com/gpu=true:NoSchedule", func(p *automode.Pool) { p.Spec.Taints = nil }},
	} {
		t.Run(test.name, func(t *testing.T) {
			p := gpuPool()
			test.change(&p)
			err := automode.ValidatePool("pools[0]", p, "1.36").Err()
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want %q", err, test.want)
			}
		})
	}
	for _, p := range []automode.Pool{gpuPool(), generalPool()} {
		if err := automode.ValidatePool("pools[0]", p, "1.36").Err(); err != nil {
			t.Errorf("%s: %v", p.Spec.Name, err)
		}
	}
}
