package lifecycle

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/pulumi/pulumi-aws/sdk/v6/go/aws"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"

	"github.com/headroom-eks/headroom/components/handle"
	"github.com/headroom-eks/headroom/components/network"
	"github.com/headroom-eks/headroom/infra/config"
	"github.com/headroom-eks/headroom/sandbox/world"
)

// landingZone is somebody else's program: a network without a cluster.
func landingZone(ctx *pulumi.Context) error {
	provider, err := aws.NewProvider(ctx, "aws", &aws.ProviderArgs{Region: pulumi.String("us-west-2")})
	if err != nil {
		return err
	}
	net, err := network.New(ctx, "network", &network.Args{
		CIDR:    "10.32.0.0/20",
		Account: handle.Account{Region: "us-west-2"},
		NAT:     network.NATPerVpc,
		Zones:   []network.Zone{{Name: "us-west-2a", ID: "usw2-az1"}, {Name: "us-west-2b", ID: "usw2-az2"}},
	}, pulumi.Providers(provider))
	if err != nil {
		return err
	}
	ctx.Export("vpc", net.VpcID)
	ctx.Export("private", net.Private.IDs())
	return nil
}

func TestExistingNetworkIsUsedAndLeftAsItWas(t *testing.T) {
	first := start(t, config.Environment{}, foreign("landing", landingZone))
	given := first.up().Outputs
	subnets, _ := given["private"].([]any)
	if len(subnets) != 2 {
		t.Fatalf("private subnets: %v", given)
	}
	before := networkOf(first)

	e := inAccountOf(first, "test", config.Environment{
		Network: config.Network{Existing: &config.ExistingNetwork{
			VpcID:            fmt.Sprint(given["vpc"]),
			PrivateSubnetIDs: []string{fmt.Sprint(subnets[0]), fmt.Sprint(subnets[1])},
		}},
		Pools: []config.Pool{fixed("gpu-l4", "g6.xlarge", 2)},
	})
	e.mayOnly("cluster", "node-groups")
	e.step("it can be previewed before there is a cluster", func() { e.preview() }) // tried-2, D2
	e.step("its free addresses are counted, after its nodes have taken theirs", func() {
		outputs := e.up().Outputs
		free := 0
		e.view(func(s *world.State) error {
			free = s.FreeAddresses(fmt.Sprint(subnets[0]))
			return nil
		})
		for _, c := range e.pool(outputs, "gpu-l4").Ceilings {
			if c.Kind == "subnet-addresses" && strings.Contains(c.Detail, fmt.Sprintf("(%d free,", free)) {
				return
			}
		}
		e.t.Errorf("no ceiling with the %d addresses that are free: %+v", free, e.pool(outputs, "gpu-l4").Ceilings)
	})
	e.step("its nodes run in the given subnets", func() {
		e.view(func(s *world.State) error {
			for _, i := range s.SortedInstances((*world.Instance).Running) {
				if !slices.Contains(subnets, any(i.Subnet)) {
					e.t.Errorf("%s runs in %s", i.ID, i.Subnet)
				}
			}
			return nil
		})
	})
	e.step("nothing in it is changed, tags included", func() {
		if got := networkOf(e); got != before {
			e.t.Errorf("before:\n%s\nafter:\n%s", before, got)
		}
	})
	e.step("nothing of it is deleted with the cluster", func() {
		if _, err := e.Down(testContext); err != nil {
			e.t.Fatal(err)
		}
		if got := networkOf(e); got != before {
			e.t.Errorf("before:\n%s\nafter:\n%s", before, got)
		}
		first.t = e.t
		first.mayOnly(inMode("fixed")...)
		first.down() // and so it can go with the stack that made it
	})
}

// networkOf is every network resource of the account with its inputs, tags among them, except security groups: EKS
// makes one in the VPC.
func networkOf(e *environment) string {
	e.t.Helper()
	var lines []string
	e.view(func(s *world.State) error {
		for key, r := range s.Resources {
			if strings.HasPrefix(key, "aws:ec2/") && !strings.Contains(key, "ecurityGroup") &&
				!strings.Contains(key, "launchTemplate") {
				lines = append(lines, fmt.Sprint(key, r.Inputs, r.Outputs["tags"], r.Outputs["tagsAll"]))
			}
		}
		return nil
	})
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

func TestShortLivedEnvironmentWithoutAWayOut(t *testing.T) {
	e := start(t, config.Environment{
		Network: config.Network{Zones: []string{"us-west-2a", "us-west-2b"}, NATGateways: "none"},
		Cluster: config.Cluster{UniqueSuffix: true, SkipReachabilityCheck: true},
		Pools:   []config.Pool{fixed("gpu-l4", "g6.xlarge", 1)},
	})
	e.mayOnly(inMode("fixed")...)
	var name any
	e.step("its name has a suffix", func() {
		name = e.up().Outputs["clusterName"]
		text, _ := name.(string)
		if suffix, ours := strings.CutPrefix(text, "headroom-test-"); !ours || len(suffix) != 6 {
			e.t.Errorf("the cluster is called %v", name)
		}
	})
	e.step("the suffix is stable over updates", func() {
		e.changePool("gpu-l4", func(p *config.Pool) { p.NodeCount = new(2) })
		again := e.up()
		if again.Outputs["clusterName"] != name || len(again.Steps) != 1 {
			e.t.Errorf("%v became %v, by %v", name, again.Outputs["clusterName"], changes(again))
		}
		if p := e.pool(again.Outputs, "gpu-l4"); p.Nodes.Realized != 2 {
			e.t.Errorf("%+v", p.Nodes)
		}
	})
	e.step("its nodes reach AWS through endpoints only", func() {
		e.view(func(s *world.State) error {
			if len(s.OfType("aws:ec2/natGateway:NatGateway")) > 0 {
				e.t.Error("there is a NAT gateway")
			}
			var services []string
			for _, r := range s.OfType("aws:ec2/vpcEndpoint:VpcEndpoint") {
				service, _ := r.Outputs["serviceName"].(string)
				services = append(services, strings.TrimPrefix(service, "com.amazonaws.us-west-2."))
			}
			for _, needed := range []string{"s3", "ecr.api", "ecr.dkr", "ec2", "sts", "eks"} {
				if !slices.Contains(services, needed) {
					e.t.Errorf("no endpoint for %s: %v", needed, services)
				}
			}
			return nil
		})
	})
	e.step("everything goes", func() { e.down() })
}
