package clusterautoscaler

import (
	"slices"

	"github.com/headroom-eks/headroom/problem"
)

// Sizes of a managed node group, in nodes.
type Sizes struct {
	Min, Max int
	Seed     int // desired size when the group is made, never applied again
}

// ValidateSizes reports sizes that contradict each other (field fault BR-16).
func ValidateSizes(path string, s Sizes) (problems problem.List) {
	if s.Min < 0 {
		problems.Addf(path, "minNodeCount %d is below 0; raise it", s.Min)
	}
	if s.Max < 1 {
		problems.Addf(path, "maxNodeCount %d is below 1, which EKS refuses; raise it", s.Max)
	}
	if s.Min > s.Max {
		problems.Addf(path, "minNodeCount %d exceeds maxNodeCount %d; lower it or raise the maximum", s.Min, s.Max)
	} else if s.Seed < s.Min || s.Seed > s.Max {
		problems.Addf(path, "nodeCount %d lies outside minNodeCount %d and maxNodeCount %d; move it between them",
			s.Seed, s.Min, s.Max)
	}
	return problems
}

// ZoneShare is the part of a pool that one zone's group has.
type ZoneShare struct {
	Zone string
	Sizes
}

// PerZone splits a pool's sizes over one group for each zone. The sums are the pool's own; zones come back sorted, and
// those first in the alphabet get what does not divide. The same zones and sizes always give the same shares; another
// set of zones moves shares.
func PerZone(path string, zones []string, total Sizes) ([]ZoneShare, problem.List) {
	problems := ValidateSizes(path, total)
	sorted := slices.Compact(slices.Sorted(slices.Values(zones)))
	if len(sorted) < len(zones) {
		problems.Addf(path+" zones", "a zone is named twice in %q; name each once", zones)
	}
	if len(sorted) == 0 || sorted[0] == "" {
		problems.Addf(path+" zones", "%q names no zones; name the zones to spread over", zones)
	} else if total.Max < len(sorted) {
		problems.Addf(path, "maxNodeCount %d leaves no node for some of its %d zones, and EKS refuses a group with a "+
			"maximum of 0; "+
			"raise it, name fewer zones, or do not spread per zone", total.Max, len(sorted))
	}
	if problems.Err() != nil {
		return nil, problems
	}
	shares := make([]ZoneShare, len(sorted))
	for i, zone := range sorted {
		// min <= seed <= max holds in every zone, because the split is monotonic in the total.
		shares[i] = ZoneShare{zone, Sizes{
			Min:  share(total.Min, len(sorted), i),
			Max:  share(total.Max, len(sorted), i),
			Seed: share(total.Seed, len(sorted), i),
		}}
	}
	return shares, problems
}

func share(total, parts, i int) int {
	if i < total%parts {
		return total/parts + 1
	}
	return total / parts
}
