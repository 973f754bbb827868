package config

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	capacityplan "github.com/headroom-eks/headroom/capacity/plan"
	"github.com/headroom-eks/headroom/components/nodegroup"
	"github.com/headroom-eks/headroom/components/nodepool"
	"github.com/headroom-eks/headroom/pool"
	"github.com/headroom-eks/headroom/pool/label"
	"github.com/headroom-eks/headroom/pool/volume"
	"github.com/headroom-eks/headroom/problem"
	"k8s.io/apimachinery/pkg/util/validation"
)

// maxPoolName keeps room for what is made of the name (node group names, labels); control planes take 40 characters
// too.
const maxPoolName = 40

// minPoolDiskGiB: the image of GPU nodes alone needs most of it.
const minPoolDiskGiB = 50

// Bounds beyond which a number is a slip of the finger, and arithmetic over it may overflow.
const (
	// maxNodes of the largest cluster that EKS has shown.
	// https://aws.amazon.com/blogs/containers/under-the-hood-amazon-eks-ultra-scale-clusters/
	maxNodes        = 100_000
	maxGroupNodes   = capacityplan.DefaultNodesPerGroup
	maxGeneralLimit = 10_000_000 // vCPUs or GiB
)

// poolSize is the size of an instance type that a pool may name.
var poolSize = regexp.MustCompile(`^([0-9]*x?large|metal)$`)

// identityLabels are set by the kubelet of a node, or of what it runs on; another value would make a node somebody it
// is not.
var identityLabels = []string{"kubernetes.io/hostname", "kubernetes.io/arch", "kubernetes.io/os",
	"node.kubernetes.io/instance-type"}

func (p Pool) validate(at string, e Environment, problems *problem.List) {
	if _, asked := classKinds[p.Scaler]; !asked {
		for _, msg := range validation.IsDNS1123Label(p.Name) {
			problems.Add(at+".name", "is refused by Kubernetes: "+msg, p.Name, "")
		}
	}
	if len(p.Name) > maxPoolName {
		problems.Add(at+".name", fmt.Sprintf("has more than %d characters", maxPoolName), len(p.Name), "shorten it")
	}
	if p.Name == SystemPool || p.Name == GeneralPool {
		problems.Add(at+".name", "belongs to the pool of that name", p.Name, "choose another")
	}
	problem.OneOf(problems, at+".scaler", p.Scaler, pool.Scalers)
	problem.OneOf(problems, at+".deviceMode", p.DeviceMode, pool.DeviceModes)
	p.validateTypes(at, problems)
	p.validateCounts(at, problems)
	p.validateBounds(at, e, problems)
	p.validateCapacityTypes(at, problems)
	p.validateReservation(at, problems)
	if slices.Contains(pool.Scalers, p.Scaler) { // an unknown one would be said to ignore every key
		p.validateScalerKeys(at, problems)
	}
	e.validateZones(at, p.Zones, problems)
	problems.Join(volume.Validate(at+".diskGiB", p.DiskGiB, minPoolDiskGiB))
	p.validateNodes(at, problems)
}

// validateZones of a pool. The zones of an existing network are known when AWS has been asked.
func (e Environment) validateZones(at string, zones []string, problems *problem.List) {
	for i, zone := range zones {
		if e.Network.Existing == nil && !slices.Contains(e.Network.Zones, zone) {
			problems.Add(fmt.Sprintf("%s.zones[%d]", at, i), "is not a zone of the network", zone,
				"use one of "+strings.Join(e.Network.Zones, ", "))
		}
	}
	problem.Unique(problems, at+".zones", zones)
}

