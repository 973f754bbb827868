package main

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

var update = flag.Bool("update", false, "write docs/policies.md anew")

func TestDocsPageIsTheRules(t *testing.T) {
	const page = "../docs/policies.md"
	if *update {
		if err := os.WriteFile(page, []byte(Explain(Rules)), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile(page)
	if err != nil || string(text) != Explain(Rules) {
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
	rules := map[string]Rule{unknownNote: {}}
	for _, r := range Rules {
		rules[r.Name] = r
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
		for name, value := range config.Policies {
			rule, known := rules[name]
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
		for id, e := range config.Exceptions {
			if strings.TrimSpace(e.Reason) == "" || len(e.Match) == 0 {
				t.Errorf("%s: exception %q lacks a reason or a match", file, id)
			}
			for _, m := range e.Match {
				for _, name := range m.Policies {
					if _, known := rules[name]; !known {
						t.Errorf("%s: exception %q is about no rule of the pack: %q", file, id, name)
					}
				}
				for _, urn := range m.URNs {
					if !strings.HasPrefix(urn, "urn:pulumi:"+strings.TrimSuffix(filepath.Base(file), ".json")+"::") {
						t.Errorf("%s: exception %q is about another stack: %s", file, id, urn)
					}
				}
			}
		}
	}
}

// fits holds settings to the schema that the pack gives the engine, unknown names refused.
func fits(t *testing.T, about string, settings []Setting, given map[string]any) {
	t.Helper()
	if len(given) == 0 {
		return
	}
	document := map[string]any{"type": "object", "additionalProperties": false, "properties": map[string]any{}}
	if s := schema(settings); s != nil {
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

// The pack imports no SDK of a provider, so nothing but this test ties its words to them. Field fault BR-95.
func TestTypeTokensAreTheSDKs(t *testing.T) {
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/pulumi/pulumi-aws/sdk/v6").Output()
	if err != nil {
		t.Fatal(err)
	}
	root := filepath.Join(strings.TrimSpace(string(out)), "go", "aws")
	if _, err := os.Stat(root); err != nil {
		t.Fatalf("the module cache has no SDK source: %v", err)
	}
	checked := map[string]bool{}
	for _, rule := range Rules {
		for _, typ := range rule.Types {
			module, isAWS := strings.CutPrefix(typ, "aws:")
			if !isAWS || module == "" || checked[typ] {
				continue
			}
			checked[typ] = true
			file, _, _ := strings.Cut(module, ":")
			source, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(file)+".go"))
			if err != nil || !strings.Contains(string(source), `ctx.RegisterResource("`+typ+`"`) {
				t.Errorf("%s: the SDK registers no type %s (%v)", rule.Name, typ, err)
			}
		}
	}
	if len(checked) < 20 {
		t.Errorf("only %d types checked", len(checked))
	}
	for typ, properties := range propertiesRead {
		pkg, _, _ := strings.Cut(strings.TrimPrefix(typ, "aws:"), "/")
		sources, err := filepath.Glob(filepath.Join(root, pkg, "*.go"))
		if err != nil {
			t.Fatal(err)
		}
		var all bytes.Buffer
		for _, source := range sources {
			text, err := os.ReadFile(source)
			if err != nil {
				t.Fatal(err)
			}
			all.Write(text)
		}
		for _, property := range properties {
			if !bytes.Contains(all.Bytes(), []byte(`pulumi:"`+property+`"`)) {
				t.Errorf("%s: the SDK has no property %s", typ, property)
			}
		}
	}
}

// propertiesRead are the property names that rules look for, nested ones included. The golden graph uses the same.
var propertiesRead = map[string][]string{
	typeCluster: {"name", "version", "enabledClusterLogTypes", "encryptionConfig", "provider", "keyArn", "resources",
		"computeConfig", "enabled",
		"vpcConfig", "endpointPublicAccess", "publicAccessCidrs", "addonVersion", "tags"},
	typeNodeGroup: {"labels", "taints", "key", "value", "effect", "instanceTypes", "scalingConfig", "minSize",
		"desiredSize", "maxSize",
		"launchTemplate", "releaseVersion", "amiType"},
	typeLaunchTemplate: {"metadataOptions", "httpTokens", "httpPutResponseHopLimit", "blockDeviceMappings", "ebs",
		"encrypted", "tagSpecifications", "resourceType"},
	typeRole:      {"assumeRolePolicy", "inlinePolicies", "policy"},
	typeQueue:     {"sqsManagedSseEnabled", "kmsMasterKeyId", "queueUrl", "arn", "url"},
	typeEventRule: {"eventPattern", "state", "rule", "arn"},
	typeKey:       {"policy", "keyId"},
}
