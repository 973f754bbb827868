package aws

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/headroom-eks/headroom/sandbox/world"
)

// Tokens of the EC2 types.
const (
	tVpc            = "aws:ec2/vpc:Vpc"
	tSubnet         = world.SubnetType
	tGateway        = "aws:ec2/internetGateway:InternetGateway"
	tRouteTable     = "aws:ec2/routeTable:RouteTable"
	tEip            = "aws:ec2/eip:Eip"
	tNat            = "aws:ec2/natGateway:NatGateway"
	tEndpoint       = "aws:ec2/vpcEndpoint:VpcEndpoint"
	tSecurityGroup  = "aws:ec2/securityGroup:SecurityGroup"
	tLaunchTemplate = "aws:ec2/launchTemplate:LaunchTemplate"
)

var (
	vpcRef     = reference{path: "vpcId", typ: tVpc, gone: "InvalidVpcID.NotFound: The vpc ID '{value}' does not exist"}
	subnetGone = "InvalidSubnetID.NotFound: The subnet ID '{value}' does not exist"
	groupGone  = "InvalidGroup.NotFound: The security group '{value}' does not exist"
)

var vpcRow = resourceRow{
	typ:    tVpc,
	create: []string{"ec2:CreateVpc", "ec2:CreateTags"},
	read:   []string{"ec2:DescribeVpcs"},
	update: []string{"ec2:ModifyVpcAttribute", "ec2:CreateTags"},
	delete: []string{"ec2:DeleteVpc"},
	inputs: []string{
		"assignGeneratedIpv6CidrBlock", "cidrBlock", "enableDnsHostnames", "enableDnsSupport",
		"enableNetworkAddressUsageMetrics", "instanceTenancy",
	},
	required: []string{"cidrBlock"},
	replaces: []string{"cidrBlock", "instanceTenancy"},
	enums: map[string][]string{
		"instanceTenancy": {"default", "dedicated"},
	},
	id:     "vpc-{hex}",
	arn:    "arn:{partition}:ec2:{region}:{account}:vpc/{id}",
	tagged: true,
	defaults: obj{
		"enableDnsSupport":                 true,
		"enableDnsHostnames":               false,
		"instanceTenancy":                  "default",
		"enableNetworkAddressUsageMetrics": false,
		"assignGeneratedIpv6CidrBlock":     false,
	},
	computed: map[string]string{
		"ownerId":                "{account}",
		"dhcpOptionsId":          "dopt-0sandbox",
		"defaultNetworkAclId":    "acl-{random}",
		"mainRouteTableId":       "rtb-{random}",
		"defaultSecurityGroupId": "sg-{random}",
	},
	inUse:    "DependencyViolation: The vpc '{id}' has dependencies and cannot be deleted.",
	check:    func(in obj, fail func(string, string)) { checkBlock(in, 16, 28, fail) },
	onCreate: createVpc,
}

func createVpc(c *call) error {
	if n := len(c.s.OfType(tVpc)); float64(n) >= c.s.Quotas[world.QuotaVPCs] {
		return fmt.Errorf("VpcLimitExceeded: The maximum number of VPCs has been reached.")
	}
	c.set("defaultRouteTableId", c.out["mainRouteTableId"])
	// What comes with a VPC and goes with it.
	serviceMade(c, tRouteTable, str(c.out, "mainRouteTableId"), obj{"vpcId": c.res.ID})
	serviceMade(c, tSecurityGroup, str(c.out, "defaultSecurityGroupId"), obj{
		"vpcId":       c.res.ID,
		"name":        "default",
		"description": "default VPC security group",
	})
	return nil
}

var subnetRow = resourceRow{
	typ:    tSubnet,
	create: []string{"ec2:CreateSubnet", "ec2:CreateTags"},
	read:   []string{"ec2:DescribeSubnets"},
	update: []string{"ec2:ModifySubnetAttribute", "ec2:CreateTags"},
	delete: []string{"ec2:DeleteSubnet"},
	inputs: []string{
		"assignIpv6AddressOnCreation", "availabilityZone", "availabilityZoneId", "cidrBlock",
		"enableResourceNameDnsARecordOnLaunch", "mapPublicIpOnLaunch", "privateDnsHostnameTypeOnLaunch", "vpcId",
	},
	required: []string{"vpcId", "cidrBlock"},
	replaces: []string{"vpcId", "cidrBlock", "availabilityZone", "availabilityZoneId"},
	refs:     []reference{vpcRef},
	id:       "subnet-{hex}",
	arn:      "arn:{partition}:ec2:{region}:{account}:subnet/{id}",
	tagged:   true,
	defaults: obj{
		"mapPublicIpOnLaunch":            false,
		"assignIpv6AddressOnCreation":    false,
		"privateDnsHostnameTypeOnLaunch": "ip-name",
	},
	computed: map[string]string{"ownerId": "{account}"},
	inUse:    "DependencyViolation: The subnet '{id}' has dependencies and cannot be deleted.",
	check:    func(in obj, fail func(string, string)) { checkBlock(in, 16, 28, fail) },
	onCreate: createSubnet,
	onDelete: deleteSubnet,
}

