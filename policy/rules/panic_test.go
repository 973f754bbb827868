package rules

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/headroom-eks/headroom/policy/graphtest"
	"pgregory.net/rapid"
)

// Words that rules look for, so that random input gets past the first question.
var words = []string{
	"key", "operator", "values", "In", "Exists", "nvidia.com/gpu", "g6.xlarge", "g6f.large", "m6i.large", "true",
	"false", "0", "-1", "1e9", "",
	"nodes", "name", "Statement", "Effect", "Allow", "Deny", "Action", "*", "sqs:*", "iam:PassRole",
	"sts:AssumeRoleWithWebIdentity", "Principal",
	"Federated", "arn:aws:iam::1:oidc-provider/x", "arn:", "1.36", "1.", "Condition", "StringEquals",
	"karpenter.k8s.aws", "AWS_FEATURE_GATES",
	`{"Statement":[{"Effect":"Allow","Action":["*"],"Resource":null}]}`, `{"Statement":{}}`, `[1]`, "{", "\x00",
	strings.Repeat("é", 200),
}

// anything is a property value of any shape, secrets and unknowns included.
func anything(depth int) *rapid.Generator[any] {
	leaf := rapid.OneOf(
		rapid.Just[any](nil), rapid.Just[any](graphtest.Unknown{}),
		rapid.Map(rapid.Bool(), func(b bool) any { return b }),
		rapid.Map(rapid.Float64(), func(f float64) any { return f }),
		rapid.Map(rapid.IntRange(-3, 5), func(n int) any { return n }),
		rapid.Map(rapid.SampledFrom(words), func(s string) any { return s }),
		rapid.Map(rapid.String(), func(s string) any { return s }),
	)
	if depth == 0 {
		return leaf
	}
	inner := rapid.Deferred(func() *rapid.Generator[any] { return anything(depth - 1) })
	return rapid.OneOf(leaf,
		rapid.Map(inner, func(v any) any { return graphtest.Secret{Value: v} }),
		rapid.Map(rapid.SliceOfN(inner, 0, 3), func(list []any) any { return list }),
		rapid.Map(rapid.MapOfN(rapid.SampledFrom(words), inner, 0, 4), func(m map[string]any) any { return m }),
	)
}

// places lists the paths of everything inside a value.
func places(v any, path []any, into *[][]any) {
	switch v := v.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			step := append(append([]any{}, path...), key)
			*into = append(*into, step)
			places(v[key], step, into)
		}
	case []any:
		for i, e := range v {
			step := append(append([]any{}, path...), i)
			*into = append(*into, step)
			places(e, step, into)
		}
	}
}

func failures(found map[string][]Finding) (failed []string) {
	for name, list := range found {
		for _, f := range list {
			if f.Path == "(rule)" {
				failed = append(failed, name+": "+f.Text)
			}
		}
	}
	return failed
}

func TestNoInputPanicsARule(t *testing.T) {
	t.Run("the golden graph with anything anywhere", func(t *testing.T) {
		rapid.Check(t, func(rt *rapid.T) {
			records := graphtest.Golden(t)
			for range rapid.IntRange(1, 6).Draw(rt, "places") {
				r := records[rapid.IntRange(0, len(records)-1).Draw(rt, "resource")]
				var paths [][]any
				places(r.Props, nil, &paths)
				if len(paths) == 0 {
					continue
				}
				path := paths[rapid.IntRange(0, len(paths)-1).Draw(rt, "path")]
				r.Set(t, anything(3).Draw(rt, "value"), path...)
			}
			if failed := failures(evaluate(records, testEnv, nil)); failed != nil {
				rt.Fatal(failed)
			}
		})
	})
	t.Run("resources of every type made of anything", func(t *testing.T) {
		var types []string
		for _, rule := range All {
			types = append(types, rule.Types...)
		}
		rapid.Check(t, func(rt *rapid.T) {
			var records []graphtest.Record
			for _, typ := range types {
				records = append(records, graphtest.Record{
					Type:  typ,
					Name:  "x",
					Props: rapid.MapOfN(rapid.SampledFrom(words), anything(3), 0, 5).Draw(rt, typ),
				})
			}
			settings := map[string]map[string]any{
				"gpu-budget":   {"maxGpus": anything(1).Draw(rt, "setting")},
				"tags-present": {"keys": []any{1, nil}},
			}
			if failed := failures(evaluate(records, Environment{}, settings)); failed != nil {
				rt.Fatal(failed)
			}
		})
	})
}
