package config

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/headroom-eks/headroom/pool"
	"github.com/headroom-eks/headroom/problem"
	"k8s.io/apimachinery/pkg/util/validation"
)

var (
	// gpuFamily are the EC2 families with GPUs or other accelerators.
	gpuFamily = regexp.MustCompile(`^(g[0-9]|gr[0-9]|p[0-9]|inf|trn|dl|vt)`)
	// poolType are the instance types a pool may name: whole L4 and L40S GPUs. The fractional families g6f and gr6f are
	// left out on purpose.
	poolType      = regexp.MustCompile(`^(g6|g6e|gr6)\.([0-9]*x?large|metal)$`)
	reservationID = regexp.MustCompile(`^cr-[0-9a-z]+$`)
)

// maxPoolName keeps room for what is made of the name (node group names, labels); control planes take 40 characters
// too.
const maxPoolName = 40

func (p Pool) validate(at string, e Environment, problems *problem.List) {
	for _, msg := range validation.IsDNS1123Label(p.Name) {
		problems.Addf(at, "the name is refused by Kubernetes: %s", msg)
	}
	if len(p.Name) > maxPoolName {
		problems.Addf(at, "the name has %d characters; at most %d", len(p.Name), maxPoolName)
	}
	if p.Name == "system" || p.Name == "general" {
		problems.Addf(at, "the name belongs to the %s pool; choose another", p.Name)
	}
	oneOf(at+".scaler", p.Scaler, pool.Scalers, problems)
	oneOf(at+".deviceMode", p.DeviceMode, pool.DeviceModes, problems)
	p.validateTypes(at, problems)
	p.validateCounts(at, problems)
	p.validateBounds(at, e, problems)
	p.validateCapacityTypes(at, problems)
	p.validateScalerKeys(at, e, problems)
	e.validateZones(at, p.Zones, problems)
	if p.DiskGiB < 50 || p.DiskGiB > maxDiskGiB {
		problems.Addf(at+".diskGiB", "found %d; 50 to %d: the GPU image alone needs most of 50", p.DiskGiB, maxDiskGiB)
	}
	p.validateNodes(at, problems)
}

// validateZones of a pool. The zones of an existing network are known when AWS has been asked.
func (e Environment) validateZones(at string, zones []string, problems *problem.List) {
	for i, zone := range zones {
		if e.Network.Existing == nil && !slices.Contains(e.Network.Zones, zone) {
			problems.Addf(at+".zones", "%s is not a zone of the network (%s)", zone, strings.Join(e.Network.Zones, ", "))
		}
		if slices.Contains(zones[:i], zone) {
			problems.Addf(at+".zones", "%s is given twice; keep one", zone)
		}
	}
}

func (p Pool) validateTypes(at string, problems *problem.List) {
	if len(p.InstanceTypes) == 0 {
		problems.Addf(at+".instanceTypes", "is empty; name one, for example g6.xlarge")
		return
	}
	var sizes []string
	for i, t := range p.InstanceTypes {
		if !poolType.MatchString(t) {
			problems.Addf(at+".instanceTypes", "found %q; use types of the families g6, g6e and gr6, whose GPUs are "+
				"whole (g6f and gr6f carry a part of one)", t)
			continue
		}
		if slices.Contains(p.InstanceTypes[:i], t) {
			problems.Addf(at+".instanceTypes", "%s is given twice; keep one", t)
		}
		if _, size, _ := strings.Cut(t, "."); !slices.Contains(sizes, size) {
			sizes = append(sizes, size)
		}
	}
	if len(sizes) > 1 {
		problems.Addf(at+".instanceTypes", "found the sizes %s; a pool has one shape, make a pool of each size",
			strings.Join(sizes, ", "))
	}
	if p.Scaler == pool.Fixed && len(p.InstanceTypes) > 1 {
		problems.Addf(at+".instanceTypes", "found %d types; a fixed pool has one", len(p.InstanceTypes))
	}
}

func (p Pool) validateCounts(at string, problems *problem.List) {
	for _, c := range []struct {
		key   string
		value *int
		least int
	}{{"nodeCount", p.NodeCount, 0}, {"minNodeCount", p.MinNodeCount, 0}, {"maxNodeCount", p.MaxNodeCount, 1}} {
		if c.value != nil && *c.value < c.least {
			problems.Addf(at, "%s is %d; at least %d", c.key, *c.value, c.least)
		}
	}
	if low, high := p.MinNodeCount, p.MaxNodeCount; low != nil && high != nil && *low > *high {
		problems.Addf(at, "minNodeCount %d exceeds maxNodeCount %d; lower the minimum or raise the maximum", *low, *high)
	}
	if count, high := p.NodeCount, p.MaxNodeCount; count != nil && high != nil && *count > *high {
		problems.Addf(at, "nodeCount %d exceeds maxNodeCount %d; lower the count or raise the maximum", *count, *high)
	}
	if count, low := p.NodeCount, p.MinNodeCount; count != nil && low != nil && *count < *low {
		problems.Addf(at, "nodeCount %d is below minNodeCount %d; raise the count or lower the minimum", *count, *low)
	}
	switch {
	case p.Scaler == pool.Fixed || p.Static:
		if p.NodeCount == nil {
			problems.Addf(at, "nodeCount is required: nothing moves this pool, so it has exactly that many nodes")
		}
	case p.MaxNodeCount == nil:
		problems.Addf(at, "maxNodeCount is required with scaler %s", p.Scaler)
	}
	if p.Static && p.MaxNodeCount != nil {
		problems.Addf(at, "maxNodeCount has no place in a static pool: it has nodeCount nodes; remove it")
	}
	if !p.Scaler.Dynamic() {
		return
	}
	if p.MinNodeCount != nil && *p.MinNodeCount > 0 {
		problems.Addf(at, "minNodeCount is %d, but %s keeps no minimum; remove it, or use static: true with "+
			"karpenter, or cluster-autoscaler", *p.MinNodeCount, p.Scaler)
	}
	if p.NodeCount != nil && !p.Static {
		problems.Addf(at, "nodeCount is %d, but %s makes nodes only for pods; remove it, or use static: true with "+
			"karpenter", *p.NodeCount, p.Scaler)
	}
}

