package aws

import (
	"slices"
	"strings"
	"testing"
)

type contentRefusal struct {
	typ  string
	in   obj
	path string // of the failure
}

// What the sandbox took although AWS or the provider refuses it, and no model states: tried-2, section 3.
func contentRefusals() map[string]contentRefusal {
	spec := obj{"resourceType": "instance", "tags": obj{"a": "b"}}
	many := slices.Repeat([]string{"198.51.100.0/24"}, 41)
	return map[string]contentRefusal{
		"tags equal but for case": {tRole, obj{"assumeRolePolicy": "{}", "tags": obj{"Team": "a", "team": "b"}},
			"tags[team]"},
		"a boundary that is none": {tRole, obj{"assumeRolePolicy": "{}",
			"permissionsBoundary": "the-boundary-that-is-none"}, "permissionsBoundary"},
		"the same client id twice": {tOIDC, obj{"url": "https://a", "clientIdLists": []string{"x", "x"}},
			"clientIdLists"},
		"41 public blocks": {tCluster, obj{"vpcConfig": obj{"publicAccessCidrs": many}}, "vpcConfig.publicAccessCidrs"},
		"public service addresses": {tCluster, obj{"kubernetesNetworkConfig": obj{"serviceIpv4Cidr": "8.0.0.0/16"}},
			"kubernetesNetworkConfig"},
		"few service addresses": {tCluster, obj{"kubernetesNetworkConfig": obj{"serviceIpv4Cidr": "10.0.0.0/28"}},
			"kubernetesNetworkConfig"},
		"a taint twice": {tNodeGroup, obj{"taints": []obj{{"key": "a", "effect": "NO_EXECUTE"},
			{"key": "a", "effect": "NO_EXECUTE"}}}, "taints[1]"},
		"a taint key with a space": {tNodeGroup, obj{"taints": []obj{{"key": "a b", "effect": "NO_EXECUTE"}}},
			"taints[0].key"},
		"an update of nothing": {tNodeGroup, obj{"updateConfig": obj{}}, "updateConfig"},
		"a type that is none":  {tLaunchTemplate, obj{"instanceType": "nonsense"}, "instanceType"},
		"a device twice": {tLaunchTemplate, obj{"blockDeviceMappings": []obj{{"deviceName": "/dev/xvda"},
			{"deviceName": "/dev/xvda"}}}, "blockDeviceMappings[1]"},
		"tags of one kind twice": {tLaunchTemplate, obj{"tagSpecifications": []obj{spec, spec}},
			"tagSpecifications[1]"},
		"a reservation that is none": {tLaunchTemplate, obj{"capacityReservationSpecification": obj{
			"capacityReservationTarget": obj{"capacityReservationId": "cr-none"}}}, "capacityReservationSpecification"},
		"levels without a slash": {tParameter, obj{"name": "a/b", "type": "String", "value": "x"}, "name"},
		"16 levels": {tParameter, obj{
			"name":  strings.Repeat("/a", 16),
			"type":  "String",
			"value": "x",
		}, "name"},
		"an empty level": {tParameter, obj{"name": "/a//b", "type": "String", "value": "x"}, "name"},
		"an empty value": {tParameter, obj{"name": "/a", "type": "String", "value": ""}, "value"},
		"two values": {tParameter, obj{
			"name":          "/a",
			"type":          "String",
			"value":         "x",
			"insecureValue": "y",
		}, "value"},
		"a schedule that is none":   {tRule, obj{"scheduleExpression": "whenever"}, "scheduleExpression"},
		"two inputs of a target":    {tTarget, obj{"input": "{}", "inputPath": "$"}, "input"},
		"a description with umlaut": {tSecurityGroup, obj{"description": "für"}, "description"},
		"tcp without ports": {"aws:vpc/securityGroupIngressRule:SecurityGroupIngressRule",
			obj{"ipProtocol": "tcp", "cidrIpv4": "10.0.0.0/8"}, "fromPort"},
		"a loopback VPC": {tVpc, obj{"cidrBlock": "127.0.0.0/16"}, "cidrBlock"},
		"host names without DNS": {tVpc, obj{
			"cidrBlock":          "10.0.0.0/16",
			"enableDnsHostnames": true,
			"enableDnsSupport":   false,
		}, "enableDnsHostnames"},
		"fifo without its ending": {tQueue, obj{"name": "q", "fifoQueue": true}, "name"},
		"an ending without fifo":  {tQueue, obj{"name": "q.fifo"}, "name"},
		"content of no fifo":      {tQueue, obj{"contentBasedDeduplication": true}, "contentBasedDeduplication"},
		"a period of no rotation": {tKey, obj{"rotationPeriodInDays": 100}, "rotationPeriodInDays"},
	}
}

func TestInputsThatNoModelBoundsAreRefused(t *testing.T) {
	a := newAccount(t)
	for name, c := range contentRefusals() {
		t.Run(name, func(t *testing.T) { a.on(t).fails(c.typ, c.in, c.path) })
	}
}

// Tried-2, section 3: refused when the call is made, since they depend on the account.
func TestInputsThatThisAccountRefuses(t *testing.T) {
	a := newAccount(t)
	p := a.platform()
	entry := func(principal string, more obj) obj {
		return with(obj{"clusterName": p.cluster.id, "principalArn": principal}, more)
	}
	a.refuses(tEntry, entry("arn:aws-cn:iam::123456789012:role/x", nil), "principalArn parameter format is not valid")
	a.refuses(tEntry, entry("arn:aws:iam::123456789012:role/x", obj{"userName": "system:x"}),
		"cannot start with system:")
	interfaceTo := func(service string) obj {
		return obj{"vpcId": p.vpc.id, "vpcEndpointType": "Interface", "serviceName": service}
	}
	a.refuses(tEndpoint, interfaceTo("com.amazonaws.us-west-2.nonsense"), "InvalidServiceName")
	a.refuses(tEndpoint, interfaceTo("cn.com.amazonaws.us-west-2.ec2"), "InvalidServiceName")
	for _, block := range []string{"169.254.0.0/16", "100.64.0.0/10", "127.0.0.0/8", "224.0.0.0/4", "10.1.0.0/16"} {
		a.refuses(tCluster, with(p.cluster.in, obj{"name": "other", "vpcConfig": with(p.cluster.in["vpcConfig"].(obj),
			obj{"endpointPublicAccess": true,
				"publicAccessCidrs": []string{block}})}), "not allowed in publicAccessCidrs")
	}
}

// Tried-2, section 3, finding 3.
func TestEndpointsInChinaHaveTheirOwnPrefix(t *testing.T) {
	a := newAccount(t)
	if err := a.b.Configure(toProperties(obj{"region": "cn-north-1"})); err != nil {
		t.Fatal(err)
	}
	vpc := a.create(tVpc, "net", obj{"cidrBlock": "10.0.0.0/16"})
	endpoint := func(service string) obj {
		return obj{"vpcId": vpc.id, "vpcEndpointType": "Interface", "serviceName": service}
	}
	a.refuses(tEndpoint, endpoint("com.amazonaws.cn-north-1.ecr.dkr"), "InvalidServiceName")
	a.create(tEndpoint, "ecr", endpoint("cn.com.amazonaws.cn-north-1.ecr.dkr"))
	a.create(tEndpoint, "logs", endpoint("com.amazonaws.cn-north-1.logs"))
	a.refuses(tEndpoint, endpoint("cn.com.amazonaws.cn-north-1.logs"), "InvalidServiceName")
}
