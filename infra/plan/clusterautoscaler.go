package plan

import (
	"fmt"
	"slices"

	capacityplan "github.com/headroom-eks/headroom/capacity/plan"
	"github.com/headroom-eks/headroom/components/clusterautoscaler"
	"github.com/headroom-eks/headroom/components/nodegroup"
	"github.com/headroom-eks/headroom/infra/config"
	"github.com/headroom-eks/headroom/pool"
	"github.com/headroom-eks/headroom/problem"
)

// clusterAutoscaler pools are managed groups that cluster-autoscaler moves within their bounds.
type clusterAutoscaler struct{}

func (clusterAutoscaler) environment(env config.Environment) problem.List {
	_, problems := clusterautoscaler.ReleaseFor("cluster.kubernetesVersion", env.Cluster.KubernetesVersion,
		clusterautoscaler.Release{})
	return problems
}

func (clusterAutoscaler) check(at string, c config.Pool, env config.Environment) (problems problem.List) {
	// It reads taints from tags of the group, which hold one effect for each key.
	effects := map[string]pool.Effect{pool.GPUTaint.Key: pool.GPUTaint.Effect}
	for i, t := range c.Taints {
		if effect, found := effects[t.Key]; found && effect != t.Effect {
			problems.Add(fmt.Sprintf("%s.taints[%d] %q", at, i, t.Key), fmt.Sprintf("the key has effect %s too, and "+
				"with scaler %s a key has one", effect, c.Scaler), nil, "use two keys")
		}
		effects[t.Key] = t.Effect
	}
	groups := 1
	if c.Spread != "" {
		groups = len(c.Zones)
		if groups == 0 {
			groups = len(env.Network.Zones)
		}
	}
	if c.MinNodeCount != nil {
		needs, _ := capacityplan.NeedsToWake(c.Scaler, c.DeviceMode, false) // an unknown mode is for other rules
		problems.Join(clusterautoscaler.ValidateWake(at, needs, *c.MinNodeCount, groups, c.AcceptNoWakeFromZero))
	}
	return problems
}

// nodes of each instance type, as the template of a group wants them.
func (d *decision) nodes(c config.Pool) (nodes []clusterautoscaler.Node) {
	for _, t := range c.InstanceTypes {
		shape := d.answers.Shapes[t].Value()
		nodes = append(nodes, clusterautoscaler.Node{
			VCPUs:     shape.VCPUs,
			MemoryMiB: shape.MemoryMiB,
			MaxPods:   capacityplan.MaxPods(shape, d.env.Network.PrefixDelegation),
		})
	}
	return nodes
}

func (clusterAutoscaler) decide(d *decision, at string, c config.Pool, p *Pool) {
	base := d.groupArgs(at, c, p)
	template := clusterautoscaler.Template{
		Labels:     p.Facts.Labels,
		Taints:     p.Facts.Taints, // without startup taints: it takes a taint for one that stays
		DeviceMode: c.DeviceMode,
		GPUs:       base.Shape.GPUs,
		DiskGiB:    c.DiskGiB,
		Nodes:      d.nodes(c),
	}
	d.problems().Join(clusterautoscaler.ValidateTemplate(at, template))
	total := clusterautoscaler.Sizes{Min: *c.MinNodeCount, Max: *c.MaxNodeCount, Seed: *c.NodeCount}
	shares := []clusterautoscaler.ZoneShare{{Sizes: total}}
	if c.Spread != "" {
		var problems problem.List
		shares, problems = clusterautoscaler.PerZone(at, p.Facts.Zones, total)
		d.problems().Join(problems)
		p.addShares(shares)
	}
	for _, share := range shares {
		args := base
		if share.Zone != "" {
			args.Zone, args.Subnets = share.Zone, d.plan.Network.Private.In(share.Zone)
		}
		args = d.attempt(args)
		desired, problems := clusterautoscaler.DesiredSize(at+" group "+args.Name(), d.liveGroup(args), share.Sizes)
		d.problems().Join(problems)
		args.Scaling = nodegroup.Scaling{
			Min:     share.Min,
			Desired: desired.Size,
			Max:     share.Max,
			Scaled:  true,
			Send:    !desired.Ignore,
		}
		d.addGroup(p, Group{Args: args, Template: &template, Say: desired.Say})
	}
	d.groupBounds(p)
	release, _ := clusterautoscaler.ReleaseFor("", d.env.Cluster.KubernetesVersion, clusterautoscaler.Release{})
	p.wake.ScalerVersion = release.Image // empty when Check has refused the version: then nothing is known of waking
	p.wake.MinNodeCount, p.Facts.KeptNodes = total.Min, total.Min
}

// addShares makes a spread pool's maximum in each zone a limit that only it draws from.
func (p *Pool) addShares(shares []clusterautoscaler.ZoneShare) {
	for _, share := range shares {
		key := p.addShare(share.Zone, share.Max, "share of "+share.Zone)
		p.Facts.Uses = append(p.Facts.Uses, capacityplan.Use{Limit: key, CostPerNode: 1, Zone: share.Zone})
	}
}

// StartupTaintKeys of every pool that cluster-autoscaler moves, and those given for it, sorted.
func (p Plan) StartupTaintKeys() []string {
	keys := slices.Clone(p.Environment.ClusterAutoscaler.StartupTaints)
	for _, one := range p.Pools {
		for _, g := range one.Groups {
			if g.Template == nil {
				continue
			}
			for _, t := range one.StartupTaints {
				keys = append(keys, t.Key)
			}
		}
	}
	slices.Sort(keys)
	return slices.Compact(keys)
}
