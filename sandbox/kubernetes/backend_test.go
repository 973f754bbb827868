package kubernetes

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/pulumi/pulumi/sdk/v3/go/common/resource"
	"github.com/pulumi/pulumi/sdk/v3/go/common/tokens"

	"github.com/headroom-eks/headroom/sandbox/plugin"
	"github.com/headroom-eks/headroom/sandbox/world"
)

const kubeconfigOf = `{"current-context":"aws","contexts":[{"name":"aws","context":{"cluster":"kubernetes"}}],` +
	`"clusters":[{"name":"kubernetes","cluster":{"server":%q}}]}`

// lab is a world with one cluster and a configured provider.
type lab struct {
	t *testing.T
	w *world.World
	b *Backend
}

func newLab(t *testing.T, auto bool) *lab {
	t.Helper()
	w, err := world.Open(filepath.Join(t.TempDir(), "world.json"))
	if err != nil {
		t.Fatal(err)
	}
	l := &lab{t, w, New(w)}
	l.update(func(s *world.State) error {
		s.Put(&world.Resource{
			Type:    clusterType,
			ID:      "dev",
			Inputs:  map[string]any{"computeConfig": map[string]any{"enabled": auto}},
			Outputs: map[string]any{"name": "dev", "endpoint": "https://dev.example"},
		})
		s.Put(&world.Resource{Type: "aws:iam/role:Role", ID: "nodes", Outputs: map[string]any{"name": "nodes"}})
		s.Put(&world.Resource{
			Type:   world.SubnetType,
			ID:     "subnet-a",
			Inputs: map[string]any{"cidrBlock": "10.0.0.0/24"},
			Outputs: map[string]any{
				"availabilityZone": "us-west-2a",
				"cidrBlock":        "10.0.0.0/24",
				"tags":             map[string]any{"karpenter.sh/discovery": "dev"},
			},
		})
		return nil
	})
	if err := l.b.Configure(resource.NewPropertyMapFromMap(map[string]any{"kubeconfig": fmt.Sprintf(kubeconfigOf,
		"https://dev.example")})); err != nil {
		t.Fatal(err)
	}
	return l
}

func (l *lab) update(f func(*world.State) error) {
	l.t.Helper()
	if err := l.w.Update(f); err != nil {
		l.t.Fatal(err)
	}
}

// create sends one object as the engine would: checked, then created.
func (l *lab) create(o object) (id string, err error) {
	l.t.Helper()
	r := l.request(o)
	inputs, refused, err := l.b.Check(r)
	if err != nil {
		return "", err
	}
	if len(refused) > 0 {
		return "", fmt.Errorf("%s: %s", refused[0].Property, refused[0].Reason)
	}
	r.Inputs = inputs
	id, _, err = l.b.Create(r)
	return id, err
}

func (l *lab) must(objects ...object) {
	l.t.Helper()
	for _, o := range objects {
		if _, err := l.create(o); err != nil {
			l.t.Fatal(err)
		}
	}
}

func (l *lab) delete(o object) error {
	r := l.request(o)
	r.ID, r.OldOutputs = o.id(), r.Inputs
	return l.b.Delete(r)
}

func (l *lab) request(o object) plugin.Request {
	return plugin.Request{
		Type:       tokens.Type(o.token()),
		Name:       "thing",
		Inputs:     resource.NewPropertyMapFromMap(o),
		RandomSeed: []byte("seed"),
	}
}

func (l *lab) running() (n int) {
	_ = l.w.View(func(s *world.State) error { n = len(s.NodesOfPool("dev", "gpu")); return nil })
	return n
}

func obj(apiVersion, kind, namespace, name string, spec map[string]any) object {
	metadata := map[string]any{"name": name}
	if namespace != "" {
		metadata["namespace"] = namespace
	}
	return object{"apiVersion": apiVersion, "kind": kind, "metadata": metadata, "spec": spec}
}

