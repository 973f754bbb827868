package aws

import (
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
	typ: tVpc,
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
	check:    checkVpc,
	onCreate: createVpc,
}

// notForVPCs are ranges that EC2 gives to no VPC. https://docs.aws.amazon.com/vpc/latest/userguide/vpc-cidr-blocks.html
var notForVPCs = []netip.Prefix{
	netip.MustParsePrefix("0.0.0.0/8"), netip.MustParsePrefix("127.0.0.0/8"),
	netip.MustParsePrefix("169.254.0.0/16"), netip.MustParsePrefix("224.0.0.0/4"),
}

func checkVpc(in obj, fail func(string, string)) {
	checkBlock(in, 16, 28, fail)
	if p, err := netip.ParsePrefix(str(in, "cidrBlock")); err == nil {
		for _, no := range notForVPCs {
			if no.Overlaps(p) {
				fail("cidrBlock", fmt.Sprintf("InvalidVpc.Range: The CIDR '%s' is invalid. (within %s)", p, no))
			}
		}
	}
	if truth(in, "enableDnsHostnames") && in["enableDnsSupport"] == false {
		fail("enableDnsHostnames", "InvalidParameterValue: DNS host names need DNS support")
	}
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
	typ: tSubnet,
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
