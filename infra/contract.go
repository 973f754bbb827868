package infra

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/headroom-eks/headroom/capacity"
	capacityplan "github.com/headroom-eks/headroom/capacity/plan"
	"github.com/headroom-eks/headroom/components/clusterautoscaler"
	"github.com/headroom-eks/headroom/infra/config"
	"github.com/headroom-eks/headroom/pool"
)

const (
	systemPool  = "system"
	generalPool = "general"

	// addressReserve of each zone is for load balancers, endpoints and the nodes that an update starts beside the old
	// ones.
	addressReserve = 64
)

// smallestGeneral is the smallest node that the general pool is assumed to make: of the categories it may use, none
// takes more addresses for a vCPU than a .large, so a pool of such nodes is the worst that subnets have to bear.
var smallestGeneral = pool.Shape{VCPUs: 2, MemoryMiB: 4096, MaxENIs: 3, IPv4PerENI: 10}

// document computes the capacity contract from the configuration, AWS's answers and what runs.
func document(cluster string, env config.Environment, f facts, realized map[string]capacityplan.Realized,
	now time.Time) capacity.Document {
	validFor, err := time.ParseDuration(env.Capacity.ValidFor)
	if err != nil {
		validFor = 0 // Validate has refused it before; a document that is never valid promises nothing
	}
	in := capacityplan.Input{Cluster: cluster, Region: f.Region, Now: now, ValidFor: validFor}
	if !env.Uses(pool.AutoMode) {
		in.Pools = append(in.Pools, systemFacts(env, f, realized[systemPool]))
	}
	if env.General != nil {
		in.Pools = append(in.Pools, generalFacts(env, f, realized[generalPool]))
	}
	for _, p := range env.Pools {
		in.Pools = append(in.Pools, poolFacts(p, env, f, realized[p.Name], now))
		if p.Spread != "" {
			in.Limits = append(in.Limits, zoneShares(p, env, f)...)
		}
	}
	in.Limits = append(in.Limits, quotaLimits(env, f)...)
	in.Limits = append(in.Limits, addressLimits(env, f)...)
	return capacityplan.Allocate(in)
}

func poolFacts(p config.Pool, env config.Environment, f facts, realized capacityplan.Realized,
	now time.Time) capacityplan.PoolFacts {
	shape := f.Shapes[p.InstanceTypes[0]]
	zones := zonesOf(p, env, f)
	facts := capacityplan.PoolFacts{
		Name:          p.Name,
		Scaler:        p.Scaler,
		Advertised:    true,
		DeviceMode:    p.DeviceMode,
		Priority:      p.Priority,
		InstanceTypes: p.InstanceTypes,
		CapacityTypes: p.CapacityTypes,
		Zones:         zones,
		PerNode:       capacity.PerNodeOf(shape),
		Configured: capacity.Configured{
			NodeCount:    p.NodeCount,
			MinNodeCount: p.MinNodeCount,
			MaxNodeCount: p.MaxNodeCount,
		},
		Labels:        nodeLabels(p, shape),
		Taints:        p.AllTaints(),
		Realized:      realized,
		MaximumIsSoft: p.Scaler.Dynamic() && !p.Static,
		TiedToZone:    p.Spread != "",
		Uses:          capacityplan.SubnetUses(zones, addresses(shape, p, env)),
	}
	if len(zones) == 1 {
		facts.Notes = append(facts.Notes, fmt.Sprintf("only zone %s serves this pool; when it is out of stock, so is "+
			"the pool", zones[0]))
	}
	facts.Uses = append(facts.Uses, capacityplan.QuotaUses(p.InstanceTypes[0], shape.VCPUs, p.CapacityTypes)...)
	if p.Static {
		facts.SurgeNodes = staticSurge
	}
	if p.MaxNodeCount != nil && facts.MaximumIsSoft {
		facts.SurgeNodes = capacityplan.SurgeNodes(*p.MaxNodeCount, env.Capacity.SurgeMarginPercent, 0)
	}
	facts.Ceilings = append(facts.Ceilings, capacityplan.ConfiguredCeiling(p.Scaler, p.Static, facts.Configured,
		facts.PerNode))
	if p.Scaler.ManagedGroup() {
		facts.Ceilings = append(facts.Ceilings,
			capacityplan.NodeGroupSizeCeiling(max(1, len(groupZones(p, env, f))), capacityplan.DefaultNodesPerGroup))
	}
	if p.Spread != "" {
		for _, share := range shares(p, env, f) {
			facts.Uses = append(facts.Uses, capacityplan.Use{
				Limit:       shareKey(p, share.Zone),
				CostPerNode: 1,
				Zone:        share.Zone,
			})
		}
	}
	var wake *capacityplan.Bound
	if facts.ScalesFromZero, wake = capacityplan.Wake(wakeFacts(p, env, realized)); wake != nil {
		facts.Ceilings = append(facts.Ceilings, *wake)
	}
	if r := p.Reservation; r != nil && len(p.CapacityTypes) == 1 { // what may be bought beside it has no such end
		end, _ := time.Parse(time.RFC3339, r.End) // Validate has refused anything else than a time or nothing
		facts.Ceilings = append(facts.Ceilings, capacityplan.ReservationCeiling(capacityplan.ReservationFacts{
			ID:    r.ID,
			Count: r.Count,
			End:   end,
		}, now))
	}
	if env.GitOps.NodePools == "manifests" && !env.GitOps.Applied && p.Scaler.Dynamic() {
		facts.Ceilings = append(facts.Ceilings, capacityplan.NotAppliedCeiling(realized))
	}
	for _, t := range p.InstanceTypes {
		if _, asked := f.Offerings[t]; !asked {
			facts.Ceilings = append(facts.Ceilings, capacityplan.Bound{
				Kind:    capacity.Zones,
				Unknown: "which zones offer " + t + " could not be read",
			})
			break
		}
	}
	return facts
}

