package network

import (
	"cmp"
	"slices"

	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
)

// Subnet of a network.
type Subnet struct {
	ID   pulumi.StringOutput
	Zone Zone
	CIDR string

	routed pulumi.Resource // the association with its route table; nil for an existing subnet
}

// Subnets in the order of their zones.
type Subnets []Subnet

// IDs of the subnets.
func (s Subnets) IDs() pulumi.StringArray {
	ids := make(pulumi.StringArray, len(s))
	for i, subnet := range s {
		ids[i] = subnet.ID
	}
	return ids
}

// In returns the subnets that lie in any of the named zones.
func (s Subnets) In(zones ...string) (found Subnets) {
	for _, subnet := range s {
		if slices.Contains(zones, subnet.Zone.Name) {
			found = append(found, subnet)
		}
	}
	return found
}

// ForControlPlane returns the subnets in which EKS can put the control plane's network interfaces.
func (s Subnets) ForControlPlane() (found Subnets) {
	for _, subnet := range s {
		if subnet.Zone.HostsControlPlane() {
			found = append(found, subnet)
		}
	}
	return found
}

// Zones that the subnets lie in, by name, without repeats.
func (s Subnets) Zones() (zones []string) {
	for _, subnet := range s {
		if !slices.Contains(zones, subnet.Zone.Name) {
			zones = append(zones, subnet.Zone.Name)
		}
	}
	return zones
}

func existing(subnets []ExistingSubnet) (found Subnets) {
	for _, s := range subnets {
		found = append(found, Subnet{ID: pulumi.String(s.ID).ToStringOutput(), Zone: s.Zone, CIDR: s.CIDR})
	}
	slices.SortStableFunc(found, func(a, b Subnet) int { return cmp.Compare(a.Zone.Name, b.Zone.Name) })
	return found
}
