package cluster

import (
	"fmt"
	"maps"
	"net/netip"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/headroom-eks/headroom/components/kmskey"
	"github.com/headroom-eks/headroom/pool/label"
	"github.com/headroom-eks/headroom/problem"
	"golang.org/x/mod/semver"
)

// DefaultKubernetesVersion and the versions of the add-ons for it alone: known good together, seen in public use in
// September 2026.
const (
	DefaultKubernetesVersion = "1.36"
	DefaultVpcCNIVersion     = "v1.22.3-eksbuild.1"
	DefaultKubeProxyVersion  = "v1.36.0-eksbuild.9"
	DefaultCoreDNSVersion    = "v1.14.3-eksbuild.3"
	DefaultEBSCSIVersion     = "v1.62.0-eksbuild.1"
)

// DefaultLogRetentionDays of the control plane's log group.
const DefaultLogRetentionDays = 90

// LogTypes of the control plane, all of them sent by default. The api and scheduler logs are many times larger than the
// others. https://docs.aws.amazon.com/eks/latest/userguide/control-plane-logs.html
var LogTypes = []string{"api", "audit", "authenticator", "controllerManager", "scheduler"}

// logRetentionDays that CloudWatch Logs accepts.
// https://docs.aws.amazon.com/AmazonCloudWatchLogs/latest/APIReference/API_PutRetentionPolicy.html
var logRetentionDays = []int{
	1, 3, 5, 7, 14, 30, 60, 90, 120, 150, 180, 365, 400, 545, 731, 1096, 1827, 2192, 2557, 2922, 3288, 3653,
}

// Upgrade policies: with STANDARD AWS upgrades the cluster at the end of standard support; with EXTENDED the cluster
// stays, for an hourly fee.
// https://docs.aws.amazon.com/eks/latest/userguide/view-upgrade-policy.html
const (
	Standard = "STANDARD"
	Extended = "EXTENDED"
)

// UpgradePolicies lists them.
var UpgradePolicies = []string{Standard, Extended}

// AccessPolicies lists what a principal can be given.
var AccessPolicies = slices.Sorted(maps.Keys(accessPolicies))

// MaxName is EKS's limit of a cluster's name, in characters.
const MaxName = 100

// clusterName is EKS's pattern. https://docs.aws.amazon.com/eks/latest/APIReference/API_CreateCluster.html
var clusterName = regexp.MustCompile(`^[0-9A-Za-z][A-Za-z0-9_-]*$`)

// ValidateName reports a name that EKS refuses. Room is how many characters something else will add to it.
func ValidateName(path, name string, room int) (problems problem.List) {
	if !clusterName.MatchString(name) || len(name) > MaxName-room {
		problems.Add(path, fmt.Sprintf("is not a name of 1 to %d characters that EKS takes", MaxName-room), name,
			"use letters, digits, - and _, beginning with a letter or digit")
	}
	return problems
}

var kubernetesVersion = regexp.MustCompile(`^1\.([1-9][0-9])$`)

// minor of a Kubernetes version: 36 of "1.36".
func minor(version string) (int, bool) {
	match := kubernetesVersion.FindStringSubmatch(version)
	if match == nil {
		return 0, false
	}
	n, err := strconv.Atoi(match[1])
	return n, err == nil
}

// CheckVersion refuses a Kubernetes version that EKS cannot move a live cluster to: it never goes back, and goes up one
// minor at a time. Live is empty for a cluster that does not exist yet.
func CheckVersion(path, live, wanted string) (problems problem.List) {
	wants, ok := minor(wanted)
	if !ok {
		problems.Add(path, "is not a minor version of Kubernetes", wanted,
			fmt.Sprintf("write one like %q, in quotes", DefaultKubernetesVersion))
		return problems
	}
	if live == "" {
		return problems
	}
	switch has, understood := minor(live); {
	case !understood:
		problems.Add(path, "cannot be compared with what the cluster reports", live, "look at the cluster in AWS")
	case wants < has:
		problems.Add(path, fmt.Sprintf("is below the cluster's %s, and a control plane cannot go back", live), wanted,
			"set it to "+live)
	case wants > has+1:
		problems.Add(path, fmt.Sprintf("is more than one minor above the cluster's %s", live), wanted,
			fmt.Sprintf("go to 1.%d first", has+1))
	}
	return problems
}

var addonVersion = regexp.MustCompile(`^v[0-9]+\.[0-9]+\.[0-9]+-eksbuild\.[0-9]+$`)

// kubeProxySkew is how many minors kube-proxy may be behind the API server; it may never be ahead.
// https://kubernetes.io/releases/version-skew-policy/#kube-proxy
const kubeProxySkew = 3

