package aws

import (
	"fmt"
	"net/netip"
	"regexp"
	"slices"
	"strings"

	"github.com/headroom-eks/headroom/sandbox/world"
)

var securityGroupRow = resourceRow{
	typ:      tSecurityGroup,
	inputs:   []string{"description", "egress", "ingress", "name", "namePrefix", "revokeRulesOnDelete", "vpcId"},
	replaces: []string{"description", "name", "namePrefix", "vpcId"},
	name: naming{
		property: "name",
		prefix:   "namePrefix",
		auto:     true,
		min:      1,
		max:      255,
		pattern:  regexp.MustCompile(`^([^s]|s[^g]|sg[^-])`),
		says:     "must not begin with sg-",
	},
	refs: []reference{
		vpcRef,
		{path: "ingress.securityGroups", typ: tSecurityGroup, gone: groupGone},
		{path: "egress.securityGroups", typ: tSecurityGroup, gone: groupGone},
	},
	id:     "sg-{hex}",
	arn:    "arn:{partition}:ec2:{region}:{account}:security-group/{id}",
	tagged: true,
	defaults: obj{
		"description":         "Managed by Pulumi",
		"revokeRulesOnDelete": false,
		"ingress":             []any{},
		"egress":              []any{},
	},
	computed: map[string]string{"ownerId": "{account}"},
	inUse:    "DependencyViolation: resource {id} has a dependent object",
	check:    checkSecurityGroup,
	onCreate: createSecurityGroup,
	onDelete: func(c *call) error { return groupInUse(c.s, c.res.ID) },
}

// groupText is what a description of a group takes.
// https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_CreateSecurityGroup.html
var groupText = regexp.MustCompile(`^[0-9A-Za-z ._:/()#,@\[\]+=&;{}!$*-]{0,255}$`)

func checkSecurityGroup(in obj, fail func(string, string)) {
	if text := str(in, "description"); !groupText.MatchString(text) {
		fail("description", "InvalidParameterValue: at most 255 characters of a-z, A-Z, 0-9, spaces and "+
			"._-:/()#,@[]+=&;{}!$*")
	}
	for i, v := range slices.Concat(list(in, "ingress"), list(in, "egress")) {
		rule, _ := v.(obj)
		for _, block := range texts(list(rule, "cidrBlocks")) {
			checkCIDR(fmt.Sprintf("rules[%d].cidrBlocks", i), block, fail)
		}
	}
}

func createSecurityGroup(c *call) error {
	for _, r := range c.s.OfType(tSecurityGroup) {
		if str(r.Outputs, "name") == str(c.out, "name") && str(r.Outputs, "vpcId") == str(c.out, "vpcId") {
			return fmt.Errorf("InvalidGroup.Duplicate: The security group '%s' already exists for VPC '%s'",
				str(c.out, "name"), str(c.out, "vpcId"))
		}
	}
	return nil
}

var securityGroupRuleRow = resourceRow{
	typ: "aws:ec2/securityGroupRule:SecurityGroupRule",
	inputs: []string{
		"cidrBlocks", "description", "fromPort", "ipv6CidrBlocks", "prefixListIds", "protocol", "securityGroupId",
		"self", "sourceSecurityGroupId", "toPort", "type",
	},
	required: []string{"fromPort", "protocol", "securityGroupId", "toPort", "type"},
	replaces: []string{
		"cidrBlocks", "fromPort", "ipv6CidrBlocks", "prefixListIds", "protocol", "securityGroupId", "self",
		"sourceSecurityGroupId", "toPort", "type",
	},
	enums: map[string][]string{
		"type": {"ingress", "egress"},
	},
	ranges: map[string]span{
		"fromPort": {-1, 65535},
		"toPort":   {-1, 65535},
	},
	refs: []reference{
		{path: "securityGroupId", typ: tSecurityGroup, gone: groupGone, onGone: cascades},
		{path: "sourceSecurityGroupId", typ: tSecurityGroup, gone: groupGone},
	},
	id:       "sgrule-{hex}",
	computed: map[string]string{"securityGroupRuleId": "sgr-{random}"},
	check:    checkSecurityGroupRule,
	onCreate: createSecurityGroupRule,
}

func checkSecurityGroupRule(in obj, fail func(string, string)) {
	checkRule(in, str(in, "protocol"), "cidrBlocks", fail)
	if !has(in, "cidrBlocks") && !has(in, "ipv6CidrBlocks") && !has(in, "prefixListIds") &&
		!has(in, "sourceSecurityGroupId") && !truth(in, "self") && !isUnknown(in["self"]) {
		fail("cidrBlocks", "one of cidrBlocks, ipv6CidrBlocks, self, sourceSecurityGroupId or prefixListIds "+
			"must be set to create a security group rule")
	}
}

