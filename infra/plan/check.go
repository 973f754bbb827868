package plan

import (
	"fmt"

	"github.com/headroom-eks/headroom/infra/config"
	"github.com/headroom-eks/headroom/pool"
	"github.com/headroom-eks/headroom/problem"
)

// Check reports everything that can be said of the configuration before AWS is asked anything: the configuration's own
// rules, and those of the components and scalers that it would use. The environment has its defaults. What hangs on a
// value that could not be read is left out.
func Check(env config.Environment) problem.List { return env.Unread.Without(check(env)) }

func check(env config.Environment) problem.List {
	problems := env.Validate()
	if !env.Cluster.HasVersion() { // said by now; what hangs on the version would only say it again
		env.Cluster.KubernetesVersion = config.DefaultKubernetesVersion
	}
	var claimants []Claimant
	if g := env.General; g != nil {
		claimants = append(claimants, Claimant{Name: config.GeneralPool, Scaler: g.Scaler})
	}
	for i, c := range env.Pools {
		claimants = append(claimants, Claimant{
			Name:       c.Name,
			Scaler:     c.Scaler,
			DeviceMode: c.DeviceMode,
			Taints:     c.AllTaints(),
		})
		if s, known := scalers[c.Scaler]; known {
			problems.Join(s.check(PoolPath(i, c.Name), c, env))
		}
	}
	problems.Join(checkReservations(env.Pools))
	problems.Join(ValidateOverlap("pools", claimants, env.PodsSelectPool))
	for _, name := range pool.Scalers {
		if env.Uses(name) {
			problems.Join(scalers[name].environment(env))
		}
	}
	return problems
}

// checkReservations reports pools that say different things of one reservation.
func checkReservations(pools []config.Pool) (problems problem.List) {
	first := map[string]config.Pool{}
	for i, c := range pools {
		if c.Reservation == nil {
			continue
		}
		earlier, named := first[c.Reservation.ID]
		if !named {
			first[c.Reservation.ID] = c
			continue
		}
		if *earlier.Reservation != *c.Reservation {
			problems.Add(PoolPath(i, c.Name)+".reservation", fmt.Sprintf("pool %q gives another count or end for %s",
				earlier.Name, c.Reservation.ID), nil, "give both the same: a reservation is counted once")
		}
	}
	return problems
}
