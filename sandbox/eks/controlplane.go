package eks

import (
	"cmp"
	"fmt"
	"os"

	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"

	"github.com/headroom-eks/headroom/sandbox/plugin"
)

func (e *expansion) controlPlane(role, nodeRole *serviceRole, group *plainResource) error {
	a := e.args
	vpc := pulumi.Map{
		"subnetIds":             e.subnets(),
		"endpointPrivateAccess": a.EndpointPrivateAccess,
		"endpointPublicAccess":  a.EndpointPublicAccess,
		"publicAccessCidrs":     e.publicCidrs(),
	}
	if group != nil {
		vpc["securityGroupIds"] = pulumi.StringArray{group.ID().ToStringOutput()}
	}
	inputs := pulumi.Map{
		"name":                   a.Name,
		"version":                a.Version,
		"roleArn":                role.role.Arn,
		"vpcConfig":              present(vpc),
		"enabledClusterLogTypes": a.EnabledClusterLogTypes,
		"accessConfig": pulumi.Map{
			"authenticationMode": pulumi.String(a.AuthenticationMode),
			// There is no argument for this one: the creator is always made cluster admin.
			"bootstrapClusterCreatorAdminPermissions": pulumi.Bool(true),
		},
		"tags":             e.tags(e.name+"-eksCluster", a.ClusterTags),
		"encryptionConfig": e.encryption(),
	}
	if a.auto() {
		inputs["bootstrapSelfManagedAddons"] = pulumi.Bool(false)
		// All three are known or unknown together: AWS takes them on or off together.
		auto := e.autoModeConfig(nodeRole)
		for _, key := range []string{"computeConfig", "storageConfig", "kubernetesNetworkConfig"} {
			inputs[key] = auto.MapIndex(pulumi.String(key))
		}
	} else if network := e.networkConfig(); network != nil {
		inputs["kubernetesNetworkConfig"] = network
	}
	e.cluster = &clusterResource{}
	return e.register("aws:eks/cluster:Cluster", e.name+"-eksCluster", inputs, e.cluster,
		pulumi.DependsOn(append(role.ready(), nodeRole.ready()...)),
		// As the component does; that the second is in v3.9.1 is read from its sources, no recording shows it.
		pulumi.IgnoreChanges([]string{"accessConfig.bootstrapClusterCreatorAdminPermissions",
			"bootstrapSelfManagedAddons"}))
}

// subnets are the public ones first, as the component joins them.
func (e *expansion) subnets() pulumi.Input {
	if e.args.SubnetIDs != nil {
		return e.args.SubnetIDs
	}
	return pulumi.All(orEmpty(e.args.PublicSubnetIDs), orEmpty(e.args.PrivateSubnetIDs)).ApplyT(func(v []any) []string {
		return append(append([]string{}, v[0].([]string)...), v[1].([]string)...)
	}).(pulumi.StringArrayOutput)
}

func orEmpty(in pulumi.StringArrayInput) pulumi.StringArrayOutput {
	if in == nil {
		return pulumi.StringArray{}.ToStringArrayOutput()
	}
	return in.ToStringArrayOutput()
}

func (e *expansion) publicCidrs() pulumi.Input {
	if e.args.PublicAccessCidrs == nil {
		return nil
	}
	public := e.args.EndpointPublicAccess
	if public == nil {
		public = pulumi.Bool(true)
	}
	return pulumi.All(e.args.PublicAccessCidrs, public).ApplyT(func(v []any) ([]string, error) {
		cidrs, _ := v[0].([]string)
		if on, _ := v[1].(bool); !on && cidrs != nil {
			return nil, fmt.Errorf("`publicAccessCidrs` can only be set when `endpointPublicAccess` is true")
		}
		return cidrs, nil
	}).(pulumi.StringArrayOutput)
}

func (e *expansion) encryption() pulumi.Input {
	if e.args.EncryptionConfigKeyArn == nil {
		return nil
	}
	return e.args.EncryptionConfigKeyArn.ToStringOutput().ApplyT(func(arn string) map[string]any {
		return map[string]any{"provider": map[string]any{"keyArn": arn}, "resources": []any{"secrets"}}
	}).(pulumi.MapOutput)
}

