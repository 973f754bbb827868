package aws

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"

	"github.com/headroom-eks/headroom/sandbox/world"
)

var nodeGroupRow = resourceRow{
	typ: tNodeGroup,
	inputs: []string{
		"amiType", "capacityType", "clusterName", "diskSize", "forceUpdateVersion", "instanceTypes", "labels",
		"launchTemplate", "nodeGroupName", "nodeGroupNamePrefix", "nodeRepairConfig", "nodeRoleArn",
		"releaseVersion", "remoteAccess", "scalingConfig", "subnetIds", "taints", "updateConfig", "version",
	},
	required: []string{"clusterName", "nodeRoleArn", "scalingConfig", "subnetIds"},
	lists:    []string{"instanceTypes"},
	replaces: []string{
		"amiType", "capacityType", "clusterName", "diskSize", "instanceTypes", "nodeGroupName",
		"nodeGroupNamePrefix", "nodeRoleArn", "remoteAccess", "subnetIds", "launchTemplate.id",
		"launchTemplate.name",
	},
	name: naming{
		property: "nodeGroupName",
		prefix:   "nodeGroupNamePrefix",
		auto:     true,
		min:      1,
		max:      63,
		pattern:  regexp.MustCompile(`^[0-9A-Za-z][A-Za-z0-9\-_]*$`),
		says:     "begin with a letter or digit; letters, digits, - and _",
	},
	enums: map[string][]string{
		"amiType":       slices.Sorted(maps.Keys(amiTypes)),
		"capacityType":  {"ON_DEMAND", "SPOT", "CAPACITY_BLOCK"},
		"taints.effect": {"NO_SCHEDULE", "NO_EXECUTE", "PREFER_NO_SCHEDULE"},
	},
	ranges: map[string]span{
		"scalingConfig.minSize":                 {0, 1 << 30},
		"scalingConfig.maxSize":                 {1, 1 << 30},
		"scalingConfig.desiredSize":             {0, 1 << 30},
		"updateConfig.maxUnavailable":           {1, 100},
		"updateConfig.maxUnavailablePercentage": {1, 100},
		"diskSize":                              {1, 16384},
	},
	refs: []reference{
		{
			path: "clusterName",
			typ:  tCluster,
			gone: "ResourceNotFoundException: No cluster found for name: {value}.",
		},
		{path: "nodeRoleArn", typ: tRole, by: "arn", onGone: dangles},
		{
			path:   "subnetIds",
			typ:    tSubnet,
			gone:   "InvalidRequestException: The subnet ID '{value}' does not exist",
			onGone: dangles,
		},
		{
			path:   "launchTemplate.id",
			typ:    tLaunchTemplate,
			gone:   "InvalidRequestException: Launch template {value} not found",
			onGone: dangles,
		},
		{
			path:   "launchTemplate.name",
			typ:    tLaunchTemplate,
			by:     "name",
			gone:   "InvalidRequestException: Launch template {value} not found",
			onGone: dangles,
		},
	},
	id:     "{clusterName}:{nodeGroupName}",
	arn:    "arn:{partition}:eks:{region}:{account}:nodegroup/{clusterName}/{nodeGroupName}",
	tagged: true,
	exists: "ResourceInUseException: NodeGroup already exists with name {nodeGroupName} and cluster name " +
		"{clusterName}",
	defaults: obj{
		"capacityType":     "ON_DEMAND",
		"updateConfig":     obj{"maxUnavailable": 1},
		"labels":           obj{},
		"taints":           []any{},
		"nodeRepairConfig": obj{"enabled": false},
	},
	computed: map[string]string{"status": "ACTIVE", "asg": "eks-{nodeGroupName}-{random}"},
	check:    checkNodeGroupInputs,
	onCreate: createNodeGroup,
	onUpdate: updateNodeGroup,
	onRead:   readNodeGroup,
	onDelete: deleteNodeGroup,
}

func createNodeGroup(c *call) error {
	s := c.s
	cluster := s.Get(tCluster, str(c.in, "clusterName"))
	groups := 0
	for _, r := range s.OfType(tNodeGroup) {
		if r.Inputs["clusterName"] == cluster.ID {
			groups++
		}
	}
	if float64(groups) >= s.Quotas[world.QuotaNodeGroups] {
		return fmt.Errorf("ResourceLimitExceededException: Nodegroup limit exceeded for cluster %s (quota %s is %g)",
			cluster.ID, world.QuotaNodeGroups, s.Quotas[world.QuotaNodeGroups])
	}
	version := cmp.Or(str(c.in, "version"), str(cluster.Outputs, "version"))
	c.set("version", version)
	if err := c.checkNodeGroup(cluster); err != nil {
		return err
	}
	asg := str(c.out, "asg")
	delete(c.out, "asg")
	c.set("resources", []any{obj{"autoscalingGroups": []any{obj{"name": asg}}, "remoteAccessSecurityGroupId": ""}})
	s.LinkRole("AWSServiceRoleForAmazonEKSNodegroup")
	s.LinkRole("AWSServiceRoleForAutoScaling")
	if str(c.out, "capacityType") == "SPOT" {
		s.LinkRole(world.SpotRole) // EKS makes it for managed groups
	}
	if str(cluster.Outputs, "accessConfig.authenticationMode") != "CONFIG_MAP" {
		serviceEntry(c, cluster.ID, str(c.in, "nodeRoleArn"), "EC2_LINUX")
	}
	g := &world.Group{Name: asg, Cluster: cluster.ID, NodeGroup: str(c.out, "nodeGroupName"), Tags: map[string]string{
		"k8s.io/cluster-autoscaler/enabled":       "true",
		"k8s.io/cluster-autoscaler/" + cluster.ID: "owned",
		"kubernetes.io/cluster/" + cluster.ID:     "owned",
		"eks:cluster-name":                        cluster.ID,
		"eks:nodegroup-name":                      str(c.out, "nodeGroupName"),
	}}
	c.shape(g, cluster)
	s.Groups[asg] = g
	return c.nodesCome(g, cluster)
}

