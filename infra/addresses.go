package infra

import (
	"fmt"
	"net/netip"
	"strings"

	"github.com/headroom-eks/headroom/infra/config"
)

// widePrefix is the smallest subnet, as the length of its prefix, in which blocks of 16 addresses in a row are taken to
// last.
// https://docs.aws.amazon.com/eks/latest/best-practices/prefix-mode-linux.html
const widePrefix = 22

// fragmentable warns of subnets too small for prefix delegation: a node needs blocks of 16 addresses in a row, and what
// other users of a small subnet leave free is soon in pieces (field fault BR-77). It is a warning and no refusal, since
// a reserved range of the subnet makes up for its size, and no data source tells of one. That addresses suffice for all
// nodes at all is a ceiling of the contract.
func fragmentable(env config.Environment, f facts) (warning string) {
	if !env.Network.PrefixDelegation {
		return ""
	}
	var small []string
	for _, s := range plannedSubnets(env, f) {
		if block, err := netip.ParsePrefix(s.CIDR); err == nil && block.Bits() > widePrefix {
			small = append(small, fmt.Sprintf("%s in %s", block, s.Zone.Name))
		}
	}
	if len(small) == 0 {
		return ""
	}
	return fmt.Sprintf("network.prefixDelegation takes blocks of 16 addresses in a row, which run out in small "+
		"subnets while single addresses are free (%s); "+
		"use subnets of /%d or larger, or reserve a range of each for prefixes (aws ec2 "+
		"create-subnet-cidr-reservation --reservation-type prefix)",
		strings.Join(small, ", "), widePrefix)
}
