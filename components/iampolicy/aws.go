package iampolicy

import "fmt"

// ManagedPolicyArn of a policy that AWS keeps in every account. It is known before anything is made, so that no
// attachment is replaced because an ARN turned unknown (field fault BR-47).
func ManagedPolicyArn(partition, name string) string {
	return "arn:" + partition + ":iam::aws:policy/" + name
}

// AccessPolicyArn of an access policy that EKS keeps.
// https://docs.aws.amazon.com/eks/latest/userguide/access-policy-permissions.html
func AccessPolicyArn(partition, name string) string {
	return "arn:" + partition + ":eks::aws:cluster-access-policy/" + name
}

// ec2Services by partition: who assumes a node's role. China's EC2 uses both spellings (field fault BR-39).
// https://karpenter.sh/v1.15/reference/cloudformation/#node-authorization
var ec2Services = map[string]Strings{
	"aws":        {"ec2.amazonaws.com"},
	"aws-cn":     {"ec2.amazonaws.com", "ec2.amazonaws.com.cn"},
	"aws-us-gov": {"ec2.amazonaws.com"},
}

// EC2Trust lets EC2 give a role to instances. It fails for a partition whose EC2 is not known here.
func EC2Trust(partition string) (string, error) {
	services, known := ec2Services[partition]
	if !known {
		return "", fmt.Errorf("trust of a node's role: %q is not a partition whose EC2 is known here", partition)
	}
	return New(Statement{
		Principal: Principal{"Service": services},
		Action:    Strings{"sts:AssumeRole"},
	}).JSON(TrustLimit)
}
