package aws

// resourcePermissions are those of resource types, by token.
var resourcePermissions = map[string]Permission{
	"aws:ec2/vpc:Vpc": {
		Read: "ec2:DescribeVpcs ec2:DescribeVpcAttribute ec2:DescribeNetworkAcls ec2:DescribeRouteTables " +
			"ec2:DescribeSecurityGroups",
		Create: "ec2:CreateVpc ec2:CreateTags ec2:ModifyVpcAttribute",
		Update: "ec2:ModifyVpcAttribute ec2:CreateTags ec2:DeleteTags",
		Delete: "ec2:DeleteVpc",
		Source: upstream + "ec2/vpc_.go",
	},
	// A deletion first takes away interfaces that others left behind.
	"aws:ec2/subnet:Subnet": {
		Read:   "ec2:DescribeSubnets",
		Create: "ec2:CreateSubnet ec2:CreateTags ec2:ModifySubnetAttribute",
		Update: "ec2:ModifySubnetAttribute ec2:CreateTags ec2:DeleteTags",
		Delete: "ec2:DescribeNetworkInterfaces ec2:DetachNetworkInterface ec2:DeleteNetworkInterface ec2:DeleteSubnet",
		Source: upstream + "ec2/vpc_subnet.go",
	},
	"aws:ec2/internetGateway:InternetGateway": {
		Read:   "ec2:DescribeInternetGateways",
		Create: "ec2:CreateInternetGateway ec2:AttachInternetGateway ec2:CreateTags",
		Update: "ec2:CreateTags ec2:DeleteTags",
		Delete: "ec2:DetachInternetGateway ec2:DeleteInternetGateway",
		Source: upstream + "ec2/vpc_internet_gateway.go",
	},
	"aws:ec2/routeTable:RouteTable": {
		Read:   "ec2:DescribeRouteTables ec2:DescribeManagedPrefixLists",
		Create: "ec2:CreateRouteTable ec2:CreateRoute ec2:CreateTags",
		Update: "ec2:CreateRoute ec2:ReplaceRoute ec2:DeleteRoute ec2:CreateTags ec2:DeleteTags",
		Delete: "ec2:DisassociateRouteTable ec2:DeleteRouteTable",
		Source: upstream + "ec2/vpc_route_table.go",
	},
	"aws:ec2/route:Route": {
		Read:   "ec2:DescribeRouteTables",
		Create: "ec2:CreateRoute",
		Update: "ec2:ReplaceRoute",
		Delete: "ec2:DeleteRoute",
		Source: upstream + "ec2/vpc_route.go",
	},
	"aws:ec2/routeTableAssociation:RouteTableAssociation": {
		Read:   "ec2:DescribeRouteTables",
		Create: "ec2:AssociateRouteTable",
		Update: "ec2:ReplaceRouteTableAssociation",
		Delete: "ec2:DisassociateRouteTable",
		Source: upstream + "ec2/vpc_route_table_association.go",
	},
	"aws:ec2/eip:Eip": {
		Read:   "ec2:DescribeAddresses ec2:DescribeAddressesAttribute",
		Create: "ec2:AllocateAddress ec2:CreateTags",
		Update: "ec2:CreateTags ec2:DeleteTags",
		Delete: "ec2:DisassociateAddress ec2:ReleaseAddress",
		Source: upstream + "ec2/ec2_eip.go",
	},
	"aws:ec2/natGateway:NatGateway": {
		Read:   "ec2:DescribeNatGateways",
		Create: "ec2:CreateNatGateway ec2:CreateTags",
		Update: "ec2:CreateTags ec2:DeleteTags",
		Delete: "ec2:DeleteNatGateway",
		Source: upstream + "ec2/vpc_nat_gateway.go",
	},
	"aws:ec2/vpcEndpoint:VpcEndpoint": {
		Read:   "ec2:DescribeVpcEndpoints ec2:DescribePrefixLists ec2:DescribeNetworkInterfaces",
		Create: "ec2:CreateVpcEndpoint ec2:CreateTags",
		Update: "ec2:ModifyVpcEndpoint ec2:CreateTags ec2:DeleteTags",
		Delete: "ec2:DeleteVpcEndpoints",
		Source: upstream + "ec2/vpc_endpoint.go",
	},
	// A new group loses the rule that lets everything out, unless that is what is wanted.
	"aws:ec2/securityGroup:SecurityGroup": {
		Read: "ec2:DescribeSecurityGroups",
		Create: "ec2:CreateSecurityGroup ec2:CreateTags ec2:AuthorizeSecurityGroupIngress " +
			"ec2:AuthorizeSecurityGroupEgress ec2:RevokeSecurityGroupEgress",
		Update: "ec2:AuthorizeSecurityGroupIngress ec2:AuthorizeSecurityGroupEgress ec2:RevokeSecurityGroupIngress " +
			"ec2:RevokeSecurityGroupEgress ec2:CreateTags ec2:DeleteTags",
		Delete: "ec2:DescribeNetworkInterfaces ec2:DetachNetworkInterface ec2:DeleteNetworkInterface " +
			"ec2:DeleteSecurityGroup",
		Source: upstream + "ec2/vpc_security_group.go",
	},
	"aws:ec2/securityGroupRule:SecurityGroupRule": {
		Read:   "ec2:DescribeSecurityGroups ec2:DescribeSecurityGroupRules",
		Create: "ec2:AuthorizeSecurityGroupIngress ec2:AuthorizeSecurityGroupEgress",
		Update: "ec2:UpdateSecurityGroupRuleDescriptionsIngress ec2:UpdateSecurityGroupRuleDescriptionsEgress",
		Delete: "ec2:RevokeSecurityGroupIngress ec2:RevokeSecurityGroupEgress",
	},
	"aws:vpc/securityGroupIngressRule:SecurityGroupIngressRule": {
		Read:   "ec2:DescribeSecurityGroupRules",
		Create: "ec2:AuthorizeSecurityGroupIngress ec2:CreateTags",
		Update: "ec2:ModifySecurityGroupRules ec2:CreateTags ec2:DeleteTags",
		Delete: "ec2:RevokeSecurityGroupIngress",
		Source: upstream + "ec2/vpc_security_group_ingress_rule.go",
	},
	"aws:vpc/securityGroupEgressRule:SecurityGroupEgressRule": {
		Read:   "ec2:DescribeSecurityGroupRules",
		Create: "ec2:AuthorizeSecurityGroupEgress ec2:CreateTags",
		Update: "ec2:ModifySecurityGroupRules ec2:CreateTags ec2:DeleteTags",
		Delete: "ec2:RevokeSecurityGroupEgress",
	},
	"aws:ec2/launchTemplate:LaunchTemplate": {
		Read:   "ec2:DescribeLaunchTemplates ec2:DescribeLaunchTemplateVersions",
		Create: "ec2:CreateLaunchTemplate ec2:CreateTags",
		Update: "ec2:CreateLaunchTemplateVersion ec2:ModifyLaunchTemplate ec2:CreateTags ec2:DeleteTags",
		Delete: "ec2:DeleteLaunchTemplate",
		Source: upstream + "ec2/ec2_launch_template.go",
	},
	"aws:ec2/tag:Tag": {
		Read:   "ec2:DescribeTags",
		Create: "ec2:CreateTags",
		Update: "ec2:CreateTags",
		Delete: "ec2:DeleteTags",
	},
	"aws:autoscaling/tag:Tag": {
		Read:   "autoscaling:DescribeTags",
		Create: "autoscaling:CreateOrUpdateTags",
		Update: "autoscaling:CreateOrUpdateTags",
		Delete: "autoscaling:DeleteTags",
		Source: upstream + "autoscaling/group_tag.go",
	},

	// A role is taken out of every instance profile before it goes.
	"aws:iam/role:Role": {
		Read:   "iam:GetRole iam:ListRolePolicies iam:GetRolePolicy iam:ListAttachedRolePolicies",
		Create: "iam:CreateRole iam:TagRole",
		Update: "iam:UpdateAssumeRolePolicy iam:UpdateRole iam:UpdateRoleDescription iam:TagRole iam:UntagRole",
		Delete: "iam:ListInstanceProfilesForRole iam:RemoveRoleFromInstanceProfile iam:DeleteRole",
		Source: upstream + "iam/role.go",
	},
	"aws:iam/policy:Policy": {
		Read:   "iam:GetPolicy iam:GetPolicyVersion",
		Create: "iam:CreatePolicy iam:TagPolicy",
		Update: "iam:ListPolicyVersions iam:DeletePolicyVersion iam:CreatePolicyVersion iam:SetDefaultPolicyVersion " +
			"iam:TagPolicy iam:UntagPolicy",
		Delete: "iam:ListPolicyVersions iam:DeletePolicyVersion iam:DeletePolicy",
		Source: upstream + "iam/policy.go",
	},
	"aws:iam/rolePolicy:RolePolicy": {
		Read:   "iam:GetRolePolicy",
		Create: "iam:PutRolePolicy",
		Update: "iam:PutRolePolicy",
		Delete: "iam:DeleteRolePolicy",
	},
	"aws:iam/rolePolicyAttachment:RolePolicyAttachment": {
		Read:   "iam:ListAttachedRolePolicies",
		Create: "iam:AttachRolePolicy",
		Delete: "iam:DetachRolePolicy",
		Source: upstream + "iam/role_policy_attachment.go",
	},
	// IAM asks for iam:PassRole where a role is added:
	// https://docs.aws.amazon.com/IAM/latest/APIReference/API_AddRoleToInstanceProfile.html
	"aws:iam/instanceProfile:InstanceProfile": {
		Read:   "iam:GetInstanceProfile iam:GetRole",
		Create: "iam:CreateInstanceProfile iam:AddRoleToInstanceProfile iam:PassRole iam:TagInstanceProfile",
		Update: "iam:AddRoleToInstanceProfile iam:RemoveRoleFromInstanceProfile iam:PassRole " +
			"iam:TagInstanceProfile iam:UntagInstanceProfile",
		Delete: "iam:RemoveRoleFromInstanceProfile iam:DeleteInstanceProfile",
		Source: upstream + "iam/instance_profile.go",
	},
	"aws:iam/openIdConnectProvider:OpenIdConnectProvider": {
		Read:   "iam:GetOpenIDConnectProvider",
		Create: "iam:CreateOpenIDConnectProvider iam:TagOpenIDConnectProvider",
		Update: "iam:UpdateOpenIDConnectProviderThumbprint iam:AddClientIDToOpenIDConnectProvider " +
			"iam:RemoveClientIDFromOpenIDConnectProvider iam:TagOpenIDConnectProvider iam:UntagOpenIDConnectProvider",
		Delete: "iam:DeleteOpenIDConnectProvider",
		Source: upstream + "iam/openid_connect_provider.go",
	},
	"aws:iam/serviceLinkedRole:ServiceLinkedRole": {
		Read:   "iam:GetRole",
		Create: "iam:CreateServiceLinkedRole iam:TagRole",
		Update: "iam:UpdateRole iam:TagRole iam:UntagRole",
		Delete: "iam:DeleteServiceLinkedRole iam:GetServiceLinkedRoleDeletionStatus",
		Source: upstream + "iam/service_linked_role.go",
	},

	"aws:kms/key:Key": {
		Read:   "kms:DescribeKey kms:GetKeyPolicy kms:GetKeyRotationStatus kms:ListResourceTags",
		Create: "kms:CreateKey kms:EnableKeyRotation kms:TagResource",
		Update: "kms:PutKeyPolicy kms:UpdateKeyDescription kms:EnableKeyRotation kms:DisableKeyRotation " +
			"kms:EnableKey kms:DisableKey kms:TagResource kms:UntagResource",
		Delete: "kms:ScheduleKeyDeletion",
		Source: upstream + "kms/key.go",
	},
	"aws:kms/alias:Alias": {
		Read:   "kms:ListAliases",
		Create: "kms:CreateAlias",
		Update: "kms:UpdateAlias",
		Delete: "kms:DeleteAlias",
	},
	"aws:kms/keyPolicy:KeyPolicy": {
		Read:   "kms:DescribeKey kms:GetKeyPolicy",
		Create: "kms:PutKeyPolicy",
		Update: "kms:PutKeyPolicy",
		Delete: "kms:PutKeyPolicy",
	},

	"aws:sqs/queue:Queue": {
		Read:   "sqs:GetQueueAttributes sqs:ListQueueTags",
		Create: "sqs:CreateQueue sqs:TagQueue",
		Update: "sqs:SetQueueAttributes sqs:TagQueue sqs:UntagQueue",
		Delete: "sqs:DeleteQueue",
		Source: upstream + "sqs/queue.go",
	},
	"aws:sqs/queuePolicy:QueuePolicy": {
		Read:   "sqs:GetQueueAttributes",
		Create: "sqs:SetQueueAttributes",
		Update: "sqs:SetQueueAttributes",
		Delete: "sqs:SetQueueAttributes",
		Source: upstream + "sqs/queue_policy.go",
	},
	"aws:cloudwatch/eventRule:EventRule": {
		Read:   "events:DescribeRule events:ListTagsForResource",
		Create: "events:PutRule events:TagResource",
		Update: "events:PutRule events:TagResource events:UntagResource",
		Delete: "events:DeleteRule",
		Source: upstream + "events/rule.go",
	},
	"aws:cloudwatch/eventTarget:EventTarget": {
		Read:   "events:ListTargetsByRule",
		Create: "events:PutTargets",
		Update: "events:PutTargets",
		Delete: "events:RemoveTargets",
		Source: upstream + "events/target.go",
	},
	"aws:cloudwatch/logGroup:LogGroup": {
		Read:   "logs:DescribeLogGroups logs:ListTagsForResource",
		Create: "logs:CreateLogGroup logs:PutRetentionPolicy logs:TagResource",
		Update: "logs:PutRetentionPolicy logs:DeleteRetentionPolicy logs:AssociateKmsKey logs:DisassociateKmsKey " +
			"logs:TagResource logs:UntagResource",
		Delete: "logs:DeleteLogGroup",
		Source: upstream + "logs/group.go",
	},
	"aws:ssm/parameter:Parameter": {
		Read:   "ssm:GetParameter ssm:DescribeParameters ssm:ListTagsForResource",
		Create: "ssm:PutParameter ssm:AddTagsToResource",
		Update: "ssm:PutParameter ssm:AddTagsToResource ssm:RemoveTagsFromResource",
		Delete: "ssm:DeleteParameter",
		Source: upstream + "ssm/parameter.go",
	},

	// What EKS itself checks of the caller: the role it is to take, the key it is to use, the service's own role. The
	// registry names actions on instance profiles too, which concern Auto Mode.
	"aws:eks/cluster:Cluster": {
		Read: "eks:DescribeCluster",
		Create: "eks:CreateCluster eks:TagResource eks:CreateAccessEntry iam:PassRole iam:GetRole " +
			"iam:ListAttachedRolePolicies iam:CreateServiceLinkedRole ec2:DescribeSubnets ec2:DescribeVpcs " +
			"kms:DescribeKey kms:CreateGrant iam:CreateInstanceProfile iam:TagInstanceProfile " +
			"iam:AddRoleToInstanceProfile iam:GetInstanceProfile iam:DeleteInstanceProfile " +
			"iam:RemoveRoleFromInstanceProfile",
		Update: "eks:UpdateClusterConfig eks:UpdateClusterVersion eks:AssociateEncryptionConfig eks:DescribeUpdate " +
			"eks:TagResource eks:UntagResource iam:PassRole",
		Delete: "eks:DeleteCluster",
		Source: registry + "aws-eks-cluster.json",
	},
	"aws:eks/nodeGroup:NodeGroup": {
		Read: "eks:DescribeNodegroup",
		Create: "eks:CreateNodegroup eks:TagResource ec2:DescribeSubnets ec2:DescribeVpcs ec2:DescribeSecurityGroups " +
			"ec2:DescribeKeyPairs ec2:CreateTags ec2:DeleteTags ec2:DescribeRouteTables ec2:DescribeLaunchTemplates " +
			"ec2:DescribeLaunchTemplateVersions ec2:RunInstances iam:CreateServiceLinkedRole iam:GetRole " +
			"iam:PassRole iam:ListAttachedRolePolicies",
		Update: "iam:GetRole iam:PassRole eks:DescribeUpdate eks:ListUpdates eks:TagResource eks:UntagResource " +
			"eks:UpdateNodegroupConfig eks:UpdateNodegroupVersion",
		Delete: "eks:DeleteNodegroup",
		Source: registry + "aws-eks-nodegroup.json",
	},
	"aws:eks/addon:Addon": {
		Read:   "eks:DescribeAddon",
		Create: "eks:CreateAddon eks:TagResource iam:PassRole iam:GetRole",
		Update: "eks:UpdateAddon eks:DescribeUpdate eks:TagResource eks:UntagResource iam:PassRole iam:GetRole",
		Delete: "eks:DeleteAddon",
		Source: registry + "aws-eks-addon.json",
	},
	"aws:eks/accessEntry:AccessEntry": {
		Read:   "eks:DescribeAccessEntry",
		Create: "eks:CreateAccessEntry eks:TagResource",
		Update: "eks:UpdateAccessEntry eks:TagResource eks:UntagResource",
		Delete: "eks:DeleteAccessEntry",
		Source: registry + "aws-eks-accessentry.json",
	},
	"aws:eks/accessPolicyAssociation:AccessPolicyAssociation": {
		Read:   "eks:ListAssociatedAccessPolicies",
		Create: "eks:AssociateAccessPolicy",
		Delete: "eks:DisassociateAccessPolicy",
		Source: registry + "aws-eks-accessentry.json",
	},
	"aws:eks/podIdentityAssociation:PodIdentityAssociation": {
		Read:   "eks:DescribePodIdentityAssociation",
		Create: "eks:CreatePodIdentityAssociation eks:TagResource iam:PassRole iam:GetRole",
		Update: "eks:UpdatePodIdentityAssociation eks:TagResource eks:UntagResource iam:PassRole iam:GetRole",
		Delete: "eks:DeletePodIdentityAssociation",
	},
}
