package automode

import (
	"fmt"
	"maps"
	"slices"

	"github.com/headroom-eks/headroom/components/handle"
	"github.com/headroom-eks/headroom/components/iampolicy"
	"github.com/headroom-eks/headroom/problem"
	"github.com/pulumi/pulumi-aws/sdk/v6/go/aws/eks"
	"github.com/pulumi/pulumi-aws/sdk/v6/go/aws/iam"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
)

const accessType = "headroom:automode:Access"

// Args of what Auto Mode needs once the cluster exists.
type Args struct {
	// Settings the cluster was given; Enabled must be true.
	Settings Settings
	// Cluster that the nodes join: its partition, name and tags are used.
	Cluster handle.Cluster
	// ClusterRoleName of the cluster's own role.
	ClusterRoleName pulumi.StringInput
	// ClusterNodeRoleName of the node role that the cluster carries; used, and needed, only with a built-in pool.
	ClusterNodeRoleName pulumi.StringInput
	// StorageKeyArns are customer keys of node volumes, by a stable key; may be empty.
	StorageKeyArns map[string]pulumi.StringInput
}

// Access lets nodes of our own classes join the cluster, and Auto Mode tag them.
type Access struct {
	pulumi.ResourceState

	// NodeRoleName that a NodeClass names.
	NodeRoleName pulumi.StringOutput
	// Ready are the resources without which no node is launched or none joins: pools are made after them and deleted
	// before them.
	Ready []pulumi.Resource
}

// New gives the cluster role its extra permission. Without built-in pools it makes the node role and its access entry
// too; with one, the cluster carries a role, EKS has made the entry for it, and our node classes use the same.
func New(ctx *pulumi.Context, name string, args *Args, opts ...pulumi.ResourceOption) (*Access, error) {
	if err := args.validate(name).Err(); err != nil {
		return nil, err
	}
	c := &Access{}
	inputs := pulumi.Map{
		"clusterName":  args.Cluster.Name,
		"builtInPools": pulumi.ToStringArray(args.Settings.BuiltInPools),
	}
	if err := ctx.RegisterComponentResourceV2(accessType, name, inputs, c, opts...); err != nil {
		return nil, fmt.Errorf("register %s: %w", name, err)
	}
	if err := c.permitTags(ctx, name, args); err != nil {
		return nil, err
	}
	if args.Settings.ClusterCarriesNodeRole() {
		c.NodeRoleName = args.ClusterNodeRoleName.ToStringOutput()
	} else {
		role, err := c.nodeRole(ctx, name, args)
		if err != nil {
			return nil, err
		}
		if err := c.admitNodes(ctx, name, args, role); err != nil {
			return nil, err
		}
		c.NodeRoleName = role.Name
	}
	return c, ctx.RegisterResourceOutputs(c, pulumi.Map{"nodeRoleName": c.NodeRoleName})
}

func (a *Args) validate(name string) (problems problem.List) {
	if a == nil {
		problems.Add(name, "has no arguments", nil, "give them")
		return problems
	}
	problems.Require(name+".cluster.name", a.Cluster.Name != nil)
	problems.Require(name+".cluster.partition", a.Cluster.Partition != "")
	problems.Require(name+".clusterRoleName", a.ClusterRoleName != nil)
	problems.Join(a.Settings.Validate(name))
	if !a.Settings.Enabled {
		problems.Add(name, "Auto Mode is off in the cluster's settings", nil, "turn it on or leave this out")
	}
	if a.Settings.ClusterCarriesNodeRole() && a.ClusterNodeRoleName == nil {
		problems.Add(name, "with built-in pools the node role is the cluster's", a.Settings.BuiltInPools,
			"pass its name")
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
			return clusterRolePolicy(args.Cluster.Partition, keys)
		}).(pulumi.StringOutput),
		Tags: pulumi.ToStringMap(args.Cluster.Tags),
	}, pulumi.Parent(c))
	if err != nil {
		return fmt.Errorf("create policy of %s: %w", name, err)
	}
	return c.attach(ctx, name+"-cluster-role", args.ClusterRoleName, policy.Arn)
}

func (c *Access) nodeRole(ctx *pulumi.Context, name string, args *Args) (*iam.Role, error) {
	trust, err := iampolicy.EC2Trust(args.Cluster.Partition)
	if err != nil {
		return nil, fmt.Errorf("write trust of %s: %w", name, err)
	}
	role, err := iam.NewRole(ctx, name+"-nodes", &iam.RoleArgs{
		Description:      pulumi.String("Nodes of EKS Auto Mode"),
		AssumeRolePolicy: pulumi.String(trust),
		Tags:             pulumi.ToStringMap(args.Cluster.Tags),
	}, pulumi.Parent(c))
	if err != nil {
		return nil, fmt.Errorf("create node role of %s: %w", name, err)
	}
	for _, key := range slices.Sorted(maps.Keys(nodePolicies)) {
		arn := pulumi.String(iampolicy.ManagedPolicyArn(args.Cluster.Partition, nodePolicies[key]))
		if err := c.attach(ctx, name+"-nodes-"+key, role.Name, arn); err != nil {
			return nil, err
		}
	}
	return role, nil
}

func (c *Access) admitNodes(ctx *pulumi.Context, name string, args *Args, role *iam.Role) error {
	entry, err := eks.NewAccessEntry(ctx, name+"-nodes", &eks.AccessEntryArgs{
		ClusterName:  args.Cluster.Name,
		PrincipalArn: role.Arn,
		Type:         pulumi.String(accessEntryType),
		Tags:         pulumi.ToStringMap(args.Cluster.Tags),
	}, pulumi.Parent(c))
	if err != nil {
		return fmt.Errorf("create access entry of %s: %w", name, err)
	}
	association, err := eks.NewAccessPolicyAssociation(ctx, name+"-nodes", &eks.AccessPolicyAssociationArgs{
		ClusterName:  args.Cluster.Name,
		PrincipalArn: role.Arn,
		PolicyArn:    pulumi.String(iampolicy.AccessPolicyArn(args.Cluster.Partition, autoNodePolicy)),
		AccessScope:  eks.AccessPolicyAssociationAccessScopeArgs{Type: pulumi.String("cluster")},
		// The principal is named by the role, not by the entry, so nothing else says that the entry comes first.
	}, pulumi.Parent(c), pulumi.DependsOn([]pulumi.Resource{entry}))
	if err != nil {
		return fmt.Errorf("associate access policy of %s: %w", name, err)
	}
	c.Ready = append(c.Ready, entry, association)
	return nil
}

func (c *Access) attach(ctx *pulumi.Context, name string, role, policyArn pulumi.StringInput) error {
	attachment, err := iam.NewRolePolicyAttachment(ctx, name, &iam.RolePolicyAttachmentArgs{
		Role:      role,
		PolicyArn: policyArn,
	}, pulumi.Parent(c))
	if err != nil {
		return fmt.Errorf("attach policy %s: %w", name, err)
	}
	c.Ready = append(c.Ready, attachment)
	return nil
}