// shape brings the group's bounds and the look of its nodes in line with the node group.
func (c *call) shape(g *world.Group, cluster *world.Resource) {
	g.Min, g.Max, g.Desired = num(c.in, "scalingConfig.minSize"), num(c.in, "scalingConfig.maxSize"),
		num(c.in, "scalingConfig.desiredSize")
	g.Subnets, g.InstanceTypes, g.Spot = texts(list(c.in, "subnetIds")), texts(list(c.out, "instanceTypes")),
		str(c.out, "capacityType") == "SPOT"
	g.SecurityGroups = []string{str(cluster.Outputs, "vpcConfig.clusterSecurityGroupId")}
	g.InstanceTags = map[string]string{}
	template := c.template()
	if types := str(template, "instanceType"); types != "" {
		g.InstanceTypes = []string{types}
	}
	if groups := texts(list(template, "vpcSecurityGroupIds")); len(groups) > 0 {
		g.SecurityGroups = groups
	}
	for _, v := range list(template, "tagSpecifications") {
		if spec, _ := v.(obj); str(spec, "resourceType") == "instance" {
			g.InstanceTags = stringMap(spec["tags"])
		}
	}
}

// nodesCome starts the group's nodes, and says why they do not join where they do not.
func (c *call) nodesCome(g *world.Group, cluster *world.Resource) error {
	fail := func(code, format string, args ...any) error {
		c.set("status", "CREATE_FAILED")
		if c.old != nil {
			c.set("status", "DEGRADED")
		}
		return &unfinished{fmt.Sprintf("waiting for EKS Node Group (%s): unexpected state '%s', wanted target "+
			"'ACTIVE'. last error: %s: %s", c.res.ID, str(c.out, "status"), code, fmt.Sprintf(format, args...))}
	}
	c.set("status", "ACTIVE")
	if err := c.s.Settle(g); err != nil {
		return fail("AsgInstanceLaunchFailures", "Could not launch instances. %v", err)
	}
	if g.Desired == 0 {
		return nil
	}
	for _, label := range sorted(obj(anyMap(c.out["labels"]))) {
		if kubeletRefuses(label) {
			return fail("NodeCreationFailure", "Instances failed to join the kubernetes cluster (the kubelet does "+
				"not start with label %s)", label)
		}
	}
	role := c.s.Find(tRole, "arn", str(c.in, "nodeRoleArn"))
	if !hasPolicy(c.s, role.ID, "AmazonEKSWorkerNodePolicy", "AmazonEKSWorkerNodeMinimalPolicy") ||
		!hasPolicy(c.s, role.ID, "AmazonEC2ContainerRegistryReadOnly", "AmazonEC2ContainerRegistryPullOnly") {
		return fail("NodeCreationFailure", "Instances failed to join the kubernetes cluster (role %s lacks a worker "+
			"node or registry policy at this moment)", role.ID)
	}
	if !truth(cluster.Outputs, "bootstrapSelfManagedAddons") && c.s.Get(tAddon, cluster.ID+":vpc-cni") == nil &&
		!autoMode(cluster.Outputs) {
		return fail("NodeCreationFailure", "Unhealthy nodes in the kubernetes cluster (no network plugin: neither "+
			"the vpc-cni add-on nor the self-managed ones)")
	}
	return nil
}

func anyMap(v any) map[string]any { o, _ := v.(obj); return o }

// template returns the inputs of the launch template's version that the node group names, or nothing.
func (c *call) template() obj {
	var r *world.Resource
	if id := str(c.in, "launchTemplate.id"); id != "" {
		r = c.s.Get(tLaunchTemplate, id)
	} else if name := str(c.in, "launchTemplate.name"); name != "" {
		r = c.s.Find(tLaunchTemplate, "name", name)
	}
	if r == nil {
		return nil
	}
	version := c.templateVersion(r)
	if version < 1 || version > len(r.Versions) {
		return nil
	}
	return r.Versions[version-1]
}

