// Package label holds the rules about labels and taints of nodes: what Kubernetes, EKS and Karpenter accept.
//
// It owns the rules and no value: which labels and taints a pool has is decided where the pool is. It imports no Pulumi.
package label

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/headroom-eks/headroom/pool"
	"github.com/headroom-eks/headroom/problem"
	"k8s.io/apimachinery/pkg/util/validation"
)

// kubeletLabels are the labels under reserved domains that a kubelet may set on its own node.
// https://kubernetes.io/docs/reference/access-authn-authz/admission-controllers/#noderestriction
var kubeletLabels = []string{
	"topology.kubernetes.io/region", "topology.kubernetes.io/zone", "node.kubernetes.io/instance-type",
	"kubernetes.io/hostname", "kubernetes.io/arch", "kubernetes.io/os",
}

// kubeletDomains are the reserved domains in which a kubelet may set any label.
var kubeletDomains = []string{"kubelet.kubernetes.io", "node.kubernetes.io"}

// karpenterDomains are refused by Karpenter in a NodePool's template, on top of the Kubernetes ones.
// https://karpenter.sh/docs/concepts/scheduling/#user-defined-labels-annotations
var karpenterDomains = []string{"karpenter.sh", "karpenter.k8s.aws"}

// Validate reports every node label that the scaler's nodes could not carry. Path names the map.
//
// With a managed group a label of a reserved domain is accepted by some APIs and then stops the kubelet, so that nodes
// never join (field fault BR-64); Karpenter refuses its own domains too (field fault BR-65).
func Validate(path string, scaler pool.Scaler, labels map[string]string) (problems problem.List) {
	for _, key := range slices.Sorted(maps.Keys(labels)) {
		at := fmt.Sprintf("%s[%q]", path, key)
		for _, msg := range validation.IsQualifiedName(key) {
			problems.Addf(at, "the key is not a qualified name: %s", msg)
		}
		for _, msg := range validation.IsValidLabelValue(labels[key]) {
			problems.Addf(at, "value %q is not allowed: %s", labels[key], msg)
		}
		if key == pool.PoolLabel || key == pool.ClusterTag {
			problems.Addf(at, "the label is set by the program itself; remove it")
			continue
		}
		if domain, reserved := reservedDomain(scaler, key); reserved {
			problems.Addf(at, "domain %q is reserved, nodes would not join with it; use a domain of your own", domain)
		}
	}
	return problems
}

func reservedDomain(scaler pool.Scaler, key string) (string, bool) {
	if scaler.Dynamic() {
		if domain, found := inDomain(key, karpenterDomains...); found {
			return domain, true
		}
	}
	if domain, found := inDomain(key, "eks.amazonaws.com"); found {
		return domain, true
	}
	domain, found := inDomain(key, "kubernetes.io", "k8s.io")
	if !found || slices.Contains(kubeletLabels, key) && scaler.ManagedGroup() {
		return "", false
	}
	prefix, _, _ := strings.Cut(key, "/")
	if slices.Contains(kubeletDomains, prefix) && scaler.ManagedGroup() {
		return "", false
	}
	return domain, true
}
