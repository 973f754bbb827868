package aws

import (
	"strings"
	"testing"

	"github.com/headroom-eks/headroom/sandbox/plugin"
	"github.com/headroom-eks/headroom/sandbox/world"
)

// clustersUnderTest is an account with all that a cluster needs, and the inputs of two that EKS takes.
type clustersUnderTest struct {
	*account
	network
	node       thing // a role for nodes
	good, auto obj   // auto is with Auto Mode
}

func clustersToRefuse(t *testing.T) clustersUnderTest {
	c := clustersUnderTest{account: newAccount(t)}
	c.network = c.account.network()
	role, _ := c.role("cluster", "eks.amazonaws.com")
	c.node, _ = c.role("node", "ec2.amazonaws.com")
	c.good = clusterInputs(c.network, role)
	c.auto = with(c.good, autoModeInputs(true, c.node), obj{"bootstrapSelfManagedAddons": false})
	return c
}

// autoModeInputs switch Auto Mode on or off, with a built-in pool and its node role.
func autoModeInputs(on bool, node thing) obj {
	return obj{
		"computeConfig": obj{
			"enabled":     on,
			"nodePools":   []string{"system"},
			"nodeRoleArn": node.out["arn"],
		},
		"kubernetesNetworkConfig": obj{"elasticLoadBalancing": obj{"enabled": on}},
		"storageConfig":           obj{"blockStorage": obj{"enabled": on}},
	}
}

func TestClusterRefusals(t *testing.T) {
	c := clustersToRefuse(t)
	placed := func(changes obj) obj {
		return with(c.good, obj{"vpcConfig": with(c.good["vpcConfig"].(obj), changes)})
	}
	for name, r := range map[string]refusal{
		"version EKS does not serve": {with(c.good, obj{"version": "1.37"}),
			[]string{"InvalidParameterException", "1.37"}},
		"role that trusts another": {with(c.good, obj{"roleArn": c.node.out["arn"]}), []string{"could not be assumed"}},
		"role that is not there": {with(c.good, obj{"roleArn": "arn:aws:iam::123456789012:role/none"}),
			[]string{"could not be assumed"}},
		"one zone": {placed(obj{"subnetIds": []string{c.a.id}}), []string{"at least two different AZs"}},
		"no endpoint": {placed(obj{"endpointPrivateAccess": false}),
			[]string{"Private and public endpoint access cannot be false"}},
		"private blocks": {placed(obj{
			"endpointPublicAccess": true,
			"publicAccessCidrs":    []string{"10.0.0.0/8"},
		}), []string{"not allowed in publicAccessCidrs"}},
		"subnet that is not there": {placed(obj{"subnetIds": []string{c.a.id, "subnet-none"}}),
			[]string{"InvalidSubnetID.NotFound"}},
		"key that is not there": {with(c.good, obj{"encryptionConfig": obj{
			"provider":  obj{"keyArn": "arn:aws:kms:us-west-2:123456789012:key/none"},
			"resources": []string{"secrets"},
		}}), []string{"Key", "does not exist"}},
		"config map without its admin": {with(c.good, obj{"accessConfig": obj{
			"authenticationMode":                      "CONFIG_MAP",
			"bootstrapClusterCreatorAdminPermissions": false,
		}}), []string{"must be true"}},
	} {
		t.Run(name, func(t *testing.T) { c.on(t).refuses(tCluster, r.in, r.wanted...) })
	}
}

