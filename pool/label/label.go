// Package label holds the rules about labels and taints of nodes: what Kubernetes, EKS and Karpenter accept.
//
// It owns the rules and no value: which labels and taints a pool has is decided where the pool is. It imports no
// Pulumi.
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

// reservedDomains belong to Kubernetes and EKS.
var reservedDomains = []string{"eks.amazonaws.com", "kubernetes.io", "k8s.io"}

// karpenterDomains are refused by Karpenter in a NodePool's template, on top of the Kubernetes ones.
// https://karpenter.sh/docs/concepts/scheduling/#user-defined-labels-annotations
var karpenterDomains = []string{"karpenter.sh", "karpenter.k8s.aws"}

// ValidateGroup reports every label that nodes of a managed group could not carry. Path names the map. A label of a
// reserved domain is accepted by some APIs and then stops the kubelet, so that nodes never join (field fault BR-64).
func ValidateGroup(path string, labels map[string]string) problem.List {
	problems := validate(path, labels, func(key string) (string, bool) {
		prefix, _, _ := strings.Cut(key, "/")
		if slices.Contains(kubeletLabels, key) || slices.Contains(kubeletDomains, prefix) {
			return "", false
		}
		return inDomain(key, reservedDomains...)
	})
	for _, key := range slices.Sorted(maps.Keys(labels)) {
		at := fmt.Sprintf("%s[%q]", path, key)
		problems.Join(groupKey(at, key))
		if labels[key] == "" {
			problems.Add(at, "is empty, and EKS takes no empty value for nodes of a managed group", nil,
				`give a value such as "true"`)
		}
	}
	return problems
}

// maxGroupKey is EKS's limit of the key of a label or taint of a managed group, domain included.
// https://docs.aws.amazon.com/eks/latest/APIReference/API_CreateNodegroup.html
const maxGroupKey = 63

func groupKey(at, key string) (problems problem.List) {
	if n := len(key); n > maxGroupKey {
		problems.Add(at, fmt.Sprintf("the key has more than the %d characters that EKS takes for a managed group, "+
			"domain included", maxGroupKey), n, "shorten it, or use scaler karpenter")
	}
	return problems
}

// ValidateNodePool reports every label that nodes of a NodePool could not carry. Karpenter refuses its own domains, and
// those that a kubelet may set itself (field fault BR-65).
func ValidateNodePool(path string, labels map[string]string) problem.List {
	return validate(path, labels, func(key string) (string, bool) {
		return inDomain(key, slices.Concat(karpenterDomains, reservedDomains)...)
	})
}

func validate(path string, labels map[string]string, reserved func(key string) (string, bool)) (problems problem.List) {
	for _, key := range slices.Sorted(maps.Keys(labels)) {
		at := fmt.Sprintf("%s[%q]", path, key)
		for _, msg := range validation.IsQualifiedName(key) {
			problems.Add(at, "the key is refused by Kubernetes: "+msg, nil, "")
		}
		for _, msg := range validation.IsValidLabelValue(labels[key]) {
			problems.Add(at, "the value is refused by Kubernetes: "+msg, labels[key], "")
		}
		if key == pool.PoolLabel || key == pool.ClusterTag {
			problems.Add(at, "the label is set by the program itself", nil, "remove it")
			continue
		}
		if domain, found := reserved(key); found {
			problems.Add(at, fmt.Sprintf("domain %q is reserved, nodes would not join with it", domain), nil,
				"use a domain of your own")
		}
	}
	return problems
}
