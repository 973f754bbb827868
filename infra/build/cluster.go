package build

import (
	"cmp"
	"context"
	"fmt"

	"github.com/headroom-eks/headroom/components/automode"
	"github.com/headroom-eks/headroom/components/cluster"
	"github.com/headroom-eks/headroom/infra/kubeapi"
	"github.com/pulumi/pulumi-kubernetes/sdk/v4/go/kubernetes"
	"github.com/pulumi/pulumi-random/sdk/v4/go/random"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
)

// clusterName is the plain name, or with a stable suffix for environments that come and go.
func (b *builder) clusterName() (pulumi.StringOutput, error) {
	c := b.plan.Environment.Cluster
	if !c.UniqueSuffix {
		return pulumi.String(c.Name).ToStringOutput(), nil
	}
	suffix, err := random.NewRandomString(b.ctx, "cluster-suffix", &random.RandomStringArgs{
		Length:  pulumi.Int(6),
		Upper:   pulumi.Bool(false),
		Special: pulumi.Bool(false),
	})
	if err != nil {
		return pulumi.StringOutput{}, fmt.Errorf("create suffix of the cluster's name: %w", err)
	}
	return pulumi.Sprintf("%s-%s", c.Name, suffix.Result), nil
}

func (b *builder) makeCluster() error {
	name, err := b.clusterName()
	if err != nil {
		return err
	}
	env := b.plan.Environment
	c := env.Cluster
	args := &cluster.Args{
		Name:              name,
		Version:           c.KubernetesVersion,
		VpcID:             b.network.VpcID,
		SubnetIDs:         b.network.Private.In(b.plan.Cluster.ControlPlaneZones...).IDs(),
		PublicAccessCIDRs: c.PublicAccessCIDRs,
		PrivateAccess:     cluster.PrivateAccess(b.plan.Cluster.PrivateAccess),
		Access:            c.Principals(),
		SecretsKeyArn:     c.SecretsKeyArn,
		LogTypes:          c.LogTypes,
		LogRetentionDays:  c.LogRetentionDays,
		UpgradePolicy:     c.UpgradePolicy,
		VpcCNIVersion:     c.Addons.VpcCNI,
		KubeProxyVersion:  c.Addons.KubeProxy,
		PrefixDelegation:  env.Network.PrefixDelegation,
		Stack:             b.plan.Account.Stack,
		Protect:           env.Protect,
		Account:           b.account,
	}
	if b.plan.Cluster.AutoMode {
		args.AutoMode = automode.Settings{Enabled: true, BuiltInPools: env.AutoMode.BuiltInPools}
	}
	b.Cluster, err = cluster.New(b.ctx, "cluster", args, b.ofAWS(),
		pulumi.DependsOn(b.network.Ready)) // the control plane's interfaces go before the subnets' routes do
	return err
}

// connect makes the provider through which objects reach the cluster, as the same caller that asks AWS. It waits for
// the access entries, and they outlive it (field fault BR-85). In an update the API is asked first, until it answers
// and lets the caller in: otherwise every object would wait in vain.
func (b *builder) connect() (err error) {
	b.Kubeconfig = b.Cluster.KubeconfigFor(b.caller)
	kubeconfig := pulumi.All(b.Kubeconfig, b.Cluster.Endpoint).ApplyT(func(v []any) (string, error) {
		text, _ := v[0].(string)
		endpoint, _ := v[1].(string)
		if b.ctx.DryRun() || b.plan.Environment.Cluster.SkipReachabilityCheck {
			return text, nil
		}
		return text, b.enter(text, endpoint)
	}).(pulumi.StringOutput)
	b.Kubernetes, err = kubernetes.NewProvider(b.ctx, "kubernetes", &kubernetes.ProviderArgs{
		Kubeconfig: kubeconfig,
		// Otherwise a changed ConfigMap is deleted and made anew, and who reads capacity from one finds none in
		// between.
		EnableConfigMapMutable: pulumi.BoolPtr(true),
	}, pulumi.DependsOn(b.Cluster.Ready))
	if err != nil {
		return fmt.Errorf("connect to the cluster: %w", err)
	}
	return nil
}

// enter waits until the cluster lets the caller in: a new endpoint and a new access entry take a while, and the
// Kubernetes provider asks once.
func (b *builder) enter(kubeconfig, endpoint string) error {
	client, err := kubeapi.New(kubeconfig, b.Dial)
	if err != nil {
		return err
	}
	if err := (entrance{
		may:   func(ctx context.Context) (bool, string, error) { return client.May(ctx, "*", "*", "*") },
		say:   func(text string) error { return b.ctx.Log.Info(text, nil) },
		limit: cmp.Or(b.enterFor, enterFor),
		pause: enterPause,
	}).wait(b.ctx.Context()); err != nil {
		env := b.plan.Environment
		return refused(err, endpoint, b.plan.Account.CallerArn, env.Cluster.PublicAccessCIDRs)
	}
	return nil
}

func (b *builder) makeAddons() error {
	addons := b.plan.Environment.Cluster.Addons
	_, err := cluster.NewAddons(b.ctx, "addons", &cluster.AddonsArgs{
		Cluster:        b.Cluster.Handle(),
		CoreDNSVersion: addons.CoreDNS,
		EBSCSIVersion:  addons.EBSCSI,
		SystemTaints:   b.plan.Cluster.SystemTaints,
		Needs:          b.systemNodes,
		AutoMode:       b.plan.Cluster.AutoMode,
	}, b.inCluster())
	return err
}
