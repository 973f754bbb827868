package network

import (
	"fmt"

	"github.com/pulumi/pulumi-aws/sdk/v6/go/aws/ec2"
	"github.com/pulumi/pulumi-aws/sdk/v6/go/aws/vpc"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
)

func (r *renderer) nat() error {
	gateways := map[string]*ec2.NatGateway{}
	for _, zone := range natZones(r.args.NAT, r.plan.zones) {
		name := r.name + "-nat-" + zone
		address, err := ec2.NewEip(r.ctx, name, &ec2.EipArgs{
			Domain: pulumi.String("vpc"),
			Tags:   r.tags(name),
			// EC2 refuses to map an address into a VPC that has no internet gateway, and to detach a gateway with
			// mapped addresses.
		}, pulumi.Parent(r.network), pulumi.DependsOn([]pulumi.Resource{r.gateway}))
		if err != nil {
			return fmt.Errorf("create address of NAT gateway %s: %w", zone, err)
		}
		public := r.network.Public.In(zone)[0]
		gateways[zone], err = ec2.NewNatGateway(r.ctx, name, &ec2.NatGatewayArgs{
			AllocationId: address.ID(),
			SubnetId:     public.ID,
			Tags:         r.tags(name),
			// Without its way to the internet the gateway exists and forwards nothing.
		}, pulumi.Parent(r.network), pulumi.DependsOn([]pulumi.Resource{r.publicRoute, public.routed}))
		if err != nil {
			return fmt.Errorf("create NAT gateway %s: %w", zone, err)
		}
	}
	if len(gateways) == 0 {
		return nil
	}
	for _, zone := range r.plan.zones {
		route, err := ec2.NewRoute(r.ctx, r.name+"-private-"+zone+"-nat", &ec2.RouteArgs{
			RouteTableId:         r.privateTables[zone].ID(),
			DestinationCidrBlock: pulumi.String("0.0.0.0/0"),
			NatGatewayId:         gateways[natOf(r.args.NAT, r.plan.zones, zone)].ID(),
		}, pulumi.Parent(r.network))
		if err != nil {
			return fmt.Errorf("create private route of %s: %w", zone, err)
		}
		r.ready(route)
	}
	return nil
}

// gatewayEndpoint keeps image layers, which ECR serves from S3, off the NAT gateway's bill.
func (r *renderer) gatewayEndpoint() error {
	var tables pulumi.StringArray
	for _, zone := range r.plan.zones {
		tables = append(tables, r.privateTables[zone].ID())
	}
	endpoint, err := ec2.NewVpcEndpoint(r.ctx, r.name+"-s3", &ec2.VpcEndpointArgs{
		VpcId:           r.vpcID,
		ServiceName:     pulumi.String(gatewayService(r.args.Account.Region, "s3")),
		VpcEndpointType: pulumi.String("Gateway"),
		RouteTableIds:   tables,
		Tags:            r.tags(r.name + "-s3"),
	}, pulumi.Parent(r.network))
	if err != nil {
		return fmt.Errorf("create S3 endpoint: %w", err)
	}
	r.ready(endpoint)
	return nil
}

func (r *renderer) interfaceEndpoints() error {
	if len(r.args.Endpoints) == 0 {
		return nil
	}
	account := r.args.Account
	group, err := ec2.NewSecurityGroup(r.ctx, r.name+"-endpoints", &ec2.SecurityGroupArgs{
		VpcId:       r.vpcID.ToStringOutput(),
		Description: pulumi.String("HTTPS from the VPC to its interface endpoints"),
		Tags:        r.tags(r.name + "-endpoints"),
	}, pulumi.Parent(r.network))
	if err != nil {
		return fmt.Errorf("create security group of the endpoints: %w", err)
	}
	https, err := vpc.NewSecurityGroupIngressRule(r.ctx, r.name+"-endpoints-https", &vpc.SecurityGroupIngressRuleArgs{
		SecurityGroupId: group.ID(),
		CidrIpv4:        pulumi.String(r.args.CIDR),
		IpProtocol:      pulumi.String("tcp"),
		FromPort:        pulumi.Int(443),
		ToPort:          pulumi.Int(443),
		Tags:            r.tags(r.name + "-endpoints"),
	}, pulumi.Parent(r.network))
	if err != nil {
		return fmt.Errorf("open the endpoints: %w", err)
	}
	r.ready(https)
	for _, service := range r.args.Endpoints {
		name := r.name + "-" + shortName(service)
		endpoint, err := ec2.NewVpcEndpoint(r.ctx, name, &ec2.VpcEndpointArgs{
			VpcId:             r.vpcID,
			ServiceName:       pulumi.String(ServiceName(account.Partition, account.Region, service)),
			VpcEndpointType:   pulumi.String("Interface"),
			PrivateDnsEnabled: pulumi.Bool(true),
			SubnetIds:         r.network.Private.IDs(),
			SecurityGroupIds:  pulumi.StringArray{group.ID()},
			Tags:              r.tags(name),
		}, pulumi.Parent(r.network))
		if err != nil {
			return fmt.Errorf("create endpoint %s: %w", service, err)
		}
		r.ready(endpoint)
	}
	return nil
}
