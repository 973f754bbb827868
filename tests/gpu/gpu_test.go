package gpu_test

import (
	"encoding/json"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/headroom-eks/headroom/components/gpu"
	"github.com/headroom-eks/headroom/pool"
	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"
	"sigs.k8s.io/yaml"
)

const (
	devicePlugin = "github.com/NVIDIA/k8s-device-plugin"
	draDriver    = "sigs.k8s.io/dra-driver-nvidia-gpu"
)

var pools = []gpu.Target{
	{Name: "l4", Scaler: pool.Karpenter, DeviceMode: pool.Plugin, Taints: []pool.Taint{pool.GPUTaint}},
	{Name: "l4-fixed", Scaler: pool.Fixed, DeviceMode: pool.Plugin, Taints: []pool.Taint{
		pool.GPUTaint, {
			Key:    "dedicated",
			Value:  "inference",
			Effect: pool.NoSchedule,
		}, {Key: "drain", Effect: pool.NoExecute},
	}},
	{Name: "claims", Scaler: pool.Karpenter, DeviceMode: pool.DRA, Taints: []pool.Taint{
		pool.GPUTaint, {Key: "team", Value: "ml", Effect: pool.NoExecute},
	}},
	{Name: "auto", Scaler: pool.AutoMode, DeviceMode: pool.Plugin, Taints: []pool.Taint{pool.GPUTaint}},
}

// objects that a module's real chart makes of the values. The module's version must be the pinned one.
func objects(t *testing.T, module, pinned, chartName string, values map[string]any) []map[string]any {
	t.Helper()
	out, err := exec.Command("go", "mod", "download", "-json", module).Output()
	if err != nil {
		t.Fatalf("find %s: %v", module, err)
	}
	var found struct{ Version, Dir string }
	if err := json.Unmarshal(out, &found); err != nil {
		t.Fatal(err)
	}
	if found.Version != "v"+pinned {
		t.Fatalf("the module %s is %s, the program pins %s", module, found.Version, pinned)
	}
	chart, err := loader.Load(filepath.Join(found.Dir, "deployments", "helm", chartName))
	if err != nil {
		t.Fatal(err)
	}
	if chart.Metadata.Version != pinned {
		t.Fatalf("the chart is %s, the program pins %s", chart.Metadata.Version, pinned)
	}
	if err := chartutil.ProcessDependencies(chart, values); err != nil {
		t.Fatal(err)
	}
	options := chartutil.ReleaseOptions{Name: chartName, Namespace: gpu.Namespace, IsInstall: true, Revision: 1}
	capabilities := chartutil.DefaultCapabilities.Copy()
	capabilities.KubeVersion = chartutil.KubeVersion{Version: "v1.36.3", Major: "1", Minor: "36"}
	all, err := chartutil.ToRenderValues(chart, values, options, capabilities)
	if err != nil {
		t.Fatal(err)
	}
	files, err := engine.Render(chart, all)
	if err != nil {
		t.Fatal(err)
	}
	var made []map[string]any
	for file, text := range files {
		for _, document := range strings.Split(text, "\n---") {
			var object map[string]any
			if err := yaml.Unmarshal([]byte(document), &object); err != nil {
				t.Fatalf("read %s: %v", file, err)
			}
			if object["kind"] != nil {
				made = append(made, object)
			}
		}
	}
	return made
}

// decode gives the object of a kind and name, strictly: a field that Kubernetes does not know is a fault.
func decode(t *testing.T, made []map[string]any, kind, name string, into any) {
	t.Helper()
	i := slices.Index(names(made), kind+" "+name)
	if i < 0 {
		t.Fatalf("no %s %s in %v", kind, name, names(made))
	}
	text, err := yaml.Marshal(made[i])
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.UnmarshalStrict(text, into); err != nil {
		t.Fatal(err)
	}
}

// names of the objects, by kind and name.
func names(made []map[string]any) (names []string) {
	for _, object := range made {
		names = append(names, object["kind"].(string)+" "+object["metadata"].(map[string]any)["name"].(string))
	}
	return names
}

// The agents' DaemonSets.
const (
	pluginSet = "nvidia-device-plugin"
	mpsSet    = "nvidia-device-plugin-mps-control-daemon"
	draSet    = "dra-driver-nvidia-gpu-kubelet-plugin"
)

func agent(t *testing.T, made []map[string]any, name string) appsv1.DaemonSet {
	t.Helper()
	var set appsv1.DaemonSet
	decode(t, made, "DaemonSet", name, &set)
	return set
}

func plugin(t *testing.T) []map[string]any {
	t.Helper()
	return objects(t, devicePlugin, gpu.DefaultDevicePluginVersion, "nvidia-device-plugin",
		gpu.DevicePluginValues(gpu.With(pool.Plugin, pools)))
}

func dra(t *testing.T) []map[string]any {
	t.Helper()
	return objects(t, draDriver, gpu.DefaultDRADriverVersion, "dra-driver-nvidia-gpu",
		gpu.DRADriverValues(gpu.With(pool.DRA, pools)))
}

