package plan

import (
	"slices"
	"strings"
	"testing"

	"github.com/headroom-eks/headroom/components/nodepool"
	"github.com/headroom-eks/headroom/infra/config"
	"github.com/headroom-eks/headroom/pool"
)

func maxPods(most int) func(*config.Pool) {
	return func(p *config.Pool) { p.Kubelet.MaxPods = most }
}

func claims(p *config.Pool) { p.DeviceMode = pool.DRA }

func lifetime(expire, grace string) func(*config.Pool) {
	return func(p *config.Pool) { p.ExpireAfter, p.TerminationGracePeriod = expire, grace }
}

func endpoints(names ...string) []func(*config.Environment) {
	return []func(*config.Environment){func(env *config.Environment) { env.Network.InterfaceEndpoints = names }}
}

var beforeAsking = []struct {
	name string
	env  []func(*config.Environment)
	// path and says are how the problem begins and what it holds.
	path, says string
}{
	{"a controller that cannot reach IAM from an existing network (FR-10)", append(slices.Clone(karpenterPool),
		existingNetwork[0], func(env *config.Environment) { env.Network.Existing.Isolated = true }),
		`karpenter.instanceProfile`, `from a network without a way out`},
	{"endpoint twice", endpoints("ecr.api", "ecr.api"), `network.interfaceEndpoints[1]`, `twice`},
	{"endpoint that is no service", endpoints("ECR API"), `network.interfaceEndpoints[0]`, `write one like ecr.api`},
	{"kubelet value out of range", environmentOf(gpuPool(pool.Karpenter, maxPods(-1))),
		`pools[0] "gpu-l4".kubelet.maxPods`, `-1`},
	{"Karpenter that is no version", append(karpenterPool,
		func(env *config.Environment) { env.Karpenter.Version = "v1.15" }),
		`karpenter.version`, `"v1.15"`},
	{"DRA without its switch", environmentOf(gpuPool(pool.Karpenter, claims)),
		`pools[0] "gpu-l4"`, `set karpenter.enableDRA: true (alpha)`},
	{"taint key with two effects", environmentOf(gpuPool(pool.ClusterAutoscaler, func(p *config.Pool) {
		p.Taints = []pool.Taint{{Key: "team", Effect: pool.NoSchedule}, {Key: "team", Effect: pool.NoExecute}}
	})), `pools[0] "gpu-l4".taints[1] "team"`,
		`the key has effect NoSchedule too, and with scaler cluster-autoscaler a key has one; use two keys`},
	{"Auto Mode pool that never expires", environmentOf(gpuPool(pool.AutoMode, lifetime("Never", ""))),
		`pools[0] "gpu-l4".expireAfter`, `Auto Mode replaces every node after 504 hours`},
	{"Auto Mode pool that drains beyond its life", environmentOf(gpuPool(pool.AutoMode, lifetime("500h", "10h"))),
		`pools[0] "gpu-l4".expireAfter`, `with a grace period of 10h0m0s is more than the 504 hours`},
	{"general pool of Auto Mode that never expires", []func(*config.Environment){
		withGeneral(pool.AutoMode, func(g *config.General) { g.ExpireAfter = "Never" }),
	}, `general.expireAfter`, `Auto Mode replaces every node`},
	{"general pool of Auto Mode with startup taints", []func(*config.Environment){
		withGeneral(pool.AutoMode, func(g *config.General) {
			g.StartupTaints = []pool.Taint{{Key: "a", Effect: pool.NoSchedule}}
		}),
	}, `general.startupTaints`, `is not possible with scaler auto-mode`},
	{"Auto Mode pool by the name of a built-in one", environmentOf(gpuPool(pool.AutoMode, named("general-purpose"))),
		`pools[0] "general-purpose".name`, `is one that EKS keeps for itself`},
	{"kubelet settings with Auto Mode", environmentOf(gpuPool(pool.AutoMode, maxPods(20))),
		`pools[0] "gpu-l4".kubelet`, `pods are capped at 110 a node; remove it, or use another scaler`},
	{"local disks with Auto Mode", environmentOf(gpuPool(pool.AutoMode,
		func(p *config.Pool) { p.LocalDisks = "raid0" })),
		`pools[0] "gpu-l4".localDisks`, `remove it and set diskGiB`},
	{"startup taints with Auto Mode", environmentOf(gpuPool(pool.AutoMode, func(p *config.Pool) {
		p.StartupTaints = []pool.Taint{{Key: "a", Effect: pool.NoSchedule}}
	})), `pools[0] "gpu-l4".startupTaints`, `Auto Mode supports none`},
	{"static pool with Auto Mode", environmentOf(gpuPool(pool.AutoMode, static(2))),
		`pools[0] "gpu-l4".static`, `set maxNodeCount instead`},
	{"image release with Auto Mode", append(environmentOf(gpuPool(pool.AutoMode)),
		func(env *config.Environment) { env.System.AMIRelease = "1.36.3-20260911" }),
		`system.amiRelease`, `AWS chooses the image`},
	{"claims on an Auto Mode without them", append(environmentOf(gpuPool(pool.AutoMode, claims)),
		func(env *config.Environment) { env.Cluster.KubernetesVersion = "1.35" }),
		`pools[0] "gpu-l4".deviceMode`, `auto-mode needs Kubernetes 1.36`},
}

