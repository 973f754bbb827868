package gpu_test

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/headroom-eks/headroom/components/gpu"
	"github.com/headroom-eks/headroom/internal/recorder"
	"github.com/headroom-eks/headroom/pool"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
	"pgregory.net/rapid"
)

const chart = "kubernetes:helm.sh/v4:Chart"

func pools() []gpu.Target {
	return []gpu.Target{
		{Name: "l4-b", Scaler: pool.Karpenter, DeviceMode: pool.Plugin, Taints: []pool.Taint{pool.GPUTaint}},
		{Name: "l4-a", Scaler: pool.Fixed, DeviceMode: pool.Plugin, Taints: []pool.Taint{
			pool.GPUTaint, {
				Key:    "dedicated",
				Value:  "inference",
				Effect: pool.NoSchedule,
			}, {Key: "drain", Effect: pool.NoExecute},
		}},
		{
			Name:       "claims",
			Scaler:     pool.Karpenter,
			DeviceMode: pool.DRA,
			Taints:     []pool.Taint{pool.GPUTaint, {Key: "dra", Value: "x", Effect: pool.NoSchedule}},
		},
		{Name: "auto", Scaler: pool.AutoMode, DeviceMode: pool.Plugin, Taints: []pool.Taint{pool.GPUTaint}},
	}
}

func run(t *testing.T, args *gpu.Args) (*recorder.Recorder, *gpu.Devices, error) {
	t.Helper()
	var devices *gpu.Devices
	r, err := recorder.Run(nil, func(ctx *pulumi.Context) (err error) {
		devices, err = gpu.New(ctx, "gpu", args)
		return err
	})
	return r, devices, err
}

// Field fault BR-72: whatever taints pools have, the agents tolerate each of them.
func TestAgentsTolerateEveryTaintOfEveryPool(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		taint := rapid.Custom(func(t *rapid.T) pool.Taint {
			return pool.Taint{
				Key:    rapid.StringMatching(`[a-z]{1,3}`).Draw(t, "key"),
				Value:  rapid.StringMatching(`[a-z]{0,2}`).Draw(t, "value"),
				Effect: rapid.SampledFrom(pool.Effects).Draw(t, "effect"),
			}
		})
		var some []gpu.Target
		for i := range rapid.IntRange(1, 4).Draw(t, "pools") {
			some = append(some, gpu.Target{Name: string(rune('a' + i)),
				Taints: rapid.SliceOfN(taint, 0, 4).Draw(t, "taints")})
		}
		dra := gpu.DRADriverValues(some)["kubeletPlugin"].(map[string]any)
		for name, tolerations := range map[string][]any{
			"device plugin": gpu.DevicePluginValues(some)["tolerations"].([]any),
			"DRA driver":    dra["tolerations"].([]any),
		} {
			for _, p := range some {
				for _, taint := range p.Taints {
					if !tolerated(tolerations, taint) {
						t.Errorf("%s does not tolerate %s of pool %s: %v", name, taint, p.Name, tolerations)
					}
				}
			}
		}
	})
}

func tolerated(tolerations []any, taint pool.Taint) bool {
	for _, one := range tolerations {
		m := one.(map[string]any)
		value, _ := m["value"].(string)
		tol := pool.Toleration{
			Key:      m["key"].(string),
			Operator: m["operator"].(string),
			Value:    value,
			Effect:   pool.Effect(m["effect"].(string)),
		}
		if tol.Tolerates(taint) {
			return true
		}
	}
	return false
}

// poolsOf are the pools that an agent's required node affinity selects.
func poolsOf(t *testing.T, values any) []any {
	t.Helper()
	for _, key := range []string{"affinity", "nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution"} {
		values = values.(map[string]any)[key]
	}
	terms := values.(map[string]any)["nodeSelectorTerms"].([]any)
	if len(terms) != 1 {
		t.Fatalf("%d terms: any of them lets a pod land", len(terms))
	}
	expression := terms[0].(map[string]any)["matchExpressions"].([]any)[0].(map[string]any)
	if expression["key"] != "headroom/pool" || expression["operator"] != "In" {
		t.Fatalf("expression %v", expression)
	}
	return expression["values"].([]any)
}

// No node gets both agents, Auto Mode's none.
func TestEachAgentRunsOnItsOwnPoolsOnly(t *testing.T) {
	r, devices, err := run(t, &gpu.Args{Targets: pools()})
	if err != nil {
		t.Fatal(err)
	}
	plugin := r.Get(t, chart, "gpu-device-plugin").Inputs["values"].(map[string]any)
	if diff := cmp.Diff([]any{"l4-a", "l4-b"}, poolsOf(t, plugin)); diff != "" {
		t.Error(diff)
	}
	driver := r.Get(t, chart, "gpu-dra-driver").Inputs["values"].(map[string]any)
	if diff := cmp.Diff([]any{"claims"}, poolsOf(t, driver["kubeletPlugin"])); diff != "" {
		t.Error(diff)
	}
	if !devices.DevicePlugin || !devices.DRADriver {
		t.Errorf("devices %+v", devices)
	}
}

