package karpenter

import (
	"fmt"

	"github.com/pulumi/pulumi-aws/sdk/v6/go/aws/iam"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
)

// SpotRoleName is the role that EC2 needs to buy spot instances, one for each account. Karpenter may not create it, so
// the first spot node of a fresh account fails without it (field fault BR-41).
// https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/service-linked-roles-spot-instance-requests.html
const SpotRoleName = "AWSServiceRoleForEC2Spot"

// NewSpotRole creates that role, for those who ask: it fails where the account has it already. It stays when the stack
// goes, since the whole account uses it.
func NewSpotRole(ctx *pulumi.Context, name string, opts ...pulumi.ResourceOption) (*iam.ServiceLinkedRole, error) {
	role, err := iam.NewServiceLinkedRole(ctx, name, &iam.ServiceLinkedRoleArgs{
		AwsServiceName: pulumi.String("spot.amazonaws.com"),
	}, append(opts, pulumi.RetainOnDelete(true))...)
	if err != nil {
		return nil, fmt.Errorf("create the Spot role: %w", err)
	}
	return role, nil
}
