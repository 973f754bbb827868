package rules

import (
	"slices"
	"strings"
	"testing"

	"github.com/headroom-eks/headroom/policy/graphtest"
	"github.com/headroom-eks/headroom/pool"
)

// mutation flips one property of the golden graph; exactly one rule must fire.
type mutation struct {
	rule, resource string
	about          string
	edit           func(testing.TB, *graphtest.Record)
	// unknown is the path that decides: made unknown, the rule must say so and report no violation. Empty where an
	// option of the resource or its absence decides, which is always known.
	unknown []any
	// graph edits the whole graph instead of one resource.
	graph    func([]graphtest.Record) []graphtest.Record
	env      *Environment
	settings map[string]map[string]any
}

func set(v any, path ...any) func(testing.TB, *graphtest.Record) {
	return func(t testing.TB, r *graphtest.Record) { t.Helper(); r.Set(t, v, path...) }
}

func replace(old, new string, path ...any) func(testing.TB, *graphtest.Record) {
	return func(t testing.TB, r *graphtest.Record) { t.Helper(); r.Replace(t, old, new, path...) }
}

func p(steps ...any) []any { return steps }

var mutations = slices.Concat(
	capacityMutations,
	poolMutations,
	scalerMutations,
	clusterMutations,
	nodeMutations,
	iamMutations,
	interruptionMutations,
	namingMutations,
)

// mutate applies a mutation to a fresh golden graph and gives the graph and the mutated resource, if it is one.
func (m mutation) mutate(t testing.TB, edit func(testing.TB, *graphtest.Record)) []graphtest.Record {
	t.Helper()
	records := graphtest.Golden(t)
	if m.graph != nil {
		records = m.graph(records)
	}
	if m.resource != "" && edit != nil {
		edit(t, graphtest.Find(t, records, m.resource))
	}
	return records
}

func (m mutation) evaluate(records []graphtest.Record) map[string][]Finding {
	env := testEnv
	if m.env != nil {
		env = *m.env
	}
	return evaluate(records, env, m.settings)
}

func TestOneFlippedPropertyFiresExactlyItsRule(t *testing.T) {
	for _, m := range mutations {
		t.Run(m.rule+"/"+m.about, func(t *testing.T) {
			found := m.evaluate(m.mutate(t, m.edit))
			if got := violating(found); !slices.Equal(got, []string{m.rule}) {
				for _, name := range got {
					t.Logf("%s:\n%s", name, texts(found[name]))
				}
				t.Fatalf("fired %v, want exactly %s", got, m.rule)
			}
			for _, f := range found[m.rule] {
				if !f.Unknown && (!strings.Contains(f.Text, "Remedy: ") || f.Path == "") {
					t.Errorf("no remedy or path: %s", f.Text)
				}
			}
		})
	}
}

func TestEveryRuleHasAMutation(t *testing.T) {
	for _, rule := range All {
		if !slices.ContainsFunc(mutations, func(m mutation) bool { return m.rule == rule.Name }) {
			t.Errorf("no mutation for %s", rule.Name)
		}
	}
}

// Field fault BR-94: an unknown value is neither a pass nor a violation.
func TestAnUnknownValueIsNotedAndNotReported(t *testing.T) {
	for _, m := range mutations {
		if m.unknown == nil {
			continue
		}
		t.Run(m.rule+"/"+m.about, func(t *testing.T) {
			records := m.mutate(t, set(graphtest.Unknown{}, m.unknown...))
			found := m.evaluate(records)[m.rule]
			noted := false
			for _, f := range found {
				noted = noted || f.Unknown
				if !f.Unknown {
					t.Errorf("violation on an unknown value: %s", f.Text)
				}
			}
			if !noted {
				t.Error("the rule said nothing about an unknown value")
			}
		})
	}
}

func TestASecretIsCheckedAndNeverShown(t *testing.T) {
	for _, m := range mutations {
		if m.resource == "" {
			continue
		}
		t.Run(m.rule+"/"+m.about, func(t *testing.T) {
			records := m.mutate(t, m.edit)
			leaves := map[string]bool{}
			for _, r := range records {
				collect(r.Props, leaves)
				for key, v := range r.Props {
					r.Props[key] = graphtest.Secret{Value: v}
				}
			}
			found := m.evaluate(records)[m.rule]
			if !slices.ContainsFunc(found, func(f Finding) bool { return !f.Unknown }) {
				t.Fatal("the rule does not look into secrets")
			}
			remedy := ""
			for _, rule := range All {
				if rule.Name == m.rule {
					remedy = rule.Remedy
				}
			}
			for _, f := range found {
				said := strings.ReplaceAll(f.Text, remedy, "")
				for leaf := range leaves {
					if strings.Contains(said, leaf) {
						t.Errorf("%q is shown in: %s", leaf, said)
					}
				}
			}
		})
	}
}

// collect gathers what a message must not hold: strings of the resources, but for plain words, which messages have too,
// and what a resource's type says anyway.
func collect(v any, into map[string]bool) {
	switch v := v.(type) {
	case map[string]any:
		for key, e := range v {
			if key != "apiVersion" && key != "kind" {
				collect(e, into)
			}
		}
	case []any:
		for _, e := range v {
			collect(e, into)
		}
	case string:
		if len(v) > 3 && strings.ContainsAny(v, "0123456789:/.") && v != pool.GPUResource && v != testEnv.Region {
			into[v] = true
		}
	}
}
