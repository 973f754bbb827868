package network

import (
	"fmt"
	"net/netip"
	"regexp"
	"slices"
	"strings"

	"github.com/headroom-eks/headroom/problem"
)

// NAT is how private subnets reach what lies outside the VPC.
type NAT string

const (
	NATPerVPC  NAT = "one-per-vpc"  // one gateway, in the first zone: cheap, and gone with that zone
	NATPerZone NAT = "one-per-zone" // one gateway in each zone
	NATNone    NAT = "none"         // no way out, and no internet gateway or public subnet either
)

// NATs lists every NAT mode.
var NATs = []NAT{NATPerVPC, NATPerZone, NATNone}

// DefaultCIDR gives 8,187 usable addresses to the private subnet of each zone.
const DefaultCIDR = "10.0.0.0/16"

// The VPC is cut into eight equal blocks, whatever the number of zones, so that a zone added at the end moves nothing:
// seven for private subnets, and the last, cut into eight again, for public ones.
const (
	cutBits  = 3
	maxZones = 1<<cutBits - 1

	// Sizes of a VPC. AWS allows none larger than /16; below /21 a public subnet is too small for a load balancer,
	// which wants a /27.
	// https://docs.aws.amazon.com/elasticloadbalancing/latest/application/application-load-balancers.html
	minBits, maxBits = 16, 21
)

// Zone of a region. Its name means another zone in another account, its ID does not.
type Zone struct {
	Name string // for example "us-west-2a"
	ID   string // for example "usw2-az1"; empty when not known
}

// noControlPlane are the zones in which EKS puts no control plane; nodes can run there.
// https://docs.aws.amazon.com/eks/latest/userguide/network-reqs.html
var noControlPlane = []string{"use1-az3", "usw1-az2", "cac1-az3"}

// HostsControlPlane tells whether EKS can put a control plane's network interface in the zone.
func (z Zone) HostsControlPlane() bool { return !slices.Contains(noControlPlane, z.ID) }

// IsolatedEndpoints are the interface endpoints that a cluster needs in a network without a way out, by short service
// name: images, nodes joining, controllers, logs. IAM and the price list have no endpoint; what needs them gets an
// answer in its configuration.
// https://docs.aws.amazon.com/eks/latest/userguide/private-clusters.html
var IsolatedEndpoints = []string{
	"autoscaling", "ec2", "ecr.api", "ecr.dkr", "eks", "eks-auth", "elasticloadbalancing", "kms", "logs", "sqs", "ssm",
	"sts",
}

// Block is the address range of one zone's subnets.
type Block struct {
	Zone            string
	Private, Public netip.Prefix
}

// Divide gives each zone its ranges. They are aligned, inside the VPC, never overlap, and depend only on the VPC and
// the zone's place in the list. It takes at most seven zones and an IPv4 range between /16 and /21.
func Divide(vpc netip.Prefix, zones []string) ([]Block, error) {
	if len(zones) > maxZones {
		return nil, fmt.Errorf("divide %s: %d zones, at most %d fit", vpc, len(zones), maxZones)
	}
	if !vpc.Addr().Is4() || vpc != vpc.Masked() || vpc.Bits() < minBits || vpc.Bits() > maxBits {
		return nil, fmt.Errorf("divide %s: not an aligned IPv4 range between /%d and /%d", vpc, minBits, maxBits)
	}
	blocks := make([]Block, len(zones))
	public := part(vpc, maxZones)
	for i, zone := range zones {
		blocks[i] = Block{Zone: zone, Private: part(vpc, i), Public: part(public, i)}
	}
	return blocks, nil
}

// part is the i-th of the eight equal parts of an IPv4 range.
func part(whole netip.Prefix, i int) netip.Prefix {
	bits := whole.Bits() + cutBits
	first := whole.Addr().As4()
	n := uint32(first[0])<<24 | uint32(first[1])<<16 | uint32(first[2])<<8 | uint32(first[3])
	n += uint32(i) << (32 - bits)
	return netip.PrefixFrom(netip.AddrFrom4([4]byte{byte(n >> 24), byte(n >> 16), byte(n >> 8), byte(n)}), bits)
}

// Load balancer controllers find subnets by these tags. No discovery tag is written: what needs a subnet gets its id
// (field fault BR-76).
// https://docs.aws.amazon.com/eks/latest/userguide/network-reqs.html
const (
	publicRoleTag  = "kubernetes.io/role/elb"
	privateRoleTag = "kubernetes.io/role/internal-elb"
)

// natZones are the zones that get a NAT gateway.
func natZones(nat NAT, zones []string) []string {
	switch nat {
	case NATPerVPC:
		return zones[:1]
	case NATPerZone:
		return zones
	default:
		return nil
	}
}

// natOf is the zone whose NAT gateway serves a private subnet.
func natOf(nat NAT, zones []string, zone string) string {
	if nat == NATPerVPC {
		return zones[0]
	}
	return zone
}

var (
	shortService = regexp.MustCompile(`^[a-z0-9-]+(\.[a-z0-9-]+)*$`)
	fullService  = regexp.MustCompile(`^(cn\.)?com\.amazonaws\.[a-z0-9-]+\.`)
)

// serviceName of an endpoint. A full name is taken as it is: in some partitions the prefix differs from service to
// service.
func serviceName(region, service string) string {
	if fullService.MatchString(service) {
		return service
	}
	return "com.amazonaws." + region + "." + service
}

// shortName of an endpoint's service.
func shortName(service string) string { return fullService.ReplaceAllString(service, "") }

// plan is a new network decided: valid arguments and the addresses of every zone.
type plan struct {
	zones  []string
	blocks []Block
	byName map[string]Zone
}

