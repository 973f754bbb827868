package karpenter

import "github.com/headroom-eks/headroom/components/iampolicy"

// ec2Principals by partition: who assumes a node's role. China's EC2 uses both spellings.
// https://karpenter.sh/v1.15/reference/cloudformation/#node-authorization
var ec2Principals = map[string]iampolicy.Strings{
	"aws":        {"ec2.amazonaws.com"},
	"aws-cn":     {"ec2.amazonaws.com", "ec2.amazonaws.com.cn"},
	"aws-us-gov": {"ec2.amazonaws.com"},
}

// NodeTrust lets EC2 give the role to instances.
func NodeTrust(partition string) iampolicy.Document {
	return iampolicy.New(iampolicy.Statement{
		Principal: iampolicy.Principal{"Service": ec2Principals[partition]},
		Action:    iampolicy.Strings{"sts:AssumeRole"},
	})
}

// nodePolicies are AWS's policies that a node needs: to join, to give pods addresses and to pull images.
func nodePolicies(ssm bool) []string {
	names := []string{"AmazonEKSWorkerNodePolicy", "AmazonEKS_CNI_Policy", "AmazonEC2ContainerRegistryPullOnly"}
	if ssm {
		names = append(names, "AmazonSSMManagedInstanceCore")
	}
	return names
}

// managedPolicyArn is known before anything is made, so that no attachment is ever replaced because an ARN turned
// unknown (field fault BR-47).
func managedPolicyArn(partition, name string) string {
	return "arn:" + partition + ":iam::aws:policy/" + name
}
