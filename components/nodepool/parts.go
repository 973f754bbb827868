package nodepool

import (
	"fmt"
	"slices"

	"github.com/headroom-eks/headroom/pool"
	"github.com/headroom-eks/headroom/problem"
)

// Part is one NodePool of a pool. A pool has one, or with MaxOnDemandNodeCount two, which share the node class, the
// labels and the taints. A NodePool's limit holds for all ways of buying together, so a limit of one way needs a
// NodePool of its own.
type Part struct {
	// Name of the NodePool.
	Name string
	// Spec is the pool's, with the ways of buying, the maximum and the weight of this part.
	Spec Spec
}

// SpotName is the name of the second NodePool of a pool: the one that buys spot alone.
func SpotName(pool string) string { return pool + "-spot" }

// Parts of a valid Spec: first the one with the pool's name, whose nodes stay when the pool is divided, then the one
// that buys spot. Together they allow exactly the nodes of the pool. A reservation is bought by the first, since its
// instances count against the on-demand quota.
func Parts(spec Spec) []Part {
	a := spec.Advertised
	if a == nil || a.MaxOnDemandNodeCount == nil {
		return []Part{{Name: spec.Name, Spec: spec}}
	}
	part := func(name string, nodes int, buys func(pool.CapacityType) bool) Part {
		s, own := spec, *a
		own.MaxNodeCount, own.MaxOnDemandNodeCount = nodes, nil
		s.Advertised = &own
		s.CapacityTypes = slices.DeleteFunc(slices.Clone(spec.CapacityTypes), func(t pool.CapacityType) bool {
			return !buys(t)
		})
		return Part{Name: name, Spec: s}
	}
	firm := part(spec.Name, *a.MaxOnDemandNodeCount, func(t pool.CapacityType) bool { return t != pool.Spot })
	spot := part(SpotName(spec.Name), a.MaxNodeCount-*a.MaxOnDemandNodeCount,
		func(t pool.CapacityType) bool { return t == pool.Spot })
	spot.Spec.Weight++ // tried first: https://karpenter.sh/v1.15/concepts/nodepools/#specweight
	return []Part{firm, spot}
}

// validateParts holds a limit on on-demand nodes against the pool that it divides.
func validateParts(path string, spec Spec) (problems problem.List) {
	a := spec.Advertised
	if a == nil || a.MaxOnDemandNodeCount == nil {
		return problems
	}
	n, at := *a.MaxOnDemandNodeCount, path+".maxOnDemandNodeCount"
	switch {
	case a.Static:
		problems.Add(at, "has no place in a static pool, which has nodeCount nodes however they are bought", n,
			"remove it")
		return problems
	case !slices.Contains(spec.CapacityTypes, pool.Spot) || !slices.Contains(spec.CapacityTypes, pool.OnDemand):
		problems.Add(at, fmt.Sprintf("divides a pool that buys both spot and on-demand, and this one buys %v",
			spec.CapacityTypes), n, "remove it, or set capacityTypes: [spot, on-demand]")
	case n < 0:
		problems.Add(at, "is negative", n, "use 1 or more")
	case n == 0:
		problems.Add(at, "leaves spot alone", n, "remove it and set capacityTypes: [spot]")
	case a.MaxNodeCount > 0 && n >= a.MaxNodeCount:
		problems.Add(at, fmt.Sprintf("leaves no node of maxNodeCount %d to spot", a.MaxNodeCount), n,
			"lower it, or remove it and set capacityTypes: [on-demand]")
	}
	if spec.Weight == maxWeight {
		problems.Add(path+".weight", "leaves no higher weight to the NodePool that buys spot, which is tried first",
			spec.Weight, fmt.Sprintf("use %d at most", maxWeight-1))
	}
	return problems
}
