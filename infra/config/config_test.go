package config

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/headroom-eks/headroom/pool"
	"pgregory.net/rapid"
)

// load decodes, fills defaults and validates; problems come back as lines.
func load(text string) (Environment, []string) {
	env, problems := Decode(text)
	if problems.Err() != nil {
		return env, problems.Items()
	}
	env = env.WithDefaults("dev")
	return env, env.Validate().Items()
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

func TestProblemsNamePathValueAndRemedy(t *testing.T) {
	for _, c := range []struct{ name, config, want string }{
		{"unknown key", environment(`"nodePools": []`),
			`nodePools: is not a known key; use one of autoMode, capacity, cluster,`},
		{"unknown key in a pool", pools(`"scaler": "fixed"`, `"nodeCount": 1`, `"maxNodes": 4`),
			`pools[0] "gpu-l4".maxNodes: is not a known key`},
		{"number as text", pools(`"scaler": "fixed"`, `"nodeCount": "1"`),
			`pools[0] "gpu-l4".nodeCount: found the text "1"; write a whole number, without quotes`},
		{"fraction", pools(`"scaler": "fixed"`, `"nodeCount": 1.5`),
			`nodeCount: found the number 1.5; write a whole number`},
		{"text as number", environment(`"cluster": {"kubernetesVersion": 1.36}`),
			`cluster.kubernetesVersion: found a number; write text, in quotes, for example "1.36"`},
		{"wrong type", environment(`"pools": {"name": "a"}`), `pools: found an object; write a list`},
		{"missing key", environment(`"pools": [{"name": "a", "scaler": "fixed", "nodeCount": 1}]`),
			`pools[0] "a".instanceTypes: is required`},
		{"not an object", `[]`, `headroom:environment: found a list; write an object`},
		{"not JSON", `{"network": `, `headroom:environment: is not an object`},
		{"one zone", `{"network": {"zones": ["us-west-2a"]}}`, `network.zones: found 1; EKS needs two zones at least`},
		{"min above max", pools(`"scaler": "cluster-autoscaler"`, `"minNodeCount": 3`, `"maxNodeCount": 2`),
			`pools[0] "gpu-l4": minNodeCount 3 exceeds maxNodeCount 2; lower the minimum or raise the maximum`},
		{"count below min (field fault BR-16)",
			pools(`"scaler": "cluster-autoscaler"`, `"nodeCount": 1`, `"minNodeCount": 2`, `"maxNodeCount": 10`),
			`nodeCount 1 is below minNodeCount 2`},
		{"count above max (field fault BR-16)",
			pools(`"scaler": "cluster-autoscaler"`, `"nodeCount": 5`, `"maxNodeCount": 3`),
			`nodeCount 5 exceeds maxNodeCount 3`},
		{"negative (field fault BR-16)", pools(`"scaler": "fixed"`, `"nodeCount": -1`), `nodeCount is -1; at least 0`},
		{"maximum of zero (field fault BR-16)", pools(`"scaler": "karpenter"`, `"maxNodeCount": 0`),
			`maxNodeCount is 0; at least 1`},
		{"minimum with Karpenter", pools(`"scaler": "karpenter"`, `"minNodeCount": 1`, `"maxNodeCount": 4`),
			`minNodeCount is 1, but karpenter keeps no minimum`},
		{"count with Auto Mode", pools(`"scaler": "auto-mode"`, `"nodeCount": 1`, `"maxNodeCount": 4`),
			`nodeCount is 1, but auto-mode makes nodes only for pods`},
		{"no maximum", pools(`"scaler": "karpenter"`), `maxNodeCount is required with scaler karpenter`},
		{"no count", pools(`"scaler": "fixed"`), `nodeCount is required`},
		{"unknown scaler", pools(`"scaler": "keda"`, `"maxNodeCount": 4`),
			`pools[0] "gpu-l4".scaler: found "keda"; use one of fixed, cluster-autoscaler, karpenter, auto-mode`},
		{"fractional GPU (field fault BR-27)",
			environment(`"pools": [{"name": "a", "scaler": "fixed", "nodeCount": 1, "instanceTypes": ["g6f.xlarge"]}]`),
			`found "g6f.xlarge"; use types of the families g6, g6e and gr6`},
		{"two sizes",
			environment(
				`"pools": [{"name": "a", "scaler": "karpenter", "maxNodeCount": 1, "instanceTypes": ["g6.xlarge", "g6.2xlarge"]}]`), `found the sizes xlarge, 2xlarge; a pool has one shape`},
		{"taint effect in EKS spelling (field fault BR-63)",
			pools(`"scaler": "fixed"`, `"nodeCount": 1`, `"taints": [{"key": "a", "effect": "NO_SCHEDULE"}]`),
			`effect "NO_SCHEDULE" is unknown; use one of NoSchedule`},
		{"GPU taint twice", pools(`"scaler": "fixed"`, `"nodeCount": 1`,
			`"taints": [{"key": "nvidia.com/gpu", "value": "x", "effect": "NoSchedule"}]`), `pools[0] "gpu-l4".taints[0] "nvidia.com/gpu": every GPU pool has nvidia.com/gpu=true:NoSchedule already; remove it`},
		{"reserved label (field fault BR-64)",
			pools(`"scaler": "fixed"`, `"nodeCount": 1`, `"labels": {"node-role.kubernetes.io/worker": "true"}`),
			`labels["node-role.kubernetes.io/worker"]: domain "kubernetes.io" is reserved`},
		{"Karpenter label (field fault BR-65)",
			pools(`"scaler": "karpenter"`, `"maxNodeCount": 1`, `"labels": {"app.kubernetes.io/managed-by": "argo"}`),
			`labels["app.kubernetes.io/managed-by"]: domain "kubernetes.io" is reserved`},
		{"our own label", pools(`"scaler": "fixed"`, `"nodeCount": 1`, `"labels": {"headroom/pool": "x"}`),
			`the label is set by the program itself`},
		{"same name twice",
			environment(
				`"pools": [{"name": "a", "scaler": "fixed", "nodeCount": 1, "instanceTypes": ["g6.xlarge"]}, {"name": "a", "scaler": "fixed", "nodeCount": 1, "instanceTypes": ["g6.xlarge"]}]`), `pools[0] has the same name`},
		{"long name", environment(`"pools": [{"name": "` + strings.Repeat("a", 41) +
			`", "scaler": "fixed", "nodeCount": 1, "instanceTypes": ["g6.xlarge"]}]`), `the name has 41 characters; at most 40`},
		{"name of the system group",
			environment(
				`"pools": [{"name": "system", "scaler": "fixed", "nodeCount": 1, "instanceTypes": ["g6.xlarge"]}]`), `belongs to the system pool`},
		{"zone outside the network", pools(`"scaler": "fixed"`, `"nodeCount": 1`, `"zones": ["us-west-2d"]`),
			`us-west-2d is not a zone of the network`},
		{"no place for system pods", environment(`"system": {"tainted": true}`),
			`system.tainted: leaves no untainted node`},
		{"system group with GPUs", environment(`"system": {"instanceType": "g6.xlarge"}`),
			`system.instanceType: found g6.xlarge, which has GPUs`},
		{"reserved tag (field fault BR-66)", environment(`"tags": {"kubernetes.io/cluster/foo": "owned"}`),
			`tags["kubernetes.io/cluster/foo"]: keys under "kubernetes.io/cluster" are set by AWS`},
		{"discovery tag on everything (field fault BR-74)", environment(`"tags": {"karpenter.sh/discovery": "x"}`),
			`keys under "karpenter.sh/" are set`},
		{"latest image (field fault BR-79)", environment(`"karpenter": {"amiAlias": "al2023@latest"}`,
			`"general": {"scaler": "karpenter", "limits": {"vcpus": 8, "memoryGiB": 32}}`), `karpenter.amiAlias: found "al2023@latest"; pin a release`},
		{"misspelt built-in pool (field fault BR-84)",
			environment(`"autoMode": {"builtInPools": ["general-purpose", "sytem"]}`),
			`autoMode.builtInPools: found "sytem"; use one of general-purpose, system`},
		{"add-ons of another version", environment(`"cluster": {"kubernetesVersion": "1.35"}`),
			`cluster.addons.coredns: found ""; pin a version for Kubernetes 1.35`},
		{"AMI of another version", environment(`"cluster": {"kubernetesVersion": "1.36"}`,
			`"system": {"amiRelease": "1.35.1-20260911"}`), `system.amiRelease: found "1.35.1-20260911"; pin an AL2023 release for Kubernetes 1.36`},
		{"two capacity types in a managed group",
			pools(`"scaler": "cluster-autoscaler"`, `"maxNodeCount": 1`, `"capacityTypes": ["spot", "on-demand"]`),
			`a managed node group has one`},
		{"setting without effect", pools(`"scaler": "fixed"`, `"nodeCount": 1`, `"expireAfter": "24h"`),
			`expireAfter: has no effect with scaler fixed`},
		{"reserved without reservation", pools(`"scaler": "karpenter"`, `"maxNodeCount": 1`,
			`"capacityTypes": ["reserved"]`), `capacity type reserved and the key reservation go together`},
		{"version that YAML has shortened", environment(`"cluster": {"kubernetesVersion": 1.3}`),
			`cluster.kubernetesVersion: found a number; write text, in quotes, for example "1.36"`},
		{"version without known pins", environment(`"cluster": {"kubernetesVersion": "1.35"}`),
			`cluster.kubernetesVersion: found "1.35", and this release knows pinned versions for "1.36" alone; use that, or pin the four cluster.addons and system.amiRelease for 1.35 yourself`},
		{"form of a pin, not one of another version", environment(`"cluster": {"kubernetesVersion": "1.35"}`),
			`system.amiRelease: found ""; pin an AL2023 release for Kubernetes 1.35, in the form 1.35.Z-YYYYMMDD`},
		{"repository without scheme", environment(`"gpu": {"repository": "mirror.example/charts"}`),
			`gpu.repository: found "mirror.example/charts"; write the address of a chart repository with its scheme, https:// or oci://`},
		{"Karpenter from nowhere", environment(`"karpenter": {"repository": "http://mirror.example"}`),
			`karpenter.repository: found "http://mirror.example"`},
		{"cluster-autoscaler from nowhere", environment(`"clusterAutoscaler": {"repository": "oci://"}`),
			`clusterAutoscaler.repository: found "oci://"`},
		{"device plugin with v", environment(`"gpu": {"devicePluginVersion": "v0.17.4"}`),
			`gpu.devicePluginVersion: found "v0.17.4"; write a release without v, for example 0.17.4`},
		{"half a DRA driver", environment(`"gpu": {"draDriverVersion": "0.4"}`),
			`gpu.draDriverVersion: found "0.4"; write a release without v, for example 0.4.1`},
		{"startup taint with its effect", environment(`"clusterAutoscaler": {"startupTaints": ["a=b:NoSchedule"]}`),
			`clusterAutoscaler.startupTaints[0]: found "a=b:NoSchedule"; give the taint's key alone`},
		{"IPv6 access", environment(`"cluster": {"publicAccessCidrs": ["2001:db8::/32"]}`),
			`cluster.publicAccessCidrs: found "2001:db8::/32"; an IPv4 cluster takes IPv4 blocks alone`},
		{"private access", environment(`"cluster": {"publicAccessCidrs": ["10.0.0.0/8"]}`),
			`cluster.publicAccessCidrs: found 10.0.0.0/8, which is private`},
		{"access without a name",
			environment(
				`"cluster": {"access": {"": {"principalArn": "arn:aws:iam::123456789012:role/a", "policy": "view"}}}`), `cluster.access[""]: resources are named after it; write lower-case letters`},
		{"access in upper case",
			environment(
				`"cluster": {"access": {"Admins": {"principalArn": "arn:aws:iam::123456789012:role/a", "policy": "view"}}}`), `cluster.access["Admins"]: resources are named after it`},
		{"parameter with a space", environment(`"capacity": {"ssmParameter": "/head room"}`),
			`capacity.ssmParameter: found "/head room"; write a path of letters`},
		{"parameter of AWS", environment(`"capacity": {"ssmParameter": "/AWS/headroom"}`),
			`capacity.ssmParameter: found "/AWS/headroom"; names under /aws and /ssm are kept by AWS`},
		{"tag key with a character AWS refuses", environment(`"tags": {"a#b": "c"}`),
			`tags["a#b"]: found "a#b"; AWS takes letters`},
		{"tag value with a character AWS refuses", environment(`"tags": {"cost": "5€"}`),
			`tags["cost"]: found "5€"; AWS takes letters`},
		{"public network", `{"network": {"zones": ["us-west-2a", "us-west-2b"], "cidr": "52.0.0.0/16"}}`,
			`network.cidr: found 52.0.0.0/16, which is not private; use a part of 10.0.0.0/8`},
		{"index of a taint", pools(`"scaler": "fixed"`, `"nodeCount": 1`,
			`"taints": [{"key": "a b", "effect": "NoSchedule"}]`), `pools[0] "gpu-l4".taints[0] "a b": the key is not a qualified name`},
		{"startup taint that is a taint", pools(`"scaler": "karpenter"`, `"maxNodeCount": 1`,
			`"startupTaints": [{"key": "nvidia.com/gpu", "effect": "NoSchedule"}]`), `startupTaints[0] "nvidia.com/gpu": is among the pool's taints too`},
		{"taint of Karpenter", pools(`"scaler": "karpenter"`, `"maxNodeCount": 1`,
			`"taints": [{"key": "karpenter.sh/disrupted", "effect": "NoSchedule"}]`), `taints[0] "karpenter.sh/disrupted": taints under karpenter.sh are Karpenter's own`},
		{"name of the node", pools(`"scaler": "fixed"`, `"nodeCount": 1`, `"labels": {"kubernetes.io/hostname": "a"}`),
			`labels["kubernetes.io/hostname"]: nodes get this label by themselves`},
		{"zone of the node", pools(`"scaler": "cluster-autoscaler"`, `"maxNodeCount": 1`,
			`"labels": {"topology.kubernetes.io/zone": "a"}`), `labels["topology.kubernetes.io/zone"]: nodes get this label by themselves`},
		{"more nodes than any cluster", pools(`"scaler": "karpenter"`, `"maxNodeCount": 9000000000`),
			`maxNodeCount is 9000000000; the largest cluster of EKS has 100000 nodes`},
		{"more nodes than a fixed group", pools(`"scaler": "fixed"`, `"nodeCount": 451`),
			`nodeCount is 451; EKS allows 450 nodes in one managed group`},
		{"more nodes than a scaled group", pools(`"scaler": "cluster-autoscaler"`, `"maxNodeCount": 451`),
			`maxNodeCount is 451; EKS allows 450 nodes in one managed group`},
		{"more nodes than groups of two zones",
			pools(`"scaler": "cluster-autoscaler"`, `"maxNodeCount": 901`, `"spread": "per-zone"`),
			`maxNodeCount is 901; EKS allows 450 nodes in each of the managed groups of 2 zones`},
		{"more system nodes than a group", environment(`"system": {"nodeCount": 451}`),
			`system.nodeCount: found 451; EKS allows 450`},
		{"general pool without end",
			environment(`"general": {"scaler": "karpenter", "limits": {"vcpus": 10000001, "memoryGiB": 1}}`),
			`general.limits: found vcpus 10000001 and memoryGiB 1; at most 10000000 each`},
		{"general pool outside the network",
			environment(
				`"general": {"scaler": "karpenter", "zones": ["us-west-2d"], "limits": {"vcpus": 8, "memoryGiB": 8}}`), `general.zones: us-west-2d is not a zone of the network`},
		{"general pool without a disk",
			environment(`"general": {"scaler": "karpenter", "diskGiB": 5, "limits": {"vcpus": 8, "memoryGiB": 8}}`),
			`general.diskGiB: found 5; 20 to 16384`},
		{"budget on no schedule",
			environment(
				`"general": {"scaler": "karpenter", "budgets": [{"nodes": "1", "schedule": "nightly", "duration": "8h"}], "limits": {"vcpus": 8, "memoryGiB": 8}}`), `general.budgets[0].schedule: found "nightly"; write a cron line of five fields`},
		{"budget in days", pools(`"scaler": "karpenter"`, `"maxNodeCount": 1`,
			`"budgets": [{"nodes": "1", "schedule": "@daily", "duration": "1d"}]`), `pools[0] "gpu-l4".budgets[0].duration: found "1d"; write hours and minutes`},
		{"reservation that ends on a day", pools(`"scaler": "karpenter"`, `"maxNodeCount": 1`,
			`"reservation": {"id": "cr-1", "count": 1, "end": "2027-01-31"}`), `reservation.end: found "2027-01-31"; write a time in quotes, such as "2027-01-31T00:00:00Z"`},
		{"reservation by another id", pools(`"scaler": "karpenter"`, `"maxNodeCount": 1`,
			`"reservation": {"id": "cr-A B", "count": 1}`), `reservation: found id "cr-A B"`},
		{"existing and new network",
			`{"network": {"zones": ["us-west-2a"], "existing": {"vpcId": "vpc-1", "privateSubnetIds": ["subnet-1", "subnet-2"]}}}`, `network.existing: goes without cidr, zones`},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, problems := load(c.config)
			if !slices.ContainsFunc(problems, func(p string) bool { return strings.Contains(p, c.want) }) {
				t.Errorf("no problem says %q; found %q", c.want, problems)
			}
		})
	}
}

func TestAllProblemsAreReportedAtOnce(t *testing.T) {
	_, problems := load(pools(`"scaler": "karpenter"`, `"minNodeCount": 3`, `"maxNodeCount": 2`,
		`"labels": {"karpenter.sh/x": "y"}`))
	if len(problems) != 3 { // bounds, minimum with Karpenter, label
		t.Errorf("want 3 problems, found %q", problems)
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
