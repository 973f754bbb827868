package aws

import (
	"encoding/base64"
	"fmt"
	"net/netip"
	"regexp"
	"slices"
	"strings"

	"github.com/headroom-eks/headroom/sandbox/world"
)

// Tokens of the EKS types.
const (
	tCluster   = "aws:eks/cluster:Cluster"
	tAddon     = "aws:eks/addon:Addon"
	tNodeGroup = world.NodeGroupType
	tEntry     = "aws:eks/accessEntry:AccessEntry"
	tAssoc     = "aws:eks/accessPolicyAssociation:AccessPolicyAssociation"
)

var clusterRef = reference{
	path:   "clusterName",
	typ:    tCluster,
	gone:   "ResourceNotFoundException: No cluster found for name: {value}.",
	onGone: cascades,
}

var clusterRow = resourceRow{
	typ:    tCluster,
	create: []string{"eks:CreateCluster"},
	read:   []string{"eks:DescribeCluster"},
	update: []string{"eks:UpdateClusterConfig", "eks:UpdateClusterVersion", "eks:TagResource"},
	delete: []string{"eks:DeleteCluster"},
	inputs: []string{
		"accessConfig", "bootstrapSelfManagedAddons", "computeConfig", "defaultAddonsToRemoves",
		"enabledClusterLogTypes", "encryptionConfig", "forceUpdateVersion", "kubernetesNetworkConfig", "name",
		"outpostConfig", "remoteNetworkConfig", "roleArn", "storageConfig", "upgradePolicy", "version", "vpcConfig",
		"zonalShiftConfig",
	},
	required: []string{"roleArn", "vpcConfig"},
	replaces: []string{
		"name", "roleArn", "accessConfig.bootstrapClusterCreatorAdminPermissions", "bootstrapSelfManagedAddons",
		"kubernetesNetworkConfig.ipFamily", "kubernetesNetworkConfig.serviceIpv4Cidr",
	},
	replacesOnceSet:   []string{"computeConfig.nodeRoleArn"},
	replacesOnRemoval: []string{"encryptionConfig"},
	name: naming{
		property: "name",
		auto:     true,
		min:      1,
		max:      100,
		pattern:  regexp.MustCompile(`^[0-9A-Za-z][A-Za-z0-9\-_]*$`),
		says:     "begin with a letter or digit; letters, digits, - and _",
	},
	enums: map[string][]string{
		"accessConfig.authenticationMode":  {"API", "API_AND_CONFIG_MAP", "CONFIG_MAP"},
		"upgradePolicy.supportType":        {"STANDARD", "EXTENDED"},
		"kubernetesNetworkConfig.ipFamily": {"ipv4", "ipv6"},
		"computeConfig.nodePools":          {"general-purpose", "system"},
		"enabledClusterLogTypes":           {"api", "audit", "authenticator", "controllerManager", "scheduler"},
		"encryptionConfig.resources":       {"secrets"},
	},
	refs: []reference{
		{path: "roleArn", typ: tRole, by: "arn", onGone: dangles},
		{path: "computeConfig.nodeRoleArn", typ: tRole, by: "arn", onGone: dangles},
		{
			path: "vpcConfig.subnetIds",
			typ:  tSubnet,
			gone: "InvalidParameterException: The subnet ID '{value}' does not exist (Service: AmazonEC2; Error " +
				"Code: InvalidSubnetID.NotFound)",
		},
		{
			path: "vpcConfig.securityGroupIds",
			typ:  tSecurityGroup,
			gone: "InvalidParameterException: The security group '{value}' does not exist (Service: AmazonEC2; " +
				"Error Code: InvalidGroup.NotFound)",
		},
		{
			path:   "encryptionConfig.provider.keyArn",
			typ:    tKey,
			by:     "arn",
			gone:   "InvalidParameterException: Key '{value}' does not exist",
			onGone: dangles,
		},
	},
	id:     "{name}",
	arn:    "arn:{partition}:eks:{region}:{account}:cluster/{name}",
	tagged: true,
	exists: "ResourceInUseException: Cluster already exists with name: {name}",
	inUse:  "ResourceInUseException: Cluster has nodegroups attached",
	defaults: obj{
		"version":                    defaultVersion,
		"bootstrapSelfManagedAddons": true,
		"upgradePolicy":              obj{"supportType": "EXTENDED"},
		"accessConfig": obj{
			"authenticationMode":                      "CONFIG_MAP",
			"bootstrapClusterCreatorAdminPermissions": true,
		},
		"kubernetesNetworkConfig": obj{
			"ipFamily":             "ipv4",
			"serviceIpv4Cidr":      "172.20.0.0/16",
			"elasticLoadBalancing": obj{"enabled": false},
		},
	},
	computed: map[string]string{
		"createdAt":       "2026-01-01T00:00:00Z",
		"platformVersion": "eks.1",
		"status":          "ACTIVE",
		"endpoint":        "https://{random}.gr7.{region}.eks.{dns}",
		"issuer":          "https://oidc.eks.{region}.{dns}/id/{random}",
	},
	check:    checkClusterInputs,
	plan:     planAutoMode,
	onCreate: createCluster,
	onUpdate: updateCluster,
	onDelete: deleteCluster,
}

