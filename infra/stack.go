package infra

import (
	"fmt"
	"net/url"
	"time"

	"github.com/headroom-eks/headroom/components/cluster"
	"github.com/headroom-eks/headroom/components/handle"
	"github.com/headroom-eks/headroom/components/network"
	"github.com/headroom-eks/headroom/components/nodegroup"
	"github.com/headroom-eks/headroom/infra/config"
	"github.com/headroom-eks/headroom/pool"
	"github.com/pulumi/pulumi-aws/sdk/v6/go/aws"
	"github.com/pulumi/pulumi-kubernetes/sdk/v4/go/kubernetes"
	"github.com/pulumi/pulumi-random/sdk/v4/go/random"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
)

// stack is what the steps of the program hand to each other.
type stack struct {
	ctx     *pulumi.Context
	env     config.Environment
	facts   facts
	options Options

	aws        *aws.Provider
	kubernetes *kubernetes.Provider

	name        pulumi.StringOutput // of the cluster
	network     *network.Network
	cluster     *cluster.Cluster
	nodeRole    *nodegroup.Role // of managed groups
	systemNodes []pulumi.Resource

	interruptionQueueName, karpenterNodeRoleName pulumi.StringOutput
	manifests                                    []pulumi.StringMapOutput
	// groups are the names of managed groups, by pool.
	groups map[string][]string
	// made resolve when the pools exist; what runs is counted after them.
	made []any
}

// account is where everything is made.
func (s *stack) account() handle.Account {
	return handle.Account{
		AccountID: s.facts.AccountID,
		Region:    s.facts.Region,
		Partition: s.facts.Partition,
		DNSSuffix: s.facts.DNSSuffix,
		Tags:      s.env.Tags,
	}
}

