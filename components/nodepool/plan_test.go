package nodepool

import (
	"encoding/json"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/headroom-eks/headroom/pool"
	"k8s.io/apimachinery/pkg/api/resource"
	"pgregory.net/rapid"
)

func gpuSpec() Spec {
	return Spec{
		Name: "gpu-l4",
		Advertised: &Advertised{
			InstanceTypes: []string{"g6.xlarge"},
			DeviceMode:    pool.Plugin,
			VCPUs:         4,
			GPUs:          1,
			MaxNodeCount:  4,
		},
		CapacityTypes: []pool.CapacityType{pool.Spot, pool.OnDemand},
		Zones:         []string{"us-west-2a", "us-west-2b"},
		Taints:        []pool.Taint{pool.GPUTaint},
	}
}

func generalSpec() Spec {
	return Spec{
		Name:          "general",
		General:       &General{VCPUs: 64, MemoryGiB: 256},
		CapacityTypes: []pool.CapacityType{pool.Spot, pool.OnDemand},
	}
}

func mustPlan(t *testing.T, spec Spec, kind ClassKind) map[string]any {
	t.Helper()
	if err := Validate("pool", spec).Err(); err != nil {
		t.Fatal(err)
	}
	m, err := PlanNodePool(spec, kind)
	if err != nil {
		t.Fatal(err)
	}
	return m.Spec
}

// dig reads a value of a manifest by its path.
func dig(t *testing.T, value any, path ...string) any {
	t.Helper()
	for _, key := range path {
		m, ok := value.(map[string]any)
		if !ok {
			t.Fatalf("no object on the way to %v", path)
		}
		value = m[key]
	}
	return value
}

func TestGPUPoolIsLimitedInGPUsAlone(t *testing.T) {
	spec := gpuSpec()
	spec.Advertised.InstanceTypes, spec.Advertised.GPUs, spec.Advertised.VCPUs = []string{"g6.12xlarge"}, 4, 48
	want := map[string]any{"nvidia.com/gpu": "16"}
	if diff := cmp.Diff(want, dig(t, mustPlan(t, spec, EC2NodeClass), "limits")); diff != "" {
		t.Errorf("field fault BR-22, BR-25:\n%s", diff)
	}
}

func TestDRAPoolIsLimitedInVCPUsBecauseItsNodesRegisterNoGPU(t *testing.T) {
	spec := gpuSpec()
	spec.Advertised.DeviceMode = pool.DRA
	if diff := cmp.Diff(map[string]string{"cpu": "16"}, Limits(spec)); diff != "" {
		t.Error(diff)
	}
}

func TestStaticPoolHasReplicasAndOnlyANodesLimit(t *testing.T) {
	spec := gpuSpec()
	spec.Advertised.Static, spec.Advertised.NodeCount, spec.Advertised.MaxNodeCount = true, 3, 0
	got := mustPlan(t, spec, EC2NodeClass)
	if diff := cmp.Diff(map[string]any{"nodes": "3"}, got["limits"]); diff != "" {
		t.Error(diff)
	}
	if got["replicas"] != 3 {
		t.Errorf("replicas %v (%T), want 3", got["replicas"], got["replicas"])
	}
	if _, found := got["weight"]; found {
		t.Error("a static pool has a weight")
	}
}

func TestLimitsAllowExactlyTheMaximumInCanonicalStrings(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		spec := gpuSpec()
		spec.Advertised.DeviceMode = rapid.SampledFrom(pool.DeviceModes).Draw(t, "mode")
		spec.Advertised.MaxNodeCount = rapid.IntRange(1, 5000).Draw(t, "max")
		spec.Advertised.VCPUs = rapid.IntRange(1, 448).Draw(t, "vcpus")
		spec.Advertised.GPUs = rapid.IntRange(1, 16).Draw(t, "gpus")
		perNode := map[string]int{"cpu": spec.Advertised.VCPUs, "nvidia.com/gpu": spec.Advertised.GPUs}
		limits := Limits(spec)
		if len(limits) != 1 {
			t.Fatalf("%d limits, want one", len(limits))
		}
		for key, text := range limits {
			q, err := resource.ParseQuantity(text)
			if err != nil {
				t.Fatal(err)
			}
			if q.String() != text {
				t.Fatalf("field fault BR-26: %q is not canonical, the API gives %q", text, q.String())
			}
			max, each := int64(spec.Advertised.MaxNodeCount), int64(perNode[key])
			if q.Value() < max*each || q.Value() >= (max+1)*each {
				t.Fatalf("field fault BR-23: limit %s=%s, %d nodes of %d", key, text, max, each)
			}
		}
	})
}

