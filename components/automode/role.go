package automode

import (
	"fmt"

	"github.com/headroom-eks/headroom/components/iampolicy"
)

// nodePolicies are the AWS managed policies of an Auto Mode node, by the key of their attachment. Nothing else: the
// network plugin uses the cluster role, and pods have roles of their own.
// https://docs.aws.amazon.com/eks/latest/userguide/auto-create-node-role.html
var nodePolicies = map[string]string{
	"registry": "AmazonEC2ContainerRegistryPullOnly",
	"worker":   "AmazonEKSWorkerNodeMinimalPolicy",
}

// Access entry of a node role.
// https://docs.aws.amazon.com/eks/latest/userguide/create-node-class.html#auto-node-access-entry
const (
	accessEntryType = "EC2" // not EC2_LINUX, which is for nodes that we launch
	autoNodePolicy  = "AmazonEKSAutoNodePolicy"
)

// Conditions of the cluster role's extra permission. EKS opens the session with the cluster's name as a tag, so one
// text fits every cluster and none reaches into another.
const (
	clusterNameTag = "eks:eks-cluster-name"
	nodePoolTag    = "eks:kubernetes-node-pool-name"
	thisCluster    = "${aws:PrincipalTag/" + clusterNameTag + "}"
)

// clusterRolePolicy lets Auto Mode put tags of ours on the fleets, instances, volumes and network interfaces that it
// makes; the managed policies of the cluster role allow only its own. Storage and load balancer statements of AWS's
// example are left out: those tags come from StorageClass and IngressClassParams, which this program does not write.
// keyArns are customer keys of node volumes.
// https://docs.aws.amazon.com/eks/latest/userguide/auto-cluster-iam-role.html#tag-prop
func clusterRolePolicy(partition string, keyArns []string) (string, error) {
	own := func(kind string) string { return fmt.Sprintf("arn:%s:ec2:*:*:%s/*", partition, kind) }
	requested := func(tags ...string) iampolicy.Conditions {
		like := map[string]iampolicy.Strings{}
		for _, tag := range tags {
			like["aws:RequestTag/"+tag] = iampolicy.Strings{"*"}
		}
		return iampolicy.Conditions{
			"StringEquals": {"aws:RequestTag/" + clusterNameTag: {thisCluster}},
			"StringLike":   like,
		}
	}
	statements := []iampolicy.Statement{{
		Sid:       "TagComputeAtLaunch",
		Action:    iampolicy.Strings{"ec2:CreateFleet", "ec2:CreateLaunchTemplate", "ec2:RunInstances"},
		Resource:  iampolicy.Strings{"*"},
		Condition: requested("eks:kubernetes-node-class-name", nodePoolTag),
	}, {
		Sid:       "TagInterfacesAtLaunch",
		Action:    iampolicy.Strings{"ec2:CreateNetworkInterface"},
		Resource:  iampolicy.Strings{"*"},
		Condition: requested("eks:kubernetes-cni-node-name"),
	}, {
		// Without it a change of tags fails on nodes that run already, with an authorization error.
		Sid:       "ChangeTagsOfOwnNodes",
		Action:    iampolicy.Strings{"ec2:CreateTags", "ec2:DeleteTags"},
		Resource:  iampolicy.Strings{own("instance"), own("network-interface"), own("volume")},
		Condition: iampolicy.Conditions{"StringEquals": {"aws:ResourceTag/" + clusterNameTag: {thisCluster}}},
	}}
	if len(keyArns) > 0 {
		// https://docs.aws.amazon.com/eks/latest/userguide/auto-kms.html. The key's own policy must let IAM decide, or
		// name the role.
		statements = append(statements, iampolicy.Statement{
			Sid: "EncryptNodeVolumes",
			Action: iampolicy.Strings{"kms:Decrypt", "kms:DescribeKey", "kms:Encrypt", "kms:GenerateDataKey*",
				"kms:ReEncrypt*"},
			Resource: keyArns,
		}, iampolicy.Statement{
			Sid:       "GrantKeyToVolumes",
			Action:    iampolicy.Strings{"kms:CreateGrant", "kms:ListGrants", "kms:RevokeGrant"},
			Resource:  keyArns,
			Condition: iampolicy.Conditions{"Bool": {"kms:GrantIsForAWSResource": {"true"}}},
		})
	}
	return iampolicy.New(statements...).JSON(iampolicy.ManagedLimit)
}
