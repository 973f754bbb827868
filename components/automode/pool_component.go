package automode

import (
	"fmt"
	"slices"

	"github.com/headroom-eks/headroom/components/handle"
	"github.com/headroom-eks/headroom/components/nodepool"
	"github.com/headroom-eks/headroom/problem"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
)

const nodePoolType = "headroom:automode:NodePool"

// PoolArgs of one pool.
type PoolArgs struct {
	Pool Pool
	// Cluster that the nodes join. They get its security group and no other: with others, the cluster role needs a
	// further permission before load balancers reach pods
	// (https://docs.aws.amazon.com/eks/latest/userguide/auto-networking.html).
	Cluster handle.Cluster
	Access  *Access
	// SubnetIDs of the nodes.
	SubnetIDs pulumi.StringArrayInput
	// Needs must exist before any node and outlive it, beside the access and what makes the cluster ready: routes.
	Needs []pulumi.Resource
	// KeepOnDelete leaves both objects and their nodes in the cluster when they leave the stack, for the hand-over to
	// GitOps. A destroy leaves instances behind while it is set.
	KeepOnDelete bool
}

// NodePool is a pool with its node class.
type NodePool struct {
	pulumi.ResourceState

	// Name of the NodePool, known once it is there.
	Name pulumi.StringOutput
}

// NewPool makes the NodeClass and then the NodePool of one pool. Both carry the pool's name, as those of a Karpenter
// pool do: a pool that changes its scaler needs a new name, or deleting the old object would take the new one away.
func NewPool(ctx *pulumi.Context, name string, args *PoolArgs, opts ...pulumi.ResourceOption) (*NodePool, error) {
	if err := args.validate(name).Err(); err != nil {
		return nil, err
	}
	spec := args.Pool.Spec
	class, nodePool, err := PlanPool(args.Pool, Placement{})
	if err != nil {
		return nil, err
	}
	c := &NodePool{}
	inputs := pulumi.Map{"name": pulumi.String(spec.Name), "clusterName": args.Cluster.Name}
	if err := ctx.RegisterComponentResourceV2(nodePoolType, name, inputs, c, opts...); err != nil {
		return nil, fmt.Errorf("register %s: %w", name, err)
	}
	args.wire(class.Spec)
	// Instances are launched from the class, so what they need to be launched and to join is older than it and outlives
	// it.
	classResource, err := nodepool.Apply(ctx, name+"-class", class, nil,
		pulumi.Parent(c), pulumi.DependsOn(slices.Concat(args.Access.Ready, args.Cluster.Ready, args.Needs)),
		pulumi.RetainOnDelete(args.KeepOnDelete))
	if err != nil {
		return nil, fmt.Errorf("create NodeClass of %s: %w", name, err)
	}
	annotations := pulumi.StringMap{
		// The deletion ends when the last node is gone, and not when the NodePool is.
		"pulumi.com/deletionPropagationPolicy": pulumi.String("foreground"),
	}
	made, err := nodepool.Apply(ctx, name+"-pool", nodePool, annotations, pulumi.Parent(c),
		pulumi.DependsOn([]pulumi.Resource{classResource}), // its nodes need the class until the last is gone
		pulumi.Timeouts(&pulumi.CustomTimeouts{Delete: deleteTimeout(spec).String()}),
		pulumi.RetainOnDelete(args.KeepOnDelete))
	if err != nil {
		return nil, fmt.Errorf("create NodePool of %s: %w", name, err)
	}
	c.Name = made.ID().ApplyT(func(pulumi.ID) string { return spec.Name }).(pulumi.StringOutput)
	return c, ctx.RegisterResourceOutputs(c, pulumi.Map{"name": c.Name})
}

// Manifests gives the objects that NewPool makes as files, name to YAML, for a GitOps tool to apply.
func Manifests(name string, args *PoolArgs) (pulumi.StringMapOutput, error) {
	if err := args.validate(name).Err(); err != nil {
		return pulumi.StringMapOutput{}, err
	}
	p := args.Pool
	return pulumi.All(args.Cluster.Name, args.Access.NodeRoleName, args.SubnetIDs, args.Cluster.SecurityGroupID).ApplyT(
		func(v []any) (map[string]string, error) {
			var at Placement
			at.Cluster, _ = v[0].(string)
			at.NodeRoleName, _ = v[1].(string)
			at.SubnetIDs, _ = v[2].([]string)
			if group, ok := v[3].(string); ok {
				at.SecurityGroupIDs = []string{group}
			}
			class, nodePool, err := PlanPool(p, at)
			if err != nil {
				return nil, err
			}
			return nodepool.Files(p.Spec.Name, class, nodePool)
		}).(pulumi.StringMapOutput), nil
}

// wire puts the values of other resources into a planned class. Field by field, so that policies see the rest in a
// first preview, when these are unknown.
func (a *PoolArgs) wire(spec map[string]any) {
	name, own := a.Pool.Spec.Name, a.Pool.Class.Tags
	spec["role"] = a.Access.NodeRoleName
	spec["subnetSelectorTerms"] = a.SubnetIDs.ToStringArrayOutput().ApplyT(byID)
	spec["securityGroupSelectorTerms"] = pulumi.StringArray{a.Cluster.SecurityGroupID}.ToStringArrayOutput().ApplyT(
		byID)
	spec["tags"] = a.Cluster.Name.ToStringOutput().ApplyT(func(cluster string) map[string]string {
		return tags(cluster,
			name, own)
	})
}

func (a *PoolArgs) validate(name string) (problems problem.List) {
	if a == nil || a.Access == nil || a.Cluster.Name == nil || a.SubnetIDs == nil ||
		a.Cluster.SecurityGroupID == nil {
		problems.Addf(name, "access, cluster name, subnets and security group are all needed; pass each")
		return problems
	}
	problems.Join(ValidatePool(name, a.Pool, a.Cluster.KubernetesVersion))
	return problems
}
