package eks

import (
	"bytes"
	"crypto/sha1"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"strings"
)

// Managed policies the component attaches, by role. The ids are those of the commercial partition: the component names
// an attachment after the id, so that its name does not depend on where it runs.
var (
	clusterPolicies     = []string{"AmazonEKSClusterPolicy"}
	clusterAutoPolicies = []string{"AmazonEKSComputePolicy", "AmazonEKSBlockStoragePolicy",
		"AmazonEKSLoadBalancingPolicy", "AmazonEKSNetworkingPolicy"}
	nodeAutoPolicies = []string{"AmazonEKSWorkerNodeMinimalPolicy", "AmazonEC2ContainerRegistryPullOnly"}
	instancePolicies = []string{"AmazonEKSWorkerNodePolicy", "AmazonEKS_CNI_Policy",
		"AmazonEC2ContainerRegistryReadOnly"}
)

// attachmentName is the component's name for a managed policy on a role: the role's name and eight digits of the
// policy's hash.
func attachmentName(role, policy string) string {
	sum := sha1.Sum([]byte("arn:aws:iam::aws:policy/" + policy))
	return role + "-" + hex.EncodeToString(sum[:])[:8]
}

// assumeRolePolicy lets one service assume a role, in the component's own key order.
func assumeRolePolicy(service string, actions ...string) string {
	return fmt.Sprintf(
		`{"Version":"2012-10-17","Statement":[{"Action":%s,"Effect":"Allow","Principal":{"Service":[%q]}}]}`,
		compact(actions), service)
}

// cniVariable is one environment variable of the vpc-cni add-on: the option it comes from and what is sent when the
// option is absent or, as in JavaScript, false, zero or empty.
type cniVariable struct{ option, env, absent string }

var cniVariables = []cniVariable{
	{"nodePortSupport", "AWS_VPC_CNI_NODE_PORT_SUPPORT", ""},
	{"warmEniTarget", "WARM_ENI_TARGET", "1"},
	{"warmIpTarget", "WARM_IP_TARGET", ""},
	{"warmPrefixTarget", "WARM_PREFIX_TARGET", ""},
	{"enablePrefixDelegation", "ENABLE_PREFIX_DELEGATION", ""},
	{"logLevel", "AWS_VPC_K8S_CNI_LOGLEVEL", "DEBUG"},
	{"logFile", "AWS_VPC_K8S_CNI_LOG_FILE", "/host/var/log/aws-routed-eni/ipamd.log"},
	{"vethPrefix", "AWS_VPC_K8S_CNI_VETHPREFIX", "eni"},
	{"eniMtu", "AWS_VPC_ENI_MTU", "9001"},
	{"eniConfigLabelDef", "ENI_CONFIG_LABEL_DEF", ""},
	{"pluginLogLevel", "AWS_VPC_K8S_PLUGIN_LOG_LEVEL", "DEBUG"},
	{"pluginLogFile", "AWS_VPC_K8S_PLUGIN_LOG_FILE", "/var/log/aws-routed-eni/plugin.log"},
	{"enablePodEni", "ENABLE_POD_ENI", "false"},
	{"cniConfigureRpfilter", "AWS_VPC_K8S_CNI_CONFIGURE_RPFILTER", ""},
	// customNetworkConfig is set first and overwritten by this one in the component, so that alone it has no effect.
	{"cniCustomNetworkCfg", "AWS_VPC_K8S_CNI_CUSTOM_NETWORK_CFG", "false"},
	{"cniExternalSnat", "AWS_VPC_K8S_CNI_EXTERNALSNAT", "false"},
}

const cniInitOption = "disableTcpEarlyDemux"

// cniConfiguration is the JSON the component sends as configurationValues of vpc-cni. Options hold plain values; custom
// values win over them, key by key.
func cniConfiguration(options map[string]any) (string, error) {
	if truthy(options["externalSnat"]) != "" {
		if truthy(options["cniExternalSnat"]) != "" {
			return "", fmt.Errorf("vpcCniOptions: cniExternalSnat and externalSnat cannot both be set")
		}
		options = maps.Clone(options)
		options["cniExternalSnat"] = options["externalSnat"]
	}
	env := map[string]any{}
	for _, v := range cniVariables {
		if value := truthy(options[v.option]); value != "" {
			env[v.env] = value
		} else if v.absent != "" {
			env[v.env] = v.absent
		}
	}
	initEnv := map[string]any{"DISABLE_TCP_EARLY_DEMUX": "false"}
	if value := truthy(options[cniInitOption]); value != "" {
		initEnv["DISABLE_TCP_EARLY_DEMUX"] = value
	}
	config := map[string]any{}
	if custom, ok := options["configurationValues"].(map[string]any); ok {
		maps.Copy(config, custom)
	}
	if _, ok := config["enableNetworkPolicy"]; !ok && options["enableNetworkPolicy"] != nil {
		config["enableNetworkPolicy"] = fmt.Sprint(options["enableNetworkPolicy"])
	}
	config["env"] = merged(env, config["env"])
	init, _ := config["init"].(map[string]any)
	init = merged(map[string]any{}, init)
	init["env"] = merged(initEnv, init["env"])
	config["init"] = init
	return compact(config), nil
}

func merged(base map[string]any, over any) map[string]any {
	out := maps.Clone(base)
	if m, ok := over.(map[string]any); ok {
		maps.Copy(out, m)
	}
	return out
}

// truthy is the text of a value that JavaScript takes for true, else empty.
func truthy(v any) string {
	said := ""
	if v != nil {
		said = fmt.Sprint(v)
	}
	if said == "false" || said == "0" {
		return ""
	}
	return said
}

// compact is JSON on one line, map keys sorted, with no HTML escapes: what JSON.stringify makes of sorted keys.
func compact(v any) string {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return fmt.Sprintf("%q", err) // only for values that came in as JSON: cannot happen
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// credentials say how a kubeconfig gets its token.
type credentials struct{ roleArn, profile string }

// kubeconfig is the component's kubeconfig: one cluster, one user that asks the aws command for a token.
func kubeconfig(name, endpoint, region, ca string, c credentials) map[string]any {
	args := []any{"--region", region, "eks", "get-token", "--cluster-name", name, "--output", "json"}
	if c.roleArn != "" {
		args = append(args, "--role", c.roleArn)
	}
	if c.profile != "" {
		args = append(args, "--profile", c.profile)
	}
	return map[string]any{
		"apiVersion": "v1",
		"clusters": []any{map[string]any{
			"cluster": map[string]any{"server": endpoint, "certificate-authority-data": ca},
			"name":    "kubernetes",
		}},
		"contexts": []any{map[string]any{
			"context": map[string]any{"cluster": "kubernetes", "user": "aws"},
			"name":    "aws",
		}},
		"current-context": "aws",
		"kind":            "Config",
		"users": []any{map[string]any{"name": "aws", "user": map[string]any{"exec": map[string]any{
			"apiVersion": "client.authentication.k8s.io/v1beta1",
			"command":    "aws",
			"args":       args,
			"env": []any{map[string]any{
				"name":  "KUBERNETES_EXEC_INFO",
				"value": `{"apiVersion": "client.authentication.k8s.io/v1beta1"}`,
			}},
		}}}},
	}
}

// regionOf reads the region out of an ARN; empty when the ARN has none.
func regionOf(arn string) string {
	made := strings.Split(arn, ":")
	if len(made) < 4 {
		return ""
	}
	return made[3]
}
