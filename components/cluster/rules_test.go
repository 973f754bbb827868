package cluster_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/headroom-eks/headroom/components/cluster"
	"github.com/headroom-eks/headroom/problem"
)

// ruleCases are values of the rules that configuration asks with a path of its own. Want is empty for a value that is
// fine.
var ruleCases = []struct {
	name  string
	found problem.List
	want  string
}{
	{"a name", cluster.ValidateName("at", "headroom_dev-1", 7), ""},
	{"a name that fills the room", cluster.ValidateName("at", strings.Repeat("x", 93), 7), ""},
	{"a name without room", cluster.ValidateName("at", strings.Repeat("x", 94), 7), "at: is not a name of 1 to 93"},
	{"a name with a dot", cluster.ValidateName("at", "a.b", 0), `(found "a.b"); use letters, digits, - and _`},
	{"no name", cluster.ValidateName("at", "", 0), "at: is not a name"},
	{"a version", cluster.CheckVersion("at", "", "1.36"), ""},
	{"a number read as a version", cluster.CheckVersion("at", "", "1.4"), `at: is not a minor version of Kubernetes`},
	{"networks and groups of a private endpoint", cluster.ValidatePrivateAccess("at", cluster.PrivateAccess{
		CIDRs:            []string{"10.8.0.0/16"},
		SecurityGroupIDs: []string{"sg-0123456789abcdef0"},
	}), ""},
	{"a block with host bits", cluster.ValidatePrivateAccess("at",
		cluster.PrivateAccess{CIDRs: []string{"10.8.0.1/16"}}),
		`at.cidrs[0]: has host bits (found "10.8.0.1/16"); write 10.8.0.0/16`},
	{"no block", cluster.ValidatePrivateAccess("at", cluster.PrivateAccess{CIDRs: []string{"fd00::/8"}}),
		`at.cidrs[0]: is not an IPv4 block`},
	{"the whole world", cluster.ValidatePrivateAccess("at", cluster.PrivateAccess{CIDRs: []string{"0.0.0.0/0"}}),
		`at.cidrs[0]: is no network that traffic in a VPC comes from (found "0.0.0.0/0")`},
	{"multicast", cluster.ValidatePrivateAccess("at", cluster.PrivateAccess{CIDRs: []string{"224.0.0.0/4"}}),
		`at.cidrs[0]: is no network`},
	{"no group", cluster.ValidatePrivateAccess("at", cluster.PrivateAccess{SecurityGroupIDs: []string{"runners"}}),
		`at.securityGroupIds[0]: is not the id of a security group (found "runners")`},
	{"an add-on", cluster.ValidateAddonVersion("at", "coredns", "v1.14.3-eksbuild.3", "1.36"), ""},
	{"kube-proxy behind the cluster", cluster.ValidateAddonVersion("at", "kube-proxy", "v1.33.2-eksbuild.2", "1.36"),
		""},
	{"kube-proxy ahead of the cluster", cluster.ValidateAddonVersion("at", "kube-proxy", "v1.36.0-eksbuild.9", "1.35"),
		`at: is not for Kubernetes 1.35: kube-proxy is never ahead of it`},
	{"kube-proxy far behind the cluster", cluster.ValidateAddonVersion("at", "kube-proxy", "v1.32.0-eksbuild.2",
		"1.36"),
		`at: is not for Kubernetes 1.36`},
	{"an add-on without its build", cluster.ValidateAddonVersion("at", "coredns", "v1.14.3", "1.36"),
		`(found "v1.14.3"); pin one for Kubernetes 1.36, of the form vX.Y.Z-eksbuild.N`},
	{"no block", cluster.ValidatePublicAccess("at", nil), ""},
	{"everybody", cluster.ValidatePublicAccess("at", []string{"0.0.0.0/0"}), ""},
	{"a private block", cluster.ValidatePublicAccess("at", []string{"203.0.113.7/32", "10.0.0.0/8"}),
		`at[1]: is private or reserved, and EKS refuses it (found "10.0.0.0/8"); remove it`},
	{"host bits", cluster.ValidatePublicAccess("at", []string{"203.0.113.7/24"}), "write 203.0.113.0/24"},
	{"IPv6", cluster.ValidatePublicAccess("at", []string{"2001:db8::/32"}), "at[0]: is not an IPv4 block"},
	{"log types", cluster.ValidateLogTypes("at", cluster.LogTypes), ""},
	{"a retention", cluster.ValidateLogRetention("at", cluster.DefaultLogRetentionDays), ""},
	{"a retention between two", cluster.ValidateLogRetention("at", 91), "at: is not a retention"},
}

func TestARuleNamesThePathTheValueAndTheRemedy(t *testing.T) {
	for _, c := range ruleCases {
		found := strings.Join(c.found.Items(), "\n")
		if c.want == "" && found != "" || !strings.Contains(found, c.want) {
			t.Errorf("%s: want %q, found %q", c.name, c.want, found)
		}
	}
}

func TestDefaultVersionsArePins(t *testing.T) {
	for addon, version := range map[string]string{
		"vpc-cni":            cluster.DefaultVpcCNIVersion,
		"kube-proxy":         cluster.DefaultKubeProxyVersion,
		"coredns":            cluster.DefaultCoreDNSVersion,
		"aws-ebs-csi-driver": cluster.DefaultEBSCSIVersion,
	} {
		problems := cluster.ValidateAddonVersion(addon, addon, version, cluster.DefaultKubernetesVersion)
		if err := problems.Err(); err != nil {
			t.Error(err)
		}
	}
}

func TestEveryPolicyThatAccessCanNameIsOneOfEKS(t *testing.T) {
	if want := []string{"admin", "cluster-admin", "edit", "view"}; !slices.Equal(cluster.AccessPolicies, want) {
		t.Errorf("found %v, want %v", cluster.AccessPolicies, want)
	}
}
