// Package clusterautoscaler scales EKS managed node groups with the Kubernetes cluster-autoscaler.
//
// It owns the controller's chart, its IAM role and policy, the tags of Auto Scaling groups from which the controller
// pictures a node that does not exist yet, and the decisions that belong to this scaler: how a pool is split over
// zones, what desired size an update sends, and which pools it could never wake. It does not own the node groups, nor
// the discovery tags (EKS sets those), nor the service account (the chart makes it).
package clusterautoscaler

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/headroom-eks/headroom/components/chart"
	"github.com/headroom-eks/headroom/components/handle"
	"github.com/headroom-eks/headroom/components/irsa"
	"github.com/headroom-eks/headroom/pool"
	helm "github.com/pulumi/pulumi-kubernetes/sdk/v4/go/kubernetes/helm/v4"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
)

const controllerType = "headroom:clusterautoscaler:Controller"

// Args of the controller.
type Args struct {
	// Cluster whose node groups are scaled. Groups are discovered under its name; its Kubernetes version chooses chart
	// and image.
	Cluster handle.Cluster
	// Release replaces chart and image of the table, both or neither.
	Release Release
	// System is where the controller runs.
	System System
	// DRA is set when some pool of this scaler is claimed through Dynamic Resource Allocation.
	DRA bool
	// Expander chooses among groups that would do: least-nodes, least-waste (default), most-pods or random.
	Expander string
	// StartupTaints are keys of taints that leave a node once it is ready. Without being named here they keep an empty
	// group from being scaled.
	StartupTaints []string
	// Repository of the chart, for clusters that reach only a mirror. Default https://kubernetes.github.io/autoscaler;
	// an oci:// address names the folder that holds the chart.
	Repository string
	// ImageRepository replaces the chart's own, for the same clusters.
	ImageRepository string
	// Needs must exist before the pods can run, and outlive them: the system group.
	Needs []pulumi.Resource
}

// System is the node group that carries the controller. Its minimum must equal its maximum: EKS tags every managed
// group for discovery, and that is what keeps this one out of the controller's hands.
type System struct {
	Pool   string // value of the pool's label, default "system"
	Nodes  int
	Taints []pool.Taint
}

// Controller is an installed cluster-autoscaler.
type Controller struct {
	pulumi.ResourceState

	RoleArn      pulumi.StringOutput
	ChartVersion pulumi.StringOutput
	ImageTag     pulumi.StringOutput
}

// New installs the controller. The name has at most 46 characters.
func New(ctx *pulumi.Context, name string, args *Args, opts ...pulumi.ResourceOption) (*Controller, error) {
	problems := Validate(fmt.Sprintf("cluster-autoscaler %q", name), args)
	if len(name) > maxName {
		problems.Add(fmt.Sprintf("cluster-autoscaler %q", name), fmt.Sprintf("has a name of more than %d characters, "+
			"which leaves no room for the role's", maxName), len(name), "shorten it")
	}
	if err := problems.Err(); err != nil {
		return nil, err
	}
	release, _ := ReleaseFor(name, args.Cluster.KubernetesVersion, args.Release)

	c := &Controller{}
	inputs := pulumi.Map{
		"chart":       pulumi.String(release.Chart),
		"image":       pulumi.String(release.Image),
		"clusterName": args.Cluster.Name,
	}
	if err := ctx.RegisterComponentResourceV2(controllerType, name, inputs, c, opts...); err != nil {
		return nil, fmt.Errorf("register %s: %w", name, err)
	}

	role, err := irsa.New(ctx, name+"-irsa", &irsa.Args{
		Cluster:        args.Cluster,
		Namespace:      Namespace,
		ServiceAccount: ServiceAccount,
		Policies:       map[string]pulumi.StringInput{"controller": args.policy()},
	}, pulumi.Parent(c))
	if err != nil {
		return nil, fmt.Errorf("create role of %s: %w", name, err)
	}

	values := pulumi.All(args.Cluster.Name, role.Arn).ApplyT(func(v []any) map[string]any {
		s := args.settings(release)
		s.Cluster, _ = v[0].(string)
		s.RoleArn, _ = v[1].(string)
		return chartValues(s)
	}).(pulumi.MapOutput)
	// The pods need their permissions when they start, and keep them until they are gone; they need nodes to run on.
	after := slices.Concat(role.Ready, args.Needs)
	installed := chart.Args(cmp.Or(args.Repository, defaultRepository), chartName, release.Chart, Namespace)
	installed.Values = values
	if _, err := helm.NewChart(ctx, name+"-chart", installed, pulumi.Parent(c), pulumi.DependsOn(after)); err != nil {
		return nil, fmt.Errorf("create chart of %s: %w", name, err)
	}

	c.RoleArn = role.Arn
	c.ChartVersion = pulumi.String(release.Chart).ToStringOutput()
	c.ImageTag = pulumi.String(release.Image).ToStringOutput()
	return c, ctx.RegisterResourceOutputs(c, pulumi.Map{
		"roleArn":      c.RoleArn,
		"chartVersion": c.ChartVersion,
		"imageTag":     c.ImageTag,
	})
}

// policy document of the controller.
func (args *Args) policy() pulumi.StringOutput {
	return args.Cluster.Name.ToStringOutput().ApplyT(func(cluster string) (string, error) {
		return policyJSON(scope{
			Partition: args.Cluster.Partition,
			Region:    args.Cluster.Region,
			AccountID: args.Cluster.AccountID,
			Cluster:   cluster,
		})
	}).(pulumi.StringOutput)
}
