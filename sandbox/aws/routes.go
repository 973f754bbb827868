package aws

import (
	"cmp"
	"fmt"

	"github.com/headroom-eks/headroom/sandbox/world"
)

var routeTableRow = resourceRow{
	typ:      tRouteTable,
	inputs:   []string{"propagatingVgws", "routes", "vpcId"},
	required: []string{"vpcId"},
	replaces: []string{"vpcId"},
	refs: []reference{
		vpcRef,
		{
			path:   "routes.gatewayId",
			typ:    tGateway,
			gone:   "InvalidInternetGatewayID.NotFound: The gateway ID '{value}' does not exist",
			onGone: dangles,
		},
		{
			path:   "routes.natGatewayId",
			typ:    tNat,
			gone:   "InvalidNatGatewayID.NotFound: The NatGateway '{value}' was not found",
			onGone: dangles,
		},
	},
	id:       "rtb-{hex}",
	arn:      "arn:{partition}:ec2:{region}:{account}:route-table/{id}",
	tagged:   true,
	defaults: obj{"routes": []any{}, "propagatingVgws": []any{}},
	computed: map[string]string{"ownerId": "{account}"},
	inUse:    "DependencyViolation: The routeTable '{id}' has dependencies and cannot be deleted.",
}

var routeRow = resourceRow{
	typ: "aws:ec2/route:Route",
	inputs: []string{
		"routeTableId", "destinationCidrBlock", "destinationIpv6CidrBlock", "destinationPrefixListId", "gatewayId",
		"natGatewayId", "vpcEndpointId", "egressOnlyGatewayId", "transitGatewayId", "networkInterfaceId",
	},
	required: []string{"routeTableId"},
	replaces: []string{
		"routeTableId", "destinationCidrBlock", "destinationIpv6CidrBlock", "destinationPrefixListId",
	},
	refs: []reference{
		{
			path:   "routeTableId",
			typ:    tRouteTable,
			gone:   "InvalidRouteTableID.NotFound: The routeTable ID '{value}' does not exist",
			onGone: cascades,
		},
		{
			path:   "gatewayId",
			typ:    tGateway,
			gone:   "InvalidInternetGatewayID.NotFound: The gateway ID '{value}' does not exist",
			onGone: dangles,
		},
		{
			path:   "natGatewayId",
			typ:    tNat,
			gone:   "InvalidNatGatewayID.NotFound: The NatGateway '{value}' was not found",
			onGone: dangles,
		},
	},
	id:       "r-{routeTableId}_{destination}",
	exists:   "RouteAlreadyExists: The route identified by {destination} already exists.",
	derive:   deriveRoute,
	computed: map[string]string{"origin": "CreateRoute", "state": "active"},
}

func deriveRoute(_ *world.State, in obj) (obj, error) {
	return obj{"destination": cmp.Or(str(in, "destinationCidrBlock"), str(in, "destinationIpv6CidrBlock"),
		str(in, "destinationPrefixListId"))}, nil
}

var routeTableAssociationRow = resourceRow{
	typ:      "aws:ec2/routeTableAssociation:RouteTableAssociation",
	inputs:   []string{"routeTableId", "subnetId", "gatewayId"},
	required: []string{"routeTableId"},
	replaces: []string{"subnetId", "gatewayId"},
	refs: []reference{
		{
			path: "routeTableId",
			typ:  tRouteTable,
			gone: "InvalidRouteTableID.NotFound: The routeTable ID '{value}' does not exist",
		},
		{path: "subnetId", typ: tSubnet, gone: subnetGone, onGone: cascades},
	},
	id:       "rtbassoc-{hex}",
	onCreate: createRouteTableAssociation,
}

func createRouteTableAssociation(c *call) error {
	for _, r := range c.s.OfType(c.res.Type) {
		if str(r.Inputs, "subnetId") == str(c.in, "subnetId") {
			return fmt.Errorf("Resource.AlreadyAssociated: the specified association for route table %s "+
				"conflicts with an existing association",
				str(c.in, "routeTableId"))
		}
	}
	return nil
}
