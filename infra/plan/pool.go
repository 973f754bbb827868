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
	"github.com/headroom-eks/headroom/components/nodepool"
	"github.com/headroom-eks/headroom/infra/config"
	"github.com/headroom-eks/headroom/pool"
)

// Pool is one pool, decided: the system group, the general pool or a GPU pool. It is made of managed groups or of
// NodePools, never of both.
type Pool struct {
	// Facts are what the arithmetic of capacity is told of the pool, but for what is counted when it exists.
	Facts capacityplan.PoolFacts
	// Limits that only this pool draws from: its share of each zone when it is spread, or of each way of buying.
	Limits []capacityplan.SharedLimit
	// StartupTaints of its nodes, taken off by a daemon.
	StartupTaints []pool.Taint
	Groups        []Group
	NodePool      *NodePool

	// wake is what decides whether the first node can be made; nil for a pool that is not advertised.
	wake *capacityplan.WakeFacts
	// handedOver: its objects are left to GitOps and not confirmed to be there.
	handedOver bool
	// starting are the nodes that the update itself has to start, whatever the pods ask for.
	starting int
}

// Group is one managed node group of a pool.
type Group struct {
	// ResourceName of the group in the program.
	ResourceName string
	Args         nodegroup.Args
	// Template is what cluster-autoscaler is told about a node of the group; nil when it does not scale it.
	Template *clusterautoscaler.Template
	// Say is what a person should know of its desired size; may be empty.
	Say string
}

// NodePool is a pool as NodePools with their node class, of whichever kind.
type NodePool struct {
	// Spec of the pool, of which nodepool.Parts makes its NodePools.
	Spec  nodepool.Spec
	Class nodepool.NodeClass
	// Zones of the subnets in which its nodes start.
	Zones []string
	// Leaving is the NodePool that the pool had while it was divided, if it was. An update deletes it after nodes are
	// counted, and its nodes with it. Empty when NodePools are not deleted, or when the pool is divided.
	Leaving string
}

// Name of the pool.
func (p Pool) Name() string { return p.Facts.Name }

// addShare makes a part of the pool's maximum a limit that only the pool draws from, and gives its key.
func (p *Pool) addShare(part string, nodes int, detail string) (key string) {
	key = strings.Join([]string{"share", p.Name(), part}, "/")
	p.Limits = append(p.Limits, capacityplan.SharedLimit{
		Key:    key,
		Kind:   capacity.ConfiguredKind,
		Unit:   "nodes",
		Amount: nodes,
		Detail: detail,
	})
	return key
}

// GroupNames are the names of its managed groups in EKS.
func (p Pool) GroupNames() (names []string) {
	for _, g := range p.Groups {
		names = append(names, g.Args.Name())
	}
	return names
}

// attempted says whether the name is that of one of its managed groups, of whichever attempt.
func (p Pool) attempted(name string) bool {
	return slices.ContainsFunc(p.Groups, func(g Group) bool {
		_, found := g.Args.AttemptOf(name)
		return found
	})
}

// NodePools of the pool, with their names and limits.
func (p Pool) NodePools() []nodepool.Part {
	if p.NodePool == nil {
		return nil
	}
	return nodepool.Parts(p.NodePool.Spec)
}

// gpuPool decides one pool of the configuration.
func (d *decision) gpuPool(at string, c config.Pool) Pool {
	d.shapes(at, c)
	shape := d.answers.Shapes[c.InstanceTypes[0]].Value()
	zones, err := d.zonesOf(c)
	if err != nil {
		d.problems().Add(at+".zones", err.Error(), nil, "")
	}
	labels := map[string]string{}
	maps.Copy(labels, c.Labels)
	labels[pool.PoolLabel] = c.Name
	p := Pool{StartupTaints: c.StartupTaints, Facts: capacityplan.PoolFacts{
		Name:          c.Name,
		Scaler:        c.Scaler,
		Advertised:    true,
		DeviceMode:    c.DeviceMode,
		Priority:      c.Priority,
		InstanceTypes: c.InstanceTypes,
		CapacityTypes: c.CapacityTypes,
		Zones:         zones,
		PerNode:       capacity.PerNodeOf(shape),
		Configured: capacity.Configured{
			NodeCount:    c.NodeCount,
			MinNodeCount: c.MinNodeCount,
			MaxNodeCount: c.MaxNodeCount,
		},
		Labels:     labels,
		Taints:     c.AllTaints(),
		TiedToZone: c.Spread != "",
	}}
	p.wake = &capacityplan.WakeFacts{
		Scaler:            c.Scaler,
		Static:            c.Static,
		DeviceMode:        c.DeviceMode,
		KubernetesVersion: d.env.Cluster.KubernetesVersion,
	}
	d.bounds(at, c, shape, &p)
	scalers[c.Scaler].decide(d, at, c, &p)
	return p
}

