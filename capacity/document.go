// Package capacity is the contract between a cluster and the scheduler that places work on it, and the arithmetic
// behind it: how many nodes each pool has, how many it can really reach, and which limit says so.
//
// It owns the document (types and JSON Schema), the ceilings, the division of ceilings that pools share, and what a
// consumer needs: decoding a stack output, freshness, asking whether a gang fits, comparing two documents. It does not
// read anything from AWS or Kubernetes: facts are handed to Allocate, which is a pure function. It imports no Pulumi.
//
// Two rules decide every doubt. A node that cannot appear is never advertised. What could not be found out is said, and
// then only what already exists is advertised.
package capacity

import (
	"cmp"
	"slices"
	"time"

	"github.com/headroom-eks/headroom/pool"
)

// SchemaVersion of the documents this package writes. Additive changes keep it.
const SchemaVersion = 1

// Document is the stack output `capacity`. It is a snapshot: it holds until ValidUntil, and past that only realized
// nodes count (see At). It contains no secrets.
type Document struct {
	// SchemaVersion is 1. A reader refuses a higher one; within one version fields are only added.
	SchemaVersion int `json:"schemaVersion"`
	// Cluster is the name of the EKS cluster.
	Cluster string `json:"cluster"`
	// Region is the AWS region of the cluster.
	Region string `json:"region"`
	// ObservedAt is when the pools were observed, in UTC, to the second.
	ObservedAt time.Time `json:"observedAt"`
	// ValidUntil is when the promise ends, in UTC, to the second. A reservation that ends sooner brings it forward.
	ValidUntil time.Time `json:"validUntil"`
	// Pools in the order of their names. No pools is an empty list.
	Pools []Pool `json:"pools"`
}

// Pool is what one pool promises.
type Pool struct {
	// Name of the pool, unique in the document.
	Name string `json:"name"`
	// Scaler moves the pool's node count.
	Scaler pool.Scaler `json:"scaler"`
	// Advertised: the pool promises nodes. It is a GPU pool of one shape. Others are listed and promise only
	// what runs.
	Advertised bool `json:"advertised"`
	// DeviceMode is how pods claim the GPUs; absent in a pool without GPUs.
	DeviceMode pool.DeviceMode `json:"deviceMode,omitempty"`
	// InstanceTypes of the pool, as EC2 names them.
	InstanceTypes []string `json:"instanceTypes"`
	// CapacityTypes the pool may buy.
	CapacityTypes []pool.CapacityType `json:"capacityTypes"`
	// Zones the pool can use, by the account's zone names: offered, and having a subnet, and not excluded by config.
	Zones []string `json:"zones"`
	// PerNode is the shape of one node. In a pool of several shapes it is the smallest of each number.
	PerNode PerNode `json:"perNode"`
	// Configured holds the counts asked for, as the config names them. It promises nothing.
	Configured Configured `json:"configured"`
	// Nodes of the pool.
	Nodes Counts `json:"nodes"`
	// GPUs of the pool: Nodes times GPUs per node.
	GPUs Counts `json:"gpus"`
	// BoundBy is the kind of the ceiling that gives the maximum.
	BoundBy Kind `json:"boundBy"`
	// ScalesFromZero: the scaler can start the first node of the pool.
	ScalesFromZero bool `json:"scalesFromZero"`
	// MaximumIsSoft tells that the scaler checks the configured maximum with delay and may briefly pass it. The promise
	// stays true: there may be more nodes for a while, not fewer.
	MaximumIsSoft bool `json:"maximumIsSoft"`
	// TiedToZone tells that the nodes of one gang have to be in one zone.
	TiedToZone bool `json:"tiedToZone"`
	// LargestGang is the largest number of nodes that one gang can get: Maximum, or what the best zone gives where
	// TiedToZone.
	LargestGang int `json:"largestGang"`
	// RealizedByZone splits Nodes.Realized by zone. Zones without nodes are left out.
	RealizedByZone map[string]int `json:"realizedByZone"`
	// Ceilings of the pool, the binding one first. The smallest gives the maximum.
	Ceilings []Ceiling `json:"ceilings"`
	// Labels that every node of the pool carries.
	Labels map[string]string `json:"labels"`
	// Taints that every node of the pool carries.
	Taints []pool.Taint `json:"taints"`
	// Notes are for people: a maximum below what is realized and why, one zone only, what was assumed.
	Notes []string `json:"notes,omitempty"`
	// Error says what could not be observed. When the number of realized nodes is among it, Realized and Maximum are 0,
	// which means "not known, so nothing is promised", and a ceiling of kind unknown says the same.
	Error string `json:"error,omitempty"`
}

// PerNode is the shape of one node.
type PerNode struct {
	// VCPUs of the instance type.
	VCPUs int `json:"vcpus"`
	// MemoryMiB of the instance type, before the system's share is taken.
	MemoryMiB int `json:"memoryMiB"`
	// GPUs of one node; a gang takes one node per pod whatever it uses of them.
	GPUs int `json:"gpus"`
	// GPUModel as EC2 names it, for example "L4".
	GPUModel string `json:"gpuModel,omitempty"`
	// GPUMemoryMiB of one GPU, as EC2 reports it. The driver reports a little more.
	GPUMemoryMiB int `json:"gpuMemoryMiB,omitempty"`
}

// PerNodeOf is the shape of a node of one instance type.
func PerNodeOf(s pool.Shape) PerNode {
	return PerNode{
		VCPUs:        s.VCPUs,
		MemoryMiB:    s.MemoryMiB,
		GPUs:         s.GPUs,
		GPUModel:     s.GPUModel,
		GPUMemoryMiB: s.GPUMemoryMiB,
	}
}

