package kubernetes

import (
	"encoding/json"
	"fmt"
	"path"
	"strings"
)

// release is one chart as installed.
type release struct {
	chart, name, namespace, version string
	values                          map[string]any
	skipCRDs                        bool
}

// valuesAnnotation carries a chart's values on its stand-in object, where tests and policies can read them.
const valuesAnnotation = "sandbox.headroom/chart-values"

// standIn says which objects stand for a chart. They are not what the chart renders: they have its kinds, its main
// object's name and its values, which is what other objects and rules depend on.
var standIns = map[string]func(release) []object{
	"karpenter-crd": func(r release) []object { return karpenterDefinitions() },
	"karpenter": func(r release) []object {
		controller := r.workload("apps/v1", "Deployment", r.name)
		controller.at("spec").(map[string]any)["template"] = r.karpenterPod()
		objects := []object{r.serviceAccount(r.name), controller}
		if !r.skipCRDs {
			objects = append(karpenterDefinitions(), objects...)
		}
		return objects
	},
	"cluster-autoscaler": func(r release) []object {
		return []object{r.serviceAccount(r.name + "-aws-cluster-autoscaler"),
			r.workload("apps/v1", "Deployment", r.name+"-aws-cluster-autoscaler")}
	},
	"nvidia-device-plugin": func(r release) []object { return []object{r.workload("apps/v1", "DaemonSet", r.name)} },
	"dra-driver-nvidia-gpu": func(r release) []object {
		class := object{
			"apiVersion": "resource.k8s.io/v1",
			"kind":       "DeviceClass",
			"metadata":   map[string]any{"name": "gpu.nvidia.com"},
			"spec": map[string]any{"selectors": []any{
				map[string]any{"cel": map[string]any{"expression": "device.driver == 'gpu.nvidia.com'"}},
			}},
		}
		return []object{r.serviceAccount(r.name + "-service-account-kubeletplugin"),
			r.workload("apps/v1", "DaemonSet", r.name+"-kubelet-plugin"), class}
	},
}

// karpenterDefinitions are the kinds of Karpenter, without their schemas.
func karpenterDefinitions() []object {
	var out []object
	for _, d := range []struct{ group, plural, kind, version string }{
		{"karpenter.sh", "nodepools", "NodePool", "v1"},
		{"karpenter.sh", "nodeclaims", "NodeClaim", "v1"},
		{"karpenter.sh", "nodeoverlays", "NodeOverlay", "v1alpha1"},
		{"karpenter.k8s.aws", "ec2nodeclasses", "EC2NodeClass", "v1"},
	} {
		out = append(out, object{
			"apiVersion": crdVersion,
			"kind":       crdKind,
			"metadata":   map[string]any{"name": d.plural + "." + d.group},
			"spec": map[string]any{
				"group":    d.group,
				"scope":    "Cluster",
				"names":    map[string]any{"kind": d.kind, "plural": d.plural},
				"versions": []any{map[string]any{"name": d.version, "served": true, "storage": true}},
			},
		})
	}
	return out
}

// parseRelease reads a chart's arguments, all known.
func parseRelease(component string, args map[string]any) (release, error) {
	r := release{
		chart:     path.Base(str(args["chart"])),
		name:      str(args["name"]),
		namespace: str(args["namespace"]),
		version:   str(args["version"]),
	}
	r.values, _ = args["values"].(map[string]any)
	r.skipCRDs, _ = args["skipCrds"].(bool)
	if r.name == "" {
		r.name = component
	}
	if r.namespace == "" {
		r.namespace = "default"
	}
	switch {
	case str(args["chart"]) == "":
		return r, fmt.Errorf("chart: missing")
	case r.version == "":
		return r, fmt.Errorf("version: missing; without one the newest chart of the day is installed")
	case strings.HasPrefix(str(args["chart"]), "oci://") && args["repositoryOpts"] != nil:
		// Helm appends the chart's name to the repository, so that the last part of the address would occur twice.
		return r, fmt.Errorf("repositoryOpts: given together with the OCI address %s", str(args["chart"]))
	case len(r.name) > 53:
		return r, fmt.Errorf("name: %q has %d characters, Helm takes at most 53", r.name, len(r.name))
	}
	return r, nil
}

// karpenterPod has what tells a reader of the chart's objects whether the controller serves ResourceClaims, under the
// name the real chart has for it: charts/karpenter/templates/deployment.yaml of github.com/aws/karpenter-provider-aws
// v1.15.0.
func (r release) karpenterPod() map[string]any {
	enabled, _ := object(r.values).at("settings", "enableDRA").(bool)
	return map[string]any{"spec": map[string]any{"containers": []any{map[string]any{
		"name":  "controller",
		"image": "public.ecr.aws/karpenter/controller:" + r.version,
		"env":   []any{map[string]any{"name": "AWS_FEATURE_GATES", "value": fmt.Sprintf("DRANVIDIAGPU=%t", enabled)}},
	}}}}
}

// objects are those that stand for the release; an unknown chart is one Deployment of the release's name.
func (r release) objects() []object {
	if standIn, found := standIns[r.chart]; found {
		return standIn(r)
	}
	return []object{r.workload("apps/v1", "Deployment", r.name)}
}

// serviceAccount takes name and annotations from the usual values.
func (r release) serviceAccount(name string) object {
	for _, where := range [][]string{{"serviceAccount"}, {"rbac", "serviceAccount"}} {
		account, _ := object(r.values).at(where...).(map[string]any)
		if account == nil {
			continue
		}
		if own := str(account["name"]); own != "" {
			name = own
		}
		metadata := r.metadata(name)
		if annotations, ok := account["annotations"].(map[string]any); ok {
			metadata["annotations"] = annotations
		}
		return object{"apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata}
	}
	return object{"apiVersion": "v1", "kind": "ServiceAccount", "metadata": r.metadata(name)}
}

func (r release) workload(apiVersion, kind, name string) object {
	given, err := json.Marshal(r.values)
	if err != nil {
		given = fmt.Appendf(nil, "%q", err)
	}
	metadata := r.metadata(name)
	metadata["annotations"] = map[string]any{
		valuesAnnotation:         string(given),
		"sandbox.headroom/chart": r.chart + "-" + r.version,
	}
	labels := map[string]any{"app.kubernetes.io/name": r.chart, "app.kubernetes.io/instance": r.name}
	spec := map[string]any{"selector": map[string]any{"matchLabels": labels}}
	if replicas, ok := r.values["replicas"]; ok && kind == "Deployment" {
		spec["replicas"] = replicas
	}
	return object{"apiVersion": apiVersion, "kind": kind, "metadata": metadata, "spec": spec}
}

func (r release) metadata(name string) map[string]any {
	return map[string]any{"name": name, "namespace": r.namespace, "labels": map[string]any{
		"app.kubernetes.io/name":       r.chart,
		"app.kubernetes.io/instance":   r.name,
		"app.kubernetes.io/managed-by": "Helm",
	}}
}

func str(v any) string {
	s, _ := v.(string)
	return s
}

// token is the Pulumi type of an object: "kubernetes:apps/v1:Deployment", "kubernetes:core/v1:Namespace".
func (o object) token() string {
	module := o.apiVersion()
	if !strings.Contains(module, "/") {
		module = "core/" + module
	}
	return "kubernetes:" + module + ":" + o.kind()
}
