package constraints

import (
	"maps"
	"slices"
	"strings"
)

// mapping says which member of an AWS call each input property of a resource type becomes. A property that is not named
// is the member of the same name, whatever its case: first in within, then in the shape itself.
type mapping struct {
	shape  string
	within string // the member that holds the properties
	// members maps a property's path, without indices, to its member: a path in the shape, or below the top level a
	// name.
	members map[string]string
	// registry maps a property to "Type Member" of CloudFormation's registry, where the API's model states nothing.
	registry map[string]string
	none     map[string]string // properties that no model bounds, each with its reason
}

// Reasons that several properties share.
const (
	providerOwn = "an option of the provider: AWS never sees it"
	prefix      = "the provider makes a name of it, which is checked"
	otherCall   = "set by another call, whose model states no bound"
	ec2Tags     = "EC2's model states no bound for tags; the rows' rule for tags does"
	attribute   = "a queue attribute: text to the API's model; the row has its range"
	permission  = "EC2's model nests rules of security groups and bounds none of their fields"
)

var mappings = map[string]mapping{
	"aws:autoscaling/tag:Tag": {
		shape:   "autoscaling.CreateOrUpdateTags",
		members: map[string]string{"autoscalingGroupName": "Tags.ResourceId", "tag": "Tags"},
	},
	"aws:cloudwatch/eventRule:EventRule": {
		shape: "events.PutRule",
		none:  map[string]string{"namePrefix": prefix, "isEnabled": "becomes state", "forceDestroy": providerOwn},
	},
	"aws:cloudwatch/eventTarget:EventTarget": {
		shape: "events.PutTargets", within: "Targets",
		members: map[string]string{
			"eventBusName": "EventBusName", "rule": "Rule", "targetId": "Targets.Id",
			"inputTransformer.inputPaths": "InputPathsMap",
			"sqsTarget":                   "Targets.SqsParameters",
		},
		none: map[string]string{"forceDestroy": providerOwn},
	},
	"aws:cloudwatch/logGroup:LogGroup": {
		shape: "logs.CreateLogGroup", members: map[string]string{"name": "logGroupName"},
		none: map[string]string{
			"namePrefix": prefix, "skipDestroy": providerOwn,
			"retentionInDays": "the API's model states no word for it; the row has them, with the provider's 0",
		},
	},
	"aws:ec2/eip:Eip": {
		shape: "ec2.AllocateAddress",
		none: map[string]string{
			"instance": otherCall, "networkInterface": otherCall, "vpc": "becomes domain", "tags": ec2Tags,
		},
	},
	"aws:ec2/internetGateway:InternetGateway": {
		shape: "ec2.CreateInternetGateway", none: map[string]string{"vpcId": otherCall, "tags": ec2Tags},
	},
	"aws:ec2/launchTemplate:LaunchTemplate": {
		shape: "ec2.CreateLaunchTemplate", within: "LaunchTemplateData",
		members: map[string]string{
			"name": "LaunchTemplateName", "description": "VersionDescription",
			"vpcSecurityGroupIds":              "LaunchTemplateData.SecurityGroupIds",
			"securityGroupNames":               "LaunchTemplateData.SecurityGroups",
			"networkInterfaces.securityGroups": "Groups",
		},
		none: map[string]string{
			"namePrefix": prefix, "updateDefaultVersion": providerOwn, "defaultVersion": otherCall, "tags": ec2Tags,
			"instanceRequirements":            "nothing here uses it; its model is larger than the rest together",
			"networkInterfaces.ipv4Addresses": "two members of the API made one by the provider; no bound",
			"networkInterfaces.ipv6Addresses": "two members of the API made one by the provider; no bound",
		},
	},
	"aws:ec2/natGateway:NatGateway": {
		shape: "ec2.CreateNatGateway", members: map[string]string{"privateIp": "PrivateIpAddress"},
		none: map[string]string{"tags": ec2Tags},
	},
	"aws:ec2/route:Route": {
		shape: "ec2.CreateRoute", members: map[string]string{"egressOnlyGatewayId": "EgressOnlyInternetGatewayId"},
	},
	"aws:ec2/routeTable:RouteTable": {
		shape: "ec2.CreateRouteTable",
		none:  map[string]string{"routes": otherCall, "propagatingVgws": otherCall, "tags": ec2Tags},
	},
	"aws:ec2/routeTableAssociation:RouteTableAssociation": {shape: "ec2.AssociateRouteTable"},
	"aws:ec2/securityGroup:SecurityGroup": {
		shape: "ec2.CreateSecurityGroup", members: map[string]string{"name": "GroupName"},
		none: map[string]string{
			"namePrefix": prefix, "revokeRulesOnDelete": providerOwn, "ingress": permission, "egress": permission,
			"tags": ec2Tags,
		},
	},
	"aws:ec2/securityGroupRule:SecurityGroupRule": {
		shape: "ec2.AuthorizeSecurityGroupIngress", members: map[string]string{
			"securityGroupId": "GroupId", "protocol": "IpProtocol",
		},
		none: map[string]string{
			"cidrBlocks": permission, "ipv6CidrBlocks": permission, "prefixListIds": permission, "self": permission,
			"description": permission, "sourceSecurityGroupId": permission, "type": "chooses the call",
		},
	},
	"aws:ec2/subnet:Subnet": {
		shape: "ec2.CreateSubnet",
		none: map[string]string{
			"mapPublicIpOnLaunch": otherCall, "assignIpv6AddressOnCreation": otherCall, "tags": ec2Tags,
			"enableResourceNameDnsARecordOnLaunch": otherCall, "privateDnsHostnameTypeOnLaunch": otherCall,
		},
	},
	"aws:ec2/tag:Tag": {
		shape: "ec2.CreateTags", within: "Tags", members: map[string]string{"resourceId": "Resources"},
	},
	"aws:ec2/vpc:Vpc": {
		shape:   "ec2.CreateVpc",
		members: map[string]string{"assignGeneratedIpv6CidrBlock": "AmazonProvidedIpv6CidrBlock"},
		none: map[string]string{
			"enableDnsHostnames": otherCall, "enableDnsSupport": otherCall,
			"enableNetworkAddressUsageMetrics": otherCall, "tags": ec2Tags,
		},
	},
	"aws:ec2/vpcEndpoint:VpcEndpoint": {
		shape: "ec2.CreateVpcEndpoint", members: map[string]string{"policy": "PolicyDocument"},
		none: map[string]string{"autoAccept": providerOwn, "tags": ec2Tags},
	},
	"aws:eks/accessEntry:AccessEntry":                         {shape: "eks.CreateAccessEntry"},
	"aws:eks/accessPolicyAssociation:AccessPolicyAssociation": {shape: "eks.AssociateAccessPolicy"},
	"aws:eks/addon:Addon": {
		shape: "eks.CreateAddon",
		members: map[string]string{
			"resolveConflictsOnCreate": "resolveConflicts", "resolveConflictsOnUpdate": "resolveConflicts",
		},
		registry: map[string]string{
			"addonName": "AWS::EKS::Addon AddonName", "addonVersion": "AWS::EKS::Addon AddonVersion",
			"configurationValues":     "AWS::EKS::Addon ConfigurationValues",
			"podIdentityAssociations": "AWS::EKS::Addon PodIdentityAssociations",
		},
		none: map[string]string{"preserve": providerOwn},
	},
	"aws:eks/cluster:Cluster": {
		shape: "eks.CreateCluster",
		members: map[string]string{
			"vpcConfig": "resourcesVpcConfig", "enabledClusterLogTypes": "logging.clusterLogging.types",
		},
		none: map[string]string{"defaultAddonsToRemoves": providerOwn, "forceUpdateVersion": otherCall},
	},
	"aws:eks/nodeGroup:NodeGroup": {
		shape:    "eks.CreateNodegroup",
		members:  map[string]string{"nodeRoleArn": "nodeRole", "subnetIds": "subnets"},
		registry: map[string]string{"launchTemplate": "AWS::EKS::Nodegroup LaunchTemplate"},
		none:     map[string]string{"nodeGroupNamePrefix": prefix, "forceUpdateVersion": otherCall},
	},
	"aws:eks/podIdentityAssociation:PodIdentityAssociation": {shape: "eks.CreatePodIdentityAssociation"},
	"aws:iam/instanceProfile:InstanceProfile": {
		shape: "iam.CreateInstanceProfile", members: map[string]string{"name": "InstanceProfileName"},
		none: map[string]string{"namePrefix": prefix, "role": "set by another call; a reference of the row"},
	},
	"aws:iam/openIdConnectProvider:OpenIdConnectProvider": {
		shape: "iam.CreateOpenIDConnectProvider", members: map[string]string{"clientIdLists": "ClientIDList"},
		registry: map[string]string{"thumbprintLists": "AWS::IAM::OIDCProvider ThumbprintList"},
	},
	"aws:iam/policy:Policy": {
		shape: "iam.CreatePolicy", members: map[string]string{"name": "PolicyName", "policy": "PolicyDocument"},
		none: map[string]string{"namePrefix": prefix},
	},
	"aws:iam/role:Role": {
		shape: "iam.CreateRole", members: map[string]string{
			"name": "RoleName", "assumeRolePolicy": "AssumeRolePolicyDocument",
		},
		none: map[string]string{
			"namePrefix": prefix, "forceDetachPolicies": providerOwn, "inlinePolicies": otherCall,
			"managedPolicyArns": otherCall,
		},
	},
	"aws:iam/rolePolicy:RolePolicy": {
		shape: "iam.PutRolePolicy", members: map[string]string{
			"name": "PolicyName", "role": "RoleName", "policy": "PolicyDocument",
		},
		none: map[string]string{"namePrefix": prefix},
	},
	"aws:iam/rolePolicyAttachment:RolePolicyAttachment": {
		shape: "iam.AttachRolePolicy", members: map[string]string{"role": "RoleName"},
	},
	"aws:iam/serviceLinkedRole:ServiceLinkedRole": {
		shape: "iam.CreateServiceLinkedRole", none: map[string]string{"tags": otherCall},
	},
	"aws:kms/alias:Alias": {
		shape: "kms.CreateAlias", registry: map[string]string{"name": "AWS::KMS::Alias AliasName"},
		none: map[string]string{"namePrefix": prefix},
	},
	"aws:kms/key:Key": {
		shape: "kms.CreateKey", members: map[string]string{"customerMasterKeySpec": "KeySpec"},
		registry: map[string]string{
			"deletionWindowInDays": "AWS::KMS::Key PendingWindowInDays",
			"rotationPeriodInDays": "AWS::KMS::Key RotationPeriodInDays",
		},
		none: map[string]string{"isEnabled": otherCall, "enableKeyRotation": otherCall},
	},
	"aws:kms/keyPolicy:KeyPolicy": {shape: "kms.PutKeyPolicy"},
	"aws:sqs/queue:Queue": {
		shape: "sqs.CreateQueue", members: map[string]string{"name": "QueueName"},
		none: map[string]string{
			"namePrefix": prefix, "contentBasedDeduplication": attribute, "deduplicationScope": attribute,
			"delaySeconds": attribute, "fifoQueue": attribute, "fifoThroughputLimit": attribute,
			"kmsDataKeyReusePeriodSeconds": attribute, "kmsMasterKeyId": attribute, "maxMessageSize": attribute,
			"messageRetentionSeconds": attribute, "policy": attribute, "receiveWaitTimeSeconds": attribute,
			"redriveAllowPolicy": attribute, "redrivePolicy": attribute, "sqsManagedSseEnabled": attribute,
			"visibilityTimeoutSeconds": attribute,
		},
	},
	"aws:sqs/queuePolicy:QueuePolicy": {
		shape: "sqs.SetQueueAttributes", none: map[string]string{"policy": attribute},
	},
	"aws:ssm/parameter:Parameter": {
		shape: "ssm.PutParameter", members: map[string]string{"insecureValue": "Value"},
		registry: map[string]string{"dataType": "AWS::SSM::Parameter DataType"},
		none:     map[string]string{"arn": "what comes back, which the provider takes too"},
	},
	"aws:vpc/securityGroupEgressRule:SecurityGroupEgressRule":   ruleMapping("ec2.AuthorizeSecurityGroupEgress"),
	"aws:vpc/securityGroupIngressRule:SecurityGroupIngressRule": ruleMapping("ec2.AuthorizeSecurityGroupIngress"),
}

