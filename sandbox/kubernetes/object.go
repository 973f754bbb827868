package kubernetes

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/headroom-eks/headroom/sandbox/world"
)

// object is one Kubernetes object, as decoded JSON.
type object map[string]any

func (o object) apiVersion() string { return o.text("apiVersion") }
func (o object) kind() string       { return o.text("kind") }
func (o object) name() string       { return o.text("metadata", "name") }
func (o object) namespace() string  { return o.text("metadata", "namespace") }

// at digs by keys; nil when something on the way is missing.
func (o object) at(keys ...string) any {
	var v any = map[string]any(o)
	for _, key := range keys {
		m, _ := v.(map[string]any)
		v = m[key]
	}
	return v
}

func (o object) text(keys ...string) string {
	s, _ := o.at(keys...).(string)
	return s
}

func (o object) list(keys ...string) []any {
	l, _ := o.at(keys...).([]any)
	return l
}

// strings is a map of texts: labels, annotations, tags.
func (o object) strings(keys ...string) map[string]string {
	m, _ := o.at(keys...).(map[string]any)
	out := map[string]string{}
	for key, value := range m {
		if s, ok := value.(string); ok {
			out[key] = s
		}
	}
	return out
}

// id is what pulumi-kubernetes uses: namespace/name, or the name alone for cluster-wide kinds.
func (o object) id() string {
	if o.namespace() == "" {
		return o.name()
	}
	return o.namespace() + "/" + o.name()
}

// cluster is one cluster's API in the world, for the duration of one View or Update.
type cluster struct {
	state *world.State
	name  string
	auto  bool // Auto Mode is on
}

// clusterAt finds the cluster whose API server has this address.
func clusterAt(s *world.State, address string) (*cluster, error) {
	r := s.Find(clusterType, "endpoint", address)
	if r == nil {
		return nil, fmt.Errorf("configured Kubernetes cluster is unreachable: no cluster in the simulated account "+
			"has the endpoint %q", address)
	}
	return newCluster(s, r), nil
}

func clusterNamed(s *world.State, name string) (*cluster, error) {
	for _, r := range s.OfType(clusterType) {
		if r.Outputs["name"] == name || r.ID == name {
			return newCluster(s, r), nil
		}
	}
	return nil, fmt.Errorf("the simulated account has no cluster %q", name)
}

func newCluster(s *world.State, r *world.Resource) *cluster {
	name, _ := r.Outputs["name"].(string)
	if name == "" {
		name = r.ID
	}
	enabled, _ := object(r.Inputs).at("computeConfig", "enabled").(bool)
	return &cluster{state: s, name: name, auto: enabled}
}

const clusterType = "aws:eks/cluster:Cluster"

func (c *cluster) key(apiVersion, kind, namespace, name string) string {
	return world.ObjectKey(c.name, apiVersion, kind, namespace, name)
}

func (c *cluster) get(apiVersion, kind, namespace, name string) (object, bool) {
	raw, ok := c.state.Objects[c.key(apiVersion, kind, namespace, name)]
	if !ok {
		return nil, false
	}
	var o object
	if json.Unmarshal(raw, &o) != nil {
		return nil, false
	}
	return o, true
}

func (c *cluster) put(o object) error {
	raw, err := json.Marshal(o)
	if err != nil {
		return err
	}
	c.state.Objects[c.key(o.apiVersion(), o.kind(), o.namespace(), o.name())] = raw
	return nil
}

func (c *cluster) remove(o object) {
	delete(c.state.Objects, c.key(o.apiVersion(), o.kind(), o.namespace(), o.name()))
}

// all lists the cluster's objects that keep accepts, ordered by key.
func (c *cluster) all(keep func(object) bool) []object {
	var keys []string
	for key := range c.state.Objects {
		if strings.HasPrefix(key, c.name+"|") {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	var out []object
	for _, key := range keys {
		var o object
		if json.Unmarshal(c.state.Objects[key], &o) == nil && keep(o) {
			out = append(out, o)
		}
	}
	return out
}

// scope reports whether the cluster serves the kind, and whether it lives in a namespace.
func (c *cluster) scope(apiVersion, kind string) (namespaced bool, err error) {
	if kinds, ok := builtin[apiVersion]; ok {
		if namespaced, ok = kinds[kind]; ok {
			return namespaced, nil
		}
		return false, noMatch(apiVersion, kind, "the sandbox knows no such built-in kind")
	}
	if c.auto {
		if inNamespace, served := autoModeKinds[apiVersion][kind]; served {
			return inNamespace, nil
		}
	}
	group, version, _ := strings.Cut(apiVersion, "/")
	for _, crd := range c.all(func(o object) bool { return o.kind() == crdKind }) {
		if crd.text("spec", "group") != group || crd.text("spec", "names", "kind") != kind {
			continue
		}
		for _, v := range crd.list("spec", "versions") {
			if m, _ := v.(map[string]any); m["name"] == version && m["served"] != false {
				return crd.text("spec", "scope") == "Namespaced", nil
			}
		}
		return false, noMatch(apiVersion, kind, "its CustomResourceDefinition serves other versions")
	}
	return false, noMatch(apiVersion, kind, "its CustomResourceDefinition is not there; make the resource depend on "+
		"the chart that brings it")
}

func noMatch(apiVersion, kind, why string) error {
	return fmt.Errorf("no matches for kind %q in version %q: %s", kind, apiVersion, why)
}
