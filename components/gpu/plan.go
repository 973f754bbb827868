package gpu

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/headroom-eks/headroom/components/chart"
	"github.com/headroom-eks/headroom/pool"
	"github.com/headroom-eks/headroom/pool/label"
	"github.com/headroom-eks/headroom/problem"
)

// Namespace of both charts: one that exists, and that may use the priority of node agents.
const Namespace = "kube-system"

// Pinned versions that the values below were rendered with (tests/gpu).
const (
	DefaultDevicePluginVersion = "0.17.4"
	DefaultDRADriverVersion    = "0.4.1"
)

// source of a chart.
type source struct{ chart, repository string }

// Charts by their projects. https://github.com/NVIDIA/k8s-device-plugin#deployment-via-helm and
// https://github.com/kubernetes-sigs/dra-driver-nvidia-gpu
var (
	devicePlugin = source{"nvidia-device-plugin", "https://nvidia.github.io/k8s-device-plugin"}
	draDriver    = source{"dra-driver-nvidia-gpu", "oci://registry.k8s.io/dra-driver-nvidia/charts"}
)

// Target is a pool of GPU nodes that agents run on.
type Target struct {
	Name       string
	Scaler     pool.Scaler
	DeviceMode pool.DeviceMode
	// Taints of its nodes, startup taints included when the agents shall not wait for those.
	Taints []pool.Taint
}

// With returns the targets that need us for a device mode, by name. Auto Mode's nodes bring plugin and driver
// themselves.
// https://docs.aws.amazon.com/eks/latest/userguide/auto-accelerated.html
func With(mode pool.DeviceMode, all []Target) (found []Target) {
	for _, one := range all {
		if one.DeviceMode == mode && one.Scaler != pool.AutoMode {
			found = append(found, one)
		}
	}
	slices.SortFunc(found, func(a, b Target) int { return cmp.Compare(a.Name, b.Name) })
	return found
}

// DevicePluginValues put the device plugin on every node of the given pools and on no other: two owners of one GPU
// would hand it out twice. Nothing needs node-feature-discovery: the pool's label says what it would find out.
func DevicePluginValues(targets []Target) map[string]any {
	return map[string]any{
		"gfd": map[string]any{"enabled": false}, "nfd": map[string]any{"enabled": false},
		"affinity": affinity(targets), "tolerations": tolerations(targets),
	}
}

// DRADriverValues put the DRA driver on every node of the given pools and on no other. The chart wants its override
// where no device plugin shares the node, which the affinity sees to. Compute domains are for nodes joined by NVLink.
func DRADriverValues(targets []Target) map[string]any {
	return map[string]any{
		"gpuResourcesEnabledOverride": true,
		// Said, since a render without the cluster cannot find out; Kubernetes has it from 1.34 on.
		"resourceApiVersion": "resource.k8s.io/v1",
		"resources": map[string]any{
			"gpus":           map[string]any{"enabled": true},
			"computeDomains": map[string]any{"enabled": false},
		},
		"kubeletPlugin": map[string]any{"affinity": affinity(targets), "tolerations": tolerations(targets)},
	}
}

// affinity replaces the charts' own, which looks for labels of node-feature-discovery.
func affinity(targets []Target) map[string]any {
	names := make([]any, len(targets))
	for i, one := range targets {
		names[i] = one.Name
	}
	expression := map[string]any{"key": pool.PoolLabel, "operator": "In", "values": names}
	terms := []any{map[string]any{"matchExpressions": []any{expression}}}
	return map[string]any{"nodeAffinity": map[string]any{
		"requiredDuringSchedulingIgnoredDuringExecution": map[string]any{"nodeSelectorTerms": terms},
	}}
}

// tolerations for every taint of every pool (field fault BR-72).
func tolerations(targets []Target) []any {
	var taints []pool.Taint
	for _, one := range targets {
		taints = append(taints, one.Taints...)
	}
	out := []any{}
	for _, t := range pool.Tolerations(taints) {
		toleration := map[string]any{"key": t.Key, "operator": t.Operator, "effect": string(t.Effect)}
		if t.Value != "" {
			toleration["value"] = t.Value
		}
		out = append(out, toleration)
	}
	return out
}

func (a Args) withDefaults() Args {
	a.DevicePluginVersion = cmp.Or(a.DevicePluginVersion, DefaultDevicePluginVersion)
	a.DRADriverVersion = cmp.Or(a.DRADriverVersion, DefaultDRADriverVersion)
	return a
}

func (a Args) validate(path string) (problems problem.List) {
	problems.Join(chart.ValidateVersion(path+".devicePluginVersion", a.DevicePluginVersion, DefaultDevicePluginVersion))
	problems.Join(chart.ValidateVersion(path+".draDriverVersion", a.DRADriverVersion, DefaultDRADriverVersion))
	problems.Join(chart.ValidateRepository(path+".repository", a.Repository))
	seen := map[string]bool{}
	for i, target := range a.Targets {
		at := fmt.Sprintf("%s.targets[%d] %q", path, i, target.Name)
		if target.Name == "" || seen[target.Name] {
			problems.Add(at, "has no name of its own", nil, "give each pool one")
		}
		seen[target.Name] = true
		problem.OneOf(&problems, at+".deviceMode", target.DeviceMode, pool.DeviceModes)
		problems.Join(label.ValidateTaints(at+".taints", target.Taints))
	}
	return problems
}
