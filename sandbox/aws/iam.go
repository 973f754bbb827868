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
var awsPolicies = words(
	`AmazonEKSClusterPolicy AmazonEKSServicePolicy AmazonEKSVPCResourceController AmazonEKSComputePolicy
	AmazonEKSBlockStoragePolicy AmazonEKSLoadBalancingPolicy AmazonEKSNetworkingPolicy AmazonEKSWorkerNodePolicy
	AmazonEKSWorkerNodeMinimalPolicy AmazonEKS_CNI_Policy AmazonEC2ContainerRegistryReadOnly AmazonEC2ContainerRegistryPullOnly
	AmazonSSMManagedInstanceCore CloudWatchAgentServerPolicy ReadOnlyAccess AdministratorAccess
	service-role/AmazonEBSCSIDriverPolicy service-role/AmazonEFSCSIDriverPolicy`)

func init() {
	register(tRole, row{
		create: "iam:CreateRole",
		read:   "iam:GetRole",
		update: "iam:UpdateAssumeRolePolicy iam:TagRole",
		delete: "iam:DeleteRole",
		inputs: "assumeRolePolicy description forceDetachPolicies inlinePolicies managedPolicyArns " +
			"maxSessionDuration name namePrefix path permissionsBoundary",
		required: "assumeRolePolicy",
		replaces: "name namePrefix path",
		json:     "assumeRolePolicy",
		name: naming{
			property: "name",
			prefix:   "namePrefix",
			auto:     true,
			min:      1,
			max:      64,
			pattern:  iamName,
			says:     "letters, digits and +=,.@_-",
		},
		ranges:   map[string][2]int{"maxSessionDuration": {3600, 43200}},
		defaults: obj{"path": "/", "maxSessionDuration": 3600, "forceDetachPolicies": false, "description": ""},
		id:       "{name}",
		arn:      "arn:{partition}:iam::{account}:role{path}{name}",
		tagged:   true,
		exists:   "EntityAlreadyExists: Role with name {name} already exists.",
		computed: map[string]string{"uniqueId": "AROA{random}", "createDate": "2026-01-01T00:00:00Z"},
		inUse: "DeleteConflict: Cannot delete entity, must detach all policies and remove roles from instance " +
			"profiles first.",
		onCreate: func(c *call) error {
			for _, arn := range texts(list(c.in, "managedPolicyArns")) {
				if err := attachable(c.s, arn); err != nil {
					return err
				}
			}
			return checkTrust(c)
		},
		onUpdate: checkTrust,
	})
	register(tPolicy, row{
		create:   "iam:CreatePolicy",
		read:     "iam:GetPolicy iam:GetPolicyVersion",
		update:   "iam:CreatePolicyVersion iam:TagPolicy",
		delete:   "iam:DeletePolicy",
		inputs:   "description name namePrefix path policy",
		required: "policy",
		replaces: "description name namePrefix path",
		json:     "policy",
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
		onRead: func(c *call) error {
			c.set("attachmentCount", len(c.s.Users(c.key())))
			return nil
		},
	})
	register(tRolePolicy, row{
		create:   "iam:PutRolePolicy",
		read:     "iam:GetRolePolicy",
		update:   "iam:PutRolePolicy",
		delete:   "iam:DeleteRolePolicy",
		inputs:   "name namePrefix policy role",
		required: "policy role",
		replaces: "name namePrefix role",
		json:     "policy",
		name: naming{
			property: "name",
			prefix:   "namePrefix",
			auto:     true,
			min:      1,
			max:      128,
			pattern:  iamName,
			says:     "letters, digits and +=,.@_-",
		},
		refs:     []ref{{path: "role", typ: tRole, gone: roleGone}},
		id:       "{role}:{name}",
		upsert:   true,
		onCreate: checkInlinePolicy,
		onUpdate: checkInlinePolicy,
	})
	register(tAttachment, row{
		create:   "iam:AttachRolePolicy",
		read:     "iam:ListAttachedRolePolicies",
		delete:   "iam:DetachRolePolicy",
		inputs:   "policyArn role",
		required: "policyArn role",
		replaces: "policyArn role",
		id:       "{role}-{policyArn}",
		upsert:   true,
		refs:     []ref{{path: "role", typ: tRole, gone: roleGone}, {path: "policyArn", typ: tPolicy, by: "arn"}},
		onCreate: func(c *call) error {
			if err := attachable(c.s, str(c.in, "policyArn")); err != nil {
				return err
			}
			if n := len(attached(c.s, str(c.in, "role"))); n >= maxAttached {
				return fmt.Errorf("LimitExceeded: Cannot exceed quota for PoliciesPerRole: %d", maxAttached)
			}
			return nil
		},
	})
	register(tProfile, row{
		create:   "iam:CreateInstanceProfile iam:AddRoleToInstanceProfile",
		read:     "iam:GetInstanceProfile",
		update:   "iam:AddRoleToInstanceProfile iam:TagInstanceProfile",
		delete:   "iam:RemoveRoleFromInstanceProfile iam:DeleteInstanceProfile",
		inputs:   "name namePrefix path role",
		replaces: "name namePrefix path",
		name: naming{
			property: "name",
			prefix:   "namePrefix",
			auto:     true,
			min:      1,
			max:      128,
			pattern:  iamName,
			says:     "letters, digits and +=,.@_-",
		},
		refs:     []ref{{path: "role", typ: tRole, gone: roleGone}},
		defaults: obj{"path": "/"},
		id:       "{name}",
		arn:      "arn:{partition}:iam::{account}:instance-profile{path}{name}",
		tagged:   true,
		exists:   "EntityAlreadyExists: Instance Profile {name} already exists.",
		computed: map[string]string{"uniqueId": "AIPA{random}", "createDate": "2026-01-01T00:00:00Z"},
	})
	register(tOIDC, row{
		create:   "iam:CreateOpenIDConnectProvider",
		read:     "iam:GetOpenIDConnectProvider",
		update:   "iam:UpdateOpenIDConnectProviderThumbprint iam:TagOpenIDConnectProvider",
		delete:   "iam:DeleteOpenIDConnectProvider",
		inputs:   "clientIdLists thumbprintLists url",
		required: "clientIdLists url",
		replaces: "url",
		tagged:   true,
		defaults: obj{"thumbprintLists": []any{}},
		id:       "arn:{partition}:iam::{account}:oidc-provider/{host}",
		arn:      "{id}",
		exists:   "EntityAlreadyExists: Provider with url https://{host} already exists.",
		derive: func(_ *world.State, in obj) (obj, error) {
			host, err := issuerHost(str(in, "url"))
			return obj{"host": host}, err
		},
		check: func(in obj, fail func(string, string)) {
			url := str(in, "url")
			if _, err := issuerHost(url); url != "" && err != nil {
				fail("url", err.Error())
			}
			if ids, ok := in["clientIdLists"].([]any); ok && len(ids) == 0 {
				fail("clientIdLists", "at least one client id is required")
			}
		},
		onCreate: issuerWithoutScheme,
		onUpdate: issuerWithoutScheme,
	})
	register("aws:iam/serviceLinkedRole:ServiceLinkedRole", row{
		create:   "iam:CreateServiceLinkedRole",
		read:     "iam:GetRole",
		update:   "iam:UpdateRoleDescription",
		delete:   "iam:DeleteServiceLinkedRole",
		inputs:   "awsServiceName customSuffix description",
		required: "awsServiceName",
		replaces: "awsServiceName customSuffix",
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
		derive: func(_ *world.State, in obj) (obj, error) {
			name, known := serviceRoles[str(in, "awsServiceName")]
			if !known {
				return nil, fmt.Errorf("InvalidInput: the sandbox does not know the service-linked role of %s; add "+
					"it to serviceRoles in sandbox/aws/iam.go",
					str(in, "awsServiceName"))
			}
			return obj{"roleName": name}, nil
		},
		check: func(in obj, fail func(string, string)) {
			if name := str(in, "awsServiceName"); name != "" && !strings.Contains(name, ".amazonaws.com") {
				fail("awsServiceName", "must be a service principal such as spot.amazonaws.com")
			}
		},
		onCreate: func(c *call) error {
			name := str(c.out, "name")
			if slices.Contains(c.s.ServiceLinkedRoles, name) {
				return fmt.Errorf("InvalidInput: Service role name %s has been taken in this account, please try a "+
					"different suffix.", name)
			}
			c.s.LinkRole(name)
			return nil
		},
		onDelete: func(c *call) error {
			name := str(c.out, "name")
			if name == world.SpotRole && len(c.s.SortedInstances(func(i *world.Instance) bool {
				return i.Running() &&
					i.Spot
			})) > 0 {
				return fmt.Errorf("DeletionTaskFailed: %s is in use by running spot instances", name)
			}
			c.s.ServiceLinkedRoles = slices.DeleteFunc(c.s.ServiceLinkedRoles, func(n string) bool { return n == name })
			return nil
		},
	})
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

// attached lists the ARNs of the policies attached to a role.
func attached(s *world.State, role string) []string {
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

// hasPolicy tells whether an AWS-managed policy is attached to the role.
func hasPolicy(s *world.State, role string, names string) bool {
	return slices.ContainsFunc(attached(s, role), func(arn string) bool {
		return member(names, arn[strings.Index(arn, "/")+1:])
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
