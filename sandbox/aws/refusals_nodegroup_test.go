package aws

import (
	"slices"
	"strings"
	"testing"

	"github.com/headroom-eks/headroom/sandbox/world"
)

// groupsUnderTest is an account with all that a node group needs, and the inputs of one that EKS takes.
type groupsUnderTest struct {
	*account
	platform
	template, elsewhere thing // elsewhere is a subnet in a zone without GPU types
	good                obj
}

func groupsToRefuse(t *testing.T) groupsUnderTest {
	a := newAccount(t)
	p := a.platform()
	g := groupsUnderTest{account: a, platform: p}
	g.template = a.create(tLaunchTemplate, "gpu", templateInputs("gpu-l4"))
	g.elsewhere = a.create(tSubnet, "net-d", obj{
		"vpcId":            p.vpc.id,
		"cidrBlock":        "10.0.32.0/20",
		"availabilityZone": "us-west-2d",
	})
	g.good = groupInputs(p, g.template, 0, 1, 4)
	return g
}

func (g groupsUnderTest) sized(low, desired, high int) obj {
	return with(g.good, obj{"scalingConfig": obj{"minSize": low, "desiredSize": desired, "maxSize": high}})
}

// templated is a group whose launch template has something more.
func (g groupsUnderTest) templated(name string, more obj) obj {
	other := g.create(tLaunchTemplate, name, with(templateInputs("x"), more))
	return with(g.good, obj{"launchTemplate": obj{"id": other.id, "version": "1"}})
}

func TestNodeGroupRefusals(t *testing.T) {
	g := groupsToRefuse(t)
	for name, c := range map[string]refusal{
		// Field fault BR-68.
		"zone without the type": {with(g.good, obj{"subnetIds": []string{g.a.id, g.elsewhere.id}}),
			[]string{"g6.xlarge", "not supported in your requested Availability Zone (us-west-2d)"}},
		"subnet not there": {with(g.good, obj{"subnetIds": []string{"subnet-none"}}), []string{"subnet-none"}},
		"reserved label": {with(g.good, obj{"labels": obj{"eks.amazonaws.com/x": "y"}}),
			[]string{"reserved prefixes"}},
	} {
		t.Run(name, func(t *testing.T) { g.on(t).refuses(tNodeGroup, c.in, c.wanted...) })
	}
}

func TestNodeGroupSizesContradict(t *testing.T) {
	g := groupsToRefuse(t)
	for name, c := range map[string]refusal{
		// Field fault BR-16.
		"desired below minimum": {g.sized(2, 1, 10),
			[]string{"Minimum capacity 2 can't be greater than desired size 1"}},
		"desired above maximum": {g.sized(0, 5, 3), []string{"desired capacity 5 can't be greater than max size 3"}},
		"minimum above maximum": {g.sized(4, 4, 3),
			[]string{"Minimum capacity 4 can't be greater than maximum size 3"}},
		"more nodes than quota": {g.sized(0, 0, 451), []string{"ResourceLimitExceededException", "450"}},
	} {
		t.Run(name, func(t *testing.T) { g.on(t).refuses(tNodeGroup, c.in, c.wanted...) })
	}
}

func TestNodeGroupNeedsWhatItNames(t *testing.T) {
	g := groupsToRefuse(t)
	for name, c := range map[string]refusal{
		"cluster not there": {with(g.good, obj{"clusterName": "none"}),
			[]string{"No cluster found for name: none"}},
		"role of a cluster": {with(g.good, obj{"nodeRoleArn": g.clusterRole.out["arn"]}),
			[]string{"ec2.amazonaws.com", "trust relationships"}},
		"template not there": {with(g.good, obj{"launchTemplate": obj{"id": "lt-none", "version": "1"}}),
			[]string{"Launch template lt-none not found"}},
	} {
		t.Run(name, func(t *testing.T) { g.on(t).refuses(tNodeGroup, c.in, c.wanted...) })
	}
}

func TestNodeGroupAndItsLaunchTemplateExclude(t *testing.T) {
	g := groupsToRefuse(t)
	for name, c := range map[string]refusal{
		"template version missing": {with(g.good, obj{"launchTemplate": obj{"id": g.template.id, "version": "7"}}),
			[]string{"version that exists"}},
		// Field fault BR-67.
		"disk beside a template": {with(g.good, obj{"diskSize": 200}),
			[]string{"Disk size must be specified within the launch template"}},
		"types in both": {g.templated("other-1", obj{"instanceType": "g6.xlarge"}),
			[]string{"both in the launch template and in the node group"}},
		"template with a profile": {g.templated("other-2", obj{"iamInstanceProfile": obj{"name": "x"}}),
			[]string{"should not specify iamInstanceProfile"}},
		"template with a subnet": {g.templated("other-3", obj{"networkInterfaces": []obj{{"subnetId": g.a.id}}}),
			[]string{"should not specify a subnet"}},
		"template with spot": {g.templated("other-4", obj{"instanceMarketOptions": obj{"marketType": "spot"}}),
			[]string{"should not specify instanceMarketOptions"}},
		"image in the template": {g.templated("other-5", obj{"imageId": "ami-1"}), []string{"image id"}},
	} {
		t.Run(name, func(t *testing.T) { g.on(t).refuses(tNodeGroup, c.in, c.wanted...) })
	}
}

