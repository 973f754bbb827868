package config

import (
	"fmt"

	"github.com/headroom-eks/headroom/components/cluster"
	"github.com/headroom-eks/headroom/components/kmskey"
	"github.com/headroom-eks/headroom/components/network"
	"github.com/headroom-eks/headroom/problem"
)

// suffixLength is what a unique suffix adds to the cluster's name.
const suffixLength = 7

func (n Network) validate(problems *problem.List) {
	if e := n.Existing; e != nil {
		if n.CIDR != "" || len(n.Zones) > 0 || n.NATGateways != "" || len(n.InterfaceEndpoints) > 0 {
			problems.Add("network.existing", "goes without cidr, zones, natGateways and interfaceEndpoints: an "+
				"existing VPC is not changed", nil, "remove either")
		}
		problems.Join(network.ValidateExisting("network.existing", e.VpcID, e.PrivateSubnetIDs, e.PublicSubnetIDs))
		return
	}
	var zones []network.Zone
	for _, name := range n.Zones {
		zones = append(zones, network.Zone{Name: name})
	}
	problems.Join(network.ValidateCIDR("network.cidr", n.CIDR))
	problems.Join(network.ValidateZones("network.zones", zones))
	problem.OneOf(problems, "network.natGateways", network.NAT(n.NATGateways), network.NATs)
	problems.Join(network.ValidateEndpoints("network.interfaceEndpoints", n.InterfaceEndpoints))
}

func (c Cluster) validate(problems *problem.List) {
	suffix := 0
	if c.UniqueSuffix {
		suffix = suffixLength
	}
	name := cluster.ValidateName("cluster.name", c.Name, suffix)
	problems.Join(name.Revised(func(p problem.Problem) (problem.Problem, bool) {
		if c.Stack != "" {
			p.Wrong += fmt.Sprintf("; it is not set, so it is made of the stack's name %q", c.Stack)
			p.Remedy = "set cluster.name: " + p.Remedy
		}
		return p, true
	}))
	problems.Join(cluster.CheckVersion("cluster.kubernetesVersion", "", c.KubernetesVersion))
	problems.Join(cluster.ValidatePublicAccess("cluster.publicAccessCidrs", c.PublicAccessCIDRs))
	problems.Join(cluster.ValidatePrivateAccess("cluster.privateAccess", cluster.PrivateAccess(c.PrivateAccess)))
	problems.Join(cluster.ValidateAccess("cluster.access", c.Principals()))
	if c.SecretsKeyArn != "" {
		problems.Join(kmskey.ValidateArn("cluster.secretsKeyArn", c.SecretsKeyArn))
	}
	problems.Join(cluster.ValidateLogTypes("cluster.logTypes", c.LogTypes))
	problems.Join(cluster.ValidateLogRetention("cluster.logRetentionDays", c.LogRetentionDays))
	problem.OneOf(problems, "cluster.upgradePolicy", c.UpgradePolicy, cluster.UpgradePolicies)
	if c.HasVersion() { // otherwise there is nothing to pin anything for
		c.validateAddons(problems)
	}
}

// Principals that have access, as the component takes them.
func (c Cluster) Principals() map[string]cluster.Access {
	access := map[string]cluster.Access{}
	for name, a := range c.Access {
		access[name] = cluster.Access{PrincipalArn: a.PrincipalArn, Policy: a.Policy}
	}
	return access
}

// HasVersion reports whether the Kubernetes version can be read, so that rules about it are worth asking.
func (c Cluster) HasVersion() bool {
	problems := cluster.CheckVersion("", "", c.KubernetesVersion)
	return problems.Err() == nil
}

// validateAddons: only the default version has defaults, and a guess for another would be a pin that nobody has seen
// work.
func (c Cluster) validateAddons(problems *problem.List) {
	version := c.KubernetesVersion
	if version != DefaultKubernetesVersion && c.Addons == (Addons{}) {
		wrong := fmt.Sprintf("is not %q, for which alone this release knows pinned versions", DefaultKubernetesVersion)
		problems.Add("cluster.kubernetesVersion", wrong, version,
			fmt.Sprintf("use that, or pin the four cluster.addons and system.amiRelease for %s yourself", version))
	}
	for _, addon := range []struct{ key, name, version string }{
		{"vpcCni", "vpc-cni", c.Addons.VpcCNI}, {"kubeProxy", "kube-proxy", c.Addons.KubeProxy},
		{"coredns", "coredns", c.Addons.CoreDNS}, {"ebsCsi", "aws-ebs-csi-driver", c.Addons.EBSCSI},
	} {
		problems.Join(cluster.ValidateAddonVersion("cluster.addons."+addon.key, addon.name, addon.version, version))
	}
}