func checkClusterInputs(in obj, fail func(string, string)) {
	for _, block := range texts(list(in, "vpcConfig.publicAccessCidrs")) {
		checkCIDR("vpcConfig.publicAccessCidrs", block, fail)
	}
	if v := str(in, "version"); v != "" && minor(v) < 0 {
		fail("version", fmt.Sprintf("%q is not a Kubernetes version such as %s", v, defaultVersion))
	}
}

func createCluster(c *call) error {
	s := c.s
	if n := len(s.OfType(tCluster)); float64(n) >= s.Quotas[world.QuotaClusters] {
		return fmt.Errorf("ResourceLimitExceededException: Cluster limit exceeded")
	}
	if _, known := findVersion(str(c.out, "version")); !known {
		return fmt.Errorf("InvalidParameterException: unsupported Kubernetes version %s", str(c.out, "version"))
	}
	access := merged(c.row.defaults["accessConfig"], c.in["accessConfig"])
	if mode := str(access, "authenticationMode"); mode == "CONFIG_MAP" &&
		has(c.in, "accessConfig.bootstrapClusterCreatorAdminPermissions") &&
		!truth(access, "bootstrapClusterCreatorAdminPermissions") {
		return fmt.Errorf("InvalidParameterException: bootstrapClusterCreatorAdminPermissions must be true if " +
			"cluster authentication mode is set to CONFIG_MAP")
	}
	c.set("accessConfig", access)
	c.set("kubernetesNetworkConfig", merged(c.row.defaults["kubernetesNetworkConfig"], c.in["kubernetesNetworkConfig"]))
	if err := c.checkAutoMode(); err != nil {
		return err
	}
	if err := c.checkClusterRole(); err != nil {
		return err
	}
	if err := c.placeControlPlane(); err != nil {
		return err
	}
	issuer := str(c.out, "issuer")
	delete(c.out, "issuer")
	c.set("identities", []any{obj{"oidcs": []any{obj{"issuer": issuer}}}})
	ca := base64.StdEncoding.EncodeToString([]byte("-----BEGIN CERTIFICATE-----\nsandbox " + c.res.ID +
		"\n-----END CERTIFICATE-----\n"))
	c.set("certificateAuthority", obj{"data": ca})
	c.set("certificateAuthorities", []any{obj{"data": ca}})
	// EKS's own security group for control plane and nodes.
	vpc := str(c.out, "vpcConfig.vpcId")
	group := "sg-" + s.Hex("cluster-sg/"+c.res.ID, 17)
	tags := obj{
		"Name":                              "eks-cluster-sg-" + c.res.ID,
		"aws:eks:cluster-name":              c.res.ID,
		"kubernetes.io/cluster/" + c.res.ID: "owned",
	}
	sg := serviceMade(c, tSecurityGroup, group, obj{
		"vpcId":       vpc,
		"name":        "eks-cluster-sg-" + c.res.ID,
		"description": "EKS created security group applied to ENI that is attached to EKS Control Plane",
		"tags":        tags,
		"tagsAll":     tags,
	})
	sg.Refs = []string{world.Key(tVpc, vpc)}
	c.out["vpcConfig"].(obj)["clusterSecurityGroupId"] = group
	if truth(access, "bootstrapClusterCreatorAdminPermissions") && str(access, "authenticationMode") != "CONFIG_MAP" {
		serviceEntry(c, c.res.ID, callerPrincipal(s), "STANDARD")
	}
	c.writeLogs()
	s.LinkRole("AWSServiceRoleForAmazonEKS")
	return nil
}

