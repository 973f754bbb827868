package config

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/headroom-eks/headroom/pool"
	"pgregory.net/rapid"
	"sigs.k8s.io/yaml"
)

// load decodes, fills defaults and validates; problems come back as lines.
func load(text string) (Environment, []string) {
	env, problems := Decode(text)
	env = env.WithDefaults("dev")
	problems.Join(env.Validate())
	return env, problems.Items()
}

// environment is a valid object with the given further members.
func environment(members ...string) string {
	return `{"network": {"zones": ["us-west-2a", "us-west-2b"]}` +
		strings.Join(append([]string{""}, members...), ", ") + `}`
}

func pools(members ...string) string {
	return environment(`"pools": [{"name": "gpu-l4", "instanceTypes": ["g6.xlarge"], ` + strings.Join(members, ", ") +
		`}]`)
}

func TestSmallestEnvironmentIsValid(t *testing.T) {
	if _, problems := load(environment()); len(problems) > 0 {
		t.Errorf("problems: %q", problems)
	}
}

// Every rule about a value of the configuration has a row.
func TestProblemsNamePathValueAndRemedy(t *testing.T) { refusals(t, "testdata/refused.yaml") }

// F21, and section 3 of the same record.
func TestWhatWasAcceptedThoughWrongIsRefused(t *testing.T) {
	refusals(t, "testdata/accepted-though-wrong.yaml")
}

func refusals(t *testing.T, file string) {
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var rows []struct {
		Name   string         `json:"name"`
		Config map[string]any `json:"config"`
		Want   string         `json:"want"`
	}
	if err := yaml.UnmarshalStrict(text, &rows); err != nil {
		t.Fatal(err)
	}
	for _, row := range rows {
		t.Run(row.Name, func(t *testing.T) {
			if row.Config["network"] == nil {
				row.Config["network"] = map[string]any{"zones": []string{"us-west-2a", "us-west-2b"}}
			}
			config, err := json.Marshal(row.Config)
			if err != nil {
				t.Fatal(err)
			}
			_, problems := load(string(config))
			if !slices.ContainsFunc(problems, func(p string) bool { return strings.HasPrefix(p, row.Want) }) {
				t.Errorf("no problem begins with %q; found %q", row.Want, problems)
			}
			if row.Config["spot"] != nil {
				return
			}
			row.Config["spot"] = map[string]any{"createServiceLinkedRole": "yes"}
			if config, err = json.Marshal(row.Config); err != nil {
				t.Fatal(err)
			}
			const unread = "spot.createServiceLinkedRole: "
			_, with := load(string(config))
			with = slices.DeleteFunc(with, func(p string) bool { return strings.HasPrefix(p, unread) })
			slices.Sort(problems) // what cannot be read comes first
			slices.Sort(with)
			if !slices.Equal(problems, with) {
				t.Errorf("beside a value that cannot be read: %q", with)
			}
		})
	}
}

func TestTextThatIsNotAnObjectIsRefused(t *testing.T) {
	for text, want := range map[string]string{
		`[]`: `headroom:environment: is a list; write an object, see Pulumi.dev.yaml`,
		`{"network": `: `headroom:environment: is not JSON (found "unexpected EOF"); write an object, ` +
			`see Pulumi.dev.yaml`,
		`{} {}`: `headroom:environment: has text after the value; remove it`,
	} {
		if _, problems := load(text); !slices.Equal(problems, []string{want}) {
			t.Errorf("%s: found %q", text, problems)
		}
	}
}

func TestAllProblemsAreReportedAtOnce(t *testing.T) {
	_, problems := load(pools(`"scaler": "karpenter"`, `"minNodeCount": 3`, `"maxNodeCount": 2`,
		`"labels": {"karpenter.sh/x": "y"}`, `"weight": 101`))
	if len(problems) != 3 { // minimum with Karpenter, label, weight
		t.Errorf("want 3 problems, found %q", problems)
	}
}

// Outside fault F30 of the second trial: a count that nobody wrote is not complained of.
func TestAMinimumBelowZeroIsOneProblem(t *testing.T) {
	_, problems := load(pools(`"scaler": "cluster-autoscaler"`, `"minNodeCount": -1`, `"maxNodeCount": 2`))
	if want := []string{`pools[0] "gpu-l4".minNodeCount: is below 0 (found -1); raise it`}; !slices.Equal(problems,
		want) {
		t.Errorf("found %q", problems)
	}
}

// F30 of another key: what a scaler would ignore is not known of a scaler that nobody knows.
func TestAnUnknownScalerIsOneProblem(t *testing.T) {
	_, problems := load(pools(`"scaler": "karpentr"`, `"expireAfter": "720h"`, `"nodeRepair": true`))
	if len(problems) != 1 || !strings.HasPrefix(problems[0], `pools[0] "gpu-l4".scaler: is unknown`) {
		t.Errorf("found %q", problems)
	}
}

// Outside finding 12 of the second trial.
func TestAClusterNameThatIsMadeOfTheStacksSaysSo(t *testing.T) {
	env, _ := Decode(environment())
	found := env.WithDefaults("Prod_EU.1").Validate().Items()
	want := `cluster.name: is not a name of 1 to 100 characters that EKS takes; it is not set, so it is made of the ` +
		`stack's name "Prod_EU.1" (found "headroom-Prod_EU.1"); set cluster.name: use letters, digits, - and _, ` +
		`beginning with a letter or digit`
	if !slices.Equal(found, []string{want}) {
		t.Errorf("found %q", found)
	}
	env, _ = Decode(environment(`"cluster": {"name": "a.b"}`))
	if found := env.WithDefaults("dev").Validate().Items(); len(found) != 1 || strings.Contains(found[0], "stack") {
		t.Errorf("a name that was given: found %q", found)
	}
}