// bounds adds what holds a pool of any scaler.
func (d *decision) bounds(at string, c config.Pool, shape pool.Shape, p *Pool) {
	f := &p.Facts
	f.Uses = append(d.plan.Network.uses(f.Zones, d.addressesOf(at, c)),
		capacityplan.QuotaUses(c.InstanceTypes[0], shape.VCPUs, c.CapacityTypes)...)
	f.Ceilings = append(f.Ceilings, capacityplan.ConfiguredCeiling(c.Scaler, c.Static, f.Configured, f.PerNode))
	if len(f.Zones) == 1 {
		f.Notes = append(f.Notes, fmt.Sprintf("only zone %s serves this pool; when it is out of stock, so is the pool",
			f.Zones[0]))
	}
	if c.Reservation != nil {
		f.Uses = append(f.Uses, capacityplan.ReservationUse(c.Reservation.ID, ""))
	}
	for _, t := range c.InstanceTypes {
		if !d.answers.Offerings[t].Known() {
			f.Ceilings = append(f.Ceilings, capacityplan.Bound{
				Kind:    capacity.Zones,
				Unknown: "which zones offer " + t + " could not be read",
			})
			break
		}
	}
}

// zonesOf a pool are the zones of the network that it asks for and that offer all its instance types, sorted; an error
// when there is none. Zones that could not be asked about count as offering: the contract then says that they are not
// known.
func (d *decision) zonesOf(c config.Pool) ([]string, error) {
	zones := d.plan.Network.Zones
	offered := slices.Clone(zones)
	for _, t := range c.InstanceTypes {
		if in, known := d.answers.Offerings[t].Get(); known {
			offered = slices.DeleteFunc(offered, func(zone string) bool { return !slices.Contains(in, zone) })
		}
	}
	found, _, err := capacityplan.PoolZones(strings.Join(c.InstanceTypes, ", "), offered, zones, c.Zones)
	return found, err
}

// addressesOf a full node of the pool: of the type that takes the most, since its scaler may choose any. It reports
// pods that would get no address (FR-13).
func (d *decision) addressesOf(at string, c config.Pool) (most int) {
	maxPods, prefixes := c.Kubelet.MaxPods, d.prefixes()
	for _, t := range c.InstanceTypes {
		shape, known := d.answers.Shapes[t].Get()
		if !known {
			continue
		}
		if room := capacityplan.AddressablePods(shape, prefixes); room > 0 && maxPods > room {
			d.problems().Add(at+".kubelet.maxPods",
				fmt.Sprintf("exceeds the %d pods for which a %s has addresses", room, t),
				maxPods, map[bool]string{true: "lower it",
					false: "lower it, or set network.prefixDelegation"}[prefixes])
		}
		most = max(most, d.addresses(shape, maxPods))
	}
	return most
}

// prefixes says whether nodes take addresses in blocks of 16. Those of Auto Mode always do.
func (d *decision) prefixes() bool { return d.env.Network.PrefixDelegation || d.plan.Cluster.AutoMode }

// addresses that a full node of the shape takes out of its subnet; 0 when the shape is not known. MaxPods is the pool's
// own limit, 0 when there is none.
func (d *decision) addresses(shape pool.Shape, maxPods int) int {
	cni := capacityplan.CNI{PrefixDelegation: d.prefixes()}
	pods := capacityplan.MaxPods(shape, cni.PrefixDelegation)
	if maxPods > 0 {
		pods = maxPods
	}
	return cni.AddressesNeeded(shape.MaxENIs, shape.IPv4PerENI, pods-capacityplan.OnHostNetwork)
}

// shapes reports instance types that EC2 does not describe, and types of one pool that differ.
func (d *decision) shapes(at string, c config.Pool) {
	at += ".instanceTypes"
	var first pool.Shape
	for i, t := range c.InstanceTypes {
		shape, known := d.answers.Shapes[t].Get()
		if !known {
			d.undescribed(at, t)
			continue
		}
		if shape.GPUs < 1 {
			d.problems().Add(at, t+" has no whole GPU", nil, "choose a type with one at least")
		}
		if i == 0 {
			first = shape
			continue
		}
		if shape.VCPUs != first.VCPUs || shape.GPUs != first.GPUs {
			d.problems().Add(at, fmt.Sprintf("%s has %d vCPUs and %d GPUs, %s has %d and %d", t, shape.VCPUs,
				shape.GPUs, first.InstanceType, first.VCPUs, first.GPUs), nil, "the types of a pool have one shape")
		}
		if shape.GPUModel != first.GPUModel {
			d.problems().Add(at, fmt.Sprintf("%s has %s GPUs, %s has %s", t, shape.GPUModel, first.InstanceType,
				first.GPUModel), nil, "a gang expects one model, make a pool of each")
		}
	}
}

// undescribed reports an instance type of which EC2 says nothing: what a node offers is not known then.
func (d *decision) undescribed(path, instanceType string) {
	d.problems().Add(path, fmt.Sprintf("EC2 gives no description of %s in %s (%s)", instanceType,
		d.answers.Account.Region, d.answers.Shapes[instanceType].Reason()), nil,
		"choose a type the region has, or allow ec2:DescribeInstanceTypes if that is what failed")
}
