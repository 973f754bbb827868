package plan

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	capacityplan "github.com/headroom-eks/headroom/capacity/plan"
	"github.com/headroom-eks/headroom/pool"
)

// quotas makes the quotas from which pools draw limits that they share. It refuses nodes that are still to be made at
// once, without a pod asking, when a quota cannot hold even them: the update would fail half-way. Nodes that run already
// are not counted: a quota that was lowered under them removes none, and the contract tells of it.
func (d *decision) quotas() {
	reserved := d.env.Capacity.ReservedVCPUs
	reserve := map[pool.CapacityType]int{pool.OnDemand: reserved.OnDemand, pool.Spot: reserved.Spot}
	for _, q := range capacityplan.Quotas {
		answer, drawn := d.answers.Quotas[q.Code]
		if !drawn {
			continue
		}
		vcpus, known := answer.Get()
		if !known {
			d.plan.Quotas = append(d.plan.Quotas, q.UnknownLimit(answer.Reason()))
			continue
		}
		d.plan.Quotas = append(d.plan.Quotas, q.Limit(float64(vcpus), reserve[q.CapacityType]))
	}

	needed, by := map[string]int{}, map[string][]string{}
	for _, p := range d.plan.Pools {
		var draws []capacityplan.Use
		for _, use := range p.Facts.Uses {
			if _, isQuota := d.answers.Quotas[use.Limit]; isQuota {
				draws = append(draws, use)
			}
		}
		if p.starting == 0 || len(draws) != 1 { // a pool with a choice may take what is left elsewhere
			continue
		}
		needed[draws[0].Limit] += p.starting * draws[0].CostPerNode
		by[draws[0].Limit] = append(by[draws[0].Limit], p.Name())
	}
	for _, code := range slices.Sorted(maps.Keys(needed)) {
		if vcpus, known := d.answers.Quotas[code].Get(); known && needed[code] > vcpus {
			d.problems().Add("pools", fmt.Sprintf("%s start with nodes of %d vCPUs together, and the quota %s allows %d",
				strings.Join(by[code], ", "), needed[code], code, vcpus), nil, "ask AWS for more or lower their counts")
		}
	}
}
