package aws

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/headroom-eks/headroom/sandbox/world"
)

// Tokens of the IAM types.
const (
	tRole       = "aws:iam/role:Role"
	tPolicy     = "aws:iam/policy:Policy"
	tRolePolicy = "aws:iam/rolePolicy:RolePolicy"
	tAttachment = "aws:iam/rolePolicyAttachment:RolePolicyAttachment"
	tProfile    = world.InstanceProfile
	tOIDC       = "aws:iam/openIdConnectProvider:OpenIdConnectProvider"
)

var (
	iamName  = regexp.MustCompile(`^[\w+=,.@-]+$`)
	roleGone = "NoSuchEntity: The role with name {value} cannot be found."
)

// iamNaming is how IAM names things: Pulumi makes a name where none is given.
// https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_iam-quotas.html#reference_iam-quotas-names
func iamNaming(longest int) naming {
	return naming{
		property: "name",
		prefix:   "namePrefix",
		auto:     true,
		min:      1,
		max:      longest,
		pattern:  iamName,
		says:     "letters, digits and +=,.@_-",
	}
}

var roleRow = resourceRow{
	typ: tRole,
	inputs: []string{
		"assumeRolePolicy", "description", "forceDetachPolicies", "inlinePolicies", "managedPolicyArns",
		"maxSessionDuration", "name", "namePrefix", "path", "permissionsBoundary",
	},
	required: []string{"assumeRolePolicy"},
	replaces: []string{"name", "namePrefix", "path"},
	json:     []string{"assumeRolePolicy"},
	name:     iamNaming(64),
	ranges: map[string]span{
		"maxSessionDuration": {3600, 43200},
	},
	defaults: obj{"path": "/", "maxSessionDuration": 3600, "forceDetachPolicies": false, "description": ""},
	id:       "{name}",
	arn:      "arn:{partition}:iam::{account}:role{path}{name}",
	tagged:   true,
	exists:   "EntityAlreadyExists: Role with name {name} already exists.",
	computed: map[string]string{"uniqueId": "AROA{random}", "createDate": "2026-01-01T00:00:00Z"},
	inUse: "DeleteConflict: Cannot delete entity, must detach all policies and remove roles from instance " +
		"profiles first.",
	check:    checkRole,
	onCreate: createRole,
	onUpdate: checkTrust,
}

var policyARN = regexp.MustCompile(`^arn:[a-z-]+:iam::([0-9]{12}|aws):policy/.+$`)

func checkRole(in obj, fail func(string, string)) {
	if boundary := str(in, "permissionsBoundary"); boundary != "" && !policyARN.MatchString(boundary) {
		fail("permissionsBoundary", fmt.Sprintf("%q is not the ARN of a policy", boundary))
	}
}

func createRole(c *call) error {
	for _, arn := range texts(list(c.in, "managedPolicyArns")) {
		if err := attachable(c.s, arn); err != nil {
			return err
		}
	}
	return checkTrust(c)
}

var instanceProfileRow = resourceRow{
	typ:      tProfile,
	inputs:   []string{"name", "namePrefix", "path", "role"},
	replaces: []string{"name", "namePrefix", "path"},
	name:     iamNaming(128),
	refs:     []reference{{path: "role", typ: tRole, gone: roleGone}},
	defaults: obj{"path": "/"},
	id:       "{name}",
	arn:      "arn:{partition}:iam::{account}:instance-profile{path}{name}",
	tagged:   true,
	exists:   "EntityAlreadyExists: Instance Profile {name} already exists.",
	computed: map[string]string{"uniqueId": "AIPA{random}", "createDate": "2026-01-01T00:00:00Z"},
}

func checkTrust(c *call) error {
	document := str(c.in, "assumeRolePolicy")
	statements, err := parsePolicy(document, trustPolicy, c.s.Partition)
	if err != nil {
		return err
	}
	if n := size(document); n > maxTrustPolicy {
		return fmt.Errorf("LimitExceeded: Cannot exceed quota for ACLSizePerRole: %d (the document has %d)",
			maxTrustPolicy, n)
	}
	return principalsExist(c.s, statements)
}

// principalsExist refuses roles of this account that are not there: IAM turns principals into ids and must find them.
func principalsExist(s *world.State, statements []statement) error {
	for _, st := range statements {
		for _, arn := range st.principals["AWS"] {
			prefix := fmt.Sprintf("arn:%s:iam::%s:role/", s.Partition, s.Account)
			if strings.HasPrefix(arn, prefix) && arn != s.CallerPrincipal() && s.Find(tRole, "arn", arn) == nil {
				return fmt.Errorf("MalformedPolicyDocument: Invalid principal in policy: \"AWS\":\"%s\"", arn)
			}
		}
	}
	return nil
}
