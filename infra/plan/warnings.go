package plan

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/headroom-eks/headroom/components/nodegroup"
	"github.com/headroom-eks/headroom/infra/config"
)

// warnings in the order in which a person should read them: the configuration's, what AWS did not say, what the update
// would do.
func (d *decision) warnings() []string {
	all := d.env.Warnings()
	for _, m := range d.answers.Missing {
		if !m.Guards {
			all = append(all, fmt.Sprintf("not known, so no more is promised than is certain: %s: %s",
				m.Question, m.Reason))
		}
	}
	for _, warning := range []string{
		d.lockedOut(), d.fragmentable(), d.systemInOneZone(), d.rebalanced(), d.lost(), d.degraded(), d.replaced(),
		d.emptied(), d.displaced(), d.noRoomToRoll(),
	} {
		if warning != "" {
			all = append(all, warning)
		}
	}
	return all
}

// lockedOut says that the caller may not be able to make objects in the cluster: with a cluster-admin
// named, the creator gets no access of its own. It is a warning and no refusal, since a role can be assumed in ways its
// name does not show.
func (d *decision) lockedOut() (warning string) {
	admins := 0
	for _, a := range d.env.Cluster.Access {
		if a.Policy != "cluster-admin" {
			continue
		}
		admins++
		if d.isCaller(a.PrincipalArn) {
			return ""
		}
	}
	if admins == 0 {
		return ""
	}
	return fmt.Sprintf(
		"cluster.access names cluster-admins, and %s is none of them by its name: if it is not, objects "+
			"in the cluster are refused as unauthorized", d.answers.Account.CallerArn)
}

// systemInOneZone says that controllers and DNS go with a zone, though the network has more.
func (d *decision) systemInOneZone() (warning string) {
	for _, p := range d.plan.Pools {
		zones := p.Facts.Zones
		if p.Name() == config.SystemPool && len(zones) == 1 && len(d.plan.Network.Zones) > 1 {
			return fmt.Sprintf(
				"system.instanceType: only zone %s offers %s, so controllers and DNS go with that zone; "+
					"choose a type that more zones offer", zones[0], d.env.System.InstanceType)
		}
	}
	return ""
}

// rebalanced says which fixed pools EC2 may take a busy node from: the group behind a managed group evens out its zones
// by itself, and EKS needs that for updates, so it cannot be switched off (FR-17).
// https://github.com/aws/containers-roadmap/issues/1453
func (d *decision) rebalanced() (warning string) {
	var spread []string
	for _, c := range d.env.Pools {
		for _, p := range d.plan.Pools {
			if p.Name() == c.Name && !c.Scaler.Scales() && *c.NodeCount > 1 && len(p.Facts.Zones) > 1 {
				spread = append(spread, c.Name)
			}
		}
	}
	if len(spread) == 0 {
		return ""
	}
	return fmt.Sprintf("pools %s: EC2 may end a busy node of a fixed pool to even out its zones; name one zone for "+
		"each, or bear it", strings.Join(spread, ", "))
}

// replaced says which managed groups with nodes the update will replace. EKS can change neither the instance types nor
// the subnets of a group, and the subnets follow from where EC2 offers the types today, so this can happen without a
// change of the configuration.
func (d *decision) replaced() (warning string) {
	if d.live == nil {
		return ""
	}
	going := d.leaving(func(p Pool) bool { return len(p.Groups) > 0 })
	if len(going) == 0 {
		return ""
	}
	return fmt.Sprintf("this update replaces node groups that have nodes, which are drained when the new ones are "+
		"there; until then both need room in quotas and subnets: %s. What a group is made of has changed: its "+
		"instance types, its capacity type, or the zones that offer them. Name the pool's zones to keep it where it "+
		"is", strings.Join(going, ", "))
}

