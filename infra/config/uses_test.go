package config

import (
	"slices"
	"testing"

	"github.com/headroom-eks/headroom/pool"
)

func TestOnlyPoolsWithNodePoolsAreHandedOver(t *testing.T) {
	env := Environment{
		General: &General{Scaler: pool.Karpenter},
		Pools:   []Pool{{Name: "gpu-fixed", Scaler: pool.Fixed}, {Name: "gpu-l4", Scaler: pool.Karpenter}},
	}
	if got := env.NodePools(); !slices.Equal(got, []string{"general", "gpu-l4"}) {
		t.Errorf("%v", got)
	}
}