func TestFoundingConfigurationIsAcceptedWithAWarning(t *testing.T) {
	env, problems := load(pools(`"scaler": "fixed"`, `"nodeCount": 1`, `"minNodeCount": 0`, `"maxNodeCount": 4`))
	if len(problems) > 0 {
		t.Fatalf("problems: %q", problems)
	}
	if warnings := strings.Join(env.Warnings(), "\n"); !strings.Contains(warnings,
		`pools[0] "gpu-l4": minNodeCount and maxNodeCount have no effect`) {
		t.Errorf("warnings: %s", warnings)
	}
}

func TestOmittedCountOfAnAutoscaledPoolBecomesItsMinimum(t *testing.T) { // field fault BR-16
	env, problems := load(pools(`"scaler": "cluster-autoscaler"`, `"minNodeCount": 2`, `"maxNodeCount": 4`))
	if len(problems) > 0 || *env.Pools[0].NodeCount != 2 {
		t.Errorf("nodeCount %v, problems %q", env.Pools[0].NodeCount, problems)
	}
}

func TestDefaultsDoNotTouchTheirSource(t *testing.T) {
	env, _ := Decode(pools(`"scaler": "karpenter"`, `"maxNodeCount": 2`))
	env.WithDefaults("dev")
	if env.Pools[0].DeviceMode != "" {
		t.Error("the pool that was given has changed")
	}
}

// A documented default that the code does not use would be a lie in the schema.
func TestDocumentedDefaultsAreTheOnesInForce(t *testing.T) {
	env, _ := load(environment(`"general": {"scaler": "karpenter", "limits": {"vcpus": 1, "memoryGiB": 1}}`,
		`"pools": [{"name": "a", "scaler": "karpenter", "maxNodeCount": 1, "instanceTypes": ["g6.xlarge"]}]`))
	text, _ := json.Marshal(env)
	var values map[string]any
	if err := json.Unmarshal(text, &values); err != nil {
		t.Fatal(err)
	}
	s := schema(t)
	objects := map[string]map[string]any{"Pool": values["pools"].([]any)[0].(map[string]any)}
	for key, value := range values {
		if object, ok := value.(map[string]any); ok {
			if property, found := s.Properties.Get(key); found {
				objects[refName(property)] = object
			}
		}
	}
	objects["Addons"] = values["cluster"].(map[string]any)["addons"].(map[string]any)
	checked := 0
	for name, definition := range s.Definitions {
		for pair := definition.Properties.Oldest(); pair != nil; pair = pair.Next() {
			want := pair.Value.Default
			if want == nil || objects[name] == nil {
				continue
			}
			got := objects[name][pair.Key]
			if got == nil {
				got = map[string]any{"integer": 0, "boolean": false}[pair.Value.Type] // omitted because empty
			}
			if fmt.Sprint(got) != fmt.Sprint(want) {
				t.Errorf("%s.%s: documented default %v, in force %v", name, pair.Key, want, got)
			}
			checked++
		}
	}
	if checked < 25 {
		t.Errorf("only %d defaults were compared", checked)
	}
}

func TestEveryValidEnvironmentSurvivesEncodeAndDecode(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		env := Environment{
			Network: Network{Zones: []string{"us-west-2a", "us-west-2b"}},
			Tags: rapid.MapOf(rapid.StringMatching(`[a-z]{1,8}`), rapid.StringMatching(`[a-z]{0,8}`)).Draw(t,
				"tags"),
			Pools: rapid.SliceOfN(rapid.Custom(func(t *rapid.T) Pool {
				return Pool{
					Name:          rapid.StringMatching(`[a-z]{1,8}`).Draw(t, "name"),
					Scaler:        rapid.SampledFrom(pool.Scalers).Draw(t, "scaler"),
					InstanceTypes: []string{"g6.xlarge"},
					NodeCount:     rapid.Ptr(rapid.IntRange(0, 9), true).Draw(t, "nodeCount"),
					MaxNodeCount:  rapid.Ptr(rapid.IntRange(1, 9), true).Draw(t, "maxNodeCount"),
				}
			}), 1, 3).Draw(t, "pools"),
		}
		if len(env.Tags) == 0 {
			env.Tags = nil
		}
		text, err := json.Marshal(env)
		if err != nil {
			t.Fatal(err)
		}
		back, problems := Decode(string(text))
		if problems.Err() != nil {
			t.Fatal(problems.Err())
		}
		if diff := cmp.Diff(env, back); diff != "" {
			t.Fatal(diff)
		}
	})
}

// FuzzNothingPanics feeds any text: it is decoded or refused, never a crash.
func FuzzNothingPanics(f *testing.F) {
	for _, seed := range []string{environment(), pools(`"scaler": "fixed"`), `{"pools": [null, {}, 1]}`,
		`{"general": {}}`, `{"cluster": {"access": {"a": null}}}`, `null`, ``} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		env, problems := load(text)
		if len(problems) == 0 {
			env.Warnings()
		}
	})
}

func TestCountsAtTheirBoundsAreValid(t *testing.T) {
	for name, text := range map[string]string{
		"fixed":              pools(`"scaler": "fixed"`, `"nodeCount": 450`),
		"cluster-autoscaler": pools(`"scaler": "cluster-autoscaler"`, `"maxNodeCount": 900`, `"spread": "per-zone"`),
		"karpenter":          pools(`"scaler": "karpenter"`, `"maxNodeCount": 100000`),
		"unmoved maximum":    pools(`"scaler": "fixed"`, `"nodeCount": 1`, `"maxNodeCount": 1000`),
	} {
		if _, problems := load(text); len(problems) > 0 {
			t.Errorf("%s: %q", name, problems)
		}
	}
}