func TestAutoModeRefusals(t *testing.T) {
	c := clustersToRefuse(t)
	for name, r := range map[string]refusal{
		// Field fault BR-82: the flags of Auto Mode move together.
		"compute alone": {with(c.auto, obj{"storageConfig": nil}),
			[]string{"must all be set to either true or false"}},
		"storage alone": {with(c.good, obj{"storageConfig": obj{"blockStorage": obj{"enabled": true}}}),
			[]string{"must all be set to either true or false"}},
		"Auto Mode and own add-ons": {with(c.auto, obj{"bootstrapSelfManagedAddons": nil}),
			[]string{"bootstrapSelfManagedAddons must be false"}},
		"node role without a pool": {with(c.auto, obj{"computeConfig": obj{
			"enabled":     true,
			"nodePools":   []string{},
			"nodeRoleArn": c.node.out["arn"],
		}}), []string{"nodePool value(s) must be provided"}},
		"pool without a node role": {with(c.auto, obj{"computeConfig": obj{
			"enabled":   true,
			"nodePools": []string{"system"},
		}}), []string{"nodePool list cannot be populated"}},
		"Auto Mode with config maps": {with(c.auto, obj{"accessConfig": obj{"authenticationMode": "CONFIG_MAP"}}),
			[]string{"authentication mode"}},
	} {
		t.Run(name, func(t *testing.T) { c.on(t).refuses(tCluster, r.in, r.wanted...) })
	}
	untagged := c.create(tRole, "plain", obj{"assumeRolePolicy": trust("eks.amazonaws.com")})
	c.refuses(tCluster, with(c.auto, obj{"roleArn": untagged.out["arn"]}), "sts:TagSession")
	// Field fault BR-84.
	c.fails(tCluster, with(c.auto, obj{"computeConfig": obj{
		"enabled":   true,
		"nodePools": []string{"general-purpose", "sytem"},
	}}), "computeConfig.nodePools", "general-purpose, system")
}

func TestClusterInputsTheProviderRefuses(t *testing.T) {
	c := clustersToRefuse(t)
	c.fails(tCluster, with(c.good, obj{"name": strings.Repeat("x", 101)}), "name", "1 - 100")
	c.fails(tCluster, with(c.good, obj{"name": "a.b"}), "name", "letters")
	c.fails(tCluster, with(c.good, obj{"version": "latest"}), "version", "not a Kubernetes version")
	c.fails(tCluster, with(c.good, obj{"upgradePolicy": obj{"supportType": "standard"}}), "upgradePolicy.supportType",
		"one of")
}

func TestClustersHaveDistinctNamesAndAQuota(t *testing.T) {
	c := clustersToRefuse(t)
	c.create(tCluster, "auto", c.auto)
	c.refuses(tCluster, c.auto, "ResourceInUseException", "already exists with name")
	c.act(func(s *world.State) error { return s.SetQuota(world.QuotaClusters, 1) })
	c.refuses(tCluster, with(c.good, obj{"name": "second"}), "ResourceLimitExceededException")
}

func TestAControlPlaneCannotBePlacedInEveryZone(t *testing.T) {
	t.Setenv(world.RegionVariable, "us-east-1")
	a := newAccount(t)
	vpc := a.create(tVpc, "net", obj{"cidrBlock": "10.0.0.0/16"})
	d := a.create(tSubnet, "d", obj{"vpcId": vpc.id, "cidrBlock": "10.0.0.0/20", "availabilityZone": "us-east-1d"})
	e := a.create(tSubnet, "e", obj{"vpcId": vpc.id, "cidrBlock": "10.0.16.0/20", "availabilityZone": "us-east-1e"})
	role, _ := a.role("cluster", "eks.amazonaws.com")
	a.refuses(tCluster, clusterInputs(network{vpc, d, e}, role), "UnsupportedAvailabilityZoneException", "us-east-1e")
}

func TestUpgradesGoOneMinorAtATimeAndNeverBack(t *testing.T) {
	a := newAccount(t)
	n := a.network()
	role, _ := a.role("cluster", "eks.amazonaws.com", "AmazonEKSClusterPolicy")
	in := with(clusterInputs(n, role), obj{"version": "1.34"})
	cluster := a.create(tCluster, "c", in)
	_, err := a.tryUpdate(cluster, with(in, obj{"version": "1.36"}))
	wantError(t, err, "Unsupported Kubernetes minor version update from 1.34 to 1.36")
	_, err = a.tryUpdate(cluster, with(in, obj{"version": "1.33"}))
	wantError(t, err, "does not go back")
	if d := a.diff(cluster, with(in, obj{"version": "1.35"})); len(d.Replaces) > 0 || len(d.Changed) != 1 {
		t.Errorf("an upgrade changes %v and replaces %v", d.Changed, d.Replaces)
	}
	cluster = a.update(cluster, with(in, obj{"version": "1.35"}))
	cluster = a.update(cluster, with(in, obj{"version": nil}))
	if v := str(cluster.out, "version"); v != "1.35" {
		t.Errorf("a version left out became %s", v)
	}
}

