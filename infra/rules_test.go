package infra

import (
	"slices"
	"strings"
	"testing"

	"github.com/headroom-eks/headroom/infra/config"
)

// refusals of an environment of two zones with the given further members, before AWS is asked anything.
func refusals(t *testing.T, members string) []string {
	t.Helper()
	env, problems := config.Decode(`{"network": {"zones": ["us-west-2a", "us-west-2b"]` + members + `}`)
	if err := problems.Err(); err != nil {
		t.Fatal(err)
	}
	return validate(env.WithDefaults("dev")).Items()
}

func scaledPool(scaler, members string) string {
	return `}, "pools": [{"name": "gpu", "scaler": "` + scaler +
		`", "maxNodeCount": 1, "instanceTypes": ["g6.xlarge"], ` + members + `}]`
}

func TestWhatAComponentWouldRefuseIsRefusedByPathBeforeAnythingIsAsked(t *testing.T) {
	for _, c := range []struct{ name, members, want string }{
		{"endpoint twice", `, "interfaceEndpoints": ["ecr.api", "ecr.api"]}`,
			`network.interfaceEndpoints[1]: "ecr.api" is given twice; keep one`},
		{"endpoint that is no service", `, "interfaceEndpoints": ["ECR API"]}`,
			`network.interfaceEndpoints[0]: "ECR API" is not a service name; write one like ecr.api`},
		{"kubelet key in another case", scaledPool("karpenter", `"kubelet": {"maxpods": 10}`),
			`pools[0] "gpu".kubelet.maxpods: is not a known key; use one of cpuCFSQuota,`},
		{"kubelet value of another type", scaledPool("karpenter", `"kubelet": {"maxPods": "10"}`),
			`pools[0] "gpu".kubelet.maxPods: found a string; write a whole number, without quotes`},
		{"kubelet object for a number", scaledPool("karpenter", `"kubelet": {"kubeReserved": {"cpu": 1}}`),
			`pools[0] "gpu".kubelet.kubeReserved: found a number; write text, in quotes`},
		{"kubelet value out of range", scaledPool("karpenter", `"kubelet": {"maxPods": -1}`),
			`pools[0] "gpu".kubelet.maxPods: -1 is negative`},
		{"Karpenter that is no version", scaledPool("karpenter", `"priority": 1`) +
			`, "karpenter": {"version": "v1.15"}`, `karpenter.version: "v1.15" is not an exact version`},
		{"DRA without its switch", scaledPool("karpenter", `"deviceMode": "dra"`),
			`set karpenter.enableDRA: true (alpha)`},
		{"taint key with two effects", scaledPool("cluster-autoscaler",
			`"taints": [{"key": "team", "effect": "NoSchedule"}, {"key": "team", "effect": "NoExecute"}]`),
			`pools[0] "gpu".taints[1] "team": the key has effect NoSchedule too, and with scaler cluster-autoscaler a key has one`},
		{"Auto Mode pool that never expires", scaledPool("auto-mode", `"expireAfter": "Never"`),
			`pools[0] "gpu".expireAfter: Auto Mode replaces every node after 504 hours`},
		{"Auto Mode pool that drains beyond its life",
			scaledPool("auto-mode", `"expireAfter": "500h", "terminationGracePeriod": "10h"`),
			`pools[0] "gpu".expireAfter: 500h and a grace period of 10h`},
		{"general pool of Auto Mode that never expires",
			`}, "general": {"scaler": "auto-mode", "expireAfter": "Never", "limits": {"vcpus": 8, "memoryGiB": 8}}`,
			`general.expireAfter: Auto Mode replaces every node`},
		{"general pool of Auto Mode with startup taints",
			`}, "general": {"scaler": "auto-mode", "startupTaints": [{"key": "a", "effect": "NoSchedule"}], "limits": {"vcpus": 8, "memoryGiB": 8}}`,
			`general.startupTaints: not possible with scaler auto-mode`},
		{"Auto Mode pool by the name of a built-in one",
			`}, "pools": [{"name": "general-purpose", "scaler": "auto-mode", "maxNodeCount": 1, "instanceTypes": ["g6.xlarge"]}]`, `"general-purpose" is a pool that EKS keeps itself`},
	} {
		t.Run(c.name, func(t *testing.T) {
			found := refusals(t, c.members)
			if !slices.ContainsFunc(found, func(p string) bool { return strings.Contains(p, c.want) }) {
				t.Errorf("no problem says %q; found %q", c.want, found)
			}
		})
	}
}

func TestRulesOfEveryOwnerAreReportedInOneList(t *testing.T) {
	found := strings.Join(refusals(t,
		`, "cidr": "52.0.0.0/16", "interfaceEndpoints": ["s3"]}, "general": {"scaler": "karpenter", "limits": {"vcpus": 8, "memoryGiB": 8},
		"budgets": [{"nodes": "1", "schedule": "nightly", "duration": "8h"}]}, "pools": [
		{"name": "a", "scaler": "karpenter", "maxNodeCount": 1, "instanceTypes": ["g6.xlarge"], "kubelet": {"MaxPods": 1}},
		{"name": "b", "scaler": "cluster-autoscaler", "maxNodeCount": 1, "instanceTypes": ["g6.xlarge"]}]`), "\n")
	for _, want := range []string{"network.cidr", "network.interfaceEndpoints[0]", "general.budgets[0].schedule",
		`pools[0] "a".kubelet.MaxPods`, `pools "a" and "b"`} {
		if !strings.Contains(found, want+": ") {
			t.Errorf("nothing is said of %s in\n%s", want, found)
		}
	}
}

func TestAVersionThatCannotBeReadIsReportedOnce(t *testing.T) {
	found := refusals(t, scaledPool("karpenter", `"deviceMode": "dra"`)+
		`, "karpenter": {"enableDRA": true}, "cluster": {"kubernetesVersion": "1.3"}`)
	if len(found) != 1 || !strings.HasPrefix(found[0],
		`cluster.kubernetesVersion: found "1.3"; write a minor version`) {
		t.Errorf("found %q", found)
	}
}