func deleteSubnet(c *call) error {
	for _, i := range c.s.SortedInstances(func(i *world.Instance) bool {
		return i.Running() && i.Subnet == c.res.ID
	}) {
		return fmt.Errorf("DependencyViolation: The subnet '%s' has dependencies and cannot be deleted. (a "+
			"network interface of instance %s)",
			c.res.ID, i.ID)
	}
	delete(c.s.TakenAddresses, c.res.ID)
	return nil
}

var internetGatewayRow = resourceRow{
	typ:      tGateway,
	create:   []string{"ec2:CreateInternetGateway", "ec2:AttachInternetGateway"},
	read:     []string{"ec2:DescribeInternetGateways"},
	update:   []string{"ec2:CreateTags"},
	delete:   []string{"ec2:DetachInternetGateway", "ec2:DeleteInternetGateway"},
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

var routeTableRow = resourceRow{
	typ:      tRouteTable,
	create:   []string{"ec2:CreateRouteTable"},
	read:     []string{"ec2:DescribeRouteTables"},
	update:   []string{"ec2:CreateRoute", "ec2:CreateTags"},
	delete:   []string{"ec2:DeleteRouteTable"},
	inputs:   []string{"propagatingVgws", "routes", "vpcId"},
	required: []string{"vpcId"},
	replaces: []string{"vpcId"},
	refs: []reference{
		vpcRef,
		{
			path:   "routes.gatewayId",
			typ:    tGateway,
			gone:   "InvalidInternetGatewayID.NotFound: The gateway ID '{value}' does not exist",
			onGone: dangles,
		},
		{
			path:   "routes.natGatewayId",
			typ:    tNat,
			gone:   "InvalidNatGatewayID.NotFound: The NatGateway '{value}' was not found",
			onGone: dangles,
		},
	},
	id:       "rtb-{hex}",
	arn:      "arn:{partition}:ec2:{region}:{account}:route-table/{id}",
	tagged:   true,
	defaults: obj{"routes": []any{}, "propagatingVgws": []any{}},
	computed: map[string]string{"ownerId": "{account}"},
	inUse:    "DependencyViolation: The routeTable '{id}' has dependencies and cannot be deleted.",
}

var routeRow = resourceRow{
	typ:    "aws:ec2/route:Route",
	create: []string{"ec2:CreateRoute"},
	read:   []string{"ec2:DescribeRouteTables"},
	update: []string{"ec2:ReplaceRoute"},
	delete: []string{"ec2:DeleteRoute"},
	inputs: []string{
		"routeTableId", "destinationCidrBlock", "destinationIpv6CidrBlock", "destinationPrefixListId", "gatewayId",
		"natGatewayId", "vpcEndpointId", "egressOnlyGatewayId", "transitGatewayId", "networkInterfaceId",
	},
	required: []string{"routeTableId"},
	replaces: []string{
		"routeTableId", "destinationCidrBlock", "destinationIpv6CidrBlock", "destinationPrefixListId",
	},
	refs: []reference{
		{
			path:   "routeTableId",
			typ:    tRouteTable,
			gone:   "InvalidRouteTableID.NotFound: The routeTable ID '{value}' does not exist",
			onGone: cascades,
		},
		{
			path:   "gatewayId",
			typ:    tGateway,
			gone:   "InvalidInternetGatewayID.NotFound: The gateway ID '{value}' does not exist",
			onGone: dangles,
		},
		{
			path:   "natGatewayId",
			typ:    tNat,
			gone:   "InvalidNatGatewayID.NotFound: The NatGateway '{value}' was not found",
			onGone: dangles,
		},
	},
	id:       "r-{routeTableId}_{destination}",
	exists:   "RouteAlreadyExists: The route identified by {destination} already exists.",
	derive:   deriveRoute,
	computed: map[string]string{"origin": "CreateRoute", "state": "active"},
}

func deriveRoute(_ *world.State, in obj) (obj, error) {
	return obj{"destination": cmp.Or(str(in, "destinationCidrBlock"), str(in, "destinationIpv6CidrBlock"),
		str(in, "destinationPrefixListId"))}, nil
}

var routeTableAssociationRow = resourceRow{
	typ:      "aws:ec2/routeTableAssociation:RouteTableAssociation",
	create:   []string{"ec2:AssociateRouteTable"},
	read:     []string{"ec2:DescribeRouteTables"},
	update:   []string{"ec2:ReplaceRouteTableAssociation"},
	delete:   []string{"ec2:DisassociateRouteTable"},
	inputs:   []string{"routeTableId", "subnetId", "gatewayId"},
	required: []string{"routeTableId"},
	replaces: []string{"subnetId", "gatewayId"},
	refs: []reference{
		{
			path: "routeTableId",
			typ:  tRouteTable,
			gone: "InvalidRouteTableID.NotFound: The routeTable ID '{value}' does not exist",
		},
		{path: "subnetId", typ: tSubnet, gone: subnetGone, onGone: cascades},
	},
	id:       "rtbassoc-{hex}",
	onCreate: createRouteTableAssociation,
}

func createRouteTableAssociation(c *call) error {
	for _, r := range c.s.OfType(c.res.Type) {
		if str(r.Inputs, "subnetId") == str(c.in, "subnetId") {
			return fmt.Errorf("Resource.AlreadyAssociated: the specified association for route table %s "+
				"conflicts with an existing association",
				str(c.in, "routeTableId"))
		}
	}
	return nil
}

var eipRow = resourceRow{
	typ:      tEip,
	create:   []string{"ec2:AllocateAddress"},
	read:     []string{"ec2:DescribeAddresses"},
	update:   []string{"ec2:CreateTags"},
	delete:   []string{"ec2:ReleaseAddress"},
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
	create:   []string{"ec2:CreateNatGateway"},
	read:     []string{"ec2:DescribeNatGateways"},
	update:   []string{"ec2:CreateTags"},
	delete:   []string{"ec2:DeleteNatGateway"},
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

var vpcEndpointRow = resourceRow{
	typ:    tEndpoint,
	create: []string{"ec2:CreateVpcEndpoint"},
	read:   []string{"ec2:DescribeVpcEndpoints"},
	update: []string{"ec2:ModifyVpcEndpoint"},
	delete: []string{"ec2:DeleteVpcEndpoints"},
	inputs: []string{
		"autoAccept", "ipAddressType", "policy", "privateDnsEnabled", "routeTableIds", "securityGroupIds",
		"serviceName", "subnetIds", "vpcEndpointType", "vpcId",
	},
	required: []string{"vpcId", "serviceName"},
	replaces: []string{"vpcId", "serviceName", "vpcEndpointType"},
	json:     []string{"policy"},
	enums: map[string][]string{
		"vpcEndpointType": {"Gateway", "Interface", "GatewayLoadBalancer"},
	},
	defaults: obj{"vpcEndpointType": "Gateway", "privateDnsEnabled": false},
	refs: []reference{
		vpcRef,
		{
			path:   "routeTableIds",
			typ:    tRouteTable,
			gone:   "InvalidRouteTableId.NotFound: The routeTable ID '{value}' does not exist",
			onGone: dangles,
		},
		{path: "subnetIds", typ: tSubnet, gone: subnetGone},
		{path: "securityGroupIds", typ: tSecurityGroup, gone: groupGone},
	},
	id:       "vpce-{hex}",
	arn:      "arn:{partition}:ec2:{region}:{account}:vpc-endpoint/{id}",
	tagged:   true,
	computed: map[string]string{"ownerId": "{account}", "state": "available", "prefixListId": "pl-{random}"},
	onCreate: createEndpoint,
	onUpdate: checkEndpoint,
}

// serviceMade puts a resource into the world that a service makes by itself; it goes when c's resource goes.
func serviceMade(c *call, typ, id string, outputs obj) *world.Resource {
	r := &world.Resource{Type: typ, ID: id, Owner: c.key(), Inputs: clone(outputs), Outputs: clone(outputs)}
	row := table[typ]
	if row.arn != "" {
		r.Outputs["arn"] = fill(row.arn, env(c.s, r.Outputs, obj{"id": id}))
	}
	if row.tagged && r.Outputs["tags"] == nil {
		r.Outputs["tags"], r.Outputs["tagsAll"] = obj{}, obj{}
	}
	c.s.Put(r)
	return r
}

func checkBlock(in obj, low, high int, fail func(string, string)) {
	block := str(in, "cidrBlock")
	if block == "" {
		return
	}
	prefix, err := netip.ParsePrefix(block)
	switch {
	case err != nil || !prefix.Addr().Is4():
		fail("cidrBlock", fmt.Sprintf("%q is not a valid CIDR block", block))
	case prefix.Masked() != prefix:
		fail("cidrBlock", fmt.Sprintf("%q is not a valid IPv4 CIDR block; did you mean %q?", block, prefix.Masked()))
	case prefix.Bits() < low || prefix.Bits() > high:
		fail("cidrBlock", fmt.Sprintf("InvalidVpc.Range: the block size must be between a /%d netmask and /%d "+
			"netmask, %s is not", high, low, block))
	}
}

func createSubnet(c *call) error {
	zones := c.s.Zones()
	zone := zones[0]
	if name := str(c.in, "availabilityZone"); name != "" {
		z, known := c.s.ZoneNamed(name)
		if !known {
			return fmt.Errorf("InvalidParameterValue: Value (%s) for parameter availabilityZone is invalid. Subnets "+
				"can currently only be created in the following availability zones: %s",
				name, zoneNames(zones))
		}
		zone = z
	} else if id := str(c.in, "availabilityZoneId"); id != "" {
		i := slices.IndexFunc(zones, func(z world.Zone) bool { return z.ID == id })
		if i < 0 {
			return fmt.Errorf("InvalidParameterValue: Value (%s) for parameter availabilityZoneId is invalid", id)
		}
		zone = zones[i]
	}
	c.set("availabilityZone", zone.Name)
	c.set("availabilityZoneId", zone.ID)
	block := netip.MustParsePrefix(str(c.in, "cidrBlock"))
	vpc := netip.MustParsePrefix(str(c.s.Get(tVpc, str(c.in, "vpcId")).Outputs, "cidrBlock"))
	if !vpc.Contains(block.Addr()) || block.Bits() < vpc.Bits() {
		return fmt.Errorf("InvalidSubnet.Range: The CIDR '%s' is invalid. (not within %s)", block, vpc)
	}
	for _, r := range c.s.OfType(tSubnet) {
		if other := netip.MustParsePrefix(str(r.Outputs, "cidrBlock")); str(r.Outputs, "vpcId") == str(c.in, "vpcId") &&
			other.Overlaps(block) {
			return fmt.Errorf("InvalidSubnet.Conflict: The CIDR '%s' conflicts with another subnet (%s)", block, r.ID)
		}
	}
	return nil
}

func zoneNames(zones []world.Zone) string {
	var names []string
	for _, z := range zones {
		names = append(names, z.Name)
	}
	return strings.Join(names, ", ")
}

func createEndpoint(c *call) error {
	reverse := "com.amazonaws."
	if c.s.Partition == "aws-cn" {
		reverse = "cn.com.amazonaws."
	}
	service := str(c.in, "serviceName")
	if !strings.HasPrefix(service, reverse+c.s.Region+".") &&
		!strings.HasPrefix(service, "com.amazonaws."+c.s.Region+".") {
		return fmt.Errorf("InvalidServiceName: The Vpc Endpoint Service '%s' does not exist", service)
	}
	for _, r := range c.s.OfType(tEndpoint) {
		if str(r.Inputs, "vpcId") == str(c.in, "vpcId") && str(r.Inputs, "serviceName") == service &&
			truth(r.Inputs, "privateDnsEnabled") && truth(c.in, "privateDnsEnabled") {
			return fmt.Errorf("InvalidParameter: private-dns-enabled cannot be set because there is already a "+
				"conflicting DNS domain for %s in the VPC %s",
				service, str(c.in, "vpcId"))
		}
	}
	return checkEndpoint(c)
}

func checkEndpoint(c *call) error {
	gateway := str(c.out, "vpcEndpointType") == "Gateway"
	service := str(c.in, "serviceName")
	switch {
	case gateway && !strings.HasSuffix(service, ".s3") && !strings.HasSuffix(service, ".dynamodb"):
		return fmt.Errorf("InvalidParameter: Endpoint type (Gateway) does not match available service types "+
			"([Interface]) of %s.", service)
	case gateway && (has(c.in, "subnetIds") || has(c.in, "securityGroupIds")):
		return fmt.Errorf("InvalidParameter: Subnet IDs and security groups are only supported for Interface type " +
			"VPC Endpoints.")
	case !gateway && has(c.in, "routeTableIds"):
		return fmt.Errorf("InvalidParameter: Route table IDs are only supported for Gateway type VPC Endpoints.")
	}
	zones := map[any]string{}
	for _, id := range texts(list(c.in, "subnetIds")) {
		zone := c.s.Get(tSubnet, id).Outputs["availabilityZone"]
		if zones[zone] != "" {
			return fmt.Errorf("DuplicateSubnetsInSameZone: Found another VPC endpoint subnet in the availability "+
				"zone of %s", id)
		}
		zones[zone] = id
	}
	if policy := str(c.in, "policy"); policy != "" {
		if _, err := parsePolicy(policy, resourcePolicy, c.s.Partition); err != nil {
			return fmt.Errorf("InvalidPolicyDocument: %w", err)
		}
	}
	return nil
}
