// Package kubernetes answers as the kubernetes provider for the clusters of the simulated account.
//
// It owns what an API server and the controllers in it refuse or do: unknown kinds, names, namespaces, what a deleted
// NodePool does to its nodes, finalizers nobody clears. It stores objects as they were sent: no defaults, no schema
// check, no pods. It renders no charts; that charts render and manifests fit their schemas is proved elsewhere.
package kubernetes

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/pulumi/pulumi/sdk/v3/go/common/resource"
	"sigs.k8s.io/yaml"

	"github.com/headroom-eks/headroom/sandbox/asker"
	"github.com/headroom-eks/headroom/sandbox/plugin"
	"github.com/headroom-eks/headroom/sandbox/world"
)

// Package is the provider package to serve.
func Package(version string, w *world.World) plugin.Package {
	return plugin.Package{
		Name:       "kubernetes",
		Version:    version,
		Backend:    New(w),
		Components: map[string]plugin.Construct{chartType: construct},
	}
}

// Backend is one configured provider: it speaks to one cluster.
type Backend struct {
	world  *world.World
	server string // address in the kubeconfig
	caller string // who asks by the kubeconfig
	reason string // why there is no address
	// mutableConfigMaps are updated in place; without this setting the real provider replaces them.
	mutableConfigMaps bool
}

// New returns a backend for the world, to be configured with a kubeconfig.
func New(w *world.World) *Backend {
	return &Backend{world: w, reason: "the provider was not configured"}
}

// CheckConfig refuses a kubeconfig that cannot be read.
func (b *Backend) CheckConfig(config resource.PropertyMap) []plugin.CheckFailure {
	if v := config["kubeconfig"]; v.IsString() {
		if _, err := server(v.StringValue()); err != nil {
			return []plugin.CheckFailure{{Property: "kubeconfig", Reason: err.Error()}}
		}
	}
	return nil
}

// Configure takes the cluster's address. That the cluster exists is asked with every call, since it may come and go.
func (b *Backend) Configure(config resource.PropertyMap) error {
	mutable := config["enableConfigMapMutable"] // provider settings travel as text
	b.mutableConfigMaps = mutable.IsBool() && mutable.BoolValue() || mutable.IsString() &&
		mutable.StringValue() == "true"
	v := config["kubeconfig"]
	if !v.IsString() {
		b.reason = "the provider has no kubeconfig; the sandbox has no cluster but those it simulates, so pass one " +
			"explicitly"
		return nil
	}
	address, err := server(v.StringValue())
	if err != nil {
		return err
	}
	b.server, b.caller, b.reason = address, caller(v.StringValue()), ""
	return nil
}

// DiffConfig replaces the provider, and with it every object, when it would speak to another cluster or may do so.
func (b *Backend) DiffConfig(old, wanted resource.PropertyMap) plugin.Diff {
	diff := plugin.Diff{Changed: plugin.Differences(old, wanted)}
	if !slices.Contains(diff.Changed, "kubeconfig") {
		return diff
	}
	before, after := old["kubeconfig"], wanted["kubeconfig"]
	if before.IsString() && after.IsString() {
		was, errWas := server(before.StringValue())
		is, errIs := server(after.StringValue())
		if errWas == nil && errIs == nil && was == is {
			return diff
		}
	}
	diff.Replaces = append(diff.Replaces, "kubeconfig")
	return diff
}

// server is the API server's address of a kubeconfig's current context.
func server(kubeconfig string) (string, error) {
	var config struct {
		Current  string `json:"current-context"`
		Contexts []struct {
			Name    string
			Context struct{ Cluster string }
		}
		Clusters []struct {
			Name    string
			Cluster struct{ Server string }
		}
	}
	if err := yaml.Unmarshal([]byte(kubeconfig), &config); err != nil {
		return "", fmt.Errorf("the kubeconfig is neither YAML nor JSON: %w", err)
	}
	name := ""
	for _, c := range config.Contexts {
		if c.Name == config.Current {
			name = c.Context.Cluster
		}
	}
	for _, c := range config.Clusters {
		if c.Name == name && c.Cluster.Server != "" {
			return c.Cluster.Server, nil
		}
	}
	return "", fmt.Errorf("the kubeconfig's current context %q names no cluster with a server", config.Current)
}

