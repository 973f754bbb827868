package aws

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/headroom-eks/headroom/sandbox/world"
)

var addonRow = resourceRow{
	typ: tAddon,
	inputs: []string{
		"addonName", "addonVersion", "clusterName", "configurationValues", "podIdentityAssociations", "preserve",
		"resolveConflicts", "resolveConflictsOnCreate", "resolveConflictsOnUpdate", "serviceAccountRoleArn",
	},
	required: []string{"addonName", "clusterName"},
	replaces: []string{"addonName", "clusterName"},
	json:     []string{"configurationValues"},
	tagged:   true,
	enums: map[string][]string{
		"resolveConflictsOnCreate": {"NONE", "OVERWRITE"},
		"resolveConflictsOnUpdate": {"NONE", "OVERWRITE", "PRESERVE"},
		"resolveConflicts":         {"NONE", "OVERWRITE", "PRESERVE"},
	},
	refs: []reference{
		clusterRef,
		{
			path:   "serviceAccountRoleArn",
			typ:    tRole,
			by:     "arn",
			gone:   "InvalidParameterException: role {value} does not exist",
			onGone: dangles,
		},
	},
	id:       "{clusterName}:{addonName}",
	arn:      "arn:{partition}:eks:{region}:{account}:addon/{clusterName}/{addonName}/{random}",
	exists:   "ResourceInUseException: Addon already exists.",
	computed: map[string]string{"createdAt": "2026-01-01T00:00:00Z", "modifiedAt": "2026-01-01T00:00:00Z"},
	onCreate: applyAddon,
	onUpdate: applyAddon,
}

var accessEntryRow = resourceRow{
	typ:      tEntry,
	inputs:   []string{"clusterName", "kubernetesGroups", "principalArn", "type", "userName"},
	required: []string{"clusterName", "principalArn"},
	replaces: []string{"clusterName", "principalArn", "type"},
	tagged:   true,
	enums: map[string][]string{
		"type": {"STANDARD", "EC2_LINUX", "EC2_WINDOWS", "FARGATE_LINUX", "EC2", "HYBRID_LINUX", "HYPERPOD_LINUX"},
	},
	refs:     []reference{clusterRef},
	id:       "{clusterName}:{principalArn}",
	exists:   "ResourceInUseException: The specified access entry resource is already in use on this cluster.",
	defaults: obj{"type": "STANDARD", "kubernetesGroups": []any{}},
	computed: map[string]string{
		"accessEntryArn": "arn:{partition}:eks:{region}:{account}:access-entry/{clusterName}/{random}",
		"createdAt":      "2026-01-01T00:00:00Z",
		"modifiedAt":     "2026-01-01T00:00:00Z",
	},
	onCreate: applyEntry,
	onUpdate: applyEntry,
	onDelete: deleteAccessEntry,
}

func deleteAccessEntry(c *call) error { // the associations of an entry go with it
	for _, r := range c.s.OfType(tAssoc) {
		if r.Inputs["clusterName"] == c.in["clusterName"] && r.Inputs["principalArn"] == c.in["principalArn"] {
			delete(c.s.Resources, world.Key(tAssoc, r.ID))
		}
	}
	return nil
}

var accessPolicyAssociationRow = resourceRow{
	typ:      tAssoc,
	inputs:   []string{"accessScope", "clusterName", "policyArn", "principalArn"},
	required: []string{"accessScope", "clusterName", "policyArn", "principalArn"},
	replaces: []string{"accessScope", "clusterName", "policyArn", "principalArn"},
	enums: map[string][]string{
		"accessScope.type": {"cluster", "namespace"},
	},
	refs:     []reference{clusterRef},
	upsert:   true,
	id:       "{clusterName}#{principalArn}#{policyArn}",
	computed: map[string]string{"associatedAt": "2026-01-01T00:00:00Z", "modifiedAt": "2026-01-01T00:00:00Z"},
	onCreate: associatePolicy,
}

var podIdentityAssociationRow = resourceRow{
	typ:      "aws:eks/podIdentityAssociation:PodIdentityAssociation",
	inputs:   []string{"clusterName", "namespace", "roleArn", "serviceAccount"},
	required: []string{"clusterName", "namespace", "roleArn", "serviceAccount"},
	replaces: []string{"clusterName", "namespace", "serviceAccount"},
	tagged:   true,
	refs: []reference{clusterRef, {
		path:   "roleArn",
		typ:    tRole,
		by:     "arn",
		gone:   "InvalidParameterException: Role provided in the request does not exist.",
		onGone: dangles,
	}},
	id: "a-{hex}",
	computed: map[string]string{
		"associationId":  "{id}",
		"associationArn": "arn:{partition}:eks:{region}:{account}:podidentityassociation/{clusterName}/{id}",
	},
	onCreate: createPodIdentityAssociation,
	onUpdate: trustsPods,
}

