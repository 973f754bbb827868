// Package permissions holds the IAM policies that the program needs in AWS: parts, each for something that an
// environment can have.
//
// It owns which resource types and questions belong to which part, which parts a mode needs, and how narrow a statement
// is. It does not own the actions of a type or question (sandbox/aws), nor hold the program to them: tests/lifecycle
// runs each mode with these actions and no others.
package permissions

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/headroom-eks/headroom/sandbox/aws"
)

// Part is what one policy allows: making, changing and deleting some types.
type Part struct {
	Name  string // of the policy too, after "headroom-"
	For   string // the environments that need it
	Types []string
}

// Preview names the policy that reads all there is to read, and changes nothing.
const Preview = "preview"

// Parts in the order of the page.
var Parts = []Part{
	{"cluster", "every environment", []string{
		"aws:cloudwatch/logGroup:LogGroup",
		"aws:eks/cluster:Cluster",
		"aws:eks/accessEntry:AccessEntry",
		"aws:eks/accessPolicyAssociation:AccessPolicyAssociation",
		"aws:iam/openIdConnectProvider:OpenIdConnectProvider",
		"aws:iam/policy:Policy",
		"aws:iam/role:Role",
		"aws:iam/rolePolicyAttachment:RolePolicyAttachment",
		"aws:kms/key:Key",
		"aws:vpc/securityGroupIngressRule:SecurityGroupIngressRule",
	}},
	{"network", "environments without `network.existing`", []string{
		"aws:ec2/eip:Eip",
		"aws:ec2/internetGateway:InternetGateway",
		"aws:ec2/natGateway:NatGateway",
		"aws:ec2/route:Route",
		"aws:ec2/routeTable:RouteTable",
		"aws:ec2/routeTableAssociation:RouteTableAssociation",
		"aws:ec2/subnet:Subnet",
		"aws:ec2/vpc:Vpc",
		"aws:ec2/vpcEndpoint:VpcEndpoint",
		"aws:ec2/securityGroup:SecurityGroup",
	}},
	{"node-groups", "every environment but those of Auto Mode", []string{
		"aws:ec2/launchTemplate:LaunchTemplate",
		"aws:eks/addon:Addon",
		"aws:eks/nodeGroup:NodeGroup",
	}},
	{"cluster-autoscaler", "pools of cluster-autoscaler", []string{"aws:autoscaling/tag:Tag"}},
	{"karpenter", "pools of Karpenter", []string{
		"aws:cloudwatch/eventRule:EventRule",
		"aws:cloudwatch/eventTarget:EventTarget",
		"aws:iam/instanceProfile:InstanceProfile",
		"aws:sqs/queue:Queue",
		"aws:sqs/queuePolicy:QueuePolicy",
	}},
	{"spot-role", "`spot.createServiceLinkedRole`", []string{"aws:iam/serviceLinkedRole:ServiceLinkedRole"}},
	{"parameter", "`capacity.ssmParameter`", []string{"aws:ssm/parameter:Parameter"}},
}

// Mode is a way to scale, and the parts it needs beside what its environment asks for.
type Mode struct {
	Name  string
	Parts []string
}

// Modes in the order of the page. "network" goes where the network is there already.
var Modes = []Mode{
	{"fixed", []string{"cluster", "network", "node-groups"}},
	{"cluster-autoscaler", []string{"cluster", "network", "node-groups", "cluster-autoscaler"}},
	{"karpenter", []string{"cluster", "network", "node-groups", "karpenter"}},
	{"auto-mode", []string{"cluster", "network"}},
}

// Questions that the program, or the component of the cluster, asks AWS.
var Questions = []string{
	"aws:ec2/getInstance:getInstance",
	"aws:ec2/getInstanceType:getInstanceType",
	"aws:ec2/getInstanceTypeOfferings:getInstanceTypeOfferings",
	"aws:ec2/getInstances:getInstances",
	"aws:ec2/getSubnet:getSubnet",
	"aws:ec2/getVpc:getVpc",
	"aws:ec2/getVpcEndpointService:getVpcEndpointService",
	"aws:eks/getAccessEntry:getAccessEntry",
	"aws:eks/getCluster:getCluster",
	"aws:eks/getClusterVersions:getClusterVersions",
	"aws:eks/getClusters:getClusters",
	"aws:eks/getNodeGroup:getNodeGroup",
	"aws:eks/getNodeGroups:getNodeGroups",
	"aws:iam/getRole:getRole",
	"aws:index/getAvailabilityZones:getAvailabilityZones",
	"aws:index/getCallerIdentity:getCallerIdentity",
	"aws:index/getPartition:getPartition",
	"aws:index/getRegion:getRegion",
	"aws:servicequotas/getServiceQuota:getServiceQuota",
	"aws:ssm/getParameter:getParameter",
}

