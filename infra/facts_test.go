package infra

import (
	"slices"
	"strings"
	"testing"

	"github.com/headroom-eks/headroom/components/clusterautoscaler"
	"github.com/headroom-eks/headroom/infra/config"
	"github.com/headroom-eks/headroom/pool"
)

// configured is an environment with the given further members, with its defaults.
func configured(t *testing.T, members string) config.Environment {
	t.Helper()
	env, problems := config.Decode(`{"network": {"zones": ["us-west-2a", "us-west-2b", "us-west-2c"]}` + members + `}`)
	if err := problems.Err(); err != nil {
		t.Fatal(err)
	}
	env = env.WithDefaults("dev")
	problems = validate(env)
	if err := problems.Err(); err != nil {
		t.Fatal(err)
	}
	return env
}

// answers of an account that has everything.
func answers() facts {
	shape := func(t string, vcpus, gpus int) pool.Shape {
		return pool.Shape{
			InstanceType: t,
			VCPUs:        vcpus,
			MemoryMiB:    vcpus * 4096,
			GPUs:         gpus,
			GPUModel:     map[bool]string{true: "L4"}[gpus > 0],
			GPUMemoryMiB: 22888,
			Architecture: "x86_64",
			MaxENIs:      4,
			IPv4PerENI:   15,
		}
	}
	yes, off := true, false
	return facts{
		Partition: "aws",
		DNSSuffix: "amazonaws.com",
		Region:    "us-west-2",
		AccountID: "123456789012",
		Versions:  []string{"1.35", "1.36"},
		ZoneIDs:   map[string]string{"us-west-2a": "usw2-az1", "us-west-2b": "usw2-az2", "us-west-2c": "usw2-az3"},
		Shapes: map[string]pool.Shape{
			"m6i.large":   shape("m6i.large", 2, 0),
			"g6.xlarge":   shape("g6.xlarge", 4, 1),
			"gr6.xlarge":  shape("gr6.xlarge", 8, 1),
			"g6.12xlarge": shape("g6.12xlarge", 48, 4),
		},
		Offerings: map[string][]string{
			"m6i.large":   {"us-west-2a", "us-west-2b", "us-west-2c"},
			"g6.xlarge":   {"us-west-2a", "us-west-2b"},
			"gr6.xlarge":  {"us-west-2a"},
			"g6.12xlarge": {"us-west-2c"},
		},
		Quotas:     map[string]quota{"L-DB2E81BA": {VCPUs: 64}, "L-3819A6DF": {VCPUs: 64}},
		SpotRole:   &yes,
		LiveAuto:   &off,
		LiveGroups: map[string]clusterautoscaler.Live{},
		LiveNodes:  map[string]int{},
		VPCSubnet:  map[string]string{},
	}
}

const karpenterPool = `, "pools": [{"name": "gpu-l4", "scaler": "karpenter", "instanceTypes": ["g6.xlarge"], "maxNodeCount": 4}]`

