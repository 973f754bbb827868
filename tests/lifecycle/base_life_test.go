package lifecycle

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/headroom-eks/headroom/infra/config"
	"github.com/headroom-eks/headroom/sandbox/run"
	"github.com/headroom-eks/headroom/sandbox/world"
)

// base is the founding environment with a second pool beside it.
func base() config.Environment {
	l4, quad := fixed("gpu-l4", "g6.xlarge", 1), fixed("gpu-quad", "g6.12xlarge", 0)
	l4.MinNodeCount, l4.MaxNodeCount = new(0), new(4)
	quad.Labels = map[string]string{"team": "search"}
	return config.Environment{Pools: []config.Pool{l4, quad}}
}

func TestBaseEnvironmentThroughItsLife(t *testing.T) {
	e := start(t, base())
	first := firstUpdateOfBase(e)
	baseAdvertisesWhatItHas(e, first)
	baseClusterIsComplete(e, first)
	e.step("a second update plans nothing", func() {
		if second := e.up(); second.Changed() {
			e.t.Errorf("it plans %v", second.Ops())
		}
	})
	e.step("a refresh finds nothing changed", func() {
		if refreshed, err := e.Refresh(testContext); err != nil || refreshed.Changed() {
			e.t.Errorf("%v, %v", refreshed.Ops(), err)
		}
	})
	editsTouchWhatTheyName(e)
	sizesAreOurs(e)
	e.step("a pool scaled down to nothing loses its group, which is said", func() {
		e.changePool("gpu-quad", func(p *config.Pool) { p.NodeCount = new(0) })
		emptied := e.up()
		for name, ops := range changes(emptied) {
			if ops != "delete" || !strings.HasPrefix(name, "pool-gpu-quad") {
				e.t.Errorf("%s: %s", name, ops)
			}
		}
		if said := emptied.Messages("warning"); !strings.Contains(said, "this update deletes node groups") {
			e.t.Errorf("no word about its node: %s", said)
		}
		if p := e.pool(emptied.Outputs, "gpu-quad"); p.Nodes.Realized != 0 || p.Nodes.Maximum != 0 {
			e.t.Errorf("%+v", p.Nodes)
		}
		e.settled()
	})
	e.step("everything goes", func() {
		e.down()
	})
}

// firstUpdateOfBase returns what the first update did.
func firstUpdateOfBase(e *environment) (first run.Result) {
	var preview run.Result
	e.step("the preview of a new stack says what it cannot know", func() {
		preview = e.preview()
		for _, output := range []string{"capacity", "clusterEndpoint", "kubeconfig", "oidcProviderArn"} {
			if preview.Outputs[output] != run.Unknown {
				e.t.Errorf("output %s is known before there is anything: %v", output, preview.Outputs[output])
			}
		}
	})
	e.step("the preview makes nothing", func() {
		e.view(func(s *world.State) error {
			if left := s.Leftovers(); len(left) > 0 {
				e.t.Errorf("made: %q", left)
			}
			return nil
		})
	})
	e.step("the update makes what the preview showed", func() { // field fault BR-92
		first = e.up()
		if diff := cmp.Diff(registered(preview), registered(first)); diff != "" {
			e.t.Errorf("preview (-) and update (+) register different resources:\n%s", diff)
		}
	})
	return first
}

