package aws

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"

	"github.com/headroom-eks/headroom/sandbox/world"
)

func checkClusterInputs(in obj, fail func(string, string)) {
	blocks := texts(list(in, "vpcConfig.publicAccessCidrs"))
	if len(blocks) > maxPublicCIDRs {
		fail("vpcConfig.publicAccessCidrs", fmt.Sprintf("InvalidParameterException: at most %d, got %d", maxPublicCIDRs,
			len(blocks)))
	}
	for _, block := range blocks {
		checkCIDR("vpcConfig.publicAccessCidrs", block, fail)
	}
	if block := str(in, "kubernetesNetworkConfig.serviceIpv4Cidr"); block != "" {
		checkServiceCIDR(block, fail)
	}
	if v := str(in, "version"); v != "" && minor(v) < 0 {
		fail("version", fmt.Sprintf("%q is not a Kubernetes version such as %s", v, defaultVersion))
	}
}

// maxPublicCIDRs of a cluster. https://docs.aws.amazon.com/eks/latest/userguide/service-quotas.html
const maxPublicCIDRs = 40

// checkServiceCIDR: a private block between /24 and /12.
// https://docs.aws.amazon.com/eks/latest/APIReference/API_KubernetesNetworkConfigRequest.html
func checkServiceCIDR(block string, fail func(string, string)) {
	p, err := netip.ParsePrefix(block)
	if err != nil || !p.Addr().Is4() || !p.Addr().IsPrivate() || p != p.Masked() || p.Bits() < 12 || p.Bits() > 24 {
		fail("kubernetesNetworkConfig.serviceIpv4Cidr", fmt.Sprintf("expected a private IPv4 block between /12 and "+
			"/24, got %s", block))
	}
}

// reservedBlocks may not be among the public ones: "The blocks cannot include reserved addresses".
// https://docs.aws.amazon.com/eks/latest/userguide/cluster-endpoint.html; which those are is
// https://www.iana.org/assignments/iana-ipv4-special-registry. 0.0.0.0/0 alone may include them.
var reservedBlocks = []netip.Prefix{
	netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("172.16.0.0/12"),
	netip.MustParsePrefix("192.168.0.0/16"), netip.MustParsePrefix("100.64.0.0/10"),
	netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("169.254.0.0/16"),
	netip.MustParsePrefix("224.0.0.0/4"),
}

func reserved(p netip.Prefix) bool {
	return slices.ContainsFunc(reservedBlocks, func(r netip.Prefix) bool {
		return r.Bits() <= p.Bits() && r.Contains(p.Addr())
	})
}

func (c *call) checkClusterRole() error {
	role := c.s.Find(tRole, "arn", str(c.in, "roleArn"))
	wanted := []string{"sts:AssumeRole"}
	if autoMode(c.out) {
		wanted = append(wanted, "sts:TagSession")
	}
	for _, action := range wanted {
		if role == nil || !trusts(c.s, role, "eks.amazonaws.com", action) {
			return fmt.Errorf("InvalidParameterException: Role with arn: %s, could not be assumed because it does "+
				"not exist or the trusted entity is not correct (%s for eks.amazonaws.com)",
				str(c.in, "roleArn"), action)
		}
	}
	return nil
}

// trusts reports whether a role's trust policy lets a service do the action.
func trusts(s *world.State, role *world.Resource, service, action string) bool {
	statements, err := parsePolicy(str(role.Inputs, "assumeRolePolicy"), trustPolicy, s.Partition)
	return err == nil && slices.ContainsFunc(statements,
		func(st statement) bool { return st.allowsService(service, action) })
}

// zonesStay refuses subnets in other zones than those with which the cluster was made, fewer ones too.
// https://github.com/aws/containers-roadmap/issues/2330
func (c *call) zonesStay(zones map[string]bool) error {
	if c.old == nil {
		return nil
	}
	before := map[string]bool{}
	for _, id := range texts(list(c.res.Outputs, "vpcConfig.subnetIds")) {
		before[str(c.s.Get(tSubnet, id).Outputs, "availabilityZone")] = true
	}
	if !maps.Equal(before, zones) {
		is, was := slices.Sorted(maps.Keys(zones)), slices.Sorted(maps.Keys(before))
		return fmt.Errorf("InvalidParameterException: Provided subnets belong to the AZs '%s'. But they should belong "+
			"to the exact set of AZs '%s' in which subnets were provided during cluster creation",
			strings.Join(is, ","), strings.Join(was, ","))
	}
	return nil
}

func (c *call) placeControlPlane() error {
	config := merged(obj{
		"endpointPrivateAccess": false,
		"endpointPublicAccess":  true,
		"securityGroupIds":      []any{},
	}, c.in["vpcConfig"])
	subnets := texts(list(config, "subnetIds"))
	zones, vpcs := map[string]bool{}, map[string]bool{}
	for _, id := range subnets {
		subnet := c.s.Get(tSubnet, id)
		zone := str(subnet.Outputs, "availabilityZone")
		if z, _ := c.s.ZoneNamed(zone); z.NoControlPlane {
			return fmt.Errorf("UnsupportedAvailabilityZoneException: Cannot create cluster '%s' because EKS does not "+
				"support creating control plane instances in %s, the targeted availability zone. Retry cluster "+
				"creation using control plane subnets that span at least two of these availability zones",
				c.res.ID, zone)
		}
		zones[zone], vpcs[str(subnet.Outputs, "vpcId")] = true, true
		config["vpcId"] = subnet.Outputs["vpcId"]
		if c.old == nil && c.s.FreeAddresses(id) < 6 {
			return fmt.Errorf("InvalidParameterException: Subnet %s has fewer than 6 free addresses", id)
		}
	}
	switch {
	case len(zones) < 2:
		return fmt.Errorf("InvalidParameterException: Subnets specified must be in at least two different AZs")
	case len(vpcs) > 1:
		return fmt.Errorf("InvalidParameterException: Subnets specified must be in the same VPC")
	case !truth(config, "endpointPrivateAccess") && !truth(config, "endpointPublicAccess"):
		return fmt.Errorf("InvalidParameterException: Private and public endpoint access cannot be false")
	case len(list(config, "securityGroupIds")) > 4:
		return fmt.Errorf("InvalidParameterException: at most 4 security groups")
	}
	if err := c.zonesStay(zones); err != nil {
		return err
	}
	for _, block := range texts(list(config, "publicAccessCidrs")) {
		if p, err := netip.ParsePrefix(block); err != nil || reserved(p) {
			return fmt.Errorf("InvalidParameterException: The following CIDRs are not allowed in publicAccessCidrs: "+
				"[%s]", block)
		}
	}
	if !has(config, "publicAccessCidrs") {
		config["publicAccessCidrs"] = []any{}
		if truth(config, "endpointPublicAccess") {
			config["publicAccessCidrs"] = []any{"0.0.0.0/0"}
		}
	}
	if old := c.res.Outputs; old != nil {
		config["clusterSecurityGroupId"] = one(old, "vpcConfig.clusterSecurityGroupId")
	}
	c.set("vpcConfig", config)
	return nil
}
