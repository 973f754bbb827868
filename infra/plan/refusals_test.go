package plan

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	capacityplan "github.com/headroom-eks/headroom/capacity/plan"
	"github.com/headroom-eks/headroom/components/clusterautoscaler"
	"github.com/headroom-eks/headroom/infra/ask"
	"github.com/headroom-eks/headroom/infra/config"
	"github.com/headroom-eks/headroom/pool"
	"github.com/headroom-eks/headroom/problem"
)

// names fails the test when no problem holds the text.
func names(t *testing.T, found problem.List, want string) {
	t.Helper()
	if !slices.ContainsFunc(found.Items(), func(p string) bool { return strings.Contains(p, want) }) {
		t.Errorf("no problem says %q; found %q", want, found.Items())
	}
}

var handedOver = func(env *config.Environment) { env.GitOps.NodePools = "manifests" }

func makesSpotRole(env *config.Environment) { env.Spot.CreateServiceLinkedRole = true }

func accessOf(principal string) func(*config.Environment) {
	return func(env *config.Environment) {
		env.Cluster.Access = map[string]config.Access{"x": {PrincipalArn: principal, Policy: "view"}}
	}
}

func secretsKey(arn string) func(*config.Environment) {
	return func(env *config.Environment) { env.Cluster.SecretsKeyArn = arn }
}

func endpointTo(service string) func(*config.Environment) {
	return func(env *config.Environment) { env.Network.InterfaceEndpoints = []string{service} }
}

func queueKey(arn string) func(*config.Environment) {
	return func(env *config.Environment) { env.Karpenter.InterruptionQueueKeyArn = arn }
}

