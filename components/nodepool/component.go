package nodepool

import (
	"fmt"
	"slices"

	"github.com/headroom-eks/headroom/components/handle"
	"github.com/headroom-eks/headroom/pool"
	"github.com/headroom-eks/headroom/problem"
	"github.com/pulumi/pulumi-kubernetes/sdk/v4/go/kubernetes"
	"github.com/pulumi/pulumi-kubernetes/sdk/v4/go/kubernetes/apiextensions"
	metav1 "github.com/pulumi/pulumi-kubernetes/sdk/v4/go/kubernetes/meta/v1"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
)

const nodePoolType = "headroom:nodepool:NodePool"

// Args of a pool.
type Args struct {
	Spec Spec
	// Class of its nodes, planned: an EC2NodeClass by PlanNodeClass, or Auto Mode's by package automode.
	Class NodeClass
	// Cluster that the nodes join. Its name marks what the pool's instances are made of; they get its security group
	// and no other: with others, the role of an Auto Mode cluster needs a further permission before load balancers
	// reach pods (https://docs.aws.amazon.com/eks/latest/userguide/auto-networking.html).
	Cluster handle.Cluster
	// SubnetIDs of the instances.
	SubnetIDs pulumi.StringArrayInput
	// RoleName of the nodes, or else InstanceProfile, the name of a profile that holds it; never both.
	RoleName, InstanceProfile pulumi.StringInput
	// Needs must exist before any node of the pool and outlive it, beside what makes the cluster ready: charts,
	// permissions, access entry, routes.
	Needs []pulumi.Resource
	// KeepOnDelete leaves the objects and their nodes in the cluster when they leave the stack. Set it in an update of
	// its own before the objects are handed over to GitOps; a destroy leaves instances behind while it is set.
	KeepOnDelete bool
}

// NodePool is a pool: its NodePools and their node class.
type NodePool struct {
	pulumi.ResourceState

	// Name of the pool, known once all its NodePools are there.
	Name pulumi.StringOutput
}

// New makes the node class and then the NodePools.
func New(ctx *pulumi.Context, name string, args *Args, opts ...pulumi.ResourceOption) (*NodePool, error) {
	if err := validateArgs(name, args).Err(); err != nil {
		return nil, err
	}
	if former := args.Class.Kind.FormerType; former != "" {
		opts = append(opts, pulumi.Aliases([]pulumi.Alias{{Type: pulumi.String(former)}})) // children inherit it
	}
	c := &NodePool{}
	inputs := pulumi.Map{"name": pulumi.String(args.Spec.Name), "clusterName": args.Cluster.Name}
	if err := ctx.RegisterComponentResourceV2(nodePoolType, name, inputs, c, opts...); err != nil {
		return nil, fmt.Errorf("register %s: %w", name, err)
	}

	class := args.Class.unwired(args.Spec.Name)
	wire(class.Spec, args)
	// The controller finishes the deletion of a node class and of the nodes of a pool, so it must outlive both (field
	// fault BR-86); its charts bring the definitions of both kinds (field fault BR-55).
	needs := slices.Concat(args.Cluster.Ready, args.Needs)
	classResource, err := apply(ctx, name+"-class", class, nil,
		pulumi.Parent(c), pulumi.DependsOn(needs), pulumi.RetainOnDelete(args.KeepOnDelete))
	if err != nil {
		return nil, fmt.Errorf("create node class of %s: %w", name, err)
	}

	nodePools, err := planNodePools(args)
	if err != nil {
		return nil, fmt.Errorf("plan %s: %w", name, err)
	}
	annotations := pulumi.StringMap{
		// The deletion ends when the last node is gone, and not when the NodePool is.
		"pulumi.com/deletionPropagationPolicy": pulumi.String("foreground"),
	}
	var made []any
	for i, nodePool := range nodePools {
		one, err := apply(ctx, name+partSuffixes[i], nodePool, annotations, pulumi.Parent(c),
			// its nodes need the class until the last is gone
			pulumi.DependsOn(append([]pulumi.Resource{classResource}, needs...)),
			pulumi.Timeouts(&pulumi.CustomTimeouts{Delete: deleteTimeout(args.Spec, args.Class.Kind).String()}),
			pulumi.RetainOnDelete(args.KeepOnDelete))
		if err != nil {
			return nil, fmt.Errorf("create NodePool of %s: %w", name, err)
		}
		made = append(made, one.ID())
	}
	c.Name = pulumi.All(made...).ApplyT(func([]any) string { return args.Spec.Name }).(pulumi.StringOutput)
	return c, ctx.RegisterResourceOutputs(c, pulumi.Map{"name": c.Name})
}