// build makes everything, in the order in which each thing needs the ones before it; it goes in the opposite order.
func (s *stack) build() error {
	for _, step := range []func() error{
		s.nameCluster, s.buildNetwork, s.buildCluster, s.connect, s.buildSystem, s.buildAddons, s.buildSpotRole,
		s.buildManagedPools, s.buildKarpenter, s.buildAutoMode, s.buildGPU,
	} {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

func (s *stack) nameCluster() error {
	s.name = pulumi.String(s.env.Cluster.Name).ToStringOutput()
	if !s.env.Cluster.UniqueSuffix {
		return nil
	}
	suffix, err := random.NewRandomString(s.ctx, "cluster-suffix", &random.RandomStringArgs{
		Length: pulumi.Int(6), Upper: pulumi.Bool(false), Special: pulumi.Bool(false),
	})
	if err != nil {
		return fmt.Errorf("create suffix of the cluster's name: %w", err)
	}
	s.name = pulumi.Sprintf("%s-%s", s.env.Cluster.Name, suffix.Result)
	return nil
}

func (s *stack) buildNetwork() (err error) {
	opts := pulumi.Providers(s.aws)
	zone := func(name string) network.Zone { return network.Zone{Name: name, ID: s.facts.ZoneIDs[name]} }
	if s.env.Network.Existing == nil {
		args := &network.Args{
			CIDR: s.env.Network.CIDR, NAT: network.NAT(s.env.Network.NATGateways),
			Endpoints: s.env.Network.InterfaceEndpoints, Account: s.account(),
		}
		for _, name := range s.env.Network.Zones {
			args.Zones = append(args.Zones, zone(name))
		}
		s.network, err = network.New(s.ctx, "network", args, opts, pulumi.Protect(s.env.Protect))
		return err
	}
	args := &network.ExistingArgs{VpcID: s.env.Network.Existing.VPCID, CIDR: s.facts.VPCCIDR}
	for _, n := range s.facts.Subnets {
		found := network.ExistingSubnet{ID: n.ID, Zone: zone(n.Zone), CIDR: n.CIDR}
		if n.Public {
			args.Public = append(args.Public, found)
		} else {
			args.Private = append(args.Private, found)
		}
	}
	s.network, err = network.Existing(s.ctx, "network", args, opts)
	return err
}

func (s *stack) buildCluster() (err error) {
	c := s.env.Cluster
	args := &cluster.Args{
		Name:              s.name,
		Version:           c.KubernetesVersion,
		VpcID:             s.network.VpcID,
		SubnetIDs:         s.network.Private.ForControlPlane().IDs(),
		PublicAccessCIDRs: c.PublicAccessCIDRs,
		Access:            map[string]cluster.Access{},
		SecretsKeyArn:     c.SecretsKeyARN,
		LogTypes:          c.LogTypes,
		LogRetentionDays:  c.LogRetentionDays,
		UpgradePolicy:     c.UpgradePolicy,
		VPCCNIVersion:     c.Addons.VPCCNI,
		KubeProxyVersion:  c.Addons.KubeProxy,
		PrefixDelegation:  s.env.Network.PrefixDelegation,
		Protect:           s.env.Protect,
		Account:           s.account(),
	}
	for name, a := range c.Access {
		args.Access[name] = cluster.Access{PrincipalArn: a.PrincipalARN, Policy: a.Policy}
	}
	if s.env.Uses(pool.AutoMode) {
		args.AutoMode = &cluster.AutoMode{NodePools: s.env.AutoMode.BuiltInPools}
	}
	s.cluster, err = cluster.New(s.ctx, "cluster", args, pulumi.Providers(s.aws),
		pulumi.DependsOn(s.network.Ready)) // the control plane's interfaces go before the subnets' routes do
	return err
}

// reachTimeout for the Kubernetes API to accept a connection.
const reachTimeout = 10 * time.Second

// connect makes the provider through which objects reach the cluster. It waits for the access entries, and they outlive
// it (field fault BR-85). In an update the API is dialled first: where it cannot be reached, every object would
// otherwise wait in vain.
func (s *stack) connect() (err error) {
	kubeconfig := pulumi.All(s.cluster.Kubeconfig, s.cluster.Endpoint).ApplyT(func(v []any) (string, error) {
		text, _ := v[0].(string)
		endpoint, _ := v[1].(string)
		if s.ctx.DryRun() || s.env.Cluster.SkipReachabilityCheck {
			return text, nil
		}
		return text, s.reach(endpoint)
	}).(pulumi.StringOutput)
	s.kubernetes, err = kubernetes.NewProvider(s.ctx, "kubernetes", &kubernetes.ProviderArgs{
		Kubeconfig: kubeconfig,
		// Otherwise a changed ConfigMap is deleted and made anew, and whoever reads capacity from one finds none in
		// between.
		EnableConfigMapMutable: pulumi.BoolPtr(true),
	},
		pulumi.DependsOn(s.cluster.Ready))
	if err != nil {
		return fmt.Errorf("connect to the cluster: %w", err)
	}
	return nil
}

func (s *stack) reach(endpoint string) error {
	parsed, err := url.Parse(endpoint)
	if err != nil {
		return fmt.Errorf("the cluster's endpoint %q is not a URL: %w", endpoint, err)
	}
	address := parsed.Host
	if parsed.Port() == "" {
		address += ":443"
	}
	connection, err := s.options.Dial("tcp", address, reachTimeout)
	if err != nil {
		where := "cluster.publicAccessCidrs is empty, so it answers inside the VPC only: run pulumi up from there"
		if len(s.env.Cluster.PublicAccessCIDRs) > 0 {
			where = fmt.Sprintf("cluster.publicAccessCidrs lets in %v, and this machine may not be among them",
				s.env.Cluster.PublicAccessCIDRs)
		}
		return fmt.Errorf("the Kubernetes API at %s cannot be reached from here (%w); %s. Through a proxy, set "+
			"cluster.skipReachabilityCheck: true. What was made so far is kept; run pulumi up again", address, err,
			where)
	}
	return connection.Close()
}

func (s *stack) systemTaints() []pool.Taint {
	if !s.env.System.Tainted {
		return nil
	}
	return []pool.Taint{{Key: "CriticalAddonsOnly", Value: "true", Effect: pool.NoSchedule}}
}

// inCluster are the options of what makes objects in the cluster.
func (s *stack) inCluster() pulumi.ResourceOption { return pulumi.Providers(s.aws, s.kubernetes) }

func (s *stack) buildAddons() error {
	addons := s.env.Cluster.Addons
	_, err := cluster.NewAddons(s.ctx, "addons", &cluster.AddonsArgs{
		Cluster:        s.cluster.Handle(),
		CoreDNSVersion: addons.CoreDNS,
		EBSCSIVersion:  addons.EBSCSI,
		SystemTaints:   s.systemTaints(),
		Needs:          s.systemNodes,
		AutoMode:       s.env.Uses(pool.AutoMode),
	}, s.inCluster())
	return err
}
