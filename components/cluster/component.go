// Package cluster makes an EKS control plane, and the add-ons that wait for its first nodes.
//
// It owns the control plane with its network add-ons, its key, its log group, its OIDC provider and the access of
// people and CI to it; and, as a second component, DNS, the EBS driver and the default storage class. It does not own
// nodes, nor any controller that scales them.
package cluster

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/headroom-eks/headroom/components/automode"
	"github.com/headroom-eks/headroom/components/handle"
	"github.com/headroom-eks/headroom/components/irsa"
	"github.com/headroom-eks/headroom/pool"
	"github.com/pulumi/pulumi-aws/sdk/v6/go/aws/cloudwatch"
	awseks "github.com/pulumi/pulumi-aws/sdk/v6/go/aws/eks"
	"github.com/pulumi/pulumi-aws/sdk/v6/go/aws/iam"
	"github.com/pulumi/pulumi-aws/sdk/v6/go/aws/kms"
	"github.com/pulumi/pulumi-aws/sdk/v6/go/aws/vpc"
	"github.com/pulumi/pulumi-eks/sdk/v3/go/eks"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
)

const clusterType = "headroom:cluster:Cluster"

// Args of a control plane.
type Args struct {
	// Name of the cluster; ValidateName holds it to EKS's rules.
	Name pulumi.StringInput
	// Version of Kubernetes, for example "1.36". CheckVersion compares it with a live cluster's.
	Version string
	VpcID   pulumi.StringInput
	// SubnetIDs in at least two zones that can host a control plane.
	SubnetIDs pulumi.StringArrayInput
	// PublicAccessCIDRs may reach the API from outside the VPC. With none there is no public endpoint, and all that
	// talks to Kubernetes, this program included, has to run where the VPC can be reached.
	PublicAccessCIDRs []string
	// PrivateAccess reaches the private endpoint, which else only nodes do.
	PrivateAccess PrivateAccess
	// Access by a name of the caller's. The principal that creates the cluster becomes its admin only when no other
	// cluster-admin is named.
	Access map[string]Access
	// SecretsKeyArn is the key that encrypts secrets. Empty makes one, with rotation.
	SecretsKeyArn string
	// LogTypes of the control plane. Default LogTypes, which are all of them.
	LogTypes []string
	// LogRetentionDays of the control plane's log group. Default DefaultLogRetentionDays.
	LogRetentionDays int
	// UpgradePolicy is STANDARD (default) or EXTENDED.
	UpgradePolicy string
	// Pinned add-on versions; not used with Auto Mode.
	VpcCNIVersion, KubeProxyVersion string
	// PrefixDelegation gives nodes addresses in blocks of 16.
	PrefixDelegation bool
	// AutoMode lets EKS run the nodes. While it is off, all three of its capabilities are switched off explicitly.
	AutoMode automode.Settings
	// Stack that makes it, for its tag: two stacks must not take one cluster for theirs.
	Stack string
	// Protect the EKS cluster from deletion and replacement.
	Protect bool
	// Account to make it in.
	Account handle.Account
}

// Cluster is a control plane.
type Cluster struct {
	pulumi.ResourceState

	Name                 pulumi.StringOutput
	Endpoint             pulumi.StringOutput
	CertificateAuthority pulumi.StringOutput
	Version              pulumi.StringOutput
	// Issuer comes without a scheme.
	Issuer          pulumi.StringOutput
	OIDCProviderArn pulumi.StringOutput
	// SecurityGroupID of the group that EKS makes for the control plane and every node (field fault BR-75).
	SecurityGroupID pulumi.StringOutput
	// Kubeconfig as JSON, without credentials, for anybody who has their own.
	Kubeconfig pulumi.StringOutput
	// SecretsKeyArn is the key with which the cluster encrypts Kubernetes secrets.
	SecretsKeyArn pulumi.StringOutput
	// RoleName of the control plane's own role.
	RoleName pulumi.StringOutput
	// Ready must exist before what uses the cluster (nodes, the Kubernetes provider), and outlive it: control plane,
	// network add-ons, access entries. To depend on the outputs is not enough.
	Ready []pulumi.Resource
	// NodeRoleName of Auto Mode's nodes; empty without a built-in pool.
	NodeRoleName pulumi.StringOutput

	account handle.Account
	// planned is the version of Kubernetes that was asked for; Version is what the cluster reports.
	planned string
}