func createSecurityGroupRule(c *call) error {
	return duplicateRule(c, "type", "cidrBlocks", "ipv6CidrBlocks", "fromPort", "toPort", "protocol", "securityGroupId",
		"self", "sourceSecurityGroupId")
}

var (
	ingressRuleRow = directedRule("Ingress")
	egressRuleRow  = directedRule("Egress")
)

// directedRule is the row of the newer rule types, one for each direction.
func directedRule(direction string) resourceRow {
	return resourceRow{
		typ: "aws:vpc/securityGroup" + direction + "Rule:SecurityGroup" + direction + "Rule",
		inputs: []string{
			"cidrIpv4", "cidrIpv6", "description", "fromPort", "ipProtocol", "prefixListId",
			"referencedSecurityGroupId", "securityGroupId", "toPort",
		},
		required: []string{"ipProtocol", "securityGroupId"},
		replaces: []string{"securityGroupId"},
		ranges: map[string]span{
			"fromPort": {-1, 65535},
			"toPort":   {-1, 65535},
		},
		refs: []reference{
			{path: "securityGroupId", typ: tSecurityGroup, gone: groupGone, onGone: cascades},
			{path: "referencedSecurityGroupId", typ: tSecurityGroup, gone: groupGone},
		},
		id:       "sgr-{hex}",
		arn:      "arn:{partition}:ec2:{region}:{account}:security-group-rule/{id}",
		tagged:   true,
		computed: map[string]string{"securityGroupRuleId": "{id}"},
		check:    checkDirectedRule,
		onCreate: createDirectedRule,
	}
}

func checkDirectedRule(in obj, fail func(string, string)) {
	checkRule(in, str(in, "ipProtocol"), "cidrIpv4", fail)
	given := 0
	for _, k := range []string{"cidrIpv4", "cidrIpv6", "prefixListId", "referencedSecurityGroupId"} {
		if has(in, k) {
			given++
		}
	}
	if given != 1 {
		fail("cidrIpv4", "exactly one of cidrIpv4, cidrIpv6, prefixListId, referencedSecurityGroupId must be set")
	}
}

func createDirectedRule(c *call) error {
	return duplicateRule(c, "cidrIpv4", "cidrIpv6", "fromPort", "toPort", "ipProtocol", "securityGroupId",
		"referencedSecurityGroupId")
}

// groupInUse refuses while an instance has the security group on a network interface.
func groupInUse(s *world.State, id string) error {
	for _, i := range s.SortedInstances(func(i *world.Instance) bool {
		return i.Running() && slices.Contains(i.SecurityGroups, id)
	}) {
		return fmt.Errorf(
			"DependencyViolation: resource %s has a dependent object (a network interface of instance %s)", id, i.ID)
	}
	return nil
}

func duplicateRule(c *call, keys ...string) error {
	for _, r := range c.s.OfType(c.res.Type) {
		equal := true
		for _, k := range keys {
			equal = equal && same(r.Inputs[k], c.in[k])
		}
		if equal {
			return fmt.Errorf("InvalidPermission.Duplicate: the specified rule already exists (%s)", r.ID)
		}
	}
	return nil
}

// protocols by name and by number.
var protocols = []string{"-1", "tcp", "udp", "icmp", "icmpv6", "all", "6", "17", "1", "58"}

func checkRule(in obj, protocol, property string, fail func(string, string)) {
	if protocol != "" && !slices.Contains(protocols, strings.ToLower(protocol)) {
		fail("protocol", fmt.Sprintf("%q is not a protocol", protocol))
	}
	if from, to := num(in, "fromPort"), num(in, "toPort"); has(in, "fromPort") && has(in, "toPort") && from > to &&
		!isUnknown(in["toPort"]) {
		fail("fromPort", fmt.Sprintf("InvalidParameterValue: Invalid TCP/UDP port range (%d:%d)", from, to))
	}
	if needsPorts := slices.Contains([]string{"tcp", "udp", "6", "17"}, strings.ToLower(protocol)); needsPorts &&
		(!has(in, "fromPort") || !has(in, "toPort")) {
		fail("fromPort", "InvalidParameterValue: "+protocol+" needs fromPort and toPort")
	}
	for _, v := range at(in, property) {
		if block, ok := v.(string); ok {
			checkCIDR(property, block, fail)
			continue
		}
		for _, block := range texts(asList(v)) {
			checkCIDR(property, block, fail)
		}
	}
}

func checkCIDR(path, block string, fail func(string, string)) {
	if prefix, err := netip.ParsePrefix(block); err != nil || prefix.Masked() != prefix {
		fail(path, fmt.Sprintf("InvalidParameterValue: CIDR block %s is malformed", block))
	}
}
