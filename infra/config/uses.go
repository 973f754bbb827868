package config

import (
	"github.com/headroom-eks/headroom/components/automode"
	"github.com/headroom-eks/headroom/components/nodepool"
	"github.com/headroom-eks/headroom/pool"
)

// UsesKarpenter says that a pool, the general one included, is scaled by a Karpenter of ours.
func (e Environment) UsesKarpenter() bool { return e.Uses(pool.Karpenter) }

// UsesClusterAutoscaler says that a pool is scaled by cluster-autoscaler.
func (e Environment) UsesClusterAutoscaler() bool { return e.Uses(pool.ClusterAutoscaler) }

// UsesAutoMode says that the cluster runs EKS Auto Mode. Then it has no system group and no managed group at all.
func (e Environment) UsesAutoMode() bool { return e.Uses(pool.AutoMode) }

// UsesManagedGroups says that a GPU pool is made of managed groups. The system group is not counted.
func (e Environment) UsesManagedGroups() bool {
	for _, p := range e.Pools {
		if p.Scaler.ManagedGroup() {
			return true
		}
	}
	return false
}

// NodePools are the names of the pools that are NodePools in the cluster, the general one first. GitOps can take them
// over.
func (e Environment) NodePools() (names []string) {
	if e.General != nil {
		names = append(names, GeneralPool)
	}
	for _, p := range e.Pools {
		if p.Scaler.Dynamic() {
			names = append(names, p.Name)
		}
	}
	return names
}

// Names of the pools that are no GPU pools.
const (
	SystemPool  = "system"
	GeneralPool = "general"
)

// classKinds are the node classes of those scalers whose pools are NodePools.
var classKinds = map[pool.Scaler]nodepool.ClassKind{
	pool.Karpenter: nodepool.EC2NodeClass,
	pool.AutoMode:  automode.NodeClass,
}

// NodePoolTag holds the name of its NodePool on an instance of the pool; empty when the pool is no NodePool.
func (p Pool) NodePoolTag() string { return classKinds[p.Scaler].InstanceTag }
