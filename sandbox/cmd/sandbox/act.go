package main

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/headroom-eks/headroom/sandbox/kubernetes"
	"github.com/headroom-eks/headroom/sandbox/world"
)

// acts are what the world can do to the account, by name. Each says what it did.
var acts = map[string]struct {
	arguments, does string
	least, most     int
	do              func(s *world.State, args []string) (string, error)
}{
	"scale": {"<pool> <n> [force]", "bring a pool to n nodes, as its scaler would; force also past its bounds", 2, 3,
		scale},
	"bounds": {"<pool> <min> <max>", "move the bounds of a managed group", 3, 3,
		func(s *world.State, a []string) (string, error) {
			low, errLow := strconv.Atoi(a[1])
			high, errHigh := strconv.Atoi(a[2])
			g, err := s.GroupOfPool("", a[0])
			if err = first(errLow, errHigh, err); err != nil {
				return "", err
			}
			return fmt.Sprintf("group %s now has bounds %d..%d", g.Name, low, high), s.SetGroupBounds(g, low, high)
		}},
	"status": {"<pool> <status>", "EKS's word for a managed group: ACTIVE, DEGRADED or CREATE_FAILED", 2, 2,
		func(s *world.State, a []string) (string, error) {
			g, err := s.GroupOfPool("", a[0])
			if err != nil {
				return "", err
			}
			return fmt.Sprintf("group %s is %s now", g.NodeGroup, a[1]), s.SetGroupStatus(g, a[1])
		}},
	"limit": {"<pool> <limit> <n>", "set a limit of a NodePool by hand: nvidia.com/gpu, cpu, memory or nodes", 3, 3,
		func(s *world.State, a []string) (string, error) {
			cluster, err := clusterWithNodePools(s)
			if err != nil {
				return "", err
			}
			return fmt.Sprintf("the NodePool of %s is limited to %s %s", a[0], a[2], a[1]),
				kubernetes.LimitNodePool(s, cluster, a[0], a[1], a[2])
		}},
	"drop": {"<pool>", "delete a NodePool by hand; its nodes go with it", 1, 1,
		func(s *world.State, a []string) (string, error) {
			cluster, err := clusterWithNodePools(s)
			if err != nil {
				return "", err
			}
			return "the NodePool of " + a[0] + " is gone", kubernetes.DeleteNodePool(s, cluster, a[0])
		}},
	"quota": {"<code> <vcpus>", "set a service quota, L-DB2E81BA for example", 2, 2,
		func(s *world.State, a []string) (string, error) {
			n, err := strconv.ParseFloat(a[1], 64)
			if err != nil {
				return "", err
			}
			return fmt.Sprintf("quota %s is now %g", a[0], n), s.SetQuota(a[0], n)
		}},
	"empty-zone": {"<zone> [type]", "no capacity in a zone, for a type or for all", 1, 2,
		func(s *world.State, a []string) (string, error) {
			return "launches of " + typeOr(a) + " in " + a[0] + " fail now", s.EmptyZone(a[0], typeOr(a), true)
		}},
	"unoffer": {"<zone> <type>", "EC2 no longer offers a type in a zone", 2, 2,
		func(s *world.State, a []string) (string, error) {
			return a[1] + " is not offered in " + a[0] + " any more", s.EmptyZone(a[0], a[1], false)
		}},
	"fill-zone": {"<zone> [type]", "undo empty-zone and unoffer", 1, 2,
		func(s *world.State, a []string) (string, error) {
			s.FillZone(a[0], typeOr(a))
			return "launches of " + typeOr(a) + " in " + a[0] + " work again", nil
		}},
	"interrupt": {"<pool>", "take a spot node of a pool away", 1, 1, func(s *world.State, a []string) (string, error) {
		for _, i := range s.SortedInstances(func(i *world.Instance) bool {
			return i.Running() && i.Spot && of(i, a[0])
		}) {
			return "EC2 took " + i.ID + " back", s.Interrupt(i.ID)
		}
		return "", fmt.Errorf("pool %q has no running spot node", a[0])
	}},
	"deny": {"<action>", "refuse an API action, servicequotas:GetServiceQuota or ec2:* for example", 1, 1,
		func(s *world.State, a []string) (string, error) {
			return a[0] + " is denied now", s.Deny(a[0])
		}},
	"allow": {"<action>", "undo deny", 1, 1, func(s *world.State, a []string) (string, error) {
		return a[0] + " is allowed again", s.Allow(a[0])
	}},
	"leftovers": {"", "list what the account holds", 0, 0, func(s *world.State, _ []string) (string, error) {
		if left := s.Leftovers(); len(left) > 0 {
			return strings.Join(left, "\n"), nil
		}
		return "the simulated account is empty", nil
	}},
	"remove": {"<name>", "remove something by hand, named as leftovers does", 1, 1,
		func(s *world.State, a []string) (string, error) {
			return a[0] + " is gone", s.Remove(a[0])
		}},
}

func actUsage() string {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(acts)) {
		fmt.Fprintf(&b, "      %-32s %s\n", strings.TrimSpace(name+" "+acts[name].arguments), acts[name].does)
	}
	return b.String()
}

func act(w *world.World, args []string) (said string, err error) {
	if len(args) == 0 {
		return "", fmt.Errorf("act what?\n%s", actUsage())
	}
	a, known := acts[args[0]]
	if !known {
		return "", fmt.Errorf("%q is no act of the sandbox:\n%s", args[0], actUsage())
	}
	if n := len(args) - 1; n < a.least || n > a.most {
		return "", fmt.Errorf("use: sandbox act %s %s", args[0], a.arguments)
	}
	err = w.Update(func(s *world.State) (err error) {
		said, err = a.do(s, args[1:])
		return err
	})
	return said, err
}

// scale plays whatever moves the pool: the node controller of a NodePool, or an autoscaler on a managed group.
func scale(s *world.State, args []string) (string, error) {
	n, err := strconv.Atoi(args[1])
	if err != nil || n < 0 {
		return "", fmt.Errorf("%q is not a number of nodes", args[1])
	}
	force := len(args) == 3 && args[2] == "force"
	if len(args) == 3 && !force {
		return "", fmt.Errorf("%q: the only word after the number is force", args[2])
	}
	g, notAGroup := s.GroupOfPool("", args[0])
	if notAGroup == nil {
		return fmt.Sprintf("pool %s has %d nodes", args[0], n), s.ScaleGroup(g, n, force)
	}
	cluster, err := clusterWithNodePools(s)
	if err != nil {
		return "", notAGroup
	}
	nodes, err := kubernetes.ScaleNodePool(s, cluster, args[0], n)
	return fmt.Sprintf("pool %s has %d nodes", args[0], len(nodes)), err
}

func clusterWithNodePools(s *world.State) (string, error) {
	for _, cluster := range s.OfType("aws:eks/cluster:Cluster") {
		if len(kubernetes.NodePools(s, cluster.ID)) > 0 {
			return cluster.ID, nil
		}
	}
	return "", errors.New("no cluster of the account has a NodePool")
}

// of reports whether an instance belongs to a pool, by its tag or its NodePool.
func of(i *world.Instance, pool string) bool {
	return i.Tags["headroom/pool"] == pool || i.Pool == pool
}

func typeOr(args []string) string {
	if len(args) > 1 {
		return args[1]
	}
	return "*"
}

func first(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