var awsRefusals = []struct {
	name   string
	env    []func(*config.Environment)
	change func(*ask.Answers)
	want   string
}{
	{"a version that EKS does not serve", nil,
		func(a *ask.Answers) { a.KubernetesVersions = ask.Known([]string{"1.34", "1.35"}) },
		`cluster.kubernetesVersion: EKS serves no "1.36" in us-west-2; it serves 1.34, 1.35`},
	{"a version below the live one", nil, living(func(l *ask.Live) { l.Version = "1.37" }),
		`cluster.kubernetesVersion`},
	{"a version two above the live one", nil, living(func(l *ask.Live) { l.Version = "1.34" }),
		`cluster.kubernetesVersion`},
	{"a zone of another account", nil, func(a *ask.Answers) { delete(a.ZoneIDs.Value(), "us-west-2b") },
		`network.zones: this account has no zone "us-west-2b"`},
	{"an image release that is not there", nil, func(a *ask.Answers) {
		a.Images = []ask.Image{{Release: "1.36.3-20260911", Description: "nvidia image", Exists: ask.Known(false)}}
	}, `system.amiRelease: 1.36.3-20260911 (nvidia image) does not exist in us-west-2; pin another release`},
	{"an image release of another patch than its date's (review m6)", nil, func(a *ask.Answers) {
		a.Images = []ask.Image{{Release: "1.36.2-20260911", Description: "nvidia image", Exists: ask.Known(true),
			OfDate: ask.Known("1.36.3-20260911")}}
	}, `system.amiRelease: is not the release of its date (nvidia image), which EKS wants (found "1.36.2-20260911"); ` +
		`pin 1.36.3-20260911`},
	{"no zone in common (field fault BR-68)", karpenterPool,
		func(a *ask.Answers) { a.Offerings["g6.xlarge"] = ask.Known([]string{"us-west-2d"}) },
		`pools[0] "gpu-l4".zones: no zone is left for g6.xlarge`},
	{"more pods than addresses (FR-13)", environmentOf(gpuPool(pool.Karpenter, maxPods(250))), nil,
		`pools[0] "gpu-l4".kubelet.maxPods: exceeds the 58 pods for which a g6.xlarge has addresses (found 250); ` +
			`lower it, or set network.prefixDelegation`},
	{"more pods than addresses in blocks", append(environmentOf(gpuPool(pool.Karpenter, maxPods(1000))), prefixes), nil,
		`kubelet.maxPods: exceeds the 898 pods for which a g6.xlarge has addresses (found 1000); lower it`},
	{"a VPC whose nodes find no private endpoint (FR-09)", existingNetwork, func(a *ask.Answers) {
		a.Network.CIDR, a.Network.Off = ask.Known("10.0.0.0/16"), []string{"enableDnsHostnames", "enableDnsSupport"}
		a.Network.Subnets = []ask.Subnet{
			subnet("subnet-a", "us-west-2a", "vpc-1"), subnet("subnet-b", "us-west-2b", "vpc-1"),
		}
	}, `network.existing.vpcId: has enableDnsHostnames and enableDnsSupport off`},
	{"a system type that no zone offers (FR-12)", nil,
		func(a *ask.Answers) { a.Offerings["m6i.large"] = ask.Known([]string{"us-west-2d"}) },
		`system.instanceType: no zone is left for m6i.large`},
	{"a system group above the quota of a fresh account (review m1)", nil, func(a *ask.Answers) {
		a.Quotas[capacityplan.StandardQuota] = ask.Known(3)
	}, `pools: system start with nodes of 4 vCPUs together, and the quota L-1216C47A allows 3`},
	{"a reservation and a group over several zones (FR-08)", environmentOf(gpuPool(pool.Fixed, func(p *config.Pool) {
		p.CapacityTypes = []pool.CapacityType{pool.Reserved}
		p.Reservation = &config.Reservation{ID: "cr-0123456789abcdef0", Count: 2}
	})), nil, `pools[0] "gpu-l4".zones: are us-west-2a, us-west-2b, and a reservation is in one zone`},
	{"a zone of the control plane that leaves the network (FR-03)", nil,
		inSubnets(map[string]string{"us-west-2a": "10.0.0.0/19", "us-west-2d": "10.0.32.0/19"}),
		`network: has no private subnet in us-west-2d, in which the control plane of the live cluster has one`},
	{"zones in another order (terraform-aws-vpc 189)", nil,
		inSubnets(map[string]string{"us-west-2a": "10.0.32.0/19", "us-west-2b": "10.0.0.0/19"}),
		`network.zones: would move us-west-2a from 10.0.32.0/19 to 10.0.0.0/19 (found [us-west-2a, us-west-2b, ` +
			`us-west-2c]); keep the order of the zones, and add new ones at the end`},
	{"a key of one's own on a cluster with this stack's key (FR-01)", ownKey, formerly(madeKey, true),
		`cluster.secretsKeyArn: is another key than ` + madeKey +
			`, which this stack made and the live cluster encrypts ` +
			`its secrets with; EKS cannot change it (found "` + givenKey + `"); remove it`},
	{"another key than the given one (FR-01)", ownKey, formerly(madeKey, false),
		`cluster.secretsKeyArn: is another key than ` + madeKey + `, with which the live cluster encrypts its secrets`},
	{"a given key that is taken away (FR-01)", nil, formerly(givenKey, false),
		`cluster.secretsKeyArn: is not set, and the live cluster encrypts its secrets with ` + givenKey},
	{"a Local Zone does not count as a zone of the control plane (FR-15)", existingNetwork, func(a *ask.Answers) {
		a.Network.CIDR = ask.Known("10.0.0.0/16")
		a.Network.Subnets = []ask.Subnet{
			subnet("subnet-a", "us-west-2a", "vpc-1"), subnet("subnet-b", "us-west-2-lax-1a", "vpc-1"),
		}
	}, `network.existing.privateSubnetIds: lie in 1 zone(s) into which EKS puts a control plane`},
	{"a principal of another account (review m2)", access("arn:aws:iam::210987654321:role/ops", "view"), nil,
		`cluster.access["ops"].principalArn: is of another account than the cluster's, 123456789012`},
	{"the creator beside its own entry (FR-04)", access("arn:aws:iam::123456789012:role/runner", "edit"),
		callerIs("runner"),
		`cluster.access["ops"].principalArn: runs this update, and EKS makes its own entry for it`},
	{"a live cluster that would get a suffix", nil, func(a *ask.Answers) { a.Renamed = "headroom-dev" },
		`cluster.uniqueSuffix: would give the live cluster headroom-dev of this stack another name`},
	{"another range of a live network", nil,
		inSubnets(map[string]string{"us-west-2a": "10.9.0.0/19", "us-west-2b": "10.9.32.0/19"}),
		`network.cidr: does not hold 10.9.0.0/19, where the control plane of the live cluster is`},
	{"a cluster that would be renamed", nil, func(a *ask.Answers) { a.Renamed = "headroom-former" },
		`cluster.name: is another than headroom-former, the live cluster of this stack`},
	{"a cluster of another stack (tried-2, F20)", nil, living(func(l *ask.Live) { l.Stack = "headroom/other" }),
		`cluster.name: is that of a cluster in us-west-2 which stack headroom/other made (found "headroom-dev")`},
	{"a profile that nodes run with (FR-14)", karpenterPool, func(a *ask.Answers) {
		living()(a)
		a.Former = ask.Known(ask.Former{KarpenterInstanceProfile: "profile-1"})
		a.RunningNodes["gpu-l4"] = ask.Known(2)
	}, `karpenter.instanceProfile: is off, and 2 node(s) of Karpenter run with the profile profile-1`},
	{"an entry that is there already (FR-04)", access("arn:aws:iam::123456789012:role/ops", "view"),
		func(a *ask.Answers) {
			living()(a)
			a.Entries = []string{"arn:aws:iam::123456789012:role/ops"}
		}, `aws eks delete-access-entry --cluster-name headroom-dev --principal-arn ` +
			`arn:aws:iam::123456789012:role/ops`},
	{"an instance type without a description", karpenterPool, func(a *ask.Answers) { delete(a.Shapes, "g6.xlarge") },
		`EC2 gives no description of g6.xlarge in us-west-2 (it was not asked)`},
	{"two shapes of one size", environmentOf(gpuPool(pool.Karpenter, func(p *config.Pool) {
		p.InstanceTypes = []string{"g6.xlarge", "gr6.xlarge"}
	})), nil, `gr6.xlarge has 8 vCPUs and 1 GPUs, g6.xlarge has 4 and 1; the types of a pool have one shape`},
	{"spot without its role (field fault BR-41)", karpenterPool,
		func(a *ask.Answers) { a.SpotRole = ask.Known(false) },
		`spot: this account has no service-linked role AWSServiceRoleForEC2Spot`},
	{"a role for spot that is there (F21)", append(karpenterPool, makesSpotRole), nil,
		`spot.createServiceLinkedRole: the account has the role AWSServiceRoleForEC2Spot already`},
	{"a principal of another partition (F21)",
		[]func(*config.Environment){accessOf("arn:aws-cn:iam::123456789012:role/x")}, nil,
		`cluster.access["x"].principalArn: is of another partition than the cluster's, aws`},
	{"a secrets key of another region (F21)", []func(*config.Environment){
		secretsKey("arn:aws:kms:eu-west-1:123456789012:key/a")}, nil,
		`cluster.secretsKeyArn: is not a key of us-west-2 in partition aws`},
	{"a queue's key of another partition (F21)",
		append(karpenterPool, queueKey("arn:aws-cn:kms:us-west-2:123456789012:key/a")),
		nil, `karpenter.interruptionQueueKeyArn: is not a key of us-west-2 in partition aws`},
	{"an endpoint of no service (F21)", []func(*config.Environment){endpointTo("nonsense")}, func(a *ask.Answers) {
		a.Endpoints = map[string]ask.Answer[[]string]{"com.amazonaws.us-west-2.nonsense": ask.Known[[]string](nil)}
	}, `network.interfaceEndpoints[0]: us-west-2 has no endpoint service com.amazonaws.us-west-2.nonsense`},
	{"an endpoint that a zone lacks", []func(*config.Environment){endpointTo("fsx")}, func(a *ask.Answers) {
		a.Endpoints = map[string]ask.Answer[[]string]{"com.amazonaws.us-west-2.fsx": ask.Known(zones[:1])}
	}, `network.interfaceEndpoints[0]: com.amazonaws.us-west-2.fsx has no endpoint in us-west-2b`},
	{"a live cluster moved into Auto Mode (field fault BR-83)", environmentOf(gpuPool(pool.AutoMode)), living(),
		`autoMode: the live cluster has Auto Mode off and this configuration would switch it on`},
	{"a live pool handed over at once", append(karpenterPool, handedOver),
		func(a *ask.Answers) { a.RunningNodes["gpu-l4"] = ask.Known(2) },
		`gitOps: pool "gpu-l4" has 2 running nodes; if it is applied elsewhere already, set gitOps.applied: true`},
	{"a live cluster that could not be asked about", nil, func(a *ask.Answers) {
		a.Missing = []ask.Missing{{Question: "cluster headroom-dev", Reason: "AccessDenied", Guards: true}}
	}, `aws: cluster headroom-dev could not be asked about (AccessDenied); ` +
		`without the answer what runs could be replaced or deleted unseen`},
	{"a system type without a description", nil, func(a *ask.Answers) { delete(a.Shapes, "m6i.large") },
		`system.instanceType: EC2 gives no description of m6i.large in us-west-2`},
	{"more nodes from the start than the quota holds", []func(*config.Environment){
		with(gpuPool(pool.Fixed, named("a"), fixedAt(10)), gpuPool(pool.Karpenter, named("b"), static(7))),
		func(env *config.Environment) { env.PodsSelectPool = true },
	}, nil, `pools: a, b start with nodes of 68 vCPUs together, and the quota L-DB2E81BA allows 64`},
	{"more labels than an Auto Scaling group has tags", environmentOf(gpuPool(pool.ClusterAutoscaler, manyLabels)), nil,
		`make more tags than the 45 for which an Auto Scaling group has room`},
	{"a network with a subnet of another VPC", existingNetwork, func(a *ask.Answers) {
		a.Network.CIDR = ask.Known("10.0.0.0/16")
		a.Network.Subnets = []ask.Subnet{
			subnet("subnet-a", "us-west-2a", "vpc-1"), subnet("subnet-b", "us-west-2b", "vpc-2"),
		}
	}, `network.existing: subnet subnet-b belongs to vpc-2, not to vpc-1; name subnets of one VPC`},
	{"a subnet without addresses (containers-roadmap 1693)", existingNetwork, func(a *ask.Answers) {
		full := subnet("subnet-b", "us-west-2b", "vpc-1")
		full.Found = ask.Known(ask.SubnetDescription{VpcID: "vpc-1", Zone: "us-west-2b", CIDR: "10.0.16.0/20",
			FreeAddresses: 5})
		a.Network.CIDR = ask.Known("10.0.0.0/16")
		a.Network.Subnets = []ask.Subnet{subnet("subnet-a", "us-west-2a", "vpc-1"), full}
	}, `network.existing.privateSubnetIds: subnet-b has fewer than the 6 free addresses that EKS wants for a control ` +
		`plane (found 5); free some, or name another subnet`},
	{"a network that could not be read", existingNetwork, func(a *ask.Answers) {
		a.Network.CIDR = ask.Unknown[string]("AccessDenied")
		a.Network.Subnets = []ask.Subnet{
			subnet("subnet-a", "us-west-2a", "vpc-1"),
			{ID: "subnet-b", Found: ask.Unknown[ask.SubnetDescription]("not found")},
		}
	}, `network.existing: the VPC or a subnet could not be read (vpc-1: AccessDenied; subnet-b: not found)`},
	{"a network in one zone", existingNetwork, func(a *ask.Answers) {
		a.Network.CIDR = ask.Known("10.0.0.0/16")
		a.Network.Subnets = []ask.Subnet{
			subnet("subnet-a", "us-west-2a", "vpc-1"), subnet("subnet-b", "us-west-2a", "vpc-1"),
		}
	}, `network.existing.privateSubnetIds: lie in 1 zone(s) into which EKS puts a control plane (found [us-west-2a])`},
}

