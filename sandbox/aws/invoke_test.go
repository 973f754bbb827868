package aws

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/headroom-eks/headroom/sandbox/world"
)

func TestWhereWeAre(t *testing.T) {
	cases := map[string]struct{ partition, suffix, reverse string }{
		"us-west-2":     {"aws", "amazonaws.com", "com.amazonaws"},
		"us-gov-west-1": {"aws-us-gov", "amazonaws.com", "com.amazonaws"},
		"cn-north-1":    {"aws-cn", "amazonaws.com.cn", "cn.com.amazonaws"},
	}
	for region, c := range cases {
		t.Setenv(world.RegionVariable, region)
		a := newAccount(t)
		got := a.asks("aws:index/getPartition:getPartition", obj{})
		if got["partition"] != c.partition || got["dnsSuffix"] != c.suffix || got["reverseDnsPrefix"] != c.reverse {
			t.Errorf("%s: %v", region, got)
		}
		if name := a.asks("aws:index/getRegion:getRegion", obj{})["name"]; name != region {
			t.Errorf("region %v", name)
		}
		role := a.create(tRole, "r", obj{"assumeRolePolicy": trust("ec2.amazonaws.com")})
		if arn := str(role.out, "arn"); !strings.HasPrefix(arn, "arn:"+c.partition+":iam::123456789012:role/r-") {
			t.Errorf("%s: role %s", region, arn)
		}
	}
	a := newAccount(t)
	if got := a.asks("aws:index/getCallerIdentity:getCallerIdentity", obj{}); got["accountId"] != "123456789012" {
		t.Errorf("account %v", got)
	}
}

func TestTheProvidersRegionMovesAnEmptyAccountOnly(t *testing.T) {
	a := newAccount(t)
	config := func(region string) error { return a.b.Configure(toProperties(obj{"region": region})) }
	if err := config("eu-west-1"); err != nil {
		t.Fatal(err)
	}
	if got := a.asks("aws:index/getRegion:getRegion", obj{}); got["name"] != "eu-west-1" {
		t.Errorf("region %v", got["name"])
	}
	a.create(tVpc, "net", obj{"cidrBlock": "10.0.0.0/16"})
	wantError(t, config("us-west-2"), "eu-west-1", "another sandbox")
	if err := config("eu-west-1"); err != nil {
		t.Error(err)
	}
	if f := a.b.CheckConfig(toProperties(obj{"region": "mars-1"})); len(f) != 1 {
		t.Errorf("an unknown region passes: %v", f)
	}
	d := a.b.DiffConfig(toProperties(obj{"region": "us-west-2", "skipMetadataApiCheck": "false"}), toProperties(obj{
		"region":               "eu-west-1",
		"skipMetadataApiCheck": "true",
	}))
	if !slices.Equal(d.Replaces, []string{"region"}) || len(d.Changed) != 2 {
		t.Errorf("diff %+v", d)
	}
}

func TestZones(t *testing.T) {
	a := newAccount(t)
	got := a.asks("aws:index/getAvailabilityZones:getAvailabilityZones", obj{
		"state":        "available",
		"excludeNames": []string{"us-west-2d"},
		"filters":      []obj{{"name": "opt-in-status", "values": []string{"opt-in-not-required"}}},
	})
	if names := texts(list(got, "names")); !slices.Equal(names, []string{"us-west-2a", "us-west-2b", "us-west-2c"}) ||
		len(list(got, "zoneIds")) != 3 {
		t.Errorf("zones %v", got)
	}
}

