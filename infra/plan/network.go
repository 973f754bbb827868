package plan

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"

	capacityplan "github.com/headroom-eks/headroom/capacity/plan"
	"github.com/headroom-eks/headroom/components/network"
)

// Network is where nodes run. One of New and Existing is set.
type Network struct {
	New      *network.Args
	Existing *network.ExistingArgs
	// Zones in which nodes can run, sorted.
	Zones []string
	// Private subnets as they will be: zone and addresses, not yet an id. Names of managed groups depend on them.
	Private network.Subnets
}

func (d *decision) network() {
	if d.env.Network.Existing != nil {
		d.existingNetwork()
	} else {
		d.newNetwork()
	}
	n := &d.plan.Network
	for _, s := range n.Private {
		n.Zones = append(n.Zones, s.Zone.Name)
	}
	slices.Sort(n.Zones)
	n.Zones = slices.Compact(n.Zones)
}

func (d *decision) zone(name string) network.Zone {
	return network.Zone{Name: name, ID: d.answers.ZoneIDs.Value()[name]}
}

func (d *decision) newNetwork() {
	c := d.env.Network
	args := &network.Args{
		CIDR:      c.CIDR,
		NAT:       network.NAT(c.NATGateways),
		Endpoints: c.InterfaceEndpoints,
	}
	ids, known := d.answers.ZoneIDs.Get()
	for _, name := range c.Zones {
		args.Zones = append(args.Zones, d.zone(name))
		if _, found := ids[name]; known && !found {
			d.problems().Add("network.zones", fmt.Sprintf("this account has no zone %q in %s", name,
				d.answers.Account.Region), nil, "it has "+strings.Join(slices.Sorted(maps.Keys(ids)), ", "))
		}
	}
	d.plan.Network.New = args
	d.endpoints(network.Endpoints(args.NAT, c.InterfaceEndpoints))
	blocks, err := newBlocks(c.CIDR, c.Zones)
	if err != nil {
		d.problems().Add("network", err.Error(), nil, "")
	}
	for _, b := range blocks {
		d.plan.Network.Private = append(d.plan.Network.Private,
			network.Subnet{Zone: d.zone(b.Zone), CIDR: b.Private.String()})
	}
}

// endpoints refuses services that the region does not have, or not in a zone of the network (F21).
func (d *decision) endpoints(services []string) {
	account, path := d.answers.Account, "network.interfaceEndpoints"
	for i, service := range services {
		name := network.ServiceName(account.Partition, account.Region, service)
		zones, known := d.answers.Endpoints[name].Get()
		at := path
		if len(d.env.Network.InterfaceEndpoints) > 0 {
			at = fmt.Sprintf("%s[%d]", path, i)
		}
		switch {
		case !known:
			continue
		case zones == nil:
			d.problems().Add(at, fmt.Sprintf("%s has no endpoint service %s", account.Region, name), service,
				"name the services it has (aws ec2 describe-vpc-endpoint-services lists them)")
			continue
		case len(zones) == 0:
			continue
		}
		for _, zone := range d.env.Network.Zones {
			if !slices.Contains(zones, zone) {
				d.problems().Add(at, fmt.Sprintf("%s has no endpoint in %s", name, zone), service,
					"leave the zone or the endpoint out")
			}
		}
	}
}

// newBlocks are the addresses of a new network, zone by zone.
func newBlocks(cidr string, zones []string) ([]network.Block, error) {
	vpc, err := netip.ParsePrefix(cidr)
	if err != nil {
		return nil, err
	}
	return network.Divide(vpc, zones)
}

func (d *decision) existingNetwork() {
	c, found := d.env.Network.Existing, d.answers.Network
	d.plan.Network.Existing = &network.ExistingArgs{VpcID: c.VpcID, CIDR: found.CIDR.Value()}
	args := d.plan.Network.Existing
	var unread []string
	if !found.CIDR.Known() {
		unread = append(unread, fmt.Sprintf("%s: %s", c.VpcID, found.CIDR.Reason()))
	}
	for _, s := range found.Subnets {
		description, known := s.Found.Get()
		if !known {
			unread = append(unread, fmt.Sprintf("%s: %s", s.ID, s.Found.Reason()))
			continue
		}
		if description.VpcID != c.VpcID {
			d.problems().Add("network.existing", fmt.Sprintf("subnet %s belongs to %s, not to %s", s.ID,
				description.VpcID, c.VpcID), nil, "name subnets of one VPC")
		}
		subnet := network.ExistingSubnet{ID: s.ID, Zone: d.zone(description.Zone), CIDR: description.CIDR}
		if s.Public {
			args.Public = append(args.Public, subnet)
			continue
		}
		d.roomForControlPlane(s.ID, subnet.Zone, description.FreeAddresses)
		args.Private = append(args.Private, subnet)
		d.plan.Network.Private = append(d.plan.Network.Private,
			network.Subnet{Zone: subnet.Zone, CIDR: subnet.CIDR})
	}
	if len(found.Off) > 0 { // FR-09
		d.problems().Add("network.existing.vpcId", "has "+strings.Join(found.Off, " and ")+
			" off, and without both nodes "+
			"find no private endpoint of the cluster", c.VpcID, "switch both on: aws ec2 modify-vpc-attribute")
	}
	if len(unread) > 0 {
		d.problems().Add("network.existing", fmt.Sprintf("the VPC or a subnet could not be read (%s)",
			strings.Join(unread, "; ")), nil, "check the ids and the permission to describe them")
	}
	if zones := d.plan.Network.Private.ForControlPlane().Zones(); len(unread) == 0 && len(zones) < 2 {
		d.problems().Add("network.existing.privateSubnetIds", fmt.Sprintf("lie in %d zone(s) into which EKS puts a "+
			"control plane", len(zones)), zones, "EKS needs two at least; Local Zones and a few others do not count")
	}
}