// serviceEntry makes the access entry that EKS makes by itself, unless there is one for the principal.
func serviceEntry(c *call, cluster, principal, kind string) {
	id := cluster + ":" + principal
	if c.s.Get(tEntry, id) != nil {
		return
	}
	c.s.Put(&world.Resource{
		Type:   tEntry,
		ID:     id,
		Owner:  world.Key(tCluster, cluster),
		Refs:   []string{world.Key(tCluster, cluster)},
		Inputs: obj{"clusterName": cluster, "principalArn": principal, "type": kind},
		Outputs: obj{
			"clusterName":      cluster,
			"principalArn":     principal,
			"type":             kind,
			"kubernetesGroups": []any{},
			"tags":             obj{},
		},
	})
}

func merged(defaults, given any) obj {
	out := plain(defaults).(obj)
	if g, ok := given.(obj); ok {
		for k, v := range g {
			out[k] = v
		}
	}
	return out
}

// autoMode reports whether the cluster's outputs have Auto Mode on.
func autoMode(out obj) bool { return truth(out, "computeConfig.enabled") }

// planAutoMode: the three capabilities move together (field fault BR-82). Block kubernetesNetworkConfig left out keeps
// what the state has, so leaving all three out does not switch Auto Mode off: the provider refuses it.
// https://github.com/hashicorp/terraform-provider-aws/issues/40582
func planAutoMode(outputs, in obj) error {
	balanced := in
	if !has(in, "kubernetesNetworkConfig.elasticLoadBalancing") {
		balanced = outputs
	}
	compute, storage, balancing := one(in, "computeConfig.enabled"), one(in, "storageConfig.blockStorage.enabled"),
		one(balanced, "kubernetesNetworkConfig.elasticLoadBalancing.enabled")
	if isUnknown(compute) || isUnknown(storage) || isUnknown(balancing) {
		return nil
	}
	if (compute == true) != (storage == true) || (compute == true) != (balancing == true) {
		return fmt.Errorf("compute_config.enabled, kubernetes_networking_config.elastic_load_balancing.enabled, and " +
			"storage_config.block_storage.enabled must all be set to either true or false")
	}
	return nil
}

// checkAutoMode refuses what EKS refuses of a cluster with Auto Mode. Node role and pools of one that is switched off
// do not matter.
func (c *call) checkAutoMode() error {
	if !autoMode(c.out) {
		return nil
	}
	roleARN := str(c.out, "computeConfig.nodeRoleArn")
	pools := list(c.out, "computeConfig.nodePools")
	switch {
	case c.old == nil && truth(c.out, "bootstrapSelfManagedAddons"):
		return fmt.Errorf("InvalidParameterException: bootstrapSelfManagedAddons must be false if EKS Auto Mode is " +
			"enabled")
	case roleARN != "" && len(pools) == 0:
		return fmt.Errorf("InvalidParameterException: When Compute Config nodeRoleArn is not null or empty, nodePool " +
			"value(s) must be provided.")
	case len(pools) > 0 && roleARN == "":
		return fmt.Errorf("InvalidParameterException: When Compute Config nodeRoleArn is null or empty, nodePool " +
			"list cannot be populated.")
	case len(slices.Compact(slices.Sorted(slices.Values(texts(pools))))) != len(pools):
		return fmt.Errorf("InvalidParameterException: duplicate values in Compute Config nodePools")
	case str(c.out, "accessConfig.authenticationMode") == "CONFIG_MAP":
		return fmt.Errorf("InvalidParameterException: EKS Auto Mode requires the cluster's authentication mode to be " +
			"API or API_AND_CONFIG_MAP")
	}
	if roleARN != "" {
		if c.s.Find(tRole, "arn", roleARN) == nil {
			return fmt.Errorf("InvalidParameterException: The node role %s does not exist", roleARN)
		}
		serviceEntry(c, c.res.ID, roleARN, "EC2")
	}
	return nil
}