func somePool(foreground bool) object {
	o := obj("karpenter.sh/v1", "NodePool", "", "gpu", map[string]any{
		"limits": map[string]any{"nvidia.com/gpu": "3"},
		"template": map[string]any{"spec": map[string]any{
			"nodeClassRef": map[string]any{"group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": "gpu"},
			"requirements": []any{map[string]any{
				"key":      "node.kubernetes.io/instance-type",
				"operator": "In",
				"values":   []any{"g6.xlarge"},
			}},
		}},
	})
	if foreground {
		o["metadata"].(map[string]any)["annotations"] = map[string]any{deletionPolicy: "foreground"}
	}
	return o
}

func someClass() object {
	return obj("karpenter.k8s.aws/v1", "EC2NodeClass", "", "gpu", map[string]any{
		"role":                "nodes",
		"tags":                map[string]any{"headroom/pool": "gpu"},
		"subnetSelectorTerms": []any{map[string]any{"tags": map[string]any{"karpenter.sh/discovery": "dev"}}},
	})
}

func karpenter() []object {
	return release{chart: "karpenter", name: "karpenter", namespace: "kube-system", version: "1.15.0"}.objects()
}

func wantRefused(t *testing.T, err error, want string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("got error %v, want one that says %q", err, want)
	}
}

// Field fault BR-55: a custom resource that comes before its definition is refused.
func TestCustomResourceBeforeItsDefinitionIsRefused(t *testing.T) {
	l := newLab(t, false)
	_, err := l.create(someClass())
	wantRefused(t, err, `no matches for kind "EC2NodeClass" in version "karpenter.k8s.aws/v1"`)
	l.must(karpenter()...)
	l.must(someClass())
}

func TestAutoModeClusterKnowsNodePoolsByItself(t *testing.T) {
	auto := obj("eks.amazonaws.com/v1", "NodeClass", "", "gpu", nil)
	newLab(t, true).must(auto, somePool(true))
	_, err := newLab(t, false).create(auto)
	wantRefused(t, err, "no matches for kind")
}

func TestWhatTheAPIServerRefuses(t *testing.T) {
	cases := map[string]struct {
		o    object
		want string
	}{
		"namespace that is not there": {obj("v1", "ConfigMap", "nowhere", "a", nil), `namespaces "nowhere" not found`},
		"upper case name":             {obj("v1", "ConfigMap", "default", "Big", nil), "Invalid value"},
		"long namespace name":         {obj("v1", "Namespace", "", strings.Repeat("a", 64), nil), "Invalid value"},
		"namespace on a cluster kind": {obj("storage.k8s.io/v1", "StorageClass", "default", "gp3", nil),
			"cluster-wide"},
		"unknown built-in kind": {obj("apps/v1", "Deploy", "", "a", nil), "no matches for kind"},
		"label value with a space": {object{"apiVersion": "v1", "kind": "ConfigMap",
			"metadata": map[string]any{"name": "a", "labels": map[string]any{"k": "a b"}}}, "Invalid value"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			_, err := newLab(t, false).create(c.o)
			wantRefused(t, err, c.want)
		})
	}
}

func TestSecondObjectOfANameIsRefused(t *testing.T) {
	l := newLab(t, false)
	l.must(obj("v1", "ConfigMap", "default", "a", nil))
	_, err := l.create(obj("v1", "ConfigMap", "", "a", nil))
	wantRefused(t, err, "already exists")
}

func TestObjectWithoutANameGetsOneAndKeepsIt(t *testing.T) {
	l := newLab(t, false)
	r := l.request(object{"apiVersion": "v1", "kind": "ConfigMap"})
	first, _, err := l.b.Check(r)
	if err != nil {
		t.Fatal(err)
	}
	name := dig(first, "metadata", "name").StringValue()
	if !strings.HasPrefix(name, "thing-") || len(name) != len("thing-")+8 {
		t.Errorf("auto-name %q", name)
	}
	r.OldInputs, r.RandomSeed = first, []byte("other")
	second, _, err := l.b.Check(r)
	if err != nil || dig(second, "metadata", "name").StringValue() != name {
		t.Errorf("the second check names it %v (%v), want %s", dig(second, "metadata", "name"), err, name)
	}
}

