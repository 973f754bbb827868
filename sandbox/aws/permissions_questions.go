package aws

// questionPermissions are those of data sources, by token.
var questionPermissions = map[string]Permission{
	"aws:index/getPartition:getPartition":                 {},
	"aws:index/getRegion:getRegion":                       {},
	"aws:index/getCallerIdentity:getCallerIdentity":       {Read: "sts:GetCallerIdentity"},
	"aws:index/getAvailabilityZones:getAvailabilityZones": {Read: "ec2:DescribeAvailabilityZones"},

	// The default is asked first, and without the right to ask it there is no answer at all (aws-review m8).
	"aws:servicequotas/getServiceQuota:getServiceQuota": {
		Read:   "servicequotas:GetAWSDefaultServiceQuota servicequotas:GetServiceQuota",
		Source: upstream + "servicequotas/service_quota_data_source.go",
	},

	"aws:ssm/getParameter:getParameter": {
		Read:   "ssm:GetParameter",
		Source: upstream + "ssm/parameter_data_source.go",
	},

	"aws:sqs/getQueue:getQueue": {Read: "sqs:GetQueueUrl sqs:GetQueueAttributes sqs:ListQueueTags"},

	"aws:ec2/getInstanceType:getInstanceType": {
		Read:   "ec2:DescribeInstanceTypes",
		Source: upstream + "ec2/ec2_instance_type_data_source.go",
	},
	"aws:ec2/getInstanceTypes:getInstanceTypes": {Read: "ec2:DescribeInstanceTypes"},
	"aws:ec2/getInstanceTypeOfferings:getInstanceTypeOfferings": {
		Read:   "ec2:DescribeInstanceTypeOfferings",
		Source: upstream + "ec2/ec2_instance_type_offerings_data_source.go",
	},
	"aws:ec2/getInstances:getInstances": {
		Read:   "ec2:DescribeInstances",
		Source: upstream + "ec2/ec2_instances_data_source.go",
	},
	"aws:ec2/getInstance:getInstance": {
		Read: "ec2:DescribeInstances ec2:DescribeInstanceAttribute ec2:DescribeInstanceCreditSpecifications " +
			"ec2:DescribeInstanceTypes ec2:DescribeVolumes ec2:DescribeVpcs",
		Source: upstream + "ec2/ec2_instance_data_source.go",
	},
	"aws:ec2/getSubnet:getSubnet": {
		Read:   "ec2:DescribeSubnets",
		Source: upstream + "ec2/vpc_subnet_data_source.go",
	},
	"aws:ec2/getSubnets:getSubnets": {Read: "ec2:DescribeSubnets"},
	"aws:ec2/getVpcEndpointService:getVpcEndpointService": {
		Read:   "ec2:DescribeVpcEndpointServices",
		Source: upstream + "ec2/vpc_endpoint_service_data_source.go",
	},
	"aws:ec2/getVpc:getVpc": {
		Read:   "ec2:DescribeVpcs ec2:DescribeVpcAttribute ec2:DescribeRouteTables",
		Source: upstream + "ec2/vpc_data_source.go",
	},
	"aws:ec2/getLaunchTemplate:getLaunchTemplate": {
		Read: "ec2:DescribeLaunchTemplates ec2:DescribeLaunchTemplateVersions",
	},

	"aws:autoscaling/getGroup:getGroup": {Read: "autoscaling:DescribeAutoScalingGroups"},

	"aws:eks/getCluster:getCluster": {Read: "eks:DescribeCluster"},
	"aws:eks/getClusters:getClusters": {
		Read:   "eks:ListClusters",
		Source: upstream + "eks/clusters_data_source.go",
	},
	"aws:eks/getClusterVersions:getClusterVersions": {
		Read:   "eks:DescribeClusterVersions",
		Source: upstream + "eks/cluster_versions_data_source.go",
	},
	"aws:eks/getNodeGroup:getNodeGroup": {Read: "eks:DescribeNodegroup"},
	"aws:eks/getNodeGroups:getNodeGroups": {
		Read:   "eks:ListNodegroups",
		Source: upstream + "eks/node_groups_data_source.go",
	},
	"aws:eks/getAddonVersion:getAddonVersion": {
		Read:   "eks:DescribeAddonVersions",
		Source: upstream + "eks/addon_version_data_source.go",
	},
	"aws:eks/getAddon:getAddon": {Read: "eks:DescribeAddon"},
	"aws:eks/getAccessEntry:getAccessEntry": {
		Read:   "eks:DescribeAccessEntry",
		Source: upstream + "eks/access_entry_datasource.go",
	},

	"aws:iam/getRole:getRole": {
		Read:   "iam:GetRole",
		Source: upstream + "iam/role_data_source.go",
	},
	"aws:iam/getRoles:getRoles":                     {Read: "iam:ListRoles"},
	"aws:iam/getPolicy:getPolicy":                   {Read: "iam:GetPolicy iam:GetPolicyVersion"},
	"aws:iam/getInstanceProfile:getInstanceProfile": {Read: "iam:GetInstanceProfile"},
}
