package lifecycle

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/headroom-eks/headroom/infra/config"
	"github.com/headroom-eks/headroom/pool"
	"github.com/headroom-eks/headroom/sandbox/kubernetes"
	"github.com/headroom-eks/headroom/sandbox/run"
	"github.com/headroom-eks/headroom/sandbox/world"
)

func TestStagingThroughItsLife(t *testing.T) {
	e := startShipped(t, "staging")
	e.mayOnly(inMode("karpenter")...)
	first := firstUpdateOfStaging(e)
	e.step("pools start at nothing and promise what quotas and limits let them reach", func() {
		for name, want := range map[string]int{"gpu-l4": 4, "gpu-l4-claims": 2} {
			if p := e.pool(first.Outputs, name); p.Nodes.Realized != 0 || p.Nodes.Maximum != want ||
				!p.ScalesFromZero || !p.MaximumIsSoft {
				e.t.Errorf("%s: %+v, from zero %v, soft %v", name, p.Nodes, p.ScalesFromZero, p.MaximumIsSoft)
			}
		}
	})
	e.step("a second update plans nothing", func() {
		if second := e.up(); second.Changed() {
			e.t.Errorf("it plans %v", second.Ops())
		}
	})
	promisesFollowNodesAndQuotas(e)
	editsOfKarpentersPools(e)
	e.step("a role that a profile still holds cannot be deleted", func() { // field fault BR-86
		name, _ := e.up().Outputs["karpenterNodeRoleName"].(string)
		err := e.World().Update(func(s *world.State) error { return s.Remove(world.Key("aws:iam/role:Role", name)) })
		if err == nil || !strings.Contains(err.Error(), "is used by aws:iam/instanceProfile") {
			e.t.Errorf("role %q: %v", name, err)
		}
	})
	deletionIsInOrder(e)
}

// firstUpdateOfStaging returns what the first update did.
func firstUpdateOfStaging(e *environment) (first run.Result) {
	e.step("spot without its service-linked role is refused", func() { // field fault BR-41
		e.untouched(e.Up, "AWSServiceRoleForEC2Spot", "spot.createServiceLinkedRole: true")
	})
	// field faults BR-55, BR-92
	e.step("a first preview passes, though no definition of a NodePool is there yet", func() {
		e.spotted()
		preview := e.preview()
		first = e.up()
		if diff := cmp.Diff(registered(preview), registered(first)); diff != "" {
			e.t.Errorf("preview (-) and update (+) register different resources:\n%s", diff)
		}
	})
	return first
}

func promisesFollowNodesAndQuotas(e *environment) {
	e.step("grown nodes are counted", func() {
		e.grow("gpu-l4", 2)
		grown := e.up()
		if p := e.pool(grown.Outputs, "gpu-l4"); grown.Changed() || p.Nodes.Realized != 2 || p.Nodes.Maximum != 4 ||
			p.Nodes.Firm != 4 {
			e.t.Errorf("%+v by %v", p.Nodes, changes(grown))
		}
	})
	e.step("an interrupted node is missed", func() {
		e.act(func(s *world.State) error { return s.Interrupt(s.NodesOfPool("headroom-test", "gpu-l4")[0].ID) })
		if p := e.pool(e.up().Outputs, "gpu-l4"); p.Nodes.Realized != 1 || p.Nodes.Maximum != 4 {
			e.t.Errorf("%+v", p.Nodes)
		}
	})
	e.step("quotas that were taken away bound the promise, and on-demand's the firm part of it", func() {
		e.quota(world.QuotaGOnDemand, 4)
		e.quota(world.QuotaGSpot, 12)
		if p := e.pool(e.up().Outputs, "gpu-l4"); p.Nodes.Realized != 1 || p.Nodes.Maximum != 2 || p.Nodes.Firm != 1 ||
			p.BoundBy != "vcpu-quota" {
			e.t.Errorf("%+v bound by %s", p.Nodes, p.BoundBy)
		}
		e.quota(world.QuotaGOnDemand, 64)
		e.quota(world.QuotaGSpot, 64)
	})
}

func editsOfKarpentersPools(e *environment) {
	e.step("a raised maximum touches its own NodePool only", func() {
		e.changePool("gpu-l4", func(p *config.Pool) { p.MaxNodeCount = new(5) })
		e.changed(map[string]string{"pool-gpu-l4-pool NodePool": "update"}, "spec")
	})
	e.step("a pool of claims is refused without the switch that lets Karpenter start it", func() { // field fault BR-12
		e.trying(func(env *config.Environment) { env.Karpenter.EnableDRA = false }, func() {
			e.untouched(e.Up, "gpu-l4-claims", "enableDRA")
		})
	})
	e.step("a static pool keeps exactly its nodes", func() {
		warm := fixed("gpu-l4-warm", "g6.xlarge", 2)
		warm.Scaler, warm.Static = pool.Karpenter, true
		e.change(func(env *config.Environment) { env.Pools = append(env.Pools, warm) })
		if p := e.pool(e.up().Outputs, "gpu-l4-warm"); p.Nodes.Realized != 2 || p.Nodes.Maximum != 2 ||
			p.Nodes.Firm != 2 {
			e.t.Errorf("%+v", p.Nodes)
		}
	})
}

