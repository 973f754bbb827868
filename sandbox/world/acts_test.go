package world

import (
	"slices"
	"strings"
	"testing"
)

// account with two /24 subnets in zones a and b.
func account() *State {
	s := Fresh("us-west-2")
	for _, zone := range []string{"a", "b"} {
		s.Put(&Resource{Type: SubnetType, ID: "subnet-" + zone, Outputs: map[string]any{
			"availabilityZone": "us-west-2" + zone,
			"cidrBlock":        map[string]string{"a": "10.0.0.0/24", "b": "10.0.1.0/24"}[zone],
		}})
	}
	return s
}

func group(s *State, low, desired, high int) *Group {
	g := &Group{
		Name:          "eks-gpu",
		Cluster:       "c",
		NodeGroup:     "gpu",
		Min:           low,
		Max:           high,
		Desired:       desired,
		Subnets:       []string{"subnet-a", "subnet-b"},
		InstanceTypes: []string{"g6.xlarge"},
		InstanceTags:  map[string]string{"headroom/cluster": "c", "headroom/pool": "gpu-l4"},
		Tags:          map[string]string{},
	}
	s.Groups[g.Name] = g
	return g
}

func TestAGroupGetsOnlyStatusesThatEKSHas(t *testing.T) {
	s := account()
	g := group(s, 0, 1, 4)
	wants(t, s.SetGroupStatus(g, "DEGRADED"), "ResourceNotFoundException", "gpu")
	s.Put(&Resource{Type: NodeGroupType, ID: "c:gpu", Outputs: map[string]any{"status": "ACTIVE"}})
	wants(t, s.SetGroupStatus(g, "SICK"), `"SICK" is no status`, "DEGRADED")
	if err := s.SetGroupStatus(g, "DEGRADED"); err != nil ||
		s.Get(NodeGroupType, "c:gpu").Outputs["status"] != "DEGRADED" {
		t.Errorf("%v, %v", err, s.Get(NodeGroupType, "c:gpu").Outputs)
	}
}

func somePool(spot bool) NodePool {
	return NodePool{
		Cluster:       "c",
		Name:          "gpu",
		InstanceTypes: []string{"g6.xlarge"},
		Subnets:       []string{"subnet-a", "subnet-b"},
		Spot:          spot,
		Tags:          map[string]string{"headroom/pool": "gpu"},
	}
}

func running(s *State) []*Instance {
	return s.SortedInstances(func(i *Instance) bool { return i.Running() })
}

func wants(t *testing.T, err error, words ...string) {
	t.Helper()
	if err == nil {
		t.Fatalf("no error, want one with %q", words)
	}
	for _, w := range words {
		if !strings.Contains(err.Error(), w) {
			t.Errorf("error %q, want %q in it", err, w)
		}
	}
}

