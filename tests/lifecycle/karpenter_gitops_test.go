package lifecycle

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/pulumi/pulumi-aws/sdk/v6/go/aws"
	"github.com/pulumi/pulumi-aws/sdk/v6/go/aws/kms"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
	"sigs.k8s.io/yaml"

	"github.com/headroom-eks/headroom/capacity"
	"github.com/headroom-eks/headroom/infra/config"
	"github.com/headroom-eks/headroom/pool"
	"github.com/headroom-eks/headroom/sandbox/kubernetes"
	"github.com/headroom-eks/headroom/sandbox/run"
	"github.com/headroom-eks/headroom/sandbox/world"
)

// Moving a live pool to GitOps must not delete it.
func TestALivePoolMovesToGitOpsWithItsNodes(t *testing.T) {
	e := start(t, config.Environment{
		Pools: []config.Pool{provisioned("gpu-l4", pool.Karpenter, "g6.xlarge", 4, pool.OnDemand)},
	})
	e.up()
	e.grow("gpu-l4", 2)
	outputs := moveToGitOps(e)
	e.step("the manifests are what was applied", func() {
		if diff := cmp.Diff(e.objectSpecs(), manifestSpecs(e.t, outputs)); diff != "" {
			e.t.Errorf("applied (-) and manifests (+):\n%s", diff)
		}
	})
	e.step("the promise is that of an applied pool", func() {
		if p := e.pool(outputs, "gpu-l4"); p.Nodes.Realized != 2 || p.Nodes.Maximum != 4 {
			e.t.Errorf("%+v bound by %s", p.Nodes, p.BoundBy)
		}
	})
	e.step("taking the confirmation back while nodes run says how to go on", func() {
		e.trying(func(env *config.Environment) { env.GitOps.Applied = false }, func() {
			e.untouched(e.Up, `pool "gpu-l4" has 2 running nodes`, "applied: true")
		})
	})
	e.step("once GitOps has taken its pool away, everything goes", func() {
		e.dropManifests()
		e.down()
	})
}

// moveToGitOps returns the outputs of the last update on the way.
func moveToGitOps(e *environment) (outputs map[string]any) {
	applied, nodes := e.objectSpecs(), e.nodes()
	e.step("straight from apply to manifests is refused while nodes run", func() {
		e.trying(func(env *config.Environment) { env.GitOps.NodePools = "manifests" }, func() {
			e.untouched(e.Up, `pool "gpu-l4" has 2 running nodes`, "gitOps.nodePools: keep")
		})
	})
	e.step("keep changes nothing in the cluster", func() {
		e.change(func(env *config.Environment) { env.GitOps.NodePools = "keep" })
		e.up()
		if diff := cmp.Diff(applied, e.objectSpecs()); diff != "" {
			e.t.Errorf("objects (-before +after):\n%s", diff)
		}
	})
	e.step("from keep to manifests the objects and their nodes stay", func() {
		e.change(func(env *config.Environment) { env.GitOps = config.GitOps{NodePools: "manifests", Applied: true} })
		outputs = e.up().Outputs
		if diff := cmp.Diff(applied, e.objectSpecs()); diff != "" {
			e.t.Errorf("objects (-before +after):\n%s", diff)
		}
		if got := e.nodes(); !slices.Equal(got, nodes) {
			e.t.Errorf("nodes %v became %v", nodes, got)
		}
	})
	return outputs
}

// queueKey is a key of somebody else's stack, which lets EventBridge use it.
func queueKey(ctx *pulumi.Context) error {
	provider, err := aws.NewProvider(ctx, "aws", &aws.ProviderArgs{Region: pulumi.String("us-west-2")})
	if err != nil {
		return err
	}
	key, err := kms.NewKey(ctx, "queue", &kms.KeyArgs{Policy: pulumi.String(`{"Version": "2012-10-17", "Statement": [
		{"Effect": "Allow", "Principal": {"AWS": "arn:aws:iam::123456789012:root"}, "Action": "kms:*", "Resource": "*"},
		{"Effect": "Allow", "Principal": {"Service": "events.amazonaws.com"},
			"Action": ["kms:GenerateDataKey", "kms:Decrypt"], "Resource": "*"}]}`),
	}, pulumi.Provider(provider))
	if err != nil {
		return err
	}
	ctx.Export("arn", key.Arn)
	return nil
}

