package build

import (
	"fmt"

	"github.com/headroom-eks/headroom/infra/config"
	"github.com/headroom-eks/headroom/infra/plan"
	"github.com/headroom-eks/headroom/pool"
)

// scaler is the building half of what moves the node count of pools; its pure half is in package plan.
type scaler interface {
	// controller installs what moves the pools, before any of them is made.
	controller(b *builder) error
	// pool makes one pool.
	pool(b *builder, p plan.Pool) error
}

// scalers by their names in the configuration; made anew for each build, since some keep what they have installed.
func scalers() map[pool.Scaler]scaler {
	return map[pool.Scaler]scaler{
		pool.Fixed:             fixed{},
		pool.ClusterAutoscaler: clusterAutoscaler{},
		pool.Karpenter:         &karpenterScaler{},
		pool.AutoMode:          &autoMode{},
	}
}

// makePools installs each scaler that the environment uses and makes its pools.
func (b *builder) makePools() error {
	all := scalers()
	for _, name := range pool.Scalers {
		if !b.plan.Environment.Uses(name) {
			continue
		}
		if err := all[name].controller(b); err != nil {
			return fmt.Errorf("install scaler %s: %w", name, err)
		}
	}
	for _, p := range b.plan.Pools {
		if p.Name() == config.SystemPool {
			continue // it carries the controllers, and is there by now
		}
		if err := all[p.Facts.Scaler].pool(b, p); err != nil {
			return fmt.Errorf("make pool %s: %w", p.Name(), err)
		}
	}
	return nil
}