func does(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestAGroupGrowsAndShrinksWithinItsBounds(t *testing.T) {
	s := account()
	g := group(s, 0, 0, 4)
	does(t, s.ScaleGroup(g, 3, false))
	zones := map[string]int{}
	for _, i := range running(s) {
		zones[i.Zone]++
		if i.Tags["headroom/pool"] != "gpu-l4" || i.Tags["eks:nodegroup-name"] != "gpu" {
			t.Errorf("tags %v", i.Tags)
		}
	}
	if len(running(s)) != 3 || zones["us-west-2a"] == 0 || zones["us-west-2b"] == 0 {
		t.Errorf("zones %v", zones)
	}
	wants(t, s.ScaleGroup(g, 5, false), "outside of the limits 0..4")
	does(t, s.ScaleGroup(g, 5, true))
	does(t, s.ScaleGroup(g, 1, false))
	if len(running(s)) != 1 || g.Max != 5 {
		t.Errorf("%d run, maximum %d", len(running(s)), g.Max)
	}
	does(t, s.SetGroupBounds(g, 2, 9)) // AWS widens a group
	if len(running(s)) != 2 || g.Max != 9 {
		t.Errorf("%d run, maximum %d", len(running(s)), g.Max)
	}
	wants(t, s.SetGroupBounds(g, 3, 2), "contradict")
}

func TestAPoolIsFoundByTagOrName(t *testing.T) {
	s := account()
	g := group(s, 0, 0, 1)
	for _, name := range []string{"gpu-l4", "gpu", "eks-gpu"} {
		if found, err := s.GroupOfPool("c", name); found != g {
			t.Errorf("%s: %v", name, err)
		}
	}
	_, err := s.GroupOfPool("c", "none")
	wants(t, err, "no managed node group", "eks-gpu")
	s.Groups["other"] = &Group{Name: "other", Cluster: "c", NodeGroup: "gpu-b", InstanceTags: g.InstanceTags}
	_, err = s.GroupOfPool("", "gpu-l4")
	wants(t, err, "2 node groups")
}

func TestANodePoolGrowsWithTheTagsOfItsNodeClass(t *testing.T) {
	s := account()
	nodes, err := s.ScaleNodePool(somePool(false), 2)
	does(t, err)
	if len(nodes) != 2 || nodes[0].Tags["headroom/pool"] != "gpu" || nodes[0].Tags["karpenter.sh/nodepool"] != "gpu" {
		t.Errorf("nodes %v", nodes)
	}
	nodes, err = s.ScaleNodePool(somePool(false), 1)
	does(t, err)
	if len(nodes) != 1 || len(s.NodesOfPool("c", "gpu")) != 1 {
		t.Errorf("nodes %v", nodes)
	}
	s.DeleteNodePool("c", "gpu")
	if len(running(s)) > 0 {
		t.Error("nodes outlive their pool")
	}
}

// Field fault BR-41.
func TestSpotNeedsItsServiceLinkedRole(t *testing.T) {
	s := account()
	_, err := s.ScaleNodePool(somePool(true), 1)
	wants(t, err, "ServiceLinkedRoleCreationNotPermitted")
	s.LinkRole(SpotRole)
	_, err = s.ScaleNodePool(somePool(true), 1)
	does(t, err)
}

// Field fault BR-81.
func TestLaunchesStopAtTheVCPUQuota(t *testing.T) {
	s := account()
	does(t, s.SetQuota(QuotaGOnDemand, 12))
	g := group(s, 0, 0, 9)
	wants(t, s.ScaleGroup(g, 4, false), "VcpuLimitExceeded", "limit of 12")
	if len(running(s)) != 3 {
		t.Errorf("%d nodes of 4 vCPUs run under a quota of 12", len(running(s)))
	}
	s.LinkRole(SpotRole)
	if _, err := s.ScaleNodePool(somePool(true), 1); err != nil {
		t.Errorf("spot has a quota of its own: %v", err)
	}
	wants(t, s.SetQuota("L-NONE", 1), QuotaGOnDemand)
}

func TestAnEmptyZoneIsAvoidedAndThenMissed(t *testing.T) {
	s := account()
	does(t, s.EmptyZone("us-west-2a", "g6.xlarge", true))
	g := group(s, 0, 0, 4)
	does(t, s.ScaleGroup(g, 2, false))
	for _, i := range running(s) {
		if i.Zone != "us-west-2b" {
			t.Errorf("a node in the empty zone: %v", i)
		}
	}
	does(t, s.EmptyZone("us-west-2b", "*", true))
	wants(t, s.ScaleGroup(g, 3, false), "InsufficientInstanceCapacity")
	s.FillZone("us-west-2a", "g6.xlarge") // the group tries again by itself
	if len(running(s)) != 3 {
		t.Errorf("%d nodes after the zone filled, want the 3 desired", len(running(s)))
	}
	does(t, s.EmptyZone("us-west-2a", "g6.xlarge", false))
	if s.Offered("g6.xlarge", "us-west-2a") {
		t.Error("a zone without the offering offers it")
	}
	wants(t, s.EmptyZone("us-west-2x", "*", true), "no zone")
	wants(t, s.EmptyZone("us-west-2a", "g6.huge", true), "catalogue")
}

func TestAddressesRunOut(t *testing.T) {
	s := account()
	before := s.FreeAddresses("subnet-a")
	g := group(s, 0, 1, 4)
	does(t, s.Settle(g))
	used := before - s.FreeAddresses("subnet-a")
	if before != 251 || used != 30 {
		t.Errorf("%d free before, a g6.xlarge takes %d", before, used)
	}
	does(t, s.TakeAddresses("subnet-a", 251))
	does(t, s.TakeAddresses("subnet-b", 251))
	wants(t, s.ScaleGroup(g, 2, false), "InsufficientFreeAddressesInSubnet")
	wants(t, s.TakeAddresses("subnet-x", 1), "InvalidSubnetID.NotFound")
}

func TestAnInterruptedSpotNodeComesBackOnlyInAGroup(t *testing.T) {
	s := account()
	s.LinkRole(SpotRole)
	nodes, err := s.ScaleNodePool(somePool(true), 2)
	does(t, err)
	does(t, s.Interrupt(nodes[0].ID))
	if got := s.NodesOfPool("c", "gpu"); len(got) != 1 || nodes[0].Reason != "Server.SpotInstanceTermination" {
		t.Errorf("nodes %v", got)
	}
	g := group(s, 0, 1, 1)
	g.Spot = true
	does(t, s.Settle(g))
	first := s.SortedInstances(func(i *Instance) bool { return i.Group == g.Name })[0]
	does(t, s.Interrupt(first.ID))
	if n := len(s.SortedInstances(func(i *Instance) bool { return i.Group == g.Name && i.Running() })); n != 1 {
		t.Errorf("the group has %d nodes", n)
	}
	wants(t, s.Interrupt("i-none"), "InvalidInstanceID.NotFound")
	g.Spot = false
	s.Terminate(s.SortedInstances(func(i *Instance) bool { return i.Group == g.Name && i.Running() })[0].ID, "test")
	does(t, s.Settle(g))
	wants(t, s.Interrupt(s.SortedInstances(func(i *Instance) bool { return i.Group == g.Name && i.Running() })[0].ID),
		"on-demand")
}

func TestDenyTakesWildcards(t *testing.T) {
	s := account()
	does(t, s.Deny("ec2:Describe*"))
	for action, allowed := range map[string]bool{
		"ec2:DescribeInstances": false,
		"ec2:describeVpcs":      false,
		"ec2:CreateVpc":         true,
		"eks:DescribeCluster":   true,
	} {
		if s.Allowed(action) != allowed {
			t.Errorf("%s allowed: %v", action, !allowed)
		}
	}
	wants(t, s.Deny("everything"), "not an API action")
	wants(t, s.Allow("ec2:CreateVpc"), "not denied")
	does(t, s.Allow("ec2:Describe*"))
	if !s.Allowed("ec2:DescribeInstances") {
		t.Error("still denied")
	}
}

func TestAnInstanceProfileKeepsItsRole(t *testing.T) {
	s := account()
	wants(t, s.EnsureInstanceProfile("c", "default", "node"), "NoSuchEntity")
	s.Put(&Resource{Type: "aws:iam/role:Role", ID: "node"})
	does(t, s.EnsureInstanceProfile("c", "default", "node"))
	if users := s.Users(Key("aws:iam/role:Role", "node")); len(users) != 1 || users[0].Type != InstanceProfile {
		t.Errorf("users %v", users)
	}
	wants(t, s.Remove(Key("aws:iam/role:Role", "node")), "DependencyViolation")
	s.RemoveInstanceProfile("c", "default")
	does(t, s.Remove(Key("aws:iam/role:Role", "node")))
}

func TestLeftoversNameEverythingAndRemoveClearsIt(t *testing.T) {
	s := account()
	g := group(s, 0, 1, 1)
	does(t, s.Settle(g))
	s.Objects[ObjectKey("c", "v1", "ConfigMap", "default", "x")] = []byte("{}")
	node := running(s)[0].ID
	left := s.Leftovers()
	for _, want := range []string{node, Key(SubnetType, "subnet-a"), "autoscaling group eks-gpu",
		"kubernetes object c|v1|ConfigMap|default|x"} {
		if !slices.Contains(left, want) {
			t.Errorf("%q is not among %v", want, left)
		}
	}
	does(t, s.Remove(node))
	if slices.Contains(s.Leftovers(), node) {
		t.Error("a terminated instance is left over")
	}
	wants(t, s.Remove("nothing"), "nothing is called")
}

func TestIdsAreNewAndRepeatable(t *testing.T) {
	one, two := Fresh(""), Fresh("")
	if a, b := one.Hex("x", 17), one.Hex("x", 17); a == b || a != two.Hex("x", 17) || len(a) != 17 {
		t.Errorf("%s, %s", a, b)
	}
}

func TestEveryZoneOfEveryRegionHasItsOwnId(t *testing.T) {
	for region, zones := range regions {
		var ids []string
		for _, z := range zones {
			ids = append(ids, z.ID)
		}
		slices.Sort(ids)
		if len(slices.Compact(ids)) != len(zones) {
			t.Errorf("%s: %v", region, zones)
		}
	}
}

func TestACallerWithGrantedActionsMayDoNoOthers(t *testing.T) {
	s := account()
	if !s.Grants("ec2:CreateVpc") {
		t.Error("without a policy nothing may be done")
	}
	s.Granted = []string{"ec2:DescribeVpcs", "eks:*"}
	for action, granted := range map[string]bool{
		"ec2:DescribeVpcs": true, "eks:CreateCluster": true, "ec2:CreateVpc": false,
	} {
		if s.Grants(action) != granted {
			t.Errorf("%s granted: %v", action, !granted)
		}
	}
}