// Field fault BR-83: opting in must not replace, and leaving the blocks out does not opt out.
func TestAutoModeInAndOut(t *testing.T) {
	a := newAccount(t)
	n := a.network()
	role, _ := a.role("cluster", "eks.amazonaws.com", "AmazonEKSClusterPolicy")
	node, _ := a.role("node", "ec2.amazonaws.com")
	in := with(clusterInputs(n, role), obj{"bootstrapSelfManagedAddons": false})
	on, off := with(in, autoModeInputs(true, node)), with(in, autoModeInputs(false, node))
	cluster := a.create(tCluster, "c", in)
	if d := a.diff(cluster, on); len(d.Replaces) > 0 {
		t.Errorf("opting in replaces for %v", d.Replaces)
	}
	cluster = a.update(cluster, on)
	a.asks("aws:eks/getAccessEntry:getAccessEntry", obj{"clusterName": cluster.id, "principalArn": node.out["arn"]})

	replaces := func(wanted obj) bool { return len(a.diff(cluster, wanted).Replaces) > 0 }
	if !replaces(with(on, obj{"computeConfig": obj{
		"enabled":     true,
		"nodePools":   []string{"system"},
		"nodeRoleArn": "arn:aws:iam::123456789012:role/other",
	}})) {
		t.Error("another node role does not replace")
	}
	if !replaces(with(off, obj{"computeConfig": obj{"enabled": false}})) {
		t.Error("opting out and dropping the node role at once does not replace, as it does with the real provider")
	}
	if replaces(off) {
		t.Error("opting out with the node role kept replaces")
	}
	_, err := a.b.Diff(plugin.Request{
		Type:       tCluster,
		ID:         cluster.id,
		Inputs:     toProperties(plain(in).(obj)),
		OldInputs:  toProperties(cluster.in),
		OldOutputs: toProperties(cluster.out),
	})
	wantError(t, err, "must all be set to either true or false")
	_, err = a.tryUpdate(cluster, with(in, obj{"kubernetesNetworkConfig": off["kubernetesNetworkConfig"]}))
	wantError(t, err, "The type for cluster update was not provided")

	a.act(func(s *world.State) error {
		_, err := s.ScaleNodePool(world.NodePool{
			Cluster:       cluster.id,
			Name:          "gpu",
			InstanceTypes: []string{"g6.xlarge"},
			Subnets:       n.subnets(),
		}, 1)
		return err
	})
	cluster = a.update(cluster, off)
	if ids := list(a.asks("aws:ec2/getInstances:getInstances", obj{}), "ids"); autoMode(cluster.out) || len(ids) > 0 {
		t.Errorf("after opting out: enabled %v, instances %v", autoMode(cluster.out), ids)
	}
}

func TestClusterDeletionTakesWhatEKSMadeAndOnlyThat(t *testing.T) {
	a := newAccount(t)
	p := a.platform()
	if len(a.leftovers()) == 0 {
		t.Fatal("nothing was made")
	}
	a.act(func(s *world.State) error {
		_, err := s.ScaleNodePool(world.NodePool{
			Cluster:        p.cluster.id,
			Name:           "gpu",
			InstanceTypes:  []string{"g6.xlarge"},
			Subnets:        p.subnets(),
			SecurityGroups: []string{str(p.cluster.out, "vpcConfig.clusterSecurityGroupId")},
		}, 1)
		return err
	})
	a.deletes(p.cluster)
	left := strings.Join(a.leftovers(), " ")
	// Field fault BR-87: a node that outlives its controller keeps the cluster's security group, and that the network.
	if !strings.Contains(left, "i-") || !strings.Contains(left,
		str(p.cluster.out, "vpcConfig.clusterSecurityGroupId")) {
		t.Errorf("left: %s", left)
	}
	wantError(t, a.delete(p.a), "DependencyViolation")
}