func wakeFacts(p config.Pool, env config.Environment, realized capacityplan.Realized) capacityplan.WakeFacts {
	w := capacityplan.WakeFacts{
		Scaler:            p.Scaler,
		Static:            p.Static,
		DeviceMode:        p.DeviceMode,
		KubernetesVersion: env.Cluster.KubernetesVersion,
		Realized:          realized,
		DRAEnabled:        env.Karpenter.EnableDRA,
	}
	if p.MinNodeCount != nil {
		w.MinNodeCount = *p.MinNodeCount
	}
	switch p.Scaler {
	case pool.Karpenter:
		w.ScalerVersion = env.Karpenter.Version
	case pool.ClusterAutoscaler:
		release, _ := clusterautoscaler.ReleaseFor("", env.Cluster.KubernetesVersion, clusterautoscaler.Release{})
		w.ScalerVersion = release.Image
	}
	return w
}

func systemFacts(env config.Environment, f facts, realized capacityplan.Realized) capacityplan.PoolFacts {
	shape, zones := f.Shapes[env.System.InstanceType], networkZones(env, f)
	facts := capacityplan.PoolFacts{
		Name:          systemPool,
		Scaler:        pool.Fixed,
		InstanceTypes: []string{env.System.InstanceType},
		CapacityTypes: []pool.CapacityType{pool.OnDemand},
		Zones:         zones,
		PerNode:       capacity.PerNodeOf(shape),
		Configured:    capacity.Configured{NodeCount: env.System.NodeCount},
		Labels:        map[string]string{pool.PoolLabel: systemPool},
		Realized:      realized,
		Uses:          capacityplan.SubnetUses(zones, addresses(shape, config.Pool{}, env)),
	}
	facts.Ceilings = []capacityplan.Bound{
		capacityplan.ConfiguredCeiling(pool.Fixed, false, facts.Configured, facts.PerNode),
		capacityplan.NodeGroupSizeCeiling(1, capacityplan.DefaultNodesPerGroup),
	}
	return facts
}

