package plan

import (
	"fmt"
	"slices"

	"github.com/headroom-eks/headroom/capacity"
)

// prefixAddresses is the size of the block that prefix delegation assigns: a /28.
const prefixAddresses = 16

// CNI holds the settings that decide how many addresses a node takes out of its subnet. The zero value is the VPC CNI's
// default. https://github.com/aws/amazon-vpc-cni-k8s/blob/master/docs/eni-and-ip-target.md and prefix-and-ip-target.md
type CNI struct {
	// AddressesPerNode, when above 0, is taken as it is: for Auto Mode, another CNI, or a measured number.
	AddressesPerNode int
	// PrefixDelegation assigns blocks of 16 addresses.
	PrefixDelegation bool
	// WarmENITarget whole interfaces, or with prefix delegation WarmPrefixTarget whole blocks, are kept beside what
	// pods use. Nil means the default of 1. Neither is read when WarmIPTarget or MinimumIPTarget is above 0.
	WarmENITarget    *int
	WarmPrefixTarget *int
	// WarmIPTarget addresses are kept beside what pods use, and at least MinimumIPTarget are held.
	WarmIPTarget    int
	MinimumIPTarget int
}

// AddressesNeeded is how many addresses of its subnet a full node takes: its pods', those kept warm, and one for each
// interface. MaxENIs and ipv4PerENI are those of the instance type; pods are those with an address of their own. 0
// means not known.
func (c CNI) AddressesNeeded(maxENIs, ipv4PerENI, pods int) int {
	if c.AddressesPerNode > 0 {
		return c.AddressesPerNode
	}
	slots := ipv4PerENI - 1 // the first address is the interface's own
	if maxENIs < 1 || slots < 1 {
		return 0
	}
	pods = max(pods, 0)
	block, warm := 1, slots*orOne(c.WarmENITarget)
	if c.PrefixDelegation {
		block, warm = prefixAddresses, prefixAddresses*orOne(c.WarmPrefixTarget)
	}
	want := ceilDiv(pods, block)*block + warm
	if c.WarmIPTarget > 0 || c.MinimumIPTarget > 0 {
		want = max(pods+max(c.WarmIPTarget, 0), c.MinimumIPTarget)
	} else if !c.PrefixDelegation {
		want = ceilDiv(pods, slots)*slots + warm // whole interfaces
	}
	blocks := min(max(ceilDiv(want, block), 1), maxENIs*slots)
	enis := ceilDiv(blocks, slots)
	return blocks*block + enis
}

func orOne(n *int) int {
	if n == nil {
		return 1
	}
	return max(*n, 0)
}

func ceilDiv(a, b int) int { return (a + b - 1) / b }

// subnetReserved addresses of every subnet belong to AWS.
// https://docs.aws.amazon.com/vpc/latest/userguide/subnet-sizing.html
const subnetReserved = 5

// SubnetKey names the addresses of one zone in Use.
func SubnetKey(zone string) string { return string(capacity.SubnetAddresses) + "/" + zone }

// FreeAddresses is the limit of one zone's subnets when AWS says what is free. Running nodes have some of their
// addresses already, and may take more: set Taken to what they are known to hold; every instance holds at least one.
// Reserve is kept for others (load balancers, endpoints, rolling updates).
//
// With prefix delegation a node also needs whole blocks in a row, which a fragmented subnet may not have (field fault
// BR-77): the number of free addresses does not show it.
func FreeAddresses(zone string, free, reserve int) SharedLimit {
	return SharedLimit{
		Key:    SubnetKey(zone),
		Kind:   capacity.SubnetAddresses,
		Unit:   "addresses",
		Amount: max(free-max(reserve, 0), 0),
		Free:   true,
		Detail: fmt.Sprintf("%d free, %d kept for others", free, max(reserve, 0)),
	}
}

// PlannedAddresses is the limit of one zone's subnets by arithmetic, for a network of ours: every address but those AWS
// keeps and the reserve, running nodes included. PrefixLengths are those of the zone's subnets, for example 20 for a
// /20.
func PlannedAddresses(zone string, prefixLengths []int, reserve int) SharedLimit {
	total := 0
	for _, length := range prefixLengths {
		if length >= 0 && length <= 32 {
			total += max(1<<(32-length)-subnetReserved, 0)
		}
	}
	return SharedLimit{
		Key:    SubnetKey(zone),
		Kind:   capacity.SubnetAddresses,
		Unit:   "addresses",
		Amount: max(total-max(reserve, 0), 0),
		Detail: fmt.Sprintf("%d by the size of the subnets, %d kept for others", total, max(reserve, 0)),
	}
}

// UnknownAddresses is the limit of one zone's subnets when it could not be read.
func UnknownAddresses(zone, reason string) SharedLimit {
	l := FreeAddresses(zone, 0, 0)
	l.Unknown, l.Detail = reason, ""
	return l
}

// SubnetUses lists the address limits of a pool's zones, of which each of its nodes draws from one.
func SubnetUses(zones []string, addressesPerNode int) (uses []Use) {
	for _, zone := range zones {
		uses = append(uses, Use{Limit: SubnetKey(zone), CostPerNode: addressesPerNode, Zone: zone})
	}
	return uses
}

// PoolZones is the set of zones a pool can use, sorted: those that offer its instance type, and have a subnet, and are
// named by the config if it names any. All by the account's own zone names. None in common is an error that names the
// three sets; a single one gives a note.
//
// When the offering could not be read, pass every zone of the subnets as offered and give the pool a Bound of kind
// Zones that is unknown: the type may not be sold in any of them.
func PoolZones(instanceType string, offered, subnets, pinned []string) (zones []string, note string, err error) {
	for _, zone := range subnets {
		if slices.Contains(offered, zone) && (len(pinned) == 0 || slices.Contains(pinned, zone)) &&
			!slices.Contains(zones, zone) {
			zones = append(zones, zone)
		}
	}
	slices.Sort(zones)
	switch len(zones) {
	case 0:
		return nil, "", fmt.Errorf("no zone is left for %s: it is offered in %v, the subnets are in %v, the config "+
			"names %v; add a subnet in a zone that offers it, or choose another "+
			"type", instanceType, offered, subnets, pinned)
	case 1:
		return zones, "only zone " + zones[0] + " serves this pool; when it is out of stock, so is the pool", nil
	default:
		return zones, "", nil
	}
}
