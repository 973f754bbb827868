package karpenter

import (
	"fmt"

	"github.com/headroom-eks/headroom/components/handle"
	"github.com/headroom-eks/headroom/components/iampolicy"
	"github.com/headroom-eks/headroom/problem"
	"github.com/pulumi/pulumi-aws/sdk/v6/go/aws/eks"
	"github.com/pulumi/pulumi-aws/sdk/v6/go/aws/iam"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
)

const nodeRoleType = "headroom:karpenter:NodeRole"

// NodeRoleArgs of the nodes' role.
type NodeRoleArgs struct {
	// Cluster that the nodes join: its partition, name and tags are used.
	Cluster handle.Cluster
	// InstanceProfile makes a profile of the role beforehand, for networks from which the controller cannot reach IAM,
	// which has no endpoint of its own (field fault BR-48). Node classes then name the profile and no role.
	InstanceProfile bool
}

// NodeRole is the identity of the nodes that Karpenter makes. It is not for managed groups, whose access entry EKS
// makes by itself (field fault BR-45).
type NodeRole struct {
	pulumi.ResourceState

	// Name for node classes, Arn for the controller's permission to pass the role: both of one resource (field fault
	// BR-43).
	Name, Arn pulumi.StringOutput
	// InstanceProfileName; nil unless asked for.
	InstanceProfileName pulumi.StringInput
	// Ready is what the nodes need to join: access entry and permissions.
	Ready []pulumi.Resource
}

// NewNodeRole makes the role, its permissions and its access entry.
func NewNodeRole(ctx *pulumi.Context, name string, args *NodeRoleArgs, opts ...pulumi.ResourceOption) (*NodeRole,
	error) {
	if err := validateNodeRole(name, args).Err(); err != nil {
		return nil, err
	}
	c := &NodeRole{}
	if err := ctx.RegisterComponentResourceV2(nodeRoleType, name, pulumi.Map{"clusterName": args.Cluster.Name}, c,
		opts...); err != nil {
		return nil, fmt.Errorf("register %s: %w", name, err)
	}
	trust, err := iampolicy.EC2Trust(args.Cluster.Partition)
	if err != nil {
		return nil, fmt.Errorf("write trust of %s: %w", name, err)
	}
	role, err := iam.NewRole(ctx, name+"-role", &iam.RoleArgs{
		Description:      pulumi.String("Nodes that Karpenter makes"),
		AssumeRolePolicy: pulumi.String(trust),
		Tags:             pulumi.ToStringMap(args.Cluster.Tags),
	}, pulumi.Parent(c))
	if err != nil {
		return nil, fmt.Errorf("create role of %s: %w", name, err)
	}
	c.Name, c.Arn = role.Name, role.Arn
	if err := c.attachPolicies(ctx, name, role, args.Cluster.Partition); err != nil {
		return nil, err
	}
	entry, err := eks.NewAccessEntry(ctx, name+"-entry", &eks.AccessEntryArgs{
		ClusterName:  args.Cluster.Name,
		PrincipalArn: role.Arn,
		Type:         pulumi.String("EC2_LINUX"),
		Tags:         pulumi.ToStringMap(args.Cluster.Tags),
	}, pulumi.Parent(c),
		// An entry keeps pointing at the role it was made for, even when a new role has the same ARN (field fault
		// BR-46).
		pulumi.ReplacementTrigger(role.UniqueId),
		pulumi.DeleteBeforeReplace(true)) // a principal has one entry
	if err != nil {
		return nil, fmt.Errorf("create access entry of %s: %w", name, err)
	}
	c.Ready = append(c.Ready, entry)
	outputs := pulumi.Map{"name": c.Name, "arn": c.Arn}
	if args.InstanceProfile {
		profile, err := iam.NewInstanceProfile(ctx, name+"-profile", &iam.InstanceProfileArgs{
			Role: role.Name, Tags: pulumi.ToStringMap(args.Cluster.Tags),
		}, pulumi.Parent(c))
		if err != nil {
			return nil, fmt.Errorf("create instance profile of %s: %w", name, err)
		}
		c.InstanceProfileName, outputs["instanceProfileName"] = profile.Name, profile.Name
		c.Ready = append(c.Ready, profile)
	}
	return c, ctx.RegisterResourceOutputs(c, outputs)
}

func (c *NodeRole) attachPolicies(ctx *pulumi.Context, name string, role *iam.Role, partition string) error {
	for _, policy := range nodePolicies {
		// Made before the old one is deleted, an attachment of the same policy would be removed by that deletion (field
		// fault BR-47).
		attachment, err := iam.NewRolePolicyAttachment(ctx, name+"-"+policy, &iam.RolePolicyAttachmentArgs{
			Role:      role.Name,
			PolicyArn: pulumi.String(iampolicy.ManagedPolicyArn(partition, policy)),
		}, pulumi.Parent(c), pulumi.DeleteBeforeReplace(true))
		if err != nil {
			return fmt.Errorf("attach %s to %s: %w", policy, name, err)
		}
		c.Ready = append(c.Ready, attachment)
	}
	return nil
}

func validateNodeRole(name string, args *NodeRoleArgs) (problems problem.List) {
	at := fmt.Sprintf("karpenter node role %q", name)
	if args == nil {
		problems.Add(at, "no arguments were given", nil, "")
		return problems
	}
	problems.Require(at+".cluster.partition", args.Cluster.Partition != "")
	problems.Require(at+".cluster.name", args.Cluster.Name != nil)
	return problems
}
