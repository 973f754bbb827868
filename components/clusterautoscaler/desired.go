package clusterautoscaler

import (
	"fmt"
	"slices"

	"github.com/headroom-eks/headroom/problem"
)

// Live is a node group as AWS has it. The zero value means it was not found, or could not be read.
type Live struct {
	Exists            bool
	Status            string // EKS's word: ACTIVE, UPDATING, CREATE_FAILED
	Min, Max, Desired int
	// Version of Kubernetes and ReleaseVersion of the image that its nodes start with.
	Version, ReleaseVersion string
}

// Degraded is EKS's status of a group that works and has issues: it keeps its nodes, and may get no more.
func (l Live) Degraded() bool { return l.Status == "DEGRADED" }

// Lost is a group that never works again. EKS neither repairs nor updates one that it could not make or delete, and
// its name is taken until it is gone. https://github.com/aws/containers-roadmap/issues/764
func (l Live) Lost() bool {
	return slices.Contains([]string{"CREATE_FAILED", "DELETING", "DELETE_FAILED"}, l.Status)
}

// Desired is what an update says about a group's desired size.
type Desired struct {
	Size int
	// Ignore is whether the node group ignores changes of scalingConfig.desiredSize in this update.
	Ignore bool
	// Say is a sentence for the person at the screen, empty when there is nothing to say.
	Say string
}

// DesiredSize decides what desired size the program sends for a group that cluster-autoscaler moves. The size is seeded
// when the group is made and belongs to the scaler from then on (field fault BR-13).
//
// Ignoring changes is not enough on its own. EKS takes minimum, maximum and desired size in one request. When one bound
// changes and the desired size is ignored, what is sent beside it is the size Pulumi's state remembers, not the live
// one: a raised minimum is refused half-way through the update, and a raised maximum puts a grown group back to the
// size of the last refresh. So:
//
//   - no such group: seed it; there is no old state, the ignore has no effect yet.
//   - live bounds are the wanted ones: ignore. Nothing is sent, whatever the live size.
//   - EKS is updating the group: ignore. It widens the bounds meanwhile and takes no other change.
//   - live bounds differ: do not ignore, and send the live size, or the new minimum where that is higher. The live size
//     is never lowered: a new maximum below it is refused, since only the owner knows which nodes can go.
//
// The update after that finds the bounds it wants and ignores again: its state holds what was sent, so it plans
// nothing.
//
// Not guaranteed: the live size may move between this reading and the request, seconds later. And when someone set the
// live bounds by hand to what the configuration now says, without a refresh, Pulumi still sends them together with the
// size it remembers.
func DesiredSize(group string, live Live, want Sizes) (Desired, problem.List) {
	problems := ValidateSizes(group, want)
	switch {
	case problems.Err() != nil:
		return Desired{}, problems
	case !live.Exists:
		return Desired{Size: want.Seed, Ignore: true}, problems
	case live.Min == want.Min && live.Max == want.Max:
		return Desired{Size: want.Seed, Ignore: true}, problems
	case live.Status == "UPDATING":
		return Desired{
			Size:   want.Seed,
			Ignore: true,
			Say: fmt.Sprintf("%s: EKS is updating it; bounds %d..%d are left as they are until that is done",
				group, live.Min, live.Max),
		}, problems
	case live.Desired > want.Max:
		problems.Add(group+".maxNodeCount", fmt.Sprintf("is below the %d nodes that the group has", live.Desired),
			want.Max,
			fmt.Sprintf("drain it to %d first, or keep %d or more", want.Max, live.Desired))
		return Desired{}, problems
	case live.Desired < want.Min:
		return Desired{
			Size: want.Min,
			Say: fmt.Sprintf("%s: desired size goes from %d to %d, because minNodeCount is now %d",
				group, live.Desired, want.Min, want.Min),
		}, problems
	default:
		return Desired{
			Size: live.Desired,
			Say: fmt.Sprintf("%s: bounds are to go from %d..%d to %d..%d, desired size stays at %d",
				group, live.Min, live.Max, want.Min, want.Max, live.Desired),
		}, problems
	}
}
