package automode

import (
	"fmt"
	"maps"
	"slices"

	"github.com/headroom-eks/headroom/problem"
	"github.com/pulumi/pulumi-aws/sdk/v6/go/aws/eks"
	"github.com/pulumi/pulumi-aws/sdk/v6/go/aws/iam"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
)

const (
	nodeRoleType = "headroom:automode:NodeRole"
	accessType   = "headroom:automode:Access"
)

// NodeRoleArgs of the role.
type NodeRoleArgs struct {
	// Partition ("aws") and DNSSuffix of service names in it ("amazonaws.com"), looked up.
	Partition, DNSSuffix string
	Tags                 map[string]string
}

// NodeRole is what every Auto Mode node runs as. It stands apart from Access because with a built-in pool the cluster carries its ARN,
// and so must come after it.
type NodeRole struct {
	pulumi.ResourceState

	Arn  pulumi.StringOutput
	Name pulumi.StringOutput
	// Attached are the policy attachments. A cluster that carries the role depends on them.
	Attached []pulumi.Resource
}

// NewNodeRole makes the role and attaches its policies.
func NewNodeRole(ctx *pulumi.Context, name string, args *NodeRoleArgs, opts ...pulumi.ResourceOption) (*NodeRole, error) {
	if args == nil || args.Partition == "" || args.DNSSuffix == "" {
		return nil, fmt.Errorf("%s: the partition and its DNS suffix are missing; pass what AWS answered", name)
	}
	c := &NodeRole{}
	if err := ctx.RegisterComponentResourceV2(nodeRoleType, name, pulumi.Map{"partition": pulumi.String(args.Partition)}, c, opts...); err != nil {
		return nil, fmt.Errorf("register %s: %w", name, err)
	}
	trust, err := nodeTrust(args.DNSSuffix)
	if err != nil {
		return nil, fmt.Errorf("write trust of %s: %w", name, err)
	}
	role, err := iam.NewRole(ctx, name+"-role", &iam.RoleArgs{
		Description:      pulumi.String("Nodes of EKS Auto Mode"),
		AssumeRolePolicy: pulumi.String(trust),
		Tags:             pulumi.ToStringMap(args.Tags),
	}, pulumi.Parent(c))
	if err != nil {
		return nil, fmt.Errorf("create role of %s: %w", name, err)
	}
	for _, key := range slices.Sorted(maps.Keys(nodePolicies)) {
		attachment, err := iam.NewRolePolicyAttachment(ctx, name+"-"+key, &iam.RolePolicyAttachmentArgs{
			Role: role.Name, PolicyArn: pulumi.String(managedPolicyArn(args.Partition, nodePolicies[key])),
		}, pulumi.Parent(c))
		if err != nil {
			return nil, fmt.Errorf("attach %s of %s: %w", key, name, err)
		}
		c.Attached = append(c.Attached, attachment)
	}
	c.Arn, c.Name = role.Arn, role.Name
	return c, ctx.RegisterResourceOutputs(c, pulumi.Map{"arn": c.Arn, "name": c.Name})
}

// Args of what Auto Mode needs once the cluster exists.
type Args struct {
	// Settings the cluster was given; Enabled must be true.
	Settings Settings
	// Partition ("aws"), looked up.
	Partition string
	NodeRole  *NodeRole
	// ClusterName and the name of the cluster's own role.
	ClusterName, ClusterRoleName pulumi.StringInput
	// StorageKeyArns are customer keys of node volumes, by a stable key; may be empty.
	StorageKeyArns map[string]pulumi.StringInput
	Tags           map[string]string
}

// Access lets nodes of our own classes join the cluster, and Auto Mode tag them.
type Access struct {
	pulumi.ResourceState

	// NodeRoleName that a NodeClass names.
	NodeRoleName pulumi.StringOutput
	// Ready are the resources without which no node joins or none is launched: pools are made after them and deleted before them.
	Ready []pulumi.Resource
}

