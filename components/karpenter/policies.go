package karpenter

import (
	"fmt"
	"maps"

	"github.com/headroom-eks/headroom/components/iampolicy"
)

// Facts that the controller's permissions are written with.
type Facts struct {
	Partition, Region, AccountID string
	// Cluster is the name of the cluster.
	Cluster string
	// NodeRoleArn is the only role that may be passed to instances.
	NodeRoleArn string
	// QueueArn of the interruption queue; empty when interruption handling is off, and then nothing is allowed on any
	// queue (field fault BR-30).
	QueueArn string
	// QueueKeyArn of the customer's key that encrypts the queue; empty for SQS's own encryption.
	QueueKeyArn string
}

// Keys of the controller's policies, as upstream divides them.
const (
	nodeLifecycle     = "node-lifecycle"
	iamIntegration    = "iam-integration"
	eksIntegration    = "eks-integration"
	zonalShift        = "zonal-shift"
	resourceDiscovery = "resource-discovery"
	interruption      = "interruption"
)

// policyKeys lists the policies of a controller.
func policyKeys(withQueue bool) []string {
	keys := []string{nodeLifecycle, iamIntegration, eksIntegration, zonalShift, resourceDiscovery}
	if withQueue {
		keys = append(keys, interruption)
	}
	return keys
}

// Policies of the controller, one managed policy for each key: each fits IAM's limit for the longest cluster name
// (field fault BR-38). Statements are named and scoped as upstream's. It fails for a version without an entry.
// https://karpenter.sh/v1.15/reference/cloudformation/#controller-authorization
func Policies(version string, f Facts) (map[string]iampolicy.Document, error) {
	known, found := releases[minor(version)]
	if !found {
		return nil, fmt.Errorf("the permissions that Karpenter %s needs are not known", version)
	}
	documents := map[string]iampolicy.Document{
		nodeLifecycle:  iampolicy.New(f.nodeLifecycle(known)...),
		iamIntegration: iampolicy.New(f.iamIntegration()...),
		eksIntegration: iampolicy.New(iampolicy.Statement{
			Sid:      "AllowAPIServerEndpointDiscovery",
			Action:   iampolicy.Strings{"eks:DescribeCluster"},
			Resource: iampolicy.Strings{f.clusterArn()},
		}),
		zonalShift: iampolicy.New(iampolicy.Statement{
			Sid:       "AllowZonalShiftStatusReadOnly",
			Action:    iampolicy.Strings{"arc-zonal-shift:GetManagedResource"},
			Resource:  iampolicy.Strings{"*"},
			Condition: iampolicy.Conditions{"StringEquals": {"arc-zonal-shift:ResourceIdentifier": {f.clusterArn()}}},
		}),
		resourceDiscovery: iampolicy.New(f.resourceDiscovery()...),
	}
	if f.QueueArn != "" {
		documents[interruption] = iampolicy.New(f.interruption()...)
	}
	return documents, nil
}

// Tags that Karpenter puts on everything it makes; conditions hold it to its own cluster by them.
const (
	clusterNameTag = "eks:eks-cluster-name"
	nodePoolTag    = "karpenter.sh/nodepool"
	nodeClassTag   = "karpenter.k8s.aws/ec2nodeclass"
	regionTag      = "topology.kubernetes.io/region"
)

// onRequest and onResource are the condition keys for a tag sent along and for a tag already there.
func onRequest(tag string) string  { return "aws:RequestTag/" + tag }
func onResource(tag string) string { return "aws:ResourceTag/" + tag }

func (f Facts) ownedTag() string { return "kubernetes.io/cluster/" + f.Cluster }

func (f Facts) clusterArn() string {
	return fmt.Sprintf("arn:%s:eks:%s:%s:cluster/%s", f.Partition, f.Region, f.AccountID, f.Cluster)
}

