package cluster

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/headroom-eks/headroom/components/iampolicy"
)

// Access of one IAM principal to the Kubernetes API.
type Access struct {
	PrincipalArn string // of a role, rarely of a user
	Policy       string // one of AccessPolicies
}

// PrivateAccess is who reaches the private endpoint on port 443, beside the nodes.
type PrivateAccess struct {
	CIDRs            []string // IPv4 blocks
	SecurityGroupIDs []string
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
	return iampolicy.AccessPolicyArn(partition, accessPolicies[policy])
}

// principalName is a part of resource names that stands for a principal: its own name, for a person, and a hash of the
// whole ARN. EKS keeps one entry for each principal, whatever the configuration calls it (FR-04).
func principalName(arn string) string {
	name := unnamable.ReplaceAllString(arn[strings.LastIndex(arn, "/")+1:], "-")
	hash := sha256.Sum256([]byte(arn))
	return name + "-" + hex.EncodeToString(hash[:])[:6]
}

var unnamable = regexp.MustCompile(`[^A-Za-z0-9-]`)

// CreatorIsAdmin reports whether EKS makes the principal that creates the cluster its admin: only when nobody else is
// named. Made beside named ones, that entry would clash with the creator's own (field fault BR-45).
func CreatorIsAdmin(access map[string]Access) bool {
	for _, a := range access {
		if a.Policy == ClusterAdmin {
			return false
		}
	}
	return true
}

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
func cniEnv(prefixDelegation bool) map[string]string {
	env := map[string]string{"AWS_VPC_K8S_CNI_LOGLEVEL": "INFO", "AWS_VPC_K8S_PLUGIN_LOG_LEVEL": "INFO"}
	if prefixDelegation {
		env["ENABLE_PREFIX_DELEGATION"] = "true"
		env["WARM_PREFIX_TARGET"] = "1"
	}
	return env
}

// Caller is who asks for the token of the Kubernetes API, as far as the aws command has to be told. The zero value is
// the person who runs the command.
type Caller struct {
	// Arguments of `aws eks get-token`, and variables of its environment.
	Arguments   []string
	Environment map[string]string
	// Secret says that one of them must not be shown.
	Secret bool
}

// Kubeconfig lets kubectl and Pulumi reach the cluster. Without a caller it holds no secret, and asks as the person who
// uses it.
// It depends on nothing but these values: anything else that changed in it would replace the Kubernetes provider and
// every object with it (field fault BR-89).
func Kubeconfig(name, endpoint, certificateAuthority, region string, caller Caller) (string, error) {
	for what, value := range map[string]string{
		"name": name, "endpoint": endpoint, "certificate authority": certificateAuthority, "region": region,
	} {
		if value == "" {
			return "", fmt.Errorf("kubeconfig: the cluster's %s is empty", what)
		}
	}
	type object = map[string]any
	exec := object{
		"apiVersion": "client.authentication.k8s.io/v1", "command": "aws", "interactiveMode": "Never",
		"args": append([]string{"eks", "get-token", "--region", region, "--cluster-name", name, "--output", "json"},
			caller.Arguments...),
	}
	var env []object
	for _, variable := range slices.Sorted(maps.Keys(caller.Environment)) {
		env = append(env, object{"name": variable, "value": caller.Environment[variable]})
	}
	if env != nil {
		exec["env"] = env
	}
	text, err := json.Marshal(object{
		"apiVersion":      "v1",
		"kind":            "Config",
		"current-context": name,
		"clusters": []object{{
			"name":    name,
			"cluster": object{"server": endpoint, "certificate-authority-data": certificateAuthority},
		}},
		"contexts": []object{{"name": name, "context": object{"cluster": name, "user": name}}},
		"users":    []object{{"name": name, "user": object{"exec": exec}}},
	})
	return string(text), err
}