func TestInstanceShapes(t *testing.T) {
	a := newAccount(t)
	shapes := map[string][5]int{ // vCPUs, MiB, GPUs, interfaces, addresses
		"g6.xlarge":   {4, 16384, 1, 4, 15},
		"g6.12xlarge": {48, 196608, 4, 8, 30},
		"g6.48xlarge": {192, 786432, 8, 15, 50},
		"gr6.4xlarge": {16, 131072, 1, 8, 30},
		"g6e.xlarge":  {4, 32768, 1, 4, 15},
		"g6f.large":   {2, 8192, 0, 2, 10},
		"m6i.large":   {2, 8192, 0, 3, 10},
		"t3.large":    {2, 8192, 0, 3, 12},
	}
	for name, want := range shapes {
		got := a.asks("aws:ec2/getInstanceType:getInstanceType", obj{"instanceType": name})
		gpus := 0
		for _, n := range at(got, "gpuses.count") {
			gpus += int(n.(float64))
		}
		have := [5]int{num(got, "defaultVcpus"), num(got, "memorySize"), gpus, num(got, "maximumNetworkInterfaces"),
			num(got, "maximumIpv4AddressesPerInterface")}
		if have != want {
			t.Errorf("%s: %v, want %v", name, have, want)
		}
	}
	l4 := a.asks("aws:ec2/getInstanceType:getInstanceType", obj{"instanceType": "g6.12xlarge"})
	if got := at(l4, "gpuses.name"); len(got) != 1 || got[0] != "L4" || num(l4, "totalGpuMemory") != 4*22888 {
		t.Errorf("g6.12xlarge: %v, %d MiB", got, num(l4, "totalGpuMemory"))
	}
	// Field fault BR-27: a fractional type has a GPU entry and no whole GPU.
	if got := a.asks("aws:ec2/getInstanceType:getInstanceType",
		obj{"instanceType": "g6f.large"}); len(list(got, "gpuses")) != 1 {
		t.Errorf("g6f.large: %v", got["gpuses"])
	}
	_, err := a.ask("aws:ec2/getInstanceType:getInstanceType", obj{"instanceType": "g6.huge"})
	wantError(t, err, "InvalidInstanceType", "g6.huge")
	found := a.asks("aws:ec2/getInstanceTypes:getInstanceTypes", obj{"filters": []obj{{
		"name":   "instance-type",
		"values": []string{"g6.*"},
	}}})
	if names := texts(list(found, "instanceTypes")); len(names) != 8 || names[0] != "g6.12xlarge" {
		t.Errorf("types %v", names)
	}
}

func TestOfferings(t *testing.T) {
	a := newAccount(t)
	ask := func(types ...string) []string {
		got := a.asks("aws:ec2/getInstanceTypeOfferings:getInstanceTypeOfferings", obj{
			"locationType": "availability-zone",
			"filters":      []obj{{"name": "instance-type", "values": types}},
		})
		return texts(list(got, "locations"))
	}
	if got := ask("g6.xlarge"); !slices.Equal(got, []string{"us-west-2a", "us-west-2b", "us-west-2c"}) {
		t.Errorf("g6.xlarge in %v", got)
	}
	a.act(func(s *world.State) error { return s.EmptyZone("us-west-2a", "g6.xlarge", false) })
	if got := ask("g6.xlarge"); !slices.Equal(got, []string{"us-west-2b", "us-west-2c"}) {
		t.Errorf("after the zone was emptied in %v", got)
	}
	if got := ask("g6.huge"); len(got) != 0 {
		t.Errorf("a type that is not there in %v", got)
	}
	_, err := a.ask("aws:ec2/getInstanceTypeOfferings:getInstanceTypeOfferings", obj{"locationType": "zone"})
	wantError(t, err, "one of")
}

// twoPools are two nodes of a spot pool in one zone, and one that runs and one that ended of a pool in another.
func twoPools(a *account, n network) {
	a.t.Helper()
	a.act(func(s *world.State) error {
		s.LinkRole(world.SpotRole)
		for _, p := range []world.NodePool{
			{
				Cluster:       "c",
				Name:          "one",
				InstanceTypes: []string{"g6.xlarge"},
				Subnets:       []string{n.a.id},
				Spot:          true,
				Tags:          map[string]string{"headroom/pool": "one"},
			},
			{
				Cluster:       "c",
				Name:          "two",
				InstanceTypes: []string{"g6.xlarge"},
				Subnets:       []string{n.b.id},
				Tags:          map[string]string{"headroom/pool": "two"},
			},
		} {
			if _, err := s.ScaleNodePool(p, 2); err != nil {
				return err
			}
		}
		for _, i := range s.NodesOfPool("c", "two")[:1] {
			s.Terminate(i.ID, "test")
		}
		return nil
	})
}