func (c *call) checkClusterRole() error {
	role := c.s.Find(tRole, "arn", str(c.in, "roleArn"))
	wanted := []string{"sts:AssumeRole"}
	if autoMode(c.out) {
		wanted = append(wanted, "sts:TagSession")
	}
	for _, action := range wanted {
		if role == nil || !trusts(c.s, role, "eks.amazonaws.com", action) {
			return fmt.Errorf("InvalidParameterException: Role with arn: %s, could not be assumed because it does "+
				"not exist or the trusted entity is not correct (%s for eks.amazonaws.com)",
				str(c.in, "roleArn"), action)
		}
	}
	return nil
}

// trusts reports whether a role's trust policy lets a service do the action.
func trusts(s *world.State, role *world.Resource, service, action string) bool {
	statements, err := parsePolicy(str(role.Inputs, "assumeRolePolicy"), trustPolicy, s.Partition)
	return err == nil && slices.ContainsFunc(statements,
		func(st statement) bool { return st.allowsService(service, action) })
}

func (c *call) placeControlPlane() error {
	config := merged(obj{
		"endpointPrivateAccess": false,
		"endpointPublicAccess":  true,
		"securityGroupIds":      []any{},
	}, c.in["vpcConfig"])
	subnets := texts(list(config, "subnetIds"))
	zones, vpcs := map[string]bool{}, map[string]bool{}
	for _, id := range subnets {
		subnet := c.s.Get(tSubnet, id)
		zone := str(subnet.Outputs, "availabilityZone")
		if z, _ := c.s.ZoneNamed(zone); z.NoControlPlane {
			return fmt.Errorf("UnsupportedAvailabilityZoneException: Cannot create cluster '%s' because EKS does not "+
				"support creating control plane instances in %s, the targeted availability zone. Retry cluster "+
				"creation using control plane subnets that span at least two of these availability zones",
				c.res.ID, zone)
		}
		zones[zone], vpcs[str(subnet.Outputs, "vpcId")] = true, true
		config["vpcId"] = subnet.Outputs["vpcId"]
		if c.old == nil && c.s.FreeAddresses(id) < 6 {
			return fmt.Errorf("InvalidParameterException: Subnet %s has fewer than 6 free addresses", id)
		}
	}
	switch {
	case len(zones) < 2:
		return fmt.Errorf("InvalidParameterException: Subnets specified must be in at least two different AZs")
	case len(vpcs) > 1:
		return fmt.Errorf("InvalidParameterException: Subnets specified must be in the same VPC")
	case !truth(config, "endpointPrivateAccess") && !truth(config, "endpointPublicAccess"):
		return fmt.Errorf("InvalidParameterException: Private and public endpoint access cannot be false")
	case len(list(config, "securityGroupIds")) > 4:
		return fmt.Errorf("InvalidParameterException: at most 4 security groups")
	}
	for _, block := range texts(list(config, "publicAccessCidrs")) {
		if p, err := netip.ParsePrefix(block); err != nil || p.Addr().IsPrivate() {
			return fmt.Errorf("InvalidParameterException: The following CIDRs are not allowed in publicAccessCidrs: "+
				"[%s]", block)
		}
	}
	if !has(config, "publicAccessCidrs") {
		config["publicAccessCidrs"] = []any{}
		if truth(config, "endpointPublicAccess") {
			config["publicAccessCidrs"] = []any{"0.0.0.0/0"}
		}
	}
	if old := c.res.Outputs; old != nil {
		config["clusterSecurityGroupId"] = one(old, "vpcConfig.clusterSecurityGroupId")
	}
	c.set("vpcConfig", config)
	return nil
}

// writeLogs makes the log group that EKS makes when it has something to write and finds none.
func (c *call) writeLogs() { logsOf(c.s, c.res.ID, c.out) }

func logsOf(s *world.State, cluster string, out obj) {
	name := "/aws/eks/" + cluster + "/cluster"
	if len(list(out, "enabledClusterLogTypes")) == 0 || s.Get(tLogGroup, name) != nil {
		return
	}
	s.Put(&world.Resource{
		Type:   tLogGroup,
		ID:     name,
		Owner:  world.ByService,
		Inputs: obj{"name": name},
		Outputs: obj{
			"name":            name,
			"retentionInDays": 0.0,
			"tags":            obj{},
			"arn":             fmt.Sprintf("arn:%s:logs:%s:%s:log-group:%s", s.Partition, s.Region, s.Account, name),
		},
	})
}

