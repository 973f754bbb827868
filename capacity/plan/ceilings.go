package plan

import (
	"fmt"
	"github.com/headroom-eks/headroom/capacity"
	"math"
	"strings"
	"time"

	"github.com/headroom-eks/headroom/pool"
)

// Quotas of the EKS service that bound managed node groups.
// https://docs.aws.amazon.com/eks/latest/userguide/service-quotas.html
const (
	NodesPerGroupCode       = "L-BD136A63"
	DefaultNodesPerGroup    = 450
	GroupsPerClusterCode    = "L-6D54EA21"
	DefaultGroupsPerCluster = 30
)

// ConfiguredCeiling is what the config allows: the count that applies to the scaler, and every limit divided by what
// one node takes, rounded down (10 GPUs on 4-GPU nodes are 2 nodes). Static marks a Karpenter pool of a fixed number of
// nodes.
//
// A config that bounds nothing gives an unknown ceiling.
func ConfiguredCeiling(scaler pool.Scaler, static bool, c capacity.Configured, node capacity.PerNode) Bound {
	bound := Bound{Kind: capacity.ConfiguredKind, Nodes: noBound}
	lower := func(nodes int, format string, args ...any) {
		if nodes < bound.Nodes {
			bound.Nodes, bound.Detail = nodes, fmt.Sprintf(format, args...)
		}
	}
	count, name := c.MaxNodeCount, "maxNodeCount"
	if scaler == pool.Fixed || static || scaler == pool.ClusterAutoscaler && count == nil {
		count, name = c.NodeCount, "nodeCount"
	}
	if count != nil {
		lower(max(*count, 0), "%s %d", name, *count)
	}
	if c.Limits != nil && scaler.Dynamic() {
		for _, l := range []struct {
			limit, each int
			unit        string
		}{
			{c.Limits.Nodes, 1, "nodes"},
			{c.Limits.GPUs, node.GPUs, "GPUs"},
			{c.Limits.VCPUs, node.VCPUs, "vCPUs"},
			{c.Limits.MemoryMiB, node.MemoryMiB, "MiB of memory"},
		} {
			switch {
			case l.limit <= 0:
			case l.each > 0:
				lower(l.limit/l.each, "limit of %d %s at %d each", l.limit, l.unit, l.each)
			case l.unit != "GPUs": // a node without GPUs is not held by a limit on them
				bound.Unknown = "what a node takes of the limit in " + l.unit + " is not known"
			}
		}
	}
	if bound.Nodes == noBound && bound.Unknown == "" {
		bound.Unknown = "the config sets no maximum"
	}
	return bound
}

// SurgeNodes is how many nodes are kept back from others for a scaler that checks its limits with delay: a percentage
// of the pool's maximum, rounded up, or a number of nodes, whichever is more.
func SurgeNodes(maximum, percent, nodes int) int {
	return max((max(maximum, 0)*max(percent, 0)+99)/100, nodes, 0)
}

// NodeGroupSizeCeiling is the quota of nodes in one managed group, times the groups the pool is made of.
func NodeGroupSizeCeiling(groups, nodesPerGroup int) Bound {
	b := Bound{Kind: capacity.NodeGroupSize, Nodes: max(groups, 0) * max(nodesPerGroup, 0), Code: NodesPerGroupCode}
	b.Detail = fmt.Sprintf("%d nodes in each of %d groups", nodesPerGroup, groups)
	return b
}

// NodeGroupsFit is an error when a cluster would have more managed groups than its quota.
func NodeGroupsFit(groups, quota int) error {
	if groups <= quota {
		return nil
	}
	return fmt.Errorf("%d managed node groups are more than the quota of %d (%s); merge pools or ask for more", groups,
		quota, GroupsPerClusterCode)
}

// NotAppliedCeiling is for a pool whose objects are left to someone else and not yet confirmed to be there.
func NotAppliedCeiling(realized Realized) Bound {
	return Bound{Kind: capacity.NotApplied, Nodes: realized.Total(), PromiseOnly: true,
		Detail: "the pool's objects are not confirmed to be in the cluster; nothing will scale it until they are"}
}

// ReservationFacts is what is known of a capacity reservation or block that a pool names.
type ReservationFacts struct {
	ID string
	// Count of instances and End as the config has them. A zero End means that the reservation does not end.
	Count int
	End   time.Time
	// Checked tells that the reservation itself was asked for. Then either CheckError says why it could not be read, or
	// the rest holds what it says.
	Checked    bool
	CheckError string
	// Active tells whether it can be used now.
	Active bool
	// Instances it was made for.
	Instances int
	// EndsAt of the reservation; zero when it does not end.
	EndsAt time.Time
}

