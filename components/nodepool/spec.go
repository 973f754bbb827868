// Package nodepool makes one pool of nodes that Karpenter scales: a NodePool and its EC2NodeClass.
//
// It owns the two manifests: what is asked of the pool, which requests are refused, how node counts become limits, and
// the order in which the objects are made and deleted. It does not own the controller, its permissions or the nodes'
// role (package karpenter), nor whether the wished number of nodes can be reached (package capacity). The plan of the
// NodePool is pure and takes the kind of node class as a parameter, so EKS Auto Mode uses it with its own.
package nodepool

import "github.com/headroom-eks/headroom/pool"

// Spec is what a pool is asked to be. Exactly one of Advertised and General is set.
type Spec struct {
	// Name of the NodePool, of its node class and of the pool's label and tag; a DNS label.
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
	// Never for an advertised pool, since expiry takes a model down before its replacement is ready (field fault
	// BR-80); 720h otherwise.
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
	// Nodes as a number ("1") or a share ("10%").
	Nodes string `json:"nodes"`
	// Schedule starts the window: a cron line in UTC, without a time zone. Goes with Duration.
	Schedule string `json:"schedule,omitempty"`
	// Duration of the window in hours and minutes, such as "8h" or "1h30m".
	Duration string `json:"duration,omitempty"`
	// Reasons the budget is for: Empty, Underutilized, Drifted, Unhealthy. None means all.
	Reasons []string `json:"reasons,omitempty"`
}

// Defaults, with the reason at the field they fill.
const (
	never = "Never"

	defaultExpireAfter       = "720h"
	advertisedConsolidate    = "10m"
	generalConsolidate       = "1m"
	defaultMinGeneration     = 5
	whenEmpty                = "WhenEmpty"
	whenEmptyOrUnderutilized = "WhenEmptyOrUnderutilized"
	balanced                 = "Balanced"
)

// withDefaults returns a copy in which nothing is left to a default of Karpenter's.
func (s Spec) withDefaults() Spec {
	fill := func(value *string, advertised, general string) {
		if *value != "" {
			return
		}
		if *value = general; s.Advertised != nil {
			*value = advertised
		}
	}
	fill(&s.ExpireAfter, never, defaultExpireAfter)
	fill(&s.Disruption.ConsolidationPolicy, whenEmpty, whenEmptyOrUnderutilized)
	fill(&s.Disruption.ConsolidateAfter, advertisedConsolidate, generalConsolidate)
	if len(s.Disruption.Budgets) == 0 {
		nodes := "10%"
		if s.Advertised != nil {
			nodes = "1"
		}
		s.Disruption.Budgets = []Budget{{Nodes: nodes}}
	}
	if s.Architecture == "" {
		s.Architecture = "x86_64"
	}
	if s.General != nil {
		g := *s.General
		if len(g.Categories) == 0 {
			g.Categories = []string{"c", "m", "r"}
		}
		if g.MinGeneration == 0 {
			g.MinGeneration = defaultMinGeneration
		}
		s.General = &g
	}
	if a := s.Advertised; a != nil && a.Static && a.MaxNodeCount == 0 {
		copied := *a
		copied.MaxNodeCount = a.NodeCount
		s.Advertised = &copied
	}
	return s
}
