package cluster

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/netip"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/headroom-eks/headroom/components/iampolicy"
	"github.com/headroom-eks/headroom/problem"
)

// Access of one IAM principal to the Kubernetes API.
type Access struct {
	PrincipalArn string // of a role, rarely of a user
	Policy       string // a key of accessPolicies
}

// ClusterAdmin may do everything in the cluster.
const ClusterAdmin = "cluster-admin"

// accessPolicies are EKS's own, by the name of the Kubernetes role that each one equals.
// https://docs.aws.amazon.com/eks/latest/userguide/access-policy-permissions.html
var accessPolicies = map[string]string{
	ClusterAdmin: "AmazonEKSClusterAdminPolicy",
	"admin":      "AmazonEKSAdminPolicy",
	"edit":       "AmazonEKSEditPolicy",
	"view":       "AmazonEKSViewPolicy",
}

func accessPolicyArn(partition, policy string) string {
	return "arn:" + partition + ":eks::aws:cluster-access-policy/" + accessPolicies[policy]
}

// creatorIsAdmin tells whether EKS shall make whoever creates the cluster its admin: only when nobody else is named.
// Made beside named ones, that entry would clash with the creator's own (field fault BR-45).
func creatorIsAdmin(access map[string]Access) bool {
	for _, a := range access {
		if a.Policy == ClusterAdmin {
			return false
		}
	}
	return true
}

// Log types of the control plane. https://docs.aws.amazon.com/eks/latest/userguide/control-plane-logs.html
var logTypes = []string{"api", "audit", "authenticator", "controllerManager", "scheduler"}

// retentionDays that CloudWatch Logs accepts.
// https://docs.aws.amazon.com/AmazonCloudWatchLogs/latest/APIReference/API_PutRetentionPolicy.html
var retentionDays = []int{
	1, 3, 5, 7, 14, 30, 60, 90, 120, 150, 180, 365, 400, 545, 731, 1096, 1827, 2192, 2557, 2922, 3288, 3653,
}

const defaultRetentionDays = 90

// Upgrade policies: STANDARD lets AWS upgrade the cluster at the end of standard support, EXTENDED stays, for an hourly
// fee.
// https://docs.aws.amazon.com/eks/latest/userguide/view-upgrade-policy.html
const (
	Standard = "STANDARD"
	Extended = "EXTENDED"
)

// builtInPools of Auto Mode. https://docs.aws.amazon.com/eks/latest/userguide/set-builtin-node-pools.html
var builtInPools = []string{"general-purpose", "system"}

// logGroupName is where EKS writes, whether the group exists or not.
func logGroupName(cluster string) string { return "/aws/eks/" + cluster + "/cluster" }

// keyPolicy leaves the key to the account's IAM policies. EKS uses it through a grant of the principal that creates the
// cluster, which therefore needs kms:CreateGrant and kms:DescribeKey.
// https://docs.aws.amazon.com/eks/latest/userguide/enable-kms.html
func keyPolicy(partition, account string) (string, error) {
	return iampolicy.New(iampolicy.Statement{
		Sid:       "AccountDecides",
		Principal: iampolicy.Principal{"AWS": {"arn:" + partition + ":iam::" + account + ":root"}},
		Action:    iampolicy.Strings{"kms:*"},
		Resource:  iampolicy.Strings{"*"},
	}).JSON(iampolicy.KeyLimit)
}

// cniEnv is the network add-on's environment. The component's own default is to log everything at DEBUG.
// https://github.com/aws/amazon-vpc-cni-k8s#cni-configuration-variables
func cniEnv(prefixDelegation bool, extra map[string]string) map[string]string {
	env := map[string]string{"AWS_VPC_K8S_CNI_LOGLEVEL": "INFO", "AWS_VPC_K8S_PLUGIN_LOG_LEVEL": "INFO"}
	if prefixDelegation {
		env["ENABLE_PREFIX_DELEGATION"] = "true"
		env["WARM_PREFIX_TARGET"] = "1"
	}
	maps.Copy(env, extra)
	return env
}

// Kubeconfig lets kubectl and Pulumi reach the cluster with whatever AWS credentials they run with. It holds no secret,
// and depends on nothing but these four values: anything else that changed in it would replace the Kubernetes provider
// and every object with it (field fault BR-89).
func Kubeconfig(name, endpoint, certificateAuthority, region string) (string, error) {
	for what, value := range map[string]string{
		"name": name, "endpoint": endpoint, "certificate authority": certificateAuthority, "region": region,
	} {
		if value == "" {
			return "", fmt.Errorf("kubeconfig: the cluster's %s is empty", what)
		}
	}
	type object = map[string]any
	text, err := json.Marshal(object{
		"apiVersion":      "v1",
		"kind":            "Config",
		"current-context": name,
		"clusters": []object{{
			"name":    name,
			"cluster": object{"server": endpoint, "certificate-authority-data": certificateAuthority},
		}},
		"contexts": []object{{"name": name, "context": object{"cluster": name, "user": name}}},
		"users": []object{{"name": name, "user": object{"exec": object{
			"apiVersion": "client.authentication.k8s.io/v1", "command": "aws", "interactiveMode": "Never",
			"args": []string{"eks", "get-token", "--region", region, "--cluster-name", name, "--output", "json"},
		}}}},
	})
	return string(text), err
}

var kubernetesVersion = regexp.MustCompile(`^1\.([1-9][0-9]*)$`)

