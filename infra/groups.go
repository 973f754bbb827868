package infra

import (
	"fmt"
	"maps"
	"net/netip"
	"regexp"
	"slices"
	"strings"

	"github.com/headroom-eks/headroom/components/clusterautoscaler"
	"github.com/headroom-eks/headroom/components/network"
	"github.com/headroom-eks/headroom/components/nodegroup"
	"github.com/headroom-eks/headroom/infra/config"
	"github.com/headroom-eks/headroom/pool"
	"github.com/headroom-eks/headroom/problem"
)

// groupZones are the zones for which a pool has a group of its own; none when one group serves them all.
func groupZones(p config.Pool, env config.Environment, f facts) []string {
	if p.Spread == "" {
		return nil
	}
	return zonesOf(p, env, f)
}

// sizes of a cluster-autoscaler pool as a whole.
func sizes(p config.Pool) (s clusterautoscaler.Sizes) {
	for _, c := range []struct{ from, to *int }{{p.MinNodeCount, &s.Min}, {p.MaxNodeCount, &s.Max},
		{p.NodeCount, &s.Seed}} {
		if c.from != nil {
			*c.to = *c.from
		}
	}
	return s
}

// shares of a pool that is spread over zones, sorted by zone; none when they cannot be made, which judge reports.
func shares(p config.Pool, env config.Environment, f facts) []clusterautoscaler.ZoneShare {
	found, problems := clusterautoscaler.PerZone("", groupZones(p, env, f), sizes(p))
	if problems.Err() != nil {
		return nil
	}
	return found
}

// group is one managed node group of a pool, decided; Say is what a person should know of its desired size.
type group struct {
	Args nodegroup.Args
	Say  string
}

// groups of a managed pool, in the order of their zones, with everything that does not come from other resources.
func groups(at string, p config.Pool, env config.Environment, f facts) (out []group, problems problem.List) {
	shape := f.Shapes[p.InstanceTypes[0]]
	base := nodegroup.Args{
		Pool:           p.Name,
		InstanceTypes:  p.InstanceTypes,
		Shape:          shape,
		CapacityType:   p.CapacityTypes[0],
		ReleaseVersion: env.System.AMIRelease,
		DiskGiB:        p.DiskGiB,
		Labels:         ownLabels(p, shape),
		Taints:         append(p.AllTaints(), p.StartupTaints...),
		NodeRepair:     p.NodeRepair,
	}
	if p.Reservation != nil {
		base.ReservationID = p.Reservation.ID
	}
	all := plannedSubnets(env, f)
	if p.Scaler == pool.Fixed {
		base.Subnets, base.Scaling = all.In(zonesOf(p, env, f)...), nodegroup.Fixed(*p.NodeCount)
		return []group{{Args: base}}, problems
	}
	parts := []clusterautoscaler.ZoneShare{{Sizes: sizes(p)}}
	if p.Spread != "" {
		parts, problems = clusterautoscaler.PerZone(at, groupZones(p, env, f), sizes(p))
	}
	for _, part := range parts {
		args := base
		args.Zone = part.Zone
		args.Subnets = all.In(zonesOf(p, env, f)...)
		if part.Zone != "" {
			args.Subnets = all.In(part.Zone)
		}
		desired, found := clusterautoscaler.DesiredSize(at+" group "+args.Name(), f.LiveGroups[args.Name()], part.Sizes)
		problems.Join(found)
		args.Scaling = nodegroup.Scaling{
			Min:           part.Min,
			Desired:       desired.Size,
			Max:           part.Max,
			IgnoreDesired: desired.Ignore,
		}
		out = append(out, group{Args: args, Say: desired.Say})
	}
	return out, problems
}

