package plan

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/headroom-eks/headroom/capacity"
	capacityplan "github.com/headroom-eks/headroom/capacity/plan"
	"github.com/headroom-eks/headroom/components/clusterautoscaler"
	"github.com/headroom-eks/headroom/components/nodegroup"
	"github.com/headroom-eks/headroom/infra/config"
	"github.com/headroom-eks/headroom/pool"
)

// groupArgs are what every managed group of a GPU pool is made of: all but its scaling and, when it is one of several,
// its zone. A group of the device plugin carries the accelerator's label.
func (d *decision) groupArgs(at string, c config.Pool, p *Pool) nodegroup.Args {
	shape := d.answers.Shapes[c.InstanceTypes[0]].Value()
	own := map[string]string{}
	maps.Copy(own, c.Labels)
	if accelerator := clusterautoscaler.Accelerator(c.DeviceMode, shape); accelerator != "" {
		own[pool.AcceleratorLabel] = accelerator
		p.Facts.Labels[pool.AcceleratorLabel] = accelerator
	}
	args := nodegroup.Args{
		Pool:           c.Name,
		InstanceTypes:  c.InstanceTypes,
		Shape:          shape,
		CapacityType:   c.CapacityTypes[0],
		Subnets:        d.plan.Network.Private.In(p.Facts.Zones...),
		ReleaseVersion: d.env.System.AMIRelease,
		DiskGiB:        c.DiskGiB,
		Labels:         own,
		Taints:         append(c.AllTaints(), c.StartupTaints...),
		NodeRepair:     c.NodeRepair,
	}
	if c.Reservation != nil {
		args.ReservationID = c.Reservation.ID
		if zones := p.Facts.Zones; len(zones) > 1 { // FR-08
			wrong := fmt.Sprintf(
				"are %s, and a reservation is in one zone: the group would start nodes in the others, "+
					"where they fail", strings.Join(zones, ", "))
			d.problems().Add(at+".zones", wrong, nil, "name the zone of the reservation")
		}
	}
	return args
}

// addGroup names a decided group and counts what the update has to start for it.
func (d *decision) addGroup(p *Pool, g Group) {
	g.ResourceName = "pool-" + p.Name()
	if g.Args.Zone != "" {
		g.ResourceName += "-" + g.Args.Zone
	}
	p.Groups = append(p.Groups, g)
	p.starting += d.starts(g.Args)
}

// attempt gives a group the name that lives, or the next one where EKS has lost what lives. Which attempt it is shows
// in the names of the live groups alone, so the next update finds the group that this one made.
func (d *decision) attempt(args nodegroup.Args) nodegroup.Args {
	if d.live == nil {
		return args
	}
	for name, group := range d.live.Groups {
		attempt, found := args.AttemptOf(name)
		if found && group.Lost() {
			attempt++
		}
		if found {
			args.Attempt = max(args.Attempt, attempt)
		}
	}
	return args
}

// earlier are the names of the live groups that earlier attempts at a group have left, sorted.
func (d *decision) earlier(args nodegroup.Args) (names []string) {
	if d.live == nil {
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(d.live.Groups)) {
		if attempt, found := args.AttemptOf(name); found && attempt < args.Attempt {
			names = append(names, name)
		}
	}
	return names
}

// starts are the nodes that the update itself starts in a group: all of a new one's minimum, of a live one's what the
// minimum is raised by. Nodes that a live group lacks are its scaler's or EKS's to bring back.
func (d *decision) starts(args nodegroup.Args) int {
	live := d.liveGroup(args)
	return max(0, args.Scaling.Min-max(live.Min, live.Desired))
}

// liveGroup is the group of that name as it lives; it does not exist when there is none.
func (d *decision) liveGroup(args nodegroup.Args) clusterautoscaler.Live {
	if d.live == nil {
		return clusterautoscaler.Live{}
	}
	return d.live.Groups[args.Name()]
}

func (d *decision) groupBounds(p *Pool) {
	p.Facts.Ceilings = append(p.Facts.Ceilings,
		capacityplan.NodeGroupSizeCeiling(max(1, len(p.Groups)), capacityplan.DefaultNodesPerGroup))
}

// groupCount refuses more managed groups than a cluster may have.
func (d *decision) groupCount() {
	groups := 0
	for _, p := range d.plan.Pools {
		groups += len(p.Groups)
	}
	if err := capacityplan.NodeGroupsFit(groups, capacityplan.DefaultGroupsPerCluster); err != nil {
		d.problems().Add("pools", err.Error(), nil, "")
	}
}

// systemPool is the fixed group that carries controllers and DNS.
func (d *decision) systemPool() Pool {
	c := d.env.System
	shape, zones := d.systemShape(), d.systemZones()
	f := capacityplan.PoolFacts{
		Name:          config.SystemPool,
		Scaler:        systemScaler,
		InstanceTypes: []string{c.InstanceType},
		CapacityTypes: []pool.CapacityType{pool.OnDemand},
		Zones:         zones,
		PerNode:       capacity.PerNodeOf(shape),
		Configured:    capacity.Configured{NodeCount: c.NodeCount},
		Labels:        map[string]string{pool.PoolLabel: config.SystemPool},
		Uses:          d.plan.Network.uses(zones, d.addresses(shape, 0)),
	}
	f.Ceilings = []capacityplan.Bound{capacityplan.ConfiguredCeiling(f.Scaler, false, f.Configured, f.PerNode)}
	p := Pool{Facts: f}
	p.Groups = []Group{{ResourceName: config.SystemPool, Args: d.attempt(nodegroup.Args{
		Pool:           config.SystemPool,
		Subnets:        d.plan.Network.Private.In(zones...),
		InstanceTypes:  []string{c.InstanceType},
		Shape:          shape,
		Scaling:        nodegroup.Fixed(*c.NodeCount),
		ReleaseVersion: c.AMIRelease,
		DiskGiB:        c.DiskGiB,
		Taints:         d.plan.Cluster.SystemTaints,
	})}}
	d.groupBounds(&p)
	p.starting = d.starts(p.Groups[0].Args)
	return p
}

// systemZones are those that offer the system group's type: EKS refuses a group that stands in another too (FR-12).
func (d *decision) systemZones() []string {
	instanceType, zones := d.env.System.InstanceType, d.plan.Network.Zones
	offered, known := d.answers.Offerings[instanceType].Get()
	if !known {
		return zones
	}
	found, _, err := capacityplan.PoolZones(instanceType, offered, zones, nil)
	if err != nil {
		d.problems().Add("system.instanceType", err.Error(), nil, "")
	}
	return found
}

func (d *decision) systemShape() pool.Shape {
	const path = "system.instanceType"
	instanceType := d.env.System.InstanceType
	shape, known := d.answers.Shapes[instanceType].Get()
	if !known || shape.Architecture == "" {
		d.undescribed(path, instanceType)
	}
	if shape.GPUs > 0 {
		d.problems().Add(path, instanceType+" has GPUs", nil, "choose a type without: system nodes have none")
	}
	return shape
}
