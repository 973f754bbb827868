package config

import (
	"maps"
	"slices"

	"github.com/headroom-eks/headroom/pool"
)

// Known good together, seen in public use in September 2026; a test keeps them equal to the defaults that the schema
// documents.
const (
	DefaultKubernetesVersion = "1.36"
	defaultAMIRelease        = "1.36.3-20260911"
	defaultAMIAlias          = "al2023@v20260911"
	defaultKarpenterVersion  = "1.15.0"

	defaultDevicePluginVersion = "0.17.4"
	defaultDRADriverVersion    = "0.4.1"
)

var defaultAddons = Addons{
	VPCCNI:    "v1.22.3-eksbuild.1",
	KubeProxy: "v1.36.0-eksbuild.9",
	CoreDNS:   "v1.14.3-eksbuild.3",
	EBSCSI:    "v1.62.0-eksbuild.1",
}

// WithDefaults returns a copy in which every key that was left out has its value. Stack is the name of the Pulumi
// stack.
func (e Environment) WithDefaults(stack string) Environment {
	n := &e.Network
	if n.Existing == nil {
		def(&n.CIDR, "10.0.0.0/16")
		def(&n.NATGateways, "one-per-vpc")
	}

	c := &e.Cluster
	def(&c.Name, "headroom-"+stack)
	def(&c.KubernetesVersion, DefaultKubernetesVersion)
	def(&c.LogRetentionDays, 90)
	def(&c.UpgradePolicy, "STANDARD")
	if len(c.LogTypes) == 0 {
		c.LogTypes = slices.Clone(LogTypes)
	}
	if c.KubernetesVersion == DefaultKubernetesVersion {
		def(&c.Addons.VPCCNI, defaultAddons.VPCCNI)
		def(&c.Addons.KubeProxy, defaultAddons.KubeProxy)
		def(&c.Addons.CoreDNS, defaultAddons.CoreDNS)
		def(&c.Addons.EBSCSI, defaultAddons.EBSCSI)
		def(&e.System.AMIRelease, defaultAMIRelease)
	}

	s := &e.System
	def(&s.InstanceType, "m6i.large")
	def(&s.DiskGiB, 50)
	if s.NodeCount == nil {
		s.NodeCount = ptr(2) // two replicas of a controller may not share a node
	}

	def(&e.GPU.DevicePluginVersion, defaultDevicePluginVersion)
	def(&e.GPU.DRADriverVersion, defaultDRADriverVersion)
	def(&e.Karpenter.Version, defaultKarpenterVersion)
	def(&e.Karpenter.AMIAlias, defaultAMIAlias)
	def(&e.ClusterAutoscaler.Expander, "least-waste")
	def(&e.Capacity.ValidFor, "1h")
	def(&e.GitOps.NodePools, "apply")
	if e.AutoMode.BuiltInPools == nil { // an empty list is a choice
		e.AutoMode.BuiltInPools = []string{"system"}
	}

	if e.General != nil {
		g := *e.General
		def(&g.ConsolidateAfter, "1m")
		if g.Scaler == pool.Karpenter {
			def(&g.ExpireAfter, "720h") // Auto Mode has its own, and an upper bound
		}
		def(&g.DiskGiB, 100)
		if len(g.CapacityTypes) == 0 {
			g.CapacityTypes = []pool.CapacityType{pool.Spot, pool.OnDemand}
		}
		if len(g.InstanceCategories) == 0 {
			g.InstanceCategories = []string{"c", "m", "r"}
		}
		if len(g.Budgets) == 0 {
			g.Budgets = []Budget{{Nodes: "10%"}}
		}
		e.General = &g
	}

	e.Pools = slices.Clone(e.Pools)
	for i := range e.Pools {
		e.Pools[i] = e.Pools[i].withDefaults()
	}
	return e
}

func (p Pool) withDefaults() Pool {
	def(&p.DeviceMode, pool.Plugin)
	def(&p.DiskGiB, 200)
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
			p.NodeCount = p.MinNodeCount
		}
	}
	if p.Scaler.Dynamic() {
		if p.Scaler == pool.Karpenter {
			def(&p.ExpireAfter, "Never") // Auto Mode has its own, and an upper bound
		}
		def(&p.ConsolidateAfter, "10m")
		if len(p.Budgets) == 0 {
			p.Budgets = []Budget{{Nodes: "1"}}
		}
	}
	return p
}

// AllTaints of the pool's nodes: the GPU taint, then its own.
func (p Pool) AllTaints() []pool.Taint {
	return append([]pool.Taint{pool.GPUTaint}, p.Taints...)
}

// AllLabels of the pool's nodes: its own and the pool label.
func (p Pool) AllLabels() map[string]string {
	labels := maps.Clone(p.Labels)
	if labels == nil {
		labels = map[string]string{}
	}
	labels[pool.PoolLabel] = p.Name
	return labels
}

// Uses tells whether any pool, the general one included, is moved by the scaler.
func (e Environment) Uses(s pool.Scaler) bool {
	return s == pool.AutoMode && e.AutoMode.Keep || e.General != nil && e.General.Scaler == s ||
		slices.ContainsFunc(e.Pools, func(p Pool) bool { return p.Scaler == s })
}

// UsesSpot tells whether any pool may run spot instances.
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
