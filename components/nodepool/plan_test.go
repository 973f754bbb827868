package nodepool

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/headroom-eks/headroom/capacity/plan"
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
	if err := Validate("pool", spec, kind).Err(); err != nil {
		t.Fatal(err)
	}
	m, err := PlanNodePool(Parts(spec)[0], kind)
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
	other := ClassKind{Group: "example.com", Kind: "NodeClass", LabelDomain: "example.com"}
	for _, kind := range []ClassKind{EC2NodeClass, other} {
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
		if _, err := PlanNodePool(Parts(spec)[0], EC2NodeClass); err != nil {
			t.Fatal(err)
		}
		if after, _ := json.Marshal(spec); string(before) != string(after) {
			t.Errorf("changed to %s", after)
		}
	}
}

var refusedSpecs = map[string]struct {
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
		"nodeCount: has no meaning: nodes are made as pods need them (found 2)"},
	"no node allowed": {func(s *Spec) { s.Advertised.MaxNodeCount = 0 },
		"maxNodeCount: allows no node (found 0)"},
	"a maximum below the static count": {func(s *Spec) { s.Advertised.Static, s.Advertised.NodeCount = true, 5 },
		"maxNodeCount: is below nodeCount 5 (found 4)"},
	"weight of a static pool": {func(s *Spec) { s.Advertised.Static, s.Weight = true, 3 },
		"weight: has no place in a static pool (found 3)"},
	"weight out of range":   {func(s *Spec) { s.Weight = 101 }, "weight: is out of range (found 101)"},
	"no taint on GPU nodes": {func(s *Spec) { s.Taints = nil }, "nvidia.com/gpu=true:NoSchedule"},
	"only a soft taint on GPU nodes": {func(s *Spec) {
		s.Taints = []pool.Taint{{
			Key:    "a",
			Effect: pool.PreferNoSchedule,
		}}
	}, "keeps pods without GPUs off"},
	"a startup taint that stays": {func(s *Spec) { s.StartupTaints = []pool.Taint{pool.GPUTaint} },
		"startupTaints[0] \"nvidia.com/gpu\": is among the pool's taints too"},
	"no capacity type": {func(s *Spec) { s.CapacityTypes = nil }, "capacityTypes"},
	"unknown capacity type": {func(s *Spec) { s.CapacityTypes = []pool.CapacityType{"SPOT"} },
		`capacityTypes[0]: is unknown (found "SPOT")`},
	"restricted label, field fault BR-65": {func(
		s *Spec) {
		s.Labels = map[string]string{"app.kubernetes.io/managed-by": "x"}
	}, "reserved"},
	"a name that is no DNS label": {func(s *Spec) { s.Name = "GPU_L4" }, "name: is refused by Kubernetes"},
	"schedule without duration": {func(s *Spec) {
		s.Disruption.Budgets = []Budget{{
			Nodes:    "0",
			Schedule: "@daily",
		}}
	}, "which go together (found \"@daily\")"},
	"budget in words": {func(s *Spec) { s.Disruption.Budgets = []Budget{{Nodes: "one"}} },
		`nodes: is neither a number nor a share (found "one")`},
	"unknown reason": {func(s *Spec) { s.Disruption.Budgets = []Budget{{Nodes: "1", Reasons: []string{"Old"}}} },
		`reasons[0]: is unknown (found "Old"); use one of Empty, Drifted, Underutilized, Unhealthy`},
	"seconds in a budget": {func(s *Spec) {
		s.Disruption.Budgets = []Budget{{
			Nodes:    "0",
			Schedule: "@daily",
			Duration: "90s",
		}}
	}, `is not in hours and minutes (found "90s")`},
	"unknown policy":           {func(s *Spec) { s.Disruption.ConsolidationPolicy = "Always" }, "consolidationPolicy"},
	"expiry in days":           {func(s *Spec) { s.ExpireAfter = "30d" }, "expireAfter"},
	"grace period without end": {func(s *Spec) { s.TerminationGracePeriod = "Never" }, "terminationGracePeriod"},
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
		"limits.memoryGiB: allows no node (found 0)"},
	"unknown architecture": {func(s *Spec) { s.Architecture = "amd64" }, "architecture"},
}

func TestRefusals(t *testing.T) {
	for name, c := range refusedSpecs {
		t.Run(name, func(t *testing.T) {
			spec := gpuSpec()
			c.change(&spec)
			err := Validate("pools[0]", spec, EC2NodeClass).Err()
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
			if n := rapid.Int().Draw(t, "onDemand"); n%2 == 0 {
				s.Advertised.MaxOnDemandNodeCount = &n
			}
		}
		if rapid.Bool().Draw(t, "general") {
			s.General = &General{
				Families:  rapid.SliceOf(rapid.String()).Draw(t, "families"),
				MemoryGiB: rapid.Int().Draw(t, "memory"),
			}
		}
		Validate("pool", s, EC2NodeClass)
		for _, part := range Parts(s) {
			if _, err := PlanNodePool(part, EC2NodeClass); err != nil {
				t.Fatal(err)
			}
		}
	})
}

