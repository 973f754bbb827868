package aws

import (
	"reflect"
	"slices"
	"testing"
)

// sample is one thing of a type: inputs that may use what was made before it, by name, and a change that is made in
// place.
type sample struct {
	typ, name string
	in        func(made map[string]thing) obj
	change    obj // nil: the type has nothing to change in place
}

func fixed(in obj) func(map[string]thing) obj { return func(map[string]thing) obj { return in } }

var retag = obj{"tags": obj{"team": "ml"}}

// samples has every type once at least, each after what it needs.
var samples = []sample{
	{tVpc, "vpc", fixed(obj{"cidrBlock": "10.0.0.0/16", "enableDnsHostnames": true}), retag},
	{tSubnet, "a", func(m map[string]thing) obj {
		return obj{"vpcId": m["vpc"].id, "cidrBlock": "10.0.0.0/20", "availabilityZone": "us-west-2a"}
	}, obj{"mapPublicIpOnLaunch": true}},
	{tSubnet, "b", func(m map[string]thing) obj {
		return obj{"vpcId": m["vpc"].id, "cidrBlock": "10.0.16.0/20", "availabilityZoneId": "usw2-az2"}
	}, retag},
	{tGateway, "igw", func(m map[string]thing) obj { return obj{"vpcId": m["vpc"].id} }, retag},
	{tRouteTable, "rt", func(m map[string]thing) obj { return obj{"vpcId": m["vpc"].id} }, retag},
	{"aws:ec2/route:Route", "route", func(m map[string]thing) obj {
		return obj{"routeTableId": m["rt"].id, "destinationCidrBlock": "0.0.0.0/0", "gatewayId": m["igw"].id}
	}, nil},
	{"aws:ec2/routeTableAssociation:RouteTableAssociation", "rta", func(m map[string]thing) obj {
		return obj{
			"routeTableId": m["rt"].id,
			"subnetId":     m["a"].id,
		}
	}, nil},
	{tEip, "eip", fixed(obj{"domain": "vpc"}), retag},
	{tNat, "nat", func(m map[string]thing) obj { return obj{"subnetId": m["a"].id, "allocationId": m["eip"].id} },
		retag},
	{tSecurityGroup, "endpoints", func(m map[string]thing) obj {
		return obj{
			"vpcId":       m["vpc"].id,
			"description": "endpoints",
		}
	}, retag},
	{"aws:ec2/securityGroupRule:SecurityGroupRule", "rule", func(m map[string]thing) obj {
		return obj{
			"securityGroupId": m["endpoints"].id,
			"type":            "egress",
			"fromPort":        0,
			"toPort":          0,
			"protocol":        "-1",
			"cidrBlocks":      []string{"0.0.0.0/0"},
		}
	}, obj{"description": "out"}},
	{"aws:vpc/securityGroupIngressRule:SecurityGroupIngressRule", "in", func(m map[string]thing) obj {
		return obj{
			"securityGroupId": m["endpoints"].id,
			"ipProtocol":      "tcp",
			"fromPort":        443,
			"toPort":          443,
			"cidrIpv4":        "10.0.0.0/16",
		}
	}, retag},
	{"aws:vpc/securityGroupEgressRule:SecurityGroupEgressRule", "out", func(m map[string]thing) obj {
		return obj{
			"securityGroupId":           m["endpoints"].id,
			"ipProtocol":                "-1",
			"referencedSecurityGroupId": m["endpoints"].id,
		}
	}, retag},
	{tEndpoint, "s3", func(m map[string]thing) obj {
		return obj{
			"vpcId":         m["vpc"].id,
			"serviceName":   "com.amazonaws.us-west-2.s3",
			"routeTableIds": []string{m["rt"].id},
		}
	}, retag},
	{tLaunchTemplate, "lt", fixed(templateInputs("p")), obj{"description": "second"}},
	{"aws:ec2/tag:Tag", "tag", func(m map[string]thing) obj {
		return obj{
			"resourceId": m["a"].id,
			"key":        "k",
			"value":      "v",
		}
	}, obj{"value": "w"}},
	{tRole, "eks", fixed(obj{"assumeRolePolicy": trust("eks.amazonaws.com")}), obj{"description": "control plane"}},
	{tRole, "node", fixed(obj{"assumeRolePolicy": trust("ec2.amazonaws.com")}), retag},
	{tRole, "pods", fixed(obj{"assumeRolePolicy": trust("pods.eks.amazonaws.com", "sts:AssumeRole", "sts:TagSession")}),
		retag},
	{tPolicy, "policy", fixed(obj{"policy": filler(200)}), obj{"policy": filler(300)}},
	{tRolePolicy, "inline", func(m map[string]thing) obj { return obj{"role": m["node"].id, "policy": filler(200)} },
		obj{"policy": filler(300)}},
	{tAttachment, "worker", func(m map[string]thing) obj {
		return obj{"role": m["node"].id, "policyArn": "arn:aws:iam::aws:policy/AmazonEKSWorkerNodePolicy"}
	}, nil},
	{tAttachment, "control", func(m map[string]thing) obj {
		return obj{"role": m["eks"].id, "policyArn": "arn:aws:iam::aws:policy/AmazonEKSClusterPolicy"}
	}, nil},
	{tProfile, "profile", func(m map[string]thing) obj { return obj{"role": m["node"].id} }, retag},
	{tOIDC, "oidc", fixed(obj{
		"url":           "https://oidc.eks.us-west-2.amazonaws.com/id/A",
		"clientIdLists": []string{"sts.amazonaws.com"},
	}), retag},
	{"aws:iam/serviceLinkedRole:ServiceLinkedRole", "spot", fixed(obj{"awsServiceName": "spot.amazonaws.com"}),
		obj{"description": "spot"}},
	{tKey, "key", fixed(obj{"enableKeyRotation": true}), obj{"description": "secrets"}},
	{"aws:kms/alias:Alias", "alias", func(m map[string]thing) obj { return obj{"targetKeyId": m["key"].id} }, nil},
	{"aws:kms/keyPolicy:KeyPolicy", "keypolicy", func(m map[string]thing) obj {
		return obj{
			"keyId": m["key"].id,
			"policy": policyDocument(obj{
				"Effect":    "Allow",
				"Principal": obj{"AWS": root},
				"Action":    "kms:*",
				"Resource":  "*",
			}),
		}
	}, nil},
	{tLogGroup, "logs", fixed(obj{"name": "/aws/eks/c/cluster", "retentionInDays": 30}), obj{"retentionInDays": 90}},
	{tCluster, "c", func(m map[string]thing) obj {
		return with(clusterInputs(network{m["vpc"], m["a"], m["b"]}, m["eks"]), obj{
			"name":                   "c",
			"enabledClusterLogTypes": []string{"audit"},
			"encryptionConfig": obj{"provider": obj{"keyArn": m["key"].out["arn"]},
				"resources": []string{"secrets"}},
		})
	}, retag},
	{tAddon, "cni", fixed(obj{
		"clusterName":  "c",
		"addonName":    "vpc-cni",
		"addonVersion": "v1.21.1-eksbuild.1",
	}), obj{"addonVersion": "v1.22.3-eksbuild.1"}},
	{tNodeGroup, "group", func(m map[string]thing) obj {
		p := platform{network: network{m["vpc"], m["a"], m["b"]}, nodeRole: m["node"], cluster: m["c"]}
		return groupInputs(p, m["lt"], 0, 0, 2)
	}, obj{"updateConfig": obj{"maxUnavailable": 2}}},
	{tEntry, "admin", fixed(obj{"clusterName": "c", "principalArn": "arn:aws:iam::123456789012:role/admin"}), retag},
	{tAssoc, "assoc", fixed(obj{
		"clusterName":  "c",
		"principalArn": "arn:aws:iam::123456789012:role/admin",
		"policyArn":    "arn:aws:eks::aws:cluster-access-policy/AmazonEKSViewPolicy",
		"accessScope":  obj{"type": "namespace", "namespaces": []string{"x"}},
	}), nil},
	{"aws:eks/podIdentityAssociation:PodIdentityAssociation", "pod", func(m map[string]thing) obj {
		return obj{"clusterName": "c", "namespace": "x", "serviceAccount": "y", "roleArn": m["pods"].out["arn"]}
	}, retag},
	{tQueue, "queue", fixed(obj{"messageRetentionSeconds": 300}), obj{"visibilityTimeoutSeconds": 60}},
	{"aws:sqs/queuePolicy:QueuePolicy", "queuepolicy", func(m map[string]thing) obj {
		return obj{
			"queueUrl": m["queue"].id,
			"policy": policyDocument(obj{
				"Effect":    "Allow",
				"Principal": "*",
				"Action":    "sqs:SendMessage",
				"Resource":  m["queue"].out["arn"],
			}),
		}
	}, nil},
	{tRule, "event", fixed(obj{"eventPattern": `{"source":["aws.ec2"]}`}),
		obj{"eventPattern": `{"source":["aws.health"]}`}},
	{tTarget, "target", func(m map[string]thing) obj {
		return obj{"rule": m["event"].id,
			"arn": m["queue"].out["arn"]}
	}, obj{"input": "{}"}},
	{"aws:autoscaling/tag:Tag", "asgtag", func(m map[string]thing) obj {
		asg := at(m["group"].out, "resources.autoscalingGroups.name")[0]
		return obj{"autoscalingGroupName": asg, "tag": obj{"key": "k", "value": "v", "propagateAtLaunch": true}}
	}, obj{"tag": obj{"key": "k", "value": "w", "propagateAtLaunch": true}}},
	{tParameter, "parameter", fixed(obj{"name": "/headroom/x", "type": "String", "value": "1"}), obj{"value": "2"}},
}