// in finds the cluster in a state that View or Update gave.
func (b *Backend) in(s *world.State) (*cluster, error) {
	if b.reason != "" {
		return nil, fmt.Errorf("configured Kubernetes cluster is unreachable: %s", b.reason)
	}
	if b.caller != s.Caller {
		return nil, fmt.Errorf("the server has asked for the client to provide credentials (Unauthorized): %s asks "+
			"for the token, and %s asks AWS; in the sandbox only one identity has "+
			"access", whose(b.caller), whose(s.Caller))
	}
	return clusterAt(s, b.server)
}

func whose(identity string) string { return cmp.Or(identity, "the person who runs this") }

// caller is who asks by the command of a kubeconfig's first user; empty for one without a command.
func caller(kubeconfig string) string {
	var config struct {
		Users []struct {
			User struct {
				Exec struct {
					Args []string
					Env  []struct{ Name, Value string }
				}
			}
		}
	}
	if yaml.Unmarshal([]byte(kubeconfig), &config) != nil || len(config.Users) == 0 {
		return "" // server has reported it, or it needs no command
	}
	exec := config.Users[0].User.Exec
	variables := map[string]string{}
	for _, v := range exec.Env {
		variables[v.Name] = v.Value
	}
	return asker.OfCommand(exec.Args, variables)
}

// Check names the object if it has no name, and refuses names and labels that the API server would refuse.
func (b *Backend) Check(r plugin.Request) (resource.PropertyMap, []plugin.CheckFailure, error) {
	inputs := r.Inputs.Copy()
	kind, apiVersion := inputs["kind"], inputs["apiVersion"]
	if !kind.IsString() || !apiVersion.IsString() {
		return nil, []plugin.CheckFailure{{Property: "kind", Reason: "apiVersion and kind must be known texts"}}, nil
	}
	if err := checkToken(string(r.Type), apiVersion.StringValue(), kind.StringValue()); err != nil {
		return nil, nil, err
	}
	metadata := resource.PropertyMap{}
	if m := inputs["metadata"]; m.IsObject() {
		metadata = m.ObjectValue().Copy()
	} else if m.IsComputed() {
		return inputs, nil, nil
	}
	var refused []plugin.CheckFailure
	if !metadata.HasValue("name") && !metadata.HasValue("generateName") {
		name, err := autoName(r, metadata)
		if err != nil {
			return nil, nil, err
		}
		metadata["name"] = resource.NewProperty(name)
		annotations := resource.PropertyMap{}
		if a := metadata["annotations"]; a.IsObject() {
			annotations = a.ObjectValue().Copy()
		}
		annotations["pulumi.com/autonamed"] = resource.NewProperty("true")
		metadata["annotations"] = resource.NewProperty(annotations)
		inputs["metadata"] = resource.NewProperty(metadata)
	}
	if name := metadata["name"]; name.IsString() {
		if p := nameProblem(kind.StringValue(), name.StringValue()); p != "" {
			refused = append(refused, plugin.CheckFailure{Property: "metadata.name", Reason: p})
		}
	}
	for path, labels := range map[string]resource.PropertyValue{
		"metadata.labels":               metadata["labels"],
		"spec.template.metadata.labels": dig(inputs, "spec", "template", "metadata", "labels"),
	} {
		for _, p := range labelProblems(texts(labels)) {
			refused = append(refused, plugin.CheckFailure{Property: path, Reason: p})
		}
	}
	return inputs, refused, nil
}

// autoName keeps the name of before, else makes the logical name and eight random digits, as pulumi-kubernetes does.
func autoName(r plugin.Request, metadata resource.PropertyMap) (string, error) {
	if old := dig(r.OldInputs, "metadata"); old.IsObject() &&
		dig(r.OldInputs, "metadata", "annotations", "pulumi.com/autonamed").IsString() {
		if name := old.ObjectValue()["name"]; name.IsString() {
			return name.StringValue(), nil
		}
	}
	return resource.NewUniqueName(r.RandomSeed, strings.ToLower(r.Name)+"-", 8, 253, []rune("0123456789abcdef"))
}

