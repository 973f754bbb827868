package plan

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/headroom-eks/headroom/infra/config"
)

// readable environments that together write every key that a rule reads to judge another one.
var readable = map[string]string{
	"karpenter": `{
		"network": {"cidr": "10.0.0.0/16", "zones": ["us-west-2a", "us-west-2b"], "natGateways": "none",
			"interfaceEndpoints": ["ec2"], "prefixDelegation": false},
		"cluster": {"name": "a", "uniqueSuffix": true, "kubernetesVersion": "1.36",
			"publicAccessCidrs": ["203.0.113.0/24"],
			"addons": {"vpcCni": "v1.22.3-eksbuild.1", "kubeProxy": "v1.36.0-eksbuild.9",
				"coredns": "v1.14.3-eksbuild.3", "ebsCsi": "v1.62.0-eksbuild.1"}},
		"system": {"tainted": true, "nodeCount": 2, "amiRelease": "1.36.3-20260911"},
		"karpenter": {"version": "1.15.0", "instanceProfile": true, "enableDRA": true},
		"general": {"scaler": "karpenter", "zones": ["us-west-2a"], "limits": {"vcpus": 64, "memoryGiB": 256}},
		"gitOps": {"nodePools": "manifests", "applied": true},
		"podsSelectPool": true,
		"pools": [
			{"name": "static", "scaler": "karpenter", "instanceTypes": ["g6.xlarge"], "static": true, "nodeCount": 2,
				"taints": [{"key": "a", "value": "b", "effect": "NoSchedule"}]},
			{"name": "reserved", "scaler": "karpenter", "instanceTypes": ["g6.xlarge"], "maxNodeCount": 2,
				"capacityTypes": ["reserved"], "reservation": {"id": "cr-0123456789abcdef0", "count": 2},
				"zones": ["us-west-2b"], "deviceMode": "dra", "weight": 5,
				"localDisks": "raid0", "kubelet": {"maxPods": 20}}]}`,
	"mixed": `{
		"network": {"zones": ["us-west-2a", "us-west-2b"]},
		"podsSelectPool": true,
		"general": {"scaler": "karpenter", "limits": {"vcpus": 64, "memoryGiB": 256}},
		"cluster": {"publicAccessCidrs": ["203.0.113.0/24"],
			"access": {"admins": {"principalArn": "arn:aws:iam::111122223333:role/a", "policy": "cluster-admin"}}},
		"pools": [
			{"name": "fixed", "scaler": "fixed", "instanceTypes": ["g6.xlarge"], "nodeCount": 2, "nodeRepair": true},
			{"name": "managed", "scaler": "cluster-autoscaler", "instanceTypes": ["g6.xlarge"], "minNodeCount": 2,
				"nodeCount": 3, "maxNodeCount": 900, "spread": "per-zone", "zones": ["us-west-2a", "us-west-2b"]},
			{"name": "claims", "scaler": "cluster-autoscaler", "instanceTypes": ["g6.xlarge"], "deviceMode": "dra",
				"acceptNoWakeFromZero": true, "maxNodeCount": 2}]}`,
	"auto mode": `{
		"network": {"zones": ["us-west-2a", "us-west-2b"]},
		"autoMode": {"builtInPools": [], "keep": true},
		"general": {"scaler": "auto-mode", "limits": {"vcpus": 64, "memoryGiB": 256}},
		"gitOps": {"nodePools": "keep"},
		"pools": [{"name": "auto", "scaler": "auto-mode", "instanceTypes": ["g6.xlarge"], "maxNodeCount": 2}]}`,
	"apart by taints": `{
		"network": {"zones": ["us-west-2a", "us-west-2b"]},
		"pools": [
			{"name": "a", "scaler": "karpenter", "instanceTypes": ["g6.xlarge"], "maxNodeCount": 2,
				"taints": [{"key": "a", "value": "b", "effect": "NoSchedule"}]},
			{"name": "b", "scaler": "cluster-autoscaler", "instanceTypes": ["g6.xlarge"], "maxNodeCount": 2,
				"taints": [{"key": "b", "value": "b", "effect": "NoSchedule"}]}]}`,
	"existing": `{
		"network": {"existing": {"vpcId": "vpc-1", "privateSubnetIds": ["subnet-1", "subnet-2"]}},
		"pools": [{"name": "a", "scaler": "cluster-autoscaler", "instanceTypes": ["g6.xlarge"], "maxNodeCount": 900,
			"spread": "per-zone", "zones": ["us-west-2a", "us-west-2b"]}]}`,
}

