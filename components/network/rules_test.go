package network_test

import (
	"strings"
	"testing"

	"github.com/headroom-eks/headroom/components/network"
	"github.com/headroom-eks/headroom/problem"
)

// zonesNamed are zones whose ids are not known.
func zonesNamed(names ...string) (zones []network.Zone) {
	for _, name := range names {
		zones = append(zones, network.Zone{Name: name})
	}
	return zones
}

// ruleCases are values of the rules that configuration asks with a path of its own. Want is empty for a value that is
// fine.
var ruleCases = []struct {
	name  string
	found problem.List
	want  string
}{
	{"the default block", network.ValidateCIDR("at", network.DefaultCIDR), ""},
	{"a carrier's block", network.ValidateCIDR("at", "100.64.0.0/16"), ""},
	{"no block", network.ValidateCIDR("at", "10.0.0.0"), `at: is not an IPv4 block (found "10.0.0.0")`},
	{"IPv6", network.ValidateCIDR("at", "fd00::/16"), "at: is not an IPv4 block"},
	{"host bits", network.ValidateCIDR("at", "10.0.1.0/16"), "write 10.0.0.0/16"},
	{"too small", network.ValidateCIDR("at", "10.0.0.0/22"), "at: is not between /16 and /21"},
	{"public", network.ValidateCIDR("at", "8.8.0.0/16"), "at: is not private"},
	{"two zones", network.ValidateZones("at", zonesNamed("us-west-2a", "us-west-2b")), ""},
	{"one zone", network.ValidateZones("at", zonesNamed("us-west-2a")), "at: EKS needs two zones"},
	{"no zone", network.ValidateZones("at", nil), "at: EKS needs two zones"},
	{"a region", network.ValidateZones("at", zonesNamed("us-west-2", "us-west-2a", "us-west-2b")),
		`at[0]: is not the name of an availability zone (found "us-west-2")`},
	{"eight zones", network.ValidateZones("at", zonesNamed("eu-a-1a", "eu-a-1b", "eu-a-1c", "eu-a-1d", "eu-a-1e",
		"eu-a-1f", "eu-a-1g", "eu-a-1h")), "at: are more than the 7"},
	{"an existing network", network.ValidateExisting("at", "vpc-1", []string{"subnet-1", "subnet-2"}, nil), ""},
	{"one subnet", network.ValidateExisting("at", "vpc-1", []string{"subnet-1"}, nil),
		"at.privateSubnetIds: are fewer than two"},
	{"a subnet on both sides", network.ValidateExisting("at", "vpc-1", []string{"subnet-1", "subnet-2"},
		[]string{"subnet-2"}), `at.publicSubnetIds[0]: is at.privateSubnetIds[1] too (found "subnet-2")`},
	{"a name for an id", network.ValidateExisting("at", "main", []string{"a", "subnet-1"}, nil),
		`at.vpcId: is not the id of a VPC (found "main")`},
}

func TestARuleNamesThePathTheValueAndTheRemedy(t *testing.T) {
	for _, c := range ruleCases {
		found := strings.Join(c.found.Items(), "\n")
		if c.want == "" && found != "" || !strings.Contains(found, c.want) {
			t.Errorf("%s: want %q, found %q", c.name, c.want, found)
		}
	}
}