// Configured holds the counts of the config; what is not set there is absent here.
type Configured struct {
	NodeCount    *int `json:"nodeCount,omitempty"`
	MinNodeCount *int `json:"minNodeCount,omitempty"`
	MaxNodeCount *int `json:"maxNodeCount,omitempty"`
	// Limits of a pool that has them instead of, or beside, node counts.
	Limits *Limits `json:"limits,omitempty"`
}

// Limits of a pool over all its nodes, as Karpenter and Auto Mode take them. Zero means that there is none.
type Limits struct {
	VCPUs     int `json:"vcpus,omitempty"`
	MemoryMiB int `json:"memoryMiB,omitempty"`
	GPUs      int `json:"gpus,omitempty"`
	// Nodes alone let one node too many through (measured on Karpenter 1.15); a resource limit beside it is exact.
	Nodes int `json:"nodes,omitempty"`
}

// Counts of nodes, or of GPUs.
type Counts struct {
	// Realized are those that exist and run in EC2, joined or not. Never inferred from config. They may be in use.
	Realized int `json:"realized"`
	// Maximum is what the pool can reach, realized ones included. It is below Realized only when a limit was lowered
	// under what runs, which removes nothing; a note says so.
	Maximum int `json:"maximum"`
	// Firm is the part of Maximum that on-demand or reserved capacity backs. The rest is spot: best effort.
	Firm int `json:"firm"`
}

// Kind of a ceiling. The set is open: a reader accepts kinds it does not know.
type Kind string

const (
	// ConfiguredKind is what the config asks for, limit arithmetic included.
	ConfiguredKind Kind = "configured"
	// NoAutoscaler: nothing moves the pool's node count, so the maximum is what is realized.
	NoAutoscaler Kind = "no-autoscaler"
	// WakeFromZero: the scaler cannot start the nodes that the pool's pods need.
	WakeFromZero Kind = "wake-from-zero"
	// VCPUQuota is an EC2 quota in vCPUs, shared by pools and by others in the account.
	VCPUQuota Kind = "vcpu-quota"
	// SubnetAddresses: free IPv4 addresses, per zone, shared by pools.
	SubnetAddresses Kind = "subnet-addresses"
	// NodeGroupSize is the quota of nodes in one managed group.
	NodeGroupSize Kind = "node-group-size"
	// Reservation is a capacity reservation or block that the pool names.
	Reservation Kind = "reservation"
	// Zones: where the pool can be. No number of its own; only ever the Of of an unknown ceiling.
	Zones Kind = "zones"
	// NotApplied: the pool's objects are left to someone else and not yet confirmed to be there.
	NotApplied Kind = "not-applied"
	// Live is what the pool's group, NodePool or subnet in AWS allows now, where that is less than is configured.
	Live Kind = "live"
	// NotAdvertised: the pool promises no nodes beyond those that run.
	NotAdvertised Kind = "not-advertised"
	// Unknown: a ceiling could not be determined; Ceiling.Of names it.
	Unknown Kind = "unknown"
	// Expired: the document is read past its validUntil.
	Expired Kind = "expired"

	// RealizedCount is what Ceiling.Of says when the number of realized nodes itself is unknown. It is no kind of its
	// own.
	RealizedCount Kind = "realized"
)

// Ceiling is an upper bound on a pool's nodes, and why.
type Ceiling struct {
	Kind Kind `json:"kind"`
	// Nodes the pool can have under this ceiling alone, realized ones included; of a shared ceiling, whatever the other
	// pools do within theirs. Of an unknown ceiling, what is certain without it.
	Nodes int `json:"nodes"`
	// Of is the kind that could not be determined, in a ceiling of kind unknown.
	Of Kind `json:"of,omitempty"`
	// Code of the limit where AWS gives it one, for example the quota code L-DB2E81BA.
	Code string `json:"code,omitempty"`
	// Detail explains the number: the arithmetic, what was assumed, what other pools may take of a shared ceiling.
	Detail string `json:"detail,omitempty"`
	// Rival is the pool because of which the ceiling is lower than it would be without it. Of several, the first that
	// Detail names.
	Rival string `json:"rival,omitempty"`
}

// namedFirst is the order in which ceilings that give the same number are named as the reason: the one that a person
// can do something about first. One that could not be determined comes last: the number is explained without it.
var namedFirst = []Kind{NoAutoscaler, NotApplied, Live, WakeFromZero, Reservation, VCPUQuota, SubnetAddresses,
	NodeGroupSize, NotAdvertised}

func rank(k Kind) int {
	switch i := slices.Index(namedFirst, k); {
	case k == ConfiguredKind:
		return len(namedFirst) + 1
	case k == Unknown:
		return len(namedFirst) + 2
	case i >= 0:
		return i
	default:
		return len(namedFirst)
	}
}

// SortCeilings puts the binding ceiling first: the smallest, and of equal ones the one a person can act on first.
func SortCeilings(ceilings []Ceiling) {
	slices.SortFunc(ceilings, func(a, b Ceiling) int {
		return cmp.Or(cmp.Compare(a.Nodes, b.Nodes), cmp.Compare(rank(a.Kind), rank(b.Kind)),
			cmp.Compare(a.Kind, b.Kind),
			cmp.Compare(a.Of, b.Of), cmp.Compare(a.Code, b.Code), cmp.Compare(a.Detail, b.Detail))
	})
}