// updatedBlocks are the blocks of a cluster that its update keeps when they are left out.
var updatedBlocks = []string{
	"computeConfig", "storageConfig", "accessConfig", "upgradePolicy", "kubernetesNetworkConfig", "zonalShiftConfig",
}

func updateCluster(c *call) error {
	// EKS changes only what it is told: blocks that are left out stay as they are.
	for _, k := range updatedBlocks {
		before, was := c.res.Outputs[k].(obj)
		switch {
		case was && !has(c.in, k):
			c.set(k, before)
		case was:
			c.set(k, merged(before, c.in[k]))
		}
	}
	if has(c.old, "computeConfig") && !has(c.in, "computeConfig") {
		return fmt.Errorf("InvalidParameterException: The type for cluster update was not provided.")
	}
	if has(c.old, "encryptionConfig") {
		c.set("encryptionConfig", c.old["encryptionConfig"]) // cannot be changed; the provider does not even try
	}
	if err := c.updateVersion(); err != nil {
		return err
	}
	mode := map[string]int{"CONFIG_MAP": 0, "API_AND_CONFIG_MAP": 1, "API": 2}
	if was, is := str(c.res.Outputs, "accessConfig.authenticationMode"),
		str(c.out, "accessConfig.authenticationMode"); mode[is] < mode[was] {
		return fmt.Errorf("InvalidParameterException: Unsupported authentication mode update from %s to %s", was, is)
	}
	if err := c.checkAutoMode(); err != nil {
		return err
	}
	if err := c.checkClusterRole(); err != nil {
		return err
	}
	if !autoMode(c.out) && autoMode(c.res.Outputs) {
		for _, i := range c.s.SortedInstances(func(i *world.Instance) bool {
			return i.Cluster == c.res.ID && i.Pool != ""
		}) {
			c.s.Terminate(i.ID, "Auto Mode disabled")
		}
	}
	if err := c.placeControlPlane(); err != nil {
		return err
	}
	c.writeLogs()
	return nil
}

// updateVersion goes one minor version up, or none.
func (c *call) updateVersion() error {
	from, to := str(c.res.Outputs, "version"), str(c.out, "version")
	if !has(c.in, "version") {
		c.set("version", from)
		to = from
	}
	_, known := findVersion(to)
	switch {
	case !known:
		return fmt.Errorf("InvalidParameterException: unsupported Kubernetes version update from %s to %s", from, to)
	case minor(to) < minor(from):
		return fmt.Errorf("InvalidParameterException: unsupported Kubernetes version update from %s to %s (EKS does "+
			"not go back)", from, to)
	case minor(to) > minor(from)+1:
		return fmt.Errorf("InvalidParameterException: Unsupported Kubernetes minor version update from %s to %s", from,
			to)
	}
	for _, r := range c.s.OfType(tNodeGroup) {
		if v := str(r.Outputs, "version"); r.Inputs["clusterName"] == c.res.ID && minor(to) > minor(v)+3 {
			return fmt.Errorf("InvalidParameterException: Nodegroup %s is at %s; update it before the control plane "+
				"goes to %s", r.ID, v, to)
		}
	}
	return nil
}

func deleteCluster(c *call) error {
	s := c.s
	role := s.Find(tRole, "arn", str(c.out, "roleArn"))
	if autoMode(c.out) {
		for _, i := range s.SortedInstances(func(i *world.Instance) bool {
			return i.Cluster == c.res.ID && i.Pool != ""
		}) {
			// Auto Mode's nodes go with the cluster; Karpenter's stay and cost money
			s.Terminate(i.ID, "cluster deleted")
		}
	}
	group := str(c.out, "vpcConfig.clusterSecurityGroupId")
	if sg := s.Get(tSecurityGroup, group); sg != nil {
		// Without its permissions EKS cannot remove what it made, and EC2 keeps a group that is on an interface.
		if groupInUse(s, group) != nil || role == nil || !hasPolicy(s, role.ID, "AmazonEKSClusterPolicy") {
			sg.Owner = world.ByService
		}
	}
	for key := range s.Objects {
		if strings.HasPrefix(key, c.res.ID+"|") {
			delete(s.Objects, key)
		}
	}
	return nil
}
