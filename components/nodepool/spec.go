// Package nodepool makes one pool of nodes that Karpenter scales, ours or that of EKS Auto Mode: a NodePool, or two
// where the ways of buying have limits of their own, and their node class.
//
// It owns the NodePool, the EC2NodeClass, their rules and defaults: what is asked of the pool, which requests are
// refused, how node counts become limits, and the order in which the objects are made and deleted. It does not own the
// controller, its permissions or the nodes' role (package karpenter), what Auto Mode's class holds and what it refuses
// (package automode), nor whether the wished number of nodes can be reached (package capacity).
package nodepool

import (
	"cmp"

	"github.com/headroom-eks/headroom/pool"
)

// Spec is what a pool is asked to be. Exactly one of Advertised and General is set.
type Spec struct {
	// Name of the pool: of its NodePool, its node class, its label and its tag; a DNS label.
	Name string
	// Advertised makes a pool of GPU nodes of one shape, whose number of nodes is promised to a scheduler.
	Advertised *Advertised
	// General makes a pool of several families without GPUs, bounded by vCPUs and memory and never promised in nodes.
	General *General
	// CapacityTypes that may be bought. Karpenter prefers reserved, then the cheapest, which is spot as a rule.
	CapacityTypes []pool.CapacityType
	// Zones by name; empty means every zone of the subnets.
	Zones []string
	// Architecture of the instances as EC2 names it, "x86_64" (default) or "arm64".
	Architecture string
	// Labels of the nodes, beside headroom/pool.
	Labels map[string]string
	// Taints of the nodes. An advertised pool must keep other pods off.
	Taints []pool.Taint
	// StartupTaints are taken off by a daemon when the node is ready, such as Cilium's node.cilium.io/agent-not-ready;
	// pods need not tolerate them.
	StartupTaints []pool.Taint
	// Weight from 1 to 100: pools of higher weight are tried first. 0 sets none. Refused for a static pool.
	Weight int
	// Disruption; empty fields take the defaults of the kind of pool.
	Disruption Disruption
	// ExpireAfter is the age at which a node is replaced whatever runs on it: a duration ("720h") or "Never". Default:
	// the class kind's.
	ExpireAfter string
	// TerminationGracePeriod bounds how long a node may drain, as a duration; it overrules disruption budgets of pods
	// and the do-not-disrupt annotation. Empty means as long as it takes. Changing it drifts the nodes.
	TerminationGracePeriod string
}

// Advertised describes the nodes of a GPU pool and how many there may be.
type Advertised struct {
	// InstanceTypes are exact types, all with VCPUs and GPUs as below.
	InstanceTypes []string
	DeviceMode    pool.DeviceMode
	// VCPUs and GPUs of one node.
	VCPUs, GPUs int
	// MaxNodeCount becomes a limit on GPUs, or on vCPUs for DRA pools, whose nodes do not register nvidia.com/gpu. A
	// limit on nodes alone lets one node too many through (field fault BR-22; measured on Karpenter 1.15.0). For a
	// static pool: the limit on nodes, by default NodeCount; a drifted node is only replaced when one more than
	// NodeCount is allowed.
	MaxNodeCount int
	// MaxOnDemandNodeCount of these nodes may be bought on demand or from a reservation, the rest only as spot; see
	// Parts. Nil leaves it to Karpenter how each node is bought.
	MaxOnDemandNodeCount *int
	// Static keeps NodeCount nodes whatever the pods ask for. Needs the alpha gate StaticCapacity. Cannot be changed on
	// a live pool.
	Static    bool
	NodeCount int
}

// General describes the nodes of a pool for everything without GPUs.
type General struct {
	// Categories of instances by their first letter; default c, m and r.
	Categories []string
	// Families narrows the choice to exact families, such as m7i; empty allows all of the categories.
	Families []string
	// MinGeneration is the oldest generation; default 5, since older ones are not built on Nitro throughout.
	MinGeneration int
	// VCPUs and MemoryGiB are the limits of the whole pool.
	VCPUs, MemoryGiB int
}

// Disruption says when Karpenter may take nodes away of its own accord.
type Disruption struct {
	// ConsolidationPolicy: WhenEmpty (default of an advertised pool), WhenEmptyOrUnderutilized (default otherwise) or
	// Balanced.
	ConsolidationPolicy string
	// ConsolidateAfter is how long a node must be without change first: a duration or "Never". Default 10m for an
	// advertised pool, so that a node outlives the gap between two jobs; 1m otherwise.
	ConsolidateAfter string
	// Budgets limit how many nodes may go at a time; the tightest active one counts. Default: one node for an
	// advertised pool, a tenth otherwise.
	Budgets []Budget
}

// Budget limits voluntary disruption, always or in a window.
type Budget struct {
	// Nodes as a number or a share, in text: "1" or "10%".
	Nodes string `json:"nodes"`
	// Schedule starts a window: a cron line of five fields, in UTC. Goes with duration.
	Schedule string `json:"schedule,omitempty"`
	// Duration of the window in hours and minutes, for example "1h30m".
	Duration string `json:"duration,omitempty"`
	// Reasons this budget is for; all by default.
	Reasons []string `json:"reasons,omitempty" jsonschema:"enum=Empty,enum=Drifted,enum=Underutilized,enum=Unhealthy"`
}

// Never is the duration that does not end.
const Never = "Never"

// Defaults, with the reason at the field they fill.
const (
	// DefaultAMIAlias is known good, seen in public use in September 2026.
	// https://github.com/awslabs/amazon-eks-ami/releases
	DefaultAMIAlias = "al2023@v20260911"
	// DefaultDiskGiB of a general pool's nodes.
	DefaultDiskGiB = 100

	AdvertisedConsolidateAfter = "10m"
	GeneralConsolidateAfter    = "1m"
	AdvertisedBudget           = "1"
	GeneralBudget              = "10%"

	defaultMinGeneration     = 5
	whenEmpty                = "WhenEmpty"
	whenEmptyOrUnderutilized = "WhenEmptyOrUnderutilized"
	balanced                 = "Balanced"
)

// DefaultCategories of a general pool's instances.
var DefaultCategories = []string{"c", "m", "r"}

// withDefaults returns a copy in which nothing is left to a default of Karpenter's.
func (s Spec) withDefaults(kind ClassKind) Spec {
	advertised := s.Advertised != nil
	choose := func(a, general string) string {
		if advertised {
			return a
		}
		return general
	}
	s.ExpireAfter = cmp.Or(s.ExpireAfter, choose(kind.AdvertisedExpireAfter, kind.GeneralExpireAfter))
	d := &s.Disruption
	d.ConsolidationPolicy = cmp.Or(d.ConsolidationPolicy, choose(whenEmpty, whenEmptyOrUnderutilized))
	d.ConsolidateAfter = cmp.Or(d.ConsolidateAfter, choose(AdvertisedConsolidateAfter, GeneralConsolidateAfter))
	if len(d.Budgets) == 0 {
		d.Budgets = []Budget{{Nodes: choose(AdvertisedBudget, GeneralBudget)}}
	}
	s.Architecture = cmp.Or(s.Architecture, "x86_64")
	if s.General != nil {
		g := *s.General
		if len(g.Categories) == 0 {
			g.Categories = DefaultCategories
		}
		g.MinGeneration = cmp.Or(g.MinGeneration, defaultMinGeneration)
		s.General = &g
	}
	if advertised && s.Advertised.Static {
		a := *s.Advertised
		a.MaxNodeCount = cmp.Or(a.MaxNodeCount, a.NodeCount)
		s.Advertised = &a
	}
	return s
}
