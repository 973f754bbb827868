package network_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/headroom-eks/headroom/components/handle"
	"github.com/headroom-eks/headroom/components/network"
	"github.com/headroom-eks/headroom/internal/recorder"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
)

func args() *network.Args {
	return &network.Args{
		Zones:   []network.Zone{{"us-west-2a", "usw2-az1"}, {"us-west-2b", "usw2-az2"}, {"us-west-2c", "usw2-az3"}},
		Account: handle.Account{Region: "us-west-2", Tags: map[string]string{"team": "ml"}},
	}
}

func run(t *testing.T, change func(*network.Args)) (*recorder.Recorder, *network.Network, error) {
	t.Helper()
	a := args()
	change(a)
	var n *network.Network
	r, err := recorder.Run(nil, func(ctx *pulumi.Context) (err error) {
		n, err = network.New(ctx, "net", a)
		return err
	})
	return r, n, err
}

func names(resources []recorder.Resource) (names []string) {
	for _, r := range resources {
		names = append(names, r.Name)
	}
	slices.Sort(names)
	return names
}

const (
	natGateway = "aws:ec2/natGateway:NatGateway"
	route      = "aws:ec2/route:Route"
	subnet     = "aws:ec2/subnet:Subnet"
	endpoint   = "aws:ec2/vpcEndpoint:VpcEndpoint"
)

func TestNATMode(t *testing.T) {
	for mode, want := range map[network.NAT]map[string]string{ // private route -> gateway
		network.NATPerVpc: {
			"net-private-us-west-2a-nat": "net-nat-us-west-2a-id",
			"net-private-us-west-2b-nat": "net-nat-us-west-2a-id",
			"net-private-us-west-2c-nat": "net-nat-us-west-2a-id",
		},
		network.NATPerZone: {
			"net-private-us-west-2a-nat": "net-nat-us-west-2a-id",
			"net-private-us-west-2b-nat": "net-nat-us-west-2b-id",
			"net-private-us-west-2c-nat": "net-nat-us-west-2c-id",
		},
		network.NATNone: {},
	} {
		r, _, err := run(t, func(a *network.Args) { a.NAT = mode })
		if err != nil {
			t.Fatal(err)
		}
		got := map[string]string{}
		for _, res := range r.Of(route) {
			if gateway, ok := res.Inputs["natGatewayId"].(string); ok {
				got[res.Name] = gateway
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", mode, diff)
		}
	}
}

func TestNetworkWithoutAWayOutHasNoInternetGateway(t *testing.T) {
	r, n, err := run(t, func(a *network.Args) { a.NAT = network.NATNone })
	if err != nil {
		t.Fatal(err)
	}
	if found := r.Of("aws:ec2/internetGateway:InternetGateway"); len(found) != 0 {
		t.Errorf("%v is registered", names(found))
	}
	if len(n.Public) != 0 || len(n.Private) != 3 {
		t.Errorf("%d public and %d private subnets, want 0 and 3", len(n.Public), len(n.Private))
	}
}

// Field fault BR-48: IAM has no endpoint; everything else a controller asks has.
func TestNetworkWithoutAWayOutGetsEndpoints(t *testing.T) {
	r, _, err := run(t, func(a *network.Args) { a.NAT = network.NATNone })
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, res := range r.Of(endpoint) {
		got[res.Inputs["serviceName"].(string)] = res.Inputs["vpcEndpointType"].(string)
	}
	for _, service := range []string{"sts", "sqs", "ec2", "eks", "ecr.api", "ecr.dkr", "logs"} {
		if got["com.amazonaws.us-west-2."+service] != "Interface" {
			t.Errorf("no interface endpoint for %s in %v", service, got)
		}
	}
	if got["com.amazonaws.us-west-2.s3"] != "Gateway" {
		t.Errorf("no gateway endpoint for s3 in %v", got)
	}
}

func TestNetworkWithNATHasOnlyTheS3Endpoint(t *testing.T) {
	r, _, err := run(t, func(*network.Args) {})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"net-s3"}, names(r.Of(endpoint))); diff != "" {
		t.Error(diff)
	}
	s3 := r.Get(t, endpoint, "net-s3")
	want := []any{"net-private-us-west-2a-id", "net-private-us-west-2b-id", "net-private-us-west-2c-id"}
	if diff := cmp.Diff(want, s3.Inputs["routeTableIds"]); diff != "" {
		t.Error(diff)
	}
}