func TestNodeGroupImageFitsItsTypes(t *testing.T) {
	g := groupsToRefuse(t)
	for name, c := range map[string]refusal{
		"type that does not exist": {with(g.good, obj{"instanceTypes": []string{"g6.huge"}}),
			[]string{"do not exist: [g6.huge]"}},
		"GPU type, plain image": {with(g.good, obj{"amiType": "AL2023_x86_64_STANDARD"}),
			[]string{"not a valid instance type", "g6.xlarge"}},
		"plain type, GPU image": {with(g.good, obj{"instanceTypes": []string{"m6i.large"}}),
			[]string{"not a valid instance type", "m6i.large"}},
		"other architecture": {with(g.good, obj{
			"instanceTypes": []string{"m7g.large"},
			"amiType":       "AL2023_x86_64_STANDARD",
		}), []string{"not a valid instance type"}},
		"mixed architectures": {with(g.good, obj{
			"instanceTypes": []string{"m6i.large", "m7g.large"},
			"amiType":       "AL2023_x86_64_STANDARD",
		}), []string{"different architectures"}},
		"AL2 with 1.36": {with(g.good, obj{"amiType": "AL2_x86_64_GPU", "releaseVersion": nil}),
			[]string{"only supported for kubernetes versions 1.32"}},
		"release that is not there": {with(g.good, obj{"releaseVersion": "1.36.3-20260101"}),
			[]string{"Requested release version 1.36.3-20260101 is not valid"}},
		"release of another minor": {with(g.good, obj{"releaseVersion": "1.35.5-20260911"}),
			[]string{"not valid for kubernetes version 1.36"}},
		"newer than the cluster": {with(g.good, obj{"version": "1.37", "releaseVersion": nil}), []string{"1.37"}},
	} {
		t.Run(name, func(t *testing.T) { g.on(t).refuses(tNodeGroup, c.in, c.wanted...) })
	}
}

func TestNodeGroupInputsTheProviderRefuses(t *testing.T) {
	g := groupsToRefuse(t)
	for property, in := range map[string]obj{
		"taints.effect": with(g.good, obj{"taints": []obj{{"key": "a", "effect": "NoSchedule"}}}), // field fault BR-63
		"taints[0]": with(g.good, obj{"taints": []obj{{
			"key":    strings.Repeat("a", 64),
			"effect": "NO_SCHEDULE",
		}}}),
		"capacityType":          with(g.good, obj{"capacityType": "spot"}),
		"amiType":               with(g.good, obj{"amiType": "AL2023"}),
		"nodeGroupName":         with(g.good, obj{"nodeGroupName": strings.Repeat("n", 64)}),
		"scalingConfig.maxSize": g.sized(0, 0, 0),
		"scalingConfig.minSize": g.sized(-1, 0, 1),
		"updateConfig": with(g.good,
			obj{"updateConfig": obj{"maxUnavailable": 1, "maxUnavailablePercentage": 10}}),
		"remoteAccess":               with(g.good, obj{"remoteAccess": obj{"ec2SshKey": "k"}}),
		"scalingConfig.desiredSize":  with(g.good, obj{"scalingConfig": obj{"minSize": 0, "maxSize": 1}}),
		"updateConfig.maxUnavailabl": with(g.good, obj{"updateConfig": obj{"maxUnavailable": 0}}),
	} {
		g.fails(tNodeGroup, in, property)
	}
}

func TestNodeGroupsHaveDistinctNamesAndAQuota(t *testing.T) {
	g := groupsToRefuse(t)
	g.create(tNodeGroup, "gpu", g.good)
	g.refuses(tNodeGroup, g.good, "ResourceInUseException", "NodeGroup already exists with name gpu-l4")
	g.act(func(s *world.State) error { return s.SetQuota(world.QuotaNodeGroups, 1) })
	g.refuses(tNodeGroup, with(g.good, obj{"nodeGroupName": "second"}), "ResourceLimitExceededException",
		"Nodegroup limit")
}

