package nodepool

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/headroom-eks/headroom/pool"
)

// divided is a pool of 16 nodes, of which so many may be on-demand.
func divided(onDemand int, changes ...func(*Spec)) Spec {
	s := gpuSpec()
	s.Advertised.MaxNodeCount, s.Advertised.MaxOnDemandNodeCount = 16, &onDemand
	for _, change := range changes {
		change(&s)
	}
	return s
}

func TestEachWayOfBuyingHasANodePoolWithItsOwnLimit(t *testing.T) {
	type made struct {
		name, label, class, limit, taints string
		weight                            int
		buys                              []string
	}
	for mode, limits := range map[pool.DeviceMode][2]string{pool.Plugin: {"4", "12"}, pool.DRA: {"16", "48"}} {
		var got []made
		spec := divided(4, func(s *Spec) { s.Weight, s.Advertised.DeviceMode = 10, mode })
		if err := Validate("pool", spec, EC2NodeClass).Err(); err != nil {
			t.Fatal(err)
		}
		for _, part := range Parts(spec) {
			m, err := PlanNodePool(part, EC2NodeClass)
			if err != nil {
				t.Fatal(err)
			}
			one := made{name: m.Metadata["name"].(string), weight: m.Spec["weight"].(int)}
			one.label = fmt.Sprint(dig(t, m.Spec, "template", "metadata", "labels"))
			one.class = fmt.Sprint(dig(t, m.Spec, "template", "spec", "nodeClassRef", "name"))
			one.taints = fmt.Sprint(dig(t, m.Spec, "template", "spec", "taints"))
			one.limit = strings.Trim(fmt.Sprint(m.Spec["limits"]), "map[]")
			for _, r := range Requirements(part.Spec, EC2NodeClass) {
				if r.Key == capacityTypeLabel {
					one.buys = r.Values
				}
			}
			got = append(got, one)
		}
		key := map[pool.DeviceMode]string{pool.Plugin: pool.GPUResource, pool.DRA: "cpu"}[mode]
		both := made{label: "map[headroom/pool:gpu-l4]", class: "gpu-l4",
			taints: "[map[effect:NoSchedule key:nvidia.com/gpu value:true]]"}
		firm, spot := both, both
		firm.name, firm.limit, firm.weight, firm.buys = "gpu-l4", key+":"+limits[0], 10, []string{"on-demand"}
		spot.name, spot.limit, spot.weight, spot.buys = "gpu-l4-spot", key+":"+limits[1], 11, []string{"spot"}
		if diff := cmp.Diff([]made{firm, spot}, got, cmp.AllowUnexported(made{})); diff != "" {
			t.Errorf("%s:\n%s", mode, diff)
		}
	}
}

func TestAReservationIsBoughtByTheNodePoolOfOnDemandNodes(t *testing.T) {
	parts := Parts(divided(4, func(s *Spec) {
		s.CapacityTypes = []pool.CapacityType{pool.Reserved, pool.Spot, pool.OnDemand}
	}))
	if diff := cmp.Diff([]pool.CapacityType{pool.Reserved, pool.OnDemand}, parts[0].Spec.CapacityTypes); diff != "" {
		t.Error(diff)
	}
}

func TestAPoolWithoutALimitOfItsWaysIsOneNodePool(t *testing.T) {
	for _, spec := range []Spec{gpuSpec(), generalSpec()} {
		if parts := Parts(spec); len(parts) != 1 || parts[0].Name != spec.Name {
			t.Errorf("%+v", parts)
		}
	}
}

func TestLimitsOfOnDemandNodesThatDivideNothingAreRefused(t *testing.T) {
	for name, c := range map[string]struct {
		spec Spec
		want string
	}{
		"negative": {divided(-1), "maxOnDemandNodeCount: is negative (found -1)"},
		"none":     {divided(0), "leaves spot alone (found 0); remove it and set capacityTypes: [spot]"},
		"all":      {divided(16), "leaves no node of maxNodeCount 16 to spot (found 16)"},
		"more":     {divided(17), "leaves no node of maxNodeCount 16 to spot (found 17)"},
		"one way": {divided(4, func(s *Spec) { s.CapacityTypes = []pool.CapacityType{pool.Spot} }),
			"divides a pool that buys both spot and on-demand, and this one buys [spot] (found 4)"},
		"no on-demand": {divided(4, func(s *Spec) { s.CapacityTypes = []pool.CapacityType{pool.Spot, pool.Reserved} }),
			"this one buys [spot reserved]"},
		"static": {divided(4, func(s *Spec) { s.Advertised.Static = true }), "has no place in a static pool"},
		"no higher weight": {divided(4, func(s *Spec) { s.Weight = 100 }),
			"weight: leaves no higher weight to the NodePool that buys spot"},
	} {
		t.Run(name, func(t *testing.T) {
			if err := ValidateSettings("pools[0]", c.spec, EC2NodeClass).Err(); err == nil ||
				!strings.Contains(err.Error(), c.want) {
				t.Errorf("%v\nwant %q", err, c.want)
			}
		})
	}
}
