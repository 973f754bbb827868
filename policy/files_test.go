package main

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/headroom-eks/headroom/policy/rules"
	"github.com/headroom-eks/headroom/policy/serve"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

var update = flag.Bool("update", false, "write docs/policies.md anew")

func TestDocsPageIsTheRules(t *testing.T) {
	const page = "../docs/policies.md"
	if *update {
		if err := os.WriteFile(page, []byte(Explain(pack.Rules)), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile(page)
	if err != nil || string(text) != Explain(pack.Rules) {
		t.Errorf("docs/policies.md is not what the rules say (%v): go test ./policy -run Docs -update", err)
	}
}

// packConfig is a version 2 config file of a pack. The engine ignores a key it does not know; here it is an error.
type packConfig struct {
	Version    int            `json:"version"`
	Policies   map[string]any `json:"policies"`
	Exceptions map[string]struct {
		Reason string `json:"reason"`
		Match  []struct {
			Policies []string `json:"policies"`
			URNs     []string `json:"urns"`
		} `json:"match"`
	} `json:"exceptions"`
}

func TestConfigFilesFitThePack(t *testing.T) {
	files, err := filepath.Glob("config/*.json")
	if err != nil || len(files) < 3 {
		t.Fatalf("%d config files: %v", len(files), err)
	}
	byName := map[string]rules.Rule{serve.UnknownNote: {}}
	for _, r := range pack.Rules {
		byName[r.Name] = r
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		decoder := json.NewDecoder(bytes.NewReader(text))
		decoder.DisallowUnknownFields()
		var config packConfig
		if err := decoder.Decode(&config); err != nil || config.Version != 2 {
			t.Errorf("%s: version %d: %v", file, config.Version, err)
		}
		settingsFit(t, file, config, byName)
		exceptionsFit(t, file, config, byName)
	}
}

func settingsFit(t *testing.T, file string, config packConfig, byName map[string]rules.Rule) {
	t.Helper()
	for name, value := range config.Policies {
		rule, known := byName[name]
		if !known {
			t.Errorf("%s: the pack has no rule %q", file, name)
		}
		settings, isObject := value.(map[string]any)
		level := value
		if isObject {
			level = settings["enforcementLevel"]
			delete(settings, "enforcementLevel")
		}
		if level != nil && !slices.Contains([]any{"advisory", "mandatory", "disabled"}, level) {
			t.Errorf("%s: %s has level %v", file, name, level)
		}
		fits(t, file+": "+name, rule.Settings, settings)
	}
}

func exceptionsFit(t *testing.T, file string, config packConfig, byName map[string]rules.Rule) {
	t.Helper()
	stack := "urn:pulumi:" + strings.TrimSuffix(filepath.Base(file), ".json") + "::"
	for id, e := range config.Exceptions {
		if strings.TrimSpace(e.Reason) == "" || len(e.Match) == 0 {
			t.Errorf("%s: exception %q lacks a reason or a match", file, id)
		}
		for _, m := range e.Match {
			for _, name := range m.Policies {
				if _, known := byName[name]; !known {
					t.Errorf("%s: exception %q is about no rule of the pack: %q", file, id, name)
				}
			}
			for _, urn := range m.URNs {
				if !strings.HasPrefix(urn, stack) {
					t.Errorf("%s: exception %q is about another stack: %s", file, id, urn)
				}
			}
		}
	}
}

// fits holds settings to the schema that the pack gives the engine, unknown names refused.
func fits(t *testing.T, about string, settings []rules.Setting, given map[string]any) {
	t.Helper()
	if len(given) == 0 {
		return
	}
	document := map[string]any{"type": "object", "additionalProperties": false, "properties": map[string]any{}}
	if s := serve.Schema(settings); s != nil {
		for name, property := range s.Properties {
			delete(property, "default") // of Go types that the validator does not read
			document["properties"].(map[string]any)[name] = property
		}
	}
	compiler := jsonschema.NewCompiler()
	if err := compiler.AddResource("settings.json", document); err != nil {
		t.Fatal(err)
	}
	compiled, err := compiler.Compile("settings.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := compiled.Validate(given); err != nil {
		t.Errorf("%s: %v", about, err)
	}
}

// A provider's SDK would make the pack's build as slow as the program's. Rules and view bring neither the engine's
// client nor the program: a test or another pack has them without.
func TestImportsStaySmall(t *testing.T) {
	const providerSDK = `/pulumi-[a-z]+/sdk`
	const pure = providerSDK +
		`|/pulumi/sdk/v3/go/pulumi\b|/headroom/(capacity|components|infra|sandbox|policy/serve)\b`
	for pkg, unwanted := range map[string]string{
		".":       providerSDK,
		"./serve": providerSDK,
		"./view":  pure,
		"./rules": pure,
	} {
		out, err := exec.Command("go", "list", "-deps", pkg).Output()
		if err != nil {
			t.Fatal(err)
		}
		for _, imported := range strings.Fields(string(out)) {
			if regexp.MustCompile(unwanted).MatchString(imported) {
				t.Errorf("%s imports %s", pkg, imported)
			}
		}
	}
}