func TestNodeGroupsThatAreMadeAndDoNotWork(t *testing.T) {
	cases := map[string]struct {
		before func(*account, platform) // makes the trouble
		change obj
		wanted []string
	}{
		// Field fault BR-64.
		"reserved label the kubelet refuses": {nil, obj{"labels": obj{"node-role.kubernetes.io/worker": "true"}},
			[]string{"NodeCreationFailure", "node-role.kubernetes.io/worker"}},
		// Field fault BR-81.
		"no quota": {func(a *account, _ platform) {
			a.act(func(s *world.State) error { return s.SetQuota(world.QuotaGOnDemand, 0) })
		}, obj{}, []string{"AsgInstanceLaunchFailures", "VcpuLimitExceeded", "limit of 0"}},
		// Field fault BR-18.
		"no capacity anywhere": {func(a *account, _ platform) {
			a.act(func(s *world.State) error {
				if err := s.EmptyZone("us-west-2a", "g6.xlarge", true); err != nil {
					return err
				}
				return s.EmptyZone("us-west-2b", "g6.xlarge", true)
			})
		}, obj{}, []string{"AsgInstanceLaunchFailures", "InsufficientInstanceCapacity"}},
		"role without policies": {func(a *account, p platform) { a.deletes(p.policies...) }, obj{},
			[]string{"NodeCreationFailure", "lacks"}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			a := newAccount(t)
			p := a.platform()
			lt := a.create(tLaunchTemplate, "gpu", templateInputs("gpu-l4"))
			if c.before != nil {
				c.before(a, p)
			}
			group, err := a.try(tNodeGroup, "gpu", with(groupInputs(p, lt, 0, 1, 4), c.change))
			wantError(t, err, append(c.wanted, "CREATE_FAILED")...)
			// It is there all the same, and must be deleted.
			if group.id == "" {
				t.Fatal("no id: the engine would lose it")
			}
			if read, found := a.read(group); !found || str(read.out, "status") != "CREATE_FAILED" {
				t.Errorf("found %v, status %v", found, read.out["status"])
			}
			_, err = a.tryUpdate(group, with(groupInputs(p, lt, 0, 1, 5), c.change))
			wantError(t, err, "ResourceInUseException", "not in Active State")
			if again := a.update(group, with(groupInputs(p, lt, 0, 1, 4), c.change)); str(again.out,
				"status") != "CREATE_FAILED" {
				t.Errorf("an update without a change made it %v", again.out["status"])
			}
			a.deletes(group)
		})
	}
}

// Review M5: EKS starts twice as many nodes as the group has zones before it takes the old ones away.
func TestAnUpdateOfNodesNeedsRoomForNewOnesBesideThem(t *testing.T) {
	g := groupsToRefuse(t)
	old := with(g.good, obj{"releaseVersion": "1.36.3-20260827"})
	group := g.create(tNodeGroup, "gpu", old)
	nodes := func() (ids []string) {
		g.look(func(s *world.State) {
			for _, i := range s.SortedInstances(func(i *world.Instance) bool { return i.Running() }) {
				ids = append(ids, i.ID)
			}
		})
		return ids
	}
	before := nodes()
	g.act(func(s *world.State) error { return s.SetQuota(world.QuotaGOnDemand, 19) }) // one of 4 vCPUs, and four more
	_, err := g.tryUpdate(group, g.good)
	wantError(t, err, "NodeCreationFailure", "VcpuLimitExceeded", "version update")
	if after := nodes(); !slices.Equal(before, after) {
		t.Errorf("the failed update left nodes %q of %q", after, before)
	}
	if read, _ := g.read(group); str(read.out, "releaseVersion") != "1.36.3-20260827" {
		t.Errorf("it says that its nodes are of %v", read.out["releaseVersion"])
	}
	g.act(func(s *world.State) error { return s.SetQuota(world.QuotaGOnDemand, 20) })
	g.update(group, g.good)
	if after := nodes(); len(after) != 1 || after[0] == before[0] {
		t.Errorf("with room, nodes are %q after %q", after, before)
	}
}

func TestAGroupWithoutNodesStartsNoneToUpdateThem(t *testing.T) {
	g := groupsToRefuse(t)
	group := g.create(tNodeGroup, "gpu", with(g.sized(0, 0, 4), obj{"releaseVersion": "1.36.3-20260827"}))
	g.act(func(s *world.State) error { return s.SetQuota(world.QuotaGOnDemand, 0) })
	g.update(group, g.sized(0, 0, 4))
}

