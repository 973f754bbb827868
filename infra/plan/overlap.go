package plan

import (
	"fmt"
	"slices"

	"github.com/headroom-eks/headroom/pool"
	"github.com/headroom-eks/headroom/problem"
)

// Claimant is what of a pool decides which pending pods it answers, and who brings the node.
type Claimant struct {
	Name   string
	Scaler pool.Scaler
	// DeviceMode of a GPU pool; empty in a pool without GPUs.
	DeviceMode pool.DeviceMode
	Taints     []pool.Taint
}

// ValidateOverlap reports the pools on which two scalers, or pools of two device modes, could answer the same pending
// pod. With two scalers each brings a node, and one stays unused (field fault BR-09). With two device modes a node may
// come on which the pod can never run: a pod of the device plugin gets a node for claims, which is paid for, fills that
// pool's limit and leaves the pod Pending (seen with Karpenter 1.15). Path names the list of pools. Auto Mode excludes
// every other scaler and every managed group.
//
// Two pools are apart when each has a NoSchedule taint on a key that the other does not use: then no pod whose
// tolerations were written for one fits the other. Keys are compared, not values, because a toleration with operator
// Exists takes any value. Nothing scales a fixed pool, so it is in nobody's way; but a pod written for one, and pending
// because it is full, must not be answered by two scalers, or by a pool of another device mode, either. What no taint
// keeps apart is a pod that tolerates the keys of several pools, or everything.
//
// With podsSelectPool every pod selects its pool by label (PoolLabel), and nothing is asked of the taints.
func ValidateOverlap(path string, pools []Claimant, podsSelectPool bool) (problems problem.List) {
	pools = slices.DeleteFunc(slices.Clone(pools), func(c Claimant) bool {
		return !slices.Contains(pool.Scalers, c.Scaler) // which is reported elsewhere
	})
	for _, p := range pools {
		for _, other := range pools {
			if p.Scaler.ExcludesOthers() && other.Scaler != p.Scaler {
				problems.Add(between(path, p, other), fmt.Sprintf("scaler %s excludes %s and every other",
					p.Scaler, other.Scaler), nil, fmt.Sprintf("give all pools %s, or none", p.Scaler))
			}
		}
	}
	if podsSelectPool || problems.Err() != nil {
		return problems
	}
	for _, written := range pools {
		answers := answering(written, pools)
		for _, other := range answers {
			first := written
			if !written.Scaler.Scales() {
				first = answers[0]
			}
			switch {
			case other.Scaler != first.Scaler:
				wrong := fmt.Sprintf("a pod for %q could get a node from %s as well as from %s",
					written.Name, first.Scaler, other.Scaler)
				problems.Add(between(path, first, other), wrong, nil, remedy(other, written))
			case written.DeviceMode != "" && other.DeviceMode != "" && other.DeviceMode != written.DeviceMode:
				wrong := fmt.Sprintf("a pod for %q (device mode %s) could get a node of %q (device mode %s), "+
					"where it never runs", written.Name, written.DeviceMode, other.Name, other.DeviceMode)
				problems.Add(between(path, written, other), wrong, nil, remedy(other, written))
			}
		}
	}
	return problems
}

// remedy keeps pods that were written for one pool away from nodes of another.
func remedy(other, written Claimant) string {
	return fmt.Sprintf("give %q a %s taint on a key that %q does not use, or declare podsSelectPool: true when every "+
		"pod selects its pool by label", other.Name, pool.NoSchedule, written.Name)
}

func between(path string, a, b Claimant) string {
	return fmt.Sprintf("%s %q and %q", path, a.Name, b.Name)
}

// answering are the scaled pools that a pod may fit whose tolerations were written for the given pool.
func answering(written Claimant, pools []Claimant) (fit []Claimant) {
	tolerated := map[string]bool{}
	for _, t := range written.Taints {
		tolerated[t.Key] = true
	}
next:
	for _, p := range pools {
		if !p.Scaler.Scales() {
			continue
		}
		for _, t := range p.Taints {
			if t.Effect == pool.NoSchedule && !tolerated[t.Key] {
				continue next
			}
		}
		fit = append(fit, p)
	}
	return fit
}
