package aws

import (
	"fmt"
	"slices"
	"strings"

	"github.com/headroom-eks/headroom/sandbox/world"
)

var vpcEndpointRow = resourceRow{
	typ: tEndpoint,
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

// Services of endpoints, by short name; others are unknown to the sandbox. In China those of chinese have another
// prefix: aws-cdk-lib/aws-ec2/lib/vpc-endpoint.ts, and the answer of describe-vpc-endpoint-services in
// https://github.com/aws/aws-cdk/issues/25329.
var (
	chinese = []string{
		"application-autoscaling", "athena", "autoscaling", "backup", "batch", "cloudformation", "ebs", "ec2",
		"ecr.api",
		"ecr.dkr", "eks", "elasticache", "elasticfilesystem", "execute-api", "kinesis-streams", "lambda", "monitoring",
		"rds", "sagemaker.api", "sqs", "states", "sts", "xray",
	}
	services = []string{
		"bedrock-runtime", "dynamodb", "ec2messages", "eks-auth", "elasticloadbalancing", "events", "fsx", "kms",
		"logs", "s3", "secretsmanager", "sns", "ssm", "ssmmessages",
	}
)

func endpointService(s *world.State, name string) bool {
	prefix := ""
	if s.Partition == "aws-cn" {
		prefix = "cn."
	}
	return slices.ContainsFunc(chinese, func(n string) bool {
		return name == prefix+"com.amazonaws."+s.Region+"."+
			n
	}) ||
		slices.ContainsFunc(services, func(n string) bool { return name == "com.amazonaws."+s.Region+"."+n })
}

func getEndpointService(s *world.State, in obj) (obj, error) {
	name := str(in, "serviceName")
	if !endpointService(s, name) {
		return nil, fmt.Errorf("reading EC2 VPC Endpoint Services: InvalidServiceName: The Vpc Endpoint Service '%s' "+
			"does not exist", name)
	}
	var zones []string
	for _, z := range s.Zones() {
		zones = append(zones, z.Name)
	}
	return obj{"id": hash(name, 8), "serviceName": name, "serviceType": "Interface", "availabilityZones": zones}, nil
}

func createEndpoint(c *call) error {
	service := str(c.in, "serviceName")
	if !endpointService(c.s, service) {
		return fmt.Errorf("InvalidServiceName: The Vpc Endpoint Service '%s' does not exist", service)
	}
	if ids := texts(list(c.in, "securityGroupIds")); len(slices.Compact(slices.Sorted(slices.Values(ids)))) < len(ids) {
		return fmt.Errorf("InvalidParameter: the same security group twice")
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
