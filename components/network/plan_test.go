package network_test

import (
	"fmt"
	"net/netip"
	"slices"
	"testing"

	"github.com/headroom-eks/headroom/components/network"
	"pgregory.net/rapid"
)

// drawVpc is any range that a network can be cut from.
func drawVpc(t *rapid.T) netip.Prefix {
	bits := rapid.IntRange(16, 21).Draw(t, "bits")
	addr := netip.AddrFrom4([4]byte{10, rapid.Byte().Draw(t, "b"), rapid.Byte().Draw(t, "c"), 0})
	return netip.PrefixFrom(addr, bits).Masked()
}

func zoneNames(n int) (zones []string) {
	for i := range n {
		zones = append(zones, fmt.Sprintf("us-west-2%c", 'a'+i))
	}
	return zones
}

func TestBlocksLieInsideTheVPCAndNeverOverlap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		vpc := drawVpc(t)
		blocks, err := network.Divide(vpc, zoneNames(rapid.IntRange(1, 7).Draw(t, "zones")))
		if err != nil {
			t.Fatal(err)
		}
		var ranges []netip.Prefix
		for _, b := range blocks {
			ranges = append(ranges, b.Private, b.Public)
		}
		for i, r := range ranges {
			if r != r.Masked() {
				t.Errorf("%s is not aligned", r)
			}
			if !vpc.Contains(r.Addr()) || r.Bits() < vpc.Bits() {
				t.Errorf("%s is not inside %s", r, vpc)
			}
			for _, other := range ranges[:i] {
				if r.Overlaps(other) {
					t.Errorf("%s overlaps %s in %s", r, other, vpc)
				}
			}
		}
	})
}

func TestZoneAddedAtTheEndMovesNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		vpc, n := drawVpc(t), rapid.IntRange(1, 6).Draw(t, "zones")
		before, err := network.Divide(vpc, zoneNames(n))
		if err != nil {
			t.Fatal(err)
		}
		after, err := network.Divide(vpc, zoneNames(n+1))
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(before, after[:n]) {
			t.Errorf("%v became %v", before, after[:n])
		}
	})
}

func TestEverySubnetHasRoomForItsUse(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		blocks, err := network.Divide(drawVpc(t), zoneNames(2))
		if err != nil {
			t.Fatal(err)
		}
		for _, b := range blocks {
			if b.Private.Bits() >= b.Public.Bits() {
				t.Errorf("private %s is no larger than public %s", b.Private, b.Public)
			}
			if b.Public.Bits() > 27 {
				t.Errorf("public %s is too small for a load balancer", b.Public)
			}
		}
	})
}

func TestDefaultRangeGivesWidePrivateSubnets(t *testing.T) {
	blocks, err := network.Divide(netip.MustParsePrefix(network.DefaultCIDR), zoneNames(2))
	if err != nil {
		t.Fatal(err)
	}
	want := []network.Block{
		{"us-west-2a", netip.MustParsePrefix("10.0.0.0/19"), netip.MustParsePrefix("10.0.224.0/22")},
		{"us-west-2b", netip.MustParsePrefix("10.0.32.0/19"), netip.MustParsePrefix("10.0.228.0/22")},
	}
	if !slices.Equal(blocks, want) {
		t.Errorf("got %v, want %v", blocks, want)
	}
}

func TestDivideRefusesWhatItCannotCut(t *testing.T) {
	for _, vpc := range []string{"10.0.0.0/15", "10.0.0.0/22", "10.0.0.1/16", "fd00::/16"} {
		if _, err := network.Divide(netip.MustParsePrefix(vpc), zoneNames(2)); err == nil {
			t.Errorf("%s: accepted", vpc)
		}
	}
	if _, err := network.Divide(netip.MustParsePrefix("10.0.0.0/16"), zoneNames(8)); err == nil {
		t.Error("eight zones: accepted")
	}
	if _, err := network.Divide(netip.Prefix{}, zoneNames(2)); err == nil {
		t.Error("no range: accepted")
	}
}