func baseAdvertisesWhatItHas(e *environment, first run.Result) {
	e.step("a pool that nothing scales advertises the nodes it has", func() { // the founding bug
		if p := e.pool(first.Outputs, "gpu-l4"); p.Nodes.Realized != 1 || p.Nodes.Maximum != 1 || p.Nodes.Firm != 1 ||
			p.BoundBy != "no-autoscaler" {
			e.t.Errorf("bounds 1/0/4 and no scaler: %+v, bound by %s", p.Nodes, p.BoundBy)
		}
		if said := first.Messages("warning"); !strings.Contains(said,
			`pools[0] "gpu-l4": minNodeCount and maxNodeCount have no effect`) {
			e.t.Errorf("no word about the bounds: %s", said)
		}
	})
	e.step("a pool of no nodes advertises none", func() {
		if p := e.pool(first.Outputs, "gpu-quad"); p.Nodes.Realized != 0 || p.Nodes.Maximum != 0 {
			e.t.Errorf("%+v", p.Nodes)
		}
	})
	e.step("a fixed group keeps AWS from moving it", func() {
		if g := e.group("gpu-l4"); g.Min != 1 || g.Desired != 1 || g.Max != 1 {
			e.t.Errorf("bounds %d/%d/%d", g.Min, g.Desired, g.Max)
		}
	})
}

func baseClusterIsComplete(e *environment, first run.Result) {
	e.step("what pulumi-eks lacks reaches its inner cluster", func() {
		cluster := one(e, first, clusterToken)
		want := map[string]any{
			"upgradePolicy":              map[string]any{"supportType": "STANDARD"},
			"computeConfig":              map[string]any{"enabled": false},
			"storageConfig":              map[string]any{"blockStorage": map[string]any{"enabled": false}},
			"bootstrapSelfManagedAddons": false,
		}
		got := map[string]any{}
		for key := range want {
			got[key] = cluster.Inputs[key]
		}
		if diff := cmp.Diff(want, got); diff != "" {
			e.t.Errorf("cluster (-want +got):\n%s", diff)
		}
		network, _ := cluster.Inputs["kubernetesNetworkConfig"].(map[string]any)
		if balancing, _ := network["elasticLoadBalancing"].(map[string]any); balancing["enabled"] != false {
			e.t.Errorf("Auto Mode's load balancing is not switched off: %v", network)
		}
	})
	e.step("the creator is admin where nobody else is named", func() { // field fault BR-45
		access, _ := one(e, first, clusterToken).Inputs["accessConfig"].(map[string]any)
		if access["bootstrapClusterCreatorAdminPermissions"] != true {
			e.t.Errorf("%v", access)
		}
	})
	e.step("the log group is there before EKS would make its own", func() {
		order := map[string]int{}
		for i, s := range first.Steps {
			order[s.Type] = i + 1
		}
		if logs, cluster := order[world.LogGroupType], order[clusterToken]; logs == 0 || logs > cluster {
			e.t.Errorf("log group is step %d, the cluster %d", logs, cluster)
		}
	})
}

func editsTouchWhatTheyName(e *environment) {
	e.step("a tag on everything replaces nothing", func() { // field fault BR-89
		e.change(func(env *config.Environment) { env.Tags["owner"] = "search" })
		tagged := e.up()
		for name, ops := range changes(tagged) {
			if ops != "update" {
				e.t.Errorf("%s: %s", name, ops)
			}
		}
		if len(tagged.Steps) < 20 {
			e.t.Errorf("it reached only %v", changes(tagged))
		}
		if steps := tagged.Named("kubernetes"); len(steps) > 0 {
			e.t.Errorf("the Kubernetes provider changes: %+v", steps)
		}
	})
	e.step("the first node of a pool makes its group", func() {
		e.changePool("gpu-quad", func(p *config.Pool) { p.NodeCount = new(1) })
		e.changed(map[string]string{
			"pool-gpu-quad NodeGroup":               "create",
			"pool-gpu-quad-group NodeGroup":         "create",
			"pool-gpu-quad-template LaunchTemplate": "create",
		}, "")
	})
	e.step("the new count is advertised", func() {
		outputs, err := e.Outputs(testContext)
		if err != nil {
			e.t.Fatal(err)
		}
		if p := e.pool(outputs, "gpu-quad"); p.Nodes.Realized != 1 || p.Nodes.Maximum != 1 {
			e.t.Errorf("%+v", p.Nodes)
		}
	})
	e.step("a changed label touches its own group only", func() {
		e.changePool("gpu-quad", func(p *config.Pool) { p.Labels["team"] = "ranking" })
		e.changed(map[string]string{"pool-gpu-quad-group NodeGroup": "update"}, "labels")
	})
	e.step("a changed disk makes a new version of its launch template and rolls its group", func() {
		e.quota(world.QuotaGOnDemand, 512) // new nodes come before old ones go
		e.changePool("gpu-quad", func(p *config.Pool) { p.DiskGiB = 300 })
		e.changed(map[string]string{
			"pool-gpu-quad-group NodeGroup":         "update",
			"pool-gpu-quad-template LaunchTemplate": "update",
		}, "")
		e.quota(world.QuotaGOnDemand, 64)
	})
}