// ValidateAddonVersion reports a version of an EKS add-on that is not pinned, and one of kube-proxy that is for another
// minor of Kubernetes.
func ValidateAddonVersion(path, addon, version, kubernetes string) (problems problem.List) {
	if !addonVersion.MatchString(version) {
		problems.Add(path, "is not a version of add-on "+addon, version,
			fmt.Sprintf("pin one for Kubernetes %s, of the form vX.Y.Z-eksbuild.N (aws eks describe-addon-versions "+
				"--addon-name %s --kubernetes-version %s lists them)", kubernetes, addon, kubernetes))
		return problems
	}
	wants, known := minor(kubernetes)
	is, _ := minor(strings.TrimPrefix(semver.MajorMinor(version), "v"))
	if addon == "kube-proxy" && known && (is > wants || is < wants-kubeProxySkew) {
		wrong := fmt.Sprintf("is not for Kubernetes %s: kube-proxy is never ahead of it and at most %d minors behind",
			kubernetes, kubeProxySkew)
		problems.Add(path, wrong, version, "pin one of the cluster's minor")
	}
	return problems
}

const (
	// maxPublicCIDRs of a cluster. https://docs.aws.amazon.com/eks/latest/userguide/service-quotas.html
	maxPublicCIDRs = 40
	// widestPublic block, as the length of its prefix. No network that people come from is wider than a /8.
	widestPublic = 8
)

// reservedBlocks reach nobody from outside. https://www.iana.org/assignments/iana-ipv4-special-registry
var reservedBlocks = []netip.Prefix{
	netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("172.16.0.0/12"),
	netip.MustParsePrefix("192.168.0.0/16"), netip.MustParsePrefix("100.64.0.0/10"),
	netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("169.254.0.0/16"),
	netip.MustParsePrefix("224.0.0.0/3"), // multicast and what is kept for later
}

func reserved(cidr netip.Prefix) bool {
	return slices.ContainsFunc(reservedBlocks, func(r netip.Prefix) bool {
		return r.Bits() <= cidr.Bits() && r.Contains(cidr.Addr())
	})
}

// ValidatePublicAccess reports address blocks from which nobody can reach a public endpoint. EKS takes public IPv4
// blocks for a cluster of IPv4. https://docs.aws.amazon.com/eks/latest/userguide/cluster-endpoint.html
func ValidatePublicAccess(path string, cidrs []string) (problems problem.List) {
	if n := len(cidrs); n > maxPublicCIDRs {
		problems.Add(path, fmt.Sprintf("are more than the %d that EKS takes", maxPublicCIDRs), n,
			"join neighbours into wider blocks")
	}
	problem.Unique(&problems, path, cidrs)
	for i, text := range cidrs {
		at := fmt.Sprintf("%s[%d]", path, i)
		cidr, err := netip.ParsePrefix(text)
		switch {
		case err != nil || !cidr.Addr().Is4():
			problems.Add(at, "is not an IPv4 block", text, "write one like 203.0.113.0/24")
		case cidr != cidr.Masked():
			problems.Add(at, "has host bits", text, "write "+cidr.Masked().String())
		case reserved(cidr):
			problems.Add(at, "is private or reserved, and EKS refuses it", text, "remove it: from inside the VPC the "+
				"API answers without it")
		case cidr.Bits() < widestPublic && cidr.Bits() > 0:
			problems.Add(at, fmt.Sprintf("is wider than /%d: such blocks together are the whole world", widestPublic),
				text, "name the networks that people and runners come from, or 0.0.0.0/0 if everybody is meant")
		}
	}
	return problems
}

// nobody are blocks from which nothing reaches an address in a VPC: loopback, link-local, multicast and reserved.
// https://www.iana.org/assignments/iana-ipv4-special-registry
var nobody = []netip.Prefix{
	netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("169.254.0.0/16"), netip.MustParsePrefix("224.0.0.0/3"),
}

var securityGroupID = regexp.MustCompile(`^sg-[0-9a-f]{8,17}$`)

// ValidatePrivateAccess reports blocks and groups that no rule of a security group takes.
func ValidatePrivateAccess(path string, a PrivateAccess) (problems problem.List) {
	problem.Unique(&problems, path+".cidrs", a.CIDRs)
	problem.Unique(&problems, path+".securityGroupIds", a.SecurityGroupIDs)
	for i, text := range a.CIDRs {
		cidr, err := netip.ParsePrefix(text)
		switch at := fmt.Sprintf("%s.cidrs[%d]", path, i); {
		case err != nil || !cidr.Addr().Is4():
			problems.Add(at, "is not an IPv4 block", text, "write one like 10.8.0.0/16")
		case cidr != cidr.Masked():
			problems.Add(at, "has host bits", text, "write "+cidr.Masked().String())
		case cidr.Bits() == 0 || slices.ContainsFunc(nobody, cidr.Overlaps):
			problems.Add(at, "is no network that traffic in a VPC comes from", text, "name the peered network, or "+
				"the VPC's")
		}
	}
	for i, id := range a.SecurityGroupIDs {
		if !securityGroupID.MatchString(id) {
			problems.Add(fmt.Sprintf("%s.securityGroupIds[%d]", path, i), "is not the id of a security group", id,
				"write one like sg-0123456789abcdef0")
		}
	}
	return problems
}