// partSuffixes of the resources of a pool's NodePools, in the order of Parts.
var partSuffixes = [...]string{"-pool", "-spot"}

func planNodePools(args *Args) (manifests []Manifest, err error) {
	for _, part := range Parts(args.Spec) {
		m, err := PlanNodePool(part, args.Class.Kind)
		if err != nil {
			return nil, err
		}
		manifests = append(manifests, m)
	}
	return manifests, nil
}

// Manifests gives the objects that New makes as files, name to YAML, for a GitOps tool to apply.
func Manifests(name string, args *Args) (pulumi.StringMapOutput, error) {
	if err := validateArgs(name, args).Err(); err != nil {
		return pulumi.StringMapOutput{}, err
	}
	spec, class := args.Spec, args.Class
	nodePools, err := planNodePools(args)
	if err != nil {
		return pulumi.StringMapOutput{}, fmt.Errorf("plan %s: %w", name, err)
	}
	return pulumi.All(args.Cluster.Name, args.SubnetIDs, args.Cluster.SecurityGroupID, orEmpty(args.RoleName),
		orEmpty(args.InstanceProfile)).ApplyT(
		func(v []any) (map[string]string, error) {
			wiring := Wiring{}
			wiring.Cluster, _ = v[0].(string)
			wiring.SubnetIDs, _ = v[1].([]string)
			if group, ok := v[2].(string); ok {
				wiring.SecurityGroupIDs = []string{group}
			}
			wiring.Role, _ = v[3].(string)
			wiring.InstanceProfile, _ = v[4].(string)
			return files(spec.Name, class.Manifest(spec.Name, wiring), nodePools)
		}).(pulumi.StringMapOutput), nil
}

// wire puts the values of other resources into a planned node class. Field by field, so that policies see the rest in a
// first preview, when these are unknown.
func wire(spec map[string]any, args *Args) {
	spec["subnetSelectorTerms"] = args.SubnetIDs.ToStringArrayOutput().ApplyT(IDTerms)
	spec["securityGroupSelectorTerms"] = pulumi.StringArray{args.Cluster.SecurityGroupID}.ToStringArrayOutput().ApplyT(
		IDTerms)
	poolName, own := args.Spec.Name, args.Class.Tags
	spec["tags"] = args.Cluster.Name.ToStringOutput().ApplyT(func(cluster string) map[string]string {
		return instanceTags(cluster, poolName, own)
	})
	if args.RoleName != nil {
		spec["role"] = args.RoleName
	} else {
		spec["instanceProfile"] = args.InstanceProfile
	}
}

// apply makes the Kubernetes object of a manifest.
func apply(ctx *pulumi.Context, name string, m Manifest, annotations pulumi.StringMap,
	opts ...pulumi.ResourceOption) (*apiextensions.CustomResource, error) {
	metadata := metav1.ObjectMetaArgs{}
	if text, ok := m.Metadata["name"].(string); ok {
		metadata.Name = pulumi.String(text)
	}
	if annotations != nil {
		metadata.Annotations = annotations
	}
	return apiextensions.NewCustomResource(ctx, name, &apiextensions.CustomResourceArgs{
		ApiVersion: pulumi.String(m.APIVersion), Kind: pulumi.String(m.Kind), Metadata: metadata,
		OtherFields: kubernetes.UntypedArgs{"spec": m.Spec},
	}, opts...)
}

func orEmpty(s pulumi.StringInput) pulumi.StringInput {
	if s == nil {
		return pulumi.String("")
	}
	return s
}

func validateArgs(name string, args *Args) (problems problem.List) {
	at := fmt.Sprintf("nodepool %q", name)
	if args == nil {
		problems.Add(at, "no arguments were given", nil, "")
		return problems
	}
	problems.Join(Validate(at, args.Spec, args.Class.Kind))
	if args.Class.Kind.Kind == "" {
		problems.Add(at, "has no node class", nil, "plan one and pass it")
	}
	if _, reserves := args.Class.Spec["capacityReservationSelectorTerms"]; !reserves &&
		slices.Contains(args.Spec.CapacityTypes, pool.Reserved) {
		problems.Add(at+".capacityTypes", "finds no capacity without reservations", string(pool.Reserved),
			"name them in the class")
	}
	if args.Cluster.Name == nil || args.SubnetIDs == nil || args.Cluster.SecurityGroupID == nil {
		problems.Add(at, "cluster name, subnets and security group are all needed", nil, "pass each")
	}
	if (args.RoleName == nil) == (args.InstanceProfile == nil) {
		problems.Add(at, "exactly one of the nodes' role and an instance profile is needed", nil, "give one")
	}
	return problems
}
