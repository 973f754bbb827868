package aws

import (
	"fmt"
	"slices"
	"strings"

	"github.com/headroom-eks/headroom/sandbox/world"
)

// awsPolicies are the AWS-managed policies the sandbox knows, without "arn:<partition>:iam::aws:policy/".
var awsPolicies = []string{
	"AmazonEKSClusterPolicy", "AmazonEKSServicePolicy", "AmazonEKSVPCResourceController", "AmazonEKSComputePolicy",
	"AmazonEKSBlockStoragePolicy", "AmazonEKSLoadBalancingPolicy", "AmazonEKSNetworkingPolicy",
	"AmazonEKSWorkerNodePolicy", "AmazonEKSWorkerNodeMinimalPolicy", "AmazonEKS_CNI_Policy",
	"AmazonEC2ContainerRegistryReadOnly", "AmazonEC2ContainerRegistryPullOnly", "AmazonSSMManagedInstanceCore",
	"CloudWatchAgentServerPolicy", "ReadOnlyAccess", "AdministratorAccess", "service-role/AmazonEBSCSIDriverPolicy",
	"service-role/AmazonEFSCSIDriverPolicy",
}

var policyRow = resourceRow{
	typ:      tPolicy,
	inputs:   []string{"description", "name", "namePrefix", "path", "policy"},
	required: []string{"policy"},
	replaces: []string{"description", "name", "namePrefix", "path"},
	json:     []string{"policy"},
	name:     iamNaming(128),
	defaults: obj{"path": "/", "description": ""},
	id:       "arn:{partition}:iam::{account}:policy{path}{name}",
	arn:      "{id}",
	tagged:   true,
	exists:   "EntityAlreadyExists: A policy called {name} already exists. Duplicate names are not allowed.",
	computed: map[string]string{"policyId": "ANPA{random}"},
	inUse:    "DeleteConflict: Cannot delete a policy attached to entities.",
	onCreate: checkManagedPolicy,
	onUpdate: checkManagedPolicy,
	onRead:   readPolicy,
}

func readPolicy(c *call) error {
	c.set("attachmentCount", len(c.s.Users(c.key())))
	return nil
}

func checkManagedPolicy(c *call) error {
	document := str(c.in, "policy")
	if _, err := parsePolicy(document, identityPolicy, c.s.Partition); err != nil {
		return err
	}
	if n := size(document); n > maxManagedPolicy {
		return fmt.Errorf("LimitExceeded: Cannot exceed quota for PolicySize: %d (the document has %d)",
			maxManagedPolicy, n)
	}
	return nil
}

var rolePolicyRow = resourceRow{
	typ:      tRolePolicy,
	inputs:   []string{"name", "namePrefix", "policy", "role"},
	required: []string{"policy", "role"},
	replaces: []string{"name", "namePrefix", "role"},
	json:     []string{"policy"},
	name:     iamNaming(128),
	refs:     []reference{{path: "role", typ: tRole, gone: roleGone}},
	id:       "{role}:{name}",
	upsert:   true,
	onCreate: checkInlinePolicy,
	onUpdate: checkInlinePolicy,
}

func checkInlinePolicy(c *call) error {
	document := str(c.in, "policy")
	if _, err := parsePolicy(document, identityPolicy, c.s.Partition); err != nil {
		return err
	}
	total := size(document)
	for _, r := range c.s.OfType(tRolePolicy) {
		if r.ID != c.res.ID && r.Inputs["role"] == c.in["role"] {
			total += size(str(r.Inputs, "policy"))
		}
	}
	if total > maxInlinePolicy {
		return fmt.Errorf("LimitExceeded: Maximum policy size of %d bytes exceeded for role %s (%d)", maxInlinePolicy,
			str(c.in, "role"), total)
	}
	return nil
}

var rolePolicyAttachmentRow = resourceRow{
	typ:      tAttachment,
	inputs:   []string{"policyArn", "role"},
	required: []string{"policyArn", "role"},
	replaces: []string{"policyArn", "role"},
	id:       "{role}-{policyArn}",
	upsert:   true,
	refs:     []reference{{path: "role", typ: tRole, gone: roleGone}, {path: "policyArn", typ: tPolicy, by: "arn"}},
	onCreate: createRolePolicyAttachment,
}

func createRolePolicyAttachment(c *call) error {
	if err := attachable(c.s, str(c.in, "policyArn")); err != nil {
		return err
	}
	if n := len(attachedPolicies(c.s, str(c.in, "role"))); n >= maxAttached {
		return fmt.Errorf("LimitExceeded: Cannot exceed quota for PoliciesPerRole: %d", maxAttached)
	}
	return nil
}

// attachable refuses a policy that does not exist.
func attachable(s *world.State, arn string) error {
	name, byAWS := strings.CutPrefix(arn, "arn:"+s.Partition+":iam::aws:policy/")
	if byAWS && slices.Contains(awsPolicies, name) || s.Get(tPolicy, arn) != nil {
		return nil
	}
	hint := ""
	if byAWS {
		hint = " (if AWS has it, add it to awsPolicies in sandbox/aws/iam_policy.go)"
	}
	return fmt.Errorf("NoSuchEntity: Policy %s does not exist or is not attachable.%s", arn, hint)
}

// attachedPolicies lists the ARNs of the policies attached to a role.
func attachedPolicies(s *world.State, role string) []string {
	var out []string
	for _, r := range s.OfType(tAttachment) {
		if r.Inputs["role"] == role {
			out = append(out, str(r.Inputs, "policyArn"))
		}
	}
	if r := s.Get(tRole, role); r != nil {
		out = append(out, texts(list(r.Inputs, "managedPolicyArns"))...)
	}
	return out
}

// hasPolicy reports whether one of these AWS-managed policies is attached to the role.
func hasPolicy(s *world.State, role string, names ...string) bool {
	return slices.ContainsFunc(attachedPolicies(s, role), func(arn string) bool {
		return slices.Contains(names, arn[strings.Index(arn, "/")+1:])
	})
}
