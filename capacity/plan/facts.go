package plan

import (
	"slices"
	"time"

	"github.com/headroom-eks/headroom/capacity"
	"github.com/headroom-eks/headroom/pool"
)

// Input is everything that Allocate needs to know. The caller turns each error into an unknown with its reason;
// none stops the others.
type Input struct {
	Cluster string
	Region  string
	// Now is when the facts were observed.
	Now time.Time
	// ValidFor is how long the document may be relied on.
	ValidFor time.Duration
	Pools    []PoolFacts
	// Limits that pools share, in any order.
	Limits []SharedLimit
}

// PoolFacts is what is known of one pool.
type PoolFacts struct {
	// Name of the pool, unique in the input.
	Name       string
	Scaler     pool.Scaler
	Advertised bool
	DeviceMode pool.DeviceMode
	// Priority decides who is served first when pools share a ceiling: the higher one, as with pods' PriorityClass and
	// a NodePool's weight. Equal ones are served by name.
	Priority      int
	InstanceTypes []string
	CapacityTypes []pool.CapacityType
	Zones         []string
	PerNode       capacity.PerNode
	Configured    capacity.Configured
	Labels        map[string]string
	Taints        []pool.Taint

	// Realized nodes. They are charged before anything else, because they exist.
	Realized Realized
	// ScalesFromZero and MaximumIsSoft are published as they are.
	ScalesFromZero bool
	MaximumIsSoft  bool
	// TiedToZone: the nodes of one gang have to be in one zone (a placement group, a network that ends at the zone).
	TiedToZone bool
	// KeptNodes are those that the scaler keeps whatever pods ask for: a static pool's count, a group's minimum. They
	// are charged before anyone is served.
	KeptNodes int
	// SurgeNodes, while the pool has a node, are kept back from the pools that share a ceiling with this one, because
	// its scaler may pass the configured maximum for a while. They are never advertised. See SurgeNodes, the function.
	SurgeNodes int

	// Ceilings that concern this pool alone. NoAutoscaler and NotAdvertised are added by Allocate.
	Ceilings []Bound
	// Uses of shared limits. A node needs one way of buying and one zone: uses with other capacity types are
	// alternatives (the on-demand or the spot quota), and so are uses with another zone (one zone's addresses). Within
	// one way or zone a node needs one limit of each kind: the addresses of one of its subnets, and a part of the share
	// that the configuration gives the pool there (a limit of kind configured that no other pool draws from). Uses with
	// neither are alternatives by kind.
	//
	// A way of buying that names a zone can be had in that zone alone (a reservation).
	Uses []Use

	// Error is anything that could not be observed about the pool and is not already in Realized or a ceiling.
	Error string
	// Notes for people.
	Notes []string
}

// Realized counts the nodes of a pool that exist.
type Realized struct {
	// Nodes by where they are and how they were bought.
	Nodes map[Place]int
	// Unknown is why they could not be counted; Nodes is not read then. Nothing is advertised of such a pool, and
	// shared limits that count running nodes are undeterminable for everyone.
	Unknown string
}

// Place tells a realized node's zone and how it was bought.
type Place struct {
	Zone         string
	CapacityType pool.CapacityType
}

// Total of the realized nodes; 0 when they are unknown.
func (r Realized) Total() int { return r.count(func(Place) bool { return true }) }

// Firm counts the realized nodes that are not spot.
func (r Realized) Firm() int {
	return r.count(func(p Place) bool { return p.CapacityType != pool.Spot })
}

// In counts the realized nodes of one zone.
func (r Realized) In(zone string) int { return r.count(func(p Place) bool { return p.Zone == zone }) }

func (r Realized) count(match func(Place) bool) (n int) {
	if r.Unknown != "" {
		return 0
	}
	for place, nodes := range r.Nodes {
		if match(place) {
			n = min(n+min(max(nodes, 0), noBound), noBound)
		}
	}
	return n
}

// Bound is a ceiling that concerns one pool alone.
type Bound struct {
	Kind capacity.Kind
	// Nodes that the pool can have under it, realized ones included.
	Nodes int
	// Unknown is why the ceiling could not be determined; Nodes is not read then.
	Unknown string
	// PromiseOnly: the ceiling limits what may be promised, but does not keep the scaler from making more nodes (a
	// fixed group repairs itself up to its size; pods without a claim can wake a pool that pods with one cannot).
	PromiseOnly bool
	Code        string
	Detail      string
}

// SharedLimit is a limit that several pools draw from.
type SharedLimit struct {
	// Key names the limit in Use.
	Key  string
	Kind capacity.Kind
	// Unit of Amount and of Use.CostPerNode, in the plural: "vCPUs", "addresses".
	Unit string
	// Amount in all, running nodes included; or, with Free, what is left beside them.
	Amount int
	Free   bool
	// Taken is what running nodes of the pools are known to hold, beside what is free; 0 if that is not known. Never
	// nodes times a full node's cost: a node may not have taken all of it yet. Read with Free only.
	Taken int
	// Unknown is why the limit could not be determined; Amount is not read then.
	Unknown string
	Code    string
	// Detail says what was assumed, for example the reserve for others.
	Detail string
	// Until is when the limit stops to hold, and the document with it, if a pool draws from it. Zero means no end.
	Until time.Time
}

// Use says what a node of a pool takes from a shared limit.
type Use struct {
	// Limit is the key of a SharedLimit.
	Limit string
	// CostPerNode in the unit of the limit. 0 or less means that it is not known, which makes the ceiling unknown.
	CostPerNode int
	// CapacityTypes of the nodes that draw from this limit; empty means all.
	CapacityTypes []pool.CapacityType
	// Zone of the nodes that draw from this limit; empty means all.
	Zone string
}

// mayMatch: a node that runs there may draw from this limit. A zone or a way that nobody could tell may be any.
func (u Use) mayMatch(p Place) bool {
	return (u.Zone == "" || p.Zone == "" || u.Zone == p.Zone) &&
		(len(u.CapacityTypes) == 0 || p.CapacityType == "" || slices.Contains(u.CapacityTypes, p.CapacityType))
}

// firm: on-demand or reserved capacity is among these ways of buying; none named means all.
func firm(types []pool.CapacityType) bool {
	return len(types) == 0 || slices.ContainsFunc(types, func(t pool.CapacityType) bool { return t != pool.Spot })
}