func ruleMapping(shape string) mapping {
	return mapping{
		shape: shape, within: "IpPermissions",
		members: map[string]string{"securityGroupId": "GroupId"},
		none: map[string]string{
			"cidrIpv4": permission, "cidrIpv6": permission, "description": permission, "prefixListId": permission,
			"referencedSecurityGroupId": permission, "tags": ec2Tags,
		},
	}
}

// resolve finds the member of a property at the top, with its path in the shape; nil where there is none.
func (m mapping) resolve(property string) (string, *shape) {
	root := shapes()[m.shape]
	if entry := m.registry[property]; entry != "" {
		typ, member, _ := strings.Cut(entry, " ")
		return "", shapes()[typ].at(member)
	}
	if path := m.members[property]; path != "" {
		return path, root.at(path)
	}
	if m.within != "" {
		inner := root.at(m.within)
		for inner.Item != nil {
			inner = inner.Item
		}
		if name, s := inner.member(property); s != nil {
			return m.within + "." + name, s
		}
	}
	return root.member(property)
}

// Maps reports whether the table knows what the property becomes, or says why it bounds nothing.
func Maps(typ, property string) bool {
	m := mappings[typ]
	_, s := m.resolve(property)
	return s != nil || m.none[property] != ""
}

// Requires are the properties that AWS wants at creation, of those given; a member that none of them becomes is the
// provider's to fill in.
func Requires(typ string, properties []string) (required []string) {
	m := mappings[typ]
	members := shapes()[m.shape].Required
	for _, property := range properties {
		path, s := m.resolve(property)
		if s != nil && m.none[property] == "" && path != "" && slices.Contains(members, path) {
			required = append(required, property)
		}
	}
	return required
}

// Types are the resource types that the table knows.
func Types() []string { return slices.Sorted(maps.Keys(mappings)) }