func (p Pool) validateTypes(at string, problems *problem.List) {
	at += ".instanceTypes"
	if len(p.InstanceTypes) == 0 {
		problems.Add(at, "is empty", nil, "name one, for example g6.xlarge")
		return
	}
	var sizes []string
	for i, t := range p.InstanceTypes {
		_, size, _ := strings.Cut(t, ".")
		if !slices.Contains(pool.GPUFamilies, pool.Family(t)) || !poolSize.MatchString(size) {
			problems.Add(fmt.Sprintf("%s[%d]", at, i), "is not a type with whole GPUs that this program knows", t,
				"use one of the families "+strings.Join(pool.GPUFamilies, ", "))
			continue
		}
		if !slices.Contains(sizes, size) {
			sizes = append(sizes, size)
		}
	}
	problem.Unique(problems, at, p.InstanceTypes)
	if len(sizes) > 1 {
		problems.Add(at, "have several sizes, and a pool has one shape", sizes, "make a pool of each size")
	}
	if p.Scaler == pool.Fixed && len(p.InstanceTypes) > 1 {
		problems.Add(at, "are several, and a fixed pool has one", len(p.InstanceTypes), "keep one")
	}
}

// count is one of the pool's counts; the value is nil when it is not given.
type count struct {
	key   string
	value *int
	least int
}

func (p Pool) counts() []count {
	return []count{{"nodeCount", p.NodeCount, 0}, {"minNodeCount", p.MinNodeCount, 0},
		{"maxNodeCount", p.MaxNodeCount, 1}}
}

// validateCounts says which counts a pool has. How those of a managed group lie to each other is the group's rule.
func (p Pool) validateCounts(at string, problems *problem.List) {
	readable := true
	for _, c := range p.counts() {
		if c.value != nil && *c.value < c.least {
			readable = false
			problems.Add(at+"."+c.key, fmt.Sprintf("is below %d", c.least), *c.value, "raise it")
		}
	}
	if p.Scaler.ManagedGroup() && readable {
		problems.Join(p.scaling().Validate(at))
	}
	switch {
	case !slices.Contains(pool.Scalers, p.Scaler): // which counts it needs is not known
	case p.Scaler == pool.Fixed || p.Static:
		if p.NodeCount == nil {
			problems.Add(at+".nodeCount", "is required: nothing moves this pool, so it has exactly that many nodes",
				nil, "")
		}
	case p.MaxNodeCount == nil:
		problems.Add(at+".maxNodeCount", "is required with scaler "+string(p.Scaler), nil, "")
	}
	if p.Static && p.MaxNodeCount != nil {
		problems.Add(at+".maxNodeCount", "has no place in a static pool, which has nodeCount nodes", *p.MaxNodeCount,
			"remove it")
	}
	if !p.Scaler.Dynamic() {
		return
	}
	if p.MinNodeCount != nil && *p.MinNodeCount > 0 {
		problems.Add(at+".minNodeCount", fmt.Sprintf("has no effect: %s keeps no minimum", p.Scaler), *p.MinNodeCount,
			"remove it, or use static: true with karpenter, or cluster-autoscaler")
	}
	if p.NodeCount != nil && !p.Static {
		problems.Add(at+".nodeCount", fmt.Sprintf("has no effect: %s makes nodes only for pods", p.Scaler),
			*p.NodeCount,
			"remove it, or use static: true with karpenter")
	}
}

// scaling of the pool's groups together. A count that is not given is in nobody's way.
func (p Pool) scaling() nodegroup.Scaling {
	s := nodegroup.Scaling{}
	if p.MinNodeCount != nil {
		s.Min = *p.MinNodeCount
	}
	s.Desired = s.Min
	if p.NodeCount != nil {
		s.Desired = *p.NodeCount
	}
	s.Max = max(s.Min, s.Desired, 1)
	if p.MaxNodeCount != nil {
		s.Max = *p.MaxNodeCount
	}
	return s
}

