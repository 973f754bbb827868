package eks

import (
	"fmt"
	"reflect"
	"sort"
	"strings"

	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
)

// clusterArgs are the arguments of eks.Cluster that this project uses, or may. Plain fields are plain in the component
// too. An argument that is not here is refused, never ignored.
type clusterArgs struct {
	Name                            pulumi.StringInput      `pulumi:"name"`
	Version                         pulumi.StringInput      `pulumi:"version"`
	AuthenticationMode              string                  `pulumi:"authenticationMode"`
	AccessEntries                   map[string]*accessEntry `pulumi:"accessEntries"`
	AutoMode                        *autoMode               `pulumi:"autoMode"`
	VpcID                           pulumi.StringInput      `pulumi:"vpcId"`
	SubnetIDs                       pulumi.StringArrayInput `pulumi:"subnetIds"`
	PublicSubnetIDs                 pulumi.StringArrayInput `pulumi:"publicSubnetIds"`
	PrivateSubnetIDs                pulumi.StringArrayInput `pulumi:"privateSubnetIds"`
	EndpointPrivateAccess           pulumi.BoolInput        `pulumi:"endpointPrivateAccess"`
	EndpointPublicAccess            pulumi.BoolInput        `pulumi:"endpointPublicAccess"`
	PublicAccessCidrs               pulumi.StringArrayInput `pulumi:"publicAccessCidrs"`
	EncryptionConfigKeyArn          pulumi.StringInput      `pulumi:"encryptionConfigKeyArn"`
	EnabledClusterLogTypes          pulumi.StringArrayInput `pulumi:"enabledClusterLogTypes"`
	KubernetesServiceIPAddressRange pulumi.StringInput      `pulumi:"kubernetesServiceIpAddressRange"`
	IPFamily                        pulumi.StringInput      `pulumi:"ipFamily"`
	SkipDefaultNodeGroup            bool                    `pulumi:"skipDefaultNodeGroup"`
	SkipDefaultSecurityGroups       *bool                   `pulumi:"skipDefaultSecurityGroups"`
	CreateOidcProvider              pulumi.BoolInput        `pulumi:"createOidcProvider"`
	CreateInstanceRole              *bool                   `pulumi:"createInstanceRole"`
	Tags                            pulumi.StringMapInput   `pulumi:"tags"`
	ClusterTags                     pulumi.StringMapInput   `pulumi:"clusterTags"`
	ClusterSecurityGroupTags        pulumi.StringMapInput   `pulumi:"clusterSecurityGroupTags"`
	NodeSecurityGroupTags           pulumi.StringMapInput   `pulumi:"nodeSecurityGroupTags"`
	CorednsAddonOptions             *addonOptions           `pulumi:"corednsAddonOptions"`
	KubeProxyAddonOptions           *addonOptions           `pulumi:"kubeProxyAddonOptions"`
	UseDefaultVpcCni                *bool                   `pulumi:"useDefaultVpcCni"`
	VpcCniOptions                   *cniOptions             `pulumi:"vpcCniOptions"`
	ProviderCredentialOpts          *credentialOpts         `pulumi:"providerCredentialOpts"`
	// only used to wait for a public endpoint, which the sandbox has not
	Proxy string `pulumi:"proxy"`
}

type accessEntry struct {
	PrincipalArn     pulumi.StringInput       `pulumi:"principalArn"`
	KubernetesGroups pulumi.StringArrayInput  `pulumi:"kubernetesGroups"`
	Type             pulumi.StringInput       `pulumi:"type"`
	Username         pulumi.StringInput       `pulumi:"username"`
	Tags             pulumi.StringMapInput    `pulumi:"tags"`
	AccessPolicies   map[string]*accessPolicy `pulumi:"accessPolicies"`
}

type accessPolicy struct {
	PolicyArn   pulumi.StringInput `pulumi:"policyArn"`
	AccessScope pulumi.MapInput    `pulumi:"accessScope"`
}

type autoMode struct {
	Enabled        bool            `pulumi:"enabled"`
	CreateNodeRole *bool           `pulumi:"createNodeRole"`
	ComputeConfig  pulumi.MapInput `pulumi:"computeConfig"`
}

type addonOptions struct {
	Enabled                  *bool              `pulumi:"enabled"`
	Version                  pulumi.StringInput `pulumi:"version"`
	ResolveConflictsOnCreate string             `pulumi:"resolveConflictsOnCreate"`
	ResolveConflictsOnUpdate string             `pulumi:"resolveConflictsOnUpdate"`
	ConfigurationValues      pulumi.MapInput    `pulumi:"configurationValues"`
}