// ec2 gives patterns for every resource of the given kinds in the region. Images and snapshots carry no account.
func (f Facts) ec2(kinds ...string) (patterns iampolicy.Strings) {
	for _, kind := range kinds {
		account := "*"
		if kind == "image" || kind == "snapshot" {
			account = ""
		}
		patterns = append(patterns, fmt.Sprintf("arn:%s:ec2:%s:%s:%s/*", f.Partition, f.Region, account, kind))
	}
	return patterns
}

func (f Facts) instanceProfiles() iampolicy.Strings {
	return iampolicy.Strings{fmt.Sprintf("arn:%s:iam::%s:instance-profile/*", f.Partition, f.AccountID)}
}

func (f Facts) nodeLifecycle(known release) []iampolicy.Statement {
	made := f.ec2("fleet", "instance", "volume", "network-interface", "launch-template", "spot-instances-request")
	owned := map[string]iampolicy.Strings{onResource(f.ownedTag()): {"owned"}}
	anyPool := map[string]iampolicy.Strings{onResource(nodePoolTag): {"*"}}
	anyPoolSent := map[string]iampolicy.Strings{onRequest(nodePoolTag): {"*"}}
	launch := iampolicy.Strings{"ec2:RunInstances", "ec2:CreateFleet"}
	return []iampolicy.Statement{
		{
			Sid: "AllowScopedEC2InstanceAccessActions", Action: launch,
			Resource: f.ec2("image", "snapshot", "security-group", "subnet", "capacity-reservation", "placement-group"),
		},
		{
			Sid: "AllowScopedEC2LaunchTemplateAccessActions", Action: launch, Resource: f.ec2("launch-template"),
			Condition: iampolicy.Conditions{"StringEquals": owned, "StringLike": anyPool},
		},
		{
			Sid:      "AllowScopedEC2InstanceActionsWithTags",
			Action:   append(iampolicy.Strings{"ec2:CreateLaunchTemplate"}, launch...),
			Resource: made,
			Condition: iampolicy.Conditions{
				"StringEquals": {onRequest(f.ownedTag()): {"owned"}, onRequest(clusterNameTag): {f.Cluster}},
				"StringLike":   anyPoolSent,
			},
		},
		{
			Sid: "AllowScopedResourceCreationTagging", Action: iampolicy.Strings{"ec2:CreateTags"}, Resource: made,
			Condition: iampolicy.Conditions{
				"StringEquals": {
					onRequest(f.ownedTag()): {"owned"}, onRequest(clusterNameTag): {f.Cluster},
					"ec2:CreateAction": {"RunInstances", "CreateFleet", "CreateLaunchTemplate"},
				},
				"StringLike": anyPoolSent,
			},
		},
		{
			Sid: "AllowScopedResourceTagging", Action: iampolicy.Strings{"ec2:CreateTags"}, Resource: f.ec2("instance"),
			Condition: iampolicy.Conditions{
				"StringEquals": owned, "StringLike": anyPool,
				"StringEqualsIfExists":      {onRequest(clusterNameTag): {f.Cluster}},
				"ForAllValues:StringEquals": {"aws:TagKeys": {clusterNameTag, "karpenter.sh/nodeclaim", "Name"}},
			},
		},
		{
			Sid: "AllowScopedDeletion", Action: known.deletion, Resource: f.ec2("instance", "launch-template"),
			Condition: iampolicy.Conditions{"StringEquals": owned, "StringLike": anyPool},
		},
	}
}

