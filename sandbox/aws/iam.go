package aws

import (
	"fmt"
	"regexp"
	"slices"
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

// awsPolicies are the AWS-managed policies the sandbox knows, without "arn:<partition>:iam::aws:policy/".
var awsPolicies = []string{
	"AmazonEKSClusterPolicy", "AmazonEKSServicePolicy", "AmazonEKSVPCResourceController", "AmazonEKSComputePolicy",
	"AmazonEKSBlockStoragePolicy", "AmazonEKSLoadBalancingPolicy", "AmazonEKSNetworkingPolicy",
	"AmazonEKSWorkerNodePolicy", "AmazonEKSWorkerNodeMinimalPolicy", "AmazonEKS_CNI_Policy",
	"AmazonEC2ContainerRegistryReadOnly", "AmazonEC2ContainerRegistryPullOnly", "AmazonSSMManagedInstanceCore",
	"CloudWatchAgentServerPolicy", "ReadOnlyAccess", "AdministratorAccess", "service-role/AmazonEBSCSIDriverPolicy",
	"service-role/AmazonEFSCSIDriverPolicy",
}

var roleRow = resourceRow{
	typ:    tRole,
	create: []string{"iam:CreateRole"},
	read:   []string{"iam:GetRole"},
	update: []string{"iam:UpdateAssumeRolePolicy", "iam:TagRole"},
	delete: []string{"iam:DeleteRole"},
	inputs: []string{
		"assumeRolePolicy", "description", "forceDetachPolicies", "inlinePolicies", "managedPolicyArns",
		"maxSessionDuration", "name", "namePrefix", "path", "permissionsBoundary",
	},
	required: []string{"assumeRolePolicy"},
	replaces: []string{"name", "namePrefix", "path"},
	json:     []string{"assumeRolePolicy"},
	name: naming{
		property: "name",
		prefix:   "namePrefix",
		auto:     true,
		min:      1,
		max:      64,
		pattern:  iamName,
		says:     "letters, digits and +=,.@_-",
	},
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
	onCreate: createRole,
	onUpdate: checkTrust,
}

func createRole(c *call) error {
	for _, arn := range texts(list(c.in, "managedPolicyArns")) {
		if err := attachable(c.s, arn); err != nil {
			return err
		}
	}
	return checkTrust(c)
}

var policyRow = resourceRow{
	typ:      tPolicy,
	create:   []string{"iam:CreatePolicy"},
	read:     []string{"iam:GetPolicy", "iam:GetPolicyVersion"},
	update:   []string{"iam:CreatePolicyVersion", "iam:TagPolicy"},
	delete:   []string{"iam:DeletePolicy"},
	inputs:   []string{"description", "name", "namePrefix", "path", "policy"},
	required: []string{"policy"},
	replaces: []string{"description", "name", "namePrefix", "path"},
	json:     []string{"policy"},
	name: naming{
		property: "name",
		prefix:   "namePrefix",
		auto:     true,
		min:      1,
		max:      128,
		pattern:  iamName,
		says:     "letters, digits and +=,.@_-",
	},
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

var rolePolicyRow = resourceRow{
	typ:      tRolePolicy,
	create:   []string{"iam:PutRolePolicy"},
	read:     []string{"iam:GetRolePolicy"},
	update:   []string{"iam:PutRolePolicy"},
	delete:   []string{"iam:DeleteRolePolicy"},
	inputs:   []string{"name", "namePrefix", "policy", "role"},
	required: []string{"policy", "role"},
	replaces: []string{"name", "namePrefix", "role"},
	json:     []string{"policy"},
	name: naming{
		property: "name",
		prefix:   "namePrefix",
		auto:     true,
		min:      1,
		max:      128,
		pattern:  iamName,
		says:     "letters, digits and +=,.@_-",
	},
	refs:     []reference{{path: "role", typ: tRole, gone: roleGone}},
	id:       "{role}:{name}",
	upsert:   true,
	onCreate: checkInlinePolicy,
	onUpdate: checkInlinePolicy,
}

var rolePolicyAttachmentRow = resourceRow{
	typ:      tAttachment,
	create:   []string{"iam:AttachRolePolicy"},
	read:     []string{"iam:ListAttachedRolePolicies"},
	delete:   []string{"iam:DetachRolePolicy"},
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

var instanceProfileRow = resourceRow{
	typ:      tProfile,
	create:   []string{"iam:CreateInstanceProfile", "iam:AddRoleToInstanceProfile"},
	read:     []string{"iam:GetInstanceProfile"},
	update:   []string{"iam:AddRoleToInstanceProfile", "iam:TagInstanceProfile"},
	delete:   []string{"iam:RemoveRoleFromInstanceProfile", "iam:DeleteInstanceProfile"},
	inputs:   []string{"name", "namePrefix", "path", "role"},
	replaces: []string{"name", "namePrefix", "path"},
	name: naming{
		property: "name",
		prefix:   "namePrefix",
		auto:     true,
		min:      1,
		max:      128,
		pattern:  iamName,
		says:     "letters, digits and +=,.@_-",
	},
	refs:     []reference{{path: "role", typ: tRole, gone: roleGone}},
	defaults: obj{"path": "/"},
	id:       "{name}",
	arn:      "arn:{partition}:iam::{account}:instance-profile{path}{name}",
	tagged:   true,
	exists:   "EntityAlreadyExists: Instance Profile {name} already exists.",
	computed: map[string]string{"uniqueId": "AIPA{random}", "createDate": "2026-01-01T00:00:00Z"},
}

var oidcProviderRow = resourceRow{
	typ:      tOIDC,
	create:   []string{"iam:CreateOpenIDConnectProvider"},
	read:     []string{"iam:GetOpenIDConnectProvider"},
	update:   []string{"iam:UpdateOpenIDConnectProviderThumbprint", "iam:TagOpenIDConnectProvider"},
	delete:   []string{"iam:DeleteOpenIDConnectProvider"},
	inputs:   []string{"clientIdLists", "thumbprintLists", "url"},
	required: []string{"clientIdLists", "url"},
	replaces: []string{"url"},
	tagged:   true,
	defaults: obj{"thumbprintLists": []any{}},
	id:       "arn:{partition}:iam::{account}:oidc-provider/{host}",
	arn:      "{id}",
	exists:   "EntityAlreadyExists: Provider with url https://{host} already exists.",
	derive:   deriveOidcProvider,
	check:    checkOidcProvider,
	onCreate: issuerWithoutScheme,
	onUpdate: issuerWithoutScheme,
}

func deriveOidcProvider(_ *world.State, in obj) (obj, error) {
	host, err := issuerHost(str(in, "url"))
	return obj{"host": host}, err
}

func checkOidcProvider(in obj, fail func(string, string)) {
	url := str(in, "url")
	if _, err := issuerHost(url); url != "" && err != nil {
		fail("url", err.Error())
	}
	if ids, ok := in["clientIdLists"].([]any); ok && len(ids) == 0 {
		fail("clientIdLists", "at least one client id is required")
	}
}

var serviceLinkedRoleRow = resourceRow{
	typ:      "aws:iam/serviceLinkedRole:ServiceLinkedRole",
	create:   []string{"iam:CreateServiceLinkedRole"},
	read:     []string{"iam:GetRole"},
	update:   []string{"iam:UpdateRoleDescription"},
	delete:   []string{"iam:DeleteServiceLinkedRole"},
	inputs:   []string{"awsServiceName", "customSuffix", "description"},
	required: []string{"awsServiceName"},
	replaces: []string{"awsServiceName", "customSuffix"},
	tagged:   true,
	id:       "arn:{partition}:iam::{account}:role/aws-service-role/{awsServiceName}/{roleName}",
	arn:      "{id}",
	exists: "InvalidInput: Service role name {roleName} has been taken in this account, please try a different " +
		"suffix.",
	computed: map[string]string{
		"name":       "{roleName}",
		"path":       "/aws-service-role/{awsServiceName}/",
		"uniqueId":   "AROA{random}",
		"createDate": "2026-01-01T00:00:00Z",
	},
	derive:   deriveServiceLinkedRole,
	check:    checkServiceLinkedRole,
	onCreate: createServiceLinkedRole,
	onDelete: deleteServiceLinkedRole,
}

func deriveServiceLinkedRole(_ *world.State, in obj) (obj, error) {
	name, known := serviceRoles[str(in, "awsServiceName")]
	if !known {
		return nil, fmt.Errorf("InvalidInput: the sandbox does not know the service-linked role of %s; add "+
			"it to serviceRoles in sandbox/aws/iam.go",
			str(in, "awsServiceName"))
	}
	return obj{"roleName": name}, nil
}

func checkServiceLinkedRole(in obj, fail func(string, string)) {
	if name := str(in, "awsServiceName"); name != "" && !strings.Contains(name, ".amazonaws.com") {
		fail("awsServiceName", "must be a service principal such as spot.amazonaws.com")
	}
}

func createServiceLinkedRole(c *call) error {
	name := str(c.out, "name")
	if slices.Contains(c.s.ServiceLinkedRoles, name) {
		return fmt.Errorf("InvalidInput: Service role name %s has been taken in this account, please try a "+
			"different suffix.", name)
	}
	c.s.LinkRole(name)
	return nil
}

func deleteServiceLinkedRole(c *call) error {
	name := str(c.out, "name")
	if name == world.SpotRole && len(c.s.SortedInstances(func(i *world.Instance) bool {
		return i.Running() && i.Spot
	})) > 0 {
		return fmt.Errorf("DeletionTaskFailed: %s is in use by running spot instances", name)
	}
	c.s.ServiceLinkedRoles = slices.DeleteFunc(c.s.ServiceLinkedRoles, func(n string) bool { return n == name })
	return nil
}

// serviceRoles are the names of service-linked roles by service.
var serviceRoles = map[string]string{
	"spot.amazonaws.com":          world.SpotRole,
	"eks.amazonaws.com":           "AWSServiceRoleForAmazonEKS",
	"eks-nodegroup.amazonaws.com": "AWSServiceRoleForAmazonEKSNodegroup",
	"autoscaling.amazonaws.com":   "AWSServiceRoleForAutoScaling",
}

// issuerWithoutScheme is how AWS gives the URL back.
func issuerWithoutScheme(c *call) error {
	host, err := issuerHost(str(c.in, "url"))
	c.set("url", host)
	return err
}

func issuerHost(url string) (string, error) {
	host, found := strings.CutPrefix(url, "https://")
	if !found || host == "" || strings.ContainsAny(host, "?# ") {
		return "", fmt.Errorf("ValidationError: %q must be an https:// URL without a query", url)
	}
	return strings.TrimSuffix(host, "/"), nil
}

// attachable refuses a policy that does not exist.
func attachable(s *world.State, arn string) error {
	name, byAWS := strings.CutPrefix(arn, "arn:"+s.Partition+":iam::aws:policy/")
	if byAWS && slices.Contains(awsPolicies, name) || s.Get(tPolicy, arn) != nil {
		return nil
	}
	hint := ""
	if byAWS {
		hint = " (if AWS has it, add it to awsPolicies in sandbox/aws/iam.go)"
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
			if strings.HasPrefix(arn, prefix) && arn != callerPrincipal(s) && s.Find(tRole, "arn", arn) == nil {
				return fmt.Errorf("MalformedPolicyDocument: Invalid principal in policy: \"AWS\":\"%s\"", arn)
			}
		}
	}
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