// Tokens are every type and question that some policy speaks of.
func Tokens() []string {
	tokens := slices.Clone(Questions)
	for _, p := range Parts {
		tokens = append(tokens, p.Types...)
	}
	return tokens
}

// Actions of the policies with these names, sorted: of parts, and of Preview.
func Actions(names ...string) ([]string, error) {
	for _, name := range names {
		if name != Preview && !slices.ContainsFunc(Parts, func(p Part) bool { return p.Name == name }) {
			return nil, fmt.Errorf("there is no policy %q", name)
		}
	}
	var actions []string
	add := func(tokens []string, of func(aws.Permission) []string) error {
		for _, token := range tokens {
			p, err := aws.PermissionOf(token)
			if err != nil {
				return err
			}
			actions = append(actions, of(p)...)
		}
		return nil
	}
	if slices.Contains(names, Preview) {
		if err := add(Tokens(), func(p aws.Permission) []string { return p.Read.List() }); err != nil {
			return nil, err
		}
	}
	for _, part := range Parts {
		if slices.Contains(names, part.Name) {
			if err := add(part.Types, aws.Permission.Writes); err != nil {
				return nil, err
			}
		}
	}
	slices.Sort(actions)
	return slices.Compact(actions), nil
}

type statement struct {
	Effect    string
	Action    []string
	Resource  any
	Condition map[string]map[string][]string `json:",omitempty"`
}

type document struct {
	Version   string
	Statement []statement
}

// rule narrows actions. What no rule names stays at every resource: its ids are AWS's, or its name is made by Pulumi
// from a name inside the program and says nothing of the stack.
type rule struct {
	actions   []string
	resource  any
	condition map[string]map[string][]string
}

var rules = []rule{
	// What the services call themselves is a belief, so the patterns are wide.
	{[]string{"iam:PassRole"}, "arn:aws:iam::*:role/*", map[string]map[string][]string{
		"StringLikeIfExists": {"iam:PassedToService": {"ec2.amazonaws.com*", "*eks.amazonaws.com*"}},
	}},
	{[]string{"iam:CreateServiceLinkedRole", "iam:DeleteServiceLinkedRole"}, []string{
		"arn:aws:iam::*:role/aws-service-role/autoscaling.amazonaws.com/*",
		"arn:aws:iam::*:role/aws-service-role/eks.amazonaws.com/*",
		"arn:aws:iam::*:role/aws-service-role/eks-nodegroup.amazonaws.com/*",
		"arn:aws:iam::*:role/aws-service-role/spot.amazonaws.com/*",
	}, nil},
	{[]string{"logs:CreateLogGroup", "logs:DeleteLogGroup", "logs:PutRetentionPolicy", "logs:DeleteRetentionPolicy",
		"logs:AssociateKmsKey", "logs:DisassociateKmsKey", "logs:TagResource", "logs:UntagResource"},
		"arn:aws:logs:*:*:log-group:/aws/eks/*", nil},
	// Parameters of others hold secrets, and a preview runs what a pull request changed.
	{[]string{"ssm:GetParameter"}, []string{
		"arn:aws:ssm:*::parameter/aws/service/*",
		"arn:aws:ssm:*:*:parameter/headroom/*",
	}, nil},
	{[]string{"ssm:AddTagsToResource", "ssm:DeleteParameter", "ssm:ListTagsForResource", "ssm:PutParameter",
		"ssm:RemoveTagsFromResource"}, "arn:aws:ssm:*:*:parameter/headroom/*", nil},
}

// Document is the JSON of one policy.
func Document(name string) (string, error) {
	actions, err := Actions(name)
	if err != nil {
		return "", err
	}
	var narrow []statement
	for _, r := range rules {
		named := func(action string) bool { return slices.Contains(r.actions, action) }
		if mine := slices.Clone(actions); slices.ContainsFunc(mine, named) {
			mine = slices.DeleteFunc(mine, func(a string) bool { return !named(a) })
			narrow = append(narrow, statement{"Allow", mine, r.resource, r.condition})
			actions = slices.DeleteFunc(actions, named)
		}
	}
	d := document{"2012-10-17", append([]statement{{"Allow", actions, "*", nil}}, narrow...)}
	if len(actions) == 0 {
		d.Statement = narrow
	}
	text, err := json.MarshalIndent(d, "", "  ")
	return string(text), err
}