func deletionIsInOrder(e *environment) {
	e.step("what owns instances goes before what it needs", func() { // field fault BR-86
		e.grow("gpu-l4", 3)
		nodes := []stage{
			{"NodePools", func(s run.Step) bool { return s.Type == "kubernetes:karpenter.sh/v1:NodePool" }, 4},
			{"node classes", func(s run.Step) bool { return s.Type == "kubernetes:karpenter.k8s.aws/v1:EC2NodeClass" },
				4},
			{"controller", func(s run.Step) bool {
				return s.Name == "karpenter-chart:kube-system/karpenter" && strings.HasSuffix(s.Type, ":Deployment")
			}, 1},
		}
		needs := e.needs()
		down := e.down()
		// Nothing ties a queue to a group: both outlive the controller, and neither waits for the other.
		inOrder(e.t, down, needs, append(slices.Clone(nodes),
			stage{"queue, roles, access entry", func(s run.Step) bool {
				return strings.HasPrefix(s.Type, "aws:") &&
					(s.Name == "karpenter" || strings.HasPrefix(s.Name, "karpenter-") ||
						strings.HasPrefix(s.Name, "interruption-"))
			}, 15}))
		inOrder(e.t, down, needs, append(slices.Clone(nodes),
			stage{"system group", func(s run.Step) bool { return s.Name == "system-group" }, 1},
			stage{"cluster", func(s run.Step) bool { return s.Type == clusterToken }, 1},
			stage{"network", func(s run.Step) bool {
				return strings.HasPrefix(s.Type, "aws:ec2/") && strings.HasPrefix(s.Name, "network-")
			}, 15},
		))
	})
}

// grow plays pods that bring a NodePool to n nodes.
func (e *environment) grow(name string, n int) {
	e.t.Helper()
	e.act(func(s *world.State) error {
		nodes, err := kubernetes.ScaleNodePool(s, "headroom-test", name, n)
		if err == nil && len(nodes) != n {
			err = fmt.Errorf("pool %s has %d nodes", name, len(nodes))
		}
		return err
	})
}

// stage is a kind of resources in an order of deletion, of which at least some are there.
type stage struct {
	what  string
	is    func(run.Step) bool
	least int
}

// inOrder wants every deletion of a stage to begin after all those of the stages before it, and not by chance: what is
// deleted first needs what is deleted later.
func inOrder(t *testing.T, r run.Result, needs map[string]map[string]bool, stages []stage) {
	t.Helper()
	var before []run.Step
	last := -1
	for _, kind := range stages {
		var deleted []run.Step
		first := len(r.Steps)
		for i, s := range r.Steps {
			if s.Op != "delete" || !kind.is(s) {
				continue
			}
			deleted, first = append(deleted, s), min(first, i)
			for _, b := range before {
				if !needs[b.URN][s.URN] && related(b, s) {
					t.Errorf("%s: %s does not need %s, so their order is left to chance", kind.what, b.URN, s.URN)
				}
			}
		}
		if len(deleted) < kind.least {
			t.Errorf("only %d of %s deleted", len(deleted), kind.what)
		}
		if first < last {
			t.Errorf("%s: %s is deleted before %s", kind.what, r.Steps[first].Name, r.Steps[last].Name)
		}
		before = deleted
		for i, s := range r.Steps {
			if s.Op == "delete" && kind.is(s) {
				last = max(last, i)
			}
		}
	}
}

// related reports whether one may need the other: a NodePool has nothing to do with the class of another one.
func related(nodes, class run.Step) bool {
	name, isPool := strings.CutSuffix(nodes.Name, "-pool")
	other, isClass := strings.CutSuffix(class.Name, "-class")
	return !isPool || !isClass || name == other
}

// keptResource is a resource in the stack's state.
type keptResource struct {
	URN, Type, Parent    string
	Outputs              map[string]json.RawMessage
	Dependencies         []string
	PropertyDependencies map[string][]string
}

// kept is the stack's state, from its file.
func (e *environment) kept() []keptResource {
	e.t.Helper()
	text, err := os.ReadFile(filepath.Join(e.Home(), "state", ".pulumi", "stacks", "headroom", "test.json"))
	if err != nil {
		e.t.Fatal(err)
	}
	var state struct {
		Checkpoint struct {
			Latest struct{ Resources []keptResource }
		}
	}
	if err := json.Unmarshal(text, &state); err != nil {
		e.t.Fatal(err)
	}
	return state.Checkpoint.Latest.Resources
}

// needs says, for each resource of the stack's state, what the engine deletes only after it: dependencies and parents,
// and theirs, and what is in a component that it depends on.
func (e *environment) needs() map[string]map[string]bool {
	e.t.Helper()
	all := map[string]map[string]bool{}
	parents := map[string]string{}
	inside := map[string][]string{} // a component, at any depth
	for _, r := range e.kept() {    // each after what it needs
		direct := slices.Clone(r.Dependencies)
		for _, urns := range r.PropertyDependencies {
			direct = append(direct, urns...)
		}
		all[r.URN] = map[string]bool{r.Parent: true}
		maps.Copy(all[r.URN], all[r.Parent])
		for _, urn := range direct {
			for _, needed := range append(slices.Clone(inside[urn]), urn) {
				all[r.URN][needed] = true
				maps.Copy(all[r.URN], all[needed])
			}
		}
		for at := r.Parent; at != ""; at = parents[at] {
			if !strings.Contains(at, "pulumi:pulumi:Stack") {
				inside[at] = append(inside[at], r.URN)
			}
		}
		parents[r.URN] = r.Parent
	}
	return all
}

// Field report FR-14.
func TestAnInstanceProfileStaysWhileNodesRunWithIt(t *testing.T) {
	e := start(t, config.Environment{
		Karpenter: config.Karpenter{InstanceProfile: true},
		Pools:     []config.Pool{provisioned("gpu-l4", pool.Karpenter, "g6.xlarge", 4, pool.OnDemand)},
	})
	e.up()
	e.grow("gpu-l4", 1)
	e.trying(func(env *config.Environment) { env.Karpenter.InstanceProfile = false }, func() {
		e.untouched(e.Up, "karpenter.instanceProfile: is off, and 1 node(s) of Karpenter run with the profile",
			"keep it on until they are gone")
	})
}
