package aws

import (
	"encoding/base64"
	"fmt"
	"regexp"
	"strings"

	"github.com/headroom-eks/headroom/sandbox/authority"
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
	typ: tCluster,
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
	filled: map[string][]string{"vpcConfig": {"clusterSecurityGroupId", "vpcId"}},
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
	certificate, err := authority.Of(c.res.ID)
	if err != nil {
		return err
	}
	ca := base64.StdEncoding.EncodeToString(certificate)
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
		serviceEntry(c, c.res.ID, s.CallerPrincipal(), "STANDARD")
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