func (c *call) templateVersion(r *world.Resource) int {
	switch v := str(c.in, "launchTemplate.version"); v {
	case "$Latest":
		return len(r.Versions)
	case "$Default", "":
		return num(r.Outputs, "defaultVersion")
	default:
		n, err := strconv.Atoi(v)
		if err != nil {
			return 0
		}
		return n
	}
}

func (c *call) group() *world.Group {
	for _, v := range at(c.res.Outputs, "resources.autoscalingGroups.name") {
		if name, ok := v.(string); ok {
			return c.s.Groups[name]
		}
	}
	return nil
}

func updateNodeGroup(c *call) error {
	cluster := c.s.Get(tCluster, str(c.in, "clusterName"))
	g := c.group()
	if g == nil {
		return fmt.Errorf("ResourceNotFoundException: the Auto Scaling group of %s is gone", c.res.ID)
	}
	if str(c.res.Outputs, "status") == "CREATE_FAILED" {
		// For good: EKS neither repairs nor updates it, it must be replaced.
		// https://github.com/aws/containers-roadmap/issues/764
		if d := c.row.diff(c.old, c.res.Outputs, c.in, []string{"tags"}); len(d.Changed) > 0 {
			return fmt.Errorf("ResourceInUseException: Nodegroup cannot be updated as it is currently not in Active "+
				"State (%s is CREATE_FAILED; replace it)",
				c.res.ID)
		}
		c.set("status", "CREATE_FAILED")
		return nil
	}
	// What was left out keeps what EKS had chosen.
	for _, k := range []string{"version", "releaseVersion", "amiType", "instanceTypes", "diskSize"} {
		if !has(c.in, k) && has(c.res.Outputs, k) {
			c.out[k] = c.res.Outputs[k]
		}
	}
	if has(c.in, "version") && !has(c.in, "releaseVersion") && str(c.in, "version") != str(c.res.Outputs, "version") {
		c.set("releaseVersion", latestRelease(str(c.in, "version")))
	}
	if minor(str(c.out, "version")) < minor(str(c.res.Outputs, "version")) {
		return fmt.Errorf("InvalidParameterException: Nodegroup version cannot go back from %s to %s",
			str(c.res.Outputs, "version"), str(c.out, "version"))
	}
	live := *g
	if err := c.checkNodeGroup(cluster); err != nil {
		return err
	}
	c.shape(g, cluster)
	if same(c.state["scalingConfig"], c.in["scalingConfig"]) {
		// The provider sends sizes only when one of them changed. Then it sends all three: the desired size in its
		// inputs wins over the live one.
		g.Min, g.Max, g.Desired = live.Min, live.Max, live.Desired
	}
	rolls := func(k string) bool { return !same(c.res.Outputs[k], c.out[k]) }
	if slices.ContainsFunc(ofNodes, rolls) {
		if err := c.s.Roll(g); err != nil {
			for _, k := range ofNodes { // what the nodes are has not changed
				c.out[k] = c.res.Outputs[k]
			}
			return &unfinished{fmt.Sprintf("waiting for EKS Node Group (%s) version update: unexpected state "+
				"'Failed', wanted target 'Successful'. last error: NodeCreationFailure: Couldn't proceed with upgrade "+
				"process as new nodes are not joining node group %s (%v)", c.res.ID, str(c.out, "nodeGroupName"), err)}
		}
	}
	return c.nodesCome(g, cluster)
}

// ofNodes are the properties with which EKS starts nodes: to change one replaces them.
var ofNodes = []string{"launchTemplate", "version", "releaseVersion"}

// readNodeGroup brings in what an autoscaler, a person or AWS itself did to the sizes.
func readNodeGroup(c *call) error {
	g := c.group()
	if g == nil {
		return nil
	}
	live := obj{"minSize": float64(g.Min), "maxSize": float64(g.Max), "desiredSize": float64(g.Desired)}
	c.out["scalingConfig"] = live
	c.in["scalingConfig"] = clone(live)
	return nil
}

func deleteNodeGroup(c *call) error {
	role := c.s.Find(tRole, "arn", str(c.in, "nodeRoleArn"))
	if role == nil {
		return fmt.Errorf("waiting for EKS Node Group (%s) to delete: unexpected state 'DELETE_FAILED'. last error: "+
			"IamNodeRoleNotFound: the node role %s was deleted before the node group",
			c.res.ID, str(c.in, "nodeRoleArn"))
	}
	if g := c.group(); g != nil {
		g.Desired, g.Min = 0, 0
		if err := c.s.Settle(g); err != nil {
			return err
		}
		delete(c.s.Groups, g.Name)
	}
	for _, r := range c.s.OfType(tNodeGroup) {
		if r.ID != c.res.ID && r.Inputs["nodeRoleArn"] == c.in["nodeRoleArn"] {
			return nil // the role's access entry is still needed
		}
	}
	key := world.Key(tEntry, str(c.in, "clusterName")+":"+str(c.in, "nodeRoleArn"))
	if e := c.s.Resources[key]; e != nil && e.URN == "" {
		delete(c.s.Resources, key)
	}
	return nil
}
