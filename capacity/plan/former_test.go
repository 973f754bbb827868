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
	f := formerly{left: map[string]int{}, limits: map[string]SharedLimit{}}
	for _, l := range in.Limits {
		f.limits[l.Key], f.left[l.Key] = l, l.Amount
	}
	covered := make([]map[int]int, len(in.Pools)) // by use: running nodes that the limit still covers
	order := make([]int, len(in.Pools))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(in.Pools[b].Priority, in.Pools[a].Priority) })
	for _, i := range order {
		covered[i] = map[int]int{}
		for j, u := range in.Pools[i].Uses {
			covered[i][j] = u.running(in.Pools[i])
			if !f.limits[u.Limit].Free {
				covered[i][j] = min(covered[i][j], f.left[u.Limit]/u.CostPerNode)
				f.charge(u, u.running(in.Pools[i]))
			}
		}
	}
	out := make([]int, len(in.Pools))
	for _, i := range order {
		if n := f.serve(in.Pools[i], covered[i]); in.Pools[i].Advertised {
			out[i] = n
		}
	}
	return out
}

type formerly struct {
	left   map[string]int
	limits map[string]SharedLimit
}

func (f formerly) charge(use Use, nodes int) {
	f.left[use.Limit] -= min(f.left[use.Limit], max(nodes, 0)*use.CostPerNode)
}

func (u Use) running(p PoolFacts) int { return p.Realized.count(u.mayMatch) }

func (f formerly) serve(p PoolFacts, covered map[int]int) int {
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
		l := f.limits[u.Limit]
		given[l.Kind] += f.left[u.Limit] / u.CostPerNode
		if free[l.Kind] = l.Free; !l.Free {
			given[l.Kind] += covered[j]
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
		f.charge(u, want-u.running(p))
	}
	return maximum
}