// Handle is the cluster as other components take it.
func (c *Cluster) Handle() handle.Cluster {
	return handle.Cluster{
		Account:           c.account,
		KubernetesVersion: c.planned,
		Name:              c.Name,
		Endpoint:          c.Endpoint,
		OIDCProviderArn:   c.OIDCProviderArn,
		Issuer:            c.Issuer,
		SecurityGroupID:   c.SecurityGroupID,
		Ready:             c.Ready,
	}
}

// New makes a control plane.
func New(ctx *pulumi.Context, name string, args *Args, opts ...pulumi.ResourceOption) (*Cluster, error) {
	if args == nil {
		return nil, fmt.Errorf("cluster %q: no arguments were given", name)
	}
	a := args.withDefaults()
	problems := a.validate()
	if err := problems.Err(); err != nil {
		return nil, fmt.Errorf("cluster %q: %w", name, err)
	}
	c := &Cluster{account: a.Account, planned: a.Version}
	inputs := pulumi.Map{
		"name":     a.Name,
		"version":  pulumi.String(a.Version),
		"autoMode": pulumi.Bool(a.AutoMode.Enabled),
	}
	if err := ctx.RegisterComponentResourceV2(clusterType, name, inputs, c, opts...); err != nil {
		return nil, fmt.Errorf("register %s: %w", name, err)
	}
	key, err := c.secretsKey(ctx, name, a)
	if err != nil {
		return nil, err
	}
	logs, err := cloudwatch.NewLogGroup(ctx, name+"-logs", &cloudwatch.LogGroupArgs{
		Name:            a.Name.ToStringOutput().ApplyT(logGroupName).(pulumi.StringOutput),
		RetentionInDays: pulumi.Int(a.LogRetentionDays),
		Tags:            pulumi.ToStringMap(a.Account.Tags),
	}, pulumi.Parent(c))
	if err != nil {
		return nil, fmt.Errorf("create log group of %s: %w", name, err)
	}
	inner, err := eks.NewCluster(ctx, name+"-eks", eksArgs(a, key),
		pulumi.Parent(c),
		pulumi.Transforms([]pulumi.ResourceTransform{controlPlane(a)}),
		// Where the group is not there first, EKS makes one that never drops a log.
		pulumi.DependsOn([]pulumi.Resource{logs}))
	if err != nil {
		return nil, fmt.Errorf("create EKS cluster %s: %w", name, err)
	}
	c.Ready = append(c.Ready, inner)
	c.outputs(inner)
	if err := errors.Join(c.privateAccess(ctx, name, a), c.access(ctx, name, a)); err != nil {
		return nil, err
	}
	if err := c.oidcProvider(ctx, name, a); err != nil {
		return nil, err
	}
	return c, ctx.RegisterResourceOutputs(c, pulumi.Map{
		"name":                 c.Name,
		"endpoint":             c.Endpoint,
		"certificateAuthority": c.CertificateAuthority,
		"version":              c.Version,
		"issuer":               c.Issuer,
		"oidcProviderArn":      c.OIDCProviderArn,
		"securityGroupId":      c.SecurityGroupID,
		"kubeconfig":           c.Kubeconfig,
		"roleName":             c.RoleName,
		"nodeRoleName":         c.NodeRoleName,
	})
}

// oidcProvider lets pods of the cluster assume roles.
func (c *Cluster) oidcProvider(ctx *pulumi.Context, name string, a Args) error {
	provider, err := iam.NewOpenIdConnectProvider(ctx, name+"-oidc", &iam.OpenIdConnectProviderArgs{
		Url:           pulumi.Sprintf("https://%s", c.Issuer),
		ClientIdLists: pulumi.StringArray{pulumi.String(irsa.Audience)},
		// No thumbprint: AWS trusts EKS issuers without one, and reading it needs a way to the issuer.
		Tags: pulumi.ToStringMap(a.Account.Tags),
	}, pulumi.Parent(c))
	if err != nil {
		return fmt.Errorf("create OIDC provider of %s: %w", name, err)
	}
	c.OIDCProviderArn = provider.Arn
	return nil
}

func (c *Cluster) secretsKey(ctx *pulumi.Context, name string, a Args) (pulumi.StringInput, error) {
	if a.SecretsKeyArn != "" {
		return pulumi.String(a.SecretsKeyArn), nil
	}
	policy, err := keyPolicy(a.Account.Partition, a.Account.AccountID)
	if err != nil {
		return nil, fmt.Errorf("key policy of %s: %w", name, err)
	}
	key, err := kms.NewKey(ctx, name+"-secrets", &kms.KeyArgs{
		Description:       pulumi.Sprintf("Kubernetes secrets of cluster %s", a.Name),
		EnableKeyRotation: pulumi.Bool(true),
		Policy:            pulumi.String(policy),
		Tags:              pulumi.ToStringMap(a.Account.Tags),
	}, pulumi.Parent(c), pulumi.Protect(a.Protect)) // a cluster whose key is deleted cannot be repaired
	if err != nil {
		return nil, fmt.Errorf("create secrets key of %s: %w", name, err)
	}
	return key.Arn, nil
}

