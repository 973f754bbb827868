package nodepool

import (
	"bytes"
	"encoding/json"
	"fmt"

	"sigs.k8s.io/yaml"
)

// Manifest is one Kubernetes object as the API takes it.
type Manifest struct {
	APIVersion string         `json:"apiVersion"`
	Kind       string         `json:"kind"`
	Metadata   map[string]any `json:"metadata"`
	Spec       map[string]any `json:"spec"`
}

// YAML of the object, with keys in a fixed order.
func (m Manifest) YAML() (string, error) {
	out, err := yaml.Marshal(m)
	if err != nil {
		return "", fmt.Errorf("write %s: %w", m.Kind, err)
	}
	return string(out), nil
}

// files gives the manifests of a pool as files for GitOps: file name to YAML. The node class sorts before the
// NodePools, which need it.
func files(pool string, class Manifest, nodePools []Manifest) (map[string]string, error) {
	manifests := map[string]Manifest{"1-nodeclass": class}
	for i, nodePool := range nodePools {
		manifests[fmt.Sprintf("%d-nodepool", i+2)] = nodePool
	}
	files := map[string]string{}
	for suffix, manifest := range manifests {
		text, err := manifest.YAML()
		if err != nil {
			return nil, err
		}
		files[pool+"-"+suffix+".yaml"] = text
	}
	return files, nil
}

// nodePoolSpec and the types below mirror the part of karpenter.sh/v1 that this package writes.
// https://karpenter.sh/v1.15/concepts/nodepools/
type nodePoolSpec struct {
	Template   template          `json:"template"`
	Disruption disruption        `json:"disruption"`
	Limits     map[string]string `json:"limits"`
	Weight     int               `json:"weight,omitempty"`
	Replicas   *int              `json:"replicas,omitempty"`
}

type template struct {
	Metadata templateMetadata `json:"metadata"`
	Spec     templateSpec     `json:"spec"`
}

type templateMetadata struct {
	Labels map[string]string `json:"labels"`
}

type templateSpec struct {
	NodeClassRef           classRef      `json:"nodeClassRef"`
	Requirements           []Requirement `json:"requirements"`
	Taints                 []taint       `json:"taints,omitempty"`
	StartupTaints          []taint       `json:"startupTaints,omitempty"`
	ExpireAfter            string        `json:"expireAfter"`
	TerminationGracePeriod string        `json:"terminationGracePeriod,omitempty"`
}

type classRef struct {
	Group string `json:"group"`
	Kind  string `json:"kind"`
	Name  string `json:"name"`
}

type taint struct {
	Key    string `json:"key"`
	Value  string `json:"value,omitempty"`
	Effect string `json:"effect"`
}

type disruption struct {
	ConsolidationPolicy string   `json:"consolidationPolicy,omitempty"`
	ConsolidateAfter    string   `json:"consolidateAfter,omitempty"`
	Budgets             []Budget `json:"budgets"`
}

// Requirement narrows the nodes that a pool may make.
type Requirement struct {
	Key      string   `json:"key"`
	Operator string   `json:"operator"`
	Values   []string `json:"values,omitempty"`
}

// object turns a typed part of a manifest into the plain form in which providers and YAML take it. Whole numbers stay
// whole (field fault BR-90): they come out as int, not as float64.
func object(typed any) (map[string]any, error) {
	text, err := json.Marshal(typed)
	if err != nil {
		return nil, err
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	var out map[string]any
	if err := decoder.Decode(&out); err != nil {
		return nil, err
	}
	return whole(out).(map[string]any), nil
}

// whole replaces every json.Number by an int; this package writes no other numbers.
func whole(value any) any {
	switch v := value.(type) {
	case map[string]any:
		for key, item := range v {
			v[key] = whole(item)
		}
	case []any:
		for i, item := range v {
			v[i] = whole(item)
		}
	case json.Number:
		if n, err := v.Int64(); err == nil {
			return int(n)
		}
	}
	return value
}
