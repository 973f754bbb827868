package plan

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/headroom-eks/headroom/capacity"
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

// LiveCeiling is what the pool's group, NodePool or subnet in AWS allows now, where that is not what the configuration
// says: cut by hand, or not yet changed. It bounds the promise alone, because it may be set back without a word.
func LiveCeiling(nodes int, detail string) Bound {
	return Bound{Kind: capacity.Live, Nodes: max(nodes, 0), PromiseOnly: true, Detail: detail}
}

// RaisedCeiling is what the pool's groups or NodePools allow in AWS where that is more than was planned. It bounds the
// scaler in place of the configuration, which then bounds the promise alone: pods may wake more nodes than are
// promised, and others must not count on their part.
func RaisedCeiling(nodes int, detail string) Bound {
	return Bound{Kind: capacity.Live, Nodes: min(nodes, mostRaised), Detail: detail}
}

// mostRaised stands for a limit that somebody has taken away: as many nodes as a cluster of EKS can have.
// https://docs.aws.amazon.com/eks/latest/userguide/service-quotas.html
const mostRaised = 100_000

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
	// Active: it can be used now.
	Active bool
	// Instances it was made for.
	Instances int
	// EndsAt of the reservation; zero when it does not end.
	EndsAt time.Time
}

// reservationKey names a reservation in Use.
func reservationKey(id string) string { return string(capacity.Reservation) + "/" + id }

// ReservationLimit is a reservation as a limit that all pools share which name it: its instances count once. The
// smaller count and the earlier end hold.
func ReservationLimit(r ReservationFacts, now time.Time) SharedLimit {
	l := SharedLimit{
		Key:    reservationKey(r.ID),
		Kind:   capacity.Reservation,
		Unit:   "instances",
		Amount: max(r.Count, 0),
		Code:   r.ID,
		Until:  r.End,
		Detail: fmt.Sprintf("%d instances by config", r.Count),
	}
	if r.Checked && r.CheckError != "" {
		l.Unknown = "the reservation could not be read: " + r.CheckError
		return l
	}
	if r.Checked {
		l.Amount = min(l.Amount, max(r.Instances, 0))
		l.Detail += fmt.Sprintf(", %d by the reservation", r.Instances)
		if !r.EndsAt.IsZero() && (l.Until.IsZero() || r.EndsAt.Before(l.Until)) {
			l.Until = r.EndsAt
		}
		if !r.Active {
			l.Amount, l.Detail = 0, l.Detail+", which is not active"
		}
	} else {
		l.Detail += ", not checked"
	}
	if !l.Until.IsZero() {
		l.Detail += ", until " + l.Until.UTC().Format(time.RFC3339)
		if !now.Before(l.Until) {
			l.Amount, l.Detail = 0, l.Detail+", which is past"
		}
	}
	return l
}

// ReservationUse is what a node takes of a reservation: one instance, in the zone of the reservation if that is known.
func ReservationUse(id, zone string) Use {
	return Use{
		Limit:         reservationKey(id),
		CostPerNode:   1,
		CapacityTypes: []pool.CapacityType{pool.Reserved},
		Zone:          zone,
	}
}

// Quota is one EC2 quota in vCPUs per region. Service Quotas gives the limit and not the use.
type Quota struct {
	Code         string
	CapacityType pool.CapacityType
	// Families are the letters, and the generation where it matters, with which the types begin that it counts.
	Families []string
}

// Quotas of GPU instances. One is for all on-demand P instances; for spot there are "All P4, P3 and P2" and "All P5",
// and none is listed for later generations.
// https://docs.aws.amazon.com/ec2/latest/instancetypes/ec2-instance-quotas.html
var Quotas = []Quota{
	{"L-DB2E81BA", pool.OnDemand, []string{"g", "gr", "vt"}},
	{"L-3819A6DF", pool.Spot, []string{"g", "gr", "vt"}},
	{"L-417A185B", pool.OnDemand, []string{"p"}},
	{"L-7212CCBC", pool.Spot, []string{"p2", "p3", "p4"}},
	{"L-C4BD4855", pool.Spot, []string{"p5"}},
}

// StandardQuota counts the on-demand instances of the families A, C, D, H, I, M, R, T and Z. No GPU pool draws from it.
const StandardQuota = "L-1216C47A"

// QuotaFor is the quota that counts an instance type bought this way. Reserved instances were counted when they were
// reserved.
func QuotaFor(instanceType string, capacityType pool.CapacityType) (Quota, bool) {
	family := instanceType[:generation(instanceType)]
	for _, q := range Quotas {
		if q.CapacityType != capacityType {
			continue
		}
		for _, f := range q.Families {
			if f == family || generation(f) < len(f) && f == instanceType[:min(len(family)+1, len(instanceType))] {
				return q, true
			}
		}
	}
	return Quota{}, false
}

// generation is where the digit of the generation stands in an instance type.
func generation(instanceType string) int {
	if i := strings.IndexAny(instanceType, "0123456789"); i >= 0 {
		return i
	}
	return len(instanceType)
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
// counts is left out, which makes the ceiling smaller, not larger; if it is the only one, its quota is not known.
func QuotaUses(instanceType string, vcpus int, types []pool.CapacityType) (uses []Use) {
	for _, t := range types {
		if q, found := QuotaFor(instanceType, t); found {
			uses = append(uses, Use{Limit: q.Code, CostPerNode: vcpus, CapacityTypes: []pool.CapacityType{t}})
		}
	}
	_, counted := QuotaFor(instanceType, pool.OnDemand)
	if len(uses) == 0 && counted && slices.Contains(types, pool.Spot) {
		uses = append(uses, Use{Limit: "spot quota of " + instanceType, CapacityTypes: []pool.CapacityType{pool.Spot}})
	}
	return uses
}