// general is a general pool beside a GPU pool, both of Karpenter, that buy spot too.
func general() config.Environment {
	return config.Environment{
		PodsSelectPool: true,
		General: &config.General{
			Scaler: pool.Karpenter,
			Limits: config.GeneralLimits{VCPUs: 16, MemoryGiB: 64},
		},
		Pools: []config.Pool{provisioned("gpu-l4", pool.Karpenter, "g6.xlarge", 4)},
	}
}

func TestPoolsLeftToGitOpsBesideAnotherCluster(t *testing.T) {
	owner := start(t, config.Environment{}, foreign("keys", queueKey))
	arn, _ := owner.up().Outputs["arn"].(string)
	env := general()
	env.Spot.CreateServiceLinkedRole = true
	env.GitOps.NodePools = "manifests"
	env.Karpenter = config.Karpenter{InterruptionQueueKeyArn: arn, InstanceProfile: true}
	e := inAccountOf(owner, "test", env)
	e.mayOnly(append(inMode("karpenter"), "spot-role")...)
	var first run.Result

	e.step("the account's role for spot is made for who asks", func() { // field fault BR-41
		first = e.up()
		e.view(func(s *world.State) error {
			if !slices.Contains(s.ServiceLinkedRoles, world.SpotRole) {
				e.t.Errorf("roles: %v", s.ServiceLinkedRoles)
			}
			return nil
		})
	})
	e.step("it is asked for no second time", func() { e.settled() })
	unconfirmedManifestsPromiseNothing(e, first)
	queueHasTheKey(e, first, arn)
	e.step("another cluster in the account has names of its own", func() { // field fault BR-31
		other := inAccountOf(e, "other", general())
		other.up()
		mine, theirs := accountWideNames(e, "test"), accountWideNames(e, "other")
		if len(mine) < 20 || len(theirs) < 20 {
			e.t.Errorf("names: %v and %v", mine, theirs)
		}
		for name := range mine {
			if theirs[name] {
				e.t.Errorf("both have %s", name)
			}
		}
		if _, err := other.Down(testContext); err != nil {
			e.t.Error(err)
		}
	})
	e.step("only the account's role for spot stays", func() {
		e.dropManifests()
		if _, err := e.Down(testContext); err != nil {
			e.t.Fatal(err)
		}
		owner.t = e.t
		if _, err := owner.Down(testContext); err != nil {
			e.t.Fatal(err)
		}
		e.view(func(s *world.State) error {
			if left := s.Leftovers(); len(left) != 1 || !strings.Contains(left[0], world.SpotRole) {
				e.t.Errorf("left: %q", left)
			}
			return nil
		})
	})
}

func unconfirmedManifestsPromiseNothing(e *environment, first run.Result) {
	e.step("no NodePool is made, and its manifest is an output", func() {
		if got := e.objectSpecs(); len(got) > 0 {
			e.t.Errorf("made: %v", got)
		}
		if got := manifestSpecs(e.t, first.Outputs); len(got) != 4 {
			e.t.Errorf("manifests of two pools: %v", first.Outputs["manifests"])
		}
	})
	e.step("nothing is promised before it is confirmed", func() {
		if p := e.pool(first.Outputs, "gpu-l4"); p.Nodes.Maximum != 0 || p.BoundBy != "not-applied" {
			e.t.Errorf("%+v bound by %s", p.Nodes, p.BoundBy)
		}
	})
	e.step("a confirmation that is not true promises nothing", func() {
		e.change(func(env *config.Environment) { env.GitOps.Applied = true })
		if p := e.pool(e.up().Outputs, "gpu-l4"); p.Nodes.Maximum != 0 || p.BoundBy != capacity.Live {
			e.t.Errorf("%+v bound by %s", p.Nodes, p.BoundBy)
		}
	})
	e.step("once GitOps has applied the manifests the promise changes, and no resource", func() {
		e.applyManifests(first.Outputs)
		confirmed := e.up()
		if p := e.pool(confirmed.Outputs, "gpu-l4"); confirmed.Changed() || p.Nodes.Maximum != 4 {
			e.t.Errorf("%+v bound by %s, by %v", p.Nodes, p.BoundBy, changes(confirmed))
		}
	})
}