// New gives the cluster role its extra permission and, where EKS does not make it itself, the access entry of the node role.
func New(ctx *pulumi.Context, name string, args *Args, opts ...pulumi.ResourceOption) (*Access, error) {
	if err := args.validate(name).Err(); err != nil {
		return nil, err
	}
	c := &Access{NodeRoleName: args.NodeRole.Name, Ready: slices.Clone(args.NodeRole.Attached)}
	inputs := pulumi.Map{"clusterName": args.ClusterName, "builtInPools": pulumi.ToStringArray(args.Settings.BuiltInPools)}
	if err := ctx.RegisterComponentResourceV2(accessType, name, inputs, c, opts...); err != nil {
		return nil, fmt.Errorf("register %s: %w", name, err)
	}
	if err := c.permitTags(ctx, name, args); err != nil {
		return nil, err
	}
	if args.Settings.NeedsAccessEntry() {
		if err := c.admitNodes(ctx, name, args); err != nil {
			return nil, err
		}
	}
	return c, ctx.RegisterResourceOutputs(c, pulumi.Map{"nodeRoleName": c.NodeRoleName})
}

func (a *Args) validate(name string) (problems problem.List) {
	if a == nil || a.NodeRole == nil || a.ClusterName == nil || a.ClusterRoleName == nil || a.Partition == "" {
		problems.Add(name, "settings, partition, node role, cluster name and cluster role are all needed; pass each")
		return problems
	}
	problems.Join("", a.Settings.Validate(name))
	if !a.Settings.Enabled {
		problems.Add(name, "Auto Mode is off in the cluster's settings; turn it on or leave this out")
	}
	return problems
}

func (c *Access) permitTags(ctx *pulumi.Context, name string, args *Args) error {
	var keys pulumi.StringArray
	for _, key := range slices.Sorted(maps.Keys(args.StorageKeyArns)) {
		keys = append(keys, args.StorageKeyArns[key])
	}
	policy, err := iam.NewPolicy(ctx, name+"-cluster-role", &iam.PolicyArgs{
		Description: pulumi.String("Tags of our own on what EKS Auto Mode launches"),
		Policy: keys.ToStringArrayOutput().ApplyT(func(keys []string) (string, error) {
			return clusterRolePolicy(args.Partition, keys)
		}).(pulumi.StringOutput),
		Tags: pulumi.ToStringMap(args.Tags),
	}, pulumi.Parent(c))
	if err != nil {
		return fmt.Errorf("create policy of %s: %w", name, err)
	}
	attachment, err := iam.NewRolePolicyAttachment(ctx, name+"-cluster-role", &iam.RolePolicyAttachmentArgs{
		Role: args.ClusterRoleName, PolicyArn: policy.Arn,
	}, pulumi.Parent(c))
	if err != nil {
		return fmt.Errorf("attach policy of %s: %w", name, err)
	}
	c.Ready = append(c.Ready, attachment)
	return nil
}

func (c *Access) admitNodes(ctx *pulumi.Context, name string, args *Args) error {
	entry, err := eks.NewAccessEntry(ctx, name+"-nodes", &eks.AccessEntryArgs{
		ClusterName:  args.ClusterName,
		PrincipalArn: args.NodeRole.Arn,
		Type:         pulumi.String(accessEntryType),
		Tags:         pulumi.ToStringMap(args.Tags),
	}, pulumi.Parent(c))
	if err != nil {
		return fmt.Errorf("create access entry of %s: %w", name, err)
	}
	association, err := eks.NewAccessPolicyAssociation(ctx, name+"-nodes", &eks.AccessPolicyAssociationArgs{
		ClusterName:  args.ClusterName,
		PrincipalArn: args.NodeRole.Arn,
		PolicyArn:    pulumi.String(accessPolicyArn(args.Partition, autoNodePolicy)),
		AccessScope:  eks.AccessPolicyAssociationAccessScopeArgs{Type: pulumi.String("cluster")},
		// The principal is named by the role, not by the entry, so nothing else says that the entry comes first.
	}, pulumi.Parent(c), pulumi.DependsOn([]pulumi.Resource{entry}))
	if err != nil {
		return fmt.Errorf("associate access policy of %s: %w", name, err)
	}
	c.Ready = append(c.Ready, entry, association)
	return nil
}
