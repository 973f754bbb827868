package nodegroup

import (
	"fmt"
	"maps"
	"slices"

	"github.com/headroom-eks/headroom/components/handle"
	"github.com/headroom-eks/headroom/components/iampolicy"
	"github.com/pulumi/pulumi-aws/sdk/v6/go/aws/iam"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
)

const roleType = "headroom:nodegroup:Role"

// RoleArgs of a node role.
type RoleArgs struct {
	// Account to make it in: its partition and tags are used.
	Account handle.Account
	// SSM lets the Systems Manager open sessions on nodes.
	SSM bool
}

// Role that nodes run as. EKS itself makes the access entry of a managed group's role; nobody else may (field fault
// BR-45).
type Role struct {
	pulumi.ResourceState

	Arn  pulumi.StringOutput
	Name pulumi.StringOutput
	// Ready must exist before the nodes, and outlive them: the policy attachments.
	Ready []pulumi.Resource
}

// NewRole makes the role that managed groups share.
func NewRole(ctx *pulumi.Context, name string, args *RoleArgs, opts ...pulumi.ResourceOption) (*Role, error) {
	if args == nil || args.Account.Partition == "" {
		return nil, fmt.Errorf("node role %q: the partition is empty; look it up", name)
	}
	trust, err := iampolicy.EC2Trust(args.Account.Partition)
	if err != nil {
		return nil, fmt.Errorf("trust of node role %s: %w", name, err)
	}
	c := &Role{}
	inputs := pulumi.Map{"ssm": pulumi.Bool(args.SSM)}
	if err := ctx.RegisterComponentResourceV2(roleType, name, inputs, c, opts...); err != nil {
		return nil, fmt.Errorf("register %s: %w", name, err)
	}
	role, err := iam.NewRole(ctx, name+"-role", &iam.RoleArgs{
		Description:      pulumi.String("Nodes of EKS managed node groups"),
		AssumeRolePolicy: pulumi.String(trust),
		Tags:             pulumi.ToStringMap(args.Account.Tags),
	}, pulumi.Parent(c))
	if err != nil {
		return nil, fmt.Errorf("create node role %s: %w", name, err)
	}
	policies := nodePolicies(args.SSM)
	for _, key := range slices.Sorted(maps.Keys(policies)) {
		// Made before the old one is deleted, an attachment of the same policy would go with it (field fault BR-47).
		a, err := iam.NewRolePolicyAttachment(ctx, name+"-"+key, &iam.RolePolicyAttachmentArgs{
			Role:      role.Name,
			PolicyArn: pulumi.String(iampolicy.ManagedPolicyArn(args.Account.Partition, policies[key])),
		}, pulumi.Parent(c), pulumi.DeleteBeforeReplace(true))
		if err != nil {
			return nil, fmt.Errorf("attach policy %s of %s: %w", key, name, err)
		}
		c.Ready = append(c.Ready, a)
	}
	c.Arn, c.Name = role.Arn, role.Name
	return c, ctx.RegisterResourceOutputs(c, pulumi.Map{"arn": role.Arn, "name": role.Name})
}
