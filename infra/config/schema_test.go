package config

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/invopop/jsonschema"
)

// update rewrites the generated files: go test ./infra/config -update
var update = flag.Bool("update", false,
	"rewrite environment.schema.json and the table of keys in docs/configuration.md")

const (
	schemaFile = "infra/config/environment.schema.json"
	docsFile   = "docs/configuration.md"
	marker     = "<!-- generated from infra/config/environment.go: go test ./infra/config -update -->"
)

func schema(t *testing.T) *jsonschema.Schema {
	t.Helper()
	t.Chdir("../..") // comments are found by the path of the package from the root of the module
	reflector := &jsonschema.Reflector{ExpandedStruct: true}
	for _, folder := range []string{"./infra/config", "./components/nodepool"} {
		if err := reflector.AddGoComments("github.com/headroom-eks/headroom", folder,
			jsonschema.WithFullComment()); err != nil {
			t.Fatal(err)
		}
	}
	s := reflector.Reflect(&Environment{})
	s.ID = ""
	s.Title = "headroom:environment"
	flatten(s)
	return s
}

// flatten takes the line ends of comments out of every description.
func flatten(s *jsonschema.Schema) {
	if s == nil {
		return
	}
	s.Description = flat(s.Description)
	for pair := s.Properties.Oldest(); pair != nil; pair = pair.Next() {
		flatten(pair.Value)
	}
	flatten(s.Items)
	flatten(s.AdditionalProperties)
	for _, definition := range s.Definitions {
		flatten(definition)
	}
}

func TestSchemaFileIsWhatTheStructSays(t *testing.T) {
	s := schema(t)
	text, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	holdFile(t, schemaFile, append(text, '\n'))
}

func TestConfigurationGuideIsWhatTheStructSays(t *testing.T) {
	s := schema(t)
	guide, err := os.ReadFile(docsFile)
	if err != nil {
		t.Fatal(err)
	}
	before, _, found := strings.Cut(string(guide), marker)
	if !found {
		t.Fatalf("%s has no line %q", docsFile, marker)
	}
	holdFile(t, docsFile, []byte(before+marker+"\n"+keyTables(s)))
}

// keyTables writes a table for the object itself and one for each object inside it, in the order of the struct.
func keyTables(s *jsonschema.Schema) string {
	var out bytes.Buffer
	var visit func(title string, object *jsonschema.Schema, seen map[string]bool)
	visit = func(title string, object *jsonschema.Schema, seen map[string]bool) {
		fmt.Fprintf(&out, "\n## %s\n\n", title)
		if object.Description != "" && title != "environment" {
			fmt.Fprintf(&out, "%s\n\n", flat(object.Description))
		}
		fmt.Fprintf(&out, "| key | type | default | what |\n|---|---|---|---|\n")
		var inner []*jsonschema.Schema
		var titles []string
		for pair := object.Properties.Oldest(); pair != nil; pair = pair.Next() {
			key, value := pair.Key, pair.Value
			fmt.Fprintf(&out, "| `%s` | %s | %s | %s |\n", key, typeOf(value), defaultOf(value),
				flat(value.Description))
			name := refName(value)
			if name == "" || seen[name] || s.Definitions[name] == nil || s.Definitions[name].Properties == nil ||
				s.Definitions[name].Properties.Len() == 0 {
				continue
			}
			seen[name] = true
			inner, titles = append(inner, s.Definitions[name]), append(titles, key)
		}
		for i, object := range inner {
			visit(titles[i], object, seen)
		}
	}
	visit("environment", s, map[string]bool{})
	return out.String()
}

func refName(s *jsonschema.Schema) string {
	switch {
	case s.Ref != "":
		return strings.TrimPrefix(s.Ref, "#/$defs/")
	case s.Items != nil:
		return refName(s.Items)
	case s.AdditionalProperties != nil && s.AdditionalProperties.Ref != "":
		return refName(s.AdditionalProperties)
	}
	return ""
}

func typeOf(s *jsonschema.Schema) string {
	if len(s.Enum) > 0 {
		values := make([]string, len(s.Enum))
		for i, v := range s.Enum {
			values[i] = fmt.Sprintf("`%v`", v)
		}
		return strings.Join(values, ", ")
	}
	switch {
	case s.Items != nil:
		return "list of " + typeOf(s.Items)
	case s.Type == "object" || s.Ref != "":
		return "object"
	case s.Type == "":
		return "text"
	}
	return map[string]string{"string": "text", "integer": "number", "boolean": "true or false"}[s.Type]
}

func defaultOf(s *jsonschema.Schema) string {
	if s.Default == nil {
		return ""
	}
	return fmt.Sprintf("`%v`", s.Default)
}

func flat(text string) string {
	return strings.ReplaceAll(strings.Join(strings.Fields(text), " "), "|", "\\|")
}

func holdFile(t *testing.T, path string, want []byte) {
	t.Helper()
	if *update {
		if err := os.WriteFile(path, want, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s is not what infra/config/environment.go says; run: go test ./infra/config -update", path)
	}
}

// Outside finding 10 of the second trial: a list has its default in words, for those that cost money or decide what is
// firm.
func TestDefaultsOfListsAreDocumented(t *testing.T) {
	env, _ := load(environment(`"general": {"scaler": "karpenter", "limits": {"vcpus": 1, "memoryGiB": 1}}`,
		`"pools": [{"name": "a", "scaler": "karpenter", "maxNodeCount": 1, "instanceTypes": ["g6.xlarge"]}]`))
	s := schema(t)
	for _, c := range []struct {
		object, key string
		inForce     any
	}{
		{"Cluster", "logTypes", env.Cluster.LogTypes},
		{"General", "instanceCategories", env.General.InstanceCategories},
		{"General", "capacityTypes", env.General.CapacityTypes},
		{"General", "budgets", env.General.Budgets[0].Nodes},
		{"Pool", "capacityTypes", env.Pools[0].CapacityTypes},
		{"Pool", "budgets", env.Pools[0].Budgets[0].Nodes},
	} {
		property, found := s.Definitions[c.object].Properties.Get(c.key)
		if !found {
			t.Fatalf("no %s.%s", c.object, c.key)
		}
		want := strings.ReplaceAll(strings.Trim(fmt.Sprint(c.inForce), "[]"), " ", ", ")
		if !strings.Contains(property.Description, want+" by default") &&
			!strings.Contains(property.Description, "By default "+want) {
			t.Errorf("%s.%s is %s by default, and documented as %q", c.object, c.key, want, property.Description)
		}
	}
}
