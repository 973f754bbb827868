package clusterautoscaler

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/headroom-eks/headroom/pool"
	"pgregory.net/rapid"
)

func gpuTemplate() Template {
	return Template{
		Labels: map[string]string{
			"headroom/pool":       "gpu-l4",
			"example.com/tier":    "a",
			pool.AcceleratorLabel: "nvidia-l4",
		},
		Taints:     []pool.Taint{pool.GPUTaint, {Key: "example.com/dedicated", Effect: pool.NoExecute}},
		DeviceMode: pool.Plugin,
		GPUs:       4,
		DiskGiB:    100,
		Nodes:      []Node{{VCPUs: 48, MemoryMiB: 196608, MaxPods: 234}},
	}
}

// Field faults BR-01, BR-02, BR-03, BR-06 and BR-07.
func TestTemplateTagsSayWhatTheNodeGroupSays(t *testing.T) {
	want := map[string]string{
		"k8s.io/cluster-autoscaler/node-template/label/headroom/pool":                 "gpu-l4",
		"k8s.io/cluster-autoscaler/node-template/label/example.com/tier":              "a",
		"k8s.io/cluster-autoscaler/node-template/label/k8s.amazonaws.com/accelerator": "nvidia-l4",
		"k8s.io/cluster-autoscaler/node-template/taint/nvidia.com/gpu":                "true:NoSchedule",
		"k8s.io/cluster-autoscaler/node-template/taint/example.com/dedicated":         ":NoExecute",
		"k8s.io/cluster-autoscaler/node-template/resources/nvidia.com/gpu":            "4",
		"k8s.io/cluster-autoscaler/node-template/resources/ephemeral-storage":         "89Gi",
		"k8s.io/cluster-autoscaler/node-template/resources/cpu":                       "47810m",
		"k8s.io/cluster-autoscaler/node-template/resources/memory":                    "178933Mi",
		"k8s.io/cluster-autoscaler/node-template/resources/pods":                      "234",
	}
	if diff := cmp.Diff(want, TemplateTags(gpuTemplate())); diff != "" {
		t.Error(diff)
	}
}

// Field fault BR-03: strip the prefixes, and the pool's own labels and taints remain, byte for byte.
func TestStrippedTagsAreTheLabelsAndTaintsThemselves(t *testing.T) {
	name := rapid.StringMatching(
		`([a-z0-9]{1,10}(-[a-z0-9]{1,5})?(\.[a-z0-9]{1,9}){0,2}/)?[A-Za-z0-9]([A-Za-z0-9._-]{0,20}[A-Za-z0-9])?`)
	value := rapid.StringMatching(`([A-Za-z0-9]([A-Za-z0-9._-]{0,20}[A-Za-z0-9])?)?`)
	taint := rapid.Custom(func(t *rapid.T) pool.Taint {
		return pool.Taint{
			Key:    name.Draw(t, "key"),
			Value:  value.Draw(t, "value"),
			Effect: rapid.SampledFrom(pool.Effects).Draw(t, "effect"),
		}
	})
	rapid.Check(t, func(t *rapid.T) {
		template := Template{
			Labels:  rapid.MapOfN(name, value, 0, 8).Draw(t, "labels"),
			Taints:  rapid.SliceOfNDistinct(taint, 0, 6, func(t pool.Taint) string { return t.Key }).Draw(t, "taints"),
			DiskGiB: rapid.IntRange(2, 1000).Draw(t, "disk"),
			Nodes:   []Node{{}},
		}
		labels, taints := map[string]string{}, map[pool.Taint]bool{}
		for key, value := range TemplateTags(template) {
			if label, found := strings.CutPrefix(key, "k8s.io/cluster-autoscaler/node-template/label/"); found {
				labels[label] = value
			}
			if key, found := strings.CutPrefix(key, "k8s.io/cluster-autoscaler/node-template/taint/"); found {
				i := strings.LastIndex(value, ":")
				taints[pool.Taint{Key: key, Value: value[:i], Effect: pool.Effect(value[i+1:])}] = true
			}
		}
		if diff := cmp.Diff(template.Labels, labels); diff != "" {
			t.Fatal(diff)
		}
		want := map[pool.Taint]bool{}
		for _, taint := range template.Taints {
			want[taint] = true
		}
		if diff := cmp.Diff(want, taints); diff != "" {
			t.Fatal(diff)
		}
		if err := ValidateTemplate("group", template).Err(); err != nil {
			t.Fatal(err)
		}
	})
}

