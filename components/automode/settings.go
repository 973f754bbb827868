// Package automode lets EKS itself scale pools: the cluster settings of EKS Auto Mode, the role of its nodes, the permission it needs for
// our tags, and one NodeClass and NodePool for each pool.
//
// It owns what differs from Karpenter run by us: which settings move together, when EKS makes the nodes' access entry and when it must
// be ours, the fields of an eks.amazonaws.com NodeClass, and which settings cannot be had. It does not own the cluster (package cluster
// carries the settings), the plan of a NodePool (package nodepool), nor what Auto Mode brings itself: scaler, network plugin, CoreDNS,
// volume driver, load balancer controller, device plugin and DRA driver.
package automode

import (
	"fmt"
	"slices"

	"github.com/headroom-eks/headroom/problem"
)

// BuiltInPools are the node pools that EKS keeps itself. It knows no others.
// https://docs.aws.amazon.com/eks/latest/userguide/set-builtin-node-pools.html
var BuiltInPools = []string{"general-purpose", "system"}

// BringsAddons are the EKS add-ons that an Auto Mode cluster must not be given, because its nodes carry them.
// https://docs.aws.amazon.com/eks/latest/userguide/eks-add-ons.html
var BringsAddons = []string{"aws-ebs-csi-driver", "coredns", "eks-pod-identity-agent", "kube-proxy", "vpc-cni"}

// Settings of a cluster that belong to Auto Mode. The zero value is Auto Mode off, which is sent as such: what is left out keeps the value
// that AWS has, so leaving it out never opts out (https://github.com/hashicorp/terraform-provider-aws/issues/40582).
type Settings struct {
	// Enabled turns compute, block storage and load balancing on together; EKS refuses any mixture (field fault BR-82).
	Enabled bool
	// BuiltInPools to keep, of the two that EKS knows. None is safest: with one the node role stands in the cluster's settings, and
	// taking it out of them later, or changing it, replaces the cluster. See docs/auto-mode.md.
	BuiltInPools []string
}

// Validate reports built-in pools that EKS does not know, repeats, and pools without Auto Mode. Path names the settings.
func (s Settings) Validate(path string) (problems problem.List) {
	for i, name := range s.BuiltInPools {
		at := fmt.Sprintf("%s.builtInPools[%d]", path, i)
		if !slices.Contains(BuiltInPools, name) {
			problems.Add(at, "%q is not a built-in pool (field fault BR-84); use %s or %s", name, BuiltInPools[0], BuiltInPools[1])
		} else if slices.Contains(s.BuiltInPools[:i], name) {
			problems.Add(at, "%q is given twice; keep one", name)
		}
	}
	if !s.Enabled && len(s.BuiltInPools) > 0 {
		problems.Add(path+".builtInPools", "%v need Auto Mode, which is off; turn it on or remove them", s.BuiltInPools)
	}
	return problems
}

// ClusterCarriesNodeRole tells whether the cluster's computeConfig names the node role. EKS wants it with a built-in pool and refuses it
// with none (https://github.com/terraform-aws-modules/terraform-aws-eks/issues/3483).
func (s Settings) ClusterCarriesNodeRole() bool { return s.Enabled && len(s.BuiltInPools) > 0 }

// NeedsAccessEntry tells whether the access entry of the node role must be ours. EKS makes it for the role that the cluster carries, and
// then refuses a second one (https://github.com/terraform-aws-modules/terraform-aws-eks/issues/3241).
func (s Settings) NeedsAccessEntry() bool { return s.Enabled && !s.ClusterCarriesNodeRole() }

// ClusterInputs are the inputs of the inner aws:eks/cluster:Cluster, without the node role, which is an output. Each key replaces what
// the component sends, except kubernetesNetworkConfig, whose other fields (ipFamily, serviceIpv4Cidr) must be kept: they cannot change
// on a live cluster.
func (s Settings) ClusterInputs() map[string]any {
	compute := map[string]any{"enabled": s.Enabled}
	if s.Enabled {
		// An empty list is sent too: it says that no built-in pool is wanted.
		compute["nodePools"] = slices.Sorted(slices.Values(s.BuiltInPools))
	}
	return map[string]any{
		"computeConfig":           compute,
		"storageConfig":           map[string]any{"blockStorage": map[string]any{"enabled": s.Enabled}},
		"kubernetesNetworkConfig": map[string]any{"elasticLoadBalancing": map[string]any{"enabled": s.Enabled}},
	}
}

// IgnoreChanges are the paths of the inner cluster to which changes are ignored, so that no switch replaces it (field fault BR-83).
func (s Settings) IgnoreChanges() []string {
	// Fixed when the cluster is created, and only then of effect. Without it an opt-in would plan true -> false and a new cluster.
	// accessConfig... is what the eks component ignores already; a transform that sets the list must repeat it.
	paths := []string{"bootstrapSelfManagedAddons", "accessConfig.bootstrapClusterCreatorAdminPermissions"}
	if !s.Enabled {
		// The provider takes a node role that goes away for a change of the role, and replaces the cluster; EKS itself lets it stay
		// while Auto Mode is off. https://github.com/hashicorp/terraform-provider-aws/issues/40411
		paths = append(paths, "computeConfig.nodeRoleArn")
	}
	return paths
}

// BootstrapSelfManagedAddons is the value at the cluster's creation. EKS refuses true together with Auto Mode (field fault BR-82); for
// other clusters it is the caller's own choice, since the value never changes afterwards.
func (s Settings) BootstrapSelfManagedAddons(otherwise bool) bool { return otherwise && !s.Enabled }
