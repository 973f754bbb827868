package clusterautoscaler

import (
	"fmt"

	"github.com/headroom-eks/headroom/capacity/plan"
	"github.com/headroom-eks/headroom/problem"
)

// ValidateWake reports groups that could fall asleep and never wake (field fault BR-11). Minimum is the pool's
// minNodeCount, zones the number of groups it is split over (1 when it is not). Accept is the pool's
// acceptNoWakeFromZero: its owner knows, and the contract then advertises what is realized.
func ValidateWake(path string, needs plan.WakeNeeds, minimum, zones int, accept bool) (problems problem.List) {
	if !needs.FromOne || accept || minimum >= max(1, zones) {
		return problems
	}
	at := path + ".minNodeCount"
	if minimum < 1 {
		problems.Add(at, "lets a DRA pool fall to zero, and cluster-autoscaler cannot start its first node again",
			minimum,
			"set it to at least 1, use the device plugin or Karpenter, or set acceptNoWakeFromZero: true")
		return problems
	}
	problems.Add(at, fmt.Sprintf("over %d zones leaves zones whose DRA group is at zero, where cluster-autoscaler "+
		"cannot start a first node", zones), minimum,
		fmt.Sprintf("set it to at least %d, name fewer zones, or set acceptNoWakeFromZero: true", zones))
	return problems
}