func generalFacts(env config.Environment, f facts, realized capacityplan.Realized) capacityplan.PoolFacts {
	g := env.General
	zones := networkZones(env, f)
	if len(g.Zones) > 0 {
		zones = slices.Sorted(slices.Values(g.Zones))
	}
	facts := capacityplan.PoolFacts{
		Name:          generalPool,
		Scaler:        g.Scaler,
		InstanceTypes: []string{},
		CapacityTypes: g.CapacityTypes,
		Zones:         zones,
		PerNode:       capacity.PerNodeOf(smallestGeneral),
		Configured: capacity.Configured{Limits: &capacity.Limits{
			VCPUs:     g.Limits.VCPUs,
			MemoryMiB: g.Limits.MemoryGiB * 1024,
		}},
		Labels:         map[string]string{pool.PoolLabel: generalPool},
		Realized:       realized,
		ScalesFromZero: true,
		MaximumIsSoft:  true,
		Uses:           capacityplan.SubnetUses(zones, addresses(smallestGeneral, config.Pool{}, env)),
		Notes: []string{"its nodes have several shapes; the smallest it could make stand for all when " +
			"addresses are kept for it"},
	}
	facts.Ceilings = []capacityplan.Bound{capacityplan.ConfiguredCeiling(g.Scaler, false, facts.Configured, facts.PerNode)}
	return facts
}

// addresses that a full node of the shape takes out of its subnet; 0 when the shape is not known.
func addresses(shape pool.Shape, p config.Pool, env config.Environment) int {
	cni := capacityplan.CNI{PrefixDelegation: env.Network.PrefixDelegation || env.Uses(pool.AutoMode)}
	// The kubelet's own maximum on EKS images.
	// https://github.com/awslabs/amazon-eks-ami/blob/main/nodeadm/internal/kubelet/eni_max_pods.go
	pods := shape.MaxENIs*(shape.IPv4PerENI-1) + 2
	if cni.PrefixDelegation {
		pods = 110
		if shape.VCPUs > 30 {
			pods = 250
		}
	}
	if most, ok := p.Kubelet["maxPods"].(float64); ok && most > 0 {
		pods = int(most)
	}
	const onHostNetwork = 2 // network add-on and kube-proxy
	return cni.AddressesNeeded(shape.MaxENIs, shape.IPv4PerENI, pods-onHostNetwork)
}

func quotaLimits(env config.Environment, f facts) (limits []capacityplan.SharedLimit) {
	reserve := map[pool.CapacityType]int{
		pool.OnDemand: env.Capacity.ReservedVCPUs.OnDemand,
		pool.Spot:     env.Capacity.ReservedVCPUs.Spot,
	}
	for _, q := range capacityplan.Quotas {
		switch asked, found := f.Quotas[q.Code]; {
		case !found: // no pool draws from it
		case asked.Reason != "":
			limits = append(limits, q.UnknownLimit(asked.Reason))
		default:
			limits = append(limits, q.Limit(float64(asked.VCPUs), reserve[q.CapacityType]))
		}
	}
	return limits
}

// addressLimits of each zone: by arithmetic for a new network, as AWS reports them for an existing one.
func addressLimits(env config.Environment, f facts) (limits []capacityplan.SharedLimit) {
	if env.Network.Existing != nil {
		free, unknown := map[string]int{}, map[string]string{}
		for _, s := range f.Subnets {
			if s.Public {
				continue
			}
			free[s.Zone] += s.FreeAddresses
			if s.Unknown != "" {
				unknown[s.Zone] = fmt.Sprintf("free addresses of %s: %s", s.ID, s.Unknown)
			}
		}
		for _, zone := range slices.Sorted(maps.Keys(free)) {
			if reason := unknown[zone]; reason != "" {
				limits = append(limits, capacityplan.UnknownAddresses(zone, reason))
				continue
			}
			limits = append(limits, capacityplan.FreeAddresses(zone, free[zone], addressReserve))
		}
		return limits
	}
	for _, b := range newBlocks(env) {
		limits = append(limits, capacityplan.PlannedAddresses(b.Zone, []int{b.Private.Bits()}, addressReserve))
	}
	return limits
}

// zoneShares are a spread pool's maxima in each zone, as limits that only it draws from.
func zoneShares(p config.Pool, env config.Environment, f facts) (limits []capacityplan.SharedLimit) {
	for _, share := range shares(p, env, f) {
		limits = append(limits, capacityplan.SharedLimit{
			Key: shareKey(p, share.Zone), Kind: capacity.ConfiguredKind, Unit: "nodes", Amount: share.Max,
			Detail: fmt.Sprintf("share of %s", share.Zone),
		})
	}
	return limits
}

func shareKey(p config.Pool, zone string) string {
	return strings.Join([]string{"share", p.Name, zone}, "/")
}