func TestInstancesAreFoundByTagStateZoneAndLifecycle(t *testing.T) {
	world.Now = func() time.Time { return time.Date(2026, 11, 30, 9, 0, 0, 0, time.UTC) }
	t.Cleanup(func() { world.Now = func() time.Time { return time.Now().UTC() } })
	a := newAccount(t)
	twoPools(a, a.network())
	ids := func(in obj) int { return len(list(a.asks("aws:ec2/getInstances:getInstances", in), "ids")) }
	filter := func(name string, values ...string) obj {
		return obj{"filters": []obj{{"name": name, "values": values}}}
	}
	cases := map[string]struct {
		in   obj
		want int
	}{
		"all that run":  {obj{}, 3},
		"by tag":        {obj{"instanceTags": obj{"headroom/pool": "two"}}, 1},
		"by tag filter": {filter("tag:headroom/pool", "one", "two"), 3},
		"by tag key":    {filter("tag-key", "karpenter.sh/nodepool"), 3},
		"other tag":     {filter("tag:headroom/pool", "three"), 0},
		"terminated":    {obj{"instanceStateNames": []string{"terminated"}}, 1},
		"both states":   {obj{"instanceStateNames": []string{"pending", "running", "terminated"}}, 4},
		"spot":          {filter("instance-lifecycle", "spot"), 2},
		"zone":          {filter("availability-zone", "us-west-2b"), 1},
		"type":          {filter("instance-type", "g6.*"), 3},
	}
	for name, c := range cases {
		if got := ids(c.in); got != c.want {
			t.Errorf("%s: %d, want %d", name, got, c.want)
		}
	}
	_, err := a.ask("aws:ec2/getInstances:getInstances", filter("colour", "red"))
	wantError(t, err, "does not know the filter 'colour'")
	id := list(a.asks("aws:ec2/getInstances:getInstances", filter("availability-zone", "us-west-2b")), "ids")[0]
	got := a.asks("aws:ec2/getInstance:getInstance", obj{"instanceId": id})
	if got["availabilityZone"] != "us-west-2b" || got["launchTime"] != "2026-11-30T09:00:00Z" {
		t.Errorf("instance %v", got)
	}
	_, err = a.ask("aws:ec2/getInstance:getInstance", obj{"instanceId": "i-none"})
	wantError(t, err, "no matching EC2 Instance")
}

func TestSubnetsAndTheirFreeAddresses(t *testing.T) {
	a := newAccount(t)
	n := a.network()
	free := func() int {
		return num(a.asks("aws:ec2/getSubnet:getSubnet", obj{"id": n.a.id}), "availableIpAddressCount")
	}
	if got := free(); got != 4096-5 {
		t.Errorf("%d free addresses in a /20", got)
	}
	a.act(func(s *world.State) error { return s.TakeAddresses(n.a.id, 4000) })
	if got := free(); got != 91 {
		t.Errorf("%d free addresses after 4000 were taken", got)
	}
	if got := a.asks("aws:ec2/getSubnets:getSubnets", obj{
		"filters": []obj{{"name": "vpc-id", "values": []string{n.vpc.id}}},
		"tags":    obj{"tier": "private"},
	}); len(list(got, "ids")) != 2 {
		t.Errorf("subnets %v", got)
	}
	_, err := a.ask("aws:ec2/getSubnet:getSubnet", obj{"id": "subnet-none"})
	wantError(t, err, "no matching EC2 Subnet found")
	_, err = a.ask("aws:ec2/getSubnet:getSubnet", obj{"vpcId": n.vpc.id})
	wantError(t, err, "multiple EC2 Subnets matched")
	if got := a.asks("aws:ec2/getVpc:getVpc", obj{"id": n.vpc.id}); got["cidrBlock"] != "10.0.0.0/16" {
		t.Errorf("VPC %v", got)
	}
}

func TestLiveClusterAndGroups(t *testing.T) {
	a := newAccount(t)
	for token, in := range map[string]obj{
		"aws:eks/getCluster:getCluster":       {"name": "headroom-test"},
		"aws:eks/getNodeGroup:getNodeGroup":   {"clusterName": "headroom-test", "nodeGroupName": "x"},
		"aws:eks/getNodeGroups:getNodeGroups": {"clusterName": "headroom-test"},
		"aws:iam/getRole:getRole":             {"name": "x"},
		"aws:autoscaling/getGroup:getGroup":   {"name": "x"},
		"aws:ssm/getParameter:getParameter":   {"name": "/x"},
		"aws:eks/getAddon:getAddon":           {"clusterName": "headroom-test", "addonName": "x"},
	} {
		if _, err := a.ask(token, in); err == nil {
			t.Errorf("%s finds something in an empty account", token)
		}
	}
	p := a.platform()
	got := a.asks("aws:eks/getCluster:getCluster", obj{"name": p.cluster.id})
	if got["version"] != "1.36" || len(at(got, "identities.oidcs.issuer")) != 1 ||
		str(got, "vpcConfig.vpcId") != p.vpc.id || at(got, "upgradePolicies.supportType")[0] != "STANDARD" {
		t.Errorf("cluster %v", got)
	}
	lt := a.create(tLaunchTemplate, "gpu", templateInputs("gpu-l4"))
	a.create(tNodeGroup, "gpu", groupInputs(p, lt, 0, 0, 4))
	if names := texts(list(a.asks("aws:eks/getNodeGroups:getNodeGroups", obj{"clusterName": p.cluster.id}),
		"names")); !slices.Equal(names, []string{"gpu-l4"}) {
		t.Errorf("groups %v", names)
	}
	group := a.asks("aws:eks/getNodeGroup:getNodeGroup", obj{"clusterName": p.cluster.id, "nodeGroupName": "gpu-l4"})
	if at(group, "launchTemplates.name")[0] != lt.out["name"] || str(group, "releaseVersion") != "1.36.3-20260911" {
		t.Errorf("group %v", group)
	}
	if names := texts(list(a.asks("aws:eks/getClusters:getClusters", obj{}), "names")); !slices.Equal(names,
		[]string{p.cluster.id}) {
		t.Errorf("clusters %v", names)
	}
	found := a.asks("aws:ec2/getLaunchTemplate:getLaunchTemplate", obj{"id": lt.id})
	if at(found, "metadataOptions.httpTokens")[0] != "required" {
		t.Errorf("template %v", found)
	}
	if role := a.asks("aws:iam/getRole:getRole", obj{"name": p.nodeRole.id}); role["arn"] != p.nodeRole.out["arn"] {
		t.Errorf("role %v", role)
	}
}

