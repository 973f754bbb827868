package aws

import (
	"encoding/base64"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/headroom-eks/headroom/sandbox/world"
)

func TestNetworkRefusals(t *testing.T) {
	a := newAccount(t)
	n := a.network()
	cases := map[string]struct {
		typ    string
		in     obj
		wanted []string
	}{
		"subnet of no VPC": {tSubnet, obj{"vpcId": "vpc-none", "cidrBlock": "10.0.32.0/20"},
			[]string{"InvalidVpcID.NotFound", "vpc-none"}},
		"subnet outside its VPC": {tSubnet, obj{"vpcId": n.vpc.id, "cidrBlock": "10.1.0.0/20"},
			[]string{"InvalidSubnet.Range"}},
		"overlapping subnets": {tSubnet, obj{"vpcId": n.vpc.id, "cidrBlock": "10.0.8.0/21"},
			[]string{"InvalidSubnet.Conflict"}},
		"zone of another region": {tSubnet, obj{
			"vpcId":            n.vpc.id,
			"cidrBlock":        "10.0.32.0/20",
			"availabilityZone": "eu-west-1a",
		}, []string{"InvalidParameterValue", "us-west-2a"}},
		"NAT without a gateway": {tNat, obj{
			"subnetId":     n.a.id,
			"allocationId": a.create(tEip, "nat", obj{"domain": "vpc"}).id,
		}, []string{"Gateway.NotAttached"}},
		"NAT without an address": {tNat, obj{"subnetId": n.a.id}, []string{"MissingParameter"}},
		"endpoint of no service": {tEndpoint, obj{"vpcId": n.vpc.id, "serviceName": "s3"},
			[]string{"InvalidServiceName"}},
		"gateway endpoint of ECR": {tEndpoint, obj{"vpcId": n.vpc.id, "serviceName": "com.amazonaws.us-west-2.ecr.api"},
			[]string{"InvalidParameter", "Gateway"}},
		"interface endpoint routes": {tEndpoint, obj{
			"vpcId":           n.vpc.id,
			"serviceName":     "com.amazonaws.us-west-2.ecr.api",
			"vpcEndpointType": "Interface",
			"routeTableIds":   []string{},
		}, []string{"Route table IDs"}},
		"route to no gateway": {"aws:ec2/route:Route", obj{
			"routeTableId":         one(n.vpc.out, "mainRouteTableId"),
			"destinationCidrBlock": "0.0.0.0/0",
			"gatewayId":            "igw-none",
		}, []string{"InvalidInternetGatewayID.NotFound"}},
		"tag on nothing": {"aws:ec2/tag:Tag", obj{
			"resourceId": "subnet-none",
			"key":        "a",
			"value":      "b",
		}, []string{"InvalidID"}},
		"group of no VPC": {tSecurityGroup, obj{"vpcId": "vpc-none"}, []string{"InvalidVpcID.NotFound"}},
		"group named as another": {tSecurityGroup, obj{"vpcId": n.vpc.id, "name": "default"},
			[]string{"InvalidGroup.Duplicate"}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			a.on(t).refuses(c.typ, c.in, c.wanted...)
		})
	}
}

// inputRefusal is what the provider refuses before it calls AWS.
type inputRefusal struct {
	typ      string
	in       obj
	property string
	wanted   string
}

var (
	tooLong = strings.Repeat("x", 257)
	tags51  = manyTags(51)
)

func manyTags(n int) obj {
	tags := obj{}
	for i := range n {
		tags[fmt.Sprint("key", i)] = "v"
	}
	return tags
}

var refusedVPCs = []inputRefusal{
	{tVpc, obj{"cidrBlock": "10.0.0.1/16"}, "cidrBlock", "did you mean"},
	{tVpc, obj{"cidrBlock": "10.0.0.0/8"}, "cidrBlock", "InvalidVpc.Range"},
	{tVpc, obj{}, "cidrBlock", "required"},
	{tVpc, obj{"cidrBlock": "10.0.0.0/16", "tags": tags51}, "tags", "51 tags"},
	{tVpc, obj{"cidrBlock": "10.0.0.0/16", "tags": obj{"aws:x": "y"}}, "tags", "reserved"},
	{tVpc, obj{"cidrBlock": "10.0.0.0/16", "tags": obj{"x": tooLong}}, "tags", "at most 256"},
	{tVpc, obj{"cidrBlock": "10.0.0.0/16", "tags": obj{tooLong: "x"}}, "tags", "1 to 128"},
	{tVpc, obj{"cidrBlock": "10.0.0.0/16", "tags": obj{"x": "a;b"}}, "tags", "only letters"},
	{tVpc, obj{"cidrBlock": "10.0.0.0/16", "instanceTenancy": "shared"}, "instanceTenancy", "one of"},
}