// replaced says which managed groups with nodes the update will replace. EKS can change neither the instance types nor
// the subnets of a group, and the subnets follow from where EC2 offers the types today, so this can happen without a
// change of the configuration.
func replaced(env config.Environment, f facts) (warning string) {
	zones := make([]string, 0, len(f.ZoneIDs))
	for zone := range f.ZoneIDs {
		zones = append(zones, regexp.QuoteMeta(zone))
	}
	var going []string
	for _, p := range env.Pools {
		if !p.Scaler.ManagedGroup() {
			continue
		}
		decided, _ := groups("", p, env, f) // judge reports its problems
		var planned []string
		for _, g := range decided {
			planned = append(planned, g.Args.Name())
		}
		own := regexp.MustCompile("^" + regexp.QuoteMeta(p.Name) + "(-(" + strings.Join(zones, "|") +
			"))?-[0-9a-f]{8}$")
		for _, name := range slices.Sorted(maps.Keys(f.LiveGroups)) {
			if live := f.LiveGroups[name]; own.MatchString(name) && live.Desired > 0 &&
				!slices.Contains(planned, name) {
				going = append(going, fmt.Sprintf("%s (%d nodes)", name, live.Desired))
			}
		}
	}
	if len(going) == 0 {
		return ""
	}
	return fmt.Sprintf("this update replaces node groups that have nodes, which are drained when the new ones are "+
		"there: %s. What a group is made of "+
		"has changed: its instance types, its capacity type, or the zones that offer them. Name the pool's zones to "+
		"keep it where it is", strings.Join(going, ", "))
}

// judgeGroups reports what a pool's managed groups cannot be.
func judgeGroups(at string, p config.Pool, env config.Environment, f facts, problems *problem.List) {
	if p.Scaler != pool.ClusterAutoscaler {
		return
	}
	_, found := groups(at, p, env, f)
	problems.Join(found)
	problems.Join(clusterautoscaler.ValidateTemplate(at, template(p, f.Shapes[p.InstanceTypes[0]])))
}

// plannedSubnets are the private subnets as they will be: zone and addresses, not yet an id. Group names depend on
// them.
func plannedSubnets(env config.Environment, f facts) (subnets network.Subnets) {
	if env.Network.Existing != nil {
		for _, s := range f.Subnets {
			if !s.Public {
				subnets = append(subnets, network.Subnet{Zone: network.Zone{Name: s.Zone, ID: f.ZoneIDs[s.Zone]},
					CIDR: s.CIDR})
			}
		}
		return subnets
	}
	for _, b := range newBlocks(env) {
		subnets = append(subnets, network.Subnet{
			Zone: network.Zone{Name: b.Zone, ID: f.ZoneIDs[b.Zone]},
			CIDR: b.Private.String(),
		})
	}
	return subnets
}

// newBlocks are the addresses of a new network, zone by zone; none where the network's own rules refuse them.
func newBlocks(env config.Environment) []network.Block {
	vpc, err := netip.ParsePrefix(env.Network.CIDR)
	if err != nil {
		return nil
	}
	blocks, err := network.Divide(vpc, env.Network.Zones)
	if err != nil {
		return nil
	}
	return blocks
}

// ownLabels of a pool: its own and, for a managed group of the device plugin, the accelerator.
func ownLabels(p config.Pool, shape pool.Shape) map[string]string {
	labels := maps.Clone(p.Labels)
	if labels == nil {
		labels = map[string]string{}
	}
	if accelerator := clusterautoscaler.Accelerator(p.DeviceMode, shape); accelerator != "" && p.Scaler.ManagedGroup() {
		labels[pool.AcceleratorLabel] = accelerator
	}
	return labels
}

// nodeLabels are everything that a node of the pool carries.
func nodeLabels(p config.Pool, shape pool.Shape) map[string]string {
	labels := ownLabels(p, shape)
	labels[pool.PoolLabel] = p.Name
	return labels
}

// template is what cluster-autoscaler is told about a node of the pool. Startup taints are left out: it takes a taint
// for one that stays.
func template(p config.Pool, shape pool.Shape) clusterautoscaler.Template {
	return clusterautoscaler.Template{
		Labels:     nodeLabels(p, shape),
		Taints:     p.AllTaints(),
		DeviceMode: p.DeviceMode,
		GPUs:       shape.GPUs,
		DiskGiB:    p.DiskGiB,
	}
}

// startupTaintKeys of every pool that cluster-autoscaler moves, and those given for it, sorted.
func startupTaintKeys(env config.Environment) []string {
	keys := slices.Clone(env.ClusterAutoscaler.StartupTaints)
	for _, p := range env.Pools {
		if p.Scaler != pool.ClusterAutoscaler {
			continue
		}
		for _, t := range p.StartupTaints {
			keys = append(keys, t.Key)
		}
	}
	slices.Sort(keys)
	return slices.Compact(keys)
}

// groupName is the logical name of a pool's group.
func groupName(p config.Pool, zone string) string {
	if zone == "" {
		return "pool-" + p.Name
	}
	return fmt.Sprintf("pool-%s-%s", p.Name, zone)
}
