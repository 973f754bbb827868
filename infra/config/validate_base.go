package config

import (
	"fmt"
	"maps"
	"net/netip"
	"regexp"
	"slices"
	"strings"

	"github.com/headroom-eks/headroom/problem"
)

var (
	// sharedRange is private to the VPC as well, though not by RFC 1918.
	sharedRange = netip.MustParsePrefix("100.64.0.0/10")
	accessName  = regexp.MustCompile(`^[a-z0-9-]+$`)
)

func (n Network) validate(problems *problem.List) {
	if n.Existing != nil {
		if n.CIDR != "" || len(n.Zones) > 0 || n.NATGateways != "" || len(n.InterfaceEndpoints) > 0 {
			problems.Addf("network.existing", "goes without cidr, zones, natGateways and interfaceEndpoints: an "+
				"existing VPC is not changed; remove either")
		}
		if !strings.HasPrefix(n.Existing.VPCID, "vpc-") {
			problems.Addf("network.existing.vpcId", "found %q; write an id such as vpc-0123456789abcdef0",
				n.Existing.VPCID)
		}
		if len(n.Existing.PrivateSubnetIDs) < 2 {
			problems.Addf("network.existing.privateSubnetIds", "found %d; EKS needs subnets in two zones at least",
				len(n.Existing.PrivateSubnetIDs))
		}
		all := slices.Concat(n.Existing.PrivateSubnetIDs, n.Existing.PublicSubnetIDs)
		for i, id := range all {
			if !strings.HasPrefix(id, "subnet-") {
				problems.Addf("network.existing", "subnet id %q; write ids such as subnet-0123456789abcdef0", id)
			}
			if slices.Contains(all[:i], id) {
				problems.Addf("network.existing", "subnet %s is given twice; keep one", id)
			}
		}
		return
	}
	if prefix, err := netip.ParsePrefix(n.CIDR); err != nil || !prefix.Addr().Is4() || prefix.Masked() != prefix ||
		prefix.Bits() < 16 || prefix.Bits() > 21 {
		problems.Addf("network.cidr", "found %q; write an IPv4 block between /16 and /21 with no host bits, for "+
			"example 10.0.0.0/16", n.CIDR)
	} else if !prefix.Addr().IsPrivate() && !sharedRange.Contains(prefix.Addr()) {
		problems.Addf("network.cidr", "found %s, which is not private; use a part of 10.0.0.0/8, 172.16.0.0/12, "+
			"192.168.0.0/16 or 100.64.0.0/10", n.CIDR)
	}
	if len(n.Zones) < 2 {
		problems.Addf("network.zones", "found %d; EKS needs two zones at least, for example [us-west-2a, us-west-2b]",
			len(n.Zones))
	}
	for i, zone := range n.Zones {
		if !zoneName.MatchString(zone) {
			problems.Addf("network.zones", "found %q; write the name of an availability zone, for example us-west-2a",
				zone)
		}
		if slices.Contains(n.Zones[:i], zone) {
			problems.Addf("network.zones", "%s is given twice; keep one", zone)
		}
	}
	oneOf("network.natGateways", n.NATGateways, []string{"one-per-vpc", "one-per-zone", "none"}, problems)
}

