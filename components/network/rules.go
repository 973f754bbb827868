package network

import (
	"fmt"
	"net/netip"
	"regexp"
	"slices"
	"strings"

	"github.com/headroom-eks/headroom/problem"
)

// NATs lists every NAT mode.
var NATs = []NAT{NATPerVpc, NATPerZone, NATNone}

const (
	// DefaultCIDR gives 8,187 usable addresses to the private subnet of each zone.
	DefaultCIDR = "10.0.0.0/16"
	DefaultNAT  = NATPerVpc
)

// IsolatedEndpoints are the interface endpoints that a cluster needs in a network without a way out, by short service
// name: images, nodes joining, controllers, logs. IAM and the price list have no endpoint; what needs them gets an
// answer in its configuration.
// https://docs.aws.amazon.com/eks/latest/userguide/private-clusters.html
var IsolatedEndpoints = []string{
	"autoscaling", "ec2", "ecr.api", "ecr.dkr", "eks", "eks-auth", "elasticloadbalancing", "kms", "logs", "sqs", "ssm",
	"sts",
}

func (a Args) withDefaults() Args {
	if a.CIDR == "" {
		a.CIDR = DefaultCIDR
	}
	if a.NAT == "" {
		a.NAT = DefaultNAT
	}
	a.Endpoints = Endpoints(a.NAT, a.Endpoints)
	return a
}

// Endpoints are the services that get an interface endpoint.
func Endpoints(nat NAT, wanted []string) []string {
	if wanted == nil && nat == NATNone {
		return IsolatedEndpoints
	}
	return wanted
}

func (a Args) validate() problem.List {
	problems := ValidateCIDR("cidr", a.CIDR)
	problems.Join(ValidateZones("zones", a.Zones))
	problem.OneOf(&problems, "nat", a.NAT, NATs)
	problems.Require("account.region", a.Account.Region != "") // endpoints are named after it
	problems.Join(ValidateEndpoints("endpoints", a.Endpoints))
	return problems
}

// ValidateCIDR reports a range that a new VPC cannot have.
func ValidateCIDR(path, text string) (problems problem.List) {
	cidr, err := netip.ParsePrefix(text)
	switch {
	case err != nil || !cidr.Addr().Is4():
		problems.Add(path, "is not an IPv4 block", text, "write one like "+DefaultCIDR)
	case cidr != cidr.Masked():
		problems.Add(path, "has host bits", text, "write "+cidr.Masked().String())
	case cidr.Bits() < minBits || cidr.Bits() > maxBits:
		problems.Add(path, fmt.Sprintf("is not between /%d and /%d", minBits, maxBits), text,
			"choose a size between them")
	case !privateRange(cidr):
		problems.Add(path, "is not private", text,
			"use a part of 10.0.0.0/8, 172.16.0.0/12, 192.168.0.0/16 or 100.64.0.0/10")
	}
	return problems
}

func privateRange(cidr netip.Prefix) bool {
	return cidr.Addr().IsPrivate() || netip.MustParsePrefix("100.64.0.0/10").Contains(cidr.Addr())
}

// zoneName of an availability zone. Local and Wavelength Zones have longer ones, and EKS puts no control plane there.
var zoneName = regexp.MustCompile(`^[a-z]{2}(-[a-z]+)+-[0-9][a-z]$`)

// ValidateZones reports zones over which a new VPC cannot be spread. Their ids may be left out before they are known;
// the rules about ids are then not asked.
func ValidateZones(path string, zones []Zone) (problems problem.List) {
	var names []string
	for i, z := range zones {
		names = append(names, z.Name)
		if !zoneName.MatchString(z.Name) {
			problems.Add(fmt.Sprintf("%s[%d]", path, i), "is not the name of an availability zone", z.Name,
				"write one like us-west-2a")
		}
	}
	problem.Unique(&problems, path, names)
	if len(zones) > maxZones {
		problems.Add(path, fmt.Sprintf("are more than the %d that a VPC is cut for", maxZones), names, "name fewer")
	}
	problems.Join(validateHosts(path, zones))
	return problems
}

// validateHosts wants two zones that can host the control plane (field fault BR-69).
func validateHosts(path string, zones []Zone) (problems problem.List) {
	hosts := []string{}
	for _, z := range zones {
		if z.HostsControlPlane() && !slices.Contains(hosts, z.Name) {
			hosts = append(hosts, z.Name)
		}
	}
	if len(hosts) < 2 {
		problems.Add(path, "EKS needs two zones that can host a control plane, and puts none into "+
			strings.Join(noControlPlane, ", "), hosts, "name another zone")
	}
	return problems
}

var shortService = regexp.MustCompile(`^[a-z0-9-]+(\.[a-z0-9-]+)*$`)

// ValidateEndpoints reports services that cannot have an interface endpoint, or would have two.
func ValidateEndpoints(path string, services []string) (problems problem.List) {
	seen := map[string]bool{}
	for i, service := range services {
		at, short := fmt.Sprintf("%s[%d]", path, i), shortName(service)
		if !shortService.MatchString(service) {
			problems.Add(at, "is not the name of a service", service, "write one like ecr.api")
		}
		if short == "s3" {
			problems.Add(at, "has its gateway endpoint already", service, "remove it")
		}
		if seen[short] {
			problems.Add(at, "is given twice", short, "keep one")
		}
		seen[short] = true
	}
	return problems
}

// ValidateExisting reports what cannot be ids of one VPC and of its subnets.
func ValidateExisting(path, vpcID string, private, public []string) (problems problem.List) {
	if !strings.HasPrefix(vpcID, "vpc-") {
		problems.Add(path+".vpcId", "is not the id of a VPC", vpcID, "write one like vpc-0123456789abcdef0")
	}
	if len(private) < 2 {
		problems.Add(path+".privateSubnetIds", "are fewer than two, and EKS needs two zones", private, "add one")
	}
	seen := map[string]string{}
	for _, list := range []struct {
		path string
		ids  []string
	}{
		{path + ".privateSubnetIds", private},
		{path + ".publicSubnetIds", public},
	} {
		for i, id := range list.ids {
			at := fmt.Sprintf("%s[%d]", list.path, i)
			if !strings.HasPrefix(id, "subnet-") {
				problems.Add(at, "is not the id of a subnet", id, "write one like subnet-0123456789abcdef0")
			}
			if first, repeated := seen[id]; repeated {
				problems.Add(at, "is "+first+" too", id, "keep one: a subnet is private or public, once")
			} else {
				seen[id] = at
			}
		}
	}
	return problems
}

func (a ExistingArgs) validate() problem.List {
	var private, public []string
	var hosts []Zone
	for _, s := range a.Private {
		private, hosts = append(private, s.ID), append(hosts, s.Zone)
	}
	for _, s := range a.Public {
		public = append(public, s.ID)
	}
	problems := ValidateExisting("existing", a.VpcID, private, public)
	problems.Join(validateHosts("existing.privateSubnetIds", hosts))
	if _, err := netip.ParsePrefix(a.CIDR); err != nil {
		problems.Add("existing.vpcId", "has no address range", a.CIDR, "look it up")
	}
	for _, s := range slices.Concat(a.Private, a.Public) {
		if _, err := netip.ParsePrefix(s.CIDR); err != nil || s.Zone.Name == "" {
			problems.Add("existing", fmt.Sprintf("a subnet has address range %q and zone %q", s.CIDR, s.Zone.Name),
				s.ID, "look both up")
		}
	}
	return problems
}
