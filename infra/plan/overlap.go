package plan

import (
	"fmt"

	"github.com/headroom-eks/headroom/pool"
	"github.com/headroom-eks/headroom/problem"
)

// Claimant is what of a pool decides which scaler answers a pending pod.
type Claimant struct {
	Name   string
	Scaler pool.Scaler
	Taints []pool.Taint
}

// ValidateOverlap reports the pools on which two scalers could answer the same pending pod: each brings a node, and one
// stays unused (field fault BR-09). Path names the list of pools. Auto Mode excludes every other scaler and every
// managed group.
//
// Two pools of different scalers are apart when each has a NoSchedule taint on a key that the other does not use: then
// no pod whose tolerations were written for one fits the other. Keys are compared, not values, because a toleration
// with operator Exists takes any value. Nothing scales a fixed pool, so it is in nobody's way; but a pod written for
// one, and pending because it is full, must not fit pools of two scalers either. What no taint keeps apart is a pod
// that tolerates the keys of several pools, or everything.
//
// With podsSelectPool every pod selects its pool by label (PoolLabel), and nothing is asked of the taints.
func ValidateOverlap(path string, pools []Claimant, podsSelectPool bool) (problems problem.List) {
	for _, p := range pools {
		for _, other := range pools {
			if p.Scaler == pool.AutoMode && other.Scaler != pool.AutoMode {
				problems.Addf(between(path, p, other), "scaler %s excludes %s and every other; give all pools %s, or "+
					"none",
					pool.AutoMode, other.Scaler, pool.AutoMode)
			}
		}
	}
	if podsSelectPool || problems.Err() != nil {
		return problems
	}
	for _, written := range pools {
		answers := answering(written, pools)
		if written.Scaler != pool.Fixed {
			for _, other := range answers {
				if other.Scaler != written.Scaler {
					problems.Addf(between(path, written, other), "a pod for %q could get a node of %q too, from %s as "+
						"well as from %s; "+
						"give %q a %s taint on a key that %q does not use, or declare podsSelectPool: true when "+
						"every pod selects its pool by label",
						written.Name, other.Name, written.Scaler, other.Scaler, other.Name, pool.NoSchedule, written.Name)
				}
			}
			continue
		}
		for i, other := range answers {
			if first := answers[0]; i > 0 && other.Scaler != first.Scaler {
				problems.Addf(between(path, first, other), "a pod for the fixed pool %q could get a node of either, "+
					"from %s and from %s; "+
					"give one of them a %s taint on a key that %q does not use, or declare podsSelectPool: true when "+
					"every pod selects its pool by label",
					written.Name, first.Scaler, other.Scaler, pool.NoSchedule, written.Name)
			}
		}
	}
	return problems
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
		if p.Scaler == pool.Fixed {
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
