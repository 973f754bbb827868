package rules

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/headroom-eks/headroom/policy/graphtest"
	"github.com/headroom-eks/headroom/policy/view"
)

var testEnv = Environment{Region: "us-west-2"}
var testNow = time.Date(2026, 11, 30, 9, 0, 0, 0, time.UTC)

// evaluate runs every rule over the records: finding lists by rule.
func evaluate(records []graphtest.Record, env Environment, settings map[string]map[string]any) map[string][]Finding {
	g, seen := graphtest.Graph(records), map[string]int{}
	for _, r := range records {
		seen[r.Type]++
	}
	out := map[string][]Finding{}
	for _, rule := range All {
		c := Check{Env: env, Now: testNow, Seen: seen, Settings: settings[rule.Name]}
		for _, r := range g.Resources {
			out[rule.Name] = append(out[rule.Name], rule.OnResource(c, r)...)
		}
		out[rule.Name] = append(out[rule.Name], rule.OnStack(c, g)...)
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

func TestGoldenGraphViolatesNothing(t *testing.T) {
	for name, list := range evaluate(graphtest.Golden(t), testEnv, nil) {
		if len(list) > 0 {
			t.Errorf("%s:\n%s", name, texts(list))
		}
	}
}

// Field fault BR-95: a rule bound to a type that never comes passes in silence.
func TestEveryTypeARuleReliesOnIsInTheGoldenGraph(t *testing.T) {
	records := graphtest.Golden(t)
	for _, rule := range All {
		for _, typ := range rule.Types {
			one := Rule{Types: []string{typ}}
			if typ == "aws:ec2/vpcEndpoint:VpcEndpoint" || strings.HasPrefix(typ, "aws:ec2/") &&
				rule.Name == "tags-present" ||
				typ == view.TypeProfile || typ == view.TypeAlias || typ == view.TypeRolePolicy {
				// optional parts of a program: read like their neighbours, held to the SDK by TestTypeTokensAreTheSDKs
				continue
			}
			if !slices.ContainsFunc(records, func(r graphtest.Record) bool { return one.Wants(r.Type) }) {
				t.Errorf("%s relies on %s, which the golden graph does not have", rule.Name, typ)
			}
		}
	}
}

func TestEveryRuleIsComplete(t *testing.T) {
	names := map[string]bool{}
	for _, r := range All {
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
