// Package karpenter installs Karpenter: what its controller may do, what its nodes may do, and its two charts.
//
// It owns the controller's role, the nodes' role with its access entry, and the charts at one pinned version. It does
// not own the interruption queue (package interruption), the pools (package nodepool), the system pool that carries the
// controller, nor the account's Spot role unless asked for it.
package karpenter

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/headroom-eks/headroom/components/chart"
	"github.com/headroom-eks/headroom/components/handle"
	"github.com/headroom-eks/headroom/components/iampolicy"
	"github.com/headroom-eks/headroom/components/irsa"
	"github.com/headroom-eks/headroom/problem"
	helm "github.com/pulumi/pulumi-kubernetes/sdk/v4/go/kubernetes/helm/v4"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
)

const controllerType = "headroom:karpenter:Controller"

// Args of the controller.
type Args struct {
	// Version of both charts, exact, such as "1.15.0".
	Version string
	// Repository of both charts; default DefaultRepository. No login is sent to it; an old login saved on the machine
	// that runs Pulumi can still make a public registry refuse (field fault BR-52).
	Repository string
	Settings   Settings

	// Cluster to put nodes into.
	Cluster handle.Cluster
	// NodeRoleArn of the nodes, see NewNodeRole.
	NodeRoleArn pulumi.StringInput
	// Queue of interruption warnings; nil switches interruption handling off.
	Queue *QueueArgs
	// Needs must exist before the controller and outlive it, beside what makes the cluster ready: system pool, routes,
	// access entry of the nodes, queue and its policy.
	Needs []pulumi.Resource
}

// QueueArgs names the interruption queue. Name and Arn come from the queue itself and are not interchangeable (field
// fault BR-28).
type QueueArgs struct {
	Name, Arn pulumi.StringInput
	// KMSKeyArn of the customer's key that encrypts it; nil for SQS's own encryption.
	KMSKeyArn pulumi.StringInput
}

// Controller is a running Karpenter.
type Controller struct {
	pulumi.ResourceState

	RoleArn pulumi.StringOutput
	// Ready is what pools depend on: both charts, and the controller's permissions, which it needs to take its nodes
	// away.
	Ready []pulumi.Resource
}

// New makes the controller's role and installs the charts.
func New(ctx *pulumi.Context, name string, args *Args, opts ...pulumi.ResourceOption) (*Controller, error) {
	if err := validate(name, args).Err(); err != nil {
		return nil, err
	}
	c := &Controller{}
	inputs := pulumi.Map{"version": pulumi.String(args.Version), "clusterName": args.Cluster.Name}
	if err := ctx.RegisterComponentResourceV2(controllerType, name, inputs, c, opts...); err != nil {
		return nil, fmt.Errorf("register %s: %w", name, err)
	}
	role, err := irsa.New(ctx, name, &irsa.Args{
		Cluster:        args.Cluster,
		Namespace:      Namespace,
		ServiceAccount: ServiceAccount,
		Policies:       policies(args),
	}, pulumi.Parent(c))
	if err != nil {
		return nil, err
	}
	c.RoleArn = role.Arn

	source := cmp.Or(args.Repository, DefaultRepository)
	// The definitions first, from a chart of their own: the main chart installs them once and never upgrades them
	// (field fault BR-49).
	definitions := chart.Args(source, crdChart, args.Version, Namespace)
	crds, err := helm.NewChart(ctx, name+"-crd", definitions, pulumi.Parent(c))
	if err != nil {
		return nil, fmt.Errorf("install chart %s: %w", crdChart, err)
	}
	// The controller must find its queue and permissions when it starts, and still have them while it takes its nodes
	// away (field faults BR-34, BR-86).
	needs := slices.Concat([]pulumi.Resource{crds}, role.Ready, args.Cluster.Ready, args.Needs)
	controller := chart.Args(source, mainChart, args.Version, Namespace)
	controller.SkipCrds, controller.Values = pulumi.Bool(true), values(args, role)
	main, err := helm.NewChart(ctx, name+"-chart", controller, pulumi.Parent(c), pulumi.DependsOn(needs))
	if err != nil {
		return nil, fmt.Errorf("install chart %s: %w", mainChart, err)
	}
	c.Ready = append([]pulumi.Resource{main}, needs...)
	return c, ctx.RegisterResourceOutputs(c, pulumi.Map{"roleArn": c.RoleArn})
}

