package clusterautoscaler

import (
	"bytes"
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/headroom-eks/headroom/pool"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"pgregory.net/rapid"
)

func fullSettings() settings {
	return settings{
		Kubernetes:      "1.36",
		Region:          "us-west-2",
		Cluster:         "prod",
		RoleArn:         "arn:aws:iam::123456789012:role/ca",
		Release:         releases["1.36"],
		ImageRepository: "mirror.example/cluster-autoscaler",
		Expander:        "least-waste",
		StartupTaints:   []string{"node.cilium.io/agent-not-ready", "example.com/not_ready"},
		DRA:             true,
		SystemPool:      "system",
		SystemNodes:     2,
		SystemTaints: []pool.Taint{{
			Key:    "CriticalAddonsOnly",
			Value:  "true",
			Effect: pool.NoSchedule,
		}, {Key: "bare", Effect: pool.NoExecute}},
	}
}

// asJSON is what the chart gets: the values after one trip through JSON.
func asJSON(t interface{ Fatal(...any) }, values map[string]any) map[string]any {
	text, err := json.Marshal(values)
	if err != nil {
		t.Fatal(err)
	}
	read, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	object, _ := read.(map[string]any)
	return object
}

func at(values map[string]any, path ...string) any {
	var v any = values
	for _, key := range path {
		object, _ := v.(map[string]any)
		v = object[key]
	}
	return v
}

func valuesSchema(t *testing.T) *jsonschema.Schema {
	t.Helper()
	text, err := os.ReadFile("testdata/values.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("values.schema.json", doc); err != nil {
		t.Fatal(err)
	}
	schema, err := c.Compile("values.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	return schema
}

// The chart cannot be rendered offline. Helm ignores a value it does not know, so a misspelt key would go unseen.
func TestEveryValueExistsInTheChartWithItsType(t *testing.T) {
	schema := valuesSchema(t)
	rapid.Check(t, func(t *rapid.T) {
		s := fullSettings()
		s.Kubernetes = rapid.SampledFrom([]string{"1.34", "1.35", "1.36"}).Draw(t, "kubernetes")
		s.DRA = rapid.Bool().Draw(t, "dra")
		s.SystemNodes = rapid.IntRange(-1, 9).Draw(t, "system nodes")
		s.Expander = rapid.SampledFrom(expanders).Draw(t, "expander")
		if rapid.Bool().Draw(t, "bare") {
			s.ImageRepository, s.StartupTaints, s.SystemTaints = "", nil, nil
		}
		if err := schema.Validate(asJSON(t, chartValues(s))); err != nil {
			t.Fatal(err)
		}
	})
}

func TestTheSchemaRefusesWhatTheChartDoesNotKnow(t *testing.T) {
	schema := valuesSchema(t)
	for name, change := range map[string]func(map[string]any){
		"misspelt key": func(v map[string]any) { v["awsregion"] = "us-west-2" },
		"misspelt flag": func(v map[string]any) {
			at(v,
				"extraArgs").(map[string]any)["balance-similar-nodegroups"] = true
		},
		"number as text": func(v map[string]any) { v["replicaCount"] = "2" },
		"annotation elsewhere": func(v map[string]any) {
			at(v,
				"rbac").(map[string]any)["annotation"] = map[string]any{}
		},
	} {
		values := asJSON(t, chartValues(fullSettings()))
		change(values)
		if schema.Validate(values) == nil {
			t.Errorf("%s is accepted", name)
		}
	}
}

func TestValuesNameTheStackAndItsRole(t *testing.T) {
	values := asJSON(t, chartValues(fullSettings()))
	for path, want := range map[string]any{
		"cloudProvider": "aws", "awsRegion": "us-west-2", "autoDiscovery.clusterName": "prod", "image.tag": "v1.36.1",
		"image.repository":         "mirror.example/cluster-autoscaler",
		"rbac.serviceAccount.name": "cluster-autoscaler", "priorityClassName": "system-cluster-critical",
	} {
		if diff := cmp.Diff(want, at(values, strings.Split(path, ".")...)); diff != "" {
			t.Errorf("%s: %s", path, diff)
		}
	}
	for _, c := range []struct{ want, got any }{
		{map[string]any{"eks.amazonaws.com/role-arn": "arn:aws:iam::123456789012:role/ca"},
			at(values, "rbac", "serviceAccount", "annotations")},
		{map[string]any{"headroom/pool": "system"}, values["nodeSelector"]},
		{[]any{
			map[string]any{"key": "CriticalAddonsOnly", "operator": "Equal", "value": "true", "effect": "NoSchedule"},
			map[string]any{"key": "bare", "operator": "Exists", "effect": "NoExecute"},
		}, values["tolerations"]},
	} {
		if diff := cmp.Diff(c.want, c.got); diff != "" {
			t.Error(diff)
		}
	}
}

func TestImageRepositoryIsTheChartsOwnWithoutAMirror(t *testing.T) {
	s := fullSettings()
	s.ImageRepository = ""
	if got := at(chartValues(s), "image", "repository"); got != nil {
		t.Errorf("image repository %v, want none", got)
	}
}

func TestReplicasFitTheSystemGroup(t *testing.T) {
	for nodes, want := range map[int]int{-1: 1, 0: 1, 1: 1, 2: 2, 3: 2, 100: 2} {
		s := fullSettings()
		s.SystemNodes = nodes
		if got := chartValues(s)["replicaCount"]; got != want {
			t.Errorf("%d nodes: %v replicas, want %d", nodes, got, want)
		}
	}
}

// From 1.35 on the image ends when it is told not to handle DRA, and reads resource.k8s.io in any case.
func TestDRAIsAskedForOnlyWhereItIsASwitch(t *testing.T) {
	for _, c := range []struct {
		kubernetes  string
		dra         bool
		flag, rules bool
	}{
		{"1.34", false, false, false}, {"1.34.2", true, true, true},
		{"1.35", false, false, true}, {"1.35.0", true, false, true},
		{"1.36", false, false, true}, {"1.36", true, false, true},
	} {
		s := fullSettings()
		s.Kubernetes, s.DRA = c.kubernetes, c.dra
		values := chartValues(s)
		if _, found := at(values, "extraArgs").(map[string]any)["enable-dynamic-resource-allocation"]; found != c.flag {
			t.Errorf("Kubernetes %s, DRA %v: flag given %v, want %v", c.kubernetes, c.dra, found, c.flag)
		}
		rules, _ := at(values, "rbac", "additionalRules").([]any)
		if (len(rules) > 0) != c.rules {
			t.Errorf("Kubernetes %s, DRA %v: rules %v, want any %v", c.kubernetes, c.dra, rules, c.rules)
		}
	}
}

// Groups of one pool balance whatever their launch template or fill; groups of two pools never do.
func TestGroupsAreBalancedByPool(t *testing.T) {
	flags := extraArgs(fullSettings())
	if flags["balance-similar-node-groups"] != true || flags["balancing-label"] != pool.PoolLabel {
		t.Errorf("got %v", flags)
	}
}

// The chart cuts a key at its first "_"; a taint's key may have one.
func TestStartupTaintsReachTheFlagWhole(t *testing.T) {
	got := map[string]bool{}
	for key, value := range extraArgs(fullSettings()) {
		if flag, _, _ := strings.Cut(key, "_"); flag == "startup-taint" {
			got[value.(string)] = true
		}
	}
	want := map[string]bool{"node.cilium.io/agent-not-ready": true, "example.com/not_ready": true}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