func (c Cluster) validate(problems *problem.List) {
	most := MaxClusterName
	if c.UniqueSuffix {
		most -= suffixLength
	}
	if !clusterName.MatchString(c.Name) || len(c.Name) > most {
		problems.Addf("cluster.name", "found %q (%d characters); EKS takes letters, digits, - and _, at most %d", c.Name,
			len(c.Name), most)
	}
	if !c.HasVersion() {
		problems.Addf("cluster.kubernetesVersion", "found %q; write a minor version, for example %q",
			c.KubernetesVersion, DefaultKubernetesVersion)
	}
	for _, cidr := range c.PublicAccessCIDRs {
		prefix, err := netip.ParsePrefix(cidr)
		switch {
		case err == nil && !prefix.Addr().Is4():
			problems.Addf("cluster.publicAccessCidrs", "found %q; an IPv4 cluster takes IPv4 blocks alone, for "+
				"example 203.0.113.7/32", cidr)
		case err != nil || prefix.Masked() != prefix:
			problems.Addf("cluster.publicAccessCidrs", "found %q; write address blocks with no host bits, for example "+
				"203.0.113.7/32", cidr)
		case prefix.Addr().IsPrivate():
			problems.Addf("cluster.publicAccessCidrs", "found %s, which is private, and EKS refuses it: from inside "+
				"the VPC the API answers without it; remove it", cidr)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(c.Access)) {
		at := fmt.Sprintf("cluster.access[%q]", name)
		if !accessName.MatchString(name) {
			problems.Addf(at, "resources are named after it; write lower-case letters, digits and dashes, for example "+
				"admins")
		}
		if !roleARN.MatchString(c.Access[name].PrincipalARN) {
			problems.Addf(at+".principalArn", "found %q; write the ARN of an IAM role", c.Access[name].PrincipalARN)
		}
		oneOf(at+".policy", c.Access[name].Policy, []string{"cluster-admin", "admin", "edit", "view"}, problems)
		for _, other := range slices.Sorted(maps.Keys(c.Access)) {
			if other < name && c.Access[other].PrincipalARN == c.Access[name].PrincipalARN {
				problems.Addf(at, "%q names the same principal, and EKS keeps one entry for each; remove one", other)
			}
		}
	}
	if c.SecretsKeyARN != "" && !keyARN.MatchString(c.SecretsKeyARN) {
		problems.Addf("cluster.secretsKeyArn", "found %q; write the ARN of a KMS key (not of an alias)", c.SecretsKeyARN)
	}
	for _, logType := range c.LogTypes {
		oneOf("cluster.logTypes", logType, LogTypes, problems)
	}
	// https://docs.aws.amazon.com/AmazonCloudWatchLogs/latest/APIReference/API_PutRetentionPolicy.html
	if days := []int{1, 3, 5, 7, 14, 30, 60, 90, 120, 150, 180, 365, 400, 545, 731, 1096, 1827, 2192, 2557, 2922, 3288,
		3653}; !slices.Contains(days, c.LogRetentionDays) {
		problems.Addf("cluster.logRetentionDays", "found %d; CloudWatch Logs takes one of %v", c.LogRetentionDays, days)
	}
	oneOf("cluster.upgradePolicy", c.UpgradePolicy, []string{"STANDARD", "EXTENDED"}, problems)
	if c.HasVersion() { // otherwise there is nothing to pin anything for
		c.validateAddons(problems)
	}
}

// HasVersion tells whether the Kubernetes version can be read, so that rules about it are worth asking.
func (c Cluster) HasVersion() bool { return kubernetesVersion.MatchString(c.KubernetesVersion) }

// validateAddons: only the default version has defaults, and a guess for another would be a pin that nobody has seen
// work.
func (c Cluster) validateAddons(problems *problem.List) {
	if c.KubernetesVersion != DefaultKubernetesVersion && c.Addons == (Addons{}) {
		problems.Addf("cluster.kubernetesVersion", "found %q, and this release knows pinned versions for %q alone; "+
			"use that, or pin the four "+
			"cluster.addons and system.amiRelease for %s yourself", c.KubernetesVersion, DefaultKubernetesVersion,
			c.KubernetesVersion)
	}
	for _, addon := range []struct{ key, name, version string }{
		{"vpcCni", "vpc-cni", c.Addons.VPCCNI}, {"kubeProxy", "kube-proxy", c.Addons.KubeProxy},
		{"coredns", "coredns", c.Addons.CoreDNS}, {"ebsCsi", "aws-ebs-csi-driver", c.Addons.EBSCSI},
	} {
		if !addonVersion.MatchString(addon.version) {
			problems.Addf("cluster.addons."+addon.key, "found %q; pin a version for Kubernetes %s, in the form "+
				"vX.Y.Z-eksbuild.N (aws eks "+
				"describe-addon-versions --addon-name %s --kubernetes-version %s lists them)", addon.version,
				c.KubernetesVersion, addon.name, c.KubernetesVersion)
		}
	}
}
