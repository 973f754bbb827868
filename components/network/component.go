// Package network gives a cluster its VPC: a new one, or an existing one by ids.
//
// It owns the VPC it makes, its subnets, routes, NAT and endpoints. It does not own an existing VPC: nothing in it is
// changed, not even a tag. It does not own the security groups of nodes.
package network

import (
	"fmt"

	"github.com/headroom-eks/headroom/components/handle"
	"github.com/pulumi/pulumi-aws/sdk/v6/go/aws/ec2"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
)

const networkType = "headroom:network:Network"

// Args of a new network.
type Args struct {
	// CIDR of the VPC, between /16 and /21. Default 10.0.0.0/16.
	CIDR string
	// Zones to put subnets in, two to seven. Append new ones at the end: each zone's addresses follow from its place.
	Zones []Zone
	// Account to make it in: its region, which is the zones', and its tags are used.
	Account handle.Account
	// NAT mode. Default one-per-vpc.
	NAT NAT
	// Endpoints are interface endpoints to make, by short service name ("ecr.api") or full name. Nil means
	// IsolatedEndpoints with NAT none, and no endpoint otherwise. The S3 gateway endpoint is always made.
	Endpoints []string
}

// Network is where a cluster runs.
type Network struct {
	pulumi.ResourceState

	VpcID pulumi.StringOutput
	// CIDR of the VPC. An existing VPC may have others beside it.
	CIDR string
	// Private subnets hold nodes, public ones internet-facing load balancers. Public is empty with NAT none.
	Private, Public Subnets
	// Ready must exist before any node, and outlive it: routes and endpoints. To depend on the outputs is not enough,
	// nor to depend on the component: which of its children that covers is a matter of timing in Pulumi's Go SDK.
	Ready []pulumi.Resource
}

// New makes a VPC.
func New(ctx *pulumi.Context, name string, args *Args, opts ...pulumi.ResourceOption) (*Network, error) {
	if args == nil {
		return nil, fmt.Errorf("network %q: no arguments were given", name)
	}
	a := args.withDefaults()
	plan, err := newPlan(a)
	if err != nil {
		return nil, fmt.Errorf("network %q: %w", name, err)
	}
	c := &Network{CIDR: a.CIDR}
	inputs := pulumi.Map{
		"cidr":  pulumi.String(a.CIDR),
		"zones": pulumi.ToStringArray(plan.zones),
		"nat":   pulumi.String(a.NAT),
	}
	if err := ctx.RegisterComponentResourceV2(networkType, name, inputs, c, opts...); err != nil {
		return nil, fmt.Errorf("register %s: %w", name, err)
	}
	r := &renderer{ctx: ctx, name: name, args: a, plan: plan, network: c}
	for _, step := range []func() error{
		r.vpc,
		r.privateSubnets,
		r.publicSubnets,
		r.nat,
		r.gatewayEndpoint,
		r.interfaceEndpoints,
	} {
		if err := step(); err != nil {
			return nil, fmt.Errorf("network %q: %w", name, err)
		}
	}
	return c, c.registerOutputs(ctx)
}

// ExistingSubnet as EC2 describes it.
type ExistingSubnet struct {
	ID   string
	Zone Zone
	CIDR string
}

// ExistingArgs describe a VPC that exists. The caller has looked it up: nothing here asks AWS.
type ExistingArgs struct {
	VpcID           string
	CIDR            string
	Private, Public []ExistingSubnet
}

// Existing wraps a VPC made elsewhere. It makes nothing and tags nothing (field fault BR-76).
func Existing(ctx *pulumi.Context, name string, args *ExistingArgs, opts ...pulumi.ResourceOption) (*Network, error) {
	if args == nil {
		return nil, fmt.Errorf("network %q: no arguments were given", name)
	}
	problems := args.validate()
	if err := problems.Err(); err != nil {
		return nil, fmt.Errorf("network %q: %w", name, err)
	}
	c := &Network{VpcID: pulumi.String(args.VpcID).ToStringOutput(), CIDR: args.CIDR}
	c.Private, c.Public = existing(args.Private), existing(args.Public)
	inputs := pulumi.Map{"vpcId": pulumi.String(args.VpcID)}
	if err := ctx.RegisterComponentResourceV2(networkType, name, inputs, c, opts...); err != nil {
		return nil, fmt.Errorf("register %s: %w", name, err)
	}
	return c, c.registerOutputs(ctx)
}

func (c *Network) registerOutputs(ctx *pulumi.Context) error {
	return ctx.RegisterResourceOutputs(c, pulumi.Map{
		"vpcId":            c.VpcID,
		"cidr":             pulumi.String(c.CIDR),
		"privateSubnetIds": c.Private.IDs(),
		"publicSubnetIds":  c.Public.IDs(),
	})
}