// node of a pool, as the kubelet registers it.
func node(name string, taints []pool.Taint) *corev1.Node {
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{
		pool.PoolLabel:     name,
		"kubernetes.io/os": "linux",
	}}}
	for _, t := range taints {
		n.Spec.Taints = append(n.Spec.Taints, corev1.Taint{
			Key:    t.Key,
			Value:  t.Value,
			Effect: corev1.TaintEffect(t.Effect),
		})
	}
	return n
}

// lands reports whether the scheduler would put the pod on the node, as far as labels and taints decide.
func lands(t *testing.T, pod corev1.PodSpec, n *corev1.Node) bool {
	t.Helper()
	fits, err := nodeaffinity.GetRequiredNodeAffinity(&corev1.Pod{Spec: pod}).Match(n)
	if err != nil {
		t.Fatal(err)
	}
	for _, taint := range n.Spec.Taints {
		if taint.Effect == corev1.TaintEffectPreferNoSchedule {
			continue
		}
		fits = fits && slices.ContainsFunc(pod.Tolerations, func(tol corev1.Toleration) bool {
			return pool.Toleration{
				Key:      tol.Key,
				Operator: string(tol.Operator),
				Value:    tol.Value,
				Effect:   pool.Effect(tol.Effect),
			}.
				Tolerates(pool.Taint{Key: taint.Key, Value: taint.Value, Effect: pool.Effect(taint.Effect)})
		})
	}
	return fits
}

// Field fault BR-72, and no node with two owners of its GPUs.
func TestAgentsLandOnTheirPoolsAndNowhereElse(t *testing.T) {
	plugin, dra := agent(t, plugin(t), pluginSet), agent(t, dra(t), draSet)
	for _, p := range pools {
		n := node(p.Name, p.Taints)
		own := p.Scaler != pool.AutoMode
		if got, want := lands(t, plugin.Spec.Template.Spec, n), own && p.DeviceMode == pool.Plugin; got != want {
			t.Errorf("the device plugin lands on pool %s: %v, want %v", p.Name, got, want)
		}
		if got, want := lands(t, dra.Spec.Template.Spec, n), own && p.DeviceMode == pool.DRA; got != want {
			t.Errorf("the DRA driver lands on pool %s: %v, want %v", p.Name, got, want)
		}
	}
	for name, set := range map[string]appsv1.DaemonSet{"device plugin": plugin, "DRA driver": dra} {
		if lands(t, set.Spec.Template.Spec, node("system", nil)) {
			t.Errorf("the %s lands on the system pool", name)
		}
	}
}

// A taint that no pool has keeps the agents off: they tolerate what is named, not everything.
func TestUnknownTaintKeepsAgentsOff(t *testing.T) {
	set := agent(t, plugin(t), pluginSet)
	if lands(t, set.Spec.Template.Spec, node("l4", []pool.Taint{{Key: "broken", Effect: pool.NoSchedule}})) {
		t.Error("the device plugin tolerates a taint that no pool has")
	}
}

// The chart also makes the MPS daemon, which waits for a label that nodes do not have.
func TestDevicePluginBringsNothingThatRuns(t *testing.T) {
	made := plugin(t)
	got := names(made)
	slices.Sort(got)
	if want := []string{"DaemonSet " + pluginSet, "DaemonSet " + mpsSet}; !slices.Equal(got, want) {
		t.Fatalf("the chart makes %v, want %v", got, want)
	}
	mps := agent(t, made, mpsSet)
	for _, p := range pools {
		if lands(t, mps.Spec.Template.Spec, node(p.Name, p.Taints)) {
			t.Errorf("the MPS daemon lands on pool %s", p.Name)
		}
	}
}

func TestDRADriverHasNoControllerAndNoComputeDomains(t *testing.T) {
	made := dra(t)
	for _, name := range names(made) {
		if strings.HasPrefix(name, "Deployment ") || strings.Contains(name, "DeviceClass compute-domain") {
			t.Errorf("the chart makes %s", name)
		}
	}
	set := agent(t, made, draSet)
	for _, c := range set.Spec.Template.Spec.Containers {
		if c.Name != "gpus" {
			t.Errorf("container %s", c.Name)
		}
	}
}

func TestAgentsRunAsNodeAgents(t *testing.T) {
	for name, made := range map[string][]map[string]any{pluginSet: plugin(t), draSet: dra(t)} {
		set := agent(t, made, name)
		if set.Namespace != gpu.Namespace || set.Spec.Template.Spec.PriorityClassName != "system-node-critical" {
			t.Errorf("%s: namespace %s, priority %s", name, set.Namespace, set.Spec.Template.Spec.PriorityClassName)
		}
	}
}

// The component takes this field away, because the chart has no value for it. When the chart stops setting it, that
// code can go.
func TestChartStillOffersAnExtendedResource(t *testing.T) {
	var class resourcev1.DeviceClass
	decode(t, dra(t), "DeviceClass", "gpu.nvidia.com", &class)
	if class.APIVersion != "resource.k8s.io/v1" {
		t.Errorf("version %s", class.APIVersion)
	}
	if class.Spec.ExtendedResourceName == nil || *class.Spec.ExtendedResourceName != pool.GPUResource {
		t.Errorf("extended resource %v: components/gpu need not remove it any more", class.Spec.ExtendedResourceName)
	}
}