func TestFixedNameIsDeletedBeforeItIsReplaced(t *testing.T) {
	l := newLab(t, false)
	r := l.request(object{
		"apiVersion": "v1",
		"kind":       "ConfigMap",
		"metadata":   map[string]any{"name": "a"},
		"data":       map[string]any{"k": "new"},
	})
	r.OldInputs = resource.NewPropertyMapFromMap(object{
		"apiVersion": "v1",
		"kind":       "ConfigMap",
		"metadata":   map[string]any{"name": "a"},
		"data":       map[string]any{"k": "old"},
	})
	diff, err := l.b.Diff(r)
	if err != nil || !slices.Equal(diff.Replaces, []string{"data"}) || !diff.DeleteBeforeReplace {
		t.Errorf("diff %+v, %v", diff, err)
	}
	if err := l.b.Configure(
		resource.PropertyMap{"enableConfigMapMutable": resource.NewStringProperty("true")}); err != nil {
		t.Fatal(err)
	}
	if diff, err = l.b.Diff(r); err != nil || len(diff.Replaces) > 0 || len(diff.Changed) == 0 {
		t.Errorf("with mutable ConfigMaps: diff %+v, %v", diff, err)
	}
}

// Field fault BR-86: with the controller gone, the finalizers of a pool with nodes are never cleared.
func TestNodePoolWithoutItsControllerCannotGo(t *testing.T) {
	l := newLab(t, false)
	l.must(karpenter()...)
	l.must(someClass(), somePool(true))
	l.update(func(s *world.State) error { _, err := ScaleNodePool(s, "dev", "gpu", 2); return err })
	deployment := karpenter()[len(karpenter())-1]
	if err := l.delete(deployment); err != nil {
		t.Fatal(err)
	}
	wantRefused(t, l.delete(somePool(true)), "no controller left")
	if l.running() != 2 {
		t.Errorf("%d instances run, want the 2 that nobody ends", l.running())
	}
}

func TestNodePoolTakesItsNodesAlong(t *testing.T) {
	for foreground, left := range map[bool]int{true: 0, false: 2} {
		l := newLab(t, false)
		l.must(karpenter()...)
		l.must(someClass(), somePool(foreground))
		l.update(func(s *world.State) error { _, err := ScaleNodePool(s, "dev", "gpu", 2); return err })
		wantRefused(t, l.delete(someClass()), "still used by NodePool")
		if err := l.delete(somePool(foreground)); err != nil {
			t.Fatal(err)
		}
		if l.running() != left {
			t.Errorf("foreground %v: %d instances left, want %d", foreground, l.running(), left)
		}
		if err := l.delete(someClass()); err != nil {
			t.Error(err)
		}
	}
}

func TestNodePoolStopsAtItsLimits(t *testing.T) {
	l := newLab(t, false)
	l.must(karpenter()...)
	l.must(someClass(), somePool(true))
	wantRefused(t, l.w.Update(func(s *world.State) error { _, err := ScaleNodePool(s, "dev", "gpu", 4); return err }),
		"limit is 3")
}

func TestNodesCarryTheTagsOfTheirClass(t *testing.T) {
	l := newLab(t, false)
	l.must(karpenter()...)
	l.must(someClass(), somePool(true))
	l.update(func(s *world.State) error {
		nodes, err := ScaleNodePool(s, "dev", "gpu", 1)
		if err == nil && nodes[0].Tags["headroom/pool"] != "gpu" {
			t.Errorf("tags %v", nodes[0].Tags)
		}
		return err
	})
}

func TestDefinitionsStayWhileObjectsOfTheirKindDo(t *testing.T) {
	l := newLab(t, false)
	l.must(karpenter()...)
	l.must(someClass(), somePool(true))
	wantRefused(t, l.delete(karpenterDefinitions()[0]), "would delete every NodePool")
}

