package aws

import (
	"fmt"
	"strings"

	"github.com/headroom-eks/headroom/sandbox/world"
)

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