func TestAClusterDeletedWithoutItsPolicyLeavesItsSecurityGroup(t *testing.T) {
	a := newAccount(t)
	p := a.platform()
	a.deletes(p.policies...)
	a.deletes(p.cluster, p.nodeRole, p.clusterRole, p.a, p.b)
	wantError(t, a.delete(p.vpc), "DependencyViolation")
}

func TestLogGroupsOfControlPlanes(t *testing.T) {
	a := newAccount(t)
	n := a.network()
	role, _ := a.role("cluster", "eks.amazonaws.com", "AmazonEKSClusterPolicy")
	in := with(clusterInputs(n, role), obj{"enabledClusterLogTypes": []string{"audit"}})
	cluster := a.create(tCluster, "c", in)
	// EKS was first: the group is there already, for good.
	a.refuses(tLogGroup, obj{"name": "/aws/eks/headroom-test/cluster"}, "ResourceAlreadyExistsException")
	a.deletes(cluster)
	if left := strings.Join(a.leftovers(), " "); !strings.Contains(left, "/aws/eks/headroom-test/cluster") {
		t.Errorf("EKS's log group went with the cluster: %s", left)
	}
	a.act(func(s *world.State) error { return s.Remove(world.Key(tLogGroup, "/aws/eks/headroom-test/cluster")) })
	logs := a.create(tLogGroup, "logs", obj{"name": "/aws/eks/headroom-test/cluster", "retentionInDays": 30})
	a.create(tCluster, "c", in)
	a.deletes(logs) // too early: the control plane writes on
	if left := strings.Join(a.leftovers(), " "); !strings.Contains(left, "/aws/eks/headroom-test/cluster") {
		t.Error("a control plane that logs did not make its group again")
	}
	a.fails(tLogGroup, obj{"retentionInDays": 31}, "retentionInDays", "one of")
	a.fails(tLogGroup, obj{"name": "a b"}, "name", "letters")
}

func TestAddonRefusals(t *testing.T) {
	a := newAccount(t)
	p := a.platform()
	in := func(name string, version any) obj {
		return obj{
			"clusterName":              p.cluster.id,
			"addonName":                name,
			"addonVersion":             version,
			"resolveConflictsOnCreate": "OVERWRITE",
		}
	}
	a.refuses(tAddon, in("vpc-cni", "v1.0.0-eksbuild.1"), "Addon version specified is not supported")
	a.refuses(tAddon, in("vpc-cnl", nil), "Addon vpc-cnl specified is not supported")
	a.refuses(tAddon, with(in("vpc-cni", nil), obj{"clusterName": "none"}), "No cluster found")
	a.refuses(tAddon, with(in("vpc-cni", nil), obj{"serviceAccountRoleArn": "arn:aws:iam::123456789012:role/none"}),
		"does not exist")
	a.fails(tAddon, with(in("vpc-cni", nil), obj{"resolveConflictsOnCreate": "PRESERVE"}), "resolveConflictsOnCreate",
		"one of")
	a.create(tAddon, "cni", in("vpc-cni", "v1.22.3-eksbuild.1"))
	a.refuses(tAddon, in("vpc-cni", nil), "ResourceInUseException", "Addon already exists")
	// Field faults BR-58 and BR-59: DNS needs a node, and one it tolerates.
	a.refuses(tAddon, in("coredns", "v1.14.3-eksbuild.3"), "DEGRADED", "InsufficientNumberOfReplicas")
	dns := thing{typ: tAddon, name: "dns", id: p.cluster.id + ":coredns"}
	a.deletes(dns) // a failed add-on is there, and can be deleted
	lt := a.create(tLaunchTemplate, "gpu", templateInputs("gpu-l4"))
	a.create(tNodeGroup, "gpu", groupInputs(p, lt, 1, 1, 1))
	a.refuses(tAddon, in("coredns", "v1.14.3-eksbuild.3"), "InsufficientNumberOfReplicas")
	a.deletes(dns)
	a.create(tAddon, "tolerant", with(in("coredns", "v1.14.3-eksbuild.3"),
		obj{"configurationValues": `{"tolerations":[{"key":"nvidia.com/gpu","operator":"Exists"}]}`}))
}