var refusedSecurityGroups = []inputRefusal{
	{tSecurityGroup, obj{"name": "sg-mine"}, "name", "sg-"},
	{"aws:ec2/securityGroupRule:SecurityGroupRule", obj{
		"type":            "inbound",
		"fromPort":        0,
		"toPort":          0,
		"protocol":        "-1",
		"securityGroupId": "sg-1",
		"self":            true,
	}, "type", "one of"},
	{"aws:ec2/securityGroupRule:SecurityGroupRule", obj{
		"type":            "ingress",
		"fromPort":        0,
		"toPort":          0,
		"protocol":        "-1",
		"securityGroupId": "sg-1",
	}, "cidrBlocks", "must be set"},
	{"aws:ec2/securityGroupRule:SecurityGroupRule", obj{
		"type":            "ingress",
		"fromPort":        443,
		"toPort":          80,
		"protocol":        "tcp",
		"securityGroupId": "sg-1",
		"self":            true,
	}, "fromPort", "port range"},
	{"aws:vpc/securityGroupIngressRule:SecurityGroupIngressRule", obj{
		"ipProtocol":      "tcp",
		"securityGroupId": "sg-1",
		"cidrIpv4":        "10.0.0.0/33",
	}, "cidrIpv4", "malformed"},
	{"aws:vpc/securityGroupEgressRule:SecurityGroupEgressRule", obj{"ipProtocol": "-1", "securityGroupId": "sg-1"},
		"cidrIpv4", "exactly one"},
}

var refusedTemplates = []inputRefusal{
	{tLaunchTemplate, obj{"metadataOptions": obj{"httpTokens": "yes"}}, "metadataOptions.httpTokens", "one of"},
	{tLaunchTemplate, obj{"metadataOptions": obj{"httpPutResponseHopLimit": 65}},
		"metadataOptions.httpPutResponseHopLimit", "(1 - 64)"},
	{tLaunchTemplate, obj{"userData": "#!/bin/sh"}, "userData", "BASE64"},
	{tLaunchTemplate, obj{"userData": base64.StdEncoding.EncodeToString(make([]byte, 16385))}, "userData", "16384"},
	{tLaunchTemplate, obj{"blockDeviceMappings": []obj{{"ebs": obj{"volumeType": "ssd"}}}},
		"blockDeviceMappings.ebs.volumeType", "one of"},
	{tLaunchTemplate, obj{"blockDeviceMappings": []obj{{"ebs": obj{"encrypted": "yes"}}}},
		"blockDeviceMappings[0].ebs.encrypted", "true or false"},
	{tLaunchTemplate, obj{"tagSpecifications": []obj{{"resourceType": "instance", "tags": obj{"aws:x": "y"}}}},
		"tagSpecifications[0].tags", "reserved"},
	{tLaunchTemplate, obj{"tagSpecifications": []obj{{"resourceType": "node"}}}, "tagSpecifications.resourceType",
		"one of"},
	{tLaunchTemplate, obj{"name": "ab"}, "name", "length"},
}

func TestNetworkInputsTheProviderRefuses(t *testing.T) {
	a := newAccount(t)
	for _, c := range slices.Concat(refusedVPCs, refusedSecurityGroups, refusedTemplates) {
		a.fails(c.typ, c.in, c.property, c.wanted)
	}
}

func TestTagsAtTheirLimitsAreTaken(t *testing.T) {
	good := obj{"cidrBlock": "10.0.0.0/16", "tags": with(manyTags(50), obj{"key49": tooLong[:256]})}
	if _, failures := newAccount(t).check(tVpc, "net", good); len(failures) > 0 {
		t.Errorf("50 tags with a value of 256 characters are refused: %v", failures)
	}
}

