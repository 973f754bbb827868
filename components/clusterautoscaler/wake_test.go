package clusterautoscaler

import (
	"strings"
	"testing"

	"github.com/headroom-eks/headroom/capacity/plan"
	"github.com/headroom-eks/headroom/pool"
)

// Field fault BR-11.
func TestAGroupThatCouldNeverWakeIsRefusedUnlessItsOwnerKnows(t *testing.T) {
	for name, c := range map[string]struct {
		mode           pool.DeviceMode
		minimum, zones int
		accept         bool
		refusal        string // empty: accepted
	}{
		"plugin at zero":                {pool.Plugin, 0, 1, false, ""},
		"DRA at zero":                   {pool.DRA, 0, 1, false, "minNodeCount: lets a DRA pool fall to zero"},
		"DRA at zero, accepted":         {pool.DRA, 0, 1, true, ""},
		"DRA at one":                    {pool.DRA, 1, 1, false, ""},
		"DRA at one over three zones":   {pool.DRA, 1, 3, false, "set it to at least 3"},
		"DRA at three over three zones": {pool.DRA, 3, 3, false, ""},
		"DRA spread, accepted":          {pool.DRA, 1, 3, true, ""},
		"plugin over three zones":       {pool.Plugin, 0, 3, false, ""},
	} {
		needs, _ := plan.NeedsToWake(pool.ClusterAutoscaler, c.mode, false)
		err := ValidateWake("pool", needs, c.minimum, c.zones, c.accept).Err()
		switch {
		case c.refusal == "" && err != nil:
			t.Errorf("%s: %v", name, err)
		case c.refusal != "" && (err == nil || !strings.Contains(err.Error(), c.refusal) ||
			!strings.Contains(err.Error(), "acceptNoWakeFromZero: true")):
			t.Errorf("%s: got %v, want a refusal that says %q and names the key", name, err, c.refusal)
		}
	}
}