func TestGPUPoolIsNotDisturbedByDefault(t *testing.T) {
	got := mustPlan(t, gpuSpec(), EC2NodeClass)
	want := map[string]any{
		"consolidationPolicy": "WhenEmpty",
		"consolidateAfter":    "10m",
		"budgets":             []any{map[string]any{"nodes": "1"}},
	}
	if diff := cmp.Diff(want, got["disruption"]); diff != "" {
		t.Errorf("field fault BR-80:\n%s", diff)
	}
	if got := dig(t, got, "template", "spec", "expireAfter"); got != "Never" {
		t.Errorf("field fault BR-80: expireAfter %v", got)
	}
}

func TestGeneralPoolExcludesGPUFamiliesInBothLabelDomains(t *testing.T) {
	for _, kind := range []ClassKind{EC2NodeClass, AutoModeNodeClass} {
		want := []Requirement{
			{Key: kind.LabelDomain + "/instance-category", Operator: "In", Values: []string{"c", "m", "r"}},
			{Key: kind.LabelDomain + "/instance-generation", Operator: "Gt", Values: []string{"4"}},
			{Key: kind.LabelDomain + "/instance-gpu-count", Operator: "DoesNotExist"},
			{Key: "karpenter.sh/capacity-type", Operator: "In", Values: []string{"spot", "on-demand"}},
			{Key: "kubernetes.io/arch", Operator: "In", Values: []string{"amd64"}},
			{Key: "kubernetes.io/os", Operator: "In", Values: []string{"linux"}},
		}
		if diff := cmp.Diff(want, Requirements(generalSpec(), kind)); diff != "" {
			t.Errorf("%s, field fault BR-27:\n%s", kind.Kind, diff)
		}
		ref := dig(t, mustPlan(t, generalSpec(), kind), "template", "spec", "nodeClassRef")
		if diff := cmp.Diff(map[string]any{
			"group": kind.Group,
			"kind":  kind.Kind,
			"name":  "general",
		}, ref); diff != "" {
			t.Errorf("field fault BR-10:\n%s", diff)
		}
	}
}

func TestGeneralPoolIsLimitedInVCPUsAndMemory(t *testing.T) {
	spec := generalSpec()
	spec.General.VCPUs, spec.General.MemoryGiB = 1000, 4096
	if diff := cmp.Diff(map[string]string{"cpu": "1k", "memory": "4Ti"}, Limits(spec)); diff != "" {
		t.Error(diff)
	}
}

func TestDefaultLabelsStayOffTheTemplate(t *testing.T) {
	spec := gpuSpec()
	spec.Labels = map[string]string{"team": "inference"}
	got := dig(t, mustPlan(t, spec, EC2NodeClass), "template", "metadata", "labels")
	want := map[string]any{"team": "inference", "headroom/pool": "gpu-l4"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("field fault BR-65:\n%s", diff)
	}
	if len(spec.Labels) != 1 {
		t.Error("the caller's labels were changed")
	}
}

func TestPlanLeavesTheSpecAlone(t *testing.T) {
	for _, spec := range []Spec{gpuSpec(), generalSpec()} {
		before, _ := json.Marshal(spec)
		if _, err := PlanNodePool(spec, EC2NodeClass); err != nil {
			t.Fatal(err)
		}
		if after, _ := json.Marshal(spec); string(before) != string(after) {
			t.Errorf("changed to %s", after)
		}
	}
}

