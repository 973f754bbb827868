package config

import (
	"slices"

	"github.com/headroom-eks/headroom/components/cluster"
	"github.com/headroom-eks/headroom/components/clusterautoscaler"
	"github.com/headroom-eks/headroom/components/gpu"
	"github.com/headroom-eks/headroom/components/karpenter"
	"github.com/headroom-eks/headroom/components/network"
	"github.com/headroom-eks/headroom/components/nodegroup"
	"github.com/headroom-eks/headroom/components/nodepool"
	"github.com/headroom-eks/headroom/pool"
)

// DefaultKubernetesVersion is the one for which the default pins are known good together. Defaults of one component's
// values are that component's; a test keeps all equal to those that the schema documents.
const DefaultKubernetesVersion = cluster.DefaultKubernetesVersion

// WithDefaults returns a copy in which every key that was left out has its value. Stack is the name of the Pulumi
// stack.
func (e Environment) WithDefaults(stack string) Environment {
	n := &e.Network
	if n.Existing == nil {
		def(&n.CIDR, network.DefaultCIDR)
		def(&n.NATGateways, string(network.DefaultNAT))
	}

	c := &e.Cluster
	if c.Name == "" {
		c.Name, c.Stack = "headroom-"+stack, stack
	}
	def(&c.KubernetesVersion, DefaultKubernetesVersion)
	def(&c.LogRetentionDays, cluster.DefaultLogRetentionDays)
	def(&c.UpgradePolicy, cluster.Standard)
	if len(c.LogTypes) == 0 {
		c.LogTypes = slices.Clone(cluster.LogTypes)
	}
	if c.KubernetesVersion == DefaultKubernetesVersion {
		def(&c.Addons.VpcCNI, cluster.DefaultVpcCNIVersion)
		def(&c.Addons.KubeProxy, cluster.DefaultKubeProxyVersion)
		def(&c.Addons.CoreDNS, cluster.DefaultCoreDNSVersion)
		def(&c.Addons.EBSCSI, cluster.DefaultEBSCSIVersion)
		if !e.UsesAutoMode() { // which chooses its own
			def(&e.System.AMIRelease, nodegroup.DefaultRelease)
		}
	}

	s := &e.System
	def(&s.InstanceType, "m6i.large")
	def(&s.DiskGiB, nodegroup.DefaultDiskGiB)
	if s.NodeCount == nil {
		s.NodeCount = ptr(2) // two replicas of a controller may not share a node
	}

	def(&e.GPU.DevicePluginVersion, gpu.DefaultDevicePluginVersion)
	def(&e.GPU.DRADriverVersion, gpu.DefaultDRADriverVersion)
	def(&e.Karpenter.Version, karpenter.DefaultVersion)
	def(&e.Karpenter.AMIAlias, nodepool.DefaultAMIAlias)
	def(&e.ClusterAutoscaler.Expander, clusterautoscaler.DefaultExpander)
	def(&e.Capacity.ValidFor, "1h")
	def(&e.GitOps.NodePools, "apply")
	if e.AutoMode.BuiltInPools == nil { // an empty list is a choice
		e.AutoMode.BuiltInPools = []string{"system"}
	}

	if e.General != nil {
		general := e.General.withDefaults()
		e.General = &general
	}
	e.Pools = slices.Clone(e.Pools)
	for i := range e.Pools {
		e.Pools[i] = e.Pools[i].withDefaults()
	}
	return e
}

func (g General) withDefaults() General {
	def(&g.ConsolidateAfter, nodepool.GeneralConsolidateAfter)
	def(&g.ExpireAfter, classKinds[g.Scaler].GeneralExpireAfter)
	def(&g.DiskGiB, nodepool.DefaultDiskGiB)
	if len(g.CapacityTypes) == 0 {
		g.CapacityTypes = []pool.CapacityType{pool.Spot, pool.OnDemand}
	}
	if len(g.InstanceCategories) == 0 {
		g.InstanceCategories = slices.Clone(nodepool.DefaultCategories)
	}
	if len(g.Budgets) == 0 {
		g.Budgets = []nodepool.Budget{{Nodes: nodepool.GeneralBudget}}
	}
	return g
}

func (p Pool) withDefaults() Pool {
	def(&p.DeviceMode, pool.Plugin)
	def(&p.DiskGiB, nodegroup.DefaultGPUDiskGiB)
	if len(p.CapacityTypes) == 0 {
		p.CapacityTypes = []pool.CapacityType{pool.OnDemand}
		switch {
		case p.Reservation != nil:
			p.CapacityTypes = []pool.CapacityType{pool.Reserved}
		case p.Scaler.Dynamic() && !p.Static:
			p.CapacityTypes = []pool.CapacityType{pool.Spot, pool.OnDemand}
		}
	}
	if p.Scaler == pool.ClusterAutoscaler {
		if p.MinNodeCount == nil {
			p.MinNodeCount = ptr(0)
		}
		if p.NodeCount == nil {
			p.NodeCount = ptr(max(*p.MinNodeCount, 0)) // a minimum below zero is a problem of its own
		}
	}
	if p.Scaler.Dynamic() {
		def(&p.ExpireAfter, classKinds[p.Scaler].AdvertisedExpireAfter)
		def(&p.ConsolidateAfter, nodepool.AdvertisedConsolidateAfter)
		if len(p.Budgets) == 0 {
			p.Budgets = []nodepool.Budget{{Nodes: nodepool.AdvertisedBudget}}
		}
	}
	return p
}

// AllTaints of the pool's nodes: the GPU taint, then its own.
func (p Pool) AllTaints() []pool.Taint {
	return append([]pool.Taint{pool.GPUTaint}, p.Taints...)
}

// Uses reports whether any pool, the general one included, is moved by the scaler.
func (e Environment) Uses(s pool.Scaler) bool {
	return s == pool.AutoMode && e.AutoMode.Keep || e.General != nil && e.General.Scaler == s ||
		slices.ContainsFunc(e.Pools, func(p Pool) bool { return p.Scaler == s })
}

// UsesSpot reports whether any pool may run spot instances.
func (e Environment) UsesSpot() bool {
	return e.General != nil && slices.Contains(e.General.CapacityTypes, pool.Spot) ||
		slices.ContainsFunc(e.Pools, func(p Pool) bool { return slices.Contains(p.CapacityTypes, pool.Spot) })
}

// def sets a value that was left out.
func def[T comparable](value *T, to T) {
	var zero T
	if *value == zero {
		*value = to
	}
}

func ptr[T any](v T) *T { return &v }