func createPodIdentityAssociation(c *call) error {
	for _, r := range c.s.OfType(c.res.Type) {
		if r.Inputs["clusterName"] == c.in["clusterName"] && r.Inputs["namespace"] == c.in["namespace"] &&
			r.Inputs["serviceAccount"] == c.in["serviceAccount"] {
			return fmt.Errorf("ResourceInUseException: Association already exists: %s", r.ID)
		}
	}
	return trustsPods(c)
}

func trustsPods(c *call) error {
	role := c.s.Find(tRole, "arn", str(c.in, "roleArn"))
	for _, action := range []string{"sts:AssumeRole", "sts:TagSession"} {
		if !trusts(c.s, role, "pods.eks.amazonaws.com", action) {
			return fmt.Errorf("InvalidParameterException: Trust policy of role %s is invalid: it must allow %s to "+
				"pods.eks.amazonaws.com",
				role.ID, action)
		}
	}
	return nil
}

// needsNodes are the add-ons that are Deployments: without a node for them they do not become active (field fault
// BR-58).
var needsNodes = []string{"coredns", "aws-ebs-csi-driver", "aws-efs-csi-driver", "metrics-server"}

func applyAddon(c *call) error {
	cluster := c.s.Get(tCluster, str(c.in, "clusterName"))
	name, kubernetes := str(c.in, "addonName"), str(cluster.Outputs, "version")
	versions, err := addonVersions(name, kubernetes)
	if err != nil {
		return err
	}
	version := str(c.in, "addonVersion")
	switch {
	case version == "" && c.old == nil:
		version = versions[0]
	case version == "":
		version = str(c.res.Outputs, "addonVersion")
	case !slices.Contains(versions, version):
		return fmt.Errorf("InvalidParameterException: Addon version specified is not supported, %s of %s for "+
			"Kubernetes %s (known to the sandbox: %s)",
			version, name, kubernetes, strings.Join(versions, ", "))
	}
	c.set("addonVersion", version)
	values := str(c.in, "configurationValues")
	if values != "" && !json.Valid([]byte(values)) && strings.HasPrefix(strings.TrimSpace(values), "{") {
		return fmt.Errorf("InvalidParameterException: ConfigurationValue provided in request is not supported: " +
			"invalid JSON")
	}
	if slices.Contains(needsNodes, name) && !autoMode(cluster.Outputs) && !c.nodeFor(cluster.ID, values) {
		return &unfinished{fmt.Sprintf("waiting for EKS Add-On (%s): unexpected state 'DEGRADED', wanted target "+
			"'ACTIVE'. last error: InsufficientNumberOfReplicas: The add-on is unhealthy because it doesn't have the "+
			"desired number of replicas (no node that its pods tolerate)", c.res.ID)}
	}
	return nil
}

// nodeFor reports whether a running node of a managed group has only taints that the add-on's pods tolerate:
// CriticalAddonsOnly by default, and those its configuration names.
func (c *call) nodeFor(cluster, values string) bool {
	var config struct {
		Tolerations []struct{ Key, Operator string }
		Controller  struct {
			Tolerations []struct{ Key, Operator string }
		}
	}
	_ = json.Unmarshal([]byte(values), &config) // not JSON: YAML, which EKS takes too; then only the default counts
	tolerated := func(key string) bool {
		for _, t := range append(config.Tolerations, config.Controller.Tolerations...) {
			if t.Key == key || t.Key == "" && t.Operator == "Exists" {
				return true
			}
		}
		return key == "CriticalAddonsOnly"
	}
	for _, r := range c.s.OfType(tNodeGroup) {
		if r.Inputs["clusterName"] != cluster {
			continue
		}
		group := &call{s: c.s, row: c.row, res: r}
		nodes := c.s.SortedInstances(func(i *world.Instance) bool {
			g := group.group()
			return g != nil && i.Running() && i.Group == g.Name
		})
		fits := len(nodes) > 0
		for _, v := range list(r.Inputs, "taints") {
			taint, _ := v.(obj)
			fits = fits && (str(taint, "effect") == "PREFER_NO_SCHEDULE" || tolerated(str(taint, "key")))
		}
		if fits {
			return true
		}
	}
	return false
}

