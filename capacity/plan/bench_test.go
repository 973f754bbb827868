package plan

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/headroom-eks/headroom/capacity"
	"github.com/headroom-eks/headroom/pool"
)

// thousand pools that all share two quotas and three zones.
func thousand() Input {
	in := Input{
		Now:      nine,
		ValidFor: time.Hour,
		Limits:   []SharedLimit{Quotas[0].Limit(9000, 100), Quotas[1].Limit(7000, 0)},
	}
	zones := []string{"us-west-2a", "us-west-2b", "us-west-2c"}
	for _, zone := range zones {
		in.Limits = append(in.Limits, FreeAddresses(zone, 40000, 100))
	}
	for i := range 1000 {
		p := l4(fmt.Sprintf("gpu-%03d", i), pool.Karpenter, 8, i%3)
		p.Priority, p.Zones, p.CapacityTypes = i%7, zones, []pool.CapacityType{pool.Spot, pool.OnDemand}
		p.Uses = append(QuotaUses("g6.xlarge", 4, p.CapacityTypes), SubnetUses(zones, 30)...)
		in.Pools = append(in.Pools, p)
	}
	return in
}

func BenchmarkAllocate1000PoolsSharingCeilings(b *testing.B) {
	in := thousand()
	b.ReportAllocs()
	for b.Loop() {
		if got := len(Allocate(in).Pools); got != 1000 {
			b.Fatal(got)
		}
	}
}

// thousandOfAllSorts has pools of five sizes, of one way and of both, some spread, some unadvertised, in six zones.
func thousandOfAllSorts() Input {
	in := thousand()
	zones := strings.Fields("a b c d e f")
	for _, zone := range zones {
		in.Limits = append(in.Limits, FreeAddresses(zone, 90000, 100))
	}
	for i := range in.Pools {
		p, s := &in.Pools[i], sizes[i%5]
		if i%4 == 0 {
			p.CapacityTypes = p.CapacityTypes[i%8/4:][:1]
		}
		p.Zones, p.Advertised = zones, i%9 > 0
		p.Uses = append(QuotaUses("g6.xlarge", s.vcpus, p.CapacityTypes), SubnetUses(zones, s.addresses)...)
		if i%10 > 0 {
			continue
		}
		p.TiedToZone, p.Zones = true, zones[:3]
		p.Uses = append(QuotaUses("g6.xlarge", s.vcpus, p.CapacityTypes), SubnetUses(p.Zones, s.addresses)...)
		for _, zone := range p.Zones {
			key := p.Name + "/" + zone
			in.Limits = append(in.Limits, SharedLimit{Key: key, Kind: capacity.ConfiguredKind, Amount: 3})
			p.Uses = append(p.Uses, Use{Limit: key, CostPerNode: 1, Zone: zone})
		}
	}
	return in
}

func BenchmarkAllocate1000PoolsOfAllSorts(b *testing.B) {
	in := thousandOfAllSorts()
	b.ReportAllocs()
	for b.Loop() {
		if got := len(Allocate(in).Pools); got != 1000 {
			b.Fatal(got)
		}
	}
}