var karpenterPool = environmentOf(gpuPool(pool.Karpenter))

func environmentOf(pools ...config.Pool) []func(*config.Environment) {
	return []func(*config.Environment){with(pools...)}
}

var existingNetwork = []func(*config.Environment){func(env *config.Environment) {
	env.Network = config.Network{Existing: &config.ExistingNetwork{
		VpcID:            "vpc-1",
		PrivateSubnetIDs: []string{"subnet-a", "subnet-b"},
	}}
}}

func subnet(id, zone, vpc string) ask.Subnet {
	cidr := map[string]string{"subnet-a": "10.0.0.0/20", "subnet-b": "10.0.16.0/20"}[id]
	return ask.Subnet{ID: id, Found: ask.Known(ask.SubnetDescription{
		VpcID:         vpc,
		Zone:          zone,
		CIDR:          cidr,
		FreeAddresses: 4000,
	})}
}

func manyLabels(p *config.Pool) {
	p.Labels = map[string]string{}
	for i := range 50 {
		p.Labels["example.com/"+strings.Repeat("x", i+1)] = "y"
	}
}

func TestWhatAWSCannotGiveIsRefusedWithThePathAndTheRemedy(t *testing.T) {
	for _, c := range awsRefusals {
		t.Run(c.name, func(t *testing.T) {
			a := answers()
			if c.change != nil {
				c.change(&a)
			}
			names(t, Decide(valid(t, c.env...), a).Problems, c.want)
		})
	}
}