func (f Facts) iamIntegration() []iampolicy.Statement {
	sent := map[string]iampolicy.Strings{
		onRequest(f.ownedTag()): {"owned"}, onRequest(clusterNameTag): {f.Cluster}, onRequest(regionTag): {f.Region},
	}
	there := map[string]iampolicy.Strings{onResource(f.ownedTag()): {"owned"}, onResource(regionTag): {f.Region}}
	both := maps.Clone(sent)
	maps.Copy(both, there)
	anyClassSent := map[string]iampolicy.Strings{onRequest(nodeClassTag): {"*"}}
	anyClassThere := map[string]iampolicy.Strings{onResource(nodeClassTag): {"*"}}
	anyClass := map[string]iampolicy.Strings{onRequest(nodeClassTag): {"*"}, onResource(nodeClassTag): {"*"}}
	return []iampolicy.Statement{
		{
			Sid:      "AllowPassingInstanceRole",
			Action:   iampolicy.Strings{"iam:PassRole"},
			Resource: iampolicy.Strings{f.NodeRoleArn},
			// China needs both spellings (field fault BR-39); upstream lists both everywhere.
			Condition: iampolicy.Conditions{"StringEquals": {"iam:PassedToService": {"ec2.amazonaws.com",
				"ec2.amazonaws.com.cn"}}},
		},
		{
			Sid:       "AllowScopedInstanceProfileCreationActions",
			Action:    iampolicy.Strings{"iam:CreateInstanceProfile"},
			Resource:  f.instanceProfiles(),
			Condition: iampolicy.Conditions{"StringEquals": sent, "StringLike": anyClassSent},
		},
		{
			Sid:       "AllowScopedInstanceProfileTagActions",
			Action:    iampolicy.Strings{"iam:TagInstanceProfile"},
			Resource:  f.instanceProfiles(),
			Condition: iampolicy.Conditions{"StringEquals": both, "StringLike": anyClass},
		},
		{
			Sid: "AllowScopedInstanceProfileActions",
			Action: iampolicy.Strings{"iam:AddRoleToInstanceProfile", "iam:RemoveRoleFromInstanceProfile",
				"iam:DeleteInstanceProfile"},
			Resource:  f.instanceProfiles(),
			Condition: iampolicy.Conditions{"StringEquals": there, "StringLike": anyClassThere},
		},
	}
}

func (f Facts) interruption() []iampolicy.Statement {
	statements := []iampolicy.Statement{{
		Sid:      "AllowInterruptionQueueActions",
		Action:   iampolicy.Strings{"sqs:DeleteMessage", "sqs:GetQueueUrl", "sqs:ReceiveMessage"},
		Resource: iampolicy.Strings{f.QueueArn},
	}}
	if f.QueueKeyArn != "" {
		// Not upstream's: messages under a customer's key cannot be read otherwise.
		statements = append(statements, iampolicy.Statement{
			Sid:      "AllowInterruptionQueueKey",
			Action:   iampolicy.Strings{"kms:Decrypt"},
			Resource: iampolicy.Strings{f.QueueKeyArn},
		})
	}
	return statements
}

func (f Facts) resourceDiscovery() []iampolicy.Statement {
	return []iampolicy.Statement{
		{
			Sid: "AllowRegionalReadActions",
			Action: iampolicy.Strings{
				"ec2:DescribeCapacityReservations", "ec2:DescribeImages", "ec2:DescribeInstances",
				"ec2:DescribeInstanceStatus",
				"ec2:DescribeInstanceTypeOfferings", "ec2:DescribeInstanceTypes", "ec2:DescribeLaunchTemplates",
				"ec2:DescribePlacementGroups",
				"ec2:DescribeSecurityGroups", "ec2:DescribeSpotPriceHistory", "ec2:DescribeSubnets",
			},
			Resource:  iampolicy.Strings{"*"},
			Condition: iampolicy.Conditions{"StringEquals": {"aws:RequestedRegion": {f.Region}}},
		},
		{
			Sid: "AllowSSMReadActions", Action: iampolicy.Strings{"ssm:GetParameter"},
			Resource: iampolicy.Strings{fmt.Sprintf("arn:%s:ssm:%s::parameter/aws/service/*", f.Partition, f.Region)},
		},
		{
			Sid:      "AllowPricingReadActions",
			Action:   iampolicy.Strings{"pricing:GetProducts"},
			Resource: iampolicy.Strings{"*"},
		},
		{
			Sid:      "AllowUnscopedInstanceProfileListAction",
			Action:   iampolicy.Strings{"iam:ListInstanceProfiles"},
			Resource: iampolicy.Strings{"*"},
		},
		{
			Sid:      "AllowInstanceProfileReadActions",
			Action:   iampolicy.Strings{"iam:GetInstanceProfile"},
			Resource: f.instanceProfiles(),
		},
	}
}