// Tried-2, section 3, finding 3: in China the prefix differs from service to service.
func TestEndpointsInChinaHaveTheirOwnPrefix(t *testing.T) {
	r, _, err := run(t, func(a *network.Args) {
		a.NAT = network.NATNone
		a.Account.Partition, a.Account.Region = "aws-cn", "cn-north-1"
	})
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"net-ecr.dkr": "cn.com.amazonaws.cn-north-1.ecr.dkr",
		"net-sts":     "cn.com.amazonaws.cn-north-1.sts",
		"net-kms":     "com.amazonaws.cn-north-1.kms",
		"net-logs":    "com.amazonaws.cn-north-1.logs",
		"net-s3":      "com.amazonaws.cn-north-1.s3",
	} {
		if got := r.Get(t, endpoint, name).Inputs["serviceName"]; got != want {
			t.Errorf("%s: found %v, want %s", name, got, want)
		}
	}
}

func TestFullServiceNameIsTakenAsItIs(t *testing.T) {
	r, _, err := run(t, func(a *network.Args) { a.Endpoints = []string{"cn.com.amazonaws.cn-north-1.ecr.api"} })
	if err != nil {
		t.Fatal(err)
	}
	if got := r.Get(t, endpoint, "net-ecr.api").Inputs["serviceName"]; got != "cn.com.amazonaws.cn-north-1.ecr.api" {
		t.Errorf("service name %v", got)
	}
}

// Field fault BR-76: subnets are found by id, so no discovery or cluster tag is written, only what load balancers need.
func TestSubnetTags(t *testing.T) {
	r, _, err := run(t, func(*network.Args) {})
	if err != nil {
		t.Fatal(err)
	}
	for _, res := range r.Of(subnet) {
		role := "kubernetes.io/role/internal-elb"
		if strings.Contains(res.Name, "public") {
			role = "kubernetes.io/role/elb"
		}
		if diff := cmp.Diff(map[string]any{"team": "ml", "Name": res.Name, role: "1"}, res.Inputs["tags"]); diff != "" {
			t.Errorf("%s: %s", res.Name, diff)
		}
	}
}

func TestTagsReachEverythingThatCarriesThem(t *testing.T) {
	r, _, err := run(t, func(a *network.Args) { a.Endpoints = []string{"sts"} })
	if err != nil {
		t.Fatal(err)
	}
	untagged := []string{"aws:ec2/route:Route", "aws:ec2/routeTableAssociation:RouteTableAssociation",
		"headroom:network:Network"}
	for _, res := range r.All() {
		tags, _ := res.Inputs["tags"].(map[string]any)
		if !slices.Contains(untagged, res.Type) && tags["team"] != "ml" {
			t.Errorf("%s %s has tags %v", res.Type, res.Name, tags)
		}
	}
}

// A gateway that starts before its own way out, or outlives it, fails the update or the destroy.
func TestNATGatewayWaitsForItsWayOut(t *testing.T) {
	r, _, err := run(t, func(*network.Args) {})
	if err != nil {
		t.Fatal(err)
	}
	deps := strings.Join(r.Get(t, natGateway, "net-nat-us-west-2a").RPC.Dependencies, " ")
	for _, want := range []string{"::net-public-internet", "RouteTableAssociation::net-public-us-west-2a"} {
		if !strings.Contains(deps, want) {
			t.Errorf("dependencies %s lack %s", deps, want)
		}
	}
}

// Field fault BR-69.
func TestZonesWithoutControlPlaneAreNotCounted(t *testing.T) {
	_, _, err := run(t, func(a *network.Args) {
		a.Zones = []network.Zone{{"us-east-1a", "use1-az1"}, {"us-east-1e", "use1-az3"}}
	})
	if err == nil || !strings.Contains(err.Error(), "puts none into use1-az3, usw1-az2, cac1-az3") {
		t.Errorf("error %v", err)
	}
	_, n, err := run(t, func(a *network.Args) {
		a.Zones = []network.Zone{{"us-east-1a", "use1-az1"}, {"us-east-1e", "use1-az3"}, {"us-east-1b", "use1-az2"}}
	})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"us-east-1a", "us-east-1b"}, n.Private.ForControlPlane().Zones()); diff != "" {
		t.Error(diff)
	}
}

