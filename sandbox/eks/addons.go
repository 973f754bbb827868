package eks

import (
	"maps"
	"slices"

	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
)

func (e *expansion) kubeProxy() error {
	opts := e.args.KubeProxyAddonOptions
	enabled := !e.args.auto()
	if opts != nil && opts.Enabled != nil {
		enabled = *opts.Enabled
	}
	if !enabled {
		return nil
	}
	return e.simpleAddon("kube-proxy", opts)
}

// coredns is made when there is a place to run it, which the component sees only in a default node group or Auto Mode,
// or when asked for.
func (e *expansion) coredns() error {
	opts := e.args.CorednsAddonOptions
	explicit := opts != nil && ((opts.Enabled != nil && *opts.Enabled) || opts.ConfigurationValues != nil)
	byDefault := (!e.args.SkipDefaultNodeGroup || e.args.auto()) &&
		(opts == nil || opts.Enabled == nil || *opts.Enabled)
	if !explicit && !byDefault {
		return nil
	}
	return e.simpleAddon("coredns", opts)
}

func (e *expansion) simpleAddon(addon string, opts *addonOptions) error {
	if opts == nil {
		opts = &addonOptions{}
	}
	var values pulumi.Input
	if opts.ConfigurationValues != nil {
		values = opts.ConfigurationValues.ToMapOutput().ApplyT(
			func(m map[string]any) string { return compact(m) }).(pulumi.StringOutput)
	}
	return e.register("aws:eks/addon:Addon", e.name+"-"+addon, pulumi.Map{
		"clusterName":              e.cluster.Name,
		"addonName":                pulumi.String(addon),
		"addonVersion":             e.addonVersion(addon, opts.Version, e.parent),
		"preserve":                 pulumi.Bool(true),
		"tags":                     e.args.Tags,
		"configurationValues":      values,
		"resolveConflictsOnCreate": overwrite(opts.ResolveConflictsOnCreate),
		"resolveConflictsOnUpdate": overwrite(opts.ResolveConflictsOnUpdate),
	}, &plainResource{})
}

func overwrite(how string) pulumi.String {
	if how == "" {
		return "OVERWRITE"
	}
	return pulumi.String(how)
}

// addonVersion is the pinned version, or the most recent one that AWS names for the cluster's version.
func (e *expansion) addonVersion(addon string, pinned pulumi.StringInput, parent pulumi.Resource) pulumi.StringInput {
	if pinned != nil {
		return pinned
	}
	return e.cluster.Version.ApplyT(func(version string) (string, error) {
		args := struct {
			AddonName         string `pulumi:"addonName"`
			KubernetesVersion string `pulumi:"kubernetesVersion"`
			MostRecent        bool   `pulumi:"mostRecent"`
		}{addon, version, true}
		var result struct {
			Version string `pulumi:"version"`
		}
		err := e.ctx.Invoke("aws:eks/getAddonVersion:getAddonVersion", &args, &result, pulumi.Parent(parent))
		return result.Version, err
	}).(pulumi.StringOutput)
}

// vpcCni makes the network add-on, as the component's own sub-component; nil when it is left to AWS or to Auto Mode.
func (e *expansion) vpcCni(k8s *providerResource) (*component, error) {
	enabled := !e.args.auto()
	if own := e.args.UseDefaultVpcCni; own != nil {
		enabled = !*own
	}
	if !enabled {
		return nil, nil
	}
	opts := e.args.VpcCniOptions
	if opts == nil {
		opts = &cniOptions{}
	}
	name, c := e.name+"-vpc-cni", &component{}
	inputs := opts.settings()
	maps.Copy(inputs, pulumi.Map{
		"clusterName":    e.cluster.Name,
		"clusterVersion": e.cluster.Version,
		"tags":           e.args.Tags,
		"addonVersion":   opts.AddonVersion,
	})
	if err := e.ctx.RegisterComponentResourceV2("eks:index:VpcCniAddon", name, present(inputs), c,
		pulumi.Parent(e.parent), pulumi.DependsOn(e.authorised),
		pulumi.ProviderMap(map[string]pulumi.ProviderResource{"kubernetes": k8s})); err != nil {
		return nil, err
	}
	settings := opts.settings()
	keys := slices.Sorted(maps.Keys(settings))
	values := make([]any, len(keys))
	for i, key := range keys {
		values[i] = settings[key]
	}
	configuration := pulumi.All(values...).ApplyT(func(v []any) (string, error) {
		props := map[string]any{}
		for i, key := range keys {
			props[key] = v[i]
		}
		return cniConfiguration(props)
	}).(pulumi.StringOutput)
	addon := &plainResource{}
	if err := e.ctx.RegisterResource("aws:eks/addon:Addon", name, present(pulumi.Map{
		"clusterName":              e.cluster.Name,
		"addonName":                pulumi.String("vpc-cni"),
		"addonVersion":             e.addonVersion("vpc-cni", opts.AddonVersion, c),
		"preserve":                 pulumi.Bool(true),
		"tags":                     e.args.Tags,
		"configurationValues":      configuration,
		"serviceAccountRoleArn":    opts.ServiceAccountRoleArn,
		"resolveConflictsOnCreate": overwrite(opts.ResolveConflictsOnCreate),
		"resolveConflictsOnUpdate": overwrite(opts.ResolveConflictsOnUpdate),
	}), addon, pulumi.Parent(c)); err != nil {
		return nil, err
	}
	return c, e.ctx.RegisterResourceOutputs(c, pulumi.Map{"addon": ref(addon)})
}