func TestAccessEntryRefusals(t *testing.T) {
	a := newAccount(t)
	p := a.platform()
	in := func(principal string, more obj) obj {
		return with(obj{"clusterName": p.cluster.id, "principalArn": principal}, more)
	}
	admin := "arn:aws:iam::123456789012:role/admin"
	entry := a.create(tEntry, "admin", in(admin, nil))
	a.refuses(tEntry, in(admin, nil), "ResourceInUseException", "already in use")
	// The creator is an admin already.
	a.refuses(tEntry, in("arn:aws:iam::123456789012:role/headroom-sandbox", nil), "ResourceInUseException")
	a.refuses(tEntry, in("admin", nil), "format is not valid")
	// Field fault BR-44.
	a.refuses(tEntry, in(str(p.nodeRole.out, "arn"), obj{
		"type":             "EC2_LINUX",
		"kubernetesGroups": []string{"system:nodes"},
	}), "kubernetesGroups cannot be specified")
	a.refuses(tEntry, in(str(p.nodeRole.out, "arn"), obj{"kubernetesGroups": []string{"system:masters"}}),
		"cannot start with system:")
	a.refuses(tEntry, in("arn:aws:iam::123456789012:role/none", obj{"type": "EC2_LINUX"}), "invalid principal")
	a.fails(tEntry, in(admin, obj{"type": "EC2_WIN"}), "type", "one of")
	scope := obj{"type": "cluster"}
	good := in(admin, obj{
		"policyArn":   "arn:aws:eks::aws:cluster-access-policy/AmazonEKSClusterAdminPolicy",
		"accessScope": scope,
	})
	a.create(tAssoc, "admin", good)
	a.refuses(tAssoc, with(good, obj{"principalArn": "arn:aws:iam::123456789012:role/none"}),
		"ResourceNotFoundException")
	a.refuses(tAssoc, with(good, obj{"policyArn": "arn:aws:iam::aws:policy/AdministratorAccess"}),
		"policyArn is invalid")
	a.refuses(tAssoc, with(good, obj{"accessScope": obj{"type": "namespace"}}), "namespaces must be given")
	a.deletes(entry)
	if left := strings.Join(a.leftovers(), " "); strings.Contains(left, "AmazonEKSClusterAdminPolicy") {
		t.Error("the association outlives its entry")
	}
	// Field fault BR-45: EKS makes the entry of a managed group's role itself.
	lt := a.create(tLaunchTemplate, "gpu", templateInputs("gpu-l4"))
	group := a.create(tNodeGroup, "gpu", groupInputs(p, lt, 0, 0, 1))
	a.refuses(tEntry, in(str(p.nodeRole.out, "arn"), obj{"type": "EC2_LINUX"}), "ResourceInUseException")
	a.deletes(group)
	a.create(tEntry, "node", in(str(p.nodeRole.out, "arn"), obj{"type": "EC2_LINUX"}))
}

func TestPodIdentity(t *testing.T) {
	a := newAccount(t)
	p := a.platform()
	const typ = "aws:eks/podIdentityAssociation:PodIdentityAssociation"
	role, _ := a.role("pods", "pods.eks.amazonaws.com")
	in := obj{
		"clusterName":    p.cluster.id,
		"namespace":      "kube-system",
		"serviceAccount": "x",
		"roleArn":        role.out["arn"],
	}
	a.refuses(typ, with(in, obj{"roleArn": p.nodeRole.out["arn"]}), "Trust policy", "pods.eks.amazonaws.com")
	association := a.create(typ, "x", in)
	a.refuses(typ, in, "ResourceInUseException", "Association already exists")
	a.deletes(association)
}