func TestInvalidNetworkNamesEveryProblem(t *testing.T) {
	r, _, err := run(t, func(a *network.Args) {
		a.CIDR, a.NAT, a.Account.Region = "10.0.0.1/24", "two", ""
		a.Zones = append(a.Zones[:1], a.Zones[0])
		a.Endpoints = []string{"s3", "STS", "ec2", "com.amazonaws.us-west-2.ec2"}
	})
	if err == nil {
		t.Fatal("accepted")
	}
	for _, want := range []string{
		`cidr: has host bits (found "10.0.0.1/24"); write 10.0.0.0/24`,
		`nat: is unknown (found "two"); use one of one-per-vpc, one-per-zone, none`,
		"account.region: is missing",
		`zones[1]: is given twice (found "us-west-2a"); keep one`,
		"zones: EKS needs two zones",
		"endpoints[0]: has its gateway endpoint already",
		`endpoints[1]: is not the name of a service (found "STS")`,
		`endpoints[3]: is given twice (found "ec2")`,
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("error lacks %q:\n%v", want, err)
		}
	}
	if len(r.All()) != 0 {
		t.Errorf("%d resources are registered", len(r.All()))
	}
}

func TestInvalidRangesAreRefused(t *testing.T) {
	for _, cidr := range []string{"10.0.0.0", "fd00::/16", "10.0.0.0/8", "10.0.0.0/24", "8.8.0.0/16"} {
		if _, _, err := run(t, func(a *network.Args) { a.CIDR = cidr }); err == nil {
			t.Errorf("%s: accepted", cidr)
		}
	}
}

func existing() *network.ExistingArgs {
	return &network.ExistingArgs{
		VpcID: "vpc-1", CIDR: "10.1.0.0/16",
		Private: []network.ExistingSubnet{
			{"subnet-b", network.Zone{"us-west-2b", "usw2-az2"}, "10.1.1.0/24"},
			{"subnet-a", network.Zone{"us-west-2a", "usw2-az1"}, "10.1.0.0/24"},
			{"subnet-a2", network.Zone{"us-west-2a", "usw2-az1"}, "10.1.2.0/24"},
		},
	}
}

// Field fault BR-76: nothing is made in, or written on, a network of somebody else.
func TestExistingNetworkMakesNothing(t *testing.T) {
	var n *network.Network
	r, err := recorder.Run(nil, func(ctx *pulumi.Context) (err error) {
		n, err = network.Existing(ctx, "net", existing())
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, res := range r.All() {
		if res.RPC.Custom {
			t.Errorf("%s %s is registered", res.Type, res.Name)
		}
	}
	if diff := cmp.Diff([]string{"us-west-2a", "us-west-2b"}, n.Private.Zones()); diff != "" {
		t.Error(diff)
	}
	if got := len(n.Private.In("us-west-2a")); got != 2 {
		t.Errorf("%d subnets in us-west-2a, want 2", got)
	}
}

func TestInvalidExistingNetworkIsRefused(t *testing.T) {
	for name, change := range map[string]func(*network.ExistingArgs){
		"no vpc":      func(a *network.ExistingArgs) { a.VpcID = "" },
		"one zone":    func(a *network.ExistingArgs) { a.Private = a.Private[1:] },
		"no zone":     func(a *network.ExistingArgs) { a.Private[0].Zone = network.Zone{} },
		"empty id":    func(a *network.ExistingArgs) { a.Private[2].ID = "" },
		"id twice":    func(a *network.ExistingArgs) { a.Public = a.Private[:1] },
		"no range":    func(a *network.ExistingArgs) { a.Private[2].CIDR = "" },
		"vpc unknown": func(a *network.ExistingArgs) { a.CIDR = "?" },
	} {
		a := existing()
		change(a)
		_, err := recorder.Run(nil, func(ctx *pulumi.Context) error {
			_, err := network.Existing(ctx, "net", a)
			return err
		})
		if err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}
