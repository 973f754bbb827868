// Package automode lets EKS itself scale pools: the role of Auto Mode's nodes, the permission it needs for our tags,
// and the plan of its node class.
//
// It owns what differs from Karpenter run by us: when EKS makes the nodes' access entry and when it must be ours, the
// fields of an eks.amazonaws.com NodeClass, how long a node may live, and which settings cannot be had. It does not own
// the cluster (package cluster, which takes the settings from here), the NodePools (package nodepool), nor what Auto
// Mode brings itself: scaler, network plugin, CoreDNS, volume driver, load balancer controller, device plugin and DRA
// driver.
package automode

import (
	"fmt"

	"github.com/headroom-eks/headroom/problem"
)

// BuiltInPools are the node pools that EKS keeps itself. It knows no others.
// https://docs.aws.amazon.com/eks/latest/userguide/set-builtin-node-pools.html
var BuiltInPools = []string{"general-purpose", "system"}

// Settings of a cluster that belong to Auto Mode.
type Settings struct {
	// Enabled turns compute, block storage and load balancing on together; EKS refuses any mixture (field fault BR-82).
	Enabled bool
	// BuiltInPools to keep, of the two that EKS knows. None is safest: with one the node role stands in the cluster's
	// settings, and taking it out of them later, or changing it, replaces the cluster. See docs/auto-mode.md.
	BuiltInPools []string
}

// Validate reports built-in pools that EKS does not know, repeats, and pools without Auto Mode. Path names the
// settings.
func (s Settings) Validate(path string) (problems problem.List) {
	for i, name := range s.BuiltInPools {
		problem.OneOf(&problems, fmt.Sprintf("%s.builtInPools[%d]", path, i), name, BuiltInPools) // field fault BR-84
	}
	problem.Unique(&problems, path+".builtInPools", s.BuiltInPools)
	if !s.Enabled && len(s.BuiltInPools) > 0 {
		problems.Add(path+".builtInPools", "need Auto Mode, which is off", s.BuiltInPools, "turn it on or remove them")
	}
	return problems
}

// ClusterCarriesNodeRole reports whether the cluster's computeConfig names the node role. EKS wants it with a built-in
// pool and refuses it with none (https://github.com/terraform-aws-modules/terraform-aws-eks/issues/3483).
func (s Settings) ClusterCarriesNodeRole() bool { return s.Enabled && len(s.BuiltInPools) > 0 }

// NeedsAccessEntry reports whether the access entry of the node role must be ours. EKS makes it for the role that the
// cluster carries, and then refuses a second one
// (https://github.com/terraform-aws-modules/terraform-aws-eks/issues/3241).
func (s Settings) NeedsAccessEntry() bool { return s.Enabled && !s.ClusterCarriesNodeRole() }
