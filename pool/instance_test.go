package pool_test

import (
	"testing"

	"github.com/headroom-eks/headroom/pool"
)

func TestAnInstanceTypeIsReadByItsName(t *testing.T) {
	for name, want := range map[string]struct {
		family, category        string
		accelerated, fractional bool
	}{
		"g6.xlarge":          {"g6", "g", true, false},
		"gr6.4xlarge":        {"gr6", "gr", true, false},
		"g6f.large":          {"g6f", "g", true, true},
		"gr6f.4xlarge":       {"gr6f", "gr", true, true},
		"p5.48xlarge":        {"p5", "p", true, false},
		"inf2.xlarge":        {"inf2", "inf", true, false},
		"u7i-12tb.224xlarge": {"u7i-12tb", "u", false, false},
		"m6i.large":          {"m6i", "m", false, false},
		"":                   {"", "", false, false},
		"6":                  {"6", "6", false, false},
	} {
		family := pool.Family(name)
		if family != want.family || pool.Category(family) != want.category ||
			pool.Accelerated(name) != want.accelerated || pool.Fractional(name) != want.fractional {
			t.Errorf("%q: family %q, category %q, accelerated %v, fractional %v; want %+v", name, family,
				pool.Category(family), pool.Accelerated(name), pool.Fractional(name), want)
		}
	}
}

func TestAFamilyThatAPoolMayNameHasWholeGPUs(t *testing.T) {
	for _, family := range pool.GPUFamilies {
		if pool.Fractional(family) || !pool.Accelerated(family) {
			t.Errorf("%s", family)
		}
	}
}