func TestChartsArePinnedAndNotAwaited(t *testing.T) {
	r, _, err := run(t, &gpu.Args{Targets: pools()})
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]map[string]any{
		"gpu-device-plugin": {"chart": "nvidia-device-plugin", "version": "0.17.4",
			"repositoryOpts": map[string]any{"repo": "https://nvidia.github.io/k8s-device-plugin"}},
		"gpu-dra-driver": {
			"chart":          "oci://registry.k8s.io/dra-driver-nvidia/charts/dra-driver-nvidia-gpu",
			"version":        "0.4.1",
			"repositoryOpts": nil,
		},
	} {
		in := r.Get(t, chart, name).Inputs
		got := map[string]any{"chart": in["chart"], "version": in["version"], "repositoryOpts": in["repositoryOpts"]}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		if in["skipAwait"] != true { // field fault BR-60
			t.Errorf("%s waits for agents of pools that may have no node", name)
		}
	}
}

func TestMirrorReplacesBothRepositories(t *testing.T) {
	for mirror, want := range map[string][3]any{ // repository of both, chart of the plugin, chart of the driver
		"oci://mirror.example/charts/": {nil, "oci://mirror.example/charts/nvidia-device-plugin",
			"oci://mirror.example/charts/dra-driver-nvidia-gpu"},
		"https://mirror.example": {map[string]any{"repo": "https://mirror.example"}, "nvidia-device-plugin",
			"dra-driver-nvidia-gpu"},
	} {
		r, _, err := run(t, &gpu.Args{Targets: pools(), Repository: mirror})
		if err != nil {
			t.Fatal(err)
		}
		plugin, driver := r.Get(t, chart, "gpu-device-plugin").Inputs, r.Get(t, chart, "gpu-dra-driver").Inputs
		if diff := cmp.Diff([]any{want[0], want[0], want[1], want[2]},
			[]any{plugin["repositoryOpts"], driver["repositoryOpts"], plugin["chart"], driver["chart"]}); diff != "" {
			t.Errorf("%s: %s", mirror, diff)
		}
	}
}

func TestNothingIsInstalledWithoutAPoolThatNeedsIt(t *testing.T) {
	r, devices, err := run(t, &gpu.Args{Targets: pools()[3:]})
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Of(chart)) != 0 || devices.DevicePlugin || devices.DRADriver {
		t.Errorf("%d charts, %+v", len(r.Of(chart)), devices)
	}
}

// Pods that ask for nvidia.com/gpu belong on plugin pools: a DRA pool's GPUs are promised to claims.
func TestDeviceClassServesClaimsOnly(t *testing.T) {
	r, _, err := run(t, &gpu.Args{Targets: pools()})
	if err != nil {
		t.Fatal(err)
	}
	transforms := r.Get(t, chart, "gpu-dra-driver").Transforms
	if len(transforms) != 1 {
		t.Fatalf("%d transforms", len(transforms))
	}
	props := pulumi.Map{"spec": pulumi.Map{
		"extendedResourceName": pulumi.String("nvidia.com/gpu"),
		"selectors":            pulumi.Array{},
	}}
	got := transforms[0](context.Background(), &pulumi.ResourceTransformArgs{
		Type:  "kubernetes:resource.k8s.io/v1:DeviceClass",
		Props: props,
	})
	if got == nil {
		t.Fatal("the class is left as it is")
	}
	if diff := cmp.Diff(pulumi.Map{"spec": pulumi.Map{"selectors": pulumi.Array{}}}, got.Props); diff != "" {
		t.Error(diff)
	}
	if props["spec"].(pulumi.Map)["extendedResourceName"] == nil {
		t.Error("the transform changes what it was given")
	}
	for _, other := range []string{"kubernetes:apps/v1:DaemonSet", "kubernetes:resource.k8s.io/v1:ResourceSlice"} {
		if transforms[0](context.Background(), &pulumi.ResourceTransformArgs{Type: other, Props: props}) != nil {
			t.Errorf("%s is changed", other)
		}
	}
}

func TestInvalidArgsAreRefused(t *testing.T) {
	for want, change := range map[string]func(*gpu.Args){
		"devicePluginVersion":    func(a *gpu.Args) { a.DevicePluginVersion = "v0.17.4" },
		"draDriverVersion":       func(a *gpu.Args) { a.DRADriverVersion = "latest" },
		"repository":             func(a *gpu.Args) { a.Repository = "mirror" },
		"deviceMode: is unknown": func(a *gpu.Args) { a.Targets[0].DeviceMode = "" },
		"name of its own":        func(a *gpu.Args) { a.Targets[0].Name = a.Targets[1].Name },
		"is unknown":             func(a *gpu.Args) { a.Targets[0].Taints = []pool.Taint{{Key: "x", Effect: "never"}} },
	} {
		a := &gpu.Args{Targets: pools()}
		change(a)
		r, _, err := run(t, a)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error lacks %q: %v", want, err)
		}
		if len(r.All()) != 0 {
			t.Errorf("%s: %d resources are registered", want, len(r.All()))
		}
	}
	if _, _, err := run(t, nil); err == nil {
		t.Error("no arguments: accepted")
	}
}
