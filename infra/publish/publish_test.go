package publish

import (
	"encoding/json"
	"testing"

	"github.com/headroom-eks/headroom/capacity"
	"github.com/headroom-eks/headroom/pool"
)

func TestPoolsOfClaimsReachTheOutput(t *testing.T) {
	text, err := json.Marshal(capacity.Document{Pools: []capacity.Pool{
		{
			Name:        "claims",
			Advertised:  true,
			DeviceMode:  pool.DRA,
			PerNode:     capacity.PerNode{GPUs: 1},
			Nodes:       capacity.Counts{Maximum: 3},
			LargestGang: 3,
		},
		{
			Name:        "plugin",
			Advertised:  true,
			DeviceMode:  pool.Plugin,
			PerNode:     capacity.PerNode{GPUs: 1},
			Nodes:       capacity.Counts{Maximum: 3},
			LargestGang: 3,
		},
	}})
	if err != nil {
		t.Fatal(err)
	}
	pools, err := gpuPools(string(text))
	if err != nil || len(pools) != 1 {
		t.Fatalf("%v, %v", pools, err)
	}
	if got := pools[0].(map[string]any); got["name"] != "claims" || got["nodes"] != 3.0 {
		t.Errorf("%v", got)
	}
}