// Diff replaces what is immutable, and deletes first where the name is fixed: two objects cannot share it.
func (b *Backend) Diff(r plugin.Request) (plugin.Diff, error) {
	diff := plugin.Diff{Changed: plugin.Differences(r.OldInputs, r.Inputs)}
	if len(diff.Changed) == 0 {
		return diff, nil
	}
	kind := ""
	if v := r.Inputs["kind"]; v.IsString() {
		kind = v.StringValue()
	}
	fields := immutable[kind]
	if kind == "ConfigMap" && b.mutableConfigMaps {
		fields = nil
	}
	for _, path := range append(slices.Clone(identity), fields...) {
		keys := strings.Split(path, ".")
		if old, wanted := dig(r.OldInputs, keys...), dig(r.Inputs, keys...); !old.DeepEquals(wanted) {
			diff.Replaces = append(diff.Replaces, path)
		}
	}
	autonamed := dig(r.Inputs, "metadata", "annotations", "pulumi.com/autonamed").IsString()
	same := dig(r.OldInputs, "metadata", "name").DeepEquals(dig(r.Inputs, "metadata", "name"))
	diff.DeleteBeforeReplace = len(diff.Replaces) > 0 && !autonamed && same
	return diff, nil
}

func (b *Backend) Create(r plugin.Request) (string, resource.PropertyMap, error) {
	if r.Preview {
		return "", r.Inputs.Copy(), nil
	}
	o := object(r.Inputs.Mappable())
	err := b.world.Update(func(s *world.State) error {
		c, err := b.in(s)
		if err != nil {
			return err
		}
		return c.create(o)
	})
	if err != nil {
		return "", nil, err
	}
	return o.id(), resource.NewPropertyMapFromMap(o), nil
}

func (b *Backend) Read(r plugin.Request) (inputs, outputs resource.PropertyMap, found bool, err error) {
	err = b.world.View(func(s *world.State) error {
		c, err := b.in(s)
		if err != nil {
			return err
		}
		var o object
		if o, found = c.get(identify(r)); found {
			outputs = resource.NewPropertyMapFromMap(o)
		}
		return nil
	})
	if inputs = r.OldInputs; len(inputs) == 0 || !outputs.DeepEquals(r.OldOutputs) {
		inputs = outputs // an import, or somebody changed the object
	}
	return inputs, outputs, found, err
}

func (b *Backend) Update(r plugin.Request) (resource.PropertyMap, error) {
	if r.Preview {
		return r.Inputs.Copy(), nil
	}
	o := object(r.Inputs.Mappable())
	err := b.world.Update(func(s *world.State) error {
		c, err := b.in(s)
		if err != nil {
			return err
		}
		return c.update(o)
	})
	return resource.NewPropertyMapFromMap(o), err
}

func (b *Backend) Delete(r plugin.Request) error {
	return b.world.Update(func(s *world.State) error {
		c, err := b.in(s)
		if err != nil {
			return fmt.Errorf("%w; objects must be deleted before their cluster", err)
		}
		o, found := c.get(identify(r))
		if !found {
			return nil
		}
		return c.delete(o)
	})
}

func (b *Backend) Invoke(token string, _ resource.PropertyMap) (resource.PropertyMap, error) {
	return nil, fmt.Errorf("the sandbox's kubernetes provider does not know the call %q", token)
}

// identify is the stored object's key parts. The id carries namespace and name, the state kind and version.
func identify(r plugin.Request) (apiVersion, kind, namespace, name string) {
	old := r.OldOutputs
	if len(old) == 0 {
		old = r.OldInputs
	}
	if v := old["apiVersion"]; v.IsString() {
		apiVersion = v.StringValue()
	}
	if v := old["kind"]; v.IsString() {
		kind = v.StringValue()
	}
	namespace, name, ok := strings.Cut(r.ID, "/")
	if !ok {
		namespace, name = "", r.ID
	}
	return apiVersion, kind, namespace, name
}

// dig follows keys through objects; null when something on the way is missing.
func dig(m resource.PropertyMap, keys ...string) resource.PropertyValue {
	v := resource.NewProperty(m)
	for _, key := range keys {
		if !v.IsObject() {
			if v.IsComputed() {
				return v
			}
			return resource.NewNullProperty()
		}
		v = v.ObjectValue()[resource.PropertyKey(key)]
	}
	return v
}

func texts(v resource.PropertyValue) map[string]string {
	out := map[string]string{}
	if v.IsObject() {
		for key, value := range v.ObjectValue() {
			if value.IsString() {
				out[string(key)] = value.StringValue()
			}
		}
	}
	return out
}