// displaced says which nodes are replaced because their pool is divided by ways of buying, or is divided no longer.
func (d *decision) displaced() (warning string) {
	var spot, leaving []string
	for _, p := range d.plan.Pools {
		n := d.answers.Displaced[p.Name()].Value()
		switch {
		case n == 0:
		case len(p.NodePools()) > 1:
			spot = append(spot, fmt.Sprintf("%s (%d nodes)", p.Name(), n))
		case p.NodePool.Leaving != "":
			leaving = append(leaving, fmt.Sprintf("%s (%d nodes)", p.NodePool.Leaving, n))
		}
	}
	var said []string
	if len(spot) > 0 {
		said = append(said, fmt.Sprintf("maxOnDemandNodeCount makes a NodePool of its own for spot, so spot nodes "+
			"that run in the NodePool of the pool's name are replaced, as its budgets allow: %s. Until then there may "+
			"be more nodes than maxNodeCount; on-demand nodes stay", strings.Join(spot, ", ")))
	}
	if len(leaving) > 0 {
		said = append(said, fmt.Sprintf("without maxOnDemandNodeCount this update deletes NodePools for spot, and "+
			"their nodes are drained at once, whatever the budgets say: %s", strings.Join(leaving, ", ")))
	}
	return strings.Join(said, "; ")
}

// emptied says which managed groups with nodes the update deletes because their pool is to have none.
func (d *decision) emptied() (warning string) {
	if d.live == nil {
		return ""
	}
	going := d.leaving(func(p Pool) bool { return len(p.Groups) == 0 && p.Facts.Scaler.ManagedGroup() })
	if len(going) == 0 {
		return ""
	}
	return "this update deletes node groups, whose nodes are drained, since a fixed pool of no nodes has no group: " +
		strings.Join(going, ", ")
}

// lost says which groups EKS has lost, and what the update makes in their place (M4).
func (d *decision) lost() (warning string) {
	var said []string
	for _, p := range d.plan.Pools {
		for _, g := range p.Groups {
			for _, name := range d.earlier(g.Args) {
				said = append(said, fmt.Sprintf("%s of pool %s is %s, and %s takes its place", name, p.Name(),
					d.live.Groups[name].Status, g.Args.Name()))
			}
		}
	}
	if len(said) == 0 {
		return ""
	}
	return fmt.Sprintf("EKS has lost node groups, and the update replaces them: %s. A lost group is deleted, and its "+
		"nodes are drained, when the new one is there; until then both need room in quotas and subnets. Why EKS lost "+
		"it: aws eks describe-nodegroup --cluster-name %s --nodegroup-name <name> --query nodegroup.health",
		strings.Join(said, "; "), d.live.Name)
}

// degraded says which groups have issues in EKS. They work and are left alone. The issues themselves are not in what
// the provider's data source answers.
func (d *decision) degraded() (warning string) {
	var said []string
	for _, p := range d.plan.Pools {
		for _, g := range p.Groups {
			if d.liveGroup(g.Args).Degraded() {
				said = append(said, fmt.Sprintf("%s of pool %s", g.Args.Name(), p.Name()))
			}
		}
	}
	if len(said) == 0 {
		return ""
	}
	return fmt.Sprintf("node groups are DEGRADED in EKS, so no more than the nodes they have is promised: %s. They "+
		"are not replaced; for the issues ask: aws eks describe-nodegroup --cluster-name %s --nodegroup-name <name> "+
		"--query nodegroup.health", strings.Join(said, ", "), d.live.Name)
}

// leaving are the live groups with nodes that belong to some of the GPU pools, and that the plan has no more. Earlier
// attempts at a planned group are not among them.
func (d *decision) leaving(of func(Pool) bool) (going []string) {
	zones := slices.Collect(maps.Keys(d.answers.ZoneIDs.Value()))
	for _, p := range d.plan.Pools {
		if !p.Facts.Advertised || !of(p) {
			continue
		}
		own := nodegroup.NamesOf(p.Name(), zones)
		for _, name := range slices.Sorted(maps.Keys(d.live.Groups)) {
			live := d.live.Groups[name]
			if own.MatchString(name) && live.Desired > 0 && !p.attempted(name) {
				going = append(going, fmt.Sprintf("%s (%d nodes)", name, live.Desired))
			}
		}
	}
	return going
}
