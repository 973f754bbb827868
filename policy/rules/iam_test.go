package rules

import (
	"testing"

	"github.com/headroom-eks/headroom/policy/graphtest"
)

const federated = `oidc.eks.us-west-2.amazonaws.com/id/ABC`

var iamMutations = []mutation{
	{
		rule:     "iam-trust-exact",
		resource: "karpenter-role-role",
		about:    "field fault BR-36: a star in the subject",
		edit:     replace("kube-system:karpenter", "kube-system:*", "assumeRolePolicy"),
		unknown:  p("assumeRolePolicy"),
	},
	{
		rule:     "iam-trust-exact",
		resource: "karpenter-role-role",
		about:    "by likeness",
		edit:     replace("StringEquals", "StringLike", "assumeRolePolicy"),
	},
	{
		rule:     "iam-trust-exact",
		resource: "karpenter-role-role",
		about:    "field fault BR-35: keyed with the scheme",
		edit:     replace(federated+":sub", "https://"+federated+":sub", "assumeRolePolicy"),
	},
	{
		rule:     "iam-trust-exact",
		resource: "karpenter-role-role",
		about:    "field fault BR-37: the key of another issuer",
		edit:     replace(federated+":aud", "oidc.eks.us-west-2.amazonaws.com/id/OTHER:aud", "assumeRolePolicy"),
	},
	{
		rule:     "iam-trust-exact",
		resource: "karpenter-role-role",
		about:    "another audience",
		edit:     replace("sts.amazonaws.com", "example.com", "assumeRolePolicy"),
	},
	{
		rule:     "iam-actions-named",
		resource: "karpenter-iam-integration",
		about:    "all of a service",
		edit:     replace("iam:DeleteInstanceProfile", "eks:*", "policy"),
		unknown:  p("policy"),
	},
	{
		rule:     "iam-actions-named",
		resource: "karpenter-iam-integration",
		about:    "everything but",
		edit:     replace(`"Action": ["iam:Add`, `"NotAction": ["iam:Add`, "policy"),
	},
	{
		rule:     "iam-pass-role-scoped",
		resource: "karpenter-iam-integration",
		about:    "any role",
		edit:     replace("arn:aws:iam::123456789012:role/nodes-1f2e3d4", "*", "policy"),
		unknown:  p("policy"),
	},
	{
		rule:     "iam-autoscaler-scoped",
		resource: "ca-policy",
		about:    "any group of the account",
		edit:     replace("aws:ResourceTag/", "aws:RequestedTag/", "policy"),
		unknown:  p("policy"),
	},
	{
		rule:     "iam-autoscaler-scoped",
		resource: "ca-policy",
		about:    "field fault BR-05: the read is cancelled by the tag",
		edit:     replace(`"autoscaling:SetDesiredCapacity", `, `"eks:DescribeNodegroup", `, "policy"),
	},
	{
		rule:     "partition-matches-region",
		resource: "karpenter-iam-integration",
		about:    "field fault BR-40: a written partition",
		edit: replace("arn:aws:iam::123456789012:instance-profile", "arn:aws-cn:iam::123456789012:instance-profile",
			"policy"),
	},
}

func TestRegionsHaveTheirPartition(t *testing.T) {
	for region, want := range map[string]string{
		"us-west-2":      "aws",
		"cn-north-1":     "aws-cn",
		"us-gov-west-1":  "aws-us-gov",
		"eusc-de-east-1": "aws-eusc",
		"":               "",
	} {
		if got := partition(region); got != want {
			t.Errorf("%s: %s, want %s", region, got, want)
		}
	}
	gov := evaluate(graphtest.Golden(t), Environment{Region: "us-gov-west-1"}, nil)["partition-matches-region"]
	if len(gov) == 0 {
		t.Error("field fault BR-40: arn:aws: passes in us-gov-west-1")
	}
	if unknown := evaluate(graphtest.Golden(t), Environment{}, nil)["partition-matches-region"]; len(unknown) == 0 ||
		!unknown[0].Unknown {
		t.Error("without a region the rule must say that it cannot tell")
	}
}