// networkConfig is nil when nothing asks for it.
func (e *expansion) networkConfig() pulumi.Input {
	if e.args.KubernetesServiceIPAddressRange == nil && e.args.IPFamily == nil && !e.args.auto() {
		return nil
	}
	return pulumi.All(orBlank(e.args.KubernetesServiceIPAddressRange),
		orBlank(e.args.IPFamily)).ApplyT(func(v []any) map[string]any {
		cidr, family := v[0].(string), v[1].(string)
		if family == "" {
			family = "ipv4"
		}
		config := map[string]any{"ipFamily": family}
		if family == "ipv4" && cidr != "" {
			config["serviceIpv4Cidr"] = cidr
		}
		if e.args.auto() {
			config["elasticLoadBalancing"] = map[string]any{"enabled": true}
		}
		return config
	}).(pulumi.MapOutput)
}

func orBlank(in pulumi.StringInput) pulumi.StringOutput {
	if in == nil {
		return pulumi.String("").ToStringOutput()
	}
	return in.ToStringOutput()
}

func (e *expansion) autoModeConfig(nodeRole *serviceRole) pulumi.MapOutput {
	arn := pulumi.String("").ToStringOutput()
	if nodeRole != nil {
		arn = nodeRole.role.Arn
	}
	custom := e.args.AutoMode.ComputeConfig
	if custom == nil {
		custom = pulumi.Map{}
	}
	return pulumi.All(custom, arn, e.networkConfig()).ApplyT(func(v []any) map[string]any {
		compute := map[string]any{"enabled": true, "nodePools": []any{"general-purpose", "system"}}
		if role := v[1].(string); role != "" {
			compute["nodeRoleArn"] = role
		}
		return map[string]any{
			"computeConfig":           merged(compute, v[0]),
			"storageConfig":           map[string]any{"blockStorage": map[string]any{"enabled": true}},
			"kubernetesNetworkConfig": v[2],
		}
	}).(pulumi.MapOutput)
}

// tags are a name, then the specific tags, then the common ones, the later winning.
func (e *expansion) tags(name string, specific pulumi.StringMapInput) pulumi.StringMapOutput {
	common := e.args.Tags
	if common == nil {
		common = pulumi.StringMap{}
	}
	if specific == nil {
		specific = pulumi.StringMap{}
	}
	return pulumi.All(specific, common).ApplyT(func(v []any) map[string]string {
		tags := map[string]string{"Name": name}
		for _, m := range v {
			for key, value := range m.(map[string]string) {
				tags[key] = value
			}
		}
		return tags
	}).(pulumi.StringMapOutput)
}

// kubernetesProvider is the provider the component makes for itself; nothing of ours uses it.
func (e *expansion) kubernetesProvider() (*providerResource, error) {
	p := &providerResource{}
	config := e.kubeconfig(true).ApplyT(func(v any) string { return compact(v) }).(pulumi.StringOutput)
	return p, e.ctx.RegisterResource("pulumi:providers:kubernetes", e.name+"-eks-k8s", pulumi.Map{"kubeconfig": config},
		p,
		// The component pins a version of its own; without one the engine adds its own from the second update on, as a
		// change.
		pulumi.Parent(e.parent), pulumi.Version(plugin.Versions["kubernetes"]))
}

func (e *expansion) kubeconfig(withProfile bool) pulumi.AnyOutput {
	role, profile := pulumi.String("").ToStringOutput(), pulumi.String("").ToStringOutput()
	switch opts := e.args.ProviderCredentialOpts; {
	case opts != nil:
		role = orBlank(opts.RoleArn)
		if withProfile {
			profile = orBlank(opts.ProfileName)
		}
	case withProfile: // without options it takes the profile of the person who runs it
		// https://github.com/pulumi/pulumi-eks/pull/561
		named, _ := e.ctx.GetConfig("aws:profile")
		profile = pulumi.String(cmp.Or(named, os.Getenv("AWS_PROFILE"))).ToStringOutput()
	}
	c := e.cluster
	return pulumi.All(c.Name, c.Endpoint, c.CertificateAuthority, c.Arn, role, profile).ApplyT(func(v []any) any {
		return kubeconfig(v[0].(string), v[1].(string), regionOf(v[3].(string)), text(v[2], "data"),
			credentials{v[4].(string), v[5].(string)})
	}).(pulumi.AnyOutput)
}

// text digs a string out of decoded JSON by keys and, for lists, their first element; empty when it is not there.
func text(v any, keys ...string) string {
	for _, key := range keys {
		if list, ok := v.([]any); ok && len(list) > 0 {
			v = list[0]
		}
		m, _ := v.(map[string]any)
		v = m[key]
	}
	s, _ := v.(string)
	return s
}
