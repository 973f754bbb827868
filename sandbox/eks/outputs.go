package eks

import (
	"maps"
	"slices"
	"strings"

	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
)

// parts are what the expansion made and the outputs name.
type parts struct {
	clusterRole, nodeRole, instanceRole *serviceRole
	clusterGroup, nodeGroup             *plainResource
	ingress                             *ruleResource
	k8s                                 *providerResource
	cni                                 *component
}

func (e *expansion) outputs(c *Cluster, p parts) error {
	blank := pulumi.String("").ToStringOutput()
	own := e.cluster.VpcConfig.ApplyT(func(v any) string {
		return text(v, "clusterSecurityGroupId")
	}).(pulumi.StringOutput)
	rendered := e.kubeconfig(false)

	c.EksCluster = ref(e.cluster)
	c.Kubeconfig = rendered
	c.KubeconfigJSON = rendered.ApplyT(func(v any) string { return compact(v) }).(pulumi.StringOutput)
	c.InstanceRoles = pulumi.Array{}
	if p.instanceRole != nil {
		c.InstanceRoles = pulumi.Array{ref(p.instanceRole.role)}
	}
	c.AutoModeNodeRoleName, c.ClusterIngressRuleID = blank, blank
	c.ClusterSecurityGroupID, c.NodeSecurityGroupID = own, own
	if p.nodeRole != nil {
		c.AutoModeNodeRoleName = p.nodeRole.role.Name
	}
	if p.clusterGroup != nil {
		c.ClusterSecurityGroup = ref(p.clusterGroup)
		c.ClusterSecurityGroupID = p.clusterGroup.ID().ToStringOutput()
		c.NodeSecurityGroup = ref(p.nodeGroup)
		c.NodeSecurityGroupID = p.nodeGroup.ID().ToStringOutput()
		c.EksClusterIngressRule = ref(p.ingress)
		c.ClusterIngressRuleID = p.ingress.SecurityGroupRuleID
	}
	c.DefaultNodeGroupAsgName, c.FargateProfileID, c.FargateProfileStatus, c.OidcProviderArn = blank, blank, blank,
		blank
	c.OidcProviderURL = e.cluster.Identities.ApplyT(func(v any) string {
		list, _ := v.([]any)
		if len(list) == 0 {
			return ""
		}
		m, _ := list[0].(map[string]any)
		return text(m["oidcs"], "issuer")
	}).(pulumi.StringOutput)
	// OidcIssuer comes without the scheme.
	c.OidcIssuer = c.OidcProviderURL.ApplyT(func(url string) string {
		return strings.TrimPrefix(url, "https://")
	}).(pulumi.StringOutput)
	c.Core = e.core(c, p)

	return e.ctx.RegisterResourceOutputs(c, c.exported())
}

// exported are the outputs under the component's own names.
func (c *Cluster) exported() pulumi.Map {
	return present(pulumi.Map{
		"clusterSecurityGroup":    c.ClusterSecurityGroup,
		"core":                    c.Core,
		"eksCluster":              c.EksCluster,
		"eksClusterIngressRule":   c.EksClusterIngressRule,
		"instanceRoles":           c.InstanceRoles,
		"kubeconfig":              c.Kubeconfig,
		"kubeconfigJson":          c.KubeconfigJSON,
		"nodeSecurityGroup":       c.NodeSecurityGroup,
		"clusterSecurityGroupId":  c.ClusterSecurityGroupID,
		"nodeSecurityGroupId":     c.NodeSecurityGroupID,
		"clusterIngressRuleId":    c.ClusterIngressRuleID,
		"defaultNodeGroupAsgName": c.DefaultNodeGroupAsgName,
		"fargateProfileId":        c.FargateProfileID,
		"fargateProfileStatus":    c.FargateProfileStatus,
		"oidcProviderArn":         c.OidcProviderArn,
		"oidcProviderUrl":         c.OidcProviderURL,
		"oidcIssuer":              c.OidcIssuer,
		"autoModeNodeRoleName":    c.AutoModeNodeRoleName,
	})
}

// core is the component's bundle of what it made.
func (e *expansion) core(c *Cluster, p parts) pulumi.Map {
	entries := pulumi.Array{}
	for _, key := range slices.Sorted(maps.Keys(e.args.AccessEntries)) {
		entry := e.args.AccessEntries[key]
		entries = append(entries, present(pulumi.Map{
			"principalArn":     entry.PrincipalArn,
			"kubernetesGroups": entry.KubernetesGroups,
			"type":             entry.Type,
			"username":         entry.Username,
			"tags":             entry.Tags,
		}))
	}
	options := present(pulumi.Map{"version": e.args.Version})
	if p.nodeGroup != nil {
		options["nodeSecurityGroup"] = ref(p.nodeGroup)
		options["clusterIngressRule"] = ref(p.ingress)
	}
	core := pulumi.Map{
		"cluster":               c.EksCluster,
		"vpcId":                 e.args.VpcID,
		"subnetIds":             e.subnets(),
		"publicSubnetIds":       e.args.PublicSubnetIDs,
		"privateSubnetIds":      e.args.PrivateSubnetIDs,
		"clusterSecurityGroup":  c.ClusterSecurityGroup,
		"endpoint":              e.cluster.Endpoint,
		"nodeGroupOptions":      options,
		"kubeconfig":            c.Kubeconfig,
		"provider":              ref(p.k8s),
		"instanceRoles":         c.InstanceRoles,
		"tags":                  e.args.Tags,
		"nodeSecurityGroupTags": e.args.NodeSecurityGroupTags,
		"storageClasses":        pulumi.Map{},
		"encryptionConfig":      e.encryption(),
		"clusterIamRole":        ref(p.clusterRole.role),
		"accessEntries":         entries,
	}
	if p.cni != nil {
		core["vpcCni"] = ref(p.cni)
	}
	return present(core)
}
