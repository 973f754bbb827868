package plan

import (
	"cmp"
	"slices"

	"github.com/headroom-eks/headroom/capacity"
	"github.com/headroom-eks/headroom/pool"
)

// former is the rule that this package had before, for worlds in which everything is known: running nodes are charged
// first, then each pool in turn, in every alternative it has. It is here for the adversary to break.
func former(in Input) []int {
	left, limits := map[string]int{}, map[string]SharedLimit{}
	for _, l := range in.Limits {
		limits[l.Key], left[l.Key] = l, l.Amount
	}
	charge := func(use Use, nodes int) {
		left[use.Limit] -= min(left[use.Limit], max(nodes, 0)*use.CostPerNode)
	}
	matches := func(u Use, p Place) bool {
		return (u.Zone == "" || u.Zone == p.Zone) &&
			(len(u.CapacityTypes) == 0 || slices.Contains(u.CapacityTypes, p.CapacityType))
	}
	covered := make([]map[int]int, len(in.Pools)) // by use: running nodes that the limit still covers
	order := make([]int, len(in.Pools))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(in.Pools[b].Priority, in.Pools[a].Priority) })
	running := func(p PoolFacts, u Use) int {
		return p.Realized.count(func(at Place) bool { return matches(u, at) })
	}
	for _, i := range order {
		covered[i] = map[int]int{}
		for j, u := range in.Pools[i].Uses {
			covered[i][j] = running(in.Pools[i], u)
			if !limits[u.Limit].Free {
				covered[i][j] = min(covered[i][j], left[u.Limit]/u.CostPerNode)
				charge(u, running(in.Pools[i], u))
			}
		}
	}
	out := make([]int, len(in.Pools))
	for _, i := range order {
		p := in.Pools[i]
		own, reach := noBound, noBound
		for _, b := range p.Ceilings {
			own = min(own, b.Nodes)
			if !b.PromiseOnly {
				reach = min(reach, b.Nodes)
			}
		}
		reach += p.SurgeNodes
		if p.Scaler == pool.Fixed || !p.Advertised {
			own = min(own, p.Realized.Total())
		}
		given, free := map[capacity.Kind]int{}, map[capacity.Kind]bool{}
		for j, u := range p.Uses {
			kind := limits[u.Limit].Kind
			room := left[u.Limit] / u.CostPerNode
			if limits[u.Limit].Free {
				free[kind] = true
				given[kind] += room
			} else {
				given[kind] += covered[i][j] + room
			}
		}
		maximum := own
		for kind, nodes := range given {
			if free[kind] {
				nodes += p.Realized.Total()
			}
			maximum = min(maximum, nodes)
		}
		want := reach
		if own == reach {
			want = maximum
		}
		for _, u := range p.Uses {
			charge(u, want-running(p, u))
		}
		out[i] = maximum
		if !p.Advertised {
			out[i] = 0
		}
	}
	return out
}