var (
	principalArn = regexp.MustCompile(`^arn:aws[a-z-]*:iam::[0-9]{12}:(role|user)/[\w+=,.@/-]+$`)
	accessName   = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]*[a-z0-9])?$`)
)

// ValidateAccess reports principals and policies that EKS refuses. The keys of the map are for people.
func ValidateAccess(path string, access map[string]Access) (problems problem.List) {
	owner := map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(access)) {
		at, entry := fmt.Sprintf("%s[%q]", path, name), access[name]
		if !accessName.MatchString(name) {
			problems.Add(at, "the name cannot be part of a resource's", name,
				"use lower-case letters, digits and dashes, for example admins")
		}
		if !principalArn.MatchString(entry.PrincipalArn) {
			problems.Add(at+".principalArn", "is not the ARN of an IAM role or user", entry.PrincipalArn,
				"write one like arn:aws:iam::111122223333:role/admins")
		}
		if first, taken := owner[entry.PrincipalArn]; taken {
			problems.Add(at+".principalArn", fmt.Sprintf("is that of %q too, and EKS keeps one entry for each", first),
				entry.PrincipalArn, "remove one")
		}
		owner[entry.PrincipalArn] = name
		problem.OneOf(&problems, at+".policy", entry.Policy, AccessPolicies)
	}
	return problems
}

// ValidateAccessPartition reports principals of another partition than the cluster's: EKS knows none of them.
func ValidateAccessPartition(path string, access map[string]Access, partition string) (problems problem.List) {
	for _, name := range slices.Sorted(maps.Keys(access)) {
		if arn := access[name].PrincipalArn; !strings.HasPrefix(arn, "arn:"+partition+":") {
			problems.Add(fmt.Sprintf("%s[%q].principalArn", path, name), "is of another partition than the cluster's, "+
				partition, arn, "name a role or user of the cluster's partition")
		}
	}
	return problems
}

// ValidateLogTypes reports log types that EKS does not know.
func ValidateLogTypes(path string, types []string) (problems problem.List) {
	for i, t := range types {
		problem.OneOf(&problems, fmt.Sprintf("%s[%d]", path, i), t, LogTypes)
	}
	return problems
}

// ValidateLogRetention reports a number of days that CloudWatch Logs does not take.
func ValidateLogRetention(path string, days int) (problems problem.List) {
	if !slices.Contains(logRetentionDays, days) {
		problems.Add(path, "is not a retention that CloudWatch Logs takes", days,
			fmt.Sprintf("use one of %v", logRetentionDays))
	}
	return problems
}

func (a Args) withDefaults() Args {
	if a.LogTypes == nil {
		a.LogTypes = LogTypes
	}
	if a.LogRetentionDays == 0 {
		a.LogRetentionDays = DefaultLogRetentionDays
	}
	if a.UpgradePolicy == "" {
		a.UpgradePolicy = Standard
	}
	return a
}

func (a Args) validate() problem.List {
	problems := CheckVersion("version", "", a.Version)
	problems.Require("name", a.Name != nil)
	problems.Require("vpcId", a.VpcID != nil)
	problems.Require("subnetIds", a.SubnetIDs != nil)
	problems.Require("account.region", a.Account.Region != "")
	problems.Require("account.partition", a.Account.Partition != "")
	problems.Require("account.accountId", a.Account.AccountID != "")
	problems.Join(ValidatePublicAccess("publicAccessCidrs", a.PublicAccessCIDRs))
	problems.Join(ValidatePrivateAccess("privateAccess", a.PrivateAccess))
	problems.Join(ValidateAccess("access", a.Access))
	if a.SecretsKeyArn != "" {
		problems.Join(kmskey.ValidateArn("secretsKeyArn", a.SecretsKeyArn))
	}
	problems.Join(ValidateLogTypes("logTypes", a.LogTypes))
	problems.Join(ValidateLogRetention("logRetentionDays", a.LogRetentionDays))
	problem.OneOf(&problems, "upgradePolicy", a.UpgradePolicy, UpgradePolicies)
	problems.Join(a.AutoMode.Validate("autoMode"))
	if !a.AutoMode.Enabled {
		problems.Join(ValidateAddonVersion("vpcCniVersion", "vpc-cni", a.VpcCNIVersion, a.Version))
		problems.Join(ValidateAddonVersion("kubeProxyVersion", "kube-proxy", a.KubeProxyVersion, a.Version))
	}
	return problems
}

func (a AddonsArgs) validate() problem.List {
	problems := label.ValidateTaints("systemTaints", a.SystemTaints)
	if a.AutoMode {
		return problems
	}
	version := a.Cluster.KubernetesVersion
	problems.Join(ValidateAddonVersion("coreDnsVersion", "coredns", a.CoreDNSVersion, version))
	problems.Join(ValidateAddonVersion("ebsCsiVersion", "aws-ebs-csi-driver", a.EBSCSIVersion, version))
	problems.Require("cluster.name", a.Cluster.Name != nil)
	problems.Require("cluster.oidcProviderArn", a.Cluster.OIDCProviderArn != nil)
	problems.Require("cluster.issuer", a.Cluster.Issuer != nil)
	problems.Require("cluster.partition", a.Cluster.Partition != "")
	if len(a.Needs) == 0 {
		problems.Add("needs", "is empty, and the add-ons wait for nodes to run on", nil, "name the system group")
	}
	return problems
}