// A node of a DRA group registers no nvidia.com/gpu; the instance type says it has some.
func TestDRAGroupOffersNothingToPodsOfTheDevicePlugin(t *testing.T) {
	template := gpuTemplate()
	template.DeviceMode = pool.DRA
	if got := TemplateTags(template)[resourcePrefix+pool.GPUResource]; got != "0" {
		t.Errorf("nvidia.com/gpu is %q, want 0", got)
	}
}

func TestEphemeralStorageNeverExceedsTheDisk(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		disk := rapid.IntRange(0, 16384).Draw(t, "disk")
		if got := ephemeralGiB(disk); got < 0 || got > disk {
			t.Fatalf("%d GiB of a disk of %d GiB", got, disk)
		}
	})
}

// Field fault BR-06.
func TestAcceleratorLabelIsAskedOfPluginGroupsAlone(t *testing.T) {
	l4 := pool.Shape{GPUs: 1, GPUModel: "L4"}
	for name, c := range map[string]struct {
		mode  pool.DeviceMode
		shape pool.Shape
		want  string
	}{
		"plugin":  {pool.Plugin, l4, "nvidia-l4"},
		"DRA":     {pool.DRA, l4, ""},
		"no GPUs": {"", pool.Shape{}, ""},
		"model with blanks": {pool.Plugin, pool.Shape{GPUs: 8, GPUModel: "RTX PRO Server 6000 "},
			"nvidia-rtx-pro-server-6000"},
		"model nobody gave": {pool.Plugin, pool.Shape{GPUs: 8}, "nvidia"},
		"model longer than any": {pool.Plugin, pool.Shape{GPUs: 8, GPUModel: strings.Repeat("x", 99)}, "nvidia-" +
			strings.Repeat("x", 56)},
	} {
		if got := Accelerator(c.mode, c.shape); got != c.want {
			t.Errorf("%s: got %q, want %q", name, got, c.want)
		}
	}
}

func TestWhatTagsCannotSayIsRefused(t *testing.T) {
	for name, c := range map[string]struct {
		change  func(*Template)
		refusal string // empty: accepted
	}{
		"as it is": {func(*Template) {}, ""},
		"GPUs without the label": {func(x *Template) { delete(x.Labels, pool.AcceleratorLabel) },
			"each pod brings two nodes"},
		"an empty label": {func(x *Template) { x.Labels[pool.AcceleratorLabel] = "" },
			"each pod brings two nodes"},
		"the label without GPUs": {func(x *Template) { x.GPUs = 0 }, "is on a group without GPUs"},
		"the label with DRA":     {func(x *Template) { x.DeviceMode = pool.DRA }, "never register nvidia.com/gpu"},
		"DRA without the label": {func(x *Template) {
			x.DeviceMode = pool.DRA
			delete(x.Labels,
				pool.AcceleratorLabel)
		}, ""},
		"one key with two effects": {func(x *Template) {
			x.Taints = append(x.Taints, pool.Taint{Key: "nvidia.com/gpu", Effect: pool.NoExecute})
		}, "two effects"},
		"an EKS effect": {func(x *Template) { x.Taints[0].Effect = "NO_SCHEDULE" },
			`effect: is unknown (found "NO_SCHEDULE")`},
		"no disk":           {func(x *Template) { x.DiskGiB = 0 }, "diskGiB: leaves nothing for pods (found 0)"},
		"longest label key": {func(x *Template) { x.Labels[strings.Repeat("k", 128-len(labelPrefix))] = "v" }, ""},
		"longer label key": {func(x *Template) { x.Labels[strings.Repeat("k", 129-len(labelPrefix))] = "v" },
			"more than the 128 characters that AWS allows (found 129); shorten the label's or taint's key by 1"},
		"longest value": {func(x *Template) { x.Labels["k"] = strings.Repeat("v", 256) }, ""},
		"longer value": {func(x *Template) { x.Labels["k"] = strings.Repeat("v", 257) },
			"has a value of more than the 256 characters that AWS allows (found 257)"},
		"as many as fit":     {fill(45), ""},
		"one more than fits": {fill(46), "beside the 5 of EKS (found 46)"},
	} {
		template := gpuTemplate()
		c.change(&template)
		err := ValidateTemplate("group", template).Err()
		switch {
		case c.refusal == "" && err != nil:
			t.Errorf("%s: %v", name, err)
		case c.refusal != "" && (err == nil || !strings.Contains(err.Error(), c.refusal)):
			t.Errorf("%s: got %v, want a refusal that says %q", name, err, c.refusal)
		}
	}
}

// fill adds labels until there are n tags.
func fill(n int) func(*Template) {
	return func(t *Template) {
		for i := len(TemplateTags(*t)); i < n; i++ {
			t.Labels[fmt.Sprintf("label-%d", i)] = "v"
		}
	}
}
