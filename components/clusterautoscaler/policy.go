package clusterautoscaler

import (
	"fmt"

	"github.com/headroom-eks/headroom/components/iampolicy"
)

// scope is where the role may act.
type scope struct{ Partition, Region, AccountID, Cluster string }

// Tags that EKS itself puts on the Auto Scaling group of every managed node group. They are how cluster-autoscaler
// finds its groups and what its writes are tied to.
// https://docs.aws.amazon.com/eks/latest/userguide/managed-node-groups.html
const (
	enabledTag      = "k8s.io/cluster-autoscaler/enabled" // "true"
	discoveryPrefix = "k8s.io/cluster-autoscaler/"        // + cluster name: "owned"
)

// permissions of the controller. What it reads carries no tag condition: eks:DescribeNodegroup cannot satisfy one that
// speaks of an Auto Scaling group, and a refused read makes it scale wrongly without failing (field fault BR-05). What
// it changes is tied to the groups of this cluster.
// https://github.com/kubernetes/autoscaler/blob/master/cluster-autoscaler/cloudprovider/aws/README.md
func permissions(s scope) iampolicy.Document {
	return iampolicy.New(
		iampolicy.Statement{
			// None of these can be limited to a resource.
			Sid: "Read",
			Action: iampolicy.Strings{
				"autoscaling:DescribeAutoScalingGroups",
				"autoscaling:DescribeAutoScalingInstances",
				"autoscaling:DescribeLaunchConfigurations",
				"autoscaling:DescribeScalingActivities",
				"autoscaling:DescribeTags",
				"ec2:DescribeImages",
				"ec2:DescribeInstanceTypes",
				"ec2:DescribeLaunchTemplateVersions",
				"ec2:GetInstanceTypesFromInstanceRequirements",
			},
			Resource: iampolicy.Strings{"*"},
		},
		iampolicy.Statement{
			Sid:    "ReadNodeGroups",
			Action: iampolicy.Strings{"eks:DescribeNodegroup"},
			Resource: iampolicy.Strings{fmt.Sprintf("arn:%s:eks:%s:%s:nodegroup/%s/*/*", s.Partition, s.Region,
				s.AccountID, s.Cluster)},
		},
		iampolicy.Statement{
			Sid: "ScaleGroupsOfThisCluster",
			Action: iampolicy.Strings{"autoscaling:SetDesiredCapacity",
				"autoscaling:TerminateInstanceInAutoScalingGroup"},
			Resource: iampolicy.Strings{
				fmt.Sprintf("arn:%s:autoscaling:%s:%s:autoScalingGroup:*:autoScalingGroupName/*", s.Partition, s.Region,
					s.AccountID),
			},
			Condition: iampolicy.Conditions{"StringEquals": {
				"aws:ResourceTag/" + enabledTag:                  {"true"},
				"aws:ResourceTag/" + discoveryPrefix + s.Cluster: {"owned"},
			}},
		},
	)
}

// policyJSON of the role. An empty name in it would read like a policy and match the wrong things, so it is refused.
func policyJSON(s scope) (string, error) {
	if s.Partition == "" || s.Region == "" || s.AccountID == "" || s.Cluster == "" {
		return "", fmt.Errorf("policy of cluster-autoscaler: a part of %+v is empty", s)
	}
	return permissions(s).JSON(iampolicy.ManagedLimit)
}