func problemsOf(t *testing.T, object any) []string {
	t.Helper()
	text, err := json.Marshal(object)
	if err != nil {
		t.Fatal(err)
	}
	env, problems := config.Decode(string(text))
	problems.Join(Check(env.WithDefaults("dev")))
	return problems.Items()
}

// everyValue calls f for each value inside of an object, with a function that sets it to something else.
func everyValue(at string, value any, f func(at string, value any, set func(any))) {
	switch inner := value.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(inner)) {
			was := inner[key]
			f(at+"."+key, was, func(v any) { inner[key] = v })
			everyValue(at+"."+key, was, f)
		}
	case []any:
		for i, was := range inner {
			f(fmt.Sprintf("%s[%d]", at, i), was, func(v any) { inner[i] = v })
			everyValue(fmt.Sprintf("%s[%d]", at, i), was, f)
		}
	}
}

// mistyped is a value of another type.
func mistyped(value any) any {
	if _, isText := value.(string); isText {
		return 7
	}
	return "seven"
}

// Outside finding 11 of the second trial: what a rule concludes from a value that could not be read is no problem of
// the configuration.
func TestAValueOfTheWrongTypeIsTheOnlyProblem(t *testing.T) {
	checked := 0
	for name, text := range readable {
		var object any
		if err := json.Unmarshal([]byte(text), &object); err != nil {
			t.Fatal(err)
		}
		if found := problemsOf(t, object); len(found) > 0 {
			t.Fatalf("%s: %q", name, found)
		}
		everyValue("", object, func(at string, value any, set func(any)) {
			set(mistyped(value))
			if found := problemsOf(t, object); len(found) != 1 || !strings.Contains(found[0], "; write ") {
				t.Errorf("%s: %s has a wrong type, and found are\n  %s", name, at, strings.Join(found, "\n  "))
			}
			set(value)
			checked++
		})
	}
	if checked < 90 {
		t.Errorf("only %d values were tried", checked)
	}
}

// Outside finding 11: a value that cannot be read hides nothing about another one.
func TestAValueOfTheWrongTypeHidesNoOtherProblem(t *testing.T) {
	for name, text := range readable {
		var object map[string]any
		if err := json.Unmarshal([]byte(text), &object); err != nil {
			t.Fatal(err)
		}
		object["capacity"] = map[string]any{"validFor": "7h"}
		everyValue("", object["pools"], func(at string, value any, set func(any)) {
			set(mistyped(value))
			if found := problemsOf(t, object); len(found) != 2 || !strings.HasPrefix(found[1], "capacity.validFor: ") {
				t.Errorf("%s: pools%s has a wrong type, and found are\n  %s", name, at, strings.Join(found, "\n  "))
			}
			set(value)
		})
	}
}

func TestNoValueInAnyPlaceMakesTheCheckPanic(t *testing.T) {
	for _, text := range readable {
		var object any
		if err := json.Unmarshal([]byte(text), &object); err != nil {
			t.Fatal(err)
		}
		everyValue("", object, func(_ string, value any, set func(any)) {
			for _, odd := range []any{nil, []any{}, map[string]any{}, []any{nil}, map[string]any{"name": nil}, "", -1} {
				set(odd)
				problemsOf(t, object)
			}
			set(value)
		})
	}
}

// Outside finding 11: its own example, with what was held back.
func TestWrongTypesUnknownKeysAndWrongValuesComeInOneMessage(t *testing.T) {
	found := problemsOf(t, map[string]any{
		"network": map[string]any{"zones": []string{"us-west-2a", "us-west-2b"}},
		"cluster": map[string]any{"kubernetesVersion": 1.36, "logRetentionDays": 91},
		"pools": []any{map[string]any{"name": "gpu", "scaler": "karpenter", "instanceTypes": []string{"g6.xlarge"},
			"nodeCount": "two", "maxNodes": 4, "maxNodeCount": -1}},
	})
	want := []string{
		`cluster.kubernetesVersion: is a number;`,
		`pools[0] "gpu".maxNodes: is not a known key;`,
		`pools[0] "gpu".nodeCount: is the text "two";`,
		`cluster.logRetentionDays: is not a retention`,
		`pools[0] "gpu".maxNodeCount: is below 1 (found -1)`,
	}
	if len(found) != len(want) {
		t.Errorf("want %d problems, found %q", len(want), found)
	}
	for _, w := range want {
		if !slices.ContainsFunc(found, func(f string) bool { return strings.HasPrefix(f, w) }) {
			t.Errorf("no problem begins with %s: %q", w, found)
		}
	}
}