func TestEveryTypeIsMadeReadChangedAndDeleted(t *testing.T) {
	a := newAccount(t)
	made := map[string]thing{}
	covered := map[string]bool{}
	for _, s := range samples {
		covered[s.typ] = true
		in := s.in(made)
		x := a.create(s.typ, s.name, in)
		// Neither a read nor an unchanged second run may differ.
		read, found := a.read(x)
		if !found || !reflect.DeepEqual(read.in, x.in) {
			t.Errorf("%s: read inputs %v, made with %v", s.typ, read.in, x.in)
		}
		for k, v := range x.out {
			if !reflect.DeepEqual(read.out[k], v) {
				t.Errorf("%s: read %s = %v, creation said %v", s.typ, k, read.out[k], v)
			}
		}
		if d := a.diff(x, in); len(d.Changed) > 0 {
			t.Errorf("%s: an unchanged second run changes %v", s.typ, d.Changed)
		}
		if s.change != nil {
			changed := with(in, s.change)
			if d := a.diff(x, changed); len(d.Changed) == 0 || len(d.Replaces) > 0 {
				t.Errorf("%s: %v changes %v and replaces %v", s.typ, s.change, d.Changed, d.Replaces)
			}
			y := a.update(x, changed)
			if d := a.diff(y, changed); len(d.Changed) > 0 || y.id != x.id {
				t.Errorf("%s: after the change %v still differs", s.typ, d.Changed)
			}
			x = y
		}
		made[s.name] = x
	}
	for typ := range table {
		if !covered[typ] {
			t.Errorf("no sample of %s", typ)
		}
	}
	for _, s := range slices.Backward(samples) {
		a.deletes(made[s.name])
		if _, found := a.read(made[s.name]); found {
			t.Errorf("%s is still there after its deletion", s.typ)
		}
	}
	if left := a.leftovers(); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}