var principalARN = regexp.MustCompile(`^arn:[a-z-]+:(iam|sts)::[0-9]{12}:(role|user|assumed-role)/.+`)

// reservedName of a user or group belongs to Kubernetes or AWS.
func reservedName(name string) bool {
	return slices.ContainsFunc([]string{"system:", "eks:", "aws:", "amazon:"},
		func(prefix string) bool { return strings.HasPrefix(name, prefix) })
}

func applyEntry(c *call) error {
	cluster := c.s.Get(tCluster, str(c.in, "clusterName"))
	principal, kind := str(c.in, "principalArn"), str(c.out, "type")
	switch {
	case str(cluster.Outputs, "accessConfig.authenticationMode") == "CONFIG_MAP":
		return fmt.Errorf("InvalidRequestException: The cluster's authentication mode must be set to one of [API, " +
			"API_AND_CONFIG_MAP] to perform this operation.")
	case !principalARN.MatchString(principal), !strings.HasPrefix(principal, "arn:"+c.s.Partition+":"):
		return fmt.Errorf("InvalidParameterException: The principalArn parameter format is not valid")
	case kind != "STANDARD" && len(list(c.in, "kubernetesGroups")) > 0:
		return fmt.Errorf("InvalidParameterException: kubernetesGroups cannot be specified for an access entry of "+
			"type %s", kind)
	case kind != "STANDARD" && has(c.in, "userName"):
		return fmt.Errorf("InvalidParameterException: username cannot be specified for an access entry of type %s",
			kind)
	}
	// https://docs.aws.amazon.com/eks/latest/userguide/creating-access-entries.html
	if name := str(c.in, "userName"); reservedName(name) || strings.HasPrefix(name, "iam:") {
		return fmt.Errorf("InvalidParameterException: The username %s is invalid, it cannot start with system: (nor "+
			"eks:, aws:, amazon:, iam:)", name)
	}
	for _, group := range texts(list(c.in, "kubernetesGroups")) {
		if reservedName(group) {
			return fmt.Errorf("InvalidParameterException: The kubernetes group name %s is invalid, it cannot start "+
				"with system: (nor eks:, aws:, amazon:)",
				group)
		}
	}
	prefix := fmt.Sprintf("arn:%s:iam::%s:role/", c.s.Partition, c.s.Account)
	if kind == "EC2_LINUX" && strings.HasPrefix(principal, prefix) && c.s.Find(tRole, "arn", principal) == nil {
		return fmt.Errorf("InvalidParameterException: The specified principalArn is invalid: invalid principal %s",
			principal)
	}
	if !has(c.in, "userName") && kind == "EC2_LINUX" {
		c.set("userName", "system:node:{{EC2PrivateDNSName}}")
		c.set("kubernetesGroups", []any{"system:nodes"})
	} else if !has(c.in, "userName") {
		c.set("userName", principal)
	}
	return nil
}

var accessPolicies = []string{
	"AmazonEKSClusterAdminPolicy", "AmazonEKSAdminPolicy", "AmazonEKSAdminViewPolicy", "AmazonEKSEditPolicy",
	"AmazonEKSViewPolicy", "AmazonEKSAutoNodePolicy", "AmazonEKSSecretReaderPolicy",
}

func associatePolicy(c *call) error {
	entry := c.s.Get(tEntry, str(c.in, "clusterName")+":"+str(c.in, "principalArn"))
	if entry == nil {
		return fmt.Errorf("ResourceNotFoundException: The specified principalArn could not be found. You can view " +
			"your available access entries with 'list-access-entries'.")
	}
	name, found := strings.CutPrefix(str(c.in, "policyArn"), "arn:"+c.s.Partition+":eks::aws:cluster-access-policy/")
	if !found || !slices.Contains(accessPolicies, name) {
		return fmt.Errorf("InvalidParameterException: The specified policyArn is invalid: %s", str(c.in, "policyArn"))
	}
	if kind := str(entry.Outputs, "type"); kind != "STANDARD" && kind != "EC2" {
		return fmt.Errorf("InvalidParameterException: Access policies cannot be associated with an access entry of "+
			"type %s", kind)
	}
	if scope := str(c.in, "accessScope.type"); (scope == "namespace") != (len(list(c.in,
		"accessScope.namespaces")) > 0) {
		return fmt.Errorf("InvalidParameterException: namespaces must be given for scope namespace, and only for it")
	}
	return nil
}