func TestWhatAComponentWouldRefuseIsRefusedByPathBeforeAnythingIsAsked(t *testing.T) {
	for _, c := range beforeAsking {
		t.Run(c.name, func(t *testing.T) {
			found := Check(environment(c.env...)).Items()
			if !slices.ContainsFunc(found, func(p string) bool {
				return strings.HasPrefix(p, c.path) && strings.Contains(p, c.says)
			}) {
				t.Errorf("no problem of %s says %q; found %q", c.path, c.says, found)
			}
		})
	}
}

func TestRulesOfEveryOwnerAreReportedInOneList(t *testing.T) {
	found := strings.Join(Check(environment(
		func(env *config.Environment) {
			env.Network.CIDR, env.Network.InterfaceEndpoints = "52.0.0.0/16", []string{"s3"}
		},
		withGeneral(pool.Karpenter, func(g *config.General) {
			g.Budgets = []nodepool.Budget{{Nodes: "1", Schedule: "nightly", Duration: "8h"}}
		}),
		with(gpuPool(pool.Karpenter, named("a"), maxPods(-1)), gpuPool(pool.ClusterAutoscaler, named("b"))),
	)).Items(), "\n")
	for _, want := range []string{"network.cidr", "network.interfaceEndpoints[0]", "general.budgets[0].schedule",
		`pools[0] "a".kubelet.maxPods`, `pools "a" and "b"`} {
		if !strings.Contains(found, want+": ") {
			t.Errorf("nothing is said of %s in\n%s", want, found)
		}
	}
}

func TestAVersionThatCannotBeReadIsReportedOnce(t *testing.T) {
	found := Check(environment(with(gpuPool(pool.Karpenter, claims)), func(env *config.Environment) {
		env.Karpenter.EnableDRA, env.Cluster.KubernetesVersion = true, "1.3"
	})).Items()
	if len(found) != 1 || !strings.HasPrefix(found[0], "cluster.kubernetesVersion: ") ||
		!strings.Contains(found[0], `"1.3"`) {
		t.Errorf("found %q", found)
	}
}

func TestKubeletSettingsReachTheNodeClass(t *testing.T) {
	p := Decide(valid(t, with(gpuPool(pool.Karpenter, maxPods(20)))), answers()).Pools[1]
	if kubelet, _ := p.NodePool.Class.Spec["kubelet"].(map[string]any); kubelet["maxPods"] != 20 {
		t.Errorf("%v", p.NodePool.Class.Spec)
	}
}
