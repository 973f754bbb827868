package clusterautoscaler

import (
	"fmt"
	"slices"

	"github.com/headroom-eks/headroom/components/nodegroup"
	"github.com/headroom-eks/headroom/problem"
)

// Sizes of a managed node group, in nodes.
type Sizes struct {
	Min, Max int
	Seed     int // desired size when the group is made, never applied again
}

// ValidateSizes reports sizes that EKS would refuse of a group.
func ValidateSizes(path string, s Sizes) problem.List {
	return nodegroup.Scaling{Min: s.Min, Desired: s.Seed, Max: s.Max}.Validate(path)
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
		problems.Add(path+".zones", "name a zone twice", zones, "name each once")
	}
	if len(sorted) == 0 || sorted[0] == "" {
		problems.Add(path+".zones", "names no zones", zones, "name the zones to spread over")
	} else if total.Max < len(sorted) {
		problems.Add(path+".maxNodeCount", fmt.Sprintf("leaves no node for some of its %d zones, and EKS refuses a "+
			"group with a maximum of "+
			"0", len(sorted)), total.Max, "raise it, name fewer zones, or do not spread per zone")
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
