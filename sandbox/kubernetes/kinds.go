package kubernetes

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
)

// builtin are the kinds an EKS cluster knows by itself, by apiVersion; true for kinds that live in a namespace.
var builtin = map[string]map[string]bool{
	"v1": {
		"ConfigMap":             true,
		"Endpoints":             true,
		"Event":                 true,
		"LimitRange":            true,
		"Namespace":             false,
		"Node":                  false,
		"PersistentVolume":      false,
		"PersistentVolumeClaim": true,
		"Pod":                   true,
		"ReplicationController": true,
		"ResourceQuota":         true,
		"Secret":                true,
		"Service":               true,
		"ServiceAccount":        true,
	},
	"apps/v1":              {"DaemonSet": true, "Deployment": true, "ReplicaSet": true, "StatefulSet": true},
	"batch/v1":             {"CronJob": true, "Job": true},
	"autoscaling/v2":       {"HorizontalPodAutoscaler": true},
	"policy/v1":            {"PodDisruptionBudget": true},
	"networking.k8s.io/v1": {"Ingress": true, "IngressClass": false, "NetworkPolicy": true},
	"rbac.authorization.k8s.io/v1": {
		"ClusterRole":        false,
		"ClusterRoleBinding": false,
		"Role":               true,
		"RoleBinding":        true,
	},
	"storage.k8s.io/v1":      {"CSIDriver": false, "StorageClass": false, "VolumeAttributesClass": false},
	"scheduling.k8s.io/v1":   {"PriorityClass": false},
	"coordination.k8s.io/v1": {"Lease": true},
	"resource.k8s.io/v1": {
		"DeviceClass":           false,
		"ResourceClaim":         true,
		"ResourceClaimTemplate": true,
		"ResourceSlice":         false,
	},
	"admissionregistration.k8s.io/v1": {"MutatingWebhookConfiguration": false, "ValidatingWebhookConfiguration": false,
		"ValidatingAdmissionPolicy": false, "ValidatingAdmissionPolicyBinding": false},
	"apiextensions.k8s.io/v1":   {"CustomResourceDefinition": false},
	"apiregistration.k8s.io/v1": {"APIService": false},
}

// autoModeKinds are the custom kinds that EKS Auto Mode brings with the cluster.
// https://docs.aws.amazon.com/eks/latest/userguide/create-node-class.html
var autoModeKinds = map[string]map[string]bool{
	"karpenter.sh/v1":            {"NodePool": false, "NodeClaim": false},
	"eks.amazonaws.com/v1":       {"NodeClass": false, "IngressClassParams": false, "TargetGroupBinding": true},
	"eks.amazonaws.com/v1alpha1": {"NodeDiagnostic": false},
}

// namespaces that every cluster has.
var namespaces = []string{"default", "kube-system", "kube-public", "kube-node-lease"}

const (
	crdVersion = "apiextensions.k8s.io/v1"
	crdKind    = "CustomResourceDefinition"
)

// immutable are the fields whose change replaces the object, by kind; the object's own identity always does.
// https://github.com/pulumi/pulumi-kubernetes/blob/master/provider/pkg/provider/diff.go lists them in the real
// provider.
var immutable = map[string][]string{
	"ConfigMap":    {"data", "binaryData"},
	"Secret":       {"type", "data", "stringData"},
	"StorageClass": {"provisioner", "parameters", "reclaimPolicy", "volumeBindingMode"},
	"Deployment":   {"spec.selector"},
	"DaemonSet":    {"spec.selector"},
	"StatefulSet":  {"spec.selector", "spec.serviceName"},
}

var identity = []string{"apiVersion", "kind", "metadata.name", "metadata.namespace"}

// nameProblem says why a name is refused, or is empty.
func nameProblem(kind, name string) string {
	var errs []string
	switch {
	case kind == "Namespace" || kind == "Service":
		errs = validation.IsDNS1123Label(name)
	case strings.HasSuffix(kind, "Role") || strings.HasSuffix(kind, "RoleBinding"):
		if name == "." || name == ".." || strings.ContainsAny(name, "/%") {
			errs = []string{"may not be '.', '..', nor contain '/' or '%'"}
		}
	default:
		errs = validation.IsDNS1123Subdomain(name)
	}
	if len(errs) == 0 {
		return ""
	}
	return fmt.Sprintf("Invalid value: %q: %s", name, strings.Join(errs, "; "))
}

// labelProblems says which labels are refused.
func labelProblems(labels map[string]string) []string {
	var out []string
	for key, value := range labels {
		for _, e := range validation.IsQualifiedName(key) {
			out = append(out, fmt.Sprintf("Invalid label key %q: %s", key, e))
		}
		for _, e := range validation.IsValidLabelValue(value) {
			out = append(out, fmt.Sprintf("Invalid value %q of label %s: %s", value, key, e))
		}
	}
	slices.Sort(out)
	return out
}

// checkToken holds a type token to the object's own apiVersion and kind: "kubernetes:core/v1:Namespace" is v1
// Namespace.
func checkToken(token, apiVersion, kind string) error {
	parts := strings.Split(token, ":")
	if len(parts) != 3 || parts[0] != "kubernetes" {
		return fmt.Errorf("%q is not the type of a Kubernetes object", token)
	}
	if strings.HasSuffix(parts[2], "Patch") || (strings.HasSuffix(parts[2], "List") && parts[2] != kind) {
		return fmt.Errorf("the sandbox's kubernetes provider knows objects, not patches or lists: %s", token)
	}
	module := apiVersion
	if !strings.Contains(apiVersion, "/") {
		module = "core/" + apiVersion // the group without a name
	}
	if parts[2] != kind || parts[1] != module {
		return fmt.Errorf("type %s does not fit the object's apiVersion %q and kind %q", token, apiVersion, kind)
	}
	return nil
}