func TestKubeconfigMustNameAClusterThatExists(t *testing.T) {
	l := newLab(t, false)
	if f := l.b.CheckConfig(
		resource.NewPropertyMapFromMap(map[string]any{"kubeconfig": "not a kubeconfig"})); len(f) != 1 {
		t.Errorf("accepted a kubeconfig that is none: %v", f)
	}
	if err := l.b.Configure(resource.NewPropertyMapFromMap(map[string]any{"kubeconfig": fmt.Sprintf(kubeconfigOf,
		"https://other.example")})); err != nil {
		t.Fatal(err)
	}
	_, err := l.create(obj("v1", "ConfigMap", "default", "a", nil))
	wantRefused(t, err, "unreachable")
}

// Field fault BR-89: a changed token command leaves the provider; another address, or one not known yet, replaces it
// and all it made.
func TestProviderIsReplacedOnlyForAnotherCluster(t *testing.T) {
	l := newLab(t, false)
	config := func(v string) resource.PropertyMap {
		return resource.NewPropertyMapFromMap(map[string]any{"kubeconfig": v})
	}
	one := fmt.Sprintf(kubeconfigOf, "https://dev.example")
	if d := l.b.DiffConfig(config(one), config(one+"\n")); len(d.Replaces) != 0 || len(d.Changed) != 1 {
		t.Errorf("same cluster: %+v", d)
	}
	if d := l.b.DiffConfig(config(one), config(fmt.Sprintf(kubeconfigOf, "https://b.example"))); len(d.Replaces) != 1 {
		t.Errorf("other cluster: %+v", d)
	}
	if d := l.b.DiffConfig(config(one),
		resource.PropertyMap{"kubeconfig": resource.MakeComputed(resource.NewProperty(""))}); len(d.Replaces) != 1 {
		t.Errorf("unknown: %+v", d)
	}
}

func TestChartArgumentsThatWouldGoWrongAreRefused(t *testing.T) {
	for want, args := range map[string]map[string]any{
		"version: missing": {"chart": "oci://public.ecr.aws/karpenter/karpenter"},
		"repositoryOpts": {
			"chart":          "oci://public.ecr.aws/karpenter/karpenter",
			"version":        "1.15.0",
			"repositoryOpts": map[string]any{},
		},
		"at most 53": {"chart": "a", "version": "1", "name": strings.Repeat("a", 54)},
	} {
		_, err := parseRelease("x", args)
		wantRefused(t, err, want)
	}
	r, err := parseRelease("x", map[string]any{"chart": "oci://public.ecr.aws/karpenter/karpenter",
		"version": "1.15.0"})
	if err != nil || r.chart != "karpenter" || r.name != "x" {
		t.Errorf("%+v, %v", r, err)
	}
}

// FR-05: objects were made for anybody with a kubeconfig.
func TestAnotherIdentityThanTheOneThatAsksAWSIsUnauthorized(t *testing.T) {
	l := newLab(t, false)
	const asUser = `,"users":[{"user":{"exec":{"args":["eks","get-token","--profile","deploy"],` +
		`"env":[{"name":"AWS_ROLE_ARN","value":""}]}}}]}`
	kubeconfig := strings.TrimSuffix(fmt.Sprintf(kubeconfigOf, "https://dev.example"), "}") + asUser
	if err := l.b.Configure(resource.NewPropertyMapFromMap(map[string]any{"kubeconfig": kubeconfig})); err != nil {
		t.Fatal(err)
	}
	asked := func() (err error) {
		_ = l.w.View(func(s *world.State) error { _, err = l.b.in(s); return nil })
		return err
	}
	if err := asked(); err == nil || !strings.Contains(err.Error(),
		"(Unauthorized): profile deploy asks for the token, and the person who runs this asks AWS") {
		t.Errorf("got %v", err)
	}
	l.update(func(s *world.State) error { s.Caller = "profile deploy"; return nil })
	if err := asked(); err != nil {
		t.Error(err)
	}
}