func sizesAreOurs(e *environment) {
	e.step("a changed instance type makes the new group before the old one goes", func() { // field fault BR-88
		before := e.group("gpu-l4")
		e.changePool("gpu-l4", func(p *config.Pool) { p.InstanceTypes = []string{"g6.2xlarge"} })
		replaced := e.changed(map[string]string{
			"pool-gpu-l4-group NodeGroup": "create-replacement replace delete-replaced",
			"pool-gpu-l4 NodeGroup":       "update", // the component, which names its types
		}, "")
		if after := e.group("gpu-l4"); after.NodeGroup == before.NodeGroup {
			e.t.Errorf("both groups are called %s", after.NodeGroup)
		}
		if p := e.pool(replaced.Outputs, "gpu-l4"); p.Nodes.Realized != 1 {
			e.t.Errorf("the nodes of the old group, which goes last, are counted too: %+v", p.Nodes)
		}
	})
	e.step("a group that somebody grew is told as it is, and promised no further than it is configured", func() {
		e.act(func(s *world.State) error {
			g, err := s.GroupOfPool("", "gpu-l4")
			if err != nil {
				return err
			}
			return s.ScaleGroup(g, 2, true)
		})
		if p := e.pool(e.up().Outputs, "gpu-l4"); p.Nodes.Realized != 2 || p.Nodes.Maximum != 1 {
			e.t.Errorf("%+v", p.Nodes)
		}
	})
	e.step("a refresh sees what somebody grew, and the update takes it back", func() {
		if _, err := e.Refresh(testContext); err != nil {
			e.t.Fatal(err)
		}
		if p := e.pool(e.up().Outputs, "gpu-l4"); p.Nodes.Realized != 1 || p.Nodes.Maximum != 1 {
			e.t.Errorf("%+v", p.Nodes)
		}
	})
}

// registered are the resources that a result makes, by URN, sorted. Those inside a chart are left out: a chart whose
// values are not known yet shows none in a preview.
func registered(r run.Result) []string {
	urns := map[string]bool{}
	for _, s := range r.Steps {
		if !strings.Contains(s.URN, "kubernetes:helm.sh/v4:Chart$") {
			urns[s.URN] = true
		}
	}
	return slices.Sorted(maps.Keys(urns))
}

// one is the only step of a result that has the type.
func one(e *environment, r run.Result, typ string) run.Step {
	e.t.Helper()
	var found []run.Step
	for _, s := range r.Steps {
		if s.Type == typ {
			found = append(found, s)
		}
	}
	if len(found) != 1 {
		e.t.Fatalf("%d steps of type %s: %+v", len(found), typ, found)
	}
	return found[0]
}

// changed updates and wants exactly these operations; diff, where given, is the property that every step changes.
func (e *environment) changed(want map[string]string, diff string) run.Result {
	e.t.Helper()
	result := e.up()
	if d := cmp.Diff(want, changes(result)); d != "" {
		e.t.Errorf("operations (-want +got):\n%s", d)
	}
	for _, s := range result.Steps {
		for _, d := range s.Diffs {
			if !strings.HasPrefix(d, diff) {
				e.t.Errorf("%s changes %v, not only %s", s.Name, s.Diffs, diff)
			}
		}
	}
	return result
}
