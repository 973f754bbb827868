package aws

import (
	"fmt"
	"strings"
	"testing"

	"github.com/headroom-eks/headroom/sandbox/world"
)

// malformedPolicies with words of the refusal.
var malformedPolicies = map[string]struct{ document, wanted string }{
	"old version": {`{"Version":"2012","Statement":[{"Effect":"Allow","Action":"s3:*","Resource":"*"}]}`,
		"valid version"},
	"no statement":         {`{"Version":"2012-10-17"}`, "no Statement"},
	"unknown element":      {`{"Version":"2012-10-17","Statements":[]}`, "unknown element Statements"},
	"effect in lower case": {policyDocument(obj{"Effect": "allow", "Action": "s3:*", "Resource": "*"}), "Effect"},
	"no action":            {policyDocument(obj{"Effect": "Allow", "Resource": "*"}), "must contain actions"},
	"action of no vendor":  {policyDocument(obj{"Effect": "Allow", "Action": "GetObject", "Resource": "*"}), "vendor"},
	"no resource":          {policyDocument(obj{"Effect": "Allow", "Action": "s3:*"}), "must contain resources"},
	"resource no ARN": {policyDocument(obj{
		"Effect":   "Allow",
		"Action":   "s3:*",
		"Resource": "bucket",
	}), "ARN format"},
	"other partition": {policyDocument(obj{
		"Effect":   "Allow",
		"Action":   "s3:*",
		"Resource": "arn:aws-cn:s3:::b",
	}), "Partition"},
	"principal": {policyDocument(obj{
		"Effect":    "Allow",
		"Action":    "s3:*",
		"Resource":  "*",
		"Principal": "*",
	}), "should not specify a principal"},
	"sid with a dash": {policyDocument(obj{
		"Sid":      "a-b",
		"Effect":   "Allow",
		"Action":   "s3:*",
		"Resource": "*",
	}), "alpha-numeric"},
	"sid twice": {policyDocument(obj{
		"Sid":      "a",
		"Effect":   "Allow",
		"Action":   "s3:*",
		"Resource": "*",
	}, obj{"Sid": "a", "Effect": "Allow", "Action": "s3:*", "Resource": "*"}), "must be unique"},
	"unknown operator": {policyDocument(obj{
		"Effect":    "Allow",
		"Action":    "s3:*",
		"Resource":  "*",
		"Condition": obj{"StringEqual": obj{"aws:x": "y"}},
	}), "Invalid Condition type"},
	"condition of no map": {policyDocument(obj{
		"Effect":    "Allow",
		"Action":    "s3:*",
		"Resource":  "*",
		"Condition": obj{"StringEquals": "x"},
	}), "Invalid Condition type"},
	"list with a number": {policyDocument(obj{
		"Effect":   "Allow",
		"Action":   []any{1},
		"Resource": "*",
	}), "Syntax errors"},
}

func TestMalformedPolicyDocuments(t *testing.T) {
	a := newAccount(t)
	for name, c := range malformedPolicies {
		t.Run(name, func(t *testing.T) {
			a.on(t).refuses(tPolicy, obj{"policy": c.document}, "MalformedPolicyDocument", c.wanted)
		})
	}
	a.fails(tPolicy, obj{"policy": "{"}, "policy", "invalid JSON")
}

// malformedTrusts with words of the refusal.
var malformedTrusts = map[string]string{
	policyDocument(obj{"Effect": "Allow", "Action": "sts:AssumeRole"}): "Missing required field Principal",
	policyDocument(obj{
		"Effect":    "Allow",
		"Action":    "sts:AssumeRole",
		"Principal": obj{"Service": "ec2"},
	}): "Invalid principal",
	policyDocument(obj{
		"Effect":    "Allow",
		"Action":    "sts:AssumeRole",
		"Principal": obj{"Services": "ec2.amazonaws.com"},
	}): "Invalid principal",
	policyDocument(obj{
		"Effect":    "Allow",
		"Action":    "sts:AssumeRole",
		"Principal": obj{"Service": "ec2.amazonaws.com"},
		"Resource":  "*",
	}): "prohibited field Resource",
	policyDocument(obj{
		"Effect":    "Allow",
		"Action":    "sts:AssumeRole",
		"Principal": obj{"AWS": "arn:aws:iam::123456789012:role/none"},
	}): "Invalid principal",
	policyDocument(obj{
		"Effect":    "Allow",
		"Action":    "sts:AssumeRoleWithWebIdentity",
		"Principal": obj{"Federated": "arn:aws-us-gov:iam::1:oidc/x"},
	}): "Invalid principal",
}