func TestAnAccountThatHasEverythingIsNotRefused(t *testing.T) {
	if found := Decide(valid(t, karpenterPool...), answers()).Problems.Items(); len(found) > 0 {
		t.Errorf("problems: %q", found)
	}
}

func TestWhatCouldNotBeAskedRefusesNothing(t *testing.T) {
	a := answers(func(a *ask.Answers) {
		*a = ask.Answers{Account: a.Account, Shapes: a.Shapes}
	})
	if found := Decide(valid(t, karpenterPool...), a).Problems.Items(); len(found) > 0 {
		t.Errorf("problems: %q", found)
	}
}

func TestPoolRunsWhereEveryOneOfItsTypesIsOffered(t *testing.T) {
	env := valid(t, karpenterPool...)
	env.Pools[0].InstanceTypes = []string{"g6.xlarge", "gr6.xlarge"}
	p := Decide(env, answers()).Pools[1]
	if !slices.Equal(p.Facts.Zones, []string{"us-west-2a"}) {
		t.Errorf("zones %q", p.Facts.Zones)
	}
}

func TestAQuotaLoweredUnderRunningNodesRefusesNothing(t *testing.T) {
	env := valid(t, with(gpuPool(pool.Fixed, fixedAt(4))))
	a := answers(func(a *ask.Answers) { a.Quotas[onDemandQuota] = ask.Known(4) })
	planned := Decide(env, a)
	if len(planned.Problems.Items()) == 0 {
		t.Error("four nodes that do not run yet are taken to fit into 4 vCPUs")
	}
	living(func(l *ask.Live) {
		l.Groups[planned.Pools[1].GroupNames()[0]] = clusterautoscaler.Live{Exists: true, Min: 4, Max: 4, Desired: 4}
	})(&a)
	if found := Decide(env, a).Problems.Items(); len(found) > 0 {
		t.Errorf("problems: %q", found)
	}
}