// eksArgs are the component's arguments: nothing of what it makes by default but the control plane and the two add-ons
// that come before nodes (field faults BR-58, BR-61, BR-75).
func eksArgs(a Args, key pulumi.StringInput) *eks.ClusterArgs {
	yes, no, mode := true, false, eks.AuthenticationModeApi
	args := &eks.ClusterArgs{
		Name:                  a.Name.ToStringOutput().ToStringPtrOutput(),
		Version:               pulumi.String(a.Version),
		AuthenticationMode:    &mode,
		VpcId:                 a.VpcID.ToStringOutput().ToStringPtrOutput(),
		PrivateSubnetIds:      a.SubnetIDs,
		EndpointPrivateAccess: pulumi.Bool(true),
		// Set on the inner cluster: here the component would wait for a public endpoint, up to five minutes of every
		// update, also where it cannot be reached (cluster.ts of v3.9.1). The program has a wait of its own.
		EndpointPublicAccess:      pulumi.Bool(false),
		EncryptionConfigKeyArn:    key.ToStringOutput().ToStringPtrOutput(),
		EnabledClusterLogTypes:    pulumi.ToStringArray(a.LogTypes),
		SkipDefaultNodeGroup:      &yes,
		SkipDefaultSecurityGroups: &yes,
		CreateInstanceRole:        &no,
		CreateOidcProvider:        pulumi.Bool(false),
		CorednsAddonOptions:       &eks.CoreDnsAddonOptionsArgs{Enabled: &no},
		// Without it the component writes the profile of the person who runs the update into a provider of its own,
		// which nothing uses: the next person would plan a change of it.
		ProviderCredentialOpts: &eks.KubeconfigOptionsArgs{},
		Tags:                   pulumi.ToStringMap(a.Account.Tags),
	}
	if a.Stack != "" {
		args.ClusterTags = pulumi.StringMap{pool.StackTag: pulumi.String(a.Stack)}
	}
	if a.AutoMode.Enabled {
		args.AutoMode = &eks.AutoModeOptionsArgs{
			Enabled: true,
			// EKS refuses a node role without a built-in pool, and the component would make and send one all the same.
			CreateNodeRole: pulumi.BoolRef(a.AutoMode.ClusterCarriesNodeRole()),
			ComputeConfig:  &eks.ClusterComputeConfigArgs{NodePools: pulumi.ToStringArray(a.AutoMode.BuiltInPools)},
		}
		return args
	}
	env := pulumi.Map{}
	for key, value := range cniEnv(a.PrefixDelegation) {
		env[key] = pulumi.String(value)
	}
	args.VpcCniOptions = &eks.VpcCniOptionsArgs{
		AddonVersion:        pulumi.String(a.VpcCNIVersion),
		ConfigurationValues: pulumi.Map{"env": env},
	}
	args.KubeProxyAddonOptions = &eks.KubeProxyAddonOptionsArgs{Version: pulumi.String(a.KubeProxyVersion)}
	return args
}

func (c *Cluster) outputs(inner *eks.Cluster) {
	c.Name = present("name", inner.EksCluster.Name())
	c.Endpoint = present("endpoint", inner.EksCluster.Endpoint())
	c.CertificateAuthority = present("certificate authority", inner.EksCluster.CertificateAuthority().Data().Elem())
	c.Version = inner.EksCluster.Version()
	c.SecretsKeyArn = inner.EksCluster.EncryptionConfig().Provider().KeyArn().Elem()
	c.Issuer = present("OIDC issuer", inner.OidcIssuer).ApplyT(func(issuer string) string {
		return strings.TrimPrefix(issuer, "https://")
	}).(pulumi.StringOutput)
	c.SecurityGroupID = present("security group", inner.ClusterSecurityGroupId)
	c.RoleName = present("role", inner.EksCluster.RoleArn()).ApplyT(func(arn string) string {
		return arn[strings.LastIndex(arn, "/")+1:]
	}).(pulumi.StringOutput)
	c.NodeRoleName = inner.AutoModeNodeRoleName
	c.Kubeconfig = c.KubeconfigFor(Caller{})
}