// ReservationCeiling bounds a pool that can only use its reservation. The smaller count and the earlier end hold. It is
// no ceiling of a pool that may buy on-demand or spot beside it.
func ReservationCeiling(r ReservationFacts, now time.Time) Bound {
	b := Bound{
		Kind:   capacity.Reservation,
		Nodes:  max(r.Count, 0),
		Code:   r.ID,
		Until:  r.End,
		Detail: fmt.Sprintf("%d instances by config", r.Count),
	}
	if r.Checked && r.CheckError != "" {
		b.Unknown = "the reservation could not be read: " + r.CheckError
		return b
	}
	if r.Checked {
		b.Nodes = min(b.Nodes, max(r.Instances, 0))
		b.Detail += fmt.Sprintf(", %d by the reservation", r.Instances)
		if !r.EndsAt.IsZero() && (b.Until.IsZero() || r.EndsAt.Before(b.Until)) {
			b.Until = r.EndsAt
		}
		if !r.Active {
			b.Nodes, b.Detail = 0, b.Detail+", which is not active"
		}
	} else {
		b.Detail += ", not checked"
	}
	if !b.Until.IsZero() {
		b.Detail += ", until " + b.Until.UTC().Format(time.RFC3339)
		if !now.Before(b.Until) {
			b.Nodes, b.Detail = 0, b.Detail+", which is past"
		}
	}
	return b
}

// Quota is one EC2 quota in vCPUs per region. Service Quotas gives the limit and not the use.
type Quota struct {
	Code         string
	CapacityType pool.CapacityType
	// Families are the letters before the generation in the instance types that it counts.
	Families []string
}

// Quotas of GPU instances. https://docs.aws.amazon.com/ec2/latest/instancetypes/ec2-instance-quotas.html
var Quotas = []Quota{
	{"L-DB2E81BA", pool.OnDemand, []string{"g", "gr", "vt"}},
	{"L-3819A6DF", pool.Spot, []string{"g", "gr", "vt"}},
	{"L-417A185B", pool.OnDemand, []string{"p"}},
	{"L-7212CCBC", pool.Spot, []string{"p"}},
}

// QuotaFor is the quota that counts an instance type bought this way. Reserved instances were counted when they were
// reserved.
func QuotaFor(instanceType string, capacityType pool.CapacityType) (Quota, bool) {
	family := instanceType
	if i := strings.IndexAny(instanceType, "0123456789"); i >= 0 {
		family = instanceType[:i]
	}
	for _, q := range Quotas {
		for _, f := range q.Families {
			if f == family && q.CapacityType == capacityType {
				return q, true
			}
		}
	}
	return Quota{}, false
}

// Limit is the quota as a shared limit: its value, rounded down, less the vCPUs that others in the account use or may
// use.
func (q Quota) Limit(value float64, reserve int) SharedLimit {
	l := q.limit()
	if math.IsNaN(value) {
		l.Unknown = "the quota's value is not a number"
		return l
	}
	vcpus := int(math.Floor(min(max(value, 0), noBound)))
	l.Amount = max(vcpus-max(reserve, 0), 0)
	l.Detail = fmt.Sprintf("quota of %d vCPUs, %d of them assumed to be used by others", vcpus, max(reserve, 0))
	return l
}

// UnknownLimit is the quota when it could not be read.
func (q Quota) UnknownLimit(reason string) SharedLimit {
	l := q.limit()
	l.Unknown = reason
	return l
}

func (q Quota) limit() SharedLimit {
	return SharedLimit{Key: q.Code, Kind: capacity.VCPUQuota, Unit: "vCPUs", Code: q.Code}
}

// QuotaUses lists the quotas that a pool's nodes draw from, one for each way it may buy them. A way that no known quota
// counts is left out, which makes the ceiling smaller, not larger.
func QuotaUses(instanceType string, vcpus int, types []pool.CapacityType) (uses []Use) {
	for _, t := range types {
		if q, found := QuotaFor(instanceType, t); found {
			uses = append(uses, Use{Limit: q.Code, CostPerNode: vcpus, CapacityTypes: []pool.CapacityType{t}})
		}
	}
	return uses
}