func TestRefusals(t *testing.T) {
	cases := map[string]struct {
		change func(*Spec)
		want   string
	}{
		"fractional GPUs, field fault BR-27": {func(s *Spec) { s.Advertised.InstanceTypes = []string{"g6f.xlarge"} },
			"fraction of a GPU"},
		"fractional GPUs of the big kind": {func(s *Spec) { s.Advertised.InstanceTypes = []string{"gr6f.4xlarge"} },
			"fraction of a GPU"},
		"a family where a type is wanted": {func(s *Spec) { s.Advertised.InstanceTypes = []string{"g6"} },
			"not an instance type"},
		"a type twice": {func(s *Spec) {
			s.Advertised.InstanceTypes = []string{"g6.xlarge",
				"g6.xlarge"}
		}, "given twice"},
		"a desired count on a dynamic pool": {func(s *Spec) { s.Advertised.NodeCount = 2 },
			"nodeCount: 2 has no meaning"},
		"no node allowed": {func(s *Spec) { s.Advertised.MaxNodeCount = 0 },
			"maxNodeCount: 0 allows no node"},
		"a maximum below the static count": {func(s *Spec) { s.Advertised.Static, s.Advertised.NodeCount = true, 5 },
			"below nodeCount 5"},
		"weight of a static pool": {func(s *Spec) { s.Advertised.Static, s.Weight = true, 3 }, "static pool has none"},
		"weight out of range":     {func(s *Spec) { s.Weight = 101 }, "weight: 101"},
		"no taint on GPU nodes":   {func(s *Spec) { s.Taints = nil }, "nvidia.com/gpu=true:NoSchedule"},
		"only a soft taint on GPU nodes": {func(s *Spec) {
			s.Taints = []pool.Taint{{
				Key:    "a",
				Effect: pool.PreferNoSchedule,
			}}
		}, "keeps pods without GPUs off"},
		"a startup taint that stays": {func(s *Spec) { s.StartupTaints = []pool.Taint{pool.GPUTaint} },
			"startupTaints[0] \"nvidia.com/gpu\": it is among the taints too"},
		"no capacity type": {func(s *Spec) { s.CapacityTypes = nil }, "capacityTypes"},
		"unknown capacity type": {func(s *Spec) { s.CapacityTypes = []pool.CapacityType{"SPOT"} },
			`"SPOT" is unknown`},
		"restricted label, field fault BR-65": {func(
			s *Spec) {
			s.Labels = map[string]string{"app.kubernetes.io/managed-by": "x"}
		}, "reserved"},
		"a name that is no DNS label": {func(s *Spec) { s.Name = "GPU_L4" }, "not a DNS label"},
		"schedule without duration": {func(s *Spec) {
			s.Disruption.Budgets = []Budget{{
				Nodes:    "0",
				Schedule: "@daily",
			}}
		}, "go together"},
		"budget in words": {func(s *Spec) { s.Disruption.Budgets = []Budget{{Nodes: "one"}} },
			`"one" is neither a number nor a share`},
		"unknown reason": {func(s *Spec) { s.Disruption.Budgets = []Budget{{Nodes: "1", Reasons: []string{"Old"}}} },
			`"Old" is unknown`},
		"seconds in a budget": {func(s *Spec) {
			s.Disruption.Budgets = []Budget{{
				Nodes:    "0",
				Schedule: "@daily",
				Duration: "90s",
			}}
		}, "hours and minutes"},
		"unknown policy":        {func(s *Spec) { s.Disruption.ConsolidationPolicy = "Always" }, "consolidationPolicy"},
		"expiry in days":        {func(s *Spec) { s.ExpireAfter = "30d" }, "expireAfter"},
		"grace period for ever": {func(s *Spec) { s.TerminationGracePeriod = "Never" }, "terminationGracePeriod"},
		"both kinds": {func(s *Spec) { s.General = &General{VCPUs: 1, MemoryGiB: 1} },
			"both advertised and general"},
		"neither kind": {func(s *Spec) { s.Advertised = nil }, "neither advertised nor general"},
		"a GPU category in a general pool": {func(s *Spec) {
			s.Advertised, s.General = nil, &General{Categories: []string{"g"}, VCPUs: 1, MemoryGiB: 1}
		}, "accelerators"},
		"a GPU family in a general pool": {func(s *Spec) {
			s.Advertised, s.General = nil, &General{Families: []string{"g6"}, VCPUs: 1, MemoryGiB: 1}
		}, "accelerators"},
		"an accelerator family beside a general": {func(s *Spec) {
			s.Advertised, s.General = nil, &General{Families: []string{"inf2"}, VCPUs: 1, MemoryGiB: 1}
		}, "accelerators"},
		"no limits of a general pool": {func(s *Spec) { s.Advertised, s.General = nil, &General{} },
			"memoryGiB: 0 allows no node"},
		"unknown architecture": {func(s *Spec) { s.Architecture = "amd64" }, "architecture"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			spec := gpuSpec()
			c.change(&spec)
			err := Validate("pools[0]", spec).Err()
			if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "pools[0]") {
				t.Errorf("%v\nwant %q", err, c.want)
			}
		})
	}
}

