package nodepool

import (
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/headroom-eks/headroom/pool"
	"k8s.io/apimachinery/pkg/api/resource"
)

// Live is a NodePool as the cluster has it. The zero value was not found.
type Live struct {
	Exists bool
	// Deleting: somebody has deleted it, and it waits for its nodes to go.
	Deleting bool
	// Replicas of a static pool.
	Replicas *int
	// Limits by resource, as quantities.
	Limits map[string]string
}

// Planned is the NodePool of a Spec as it lives when nobody has touched it.
func Planned(spec Spec) Live {
	live := Live{Exists: true, Limits: Limits(spec)}
	if a := spec.Advertised; a != nil && a.Static {
		live.Replicas = &a.NodeCount
	}
	return live
}

// Nodes is how many nodes of one shape the NodePool allows, and what says so; math.MaxInt when nothing does. An error
// says which limit cannot be counted in nodes.
func (l Live) Nodes(vcpus, memoryMiB, gpus int) (nodes int, by string, err error) {
	each := map[string]int64{
		"nodes":          1,
		"cpu":            int64(vcpus),
		"memory":         int64(memoryMiB) << 20,
		pool.GPUResource: int64(gpus),
	}
	nodes = math.MaxInt
	if l.Replicas != nil {
		nodes, by = max(0, *l.Replicas), fmt.Sprintf("replicas %d", *l.Replicas)
	}
	for _, name := range slices.Sorted(maps.Keys(l.Limits)) {
		limit, err := resource.ParseQuantity(l.Limits[name])
		if err != nil {
			return 0, "", fmt.Errorf("limit %s %q is not a quantity", name, l.Limits[name])
		}
		takes := each[name]
		if takes <= 0 {
			if name == pool.GPUResource { // a node without GPUs is not held by it
				continue
			}
			return 0, "", fmt.Errorf("what a node takes of the limit %s %s is not known", name, l.Limits[name])
		}
		if n := max(0, roundedDown(limit)/takes); n < int64(nodes) {
			nodes, by = int(n), fmt.Sprintf("limit %s %s", name, l.Limits[name])
		}
	}
	return nodes, by, nil
}

// roundedDown is a quantity in whole units. Quantity.Value rounds up, and wraps where the number is too large.
func roundedDown(q resource.Quantity) int64 {
	if q.Cmp(*resource.NewQuantity(math.MaxInt64, resource.DecimalSI)) >= 0 {
		return math.MaxInt64
	}
	n := q.Value()
	if resource.NewQuantity(n, resource.DecimalSI).Cmp(q) > 0 {
		n--
	}
	return n
}