// values resolves what the chart takes from other resources.
func values(args *Args, role *irsa.Role) pulumi.MapInput {
	var queue pulumi.StringInput = pulumi.String("")
	if args.Queue != nil {
		queue = args.Queue.Name
	}
	settings, region := args.Settings, args.Cluster.Region
	return pulumi.All(args.Cluster.Name, args.Cluster.Endpoint, queue, role.Arn).ApplyT(func(v []any) map[string]any {
		w := Wiring{Region: region}
		w.ClusterName, _ = v[0].(string)
		w.ClusterEndpoint, _ = v[1].(string)
		w.QueueName, _ = v[2].(string)
		w.RoleArn, _ = v[3].(string)
		return Values(settings, w)
	}).(pulumi.MapOutput)
}

// policies resolves the controller's policy documents.
func policies(args *Args) map[string]pulumi.StringInput {
	none := pulumi.String("")
	queue, key := pulumi.StringInput(none), pulumi.StringInput(none)
	if args.Queue != nil {
		queue = args.Queue.Arn
		if args.Queue.KMSKeyArn != nil {
			key = args.Queue.KMSKeyArn
		}
	}
	version, withQueue := args.Version, args.Queue != nil
	account := args.Cluster.Account
	known := Facts{Partition: account.Partition, Region: account.Region, AccountID: account.AccountID}
	rendered := pulumi.All(args.Cluster.Name, args.NodeRoleArn, queue,
		key).ApplyT(func(v []any) (map[string]string, error) {
		f := known
		f.Cluster, _ = v[0].(string)
		f.NodeRoleArn, _ = v[1].(string)
		f.QueueArn, _ = v[2].(string)
		f.QueueKeyArn, _ = v[3].(string)
		if withQueue && f.QueueArn == "" {
			return nil, fmt.Errorf("permissions of Karpenter's controller: the interruption queue has no ARN")
		}
		documents, err := Policies(version, f)
		if err != nil {
			return nil, err
		}
		out := map[string]string{}
		for key, document := range documents {
			if out[key], err = document.JSON(iampolicy.ManagedLimit); err != nil {
				return nil, fmt.Errorf("policy %s of Karpenter's controller: %w", key, err)
			}
		}
		return out, nil
	}).(pulumi.StringMapOutput)
	out := map[string]pulumi.StringInput{}
	for _, key := range policyKeys(withQueue) {
		out[key] = rendered.MapIndex(pulumi.String(key))
	}
	return out
}

func validate(name string, args *Args) (problems problem.List) {
	at := fmt.Sprintf("karpenter %q", name)
	if args == nil {
		problems.Add(at, "no arguments were given", nil, "")
		return problems
	}
	problems.Join(ValidateVersion(at+".version", args.Version, args.Cluster.KubernetesVersion))
	s := args.Settings
	if known, found := releases[minor(args.Version)]; found && s.EnableDRA && !known.enableDRA {
		problems.Add(at+".settings.enableDRA", "is a switch that this version of Karpenter does not have", args.Version,
			"raise version to 1.15 or later, or turn it off")
	}
	for _, text := range []struct{ field, value string }{
		{"settings.systemPool", s.SystemPool},
		{"region", args.Cluster.Region},
		{"partition", args.Cluster.Partition},
		{"accountID", args.Cluster.AccountID},
	} {
		if text.value == "" {
			problems.Add(at+"."+text.field, "is empty", nil, "give it")
		}
	}
	if s.SystemNodes < 1 {
		problems.Add(at+".settings.systemNodes", "carry no controller", s.SystemNodes, "give the system pool a node")
	}
	for _, input := range []pulumi.StringInput{args.Cluster.Name, args.Cluster.Endpoint,
		args.Cluster.OIDCProviderArn, args.Cluster.Issuer, args.NodeRoleArn} {
		if input == nil {
			problems.Add(at, "cluster name, endpoint, OIDC provider, issuer and the nodes' role are all needed", nil,
				"pass each")
			break
		}
	}
	if q := args.Queue; q != nil && (q.Name == nil || q.Arn == nil) {
		problems.Add(at+".queue", "name and ARN are both needed", nil,
			"take them from the queue, or leave the queue out")
	}
	return problems
}