func TestValidatePanicsOnNoInput(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := Spec{
			Name:        rapid.String().Draw(t, "name"),
			Weight:      rapid.Int().Draw(t, "weight"),
			ExpireAfter: rapid.String().Draw(t, "expire"),
			Zones:       rapid.SliceOf(rapid.String()).Draw(t, "zones"),
			Labels:      rapid.MapOf(rapid.String(), rapid.String()).Draw(t, "labels"),
		}
		if rapid.Bool().Draw(t, "advertised") {
			s.Advertised = &Advertised{
				InstanceTypes: rapid.SliceOf(rapid.String()).Draw(t, "types"),
				MaxNodeCount:  rapid.Int().Draw(t, "max"),
				VCPUs:         rapid.Int().Draw(t, "vcpus"),
				Static:        rapid.Bool().Draw(t, "static"),
				NodeCount:     rapid.Int().Draw(t, "n"),
			}
		}
		if rapid.Bool().Draw(t, "general") {
			s.General = &General{
				Families:  rapid.SliceOf(rapid.String()).Draw(t, "families"),
				MemoryGiB: rapid.Int().Draw(t, "memory"),
			}
		}
		Validate("pool", s)
		if _, err := PlanNodePool(s, EC2NodeClass); err != nil {
			t.Fatal(err)
		}
	})
}

func TestDRARefusalNamesWhatToChange(t *testing.T) {
	cases := map[string]struct {
		karpenter, kubernetes string
		on                    bool
		want                  []string
	}{
		"able":             {"1.15.0", "1.34", true, nil},
		"later":            {"1.16.2", "1.36", true, nil},
		"old Karpenter":    {"1.14.1", "1.36", true, []string{"Karpenter 1.15, found 1.14.1"}},
		"old Kubernetes":   {"1.15.0", "1.33", true, []string{"Kubernetes 1.34, found 1.33"}},
		"switch off":       {"1.15.0", "1.36", false, []string{"enableDRA: true"}},
		"everything wrong": {"1.9.0", "1.33", false, []string{"1.9.0", "1.33", "enableDRA"}},
		"not a version":    {"latest", "1.36", true, []string{`"latest" cannot be read`}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			problems := ValidateDRA("pools[0].deviceMode", c.karpenter, c.kubernetes, c.on)
			if len(problems.Items()) != len(c.want) {
				t.Fatalf("field fault BR-12: %v, want %v", problems.Items(), c.want)
			}
			for i, want := range c.want {
				if !strings.Contains(problems.Items()[i], want) {
					t.Errorf("%q lacks %q", problems.Items()[i], want)
				}
			}
		})
	}
}

func TestNumbersInManifestsAreWhole(t *testing.T) {
	class := Class{AMIAlias: "al2023@v20260911", RootVolumeGiB: 200, Kubelet: Kubelet{MaxPods: 58}}
	m, err := PlanNodeClass("gpu-l4", class, Wiring{Cluster: "c", Role: "r"})
	if err != nil {
		t.Fatal(err)
	}
	for _, got := range []any{dig(t, m.Spec, "metadataOptions", "httpPutResponseHopLimit"),
		dig(t, m.Spec, "kubelet", "maxPods")} {
		if _, ok := got.(int); !ok {
			t.Errorf("field fault BR-90: %v is a %T", got, got)
		}
	}
	text, err := m.YAML()
	if err != nil || !strings.Contains(text, "httpPutResponseHopLimit: 1\n") {
		t.Errorf("%v\n%s", err, text)
	}
}

func TestNodeClassOfAPool(t *testing.T) {
	class := Class{
		AMIAlias:      "al2023@v20260911",
		RootVolumeGiB: 2048,
		LocalNVMe:     true,
		Tags:          map[string]string{"team": "x"},
	}
	wiring := Wiring{
		Cluster:          "dev",
		SubnetIDs:        []string{"subnet-1"},
		SecurityGroupIDs: []string{"sg-1"},
		InstanceProfile:  "profile",
	}
	m, err := PlanNodeClass("gpu-l4", class, wiring)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]any{
		"amiSelectorTerms":           []any{map[string]any{"alias": "al2023@v20260911"}},
		"subnetSelectorTerms":        []any{map[string]any{"id": "subnet-1"}},
		"securityGroupSelectorTerms": []any{map[string]any{"id": "sg-1"}},
		"instanceProfile":            "profile",
		"metadataOptions": map[string]any{
			"httpEndpoint":            "enabled",
			"httpProtocolIPv6":        "disabled",
			"httpPutResponseHopLimit": 1,
			"httpTokens":              "required",
		},
		"blockDeviceMappings": []any{map[string]any{
			"deviceName": "/dev/xvda",
			"rootVolume": true,
			"ebs": map[string]any{
				"volumeSize": "2Ti", "volumeType": "gp3", "encrypted": true, "deleteOnTermination": true,
			},
		}},
		"instanceStorePolicy": "RAID0",
		"tags":                map[string]any{"team": "x", "headroom/cluster": "dev", "headroom/pool": "gpu-l4"},
	}
	if diff := cmp.Diff(want, m.Spec); diff != "" {
		t.Error(diff)
	}
}

