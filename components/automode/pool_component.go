package automode

import (
	"fmt"

	"github.com/headroom-eks/headroom/components/nodepool"
	"github.com/headroom-eks/headroom/problem"
	"github.com/pulumi/pulumi-kubernetes/sdk/v4/go/kubernetes"
	"github.com/pulumi/pulumi-kubernetes/sdk/v4/go/kubernetes/apiextensions"
	metav1 "github.com/pulumi/pulumi-kubernetes/sdk/v4/go/kubernetes/meta/v1"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
)

const poolType = "headroom:automode:Pool"

// PoolArgs of one pool.
type PoolArgs struct {
	Pool Pool
	// KubernetesVersion of the cluster ("1.36").
	KubernetesVersion string
	Access            *Access
	ClusterName       pulumi.StringInput
	// SubnetIDs of the nodes.
	SubnetIDs pulumi.StringArrayInput
	// SecurityGroupIDs of the nodes: as a rule the cluster's own group alone. With others, the cluster role needs a further permission
	// before load balancers reach pods (https://docs.aws.amazon.com/eks/latest/userguide/auto-networking.html).
	SecurityGroupIDs pulumi.StringArrayInput
}

// PoolResources are one pool's objects in the cluster.
type PoolResources struct {
	pulumi.ResourceState

	// NodePoolName is known in preview.
	NodePoolName pulumi.StringOutput
	NodePool     pulumi.Resource
}

// NewPool makes the NodeClass and the NodePool of one pool. The provider given must be the cluster's Kubernetes provider.
//
// Both objects carry the pool's name, as those of a Karpenter pool do: a pool that changes its scaler needs a new name, or the second
// object would be deleted in place of the first.
func NewPool(ctx *pulumi.Context, name string, args *PoolArgs, opts ...pulumi.ResourceOption) (*PoolResources, error) {
	if err := args.validate(name).Err(); err != nil {
		return nil, err
	}
	spec := args.Pool.Spec
	nodePool, err := planNodePool(args.Pool)
	if err != nil {
		return nil, err
	}
	c := &PoolResources{}
	if err := ctx.RegisterComponentResourceV2(poolType, name, pulumi.Map{"pool": pulumi.String(spec.Name)}, c, opts...); err != nil {
		return nil, fmt.Errorf("register %s: %w", name, err)
	}
	classSpec := pulumi.All(args.ClusterName, args.Access.NodeRoleName, args.SubnetIDs, args.SecurityGroupIDs).ApplyT(
		func(v []any) (map[string]any, error) {
			var at Placement
			var known [4]bool
			at.Cluster, known[0] = v[0].(string)
			at.NodeRoleName, known[1] = v[1].(string)
			at.SubnetIDs, known[2] = v[2].([]string)
			at.SecurityGroupIDs, known[3] = v[3].([]string)
			if known != [4]bool{true, true, true, true} || len(at.SubnetIDs) == 0 || len(at.SecurityGroupIDs) == 0 {
				return nil, fmt.Errorf("pool %s: cluster, node role, subnets or security groups resolved to nothing", spec.Name)
			}
			return planNodeClass(spec.Name, args.Pool.Class, at).Spec, nil
		}).(pulumi.MapOutput)
	kind := nodepool.AutoModeNodeClass
	class, err := apiextensions.NewCustomResource(ctx, name+"-class", &apiextensions.CustomResourceArgs{
		ApiVersion:  pulumi.String(kind.Group + "/" + kind.Version),
		Kind:        pulumi.String(kind.Kind),
		Metadata:    metav1.ObjectMetaArgs{Name: pulumi.String(spec.Name)},
		OtherFields: kubernetes.UntypedArgs{"spec": classSpec},
		// The class is what instances are launched from, so what they need is older than it and outlives it.
	}, pulumi.Parent(c), pulumi.DependsOn(args.Access.Ready))
	if err != nil {
		return nil, fmt.Errorf("create NodeClass of %s: %w", name, err)
	}
	c.NodePool, err = apiextensions.NewCustomResource(ctx, name+"-nodepool", &apiextensions.CustomResourceArgs{
		ApiVersion: pulumi.String(nodePool.APIVersion),
		Kind:       pulumi.String(nodePool.Kind),
		Metadata: metav1.ObjectMetaArgs{
			Name: pulumi.String(spec.Name),
			// Deleting waits until the nodes are gone; else the class would be taken from under them.
			Annotations: pulumi.StringMap{"pulumi.com/deletionPropagationPolicy": pulumi.String("foreground")},
		},
		OtherFields: kubernetes.UntypedArgs{"spec": pulumi.ToMap(nodePool.Spec)},
		// It names the class by name, which is no reference that Pulumi could see.
	}, pulumi.Parent(c), pulumi.DependsOn([]pulumi.Resource{class}))
	if err != nil {
		return nil, fmt.Errorf("create NodePool of %s: %w", name, err)
	}
	c.NodePoolName = pulumi.String(spec.Name).ToStringOutput()
	return c, ctx.RegisterResourceOutputs(c, pulumi.Map{"nodePoolName": c.NodePoolName})
}

func (a *PoolArgs) validate(name string) (problems problem.List) {
	if a == nil || a.Access == nil || a.ClusterName == nil || a.SubnetIDs == nil || a.SecurityGroupIDs == nil {
		problems.Add(name, "access, cluster name, subnets and security groups are all needed; pass each")
		return problems
	}
	problems.Join("", ValidatePool(name, a.Pool, a.KubernetesVersion))
	return problems
}
