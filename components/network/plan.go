package network

import (
	"fmt"
	"net/netip"
	"regexp"
	"slices"
)

// NAT is how private subnets reach what lies outside the VPC.
type NAT string

const (
	NATPerVpc  NAT = "one-per-vpc"  // one gateway, in the first zone: cheap, and gone with that zone
	NATPerZone NAT = "one-per-zone" // one gateway in each zone
	NATNone    NAT = "none"         // no way out, and no internet gateway or public subnet either
)

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

// Zone of a region. A name can mean another zone in another account; an ID means the same zone in all.
type Zone struct {
	Name string // for example "us-west-2a"
	ID   string // for example "usw2-az1"; empty when not known
}

// noControlPlane are the zones in which EKS puts no control plane; nodes can run there.
// https://docs.aws.amazon.com/eks/latest/userguide/network-reqs.html
var noControlPlane = []string{"use1-az3", "usw1-az2", "cac1-az3"}

// HostsControlPlane reports whether EKS can put a control plane's network interface in the zone. It puts none into a
// Local or Wavelength Zone either, in which nodes can run (FR-15).
// https://docs.aws.amazon.com/eks/latest/userguide/local-zones.html
func (z Zone) HostsControlPlane() bool {
	return !slices.Contains(noControlPlane, z.ID) && (z.Name == "" || zoneName.MatchString(z.Name))
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
	case NATPerVpc:
		return zones[:1]
	case NATPerZone:
		return zones
	default:
		return nil
	}
}

// natOf is the zone whose NAT gateway serves a private subnet.
func natOf(nat NAT, zones []string, zone string) string {
	if nat == NATPerVpc {
		return zones[0]
	}
	return zone
}

var fullService = regexp.MustCompile(`^(cn\.)?com\.amazonaws\.[a-z0-9-]+\.`)

// chinese are the services whose interface endpoints in China have a prefix of their own; those of others there, and
// all elsewhere, have the usual one. Amazon's other partitions are not known here.
// https://github.com/aws/aws-cdk/blob/main/packages/aws-cdk-lib/aws-ec2/lib/vpc-endpoint.ts
var chinese = []string{
	"account", "application-autoscaling", "appmesh-envoy-management", "athena", "autoscaling", "backup", "batch",
	"cassandra", "cloudcontrolapi", "cloudformation", "databrew", "dms", "ebs", "ec2", "ecr.api", "ecr.dkr", "eks",
	"elasticache", "elasticbeanstalk", "elasticfilesystem", "elasticfilesystem-fips", "emr-containers", "execute-api",
	"fsx", "imagebuilder", "kinesis-streams", "lambda", "license-manager", "monitoring", "polly", "rds", "redshift",
	"redshift-data", "s3", "sagemaker.api", "sagemaker.featurestore-runtime", "sagemaker.runtime", "securityhub",
	"servicecatalog", "sms", "sqs", "states", "sts", "sync-states", "synthetics", "transfer", "workspaces", "xray",
}

// ServiceName of an interface endpoint. A full name is taken as it is.
func ServiceName(partition, region, service string) string {
	switch {
	case fullService.MatchString(service):
		return service
	case partition == "aws-cn" && slices.Contains(chinese, service):
		return "cn.com.amazonaws." + region + "." + service
	default:
		return gatewayService(region, service)
	}
}

// gatewayService has the same name in every partition.
func gatewayService(region, service string) string { return "com.amazonaws." + region + "." + service }

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