// renderer turns a plan into resources, in the order in which New lists its steps.
type renderer struct {
	ctx     *pulumi.Context
	name    string
	args    Args
	plan    plan
	network *Network

	vpcID         pulumi.IDOutput
	privateTables map[string]*ec2.RouteTable // by zone
	publicTable   *ec2.RouteTable
	gateway       *ec2.InternetGateway
	publicRoute   *ec2.Route
}

func (r *renderer) ready(made pulumi.Resource) { r.network.Ready = append(r.network.Ready, made) }

func (r *renderer) tags(name string, extra ...string) pulumi.StringMap {
	tags := pulumi.ToStringMap(r.args.Account.Tags)
	tags["Name"] = pulumi.String(name)
	for _, role := range extra {
		tags[role] = pulumi.String("1")
	}
	return tags
}

func (r *renderer) vpc() error {
	vpc, err := ec2.NewVpc(r.ctx, r.name+"-vpc", &ec2.VpcArgs{
		CidrBlock: pulumi.String(r.args.CIDR),
		// A private endpoint of EKS and every interface endpoint resolve through the VPC's DNS.
		EnableDnsSupport:   pulumi.Bool(true),
		EnableDnsHostnames: pulumi.Bool(true),
		Tags:               r.tags(r.name),
	}, pulumi.Parent(r.network))
	if err != nil {
		return fmt.Errorf("create VPC: %w", err)
	}
	r.vpcID, r.network.VpcID = vpc.ID(), vpc.ID().ToStringOutput()
	return nil
}

func (r *renderer) privateSubnets() error {
	r.privateTables = map[string]*ec2.RouteTable{}
	for _, block := range r.plan.blocks {
		name := r.name + "-private-" + block.Zone
		// A table for each zone, whatever the NAT mode: changing the mode changes one route, and no association.
		table, err := r.table(name)
		if err != nil {
			return err
		}
		r.privateTables[block.Zone] = table
		subnet, err := r.subnet(name, r.plan.zone(block.Zone), block.Private.String(), privateRoleTag, table)
		if err != nil {
			return err
		}
		r.network.Private = append(r.network.Private, subnet)
	}
	return nil
}

func (r *renderer) publicSubnets() error {
	if r.args.NAT == NATNone {
		return nil
	}
	var err error
	r.gateway, err = ec2.NewInternetGateway(r.ctx, r.name+"-internet", &ec2.InternetGatewayArgs{
		VpcId: r.vpcID,
		Tags:  r.tags(r.name),
	}, pulumi.Parent(r.network))
	if err != nil {
		return fmt.Errorf("create internet gateway: %w", err)
	}
	if r.publicTable, err = r.table(r.name + "-public"); err != nil {
		return err
	}
	r.publicRoute, err = ec2.NewRoute(r.ctx, r.name+"-public-internet", &ec2.RouteArgs{
		RouteTableId:         r.publicTable.ID(),
		DestinationCidrBlock: pulumi.String("0.0.0.0/0"),
		GatewayId:            r.gateway.ID(),
	}, pulumi.Parent(r.network))
	if err != nil {
		return fmt.Errorf("create public route: %w", err)
	}
	r.ready(r.publicRoute)
	for _, block := range r.plan.blocks {
		subnet, err := r.subnet(r.name+"-public-"+block.Zone, r.plan.zone(block.Zone), block.Public.String(),
			publicRoleTag, r.publicTable)
		if err != nil {
			return err
		}
		r.network.Public = append(r.network.Public, subnet)
	}
	return nil
}

func (r *renderer) table(name string) (*ec2.RouteTable, error) {
	table, err := ec2.NewRouteTable(r.ctx, name, &ec2.RouteTableArgs{VpcId: r.vpcID, Tags: r.tags(name)},
		pulumi.Parent(r.network))
	if err != nil {
		return nil, fmt.Errorf("create route table %s: %w", name, err)
	}
	return table, nil
}

func (r *renderer) subnet(name string, zone Zone, cidr, roleTag string, table *ec2.RouteTable) (Subnet, error) {
	subnet, err := ec2.NewSubnet(r.ctx, name, &ec2.SubnetArgs{
		VpcId:            r.vpcID,
		AvailabilityZone: pulumi.String(zone.Name),
		CidrBlock:        pulumi.String(cidr),
		Tags:             r.tags(name, roleTag),
	}, pulumi.Parent(r.network))
	if err != nil {
		return Subnet{}, fmt.Errorf("create subnet %s: %w", name, err)
	}
	association, err := ec2.NewRouteTableAssociation(r.ctx, name, &ec2.RouteTableAssociationArgs{
		SubnetId:     subnet.ID(),
		RouteTableId: table.ID(),
	}, pulumi.Parent(r.network))
	if err != nil {
		return Subnet{}, fmt.Errorf("associate subnet %s: %w", name, err)
	}
	r.ready(association)
	return Subnet{ID: subnet.ID().ToStringOutput(), Zone: zone, CIDR: cidr, routed: association}, nil
}
