// Package build renders a plan: it makes the components of an environment in the order in which each needs the ones
// before it. They go in the opposite order.
//
// It owns the order and what ties components together. It decides nothing: what a pool is made of stands in the plan,
// how a component looks inside is the component's.
package build

import (
	"time"

	"github.com/headroom-eks/headroom/components/cluster"
	"github.com/headroom-eks/headroom/components/gpu"
	"github.com/headroom-eks/headroom/components/handle"
	"github.com/headroom-eks/headroom/components/karpenter"
	"github.com/headroom-eks/headroom/components/network"
	"github.com/headroom-eks/headroom/components/nodegroup"
	"github.com/headroom-eks/headroom/infra/kubeapi"
	"github.com/headroom-eks/headroom/infra/plan"
	"github.com/pulumi/pulumi-aws/sdk/v6/go/aws"
	"github.com/pulumi/pulumi-kubernetes/sdk/v4/go/kubernetes"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
)

// Made is what a build has made, for those who publish it.
type Made struct {
	AWS        *aws.Provider
	Kubernetes *kubernetes.Provider
	Cluster    *cluster.Cluster
	// Kubeconfig with which the program itself asks the cluster, and Dial, which opens the connections; nil lets the
	// system do it.
	Kubeconfig pulumi.StringOutput
	Dial       kubeapi.Dial
	// Private subnets of the network, with their ids.
	Private network.Subnets
	// Parts that pools are made of, as far as they were made.
	Parts []Part
	// Manifests of pools that are left to GitOps, by file name.
	Manifests []pulumi.StringMapOutput
	// Of Karpenter, where it is used.
	InterruptionQueueName, KarpenterNodeRoleName pulumi.StringOutput
	// KarpenterInstanceProfileName is nil when Karpenter makes profiles itself.
	KarpenterInstanceProfileName pulumi.StringInput
}

// Part is one group or NodePool that a pool is made of.
type Part struct {
	Pool string
	// Ready resolves when it exists.
	Ready pulumi.Output
}

// builder is what the steps of a build hand to each other.
type builder struct {
	*Made
	ctx      *pulumi.Context
	plan     plan.Plan
	caller   cluster.Caller
	enterFor time.Duration
	account  handle.Account

	network  *network.Network
	nodeRole *nodegroup.Role // of managed groups
	// systemNodes must be there before anything that runs on them.
	systemNodes []pulumi.Resource
}

// Asks is how a build asks: the provider of AWS, who asks for tokens of Kubernetes, and the way to its API.
type Asks struct {
	AWS    *aws.Provider
	Caller cluster.Caller
	Dial   kubeapi.Dial
	// EnterFor bounds the wait for the API to let the caller in; 0 is five minutes.
	EnterFor time.Duration
}

// Environment makes everything that the plan says.
func Environment(ctx *pulumi.Context, p plan.Plan, asks Asks) (*Made, error) {
	b := &builder{
		Made:     &Made{AWS: asks.AWS, Dial: asks.Dial},
		ctx:      ctx,
		plan:     p,
		caller:   asks.Caller,
		enterFor: asks.EnterFor,
		account: handle.Account{
			AccountID: p.Account.ID,
			Region:    p.Account.Region,
			Partition: p.Account.Partition,
			DNSSuffix: p.Account.DNSSuffix,
			Tags:      p.Environment.Tags,
		},
	}
	for _, step := range []func() error{
		b.makeNetwork, b.makeCluster, b.connect, b.makeSystemGroup, b.makeAddons, b.makeSpotRole, b.makePools,
		b.makeGPU,
	} {
		if err := step(); err != nil {
			return nil, err
		}
	}
	return b.Made, nil
}

// ofAWS are the options of what makes resources of AWS alone, inCluster of what makes objects in the cluster too.
func (b *builder) ofAWS() pulumi.ResourceOption     { return pulumi.Providers(b.AWS) }
func (b *builder) inCluster() pulumi.ResourceOption { return pulumi.Providers(b.AWS, b.Kubernetes) }

func (b *builder) makeNetwork() (err error) {
	if n := b.plan.Network; n.Existing != nil {
		b.network, err = network.Existing(b.ctx, "network", n.Existing, b.ofAWS())
	} else {
		args := *n.New
		args.Account = b.account
		b.network, err = network.New(b.ctx, "network", &args, b.ofAWS(), pulumi.Protect(b.plan.Environment.Protect))
	}
	if err == nil {
		b.Private = b.network.Private
	}
	return err
}

// makeSpotRole makes the account's service-linked role for spot, for those who ask.
func (b *builder) makeSpotRole() error {
	if !b.plan.Environment.Spot.CreateServiceLinkedRole {
		return nil
	}
	_, err := karpenter.NewSpotRole(b.ctx, "spot-role", pulumi.Provider(b.AWS))
	return err
}

// makeGPU installs what makes GPUs claimable. Auto Mode's nodes bring it.
func (b *builder) makeGPU() error {
	env := b.plan.Environment
	if env.GPU.ProvidedElsewhere || len(env.Pools) == 0 || b.plan.Cluster.AutoMode {
		return nil
	}
	args := &gpu.Args{
		DevicePluginVersion: env.GPU.DevicePluginVersion,
		DRADriverVersion:    env.GPU.DRADriverVersion,
		Repository:          env.GPU.Repository,
		Needs:               append(b.Cluster.Handle().Ready, b.systemNodes...),
	}
	for _, p := range b.plan.Pools {
		if p.Facts.Advertised {
			args.Targets = append(args.Targets, gpu.Target{
				Name:       p.Name(),
				Scaler:     p.Facts.Scaler,
				DeviceMode: p.Facts.DeviceMode,
				Taints:     append(p.Facts.Taints, p.StartupTaints...),
			})
		}
	}
	_, err := gpu.New(b.ctx, "gpu", args, b.inCluster())
	return err
}
