package gpu

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

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

// from gives the chart and repository as Helm wants them: in an OCI registry the whole address is the chart's name.
func (s source) from(mirror string) (chart, repository string) {
	repository = cmp.Or(mirror, s.repository)
	if strings.HasPrefix(repository, "oci://") {
		return strings.TrimSuffix(repository, "/") + "/" + s.chart, ""
	}
	return s.chart, repository
}

// Pool of GPU nodes.
type Pool struct {
	Name       string
	Scaler     pool.Scaler
	DeviceMode pool.DeviceMode
	// Taints of its nodes, startup taints included when the agents shall not wait for those.
	Taints []pool.Taint
}

// Pools of a cluster.
type Pools []Pool

// With returns the pools that need us for a device mode, by name. Auto Mode's nodes bring plugin and driver themselves.
// https://docs.aws.amazon.com/eks/latest/userguide/auto-accelerated.html
func (p Pools) With(mode pool.DeviceMode) Pools {
	var found Pools
	for _, one := range p {
		if one.DeviceMode == mode && one.Scaler != pool.AutoMode {
			found = append(found, one)
		}
	}
	slices.SortFunc(found, func(a, b Pool) int { return cmp.Compare(a.Name, b.Name) })
	return found
}

// DevicePluginValues put the device plugin on every node of the given pools and on no other: two owners of one GPU
// would hand it out twice. Nothing needs node-feature-discovery: the pool's label says what it would find out.
func DevicePluginValues(pools Pools) map[string]any {
	return map[string]any{
		"gfd": map[string]any{"enabled": false}, "nfd": map[string]any{"enabled": false},
		"affinity": pools.affinity(), "tolerations": pools.tolerations(),
	}
}

// DRADriverValues put the DRA driver on every node of the given pools and on no other. The chart wants its override
// where no device plugin shares the node, which the affinity sees to. Compute domains are for nodes joined by NVLink.
func DRADriverValues(pools Pools) map[string]any {
	return map[string]any{
		"gpuResourcesEnabledOverride": true,
		// Said, since a render without the cluster cannot find out; Kubernetes has it from 1.34 on.
		"resourceApiVersion": "resource.k8s.io/v1",
		"resources": map[string]any{
			"gpus":           map[string]any{"enabled": true},
			"computeDomains": map[string]any{"enabled": false},
		},
		"kubeletPlugin": map[string]any{"affinity": pools.affinity(), "tolerations": pools.tolerations()},
	}
}

// affinity replaces the charts' own, which looks for labels of node-feature-discovery.
func (p Pools) affinity() map[string]any {
	names := make([]any, len(p))
	for i, one := range p {
		names[i] = one.Name
	}
	expression := map[string]any{"key": pool.PoolLabel, "operator": "In", "values": names}
	return map[string]any{"nodeAffinity": map[string]any{"requiredDuringSchedulingIgnoredDuringExecution": map[string]any{
		"nodeSelectorTerms": []any{map[string]any{"matchExpressions": []any{expression}}},
	}}}
}

// tolerations for every taint of every pool (field fault BR-72).
func (p Pools) tolerations() []any {
	var taints []pool.Taint
	for _, one := range p {
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

var chartVersion = regexp.MustCompile(`^\d+\.\d+\.\d+$`)

func (a Args) withDefaults() Args {
	a.DevicePluginVersion = cmp.Or(a.DevicePluginVersion, DefaultDevicePluginVersion)
	a.DRADriverVersion = cmp.Or(a.DRADriverVersion, DefaultDRADriverVersion)
	return a
}

func (a Args) validate() (problems problem.List) {
	for what, version := range map[string]string{
		"devicePluginVersion": a.DevicePluginVersion,
		"draDriverVersion":    a.DRADriverVersion,
	} {
		if !chartVersion.MatchString(version) {
			problems.Addf(what, "%q is not a chart version; pin one like %s", version, DefaultDevicePluginVersion)
		}
	}
	if a.Repository != "" && !strings.HasPrefix(a.Repository, "https://") &&
		!strings.HasPrefix(a.Repository, "oci://") {
		problems.Addf("repository", "%q is not a chart repository; write an https:// or oci:// address", a.Repository)
	}
	seen := map[string]bool{}
	for i, p := range a.Pools {
		at := fmt.Sprintf("pools[%d] %q", i, p.Name)
		if p.Name == "" || seen[p.Name] {
			problems.Addf(at, "each pool needs a name of its own")
		}
		seen[p.Name] = true
		if !slices.Contains(pool.DeviceModes, p.DeviceMode) {
			problems.Addf(at, "device mode %q is unknown; use %s or %s", p.DeviceMode, pool.Plugin, pool.DRA)
		}
		problems.Join(label.ValidateTaints(at+".taints", p.Taints))
	}
	return problems
}
