package clusterautoscaler

import (
	"github.com/headroom-eks/headroom/pool"
	"github.com/headroom-eks/headroom/problem"
)

// WakesFromZero tells whether cluster-autoscaler starts the first node of an empty group on AWS. It does for the device
// plugin; for DRA it cannot, because it pictures no ResourceSlice for a node that does not exist yet, and no claim fits
// a node without one. From one node to many works, with the first node as the picture.
// https://github.com/modelplaneai/modelplane/issues/345
func WakesFromZero(mode pool.DeviceMode) bool { return mode != pool.DRA }

// ValidateWake reports groups that could fall asleep for ever (field fault BR-11). Minimum is the pool's minNodeCount,
// zones the number of groups it is split over (1 when it is not). Accept is the pool's acceptNoWakeFromZero: its owner
// knows, and the contract then advertises what is realized.
func ValidateWake(path string, mode pool.DeviceMode, minimum, zones int, accept bool) (problems problem.List) {
	if WakesFromZero(mode) || accept || minimum >= max(1, zones) {
		return problems
	}
	if minimum < 1 {
		problems.Addf(path, "minNodeCount %d lets a DRA pool fall to zero, and cluster-autoscaler cannot start its "+
			"first node again; "+
			"set minNodeCount to at least 1, use the device plugin or Karpenter, or set acceptNoWakeFromZero: true",
			minimum)
		return problems
	}
	problems.Addf(path, "minNodeCount %d over %d zones leaves zones whose DRA group is at zero, where "+
		"cluster-autoscaler cannot start a "+
		"first node; set minNodeCount to at least %d, name fewer zones, or set acceptNoWakeFromZero: true", minimum,
		zones, zones)
	return problems
}