func TestClassRefusals(t *testing.T) {
	cases := map[string]struct {
		change func(*Class)
		want   string
	}{
		"latest AMI, field fault BR-79": {func(c *Class) { c.AMIAlias = "al2023@latest" },
			"not a pinned AL2023 release"},
		"a reservation by ARN": {func(c *Class) { c.CapacityReservationIDs = []string{"arn:x"} },
			"not a capacity reservation"},
		"no AMI":             {func(c *Class) { c.AMIAlias = "" }, "amiAlias"},
		"no room for images": {func(c *Class) { c.RootVolumeGiB = 8 }, "diskGiB: 8"},
		"ownership tag, field fault BR-66": {func(
			c *Class) {
			c.Tags = map[string]string{"kubernetes.io/cluster/foo": "owned"}
		}, "reserved"},
		"pool's own tag": {func(c *Class) { c.Tags = map[string]string{"headroom/pool": "x"} },
			"set by the program itself"},
		"AWS's own tag": {func(c *Class) { c.Tags = map[string]string{"aws:x": "y"} }, "reserved"},
		"unknown eviction signal": {func(c *Class) { c.Kubelet.EvictionHard = map[string]string{"memory": "1Gi"} },
			"not a signal"},
		"unknown reservation": {func(c *Class) { c.Kubelet.KubeReserved = map[string]string{"gpu": "1"} },
			"not a resource"},
		"negative reservation": {func(c *Class) { c.Kubelet.KubeReserved = map[string]string{"cpu": "-1"} },
			"not a quantity"},
		"soft eviction without grace": {func(
			c *Class) {
			c.Kubelet.EvictionSoft = map[string]string{"memory.available": "5%"}
		}, "no grace period"},
		"grace without soft eviction": {func(c *Class) {
			c.Kubelet.EvictionSoftGracePeriod = map[string]string{"memory.available": "1m"}
		}, "no threshold"},
		"image marks upside down": {func(c *Class) {
			c.Kubelet.ImageGCHighThresholdPercent,
				c.Kubelet.ImageGCLowThresholdPercent = 50, 60
		}, "high one above the low one"},
		"negative pods": {func(c *Class) { c.Kubelet.MaxPods = -1 }, "maxPods: -1"},
	}
	for _, key := range reservedTags {
		cases["reserved tag "+key] = struct {
			change func(*Class)
			want   string
		}{func(c *Class) { c.Tags = map[string]string{key: "x"} }, strconv.Quote(key)}
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			class := Class{AMIAlias: "al2023@v20260911", RootVolumeGiB: 100}
			if err := ValidateClass("pools[0]", class).Err(); err != nil {
				t.Fatal(err)
			}
			c.change(&class)
			if err := ValidateClass("pools[0]", class).Err(); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v\nwant %q", err, c.want)
			}
		})
	}
}

func TestFilesHoldTheSamePlanWithTheClassFirst(t *testing.T) {
	class, err := PlanNodeClass("gpu-l4", Class{AMIAlias: "al2023@v20260911", RootVolumeGiB: 100}, Wiring{
		Cluster: "dev",
		Role:    "node-role",
	})
	if err != nil {
		t.Fatal(err)
	}
	nodePool, err := PlanNodePool(gpuSpec(), EC2NodeClass)
	if err != nil {
		t.Fatal(err)
	}
	files, err := Files("gpu-l4", class, nodePool)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"gpu-l4-1-nodeclass.yaml": "role: node-role",
		"gpu-l4-2-nodepool.yaml":  "nvidia.com/gpu: \"4\"",
	} {
		if !strings.Contains(files[name], want) {
			t.Errorf("%s lacks %q:\n%s", name, want, files[name])
		}
	}
}
