package plan

import (
	"fmt"
	"testing"
	"time"

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