// controlPlaneAddresses that EKS wants free in each subnet that it is given for a new cluster.
// https://docs.aws.amazon.com/eks/latest/userguide/network-reqs.html
const controlPlaneAddresses = 6

// roomForControlPlane refuses a subnet for which EKS would refuse the cluster. A cluster that lives has its addresses.
func (d *decision) roomForControlPlane(id string, zone network.Zone, free int) {
	if live, asked := d.answers.Live.Get(); asked && live == nil && zone.HostsControlPlane() &&
		free < controlPlaneAddresses {
		wrong := fmt.Sprintf("%s has fewer than the %d free addresses that EKS wants for a control plane", id,
			controlPlaneAddresses)
		d.problems().Add("network.existing.privateSubnetIds", wrong, free, "free some, or name another subnet")
	}
}

// addressReserve of each subnet is for load balancers, endpoints and the nodes that an update starts beside the old
// ones.
const addressReserve = 64

// limitKey names the addresses of a subnet in the arithmetic.
func (n Network) limitKey(s network.Subnet) string {
	if len(n.Private.In(s.Zone.Name)) == 1 {
		return capacityplan.SubnetKey(s.Zone.Name)
	}
	return capacityplan.SubnetKey(s.Zone.Name + "/" + s.CIDR)
}

// uses are the subnets of some zones. A node takes all its addresses out of one of them: what two subnets of a zone
// have left is not added up.
func (n Network) uses(zones []string, addressesPerNode int) (uses []capacityplan.Use) {
	for _, s := range n.Private.In(zones...) {
		uses = append(uses, capacityplan.Use{
			Limit:       n.limitKey(s),
			CostPerNode: addressesPerNode,
			Zone:        s.Zone.Name,
		})
	}
	return uses
}

// addresses of each private subnet as limits: as AWS reported them last. A subnet of a new network that nobody could
// ask about yet counts with its size, since all of it will be free.
func (n Network) addresses(o Observed) (limits []capacityplan.SharedLimit) {
	running := map[string]int{} // nodes, by zone
	for _, realized := range o.Realized {
		for place, nodes := range realized.Nodes {
			running[place.Zone] += nodes
		}
	}
	for _, s := range n.Private {
		zone := s.Zone.Name
		answer, asked := o.FreeAddresses[s.CIDR]
		free, known := answer.Get()
		var limit capacityplan.SharedLimit
		switch {
		case !asked && n.Existing == nil:
			block := netip.MustParsePrefix(s.CIDR) // newBlocks made it
			limit = capacityplan.PlannedAddresses(zone, []int{block.Bits()}, addressReserve)
		case !known:
			reason := fmt.Sprintf("free addresses of %s: %s", s.CIDR, answer.Reason())
			limit = capacityplan.UnknownAddresses(zone, reason)
		default:
			limit = capacityplan.FreeAddresses(zone, free, addressReserve)
		}
		if limit.Key = n.limitKey(s); limit.Free && limit.Key == capacityplan.SubnetKey(zone) {
			// Each node holds one address at least, more is not known. In which of several subnets it runs is not known
			// either.
			limit.Taken = running[zone]
		}
		limits = append(limits, limit)
	}
	return limits
}

// widePrefix is the smallest subnet, as the length of its prefix, in which blocks of 16 addresses in a row are taken to
// last. https://docs.aws.amazon.com/eks/latest/best-practices/prefix-mode-linux.html
const widePrefix = 22

// fragmentable warns of subnets too small for prefix delegation: a node needs blocks of 16 addresses in a row, and what
// other users of a small subnet leave free is soon in pieces (field fault BR-77). It is a warning and no refusal, since
// a reserved range of the subnet makes up for its size, and no data source tells of one. That addresses suffice for all
// nodes at all is a ceiling of the contract.
func (d *decision) fragmentable() (warning string) {
	if !d.env.Network.PrefixDelegation {
		return ""
	}
	var small []string
	for _, s := range d.plan.Network.Private {
		if block, err := netip.ParsePrefix(s.CIDR); err == nil && block.Bits() > widePrefix {
			small = append(small, fmt.Sprintf("%s in %s", block, s.Zone.Name))
		}
	}
	if len(small) == 0 {
		return ""
	}
	return fmt.Sprintf(
		"network.prefixDelegation takes blocks of 16 addresses in a row, which run out in small subnets "+
			"while single addresses are free (%s); use subnets of /%d or larger, or reserve a range of each for "+
			"prefixes (aws ec2 create-subnet-cidr-reservation --reservation-type "+
			"prefix)", strings.Join(small, ", "), widePrefix)
}
