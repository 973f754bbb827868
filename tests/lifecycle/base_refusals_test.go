package lifecycle

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/headroom-eks/headroom/infra/config"
	"github.com/headroom-eks/headroom/sandbox/run"
	"github.com/headroom-eks/headroom/sandbox/world"
)

const clusterToken = "aws:eks/cluster:Cluster"

func TestWhatIsRefusedChangesNothing(t *testing.T) {
	e := start(t, config.Environment{Pools: []config.Pool{fixed("gpu-l4", "g6.xlarge", 1)}})

	e.step("configuration errors are told together and register nothing", func() {
		e.trying(func(env *config.Environment) {
			env.Pools[0].NodeCount = new(-1)
			env.Pools[0].Labels = map[string]string{"kubernetes.io/role": "gpu"}
		}, func() {
			misspelt := object(e.t, e.config)
			misspelt["pools"].([]any)[0].(map[string]any)["maxNodes"] = 4
			e.configure(misspelt)
			e.untouched(e.Up, "maxNodes")
			e.configure(object(e.t, e.config))
			e.untouched(e.Up, `nodeCount: is below 0 (found -1)`, "kubernetes.io/role")
		})
	})
	e.step("an API that cannot be reached is told before any object waits on it", func() {
		e.unreachable = true
		failed := e.fails(e.Up, "the Kubernetes API at", "cannot be reached from here (connection timed out)",
			"203.0.113.0/24")
		for _, s := range failed.Steps {
			if strings.HasPrefix(s.Type, "kubernetes:") {
				e.t.Errorf("%s: %s", s.Type, s.Name)
			}
		}
		e.view(func(s *world.State) error {
			if len(s.Objects) > 0 {
				e.t.Errorf("%d objects are in the cluster", len(s.Objects))
			}
			return nil
		})
	})
	e.step("the same update completes once the API can be reached", func() {
		e.unreachable = false
		if p := e.pool(e.up().Outputs, "gpu-l4"); p.Nodes.Realized != 1 {
			e.t.Errorf("%+v", p.Nodes)
		}
		e.settled()
	})
	versionsFollowTheLiveCluster(e)
	whatEKSFixesStays(e)
	accessFollowsThePrincipal(e)
	e.step("what is protected is not destroyed", func() {
		e.change(func(env *config.Environment) { env.Protect = true })
		e.up()
		e.fails(e.Down, "protect")
		e.view(func(s *world.State) error {
			if len(s.OfType(clusterToken)) != 1 {
				e.t.Error("the cluster is gone")
			}
			return nil
		})
		e.change(func(env *config.Environment) { env.Protect = false })
		e.up()
		e.down()
	})
}

func versionsFollowTheLiveCluster(e *environment) {
	for live, want := range map[string]string{"1.37": "below the cluster", "1.34": "more than one minor"} {
		e.step("version 1.36 is refused on a live cluster of "+live, func() {
			e.liveVersion(live)
			e.untouched(e.Up, "1.36", live, want)
		})
	}
	e.step("version 1.36 is accepted on a live cluster of 1.35", func() {
		e.liveVersion("1.35")
		e.preview()
		e.liveVersion("1.36")
	})
}

// Field reports FR-01 and FR-03: EKS takes the key and the zones of a control plane once.
func whatEKSFixesStays(e *environment) {
	e.step("another key for the secrets of a live cluster is refused, and its own stays", func() {
		e.trying(func(env *config.Environment) {
			env.Cluster.SecretsKeyArn = "arn:aws:kms:us-west-2:123456789012:key/00000000-0000-0000-0000-000000000000"
		}, func() {
			e.untouched(e.Up, "which this stack made and the live cluster encrypts its secrets with", "remove it")
		})
	})
	e.step("a live cluster is not renamed", func() {
		e.trying(func(env *config.Environment) { env.Cluster.Name = "headroom-other" }, func() {
			e.untouched(e.Up, "cluster.name: is another than headroom-test, the live cluster of this stack")
		})
	})
	e.step("a zone more is for nodes, and one less is refused", func() {
		zones := e.config.Network.Zones
		e.change(func(env *config.Environment) { env.Network.Zones = append(slices.Clone(zones), "us-west-2c") })
		for _, s := range e.up().Steps {
			if s.Type == clusterToken {
				e.t.Errorf("the cluster is changed: %s %v", s.Op, s.Diffs)
			}
		}
		e.settled()
		e.trying(func(env *config.Environment) { env.Network.Zones = []string{zones[0], "us-west-2c"} }, func() {
			e.untouched(e.Up, "has no private subnet in "+zones[1]+", in which the control plane")
		})
	})
}

// Field report FR-04: EKS keeps one access entry for each principal, whatever the configuration calls it.
func accessFollowsThePrincipal(e *environment) {
	named := func(name, role, policy string) func(*config.Environment) {
		return func(env *config.Environment) {
			env.Cluster.Access = map[string]config.Access{name: {
				PrincipalArn: "arn:aws:iam::123456789012:role/" + role,
				Policy:       policy,
			}}
		}
	}
	e.step("an entry that EKS made for the creator is not made again", func() {
		e.trying(named("ops", "headroom-sandbox", "cluster-admin"), func() {
			e.untouched(e.Up, "has an access entry in cluster headroom-test that this stack did not make",
				"aws eks delete-access-entry")
		})
	})
	e.step("another name for the same principal changes nothing", func() {
		e.change(named("ops", "readers", "view"))
		e.up()
		e.change(named("watchers", "readers", "view"))
		e.settled()
		e.change(func(env *config.Environment) { env.Cluster.Access = nil })
		e.up()
	})
}

// untouched wants an operation to fail with the words, before it changes anything in the account.
func (e *environment) untouched(operation func(context.Context) (run.Result, error), words ...string) {
	e.t.Helper()
	before := e.account()
	for _, s := range e.fails(operation, words...).Steps {
		// Providers are asked, and are nothing in the account: that of AWS, and the engine's own for former outputs.
		if s.Type != "pulumi:providers:aws" && s.Type != "pulumi:providers:pulumi" {
			e.t.Errorf("it registered %s (%s)", s.URN, s.Op)
		}
	}
	if e.account() != before {
		e.t.Error("the account changed")
	}
}

// account is everything the account holds, as text.
func (e *environment) account() string {
	e.t.Helper()
	text, err := os.ReadFile(filepath.Join(e.Home(), "world.json"))
	if err != nil && !os.IsNotExist(err) {
		e.t.Fatal(err)
	}
	return string(text)
}

// liveVersion upgrades the cluster behind the program's back.
func (e *environment) liveVersion(version string) {
	e.t.Helper()
	e.act(func(s *world.State) error {
		for _, c := range s.OfType(clusterToken) {
			c.Inputs["version"], c.Outputs["version"] = version, version
		}
		return nil
	})
}
