package clusterautoscaler

import (
	"github.com/headroom-eks/headroom/components/irsa"
	"github.com/headroom-eks/headroom/pool"
)

// Names in the cluster, and where the chart comes from when no mirror is named.
const (
	Namespace         = "kube-system"
	ServiceAccount    = "cluster-autoscaler"
	chartName         = "cluster-autoscaler"
	defaultRepository = "https://kubernetes.github.io/autoscaler"
	DefaultExpander   = "least-waste"
	defaultSystemPool = "system"
)

// expanders that need nothing but their name.
// https://github.com/kubernetes/autoscaler/blob/master/cluster-autoscaler/FAQ.md
var expanders = []string{"least-nodes", "least-waste", "most-pods", "random"}

// maxReplicas: one works, one waits for the lease.
const maxReplicas = 2

// settings are what the chart's values are made of.
type settings struct {
	Kubernetes, Region string
	Cluster, RoleArn   string
	Release            Release
	ImageRepository    string // empty: the chart's own
	Expander           string
	StartupTaints      []string // keys
	DRA                bool     // some pool of this scaler uses DRA
	SystemPool         string
	SystemTaints       []pool.Taint
	SystemNodes        int
}

// chartValues of a release. Keys and types are held against testdata/values.schema.json, since the chart cannot be
// rendered offline.
func chartValues(s settings) map[string]any {
	image := map[string]any{"tag": s.Release.Image}
	if s.ImageRepository != "" {
		image["repository"] = s.ImageRepository
	}
	return map[string]any{
		"fullnameOverride": ServiceAccount,
		"cloudProvider":    "aws",
		// Not left to the instance's metadata, which pods behind a hop limit of 1 cannot reach.
		"awsRegion":         s.Region,
		"autoDiscovery":     map[string]any{"clusterName": s.Cluster},
		"image":             image,
		"replicaCount":      max(1, min(maxReplicas, s.SystemNodes)),
		"priorityClassName": "system-cluster-critical",
		"nodeSelector":      map[string]any{pool.PoolLabel: s.SystemPool},
		"tolerations":       tolerations(s.SystemTaints),
		"resources": map[string]any{
			"requests": map[string]any{"cpu": "100m", "memory": "600Mi"},
			"limits":   map[string]any{"memory": "600Mi"},
		},
		"securityContext": map[string]any{
			"runAsNonRoot": true, "runAsUser": 65534, "runAsGroup": 65534, "fsGroup": 65534,
			"seccompProfile": map[string]any{"type": "RuntimeDefault"},
		},
		"containerSecurityContext": map[string]any{
			"allowPrivilegeEscalation": false, "readOnlyRootFilesystem": true,
			"capabilities": map[string]any{"drop": []any{"ALL"}},
		},
		"rbac": map[string]any{
			"create": true,
			"serviceAccount": map[string]any{
				"create": true, "name": ServiceAccount,
				"annotations": map[string]any{irsa.RoleAnnotation: s.RoleArn},
			},
			"additionalRules": additionalRules(s),
		},
		"extraArgs": extraArgs(s),
	}
}

// readsDRA reports whether the release lists and watches resource.k8s.io.
func (s settings) readsDRA() bool { return s.DRA || !older(minor(s.Kubernetes), draLockedOn) }

// additionalRules of the ClusterRole. The chart of the table has this rule already; granted twice it does no harm, and
// a missing one stops the autoscaler behind a healthy pod (field fault BR-08).
func additionalRules(s settings) []any {
	if !s.readsDRA() {
		return []any{}
	}
	return []any{map[string]any{
		"apiGroups": []any{"resource.k8s.io"},
		"resources": []any{"deviceclasses", "resourceclaims", "resourceslices"},
		"verbs":     []any{"get", "list", "watch"},
	}}
}

// extraArgs are the flags. The chart drops what follows the first "_" of a key, which lets a flag be given more than
// once.
// https://github.com/kubernetes/autoscaler/blob/master/cluster-autoscaler/FAQ.md#what-are-the-parameters-to-ca
func extraArgs(s settings) map[string]any {
	args := map[string]any{
		"expander": s.Expander,
		// The groups of one pool, one for each zone, are grown evenly. They are told by the pool's label alone: the
		// built-in comparison holds a group at zero and a group with nodes for different, and every launch template
		// too. https://github.com/kubernetes/autoscaler/issues/7513,
		// https://github.com/awsdocs/amazon-eks-user-guide/issues/411
		"balance-similar-node-groups": true,
		"balancing-label":             pool.PoolLabel,
		// A stray kube-system pod does not keep a GPU node; the system group is not this scaler's to shrink.
		"skip-nodes-with-system-pods": false,
		// A pod with scratch space, as every inference server has, is not moved to save a node; an empty node goes.
		"skip-nodes-with-local-storage": true,
	}
	if s.DRA && older(minor(s.Kubernetes), draLockedOn) {
		args["enable-dynamic-resource-allocation"] = true
	}
	for _, key := range s.StartupTaints {
		args["startup-taint_"+key] = key
	}
	return args
}

func tolerations(taints []pool.Taint) []any {
	out := []any{}
	for _, t := range pool.Tolerations(taints) {
		one := map[string]any{"key": t.Key, "operator": t.Operator, "effect": string(t.Effect)}
		if t.Value != "" {
			one["value"] = t.Value
		}
		out = append(out, one)
	}
	return out
}