// CheckVersion refuses a Kubernetes version that EKS cannot move a live cluster to: it never goes back, and goes up one
// minor at a time. Live is empty for a cluster that does not exist yet.
func CheckVersion(live, wanted string) (problems problem.List) {
	to := kubernetesVersion.FindStringSubmatch(wanted)
	if to == nil {
		problems.Addf("kubernetesVersion", "%q is not a version; write one like \"1.36\"", wanted)
		return problems
	}
	if live == "" {
		return problems
	}
	from := kubernetesVersion.FindStringSubmatch(live)
	if from == nil {
		problems.Addf("kubernetesVersion", "the cluster reports version %q, which is not understood", live)
		return problems
	}
	has, err := strconv.Atoi(from[1])
	wants, err2 := strconv.Atoi(to[1])
	switch {
	case err != nil || err2 != nil:
		problems.Addf("kubernetesVersion", "%q or %q is not a version", live, wanted)
	case wants < has:
		problems.Addf("kubernetesVersion", "%s is below the cluster's %s, and a control plane cannot go back; set it "+
			"to %s", wanted, live, live)
	case wants > has+1:
		problems.Addf("kubernetesVersion", "%s is more than one minor above the cluster's %s; go to 1.%d first", wanted,
			live, has+1)
	}
	return problems
}

var (
	principalArn = regexp.MustCompile(`^arn:[a-z-]+:iam::\d{12}:(role|user)/.+$`)
	accessName   = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]*[a-z0-9])?$`)
)

func (a Args) withDefaults() Args {
	if a.LogTypes == nil {
		a.LogTypes = []string{"audit", "authenticator"}
	}
	if a.LogRetentionDays == 0 {
		a.LogRetentionDays = defaultRetentionDays
	}
	if a.UpgradePolicy == "" {
		a.UpgradePolicy = Standard
	}
	return a
}

func (a Args) validate() (problems problem.List) {
	problems.Join(CheckVersion("", a.Version))
	if a.Name == nil || a.VpcID == nil || a.SubnetIDs == nil {
		problems.Addf("network", "name, VPC and subnets are all needed")
	}
	for what, value := range map[string]string{
		"region":    a.Account.Region,
		"partition": a.Account.Partition,
		"account":   a.Account.AccountID,
	} {
		if value == "" {
			problems.Addf(what, "it is empty; look it up")
		}
	}
	for i, cidr := range a.PublicAccessCIDRs {
		if p, err := netip.ParsePrefix(cidr); err != nil || !p.Addr().Is4() || p != p.Masked() {
			problems.Addf(fmt.Sprintf("publicAccessCidrs[%d]", i), "%q is not an IPv4 range; write one like "+
				"203.0.113.0/24", cidr)
		}
	}
	for i, typ := range a.LogTypes {
		if !slices.Contains(logTypes, typ) {
			problems.Addf(fmt.Sprintf("logTypes[%d]", i), "%q is unknown; use %s", typ, strings.Join(logTypes, ", "))
		}
	}
	if !slices.Contains(retentionDays, a.LogRetentionDays) {
		problems.Addf("logRetentionDays", "CloudWatch keeps no log for %d days; use one of %v", a.LogRetentionDays,
			retentionDays)
	}
	if a.UpgradePolicy != Standard && a.UpgradePolicy != Extended {
		problems.Addf("upgradePolicy", "%q is unknown; use %s or %s", a.UpgradePolicy, Standard, Extended)
	}
	if a.AutoMode == nil && (a.VPCCNIVersion == "" || a.KubeProxyVersion == "") {
		problems.Addf("addons", "vpc-cni and kube-proxy each need a pinned version")
	}
	problems.Join(a.validateAccess())
	problems.Join(a.AutoMode.validate())
	return problems
}

func (a Args) validateAccess() (problems problem.List) {
	owner := map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(a.Access)) {
		at, entry := fmt.Sprintf("access[%q]", name), a.Access[name]
		if !accessName.MatchString(name) {
			problems.Addf(at, "the name may hold lower-case letters, digits and dashes")
		}
		if !principalArn.MatchString(entry.PrincipalArn) {
			problems.Addf(at, "%q is not the ARN of a role or user", entry.PrincipalArn)
		}
		if first, taken := owner[entry.PrincipalArn]; taken {
			problems.Addf(at, "access[%q] names the same principal, and EKS takes one entry for each; keep one", first)
		}
		owner[entry.PrincipalArn] = name
		if accessPolicies[entry.Policy] == "" {
			problems.Addf(at, "policy %q is unknown; use %s", entry.Policy,
				strings.Join(slices.Sorted(maps.Keys(accessPolicies)), ", "))
		}
	}
	return problems
}

// validate names the built-in pools (field fault BR-84). None is a choice too.
func (m *AutoMode) validate() (problems problem.List) {
	if m == nil {
		return problems
	}
	for i, p := range m.NodePools {
		if !slices.Contains(builtInPools, p) {
			problems.Addf(fmt.Sprintf("autoMode.nodePools[%d]", i), "%q is unknown; use %s", p,
				strings.Join(builtInPools, ", "))
		}
		if slices.Contains(m.NodePools[:i], p) {
			problems.Addf(fmt.Sprintf("autoMode.nodePools[%d]", i), "%q is given twice; keep one", p)
		}
	}
	return problems
}
