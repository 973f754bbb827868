package build

import (
	"context"
	"fmt"
	"net"
	"net/url"
	"time"

	"github.com/headroom-eks/headroom/components/automode"
	"github.com/headroom-eks/headroom/components/cluster"
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
		SubnetIDs:         b.network.Private.ForControlPlane().IDs(),
		PublicAccessCIDRs: c.PublicAccessCIDRs,
		Access:            c.Principals(),
		SecretsKeyArn:     c.SecretsKeyArn,
		LogTypes:          c.LogTypes,
		LogRetentionDays:  c.LogRetentionDays,
		UpgradePolicy:     c.UpgradePolicy,
		VpcCNIVersion:     c.Addons.VpcCNI,
		KubeProxyVersion:  c.Addons.KubeProxy,
		PrefixDelegation:  env.Network.PrefixDelegation,
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
// the access entries, and they outlive it (field fault BR-85). In an update the API is dialled first: where it cannot
// be reached, every object would otherwise wait in vain.
func (b *builder) connect() (err error) {
	b.Kubeconfig = b.Cluster.KubeconfigFor(b.caller)
	kubeconfig := pulumi.All(b.Kubeconfig, b.Cluster.Endpoint).ApplyT(func(v []any) (string, error) {
		text, _ := v[0].(string)
		endpoint, _ := v[1].(string)
		if b.ctx.DryRun() || b.plan.Environment.Cluster.SkipReachabilityCheck {
			return text, nil
		}
		return text, b.reach(endpoint)
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

// reachTimeout for the Kubernetes API to accept a connection.
const reachTimeout = 10 * time.Second

func (b *builder) reach(endpoint string) error {
	parsed, err := url.Parse(endpoint)
	if err != nil {
		return fmt.Errorf("the cluster's endpoint %q is not a URL: %w", endpoint, err)
	}
	address := parsed.Host
	if parsed.Port() == "" {
		address += ":443"
	}
	dial := b.Dial
	if dial == nil {
		dial = (&net.Dialer{}).DialContext
	}
	ctx, cancel := context.WithTimeout(b.ctx.Context(), reachTimeout)
	defer cancel()
	connection, err := dial(ctx, "tcp", address)
	if err != nil {
		where := "cluster.publicAccessCidrs is empty, so it answers inside the VPC only: run pulumi up from there"
		if open := b.plan.Environment.Cluster.PublicAccessCIDRs; len(open) > 0 {
			where = fmt.Sprintf("cluster.publicAccessCidrs lets in %v, and this machine may not be among them", open)
		}
		return fmt.Errorf("the Kubernetes API at %s cannot be reached from here (%w); %s. Through a proxy, set "+
			"cluster.skipReachabilityCheck: true. What was made so far is kept; run pulumi up again", address, err,
			where)
	}
	return connection.Close()
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