// KubeconfigFor is the kubeconfig with which the caller asks, as JSON. It is secret when the caller is.
func (c *Cluster) KubeconfigFor(caller Caller) pulumi.StringOutput {
	text := pulumi.All(c.Name, c.Endpoint, c.CertificateAuthority).ApplyT(func(v []any) (string, error) {
		var s [3]string
		for i := range s {
			s[i], _ = v[i].(string)
		}
		return Kubeconfig(s[0], s[1], s[2], c.account.Region, caller)
	}).(pulumi.StringOutput)
	if caller.Secret {
		return pulumi.ToSecret(text).(pulumi.StringOutput)
	}
	return text
}

// present fails when the cluster's answer is empty: silently, it would end in a security group list, a trust policy or
// a kubeconfig (field fault BR-93).
func present(what string, value pulumi.StringOutput) pulumi.StringOutput {
	return value.ApplyT(func(v string) (string, error) {
		if v == "" {
			return "", fmt.Errorf("the cluster has no %s", what)
		}
		return v, nil
	}).(pulumi.StringOutput)
}

// privateAccess opens the private endpoint. The group that EKS makes lets in nothing but itself, so not even a machine
// in the VPC would reach it (review B1).
// https://docs.aws.amazon.com/eks/latest/userguide/cluster-endpoint.html#private-access
func (c *Cluster) privateAccess(ctx *pulumi.Context, name string, a Args) error {
	open := func(source string, args vpc.SecurityGroupIngressRuleArgs) error {
		args.SecurityGroupId, args.IpProtocol = c.SecurityGroupID, pulumi.String("tcp")
		args.FromPort, args.ToPort = pulumi.Int(443), pulumi.Int(443)
		args.Description = pulumi.String("Kubernetes API")
		args.Tags = pulumi.ToStringMap(a.Account.Tags)
		rule, err := vpc.NewSecurityGroupIngressRule(ctx, name+"-api-from-"+source, &args, pulumi.Parent(c))
		if err != nil {
			return fmt.Errorf("open the private endpoint to %s: %w", source, err)
		}
		c.Ready = append(c.Ready, rule)
		return nil
	}
	for _, cidr := range a.PrivateAccess.CIDRs {
		if err := open(unnamable.ReplaceAllString(cidr, "-"), vpc.SecurityGroupIngressRuleArgs{
			CidrIpv4: pulumi.String(cidr),
		}); err != nil {
			return err
		}
	}
	for _, group := range a.PrivateAccess.SecurityGroupIDs {
		if err := open(group, vpc.SecurityGroupIngressRuleArgs{
			ReferencedSecurityGroupId: pulumi.String(group),
		}); err != nil {
			return err
		}
	}
	return nil
}

// access gives the named principals their entries, as resources of our own: objects in the cluster depend on them, so
// that the entries outlive the objects (field fault BR-85).
func (c *Cluster) access(ctx *pulumi.Context, name string, a Args) error {
	tags := c.Name.ApplyT(func(cluster string) map[string]string {
		tags := maps.Clone(a.Account.Tags)
		if tags == nil {
			tags = map[string]string{}
		}
		tags[pool.ClusterTag] = cluster // tells the entries of this program from those that EKS or others made
		return tags
	}).(pulumi.StringMapOutput)
	for _, who := range slices.Sorted(maps.Keys(a.Access)) {
		resource := name + "-access-" + principalName(a.Access[who].PrincipalArn)
		// Earlier versions named the entry after its key in the configuration.
		former := pulumi.Aliases([]pulumi.Alias{{Name: pulumi.String(name + "-access-" + who)}})
		entry, err := awseks.NewAccessEntry(ctx, resource, &awseks.AccessEntryArgs{
			ClusterName:  c.Name,
			PrincipalArn: pulumi.String(a.Access[who].PrincipalArn),
			Tags:         tags,
		}, pulumi.Parent(c), former)
		if err != nil {
			return fmt.Errorf("create access entry %s: %w", who, err)
		}
		association, err := awseks.NewAccessPolicyAssociation(ctx, resource,
			&awseks.AccessPolicyAssociationArgs{
				ClusterName:  c.Name,
				PrincipalArn: entry.PrincipalArn,
				PolicyArn:    pulumi.String(accessPolicyArn(a.Account.Partition, a.Access[who].Policy)),
				AccessScope:  awseks.AccessPolicyAssociationAccessScopeArgs{Type: pulumi.String("cluster")},
			}, pulumi.Parent(c), pulumi.DependsOn([]pulumi.Resource{entry}), former)
		if err != nil {
			return fmt.Errorf("associate access policy of %s: %w", who, err)
		}
		c.Ready = append(c.Ready, entry, association)
	}
	return nil
}
