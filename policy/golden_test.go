package main

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pulumi/pulumi/sdk/v3/go/property"
)

// record is a resource of a recorded graph: testdata/graph.json is a list of them. Props are what stack rules see
// (inputs and outputs).
type record struct {
	Type          string         `json:"type"`
	Name          string         `json:"name"`
	Parent        string         `json:"parent,omitempty"`
	Props         map[string]any `json:"props"`
	Protect       bool           `json:"protect,omitempty"`
	IgnoreChanges []string       `json:"ignoreChanges,omitempty"`
}

// unknown and secret stand in props for what a preview cannot know and what must not be shown.
type unknown struct{}
type secret struct{ value any }

func loadGraph(t testing.TB) []record {
	t.Helper()
	return loadFile(t, "testdata/graph.json")
}

func loadFile(t testing.TB, path string) []record {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var records []record
	if err := json.Unmarshal(text, &records); err != nil {
		t.Fatal(err)
	}
	return records
}

func value(v any) property.Value {
	switch v := v.(type) {
	case unknown:
		return property.New(property.Computed)
	case secret:
		return value(v.value).WithSecret(true)
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
		return property.New(props(v))
	}
	panic("no property value")
}

func props(m map[string]any) property.Map {
	out := map[string]property.Value{}
	for k, e := range m {
		out[k] = value(e)
	}
	return property.NewMap(out)
}

func (r record) resource() Resource {
	view := newResource(r.Type, r.Name, "urn:pulumi:dev::headroom::"+r.Type+"::"+r.Name, props(r.Props))
	view.Parent, view.Protect, view.IgnoreChanges = r.Parent, r.Protect, r.IgnoreChanges
	return view
}

var testEnv = Environment{Region: "us-west-2"}
var testNow = time.Date(2026, 11, 30, 9, 0, 0, 0, time.UTC)

// evaluate runs every rule over the records: finding lists by rule.
func evaluate(records []record, env Environment, settings map[string]map[string]any) map[string][]Finding {
	g, seen := Graph{}, map[string]int{}
	for _, r := range records {
		g.Resources = append(g.Resources, r.resource())
		seen[r.Type]++
	}
	out := map[string][]Finding{}
	for _, rule := range Rules {
		c := Check{Env: env, Now: testNow, Seen: seen, settings: settings[rule.Name]}
		for _, r := range g.Resources {
			out[rule.Name] = append(out[rule.Name], rule.run(c, &r, Graph{})...)
		}
		out[rule.Name] = append(out[rule.Name], rule.run(c, nil, g)...)
	}
	return out
}

// violating names the rules that found a violation, sorted.
func violating(findings map[string][]Finding) (names []string) {
	for name, list := range findings {
		if slices.ContainsFunc(list, func(f Finding) bool { return !f.Unknown }) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

func texts(list []Finding) string {
	var out []string
	for _, f := range list {
		out = append(out, f.URN+": "+f.Text)
	}
	return strings.Join(out, "\n")
}

// at walks to the parent of the last step of a path.
func at(t testing.TB, root any, path ...any) (parent any, last any) {
	t.Helper()
	for _, step := range path[:len(path)-1] {
		switch s := step.(type) {
		case string:
			root = root.(map[string]any)[s]
		case int:
			root = root.([]any)[s]
		}
	}
	if root == nil {
		t.Fatalf("the golden graph has nothing at %v", path)
	}
	return root, path[len(path)-1]
}

func (r record) set(t testing.TB, v any, path ...any) {
	parent, last := at(t, any(r.Props), path...)
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

func (r record) replace(t testing.TB, old, new string, path ...any) {
	parent, last := at(t, any(r.Props), path...)
	text := parent.(map[string]any)[last.(string)].(string)
	if !strings.Contains(text, old) {
		t.Fatalf("%s: no %q at %v of the golden graph", r.Name, old, path)
	}
	parent.(map[string]any)[last.(string)] = strings.ReplaceAll(text, old, new)
}

// find gives the record with this name, which a mutation is about.
func find(t testing.TB, records []record, name string) *record {
	t.Helper()
	for i := range records {
		if records[i].Name == name && !strings.HasPrefix(records[i].Type, "headroom:") {
			return &records[i]
		}
	}
	t.Fatalf("the golden graph has no %s", name)
	return nil
}

func drop(records []record, names ...string) []record {
	return slices.DeleteFunc(records, func(r record) bool { return slices.Contains(names, r.Name) })
}

// recorded graphs of the program, in the golden graph's form: whatever lies there is held to the rules.
var recorded = flag.String("recorded", "testdata/recorded/*.json", "graphs to hold to the rules")

// A graph recorded from mocks knows no outputs, so that notes on unknown values are allowed here.
func TestRecordedGraphsViolateNothing(t *testing.T) {
	files, err := filepath.Glob(*recorded)
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		for name, list := range evaluate(loadFile(t, file), testEnv, nil) {
			if bad := slices.DeleteFunc(list, func(f Finding) bool { return f.Unknown }); len(bad) > 0 {
				t.Errorf("%s: %s:\n%s", file, name, texts(bad))
			}
		}
	}
}

func TestGoldenGraphViolatesNothing(t *testing.T) {
	for name, list := range evaluate(loadGraph(t), testEnv, nil) {
		if len(list) > 0 {
			t.Errorf("%s:\n%s", name, texts(list))
		}
	}
}

// Field fault BR-95: a rule bound to a type that never comes passes in silence.
func TestEveryTypeARuleReliesOnIsInTheGoldenGraph(t *testing.T) {
	records := loadGraph(t)
	for _, rule := range Rules {
		for _, typ := range rule.Types {
			one := Rule{Types: []string{typ}}
			if typ == "aws:ec2/vpcEndpoint:VpcEndpoint" || strings.HasPrefix(typ, "aws:ec2/") &&
				rule.Name == "tags-present" ||
				typ == typeProfile || typ == typeAlias || typ == typeRolePolicy {
				// optional parts of a program: read like their neighbours, held to the SDK by TestTypeTokensAreTheSDKs
				continue
			}
			if !slices.ContainsFunc(records, func(r record) bool { return one.Wants(r.Type) }) {
				t.Errorf("%s relies on %s, which the golden graph does not have", rule.Name, typ)
			}
		}
	}
}

func TestEveryRuleIsComplete(t *testing.T) {
	names := map[string]bool{}
	for _, r := range Rules {
		if r.Name == "" || r.Area == "" || r.Why == "" || r.Remedy == "" || len(r.Types) == 0 ||
			(r.Resource == nil) == (r.Stack == nil) {
			t.Errorf("rule %q lacks a part", r.Name)
		}
		if r.Level != Advisory && r.Level != Mandatory {
			t.Errorf("rule %q has level %q", r.Name, r.Level)
		}
		if names[r.Name] || strings.ToLower(r.Name) != r.Name || strings.ContainsAny(r.Name, " _") {
			t.Errorf("rule name %q is taken or not kebab-case", r.Name)
		}
		names[r.Name] = true
	}
}