func prefixes(env *config.Environment) { env.Network.PrefixDelegation = true }

// FR-16: with blocks of addresses nodes take more pods, which Karpenter does not count by itself.
func TestPrefixDelegationGivesKarpentersNodesTheirPods(t *testing.T) {
	large := func(p *config.Pool) { p.InstanceTypes = []string{"g6.12xlarge"} }
	own := func(p *config.Pool) { p.Kubelet.MaxPods = 60 }
	env := valid(t, with(gpuPool(pool.Karpenter), gpuPool(pool.Karpenter, named("large"), large),
		gpuPool(pool.Karpenter, named("own"), own)), withGeneral(pool.Karpenter), prefixes)
	decided := Decide(env, answers())
	if err := decided.Problems.Err(); err != nil {
		t.Fatal(err)
	}
	want := map[string]int{"gpu-l4": 110, "large": 250, "own": 60, config.GeneralPool: 110}
	for _, p := range decided.Pools {
		if p.NodePool == nil {
			continue
		}
		kubelet := fmt.Sprint(p.NodePool.Class.Spec["kubelet"])
		if !strings.Contains(kubelet, fmt.Sprintf("maxPods:%d", want[p.Name()])) {
			t.Errorf("%s: kubelet %s, want maxPods %d", p.Name(), kubelet, want[p.Name()])
		}
	}
}

// A scaler may choose any of a pool's types, also the one that takes the most addresses.
func TestANodeCountsWithTheAddressesOfItsLargestType(t *testing.T) {
	p := gpuPool(pool.Karpenter, func(p *config.Pool) { p.InstanceTypes = []string{"g6e.xlarge", "g6.xlarge"} })
	for range 2 {
		decided := Decide(valid(t, with(p)), answers(func(a *ask.Answers) {
			small := describe("g6e.xlarge", 4, 1).Value()
			small.MaxENIs, small.IPv4PerENI = 3, 10
			a.Shapes["g6e.xlarge"], a.Offerings["g6e.xlarge"] = ask.Known(small), ask.Known(zones)
		}))
		if err := decided.Problems.Err(); err != nil {
			t.Fatal(err)
		}
		if cost := decided.Pools[1].Facts.Uses[0].CostPerNode; cost != 60 {
			t.Errorf("types %v: a node counts with %d addresses, want 60", p.InstanceTypes, cost)
		}
		slices.Reverse(p.InstanceTypes)
	}
}

const (
	madeKey  = "arn:aws:kms:us-west-2:123456789012:key/made"
	givenKey = "arn:aws:kms:us-west-2:123456789012:key/given"
)

var ownKey = []func(*config.Environment){func(env *config.Environment) { env.Cluster.SecretsKeyArn = givenKey }}