// validateBounds holds node counts against what EKS can have.
func (p Pool) validateBounds(at string, e Environment, problems *problem.List) {
	group, shared := maxGroupNodes, "in one managed group"
	if p.Spread != "" {
		zones := len(p.Zones)
		if zones == 0 {
			zones = len(e.Network.Zones)
		}
		if zones == 0 { // of an existing network, not known yet
			zones = maxNodes / group
		}
		group, shared = group*zones, fmt.Sprintf("in each of the managed groups of %d zones", zones)
	}
	for _, c := range p.counts() {
		moves := p.Scaler == pool.ClusterAutoscaler && c.key == "maxNodeCount" || p.Scaler == pool.Fixed &&
			c.key == "nodeCount"
		switch {
		case c.value == nil || *c.value <= min(group, maxNodes):
		case *c.value > maxNodes:
			problems.Add(at+"."+c.key, fmt.Sprintf("is above %d, the nodes of the largest cluster of EKS", maxNodes),
				*c.value,
				"lower it")
		case moves:
			problems.Add(at+"."+c.key, fmt.Sprintf("is above the %d nodes that EKS allows %s", maxGroupNodes, shared),
				*c.value,
				"make several pools")
		}
	}
}

func (p Pool) validateCapacityTypes(at string, problems *problem.List) {
	for i, t := range p.CapacityTypes {
		problem.OneOf(problems, fmt.Sprintf("%s.capacityTypes[%d]", at, i), t, pool.CapacityTypes)
	}
	problem.Unique(problems, at+".capacityTypes", p.CapacityTypes)
	if p.Scaler.ManagedGroup() && len(p.CapacityTypes) > 1 {
		problems.Add(at+".capacityTypes", "are several, and a managed node group has one", len(p.CapacityTypes),
			"make a pool of each")
	}
}

func (p Pool) validateReservation(at string, problems *problem.List) {
	if slices.Contains(p.CapacityTypes, pool.Reserved) != (p.Reservation != nil) {
		problems.Add(at+".reservation", "goes together with capacity type reserved", nil, "give both or neither")
	}
	r := p.Reservation
	if r == nil {
		return
	}
	problems.Join(nodepool.ValidateReservation(at+".reservation.id", r.ID))
	if r.Count < 1 {
		problems.Add(at+".reservation.count", "is below 1", r.Count, "give the number of its instances")
	}
	if _, err := time.Parse(time.RFC3339, r.End); r.End != "" && err != nil {
		problems.Add(at+".reservation.end", "is not a time", r.End,
			`use a form such as "2027-01-31T00:00:00Z", in quotes`)
	}
}

// validateScalerKeys refuses keys that the pool's scaler would ignore: a setting without effect is a promise without
// cover. What Auto Mode cannot express it refuses itself, with its reason.
func (p Pool) validateScalerKeys(at string, problems *problem.List) {
	dynamic, managed := p.Scaler.Dynamic(), p.Scaler.ManagedGroup()
	for _, k := range []struct {
		key     string
		set     bool
		allowed bool
		where   string
	}{
		{"static", p.Static, dynamic, "karpenter"},
		{"localDisks", p.LocalDisks != "", dynamic, "karpenter"},
		{"kubelet", !p.Kubelet.IsZero(), dynamic, "karpenter"},
		{"weight", p.Weight != 0, dynamic, "karpenter and auto-mode"},
		{"maxOnDemandNodeCount", p.MaxOnDemandNodeCount != nil, dynamic, "karpenter and auto-mode"},
		{"consolidateAfter", p.ConsolidateAfter != "", dynamic, "karpenter and auto-mode"},
		{"expireAfter", p.ExpireAfter != "", dynamic, "karpenter and auto-mode"},
		{"terminationGracePeriod", p.TerminationGracePeriod != "", dynamic, "karpenter and auto-mode"},
		{"budgets", len(p.Budgets) > 0, dynamic, "karpenter and auto-mode"},
		{"spread", p.Spread != "", p.Scaler == pool.ClusterAutoscaler, "cluster-autoscaler"},
		{"acceptNoWakeFromZero", p.AcceptNoWakeFromZero, p.Scaler == pool.ClusterAutoscaler, "cluster-autoscaler"},
		{"nodeRepair", p.NodeRepair, managed, "fixed and cluster-autoscaler"},
	} {
		if k.set && !k.allowed {
			problems.Add(at+"."+k.key, "has no effect with scaler "+string(p.Scaler), nil, "remove it, it is for "+
				k.where)
		}
	}
	if p.LocalDisks != "" {
		problem.OneOf(problems, at+".localDisks", p.LocalDisks, []string{"raid0"})
	}
	if p.Spread != "" {
		problem.OneOf(problems, at+".spread", p.Spread, []string{"per-zone"})
	}
}