func TestMalformedTrustPolicies(t *testing.T) {
	a := newAccount(t)
	for doc, wanted := range malformedTrusts {
		a.refuses(tRole, obj{"assumeRolePolicy": doc}, "MalformedPolicyDocument", wanted)
	}
}

func TestQueuePolicyNamesItsResource(t *testing.T) {
	a := newAccount(t)
	a.refuses("aws:sqs/queuePolicy:QueuePolicy", obj{
		"queueUrl": a.create(tQueue, "q", obj{}).id,
		"policy": policyDocument(obj{
			"Effect":    "Allow",
			"Principal": obj{"Service": "events.amazonaws.com"},
			"Action":    "sqs:SendMessage",
		}),
	}, "Invalid value for the parameter Policy")
}

// filler is a policy of exactly n characters.
func filler(n int) string {
	build := func(resource string) string {
		return policyDocument(obj{"Effect": "Allow", "Action": "s3:GetObject", "Resource": "arn:aws:s3:::" + resource})
	}
	return build(strings.Repeat("x", n-len(build(""))))
}

func TestSizesOfPolicyDocumentsAtTheirLimits(t *testing.T) {
	a := newAccount(t)
	role := a.create(tRole, "r", obj{"assumeRolePolicy": trust("ec2.amazonaws.com")})
	a.create(tPolicy, "fits", obj{"policy": filler(6144)})
	a.refuses(tPolicy, obj{"policy": filler(6145)}, "LimitExceeded", "PolicySize: 6144")
	spaced := strings.Replace(filler(6144), ",", ",\n     ", 1)
	a.create(tPolicy, "spaced", obj{"policy": spaced})
	a.create(tRolePolicy, "half", obj{"role": role.id, "policy": filler(5000)})
	a.create(tRolePolicy, "rest", obj{"role": role.id, "policy": filler(5240)})
	a.refuses(tRolePolicy, obj{"role": role.id, "policy": filler(200)}, "LimitExceeded", "10240")
	long := policyDocument(obj{
		"Effect":    "Allow",
		"Action":    "sts:AssumeRole",
		"Principal": obj{"Service": "ec2.amazonaws.com"},
		"Condition": obj{"StringLike": obj{"aws:x": strings.Repeat("x", 2000)}},
	})
	a.refuses(tRole, obj{"assumeRolePolicy": long}, "LimitExceeded", "ACLSizePerRole: 2048")
}

func TestAccessManagementRefusals(t *testing.T) {
	a := newAccount(t)
	role := a.create(tRole, "r", obj{"name": "r", "assumeRolePolicy": trust("ec2.amazonaws.com")})
	a.refuses(tRole, obj{"name": "r", "assumeRolePolicy": trust("ec2.amazonaws.com")}, "EntityAlreadyExists",
		"Role with name r")
	a.refuses(tAttachment, obj{"role": "none", "policyArn": "arn:aws:iam::aws:policy/ReadOnlyAccess"}, "NoSuchEntity",
		"none")
	a.refuses(tAttachment, obj{"role": role.id, "policyArn": "arn:aws:iam::aws:policy/AmazonEKSWorkerPolicy"},
		"NoSuchEntity", "not attachable")
	a.refuses(tAttachment, obj{"role": role.id, "policyArn": "arn:aws-cn:iam::aws:policy/ReadOnlyAccess"},
		"NoSuchEntity")
	a.fails(tRole, obj{"name": strings.Repeat("r", 65), "assumeRolePolicy": "{}"}, "name", "1 - 64")
	a.fails(tRole, obj{"name": "a/b", "assumeRolePolicy": "{}"}, "name", "letters")
	a.fails(tPolicy, obj{"name": strings.Repeat("r", 129), "policy": "{}"}, "name", "1 - 128")
	a.fails(tProfile, obj{"name": strings.Repeat("r", 129)}, "name", "1 - 128")
	policy := a.create(tPolicy, "p", obj{"policy": filler(200)})
	attachment := a.create(tAttachment, "a", obj{"role": role.id, "policyArn": policy.out["arn"]})
	inline := a.create(tRolePolicy, "i", obj{"role": role.id, "policy": filler(200)})
	profile := a.create(tProfile, "profile", obj{"role": role.id})
	a.refuses(tProfile, obj{"name": profile.out["name"], "role": role.id}, "EntityAlreadyExists")

	wantError(t, a.delete(policy), "DeleteConflict", "attached to entities")
	wantError(t, a.delete(role), "DeleteConflict")
	a.deletes(attachment, inline)
	wantError(t, a.delete(role), "DeleteConflict", profile.id)
	a.deletes(profile, policy, role)

	full := a.create(tRole, "full", obj{"assumeRolePolicy": trust("ec2.amazonaws.com")})
	for i := range 10 {
		p := a.create(tPolicy, fmt.Sprint("p", i), obj{"policy": filler(200)})
		a.create(tAttachment, fmt.Sprint("a", i), obj{"role": full.id, "policyArn": p.out["arn"]})
	}
	a.refuses(tAttachment, obj{"role": full.id, "policyArn": "arn:aws:iam::aws:policy/ReadOnlyAccess"}, "LimitExceeded",
		"PoliciesPerRole: 10")
}