// cniOptions are the options of vpc-cni that are not environment variables; the others stay in a map, see cniVariables.
type cniOptions struct {
	AddonVersion             pulumi.StringInput `pulumi:"addonVersion"`
	ResolveConflictsOnCreate string             `pulumi:"resolveConflictsOnCreate"`
	ResolveConflictsOnUpdate string             `pulumi:"resolveConflictsOnUpdate"`
	ServiceAccountRoleArn    pulumi.StringInput `pulumi:"serviceAccountRoleArn"`
	ConfigurationValues      pulumi.MapInput    `pulumi:"configurationValues"`
	EnableNetworkPolicy      pulumi.Input       `pulumi:"enableNetworkPolicy"`
	NodePortSupport          pulumi.Input       `pulumi:"nodePortSupport"`
	CustomNetworkConfig      pulumi.Input       `pulumi:"customNetworkConfig"`
	ExternalSnat             pulumi.Input       `pulumi:"externalSnat"`
	WarmEniTarget            pulumi.Input       `pulumi:"warmEniTarget"`
	WarmIPTarget             pulumi.Input       `pulumi:"warmIpTarget"`
	WarmPrefixTarget         pulumi.Input       `pulumi:"warmPrefixTarget"`
	EnablePrefixDelegation   pulumi.Input       `pulumi:"enablePrefixDelegation"`
	LogLevel                 pulumi.Input       `pulumi:"logLevel"`
	LogFile                  pulumi.Input       `pulumi:"logFile"`
	VethPrefix               pulumi.Input       `pulumi:"vethPrefix"`
	EniMtu                   pulumi.Input       `pulumi:"eniMtu"`
	EniConfigLabelDef        pulumi.Input       `pulumi:"eniConfigLabelDef"`
	PluginLogLevel           pulumi.Input       `pulumi:"pluginLogLevel"`
	PluginLogFile            pulumi.Input       `pulumi:"pluginLogFile"`
	EnablePodEni             pulumi.Input       `pulumi:"enablePodEni"`
	DisableTCPEarlyDemux     pulumi.Input       `pulumi:"disableTcpEarlyDemux"`
	CniConfigureRpfilter     pulumi.Input       `pulumi:"cniConfigureRpfilter"`
	CniCustomNetworkCfg      pulumi.Input       `pulumi:"cniCustomNetworkCfg"`
	CniExternalSnat          pulumi.Input       `pulumi:"cniExternalSnat"`
	// SecurityContextPrivileged would patch a DaemonSet, which the sandbox cannot: refused.
	SecurityContextPrivileged pulumi.Input `pulumi:"securityContextPrivileged"`
}

type credentialOpts struct {
	RoleArn     pulumi.StringInput `pulumi:"roleArn"`
	ProfileName pulumi.StringInput `pulumi:"profileName"`
}

// settings are the environment-variable options that are set, and what merges with them.
func (o *cniOptions) settings() pulumi.Map {
	if o == nil {
		return pulumi.Map{}
	}
	all := pulumi.Map{
		"configurationValues":    o.ConfigurationValues,
		"enableNetworkPolicy":    o.EnableNetworkPolicy,
		"nodePortSupport":        o.NodePortSupport,
		"externalSnat":           o.ExternalSnat,
		"warmEniTarget":          o.WarmEniTarget,
		"warmIpTarget":           o.WarmIPTarget,
		"warmPrefixTarget":       o.WarmPrefixTarget,
		"enablePrefixDelegation": o.EnablePrefixDelegation,
		"logLevel":               o.LogLevel,
		"logFile":                o.LogFile,
		"vethPrefix":             o.VethPrefix,
		"eniMtu":                 o.EniMtu,
		"eniConfigLabelDef":      o.EniConfigLabelDef,
		"pluginLogLevel":         o.PluginLogLevel,
		"pluginLogFile":          o.PluginLogFile,
		"enablePodEni":           o.EnablePodEni,
		cniInitOption:            o.DisableTCPEarlyDemux,
		"cniConfigureRpfilter":   o.CniConfigureRpfilter,
		"cniCustomNetworkCfg":    o.CniCustomNetworkCfg,
		"cniExternalSnat":        o.CniExternalSnat,
	}
	return present(all)
}

// known reports whether the expansion understands an argument: whether a field carries its name.
func known(argument string) bool {
	for _, field := range reflect.VisibleFields(reflect.TypeFor[clusterArgs]()) {
		if field.Tag.Get("pulumi") == argument {
			return true
		}
	}
	return false
}

// refuse names every argument the expansion cannot honour, all at once.
func (a *clusterArgs) refuse(given []string) error {
	var problems []string
	for _, name := range given {
		if !known(name) {
			problems = append(problems, name+": the sandbox's eks.Cluster does not know this argument")
		}
	}
	if a.AuthenticationMode != "API" {
		problems = append(problems, fmt.Sprintf("authenticationMode: %q; the sandbox's eks.Cluster expands API only",
			a.AuthenticationMode))
	}
	if !a.SkipDefaultNodeGroup && !a.auto() {
		problems = append(problems, "skipDefaultNodeGroup: the sandbox's eks.Cluster makes no default node group; "+
			"set it to true")
	}
	if a.VpcCniOptions != nil && a.VpcCniOptions.SecurityContextPrivileged != nil {
		problems = append(problems, "vpcCniOptions.securityContextPrivileged: the sandbox's eks.Cluster patches no "+
			"DaemonSet")
	}
	if a.CreateOidcProvider != nil && a.CreateOidcProvider != pulumi.Bool(false) {
		problems = append(problems, "createOidcProvider: the component opens a TLS connection to the issuer for it, "+
			"and the sandbox has no network; make the provider from oidcIssuer")
	}
	if a.VpcID == nil {
		problems = append(problems, "vpcId: missing; the sandbox has no default VPC")
	}
	if a.SubnetIDs != nil && (a.PublicSubnetIDs != nil || a.PrivateSubnetIDs != nil) {
		problems = append(problems, "subnetIds, and the use of publicSubnetIds and/or privateSubnetIds are mutually "+
			"exclusive")
	}
	if len(problems) == 0 {
		return nil
	}
	sort.Strings(problems)
	return fmt.Errorf("eks.Cluster: %s", strings.Join(problems, "; "))
}

func (a *clusterArgs) auto() bool { return a.AutoMode != nil && a.AutoMode.Enabled }

// present drops the keys whose value is absent, interface or typed nil alike.
func present(m pulumi.Map) pulumi.Map {
	out := pulumi.Map{}
	for key, value := range m {
		if value != nil {
			out[key] = value
		}
	}
	return out
}