// formerly is a live cluster with a key, which this stack has made or was given.
func formerly(used string, made bool) func(*ask.Answers) {
	return func(a *ask.Answers) {
		living()(a)
		a.Former = ask.Known(ask.Former{SecretsKey: ask.SecretsKey{Arn: used, Made: made}})
	}
}

func TestTheKeyOfALiveClusterStays(t *testing.T) {
	for _, c := range []struct {
		env  []func(*config.Environment)
		used string
		made bool
	}{{nil, madeKey, true}, {ownKey, givenKey, false}, {ownKey, "", false}, {nil, "", false}} {
		if err := Decide(valid(t, c.env...), answers(formerly(c.used, c.made))).Problems.Err(); err != nil {
			t.Error(err)
		}
	}
}

// FR-03: a zone more is for nodes alone.
func TestTheControlPlaneStaysInTheZonesOfTheLiveCluster(t *testing.T) {
	decided := Decide(valid(t), answers(inSubnets(map[string]string{
		zones[0]: "10.0.0.0/19", zones[1]: "10.0.32.0/19",
	})))
	if err := decided.Problems.Err(); err != nil {
		t.Fatal(err)
	}
	if got := decided.Cluster.ControlPlaneZones; !slices.Equal(got, zones[:2]) {
		t.Errorf("the control plane is put into %v", got)
	}
	if got := Decide(valid(t), answers()).Cluster.ControlPlaneZones; !slices.Equal(got, zones) {
		t.Errorf("of a new cluster: %v", got)
	}
}

func access(arn, policy string) []func(*config.Environment) {
	return []func(*config.Environment){func(env *config.Environment) {
		env.Cluster.Access = map[string]config.Access{"ops": {PrincipalArn: arn, Policy: policy}}
	}}
}

func callerIs(role string) func(*ask.Answers) {
	return func(a *ask.Answers) {
		a.Account.CallerArn = "arn:aws:sts::123456789012:assumed-role/" + role + "/session"
	}
}

func inSubnets(subnets map[string]string) func(*ask.Answers) {
	return living(func(l *ask.Live) { l.Subnets = subnets })
}

func TestAPrivateEndpointIsOpenToItsVPCUnlessOthersAreNamed(t *testing.T) {
	office := []string{"10.8.0.0/16"}
	for name, c := range map[string]struct {
		change func(*config.Environment)
		want   []string
	}{
		"private":        {func(*config.Environment) {}, []string{"10.0.0.0/16"}},
		"private, named": {func(env *config.Environment) { env.Cluster.PrivateAccess.CIDRs = office }, office},
		"public": {func(
			env *config.Environment) {
			env.Cluster.PublicAccessCIDRs = []string{"203.0.113.0/24"}
		}, nil},
		"private by groups": {func(env *config.Environment) { env.Cluster.PrivateAccess.SecurityGroupIDs = runners },
			nil},
	} {
		if got := Decide(valid(t, c.change), answers()).Cluster.PrivateAccess.CIDRs; !slices.Equal(got, c.want) {
			t.Errorf("%s: open to %v, want %v", name, got, c.want)
		}
	}
}

var runners = []string{"sg-0123456789abcdef0"}

// tried-2, F17: a lost permission is not the fault of a type, and is told once.
func TestATypeThatCouldNotBeAskedAboutIsReportedOnceWithTheReason(t *testing.T) {
	decided := Decide(valid(t, karpenterPool...), answers(func(a *ask.Answers) {
		a.Shapes["g6.xlarge"] = ask.Unknown[pool.Shape]("UnauthorizedOperation: ec2:DescribeInstanceTypes")
	}))
	if found := decided.Problems.Items(); len(found) != 1 || !strings.Contains(found[0],
		"(UnauthorizedOperation: ec2:DescribeInstanceTypes); choose a type the region has, or allow") {
		t.Errorf("found %q", found)
	}
}

// Found by a newcomer: a fixed group that somebody emptied, then a lower quota. The update starts nothing.
func TestNodesThatALiveGroupLacksAreNotStartedByTheUpdate(t *testing.T) {
	env := valid(t, with(gpuPool(pool.Fixed, fixedAt(2))))
	a := answers(living())
	for _, p := range Decide(env, a).Pools[1:] {
		a.Live.Value().Groups[p.GroupNames()[0]] = clusterautoscaler.Live{Exists: true, Min: 2, Max: 2}
	}
	a.Quotas["L-DB2E81BA"] = ask.Known(0)
	if err := Decide(env, a).Problems.Err(); err != nil {
		t.Error(err)
	}
}
