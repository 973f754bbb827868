package karpenter

import (
	"slices"

	"github.com/headroom-eks/headroom/components/irsa"
	"github.com/headroom-eks/headroom/pool"
)

// The names that the chart's objects, the trust policy and the documentation share. The role trusts exactly this
// service account, so it may not follow the name of a release (field fault BR-54).
const (
	Namespace      = "kube-system" // its API priority is the highest
	ServiceAccount = "karpenter"

	crdChart, mainChart = "karpenter-crd", "karpenter"

	// DefaultRepository of both charts.
	DefaultRepository = "oci://public.ecr.aws/karpenter"
)

// CRDs of the pinned chart karpenter-crd, for the migration note in docs/karpenter.md.
var CRDs = []string{
	"capacitybuffers.autoscaling.x-k8s.io", "ec2nodeclasses.karpenter.k8s.aws",
	"nodeclaims.karpenter.sh", "nodeoverlays.karpenter.sh", "nodepools.karpenter.sh",
}

// Settings of the controller that are known when the program runs.
type Settings struct {
	// SystemPool is the pool that carries the controller; the controller never runs on nodes of its own.
	SystemPool string
	// SystemNodes is the least number of nodes of that pool. With one there is one replica: two refuse to share a node
	// (field fault BR-56).
	SystemNodes int
	// SystemTaints of that pool.
	SystemTaints []pool.Taint
	// StaticCapacity switches on the alpha gate that static pools need.
	StaticCapacity bool
	// EnableDRA switches on the alpha support for pods that claim GPUs.
	EnableDRA bool
	// IsolatedVpc says that the network has no path to AWS services without an endpoint of their own (IAM, pricing).
	IsolatedVpc bool
	// ImageRepository replaces public.ecr.aws/karpenter/controller, for clusters that reach only a mirror.
	ImageRepository string
}

// Wiring of the controller: what it takes from other resources.
type Wiring struct {
	ClusterName, ClusterEndpoint string
	// Region is told to the controller: the hop limit hides instance metadata from pods.
	Region string
	// QueueName of the interruption queue, never its ARN; empty when interruption handling is off.
	QueueName string
	// RoleArn of the controller.
	RoleArn string
}

// Values of the main chart. https://github.com/aws/karpenter-provider-aws/blob/v1.15.0/charts/karpenter/values.yaml
func Values(s Settings, w Wiring) map[string]any {
	settings := map[string]any{"clusterName": w.ClusterName, "clusterEndpoint": w.ClusterEndpoint}
	if w.QueueName != "" {
		settings["interruptionQueue"] = w.QueueName
	}
	if s.StaticCapacity {
		settings["featureGates"] = map[string]any{"staticCapacity": true}
	}
	if s.EnableDRA {
		settings["enableDRA"] = true // the chart refuses ignoreDRARequests or single drivers beside it
	}
	if s.IsolatedVpc {
		settings["isolatedVPC"] = true
	}
	controller := map[string]any{
		"env": []any{map[string]any{"name": "AWS_REGION", "value": w.Region}},
		"resources": map[string]any{
			"requests": map[string]any{"cpu": "500m", "memory": "1Gi"},
			"limits":   map[string]any{"memory": "1Gi"},
		},
	}
	if s.ImageRepository != "" {
		controller["image"] = map[string]any{"repository": s.ImageRepository}
	}
	return map[string]any{
		"settings":   settings,
		"controller": controller,
		"serviceAccount": map[string]any{
			"create": true, "name": ServiceAccount, "annotations": map[string]any{irsa.RoleAnnotation: w.RoleArn},
		},
		"replicas":          Replicas(s.SystemNodes),
		"priorityClassName": "system-cluster-critical",
		// The node's own resolver: cluster DNS may need nodes that only this controller makes (field fault BR-57).
		"dnsPolicy":    "Default",
		"nodeSelector": map[string]any{"kubernetes.io/os": "linux", pool.PoolLabel: s.SystemPool},
		"tolerations":  tolerations(s.SystemTaints),
	}
}

// Replicas of the controller on a system pool of at least so many nodes.
func Replicas(systemNodes int) int {
	if systemNodes >= 2 {
		return 2
	}
	return 1
}

// tolerations that fit the system pool, beside the chart's own default, which the list replaces.
func tolerations(taints []pool.Taint) (out []any) {
	list := []pool.Toleration{{Key: "CriticalAddonsOnly", Operator: "Exists"}}
	for _, t := range pool.Tolerations(taints) {
		if !slices.Contains(list, t) {
			list = append(list, t)
		}
	}
	for _, t := range list {
		entry := map[string]any{"key": t.Key, "operator": t.Operator}
		if t.Value != "" {
			entry["value"] = t.Value
		}
		if t.Effect != "" {
			entry["effect"] = string(t.Effect)
		}
		out = append(out, entry)
	}
	return out
}
