package clusterautoscaler

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

var allZones = []string{"us-west-2a", "us-west-2b", "us-west-2c", "us-west-2d"}

func genSizes(t *rapid.T, least int) Sizes {
	maximum := rapid.IntRange(max(1, least), 450).Draw(t, "max")
	minimum := rapid.IntRange(0, maximum).Draw(t, "min")
	return Sizes{Min: minimum, Max: maximum, Seed: rapid.IntRange(minimum, maximum).Draw(t, "seed")}
}

func TestSplitKeepsTheTotalsAndEveryShareIsAGroup(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		zones := rapid.Permutation(allZones).Draw(t, "zones")[:rapid.IntRange(1, len(allZones)).Draw(t, "n")]
		total := genSizes(t, len(zones))
		shares, problems := PerZone("pool", zones, total)
		if err := problems.Err(); err != nil {
			t.Fatal(err)
		}
		var sum Sizes
		least, most := total.Max, 0
		for _, s := range shares {
			sum.Min, sum.Max, sum.Seed = sum.Min+s.Min, sum.Max+s.Max, sum.Seed+s.Seed
			least, most = min(least, s.Max), max(most, s.Max)
			if err := ValidateSizes(s.Zone, s.Sizes).Err(); err != nil {
				t.Fatal(err)
			}
		}
		if sum != total || len(shares) != len(zones) {
			t.Fatalf("%d shares sum up to %+v, want %+v", len(shares), sum, total)
		}
		if most-least > 1 {
			t.Fatalf("shares of %d and %d nodes differ by more than what does not divide", least, most)
		}
	})
}

func TestSplitDoesNotDependOnTheOrderOfZones(t *testing.T) {
	want := []ZoneShare{{"us-west-2a", Sizes{1, 3, 2}}, {"us-west-2b", Sizes{1, 2, 1}}, {"us-west-2c", Sizes{0, 2, 1}}}
	for _, zones := range [][]string{{"us-west-2a", "us-west-2b", "us-west-2c"},
		{"us-west-2c", "us-west-2a", "us-west-2b"}} {
		before := slices.Clone(zones)
		got, problems := PerZone("pool", zones, Sizes{Min: 2, Max: 7, Seed: 4})
		if err := problems.Err(); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
		if diff := cmp.Diff(before, zones); diff != "" {
			t.Errorf("the caller's zones were changed: %s", diff)
		}
	}
}

// Field fault BR-16, and what a split adds to it.
func TestSizesThatContradictAreRefusedWithBothNumbers(t *testing.T) {
	for name, c := range map[string]struct {
		zones   []string
		sizes   Sizes
		refusal string
	}{
		"min above max": {allZones[:1], Sizes{
			Min:  3,
			Max:  2,
			Seed: 3,
		}, ".minNodeCount: exceeds maxNodeCount 2 (found 3)"},
		"seed below min": {allZones[:1], Sizes{
			Min:  2,
			Max:  10,
			Seed: 1,
		}, ".nodeCount: is below minNodeCount 2 (found 1)"},
		"seed above max": {allZones[:1], Sizes{Max: 3, Seed: 5}, ".nodeCount: exceeds maxNodeCount 3 (found 5)"},
		"negative":       {allZones[:1], Sizes{Min: -1, Max: 3}, ".minNodeCount: is below 0 (found -1)"},
		"no maximum":     {allZones[:1], Sizes{}, ".maxNodeCount: is below 1, which EKS refuses (found 0)"},
		"fewer than zones": {allZones[:3], Sizes{Max: 2}, ".maxNodeCount: leaves no node for some of its 3 zones, " +
			"and EKS refuses a group with a maximum of 0 (found 2)"},
		"no zones":           {nil, Sizes{Max: 2}, "names no zones"},
		"an unnamed zone":    {[]string{"", "us-west-2a"}, Sizes{Max: 2}, "names no zones"},
		"a zone named twice": {[]string{"us-west-2a", "us-west-2a"}, Sizes{Max: 2}, ".zones: name a zone twice"},
	} {
		shares, problems := PerZone("pool", c.zones, c.sizes)
		if err := problems.Err(); err == nil || !strings.Contains(err.Error(), c.refusal) || shares != nil {
			t.Errorf("%s: got %v and %v, want a refusal that says %q", name, shares, err, c.refusal)
		}
	}
}