// validateNodes holds what nodes of the pool carry, and for a NodePool when they come and go.
func (p Pool) validateNodes(at string, problems *problem.List) {
	for i, t := range p.Taints {
		if t.Same(pool.GPUTaint) {
			problems.Add(fmt.Sprintf("%s.taints[%d] %q", at, i, t.Key), fmt.Sprintf("every GPU pool has %s already",
				pool.GPUTaint), nil, "remove it")
		}
	}
	for i, t := range p.StartupTaints {
		if t.Same(pool.GPUTaint) {
			problems.Add(fmt.Sprintf("%s.startupTaints[%d] %q", at, i, t.Key),
				"is a taint that stays on every GPU pool", nil,
				"remove it")
		}
	}
	if _, set := p.Labels[pool.AcceleratorLabel]; set {
		problems.Add(fmt.Sprintf("%s.labels[%q]", at, pool.AcceleratorLabel),
			"is a label that the program sets itself, where nodes register their GPUs", nil, "remove it")
	}
	problems.Join(nodepool.ValidateKubelet(at+".kubelet", p.Kubelet))
	if kind, isNodePool := classKinds[p.Scaler]; isNodePool {
		spec := p.Spec()
		spec.Taints = p.Taints // so that their paths are those of the configuration
		problems.Join(nodepool.ValidateSettings(at, spec, kind))
		return
	}
	problems.Join(label.ValidateGroup(at+".labels", p.Labels))
	for _, key := range slices.Sorted(maps.Keys(p.Labels)) {
		if slices.Contains(identityLabels, key) || strings.HasPrefix(key, "topology.kubernetes.io/") {
			problems.Add(fmt.Sprintf("%s.labels[%q]", at, key), "is a label that nodes get by themselves, from what "+
				"they are",
				nil, "remove it")
		}
	}
	problems.Join(label.ValidateTaints(at+".taints", p.Taints))
	problems.Join(label.ValidateGroupTaints(at+".taints", slices.Concat(p.AllTaints(), p.StartupTaints)))
	problems.Join(label.ValidateStartupTaints(at+".startupTaints", p.StartupTaints, p.Taints))
}

// Warnings are what a person should know although nothing is refused.
func (e Environment) Warnings() (warnings []string) {
	for i, p := range e.Pools {
		at := poolPath("pools", i, p.Name)
		if p.Scaler == pool.Fixed && (p.MinNodeCount != nil || p.MaxNodeCount != nil) {
			warnings = append(warnings, fmt.Sprintf("%s: minNodeCount and maxNodeCount have no effect: with scaler "+
				"fixed nothing moves the pool, which has %d node(s) and advertises no more; choose a scaler or "+
				"remove the bounds", at, *p.NodeCount))
		}
	}
	if e.GPU.ProvidedElsewhere && len(e.Pools) > 0 {
		warnings = append(warnings, "gpu.providedElsewhere: nothing here makes GPUs claimable; until a device plugin "+
			"or DRA driver is installed, GPU pods stay Pending and Karpenter keeps GPU nodes as not initialised")
	}
	if len(e.Cluster.PublicAccessCIDRs) == 0 {
		warnings = append(warnings, "cluster.publicAccessCidrs is empty: the Kubernetes API answers inside the VPC "+
			"only, so pulumi up must run where it can be reached (a VPN, a peered network, a runner in the VPC)")
	}
	return warnings
}