func TestWhatAWSCannotGiveIsRefusedWithThePathAndTheRemedy(t *testing.T) {
	for _, c := range []struct {
		name    string
		members string
		change  func(*facts)
		want    string
	}{
		{"a version that EKS does not serve", ``, func(f *facts) { f.Versions = []string{"1.34", "1.35"} },
			`cluster.kubernetesVersion: EKS serves no "1.36" in us-west-2; it serves 1.34, 1.35`},
		{"a version below the live one", ``, func(f *facts) { f.LiveVersion = "1.37" }, `cluster.kubernetesVersion`},
		{"a version two above the live one", ``, func(f *facts) { f.LiveVersion = "1.34" },
			`cluster.kubernetesVersion`},
		{"a zone of another account", ``, func(f *facts) { delete(f.ZoneIDs, "us-west-2b") },
			`network.zones: this account has no zone "us-west-2b"`},
		{"an image release that is not there", ``,
			func(f *facts) { f.MissingAMIs = []string{"1.36.3-20260911 (nvidia image)"} },
			`system.amiRelease: 1.36.3-20260911 (nvidia image) does not exist in us-west-2; pin another release`},
		{"no zone in common (field fault BR-68)", karpenterPool,
			func(f *facts) { f.Offerings["g6.xlarge"] = []string{"us-west-2d"} },
			`pools[0] "gpu-l4".zones: no zone is left for g6.xlarge`},
		{"an instance type without a description", karpenterPool, func(f *facts) { delete(f.Shapes, "g6.xlarge") },
			`EC2 gives no description of g6.xlarge`},
		{"two shapes of one size",
			`, "pools": [{"name": "a", "scaler": "karpenter", "instanceTypes": ["g6.xlarge", "gr6.xlarge"], "maxNodeCount": 4}]`, func(*facts) {}, `gr6.xlarge has 8 vCPUs and 1 GPUs, g6.xlarge has 4 and 1; the types of a pool have one shape`},
		{"spot without its role (field fault BR-41)", karpenterPool, func(f *facts) { no := false; f.SpotRole = &no },
			`spot: this account has no service-linked role AWSServiceRoleForEC2Spot`},
		{"a live cluster moved into Auto Mode (field fault BR-83)",
			`, "pools": [{"name": "a", "scaler": "auto-mode", "instanceTypes": ["g6.xlarge"], "maxNodeCount": 4}]`,
			func(*facts) {}, `autoMode: the live cluster has Auto Mode off and this configuration would switch it on`},
		{"a live pool handed over at once", karpenterPool + `, "gitOps": {"nodePools": "manifests"}`,
			func(f *facts) { f.LiveNodes["gpu-l4"] = 2 },
			`gitOps: pool "gpu-l4" has 2 running nodes; if it is applied elsewhere already, set gitOps.applied: true`},
		{"a live cluster that could not be asked about", ``,
			func(f *facts) { f.Unguarded = []string{"cluster headroom-dev could not be asked about (AccessDenied)"} },
			`aws: cluster headroom-dev could not be asked about (AccessDenied); without the answer what runs could be replaced or deleted unseen`},
		{"a system type without a description", ``, func(f *facts) { delete(f.Shapes, "m6i.large") },
			`system.instanceType: EC2 gives no description of m6i.large in us-west-2`},
		{"more nodes from the start than the quota holds",
			`, "pools": [{"name": "a", "scaler": "fixed", "instanceTypes": ["g6.xlarge"], "nodeCount": 10}, {"name": "b", "scaler": "karpenter", "static": true, "instanceTypes": ["g6.xlarge"], "nodeCount": 7}], "podsSelectPool": true`, func(*facts) {}, `pools: a, b start with nodes of 68 vCPUs together, and the quota L-DB2E81BA allows 64`},
		{"more labels than an Auto Scaling group has tags",
			`, "pools": [{"name": "a", "scaler": "cluster-autoscaler", "instanceTypes": ["g6.xlarge"], "maxNodeCount": 4, "labels": {` + manyLabels(50) + `}}]`, func(*facts) {}, `tags, and an Auto Scaling group has room for`},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := answers()
			c.change(&f)
			problems := judge(configured(t, c.members), f).Items()
			if !slices.ContainsFunc(problems, func(p string) bool { return strings.Contains(p, c.want) }) {
				t.Errorf("no problem says %q; found %q", c.want, problems)
			}
		})
	}
}

func manyLabels(n int) string {
	labels := make([]string, n)
	for i := range labels {
		labels[i] = `"example.com/` + strings.Repeat("x", i+1) + `": "y"`
	}
	return strings.Join(labels, ", ")
}

func TestAnAccountThatHasEverythingIsNotRefused(t *testing.T) {
	if problems := judge(configured(t, karpenterPool), answers()).Items(); len(problems) > 0 {
		t.Errorf("problems: %q", problems)
	}
}

func TestWhatCouldNotBeAskedRefusesNothing(t *testing.T) {
	f := answers()
	f.ZoneIDs, f.Offerings, f.Quotas, f.Versions, f.SpotRole, f.LiveAuto = nil, map[string][]string{}, nil, nil, nil,
		nil
	if problems := judge(configured(t, karpenterPool), f).Items(); len(problems) > 0 {
		t.Errorf("problems: %q", problems)
	}
}

func TestPoolRunsWhereEveryOneOfItsTypesIsOffered(t *testing.T) {
	env := configured(t, karpenterPool)
	env.Pools[0].InstanceTypes = []string{"g6.xlarge", "gr6.xlarge"}
	if zones := zonesOf(env.Pools[0], env, answers()); !slices.Equal(zones, []string{"us-west-2a"}) {
		t.Errorf("zones %q", zones)
	}
}