// applyManifests plays the GitOps tool.
func (e *environment) applyManifests(outputs map[string]any) {
	e.t.Helper()
	files, _ := outputs["manifests"].(map[string]any)
	e.act(func(s *world.State) error {
		for _, name := range slices.Sorted(maps.Keys(files)) {
			if err := kubernetes.Apply(s, "headroom-test", fmt.Sprint(files[name])); err != nil {
				return err
			}
		}
		return nil
	})
}

// dropManifests plays the GitOps tool when the pools leave its repository.
func (e *environment) dropManifests() {
	e.t.Helper()
	e.act(func(s *world.State) error {
		for key := range s.Objects {
			if strings.HasPrefix(key, "headroom-test|") &&
				(strings.Contains(key, "|NodePool|") || strings.Contains(key, "|EC2NodeClass|")) {
				delete(s.Objects, key)
			}
		}
		for _, pool := range []string{"general", "gpu-l4"} {
			s.DeleteNodePool("headroom-test", pool)
			s.RemoveInstanceProfile("headroom-test", pool)
		}
		return nil
	})
}

func queueHasTheKey(e *environment, first run.Result, arn string) {
	e.step("the interruption queue is encrypted with the given key", func() {
		if queue := one(e, first, "aws:sqs/queue:Queue"); queue.Inputs["kmsMasterKeyId"] != arn ||
			queue.Inputs["sqsManagedSseEnabled"] != nil {
			e.t.Errorf("%v", queue.Inputs)
		}
	})
	e.step("the controller may use the key", func() {
		for _, s := range first.Steps {
			if document, _ := s.Inputs["policy"].(string); strings.HasPrefix(s.Name, "karpenter-") &&
				strings.Contains(document, arn) {
				return
			}
		}
		e.t.Error("no policy of the controller names it")
	})
}

// accountWideNames are the physical names, by type, of what a stack has in the account. Names inside a cluster are left
// out.
func accountWideNames(e *environment, stack string) map[string]bool {
	names := map[string]bool{}
	e.view(func(s *world.State) error {
		for _, r := range s.Resources {
			name, named := r.Outputs["name"].(string)
			_, inside := r.Outputs["clusterName"]
			if named && !inside && strings.HasPrefix(r.URN, "urn:pulumi:"+stack+"::") {
				names[r.Type+" "+name] = true
			}
		}
		return nil
	})
	return names
}

// objectSpecs are the specs of the NodePools and node classes in the cluster, by kind and name.
func (e *environment) objectSpecs() map[string]any {
	specs := map[string]any{}
	e.view(func(s *world.State) error {
		for _, text := range s.Objects {
			if err := addSpec(specs, text); err != nil {
				return err
			}
		}
		return nil
	})
	return specs
}

// manifestSpecs are those of the output.
func manifestSpecs(t *testing.T, outputs map[string]any) map[string]any {
	t.Helper()
	specs := map[string]any{}
	files, _ := outputs["manifests"].(map[string]any)
	for name, text := range files {
		decoded, err := yaml.YAMLToJSON([]byte(fmt.Sprint(text)))
		if err == nil {
			err = addSpec(specs, decoded)
		}
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	return specs
}

func addSpec(specs map[string]any, text []byte) error {
	var o struct {
		Kind     string
		Metadata struct{ Name string }
		Spec     map[string]any
	}
	err := json.Unmarshal(text, &o)
	if o.Kind == "NodePool" || o.Kind == "EC2NodeClass" {
		specs[o.Kind+" "+o.Metadata.Name] = o.Spec
	}
	return err
}

// nodes are the running instances, sorted.
func (e *environment) nodes() (ids []string) {
	e.view(func(s *world.State) error {
		for _, i := range s.SortedInstances((*world.Instance).Running) {
			ids = append(ids, i.ID)
		}
		return nil
	})
	slices.Sort(ids)
	return ids
}