func (p Pool) validateCapacityTypes(at string, problems *problem.List) {
	for i, t := range p.CapacityTypes {
		oneOf(at+".capacityTypes", t, pool.CapacityTypes, problems)
		if slices.Contains(p.CapacityTypes[:i], t) {
			problems.Addf(at+".capacityTypes", "%s is given twice; keep one", t)
		}
	}
	if p.Scaler.ManagedGroup() && len(p.CapacityTypes) > 1 {
		problems.Addf(at+".capacityTypes", "found %d; a managed node group has one, make a pool of each",
			len(p.CapacityTypes))
	}
	reserved := slices.Contains(p.CapacityTypes, pool.Reserved)
	if reserved != (p.Reservation != nil) {
		problems.Addf(at, "capacity type reserved and the key reservation go together; give both or neither")
	}
	if r := p.Reservation; r != nil {
		if !reservationID.MatchString(r.ID) || r.Count < 1 {
			problems.Addf(at+".reservation", "found id %q and count %d; write an id such as cr-0123456789abcdef0 and "+
				"a count of at least 1", r.ID, r.Count)
		}
		if _, err := time.Parse(time.RFC3339, r.End); r.End != "" && err != nil {
			problems.Addf(at+".reservation.end", "found %q; write a time in quotes, such as \"2027-01-31T00:00:00Z\"",
				r.End)
		}
	}
}

// validateScalerKeys refuses keys that the pool's scaler would ignore: a setting without effect is a promise without
// cover.
func (p Pool) validateScalerKeys(at string, e Environment, problems *problem.List) {
	dynamic, karpenter, managed := p.Scaler.Dynamic(), p.Scaler == pool.Karpenter, p.Scaler.ManagedGroup()
	for _, k := range []struct {
		key     string
		set     bool
		allowed bool
		where   string
	}{
		{"static", p.Static, karpenter, "karpenter"},
		{"localDisks", p.LocalDisks != "", karpenter, "karpenter"},
		{"kubelet", len(p.Kubelet) > 0, karpenter, "karpenter"},
		{"weight", p.Weight != 0, dynamic, "karpenter and auto-mode"},
		{"consolidateAfter", p.ConsolidateAfter != "", dynamic, "karpenter and auto-mode"},
		{"expireAfter", p.ExpireAfter != "", dynamic, "karpenter and auto-mode"},
		{"terminationGracePeriod", p.TerminationGracePeriod != "", dynamic, "karpenter and auto-mode"},
		{"budgets", len(p.Budgets) > 0, dynamic, "karpenter and auto-mode"},
		{"spread", p.Spread != "", p.Scaler == pool.ClusterAutoscaler, "cluster-autoscaler"},
		{"acceptNoWakeFromZero", p.AcceptNoWakeFromZero, p.Scaler == pool.ClusterAutoscaler, "cluster-autoscaler"},
		{"nodeRepair", p.NodeRepair, managed, "fixed and cluster-autoscaler"},
	} {
		if k.set && !k.allowed {
			problems.Addf(at+"."+k.key, "has no effect with scaler %s; remove it (it is for %s)", p.Scaler, k.where)
		}
	}
	if p.LocalDisks != "" {
		oneOf(at+".localDisks", p.LocalDisks, []string{"raid0"}, problems)
	}
	if p.Spread != "" {
		oneOf(at+".spread", p.Spread, []string{"per-zone"}, problems)
	}
	if p.Weight < 0 || p.Weight > 100 || p.Static && p.Weight != 0 {
		problems.Addf(at+".weight", "found %d; 1 to 100, and none for a static pool", p.Weight)
	}
	if dynamic {
		validateDisruption(at, p.ConsolidateAfter, p.ExpireAfter, p.Budgets, problems)
		if g := p.TerminationGracePeriod; g != "" && !nodeDuration.MatchString(g) {
			problems.Addf(at+".terminationGracePeriod", "found %q; write a duration such as 30m", g)
		}
	}
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