func TestWhoRunsTheProgramIsToldBeforeBeingLockedOut(t *testing.T) {
	admin := `, "cluster": {"access": {"admins": {"principalArn": "arn:aws:iam::123456789012:role/path/admins", "policy": "cluster-admin"}}}`
	for _, c := range []struct {
		name, members, caller string
		warned                bool
	}{
		{"nobody named: the creator is admin", ``, "arn:aws:sts::123456789012:assumed-role/someone/session", false},
		{"the caller is named", admin, "arn:aws:sts::123456789012:assumed-role/admins/session", false},
		{"someone else is named", admin, "arn:aws:sts::123456789012:assumed-role/someone/session", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := answers()
			f.Caller = c.caller
			if warning := lockedOut(configured(t, c.members), f); (warning != "") != c.warned {
				t.Errorf("warning %q", warning)
			}
		})
	}
}

func TestOnlyPoolsWithNodePoolsAreHandedOver(t *testing.T) {
	env := configured(t,
		`, "podsSelectPool": true, "general": {"scaler": "karpenter", "limits": {"vcpus": 8, "memoryGiB": 32}}, "gitOps": {"nodePools": "manifests"}, "pools": [
		{"name": "gpu-fixed", "scaler": "fixed", "instanceTypes": ["g6.xlarge"], "nodeCount": 1}, {"name": "gpu-l4", "scaler": "karpenter", "instanceTypes": ["g6.xlarge"], "maxNodeCount": 4}]`)
	if got := handedOver(env); !slices.Equal(got, []string{"general", "gpu-l4"}) {
		t.Errorf("%v", got)
	}
}

func TestLiveClusterIsFoundByItsNameOrItsNameWithASuffix(t *testing.T) {
	all := []string{"headroom-dev", "headroom-dev-ab12cd", "headroom-dev-staging", "headroom-dev2-ab12cd"}
	for suffix, want := range map[bool]string{false: "headroom-dev", true: "headroom-dev-ab12cd"} {
		if got := liveNames(all, config.Cluster{Name: "headroom-dev", UniqueSuffix: suffix}); !slices.Equal(got,
			[]string{want}) {
			t.Errorf("with suffix %v: %q", suffix, got)
		}
	}
}

func TestReplacementOfAGroupWithNodesIsSaidBeforehand(t *testing.T) {
	env := configured(t,
		`, "pools": [{"name": "gpu", "scaler": "fixed", "instanceTypes": ["g6.xlarge"], "nodeCount": 1}, {"name": "gpu-l4", "scaler": "fixed", "instanceTypes": ["g6.xlarge"], "nodeCount": 2}]`)
	f := answers()
	for _, p := range env.Pools {
		decided, _ := groups("", p, env, f)
		f.LiveGroups[decided[0].Args.Name()] = clusterautoscaler.Live{Exists: true, Desired: *p.NodeCount}
	}
	if warning := replaced(env, f); warning != "" {
		t.Errorf("nothing changes, and it says %q", warning)
	}
	f.Offerings["g6.xlarge"] = []string{"us-west-2b"}
	warning := replaced(env, f)
	if !strings.Contains(warning, "(1 nodes), gpu-l4-") || strings.Count(warning, "nodes)") != 2 {
		t.Errorf("warning %q", warning)
	}
}

func TestAQuotaLoweredUnderWhatRunsRefusesNothing(t *testing.T) {
	env := configured(t,
		`, "pools": [{"name": "gpu", "scaler": "fixed", "instanceTypes": ["g6.xlarge"], "nodeCount": 4}]`)
	f := answers()
	f.Quotas["L-DB2E81BA"] = quota{VCPUs: 4}
	if len(judge(env, f).Items()) == 0 {
		t.Error("four nodes that do not run yet are taken to fit into 4 vCPUs")
	}
	decided, _ := groups("", env.Pools[0], env, f)
	f.LiveName = "headroom-dev"
	f.LiveGroups[decided[0].Args.Name()] = clusterautoscaler.Live{Exists: true, Min: 4, Max: 4, Desired: 4}
	if problems := judge(env, f).Items(); len(problems) > 0 {
		t.Errorf("problems: %q", problems)
	}
}