func TestPinsThatExist(t *testing.T) {
	a := newAccount(t)
	addon := func(name, kubernetes string, recent bool) string {
		return str(a.asks("aws:eks/getAddonVersion:getAddonVersion", obj{
			"addonName":         name,
			"kubernetesVersion": kubernetes,
			"mostRecent":        recent,
		}), "version")
	}
	for name, want := range map[string]string{
		"vpc-cni":            "v1.22.3-eksbuild.1",
		"coredns":            "v1.14.3-eksbuild.3",
		"kube-proxy":         "v1.36.0-eksbuild.9",
		"aws-ebs-csi-driver": "v1.62.0-eksbuild.1",
	} {
		if got := addon(name, "1.36", true); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
		for _, v := range served {
			if addon(name, v.version, false) == "" {
				t.Errorf("%s has no version for %s", name, v.version)
			}
		}
	}
	_, err := a.ask("aws:eks/getAddonVersion:getAddonVersion", obj{"addonName": "coredns", "kubernetesVersion": "1.37"})
	wantError(t, err, "InvalidParameterException", "1.37")
	parameter := func(rest string) (string, error) {
		got, err := a.ask("aws:ssm/getParameter:getParameter",
			obj{"name": "/aws/service/eks/optimized-ami/1.36/amazon-linux-2023/" + rest})
		return str(got, "value"), err
	}
	if got, err := parameter("x86_64/nvidia/recommended/release_version"); got != "1.36.3-20260911" || err != nil {
		t.Errorf("recommended %q, %v", got, err)
	}
	image, err := parameter("x86_64/nvidia/amazon-eks-node-al2023-x86_64-nvidia-1.36-v20260911/image_id")
	if recommended, _ := parameter("x86_64/nvidia/recommended/image_id"); err != nil ||
		!strings.HasPrefix(image, "ami-") || image != recommended {
		t.Errorf("pinned image %q, recommended %q, %v", image, recommended, err)
	}
	for _, missing := range []string{"x86_64/nvidia/amazon-eks-node-al2023-x86_64-nvidia-1.36-v20260101/image_id",
		"x86_64/gpu/recommended/image_id", "riscv/standard/recommended/image_id"} {
		_, err := parameter(missing)
		wantError(t, err, "ParameterNotFound")
	}
}

func TestQuotasAreLive(t *testing.T) {
	a := newAccount(t)
	ask := func() float64 {
		v, _ := a.asks("aws:servicequotas/getServiceQuota:getServiceQuota", obj{
			"serviceCode": "ec2",
			"quotaCode":   world.QuotaGOnDemand,
		})["value"].(float64)
		return v
	}
	if got := ask(); got != 64 {
		t.Errorf("quota %g", got)
	}
	a.act(func(s *world.State) error { return s.SetQuota(world.QuotaGOnDemand, 12) })
	if got := ask(); got != 12 {
		t.Errorf("quota %g after it was set to 12", got)
	}
	_, err := a.ask("aws:servicequotas/getServiceQuota:getServiceQuota",
		obj{"serviceCode": "ec2", "quotaCode": "L-NONE"})
	wantError(t, err, "NoSuchResourceException")
}

func TestClusterVersionsAndTheirSupport(t *testing.T) {
	a := newAccount(t)
	world.Now = func() time.Time { return time.Date(2026, 12, 3, 0, 0, 0, 0, time.UTC) }
	t.Cleanup(func() { world.Now = func() time.Time { return time.Now().UTC() } })
	status := map[any]any{}
	for _, v := range list(a.asks("aws:eks/getClusterVersions:getClusterVersions", obj{}), "clusterVersions") {
		status[v.(obj)["clusterVersion"]] = v.(obj)["versionStatus"]
	}
	if status["1.34"] != "EXTENDED_SUPPORT" || status["1.36"] != "STANDARD_SUPPORT" || status["1.37"] != nil {
		t.Errorf("versions %v", status)
	}
}