var wakeCases = map[string]struct {
	scaler                pool.Scaler
	karpenter, kubernetes string
	on                    bool
	want                  []string
}{
	"able":  {pool.Karpenter, "1.15.0", "1.34", true, nil},
	"later": {pool.Karpenter, "1.16.2", "1.36", true, nil},
	"old Karpenter": {pool.Karpenter, "1.14.1", "1.36", true,
		[]string{`needs Karpenter 1.15 for it (found "1.14.1")`}},
	"old Kubernetes": {pool.Karpenter, "1.15.0", "1.33", true, []string{`needs Kubernetes 1.34 for it (found "1.33")`}},
	"switch off":     {pool.Karpenter, "1.15.0", "1.36", false, []string{"set karpenter.enableDRA: true (alpha)"}},
	"everything wrong": {pool.Karpenter, "1.9.0", "1.33", false, []string{`"1.9.0"`, `"1.33"`,
		"karpenter.enableDRA: true"}},
	"not a version":       {pool.Karpenter, "latest", "1.36", true, []string{`cannot be read (found "latest")`}},
	"Auto Mode":           {pool.AutoMode, "", "1.36", false, nil},
	"Auto Mode later":     {pool.AutoMode, "", "1.100", false, nil},
	"Auto Mode too early": {pool.AutoMode, "", "1.35", false, []string{"auto-mode needs Kubernetes 1.36"}},
	"Auto Mode on what":   {pool.AutoMode, "", "", false, []string{`cannot be read (found "")`}},
}

// Field fault BR-12.
func TestAPoolOfClaimsThatNobodyWouldWakeSaysWhatToChange(t *testing.T) {
	for name, c := range wakeCases {
		t.Run(name, func(t *testing.T) {
			problems := ValidateWake("pools[0]", plan.WakeFacts{Scaler: c.scaler, DeviceMode: pool.DRA,
				ScalerVersion: c.karpenter, KubernetesVersion: c.kubernetes, DRAEnabled: c.on})
			if len(problems.Items()) != len(c.want) {
				t.Fatalf("%v, want %v", problems.Items(), c.want)
			}
			for i, want := range c.want {
				if !strings.Contains(problems.Items()[i], want) {
					t.Errorf("%q lacks %q", problems.Items()[i], want)
				}
			}
		})
	}
}

func TestAPluginPoolNeedsNoVersion(t *testing.T) {
	for _, scaler := range pool.Scalers {
		if err := ValidateWake("p", plan.WakeFacts{Scaler: scaler, DeviceMode: pool.Plugin}).Err(); err != nil {
			t.Errorf("%s: %v", scaler, err)
		}
	}
}

func TestNumbersInManifestsAreWhole(t *testing.T) {
	class := Class{AMIAlias: "al2023@v20260911", RootVolumeGiB: 200, Kubelet: Kubelet{MaxPods: 58}}
	planned, problems := PlanNodeClass("class", class)
	if err := problems.Err(); err != nil {
		t.Fatal(err)
	}
	m := planned.Manifest("gpu-l4", Wiring{Cluster: "c", Role: "r"})
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
	planned, problems := PlanNodeClass("class", class)
	if err := problems.Err(); err != nil {
		t.Fatal(err)
	}
	m := planned.Manifest("gpu-l4", wiring)
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
		"tags":                map[string]string{"team": "x", "headroom/cluster": "dev", "headroom/pool": "gpu-l4"},
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
			`amiAlias: is not a pinned AL2023 release (found "al2023@latest")`},
		"a reservation by ARN": {func(c *Class) { c.CapacityReservationIDs = []string{"arn:x"} },
			"not a capacity reservation"},
		"no AMI": {func(c *Class) { c.AMIAlias = "" }, "amiAlias"},
		"no room for images": {func(c *Class) { c.RootVolumeGiB = 8 }, "diskGiB: is out of range: images alone need " +
			"most of 20 (found 8)"},
		"ownership tag, field fault BR-66": {func(
			c *Class) {
			c.Tags = map[string]string{"kubernetes.io/cluster/foo": "owned"}
		}, "set by EKS"},
		"pool's own tag": {func(c *Class) { c.Tags = map[string]string{"headroom/pool": "x"} },
			"are set by this program"},
		"AWS's own tag": {func(c *Class) { c.Tags = map[string]string{"aws:x": "y"} }, "set by AWS"},
		"unknown eviction signal": {func(c *Class) { c.Kubelet.EvictionHard = map[string]string{"memory": "1Gi"} },
			`evictionHard["memory"]: is unknown`},
		"unknown reservation": {func(c *Class) { c.Kubelet.KubeReserved = map[string]string{"gpu": "1"} },
			`kubeReserved["gpu"]: is unknown`},
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
		"negative pods": {func(c *Class) { c.Kubelet.MaxPods = -1 }, "maxPods: is out of range (found -1)"},
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
	class, problems := PlanNodeClass("class", Class{AMIAlias: "al2023@v20260911", RootVolumeGiB: 100})
	if err := problems.Err(); err != nil {
		t.Fatal(err)
	}
	nodePool, err := PlanNodePool(Parts(gpuSpec())[0], EC2NodeClass)
	if err != nil {
		t.Fatal(err)
	}
	files, err := files("gpu-l4", class.Manifest("gpu-l4", Wiring{Cluster: "dev", Role: "node-role"}),
		[]Manifest{nodePool})
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
