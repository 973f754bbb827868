// Package graphtest gives tests of rules a graph of resources to look at: the golden one, which violates no rule, and
// what a test makes of it with properties changed, unknown or secret.
//
// It owns the form of such a graph. It does not own what a rule must say of it. Nothing but tests imports it.
package graphtest

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/headroom-eks/headroom/policy/view"
	"github.com/pulumi/pulumi/sdk/v3/go/property"
)

// Record is a resource of a graph; golden.json is a list of them.
type Record struct {
	Type   string `json:"type"`
	Name   string `json:"name"`
	Parent string `json:"parent,omitempty"`
	// Props are what stack rules see: inputs and outputs. Unknown and Secret stand in them for what a preview cannot
	// know and for what must not be shown.
	Props         map[string]any `json:"props"`
	Protect       bool           `json:"protect,omitempty"`
	IgnoreChanges []string       `json:"ignoreChanges,omitempty"`
}

// Unknown is a property that the update decides.
type Unknown struct{}

// Secret is a property that must not be shown.
type Secret struct{ Value any }

//go:embed golden.json
var golden []byte

// Golden is a whole environment, with every type that rules look at, that violates nothing. Each call gives a fresh
// copy.
func Golden(t testing.TB) []Record {
	t.Helper()
	var records []Record
	if err := json.Unmarshal(golden, &records); err != nil {
		t.Fatal(err)
	}
	return records
}

// Properties as the engine shows them.
func (r Record) Properties() property.Map { return properties(r.Props) }

// View is the resource as rules see it.
func (r Record) View() view.Resource {
	seen := view.NewResource(r.Type, r.Name, "urn:pulumi:dev::headroom::"+r.Type+"::"+r.Name, r.Properties())
	seen.Parent, seen.Protect, seen.IgnoreChanges = r.Parent, r.Protect, r.IgnoreChanges
	return seen
}

// Graph of the records, in their order.
func Graph(records []Record) view.Graph {
	g := view.Graph{}
	for _, r := range records {
		g.Resources = append(g.Resources, r.View())
	}
	return g
}

// Set changes the property at a path of keys and indexes; nil takes it away.
func (r Record) Set(t testing.TB, v any, path ...any) {
	t.Helper()
	parent, last := r.at(t, path)
	switch last := last.(type) {
	case string:
		if v == nil {
			delete(parent.(map[string]any), last)
			return
		}
		parent.(map[string]any)[last] = v
	case int:
		parent.([]any)[last] = v
	}
}

// Replace changes a part of the text at a path, which must be there.
func (r Record) Replace(t testing.TB, old, new string, path ...any) {
	t.Helper()
	parent, last := r.at(t, path)
	text := parent.(map[string]any)[last.(string)].(string)
	if !strings.Contains(text, old) {
		t.Fatalf("%s: no %q at %v of the graph", r.Name, old, path)
	}
	parent.(map[string]any)[last.(string)] = strings.ReplaceAll(text, old, new)
}

// at walks to the parent of the last step of a path.
func (r Record) at(t testing.TB, path []any) (parent, last any) {
	t.Helper()
	parent = r.Props
	for _, step := range path[:len(path)-1] {
		switch s := step.(type) {
		case string:
			parent = parent.(map[string]any)[s]
		case int:
			parent = parent.([]any)[s]
		}
	}
	if parent == nil {
		t.Fatalf("%s: the graph has nothing at %v", r.Name, path)
	}
	return parent, path[len(path)-1]
}

// Find gives the record with this name, components of ours left out.
func Find(t testing.TB, records []Record, name string) *Record {
	t.Helper()
	for i := range records {
		if records[i].Name == name && !strings.HasPrefix(records[i].Type, "headroom:") {
			return &records[i]
		}
	}
	t.Fatalf("the graph has no %s", name)
	return nil
}

// Drop gives the records without those of the names.
func Drop(records []Record, names ...string) []Record {
	return slices.DeleteFunc(records, func(r Record) bool { return slices.Contains(names, r.Name) })
}

func properties(m map[string]any) property.Map {
	out := map[string]property.Value{}
	for key, e := range m {
		out[key] = value(e)
	}
	return property.NewMap(out)
}

func value(v any) property.Value {
	switch v := v.(type) {
	case Unknown:
		return property.New(property.Computed)
	case Secret:
		return value(v.Value).WithSecret(true)
	case nil:
		return property.Value{}
	case bool:
		return property.New(v)
	case int:
		return property.New(float64(v))
	case float64:
		return property.New(v)
	case string:
		return property.New(v)
	case []any:
		list := make([]property.Value, len(v))
		for i, e := range v {
			list[i] = value(e)
		}
		return property.New(list)
	case map[string]any:
		return property.New(properties(v))
	}
	panic(fmt.Sprintf("a test put a %T into a graph", v))
}