func TestAClusterWithoutNetworkPluginHasNoHealthyNodes(t *testing.T) {
	a := newAccount(t)
	p := a.platform()
	in := with(clusterInputs(p.network, p.clusterRole), obj{"name": "bare", "bootstrapSelfManagedAddons": false})
	p.cluster = a.create(tCluster, "bare", in)
	lt := a.create(tLaunchTemplate, "gpu", templateInputs("gpu-l4"))
	group, err := a.try(tNodeGroup, "gpu", groupInputs(p, lt, 0, 1, 4))
	wantError(t, err, "NodeCreationFailure", "no network plugin")
	a.deletes(group)
	a.create(tAddon, "cni", obj{"clusterName": "bare", "addonName": "vpc-cni"})
	a.create(tNodeGroup, "gpu", groupInputs(p, lt, 0, 1, 4))
}

func TestANodeGroupOutlivedByItsRoleOnly(t *testing.T) {
	a := newAccount(t)
	p := a.platform()
	lt := a.create(tLaunchTemplate, "gpu", templateInputs("gpu-l4"))
	group := a.create(tNodeGroup, "gpu", groupInputs(p, lt, 0, 1, 4))
	a.deletes(p.policies...)
	a.deletes(p.nodeRole)
	wantError(t, a.delete(group), "DELETE_FAILED", "IamNodeRoleNotFound")
}

func TestTheLiveDesiredSizeIsSeenByARefresh(t *testing.T) {
	a := newAccount(t)
	p := a.platform()
	lt := a.create(tLaunchTemplate, "gpu", templateInputs("gpu-l4"))
	in := groupInputs(p, lt, 0, 1, 4)
	group := a.create(tNodeGroup, "gpu", in)
	a.act(func(s *world.State) error {
		g, err := s.GroupOfPool("headroom-test", "gpu-l4")
		if err != nil {
			return err
		}
		return s.ScaleGroup(g, 3, false)
	})
	asked := a.asks("aws:eks/getNodeGroup:getNodeGroup", obj{"clusterName": p.cluster.id, "nodeGroupName": "gpu-l4"})
	if sizes := at(asked, "scalingConfigs.desiredSize"); len(sizes) != 1 || sizes[0] != 3.0 {
		t.Errorf("live desired size %v", sizes)
	}
	if d := a.diff(group, in); len(d.Changed) > 0 {
		t.Errorf("without a refresh the provider knows of no change, yet %v", d.Changed)
	}
	read, _ := a.read(group)
	if d := a.diff(read, in); len(d.Changed) != 1 || d.Changed[0] != "scalingConfig.desiredSize" {
		t.Errorf("after a refresh changed %v", d.Changed)
	}
}

// Field fault BR-13, and what the ignored path does not cure: the provider sends all three sizes when one changes, the
// desired one from state.
func TestAChangedMaximumSendsTheDesiredSizeOfTheState(t *testing.T) {
	a := newAccount(t)
	p := a.platform()
	lt := a.create(tLaunchTemplate, "gpu", templateInputs("gpu-l4"))
	group := a.create(tNodeGroup, "gpu", groupInputs(p, lt, 0, 1, 4))
	grow := func(s *world.State) error {
		g, err := s.GroupOfPool("", "gpu-l4")
		if err != nil {
			return err
		}
		return s.ScaleGroup(g, 3, false)
	}
	desired := func() (n int) {
		a.look(func(s *world.State) {
			for _, g := range s.Groups {
				n = g.Desired
			}
		})
		return n
	}
	a.act(grow)
	group = a.update(group, with(groupInputs(p, lt, 0, 1, 4), obj{"tags": obj{"team": "ml"}}))
	if n := desired(); n != 3 {
		t.Errorf("an update of tags set the desired size to %d", n)
	}
	a.update(group, groupInputs(p, lt, 0, 1, 6))
	if n := desired(); n != 1 {
		t.Errorf("a new maximum with desired size 1 in state left %d", n)
	}
	_, err := a.tryUpdate(group, groupInputs(p, lt, 2, 1, 6))
	wantError(t, err, "Minimum capacity 2 can't be greater than desired size 1")
}

func TestANewTemplateVersionReplacesTheNodes(t *testing.T) {
	a := newAccount(t)
	p := a.platform()
	lt := a.create(tLaunchTemplate, "gpu", templateInputs("gpu-l4"))
	in := groupInputs(p, lt, 0, 2, 4)
	group := a.create(tNodeGroup, "gpu", in)
	before := list(a.asks("aws:ec2/getInstances:getInstances", obj{}), "ids")
	lt = a.update(lt, templateInputs("renamed"))
	a.update(group, with(in, obj{"launchTemplate": obj{"id": lt.id, "version": "2"}}))
	after := list(a.asks("aws:ec2/getInstances:getInstances", obj{"instanceTags": obj{"headroom/pool": "renamed"}}),
		"ids")
	if len(before) != 2 || len(after) != 2 || before[0] == after[0] {
		t.Errorf("before %v, after %v", before, after)
	}
}