func TestNothingIsDeletedFromUnderItsUsers(t *testing.T) {
	a := newAccount(t)
	n := a.network()
	gateway := a.create(tGateway, "net", obj{"vpcId": n.vpc.id})
	routes := a.create(tRouteTable, "net", obj{"vpcId": n.vpc.id})
	route := a.create("aws:ec2/route:Route", "out", obj{
		"routeTableId":         routes.id,
		"destinationCidrBlock": "0.0.0.0/0",
		"gatewayId":            gateway.id,
	})
	a.refuses("aws:ec2/route:Route", obj{
		"routeTableId":         routes.id,
		"destinationCidrBlock": "0.0.0.0/0",
		"gatewayId":            gateway.id,
	}, "RouteAlreadyExists", "0.0.0.0/0")
	association := a.create("aws:ec2/routeTableAssociation:RouteTableAssociation", "a", obj{
		"routeTableId": routes.id,
		"subnetId":     n.a.id,
	})
	a.refuses("aws:ec2/routeTableAssociation:RouteTableAssociation", obj{"routeTableId": routes.id, "subnetId": n.a.id},
		"Resource.AlreadyAssociated")
	address := a.create(tEip, "nat", obj{"domain": "vpc"})
	nat := a.create(tNat, "nat", obj{"subnetId": n.a.id, "allocationId": address.id})
	group := a.create(tSecurityGroup, "endpoints", obj{"vpcId": n.vpc.id})
	rule := a.create("aws:vpc/securityGroupIngressRule:SecurityGroupIngressRule", "https", obj{
		"securityGroupId": group.id,
		"ipProtocol":      "tcp",
		"fromPort":        443,
		"toPort":          443,
		"cidrIpv4":        "10.0.0.0/16",
	})
	a.refuses("aws:vpc/securityGroupIngressRule:SecurityGroupIngressRule", obj{
		"securityGroupId": group.id,
		"ipProtocol":      "tcp",
		"fromPort":        443,
		"toPort":          443,
		"cidrIpv4":        "10.0.0.0/16",
	}, "InvalidPermission.Duplicate")
	endpoint := a.create(tEndpoint, "ecr", obj{
		"vpcId":             n.vpc.id,
		"serviceName":       "com.amazonaws.us-west-2.ecr.api",
		"vpcEndpointType":   "Interface",
		"subnetIds":         n.subnets(),
		"securityGroupIds":  []string{group.id},
		"privateDnsEnabled": true,
	})
	a.refuses(tGateway, obj{"vpcId": n.vpc.id}, "already has an internet gateway")

	wantError(t, a.delete(n.vpc), "DependencyViolation", n.vpc.id)
	wantError(t, a.delete(n.a), "DependencyViolation", n.a.id)
	wantError(t, a.delete(address), "InvalidIPAddress.InUse")
	wantError(t, a.delete(gateway), "DependencyViolation", "mapped public address")
	wantError(t, a.delete(group), "DependencyViolation", group.id)
	wantError(t, a.delete(routes), "DependencyViolation", routes.id)
	a.deletes(endpoint, rule, group, nat, address, association, route, gateway, routes, n.a, n.b, n.vpc)
	if left := a.leftovers(); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

func TestASubnetWithARunningInstanceStays(t *testing.T) {
	a := newAccount(t)
	n := a.network()
	a.act(func(s *world.State) error {
		_, err := s.Launch(world.Launch{
			Types:   []string{"m6i.large"},
			Subnets: []string{n.a.id},
			Cluster: "x",
			Pool:    "leak",
		})
		return err
	})
	wantError(t, a.delete(n.a), "DependencyViolation", "instance i-")
}

func TestQuotasOfTheNetwork(t *testing.T) {
	a := newAccount(t)
	a.act(func(s *world.State) error {
		s.Quotas[world.QuotaVPCs], s.Quotas[world.QuotaAddresses] = 0, 0
		return nil
	})
	a.refuses(tVpc, obj{"cidrBlock": "10.0.0.0/16"}, "VpcLimitExceeded")
	a.refuses(tEip, obj{"domain": "vpc"}, "AddressLimitExceeded")
}

func TestATagResourceTagsASubnetItDoesNotOwn(t *testing.T) {
	a := newAccount(t)
	n := a.network()
	tag := a.create("aws:ec2/tag:Tag", "elb", obj{
		"resourceId": n.a.id,
		"key":        "kubernetes.io/role/internal-elb",
		"value":      "1",
	})
	seen := a.asks("aws:ec2/getSubnet:getSubnet", obj{"id": n.a.id})
	if got := stringMap(seen["tags"]); got["kubernetes.io/role/internal-elb"] != "1" || got["tier"] != "private" {
		t.Errorf("tags %v", got)
	}
	a.deletes(tag)
	if got := stringMap(a.asks("aws:ec2/getSubnet:getSubnet", obj{"id": n.a.id})["tags"]); len(got) != 1 {
		t.Errorf("tags after deletion %v", got)
	}
}

func TestALaunchTemplateCountsItsVersions(t *testing.T) {
	a := newAccount(t)
	lt := a.create(tLaunchTemplate, "gpu", templateInputs("one"))
	a.refuses(tLaunchTemplate, with(templateInputs("x"), obj{"name": lt.out["name"]}),
		"InvalidLaunchTemplateName.AlreadyExistsException")
	if num(lt.out, "latestVersion") != 1 {
		t.Errorf("version %v", lt.out["latestVersion"])
	}
	lt = a.update(lt, templateInputs("two"))
	if num(lt.out, "latestVersion") != 2 || num(lt.out, "defaultVersion") != 1 {
		t.Errorf("versions after an update: latest %v, default %v", lt.out["latestVersion"], lt.out["defaultVersion"])
	}
	lt = a.update(lt, with(templateInputs("two"), obj{"tags": obj{"a": "b"}}))
	if num(lt.out, "latestVersion") != 2 {
		t.Errorf("tags of the template made version %v", lt.out["latestVersion"])
	}
}
