package plan

import (
	"github.com/headroom-eks/headroom/infra/config"
	"github.com/headroom-eks/headroom/pool"
	"github.com/headroom-eks/headroom/problem"
)

// scaler is the pure half of what moves the node count of pools: what it refuses, how counts become sizes or limits,
// which ceilings and wake rules it adds, what it may take.
type scaler interface {
	// environment reports what it refuses of the environment as a whole, once, when a pool uses it.
	environment(env config.Environment) problem.List
	// check reports what it refuses of a GPU pool by configuration alone, before AWS is asked.
	check(at string, c config.Pool, env config.Environment) problem.List
	// decide says what a GPU pool is made of, and what of that bounds and wakes it.
	decide(d *decision, at string, c config.Pool, p *Pool)
}

// systemScaler is that of the system group: nothing moves it, so that controllers always have a node.
const systemScaler = pool.Fixed

// scalers by their names in the configuration. A new one is a row here, a file like its neighbours', a row and a file
// in package build, and what it installs as a component.
var scalers = map[pool.Scaler]scaler{
	pool.Fixed:             fixed{},
	pool.ClusterAutoscaler: clusterAutoscaler{},
	pool.Karpenter:         karpenterScaler{},
	pool.AutoMode:          autoMode{},
}