func (p plan) zone(name string) Zone { return p.byName[name] }

func newPlan(a Args) (plan, error) {
	problems := a.validate()
	if err := problems.Err(); err != nil {
		return plan{}, err
	}
	p := plan{byName: map[string]Zone{}}
	for _, z := range a.Zones {
		p.zones = append(p.zones, z.Name)
		p.byName[z.Name] = z
	}
	cidr, err := netip.ParsePrefix(a.CIDR)
	if err != nil {
		return plan{}, err
	}
	p.blocks, err = Divide(cidr, p.zones)
	return p, err
}

func (a Args) withDefaults() Args {
	if a.CIDR == "" {
		a.CIDR = DefaultCIDR
	}
	if a.NAT == "" {
		a.NAT = NATPerVPC
	}
	if a.Endpoints == nil && a.NAT == NATNone {
		a.Endpoints = IsolatedEndpoints
	}
	return a
}

func (a Args) validate() (problems problem.List) {
	cidr, err := netip.ParsePrefix(a.CIDR)
	switch {
	case err != nil || !cidr.Addr().Is4():
		problems.Addf("cidr", "%q is not an IPv4 range; write one like %s", a.CIDR, DefaultCIDR)
	case cidr != cidr.Masked():
		problems.Addf("cidr", "%s is not the start of a range; write %s", cidr, cidr.Masked())
	case cidr.Bits() < minBits || cidr.Bits() > maxBits:
		problems.Addf("cidr", "/%d is outside /%d to /%d; choose a size between them", cidr.Bits(), minBits, maxBits)
	case !privateRange(cidr):
		problems.Addf("cidr",
			"%s is not a private range; use 10.0.0.0/8, 172.16.0.0/12, 192.168.0.0/16 or 100.64.0.0/10", cidr)
	}
	problems.Join(validateZones(a.Zones))
	if len(a.Zones) > maxZones {
		problems.Addf("zones", "%d are more than the %d a VPC is cut for; name fewer", len(a.Zones), maxZones)
	}
	if !slices.Contains(NATs, a.NAT) {
		problems.Addf("nat", "%q is unknown; use %s, %s or %s", a.NAT, NATPerVPC, NATPerZone, NATNone)
	}
	if a.Account.Region == "" {
		problems.Addf("region", "it is empty; endpoints are named after it")
	}
	problems.Join(ValidateEndpoints("endpoints", a.Endpoints))
	return problems
}

// ValidateEndpoints reports services that cannot have an interface endpoint, or would have two. Path names the list.
func ValidateEndpoints(path string, services []string) (problems problem.List) {
	seen := map[string]bool{}
	for i, service := range services {
		at, short := fmt.Sprintf("%s[%d]", path, i), shortName(service)
		if !shortService.MatchString(service) {
			problems.Addf(at, "%q is not a service name; write one like ecr.api", service)
		}
		if short == "s3" {
			problems.Addf(at, "s3 has its gateway endpoint already; remove it")
		}
		if seen[short] {
			problems.Addf(at, "%q is given twice; keep one", short)
		}
		seen[short] = true
	}
	return problems
}

func privateRange(cidr netip.Prefix) bool {
	return cidr.Addr().IsPrivate() || netip.MustParsePrefix("100.64.0.0/10").Contains(cidr.Addr())
}

// validateZones wants two zones that can host the control plane (field fault BR-69).
func validateZones(zones []Zone) (problems problem.List) {
	seen, hosts := map[string]bool{}, 0
	for i, z := range zones {
		at := fmt.Sprintf("zones[%d]", i)
		if z.Name == "" {
			problems.Addf(at, "it has no name")
		}
		if seen[z.Name] {
			problems.Addf(at, "%q is given twice; keep one", z.Name)
		}
		if !seen[z.Name] && z.HostsControlPlane() {
			hosts++
		}
		seen[z.Name] = true
	}
	if hosts < 2 {
		problems.Addf("zones", "%d of %d can host an EKS control plane, which needs two (none goes into %s); name "+
			"another zone",
			hosts, len(zones), strings.Join(noControlPlane, ", "))
	}
	return problems
}

func (a ExistingArgs) validate() (problems problem.List) {
	if !strings.HasPrefix(a.VpcID, "vpc-") {
		problems.Addf("vpcId", "%q is not the id of a VPC", a.VpcID)
	}
	if _, err := netip.ParsePrefix(a.CIDR); err != nil {
		problems.Addf("cidr", "%q is not an address range; look the VPC up", a.CIDR)
	}
	seen := map[string]bool{}
	list := func(path string, subnets []ExistingSubnet) {
		for i, s := range subnets {
			at := fmt.Sprintf("%s[%d] %q", path, i, s.ID)
			if !strings.HasPrefix(s.ID, "subnet-") {
				problems.Addf(at, "it is not the id of a subnet")
			}
			if seen[s.ID] {
				problems.Addf(at, "it is given twice; a subnet is private or public, once")
			}
			seen[s.ID] = true
			if s.Zone.Name == "" {
				problems.Addf(at, "its zone is missing; look the subnet up")
			}
			if _, err := netip.ParsePrefix(s.CIDR); err != nil {
				problems.Addf(at, "%q is not an address range; look the subnet up", s.CIDR)
			}
		}
	}
	list("privateSubnets", a.Private)
	list("publicSubnets", a.Public)
	var zones []Zone
	for _, s := range a.Private {
		if !slices.Contains(zones, s.Zone) {
			zones = append(zones, s.Zone)
		}
	}
	problems.JoinUnder("privateSubnets ", validateZones(zones))
	return problems
}