// Field fault BR-47: an attachment made again before the old one is deleted ends detached.
func TestAnAttachmentReplacedByItselfEndsDetached(t *testing.T) {
	a := newAccount(t)
	role, attachments := a.role("node", "ec2.amazonaws.com", "AmazonEKSWorkerNodePolicy")
	a.create(tAttachment, "again", attachments[0].in)
	a.deletes(attachments[0])
	a.look(func(s *world.State) {
		if got := attachedPolicies(s, role.id); len(got) > 0 {
			t.Errorf("still attached: %v", got)
		}
	})
}

func TestOIDCProviders(t *testing.T) {
	a := newAccount(t)
	in := obj{"url": "https://oidc.eks.us-west-2.amazonaws.com/id/ABC", "clientIdLists": []string{"sts.amazonaws.com"}}
	provider := a.create(tOIDC, "irsa", in)
	if provider.out["url"] != "oidc.eks.us-west-2.amazonaws.com/id/ABC" ||
		provider.out["arn"] != "arn:aws:iam::123456789012:oidc-provider/oidc.eks.us-west-2.amazonaws.com/id/ABC" {
		t.Errorf("outputs %v", provider.out)
	}
	if d := a.diff(provider, in); len(d.Changed) > 0 {
		t.Errorf("an unchanged provider differs in %v", d.Changed)
	}
	a.refuses(tOIDC, in, "EntityAlreadyExists", "https://oidc.eks")
	a.fails(tOIDC, obj{"url": "oidc.eks.us-west-2.amazonaws.com/id/ABC", "clientIdLists": []string{"x"}}, "url",
		"https://")
	a.fails(tOIDC, obj{"url": "https://x.y", "clientIdLists": []string{}}, "clientIdLists", "at least one")
	a.deletes(a.update(provider, with(in, obj{"tags": obj{"a": "b"}})))
}

// Field fault BR-41: the spot role is one per account.
func TestServiceLinkedRoles(t *testing.T) {
	a := newAccount(t)
	const typ = "aws:iam/serviceLinkedRole:ServiceLinkedRole"
	if _, err := a.ask("aws:iam/getRole:getRole", obj{"name": world.SpotRole}); err == nil {
		t.Error("a fresh account has the spot role")
	}
	role := a.create(typ, "spot", obj{"awsServiceName": "spot.amazonaws.com"})
	a.asks("aws:iam/getRole:getRole", obj{"name": world.SpotRole})
	a.refuses(typ, obj{"awsServiceName": "spot.amazonaws.com"}, "InvalidInput", "has been taken")
	a.refuses(typ, obj{"awsServiceName": "other.amazonaws.com"}, "does not know")
	a.fails(typ, obj{"awsServiceName": "spot"}, "awsServiceName", "service principal")
	a.deletes(role)
	if _, err := a.ask("aws:iam/getRole:getRole", obj{"name": world.SpotRole}); err == nil {
		t.Error("the role outlives its deletion")
	}
}
