package aws

import (
	"fmt"
	"slices"

	"github.com/headroom-eks/headroom/sandbox/world"
)

var internetGatewayRow = resourceRow{
	typ:      tGateway,
	inputs:   []string{"vpcId"},
	refs:     []reference{vpcRef},
	id:       "igw-{hex}",
	arn:      "arn:{partition}:ec2:{region}:{account}:internet-gateway/{id}",
	tagged:   true,
	computed: map[string]string{"ownerId": "{account}"},
	inUse:    "DependencyViolation: The internetGateway '{id}' has dependencies and cannot be deleted.",
	onCreate: createInternetGateway,
	onDelete: deleteInternetGateway,
}

func createInternetGateway(c *call) error {
	for _, r := range c.s.OfType(tGateway) {
		if vpc := str(c.in, "vpcId"); vpc != "" && str(r.Inputs, "vpcId") == vpc {
			return fmt.Errorf("Resource.AlreadyAssociated: Network %s already has an internet gateway attached",
				vpc)
		}
	}
	return nil
}

func deleteInternetGateway(c *call) error {
	for _, nat := range c.s.OfType(tNat) {
		if subnet := c.s.Get(tSubnet, str(nat.Inputs, "subnetId")); subnet != nil &&
			str(subnet.Outputs, "vpcId") == str(c.out, "vpcId") && has(nat.Inputs, "allocationId") {
			return fmt.Errorf("DependencyViolation: Network %s has some mapped public address(es). Please "+
				"unmap those public address(es) before detaching the gateway.",
				str(c.out, "vpcId"))
		}
	}
	return nil
}

var eipRow = resourceRow{
	typ:      tEip,
	inputs:   []string{"domain", "vpc", "instance", "networkInterface", "publicIpv4Pool", "networkBorderGroup"},
	replaces: []string{"domain", "vpc"},
	enums: map[string][]string{
		"domain": {"vpc", "standard"},
	},
	id:       "eipalloc-{hex}",
	arn:      "arn:{partition}:ec2:{region}:{account}:elastic-ip/{id}",
	tagged:   true,
	defaults: obj{"domain": "vpc"},
	computed: map[string]string{"allocationId": "{id}"},
	inUse: "AuthFailure: You do not have permission to access the specified resource. Address {id} is " +
		"associated and cannot be released (InvalidIPAddress.InUse)",
	onCreate: createEip,
}

func createEip(c *call) error {
	n := len(c.s.OfType(tEip))
	if float64(n) >= c.s.Quotas[world.QuotaAddresses] {
		return fmt.Errorf("AddressLimitExceeded: The maximum number of addresses has been reached.")
	}
	c.set("publicIp", fmt.Sprintf("203.0.113.%d", 10+c.s.Generations["eip"]%240)) // TEST-NET-3
	c.s.Generations["eip"]++
	return nil
}

var natGatewayRow = resourceRow{
	typ:      tNat,
	inputs:   []string{"allocationId", "connectivityType", "privateIp", "subnetId"},
	required: []string{"subnetId"},
	replaces: []string{"allocationId", "connectivityType", "privateIp", "subnetId"},
	enums: map[string][]string{
		"connectivityType": {"public", "private"},
	},
	defaults: obj{"connectivityType": "public"},
	refs: []reference{
		{
			path: "allocationId",
			typ:  tEip,
			gone: "InvalidAllocationID.NotFound: The allocation ID '{value}' does not exist",
		},
		{path: "subnetId", typ: tSubnet, gone: subnetGone},
	},
	id:       "nat-{hex}",
	tagged:   true,
	computed: map[string]string{"networkInterfaceId": "eni-{random}", "associationId": "eipassoc-{random}"},
	onCreate: createNatGateway,
}

func createNatGateway(c *call) error {
	if str(c.out, "connectivityType") == "private" && has(c.in, "allocationId") {
		return fmt.Errorf("InvalidParameterCombination: a private NAT gateway takes no AllocationId")
	}
	if str(c.out, "connectivityType") == "public" && !has(c.in, "allocationId") {
		return fmt.Errorf("MissingParameter: The request must include the AllocationId parameter for a " +
			"public NAT gateway")
	}
	vpc := str(c.s.Get(tSubnet, str(c.in, "subnetId")).Outputs, "vpcId")
	attached := slices.ContainsFunc(c.s.OfType(tGateway),
		func(r *world.Resource) bool { return str(r.Inputs, "vpcId") == vpc })
	if str(c.out, "connectivityType") == "public" && !attached {
		return fmt.Errorf("Gateway.NotAttached: Network %s has no Internet gateway attached", vpc)
	}
	if eip := c.s.Get(tEip, str(c.in, "allocationId")); eip != nil {
		if len(c.s.Users(world.Key(tEip, eip.ID))) > 0 {
			return fmt.Errorf("Resource.AlreadyAssociated: Elastic IP address [%s] is already associated",
				eip.ID)
		}
		c.set("publicIp", eip.Outputs["publicIp"])
	}
	return nil
}
