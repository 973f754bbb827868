package infra

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/headroom-eks/headroom/sandbox/aws"
	"github.com/headroom-eks/headroom/sandbox/plugin"
	"github.com/headroom-eks/headroom/sandbox/world"
	awseks "github.com/pulumi/pulumi-aws/sdk/v6/go/aws/eks"
	"github.com/pulumi/pulumi/sdk/v3/go/common/resource"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
	"sigs.k8s.io/yaml"
)

var update = flag.Bool("update", false, "rewrite the golden graphs")

// graph is everything that the program registered under Pulumi's mocks. The simulated account answers its questions.
// Mocks run no transforms and expand no component of other packages; what needs those is proved on the engine
// (tests/lifecycle).
type graph struct {
	mu        sync.Mutex
	resources []registered
	outputs   map[string]any
	stackName string
	partition string
	account   plugin.Backend
}

// registered is one resource. A golden file lists its exported fields in this order.
type registered struct {
	Type, Name, Parent  string
	DependsOn           []string
	IgnoreChanges       []string
	Protect             bool
	DeleteBeforeReplace bool
	RetainOnDelete      bool
	UpdateTimeout       string
	DeleteTimeout       string
	Inputs              map[string]any

	// secret are the inputs that are marked as such.
	secret []string
	// needs are all that the resource is deleted before, as type and name, since names repeat.
	needs []string
}

const innerCluster = "aws:eks/cluster:Cluster"

func (g *graph) NewResource(args pulumi.MockResourceArgs) (string, resource.PropertyMap, error) {
	outputs := args.Inputs.Copy()
	set := func(key string, value any) {
		if _, given := outputs[resource.PropertyKey(key)]; !given {
			outputs[resource.PropertyKey(key)] = resource.NewPropertyValue(value)
		}
	}
	set("arn", "arn:"+g.partition+":mock:us-west-2:000000000000:"+args.Name)
	set("name", args.Name)
	switch args.TypeToken {
	case innerCluster:
		outputs["endpoint"] = resource.NewProperty("https://cluster.example")
		outputs["certificateAuthority"] = resource.NewPropertyValue(map[string]any{"data": "Q0E="})
		outputs["version"] = resource.NewProperty("1.36")
		return "inner", outputs, nil // stands for what eks.Cluster makes; not of the program
	case "eks:index:Cluster":
		outputs["eksCluster"] = resource.MakeCustomResourceReference(resource.URN("urn:pulumi:"+g.stackName+
			"::headroom::"+innerCluster+"::inner"), "inner", "")
		outputs["oidcIssuer"] = resource.NewProperty("oidc.eks.us-west-2.amazonaws.com/id/EXAMPLE")
		outputs["clusterSecurityGroupId"] = resource.NewProperty("sg-cluster")
		outputs["autoModeNodeRoleName"] = resource.NewProperty("auto-node-role")
	case "aws:eks/nodeGroup:NodeGroup":
		outputs["resources"] = resource.NewPropertyValue(
			[]any{map[string]any{"autoscalingGroups": []any{map[string]any{"name": "asg-" + args.Name}}}})
	case "aws:iam/openIdConnectProvider:OpenIdConnectProvider":
		outputs["arn"] = resource.NewProperty("arn:" + g.partition +
			":iam::000000000000:oidc-provider/oidc.eks.us-west-2.amazonaws.com/id/EXAMPLE")
	case "aws:ec2/launchTemplate:LaunchTemplate":
		outputs["latestVersion"] = resource.NewProperty(1.0)
	case "random:index/randomString:RandomString":
		outputs["result"] = resource.NewProperty("abc123")
	}
	g.record(args)
	return args.Name + "-id", outputs, nil
}

func (g *graph) record(args pulumi.MockResourceArgs) {
	rpc := args.RegisterRPC
	r := registered{
		Type:                args.TypeToken,
		Name:                args.Name,
		Parent:              lastPart(rpc.GetParent()),
		Inputs:              args.Inputs.Mappable(),
		IgnoreChanges:       rpc.GetIgnoreChanges(),
		Protect:             rpc.GetProtect(),
		DeleteBeforeReplace: rpc.GetDeleteBeforeReplace(),
		RetainOnDelete:      rpc.GetRetainOnDelete(),
		UpdateTimeout:       rpc.GetCustomTimeouts().GetUpdate(),
		DeleteTimeout:       rpc.GetCustomTimeouts().GetDelete(),
	}
	for key, value := range args.Inputs {
		if value.ContainsSecrets() {
			r.secret = append(r.secret, string(key))
		}
	}
	for _, urn := range slices.Concat(rpc.GetDependencies(), []string{rpc.GetParent(), rpc.GetProvider()},
		slices.Collect(maps.Values(rpc.GetProviders()))) {
		if urn != "" {
			r.needs = append(r.needs, typeAndName(urn))
		}
	}
	for _, urn := range rpc.GetDependencies() {
		r.DependsOn = append(r.DependsOn, lastPart(urn))
	}
	slices.Sort(r.DependsOn)
	r.DependsOn = slices.Compact(r.DependsOn)
	g.mu.Lock()
	defer g.mu.Unlock()
	g.resources = append(g.resources, r)
}

func lastPart(urn string) string {
	parts := strings.Split(urn, "::")
	return parts[len(parts)-1]
}

// typeAndName of a URN or of a reference to a provider, which has an id behind it.
func typeAndName(urn string) string {
	parts := strings.Split(urn, "::")
	types := strings.Split(parts[2], "$")
	return types[len(types)-1] + " " + parts[3]
}

func (g *graph) Call(args pulumi.MockCallArgs) (resource.PropertyMap, error) {
	if args.Token == "aws:ec2/getSubnet:getSubnet" && strings.HasPrefix(args.Args["id"].StringValue(), "network-") {
		// A subnet that the mocks made is not in the account. All of it is free: a /19, less what AWS keeps.
		return resource.PropertyMap{"availableIpAddressCount": resource.NewProperty(8187.0)}, nil
	}
	if args.Token == "pulumi:pulumi:readStackOutputs" { // the engine's own; a new stack has none
		return resource.PropertyMap{"outputs": resource.NewProperty(resource.PropertyMap{})}, nil
	}
	return g.account.Invoke(args.Token, args.Args)
}

// run runs the program with a stack file and returns what it registered.
func run(t *testing.T, stack, stackFile string, change ...func(*world.State) error) (*graph, error) {
	t.Helper()
	return runWithSecrets(t, stack, stackFile, nil, change...)
}

// runWithSecrets is run with keys that the stack file keeps encrypted.
func runWithSecrets(t *testing.T, stack, stackFile string, secrets []string,
	change ...func(*world.State) error) (*graph, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "world.json")
	w, err := world.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range change {
		if err := w.Update(f); err != nil {
			t.Fatal(err)
		}
	}
	g := &graph{outputs: map[string]any{}, stackName: stack, account: aws.New(path)}
	if err := w.View(func(s *world.State) error { g.partition = s.Partition; return nil }); err != nil {
		t.Fatal(err)
	}
	now := func() time.Time { return time.Date(2026, 11, 30, 9, 0, 0, 0, time.UTC) }
	err = pulumi.RunErr(func(ctx *pulumi.Context) error {
		inner, err := awseks.NewCluster(ctx, "inner", &awseks.ClusterArgs{
			RoleArn: pulumi.String("r"), VpcConfig: &awseks.ClusterVpcConfigArgs{SubnetIds: pulumi.StringArray{}},
		})
		if err != nil {
			return err
		}
		registered := make(chan struct{}) // the program refers to it, and an unregistered one cannot be found
		inner.ID().ApplyT(func(pulumi.ID) bool { close(registered); return true })
		<-registered
		if err := Program(Options{Now: now})(ctx); err != nil {
			return err
		}
		return g.keepOutputs(ctx)
	}, pulumi.WithMocks("headroom", stack, g), func(info *pulumi.RunInfo) {
		info.Config, info.ConfigSecretKeys = configOf(t, stackFile), secrets
		info.DryRun = true
	})
	return g, err
}

// keepOutputs waits for what the program exports.
func (g *graph) keepOutputs(ctx *pulumi.Context) error {
	exports := ctx.GetCurrentExportMap()
	for _, name := range slices.Sorted(maps.Keys(exports)) {
		pulumi.ToOutput(exports[name]).ApplyT(func(v any) any {
			g.mu.Lock()
			defer g.mu.Unlock()
			g.outputs[name] = v
			return v
		})
	}
	return nil
}

// spotWasUsed makes the account one in which spot instances have run before.
func spotWasUsed(s *world.State) error {
	s.ServiceLinkedRoles = append(s.ServiceLinkedRoles, world.SpotRole)
	return nil
}

// configOf reads a stack file the way the engine hands it to a program: objects as JSON text.
func configOf(t *testing.T, stackFile string) map[string]string {
	t.Helper()
	var file struct {
		Config map[string]any `json:"config"`
	}
	if err := yaml.Unmarshal([]byte(stackFile), &file); err != nil {
		t.Fatal(err)
	}
	config := map[string]string{}
	for key, value := range file.Config {
		if text, ok := value.(string); ok {
			config[key] = text
			continue
		}
		text, err := json.Marshal(value)
		if err != nil {
			t.Fatal(err)
		}
		config[key] = string(text)
	}
	return config
}

func shipped(t *testing.T, environment string) string {
	t.Helper()
	text, err := os.ReadFile("../Pulumi." + environment + ".yaml")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// golden is the graph and the outputs in a stable order.
func (g *graph) golden(t *testing.T) []byte {
	t.Helper()
	slices.SortFunc(g.resources, func(a, b registered) int {
		return strings.Compare(a.Type+" "+a.Name, b.Type+" "+
			b.Name)
	})
	var out bytes.Buffer
	for _, r := range g.resources {
		out.WriteString(r.item(t))
	}
	outputs, err := yaml.Marshal(g.outputs)
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprintf(&out, "---\n%s---\n", outputs)
	return out.Bytes()
}

// item is the resource as an item of a YAML list, without its empty fields. They are written one by one, since the
// library sorts the keys of a map.
func (r registered) item(t *testing.T) string {
	t.Helper()
	var text strings.Builder
	for _, field := range reflect.VisibleFields(reflect.TypeFor[registered]()) {
		value := reflect.ValueOf(r).FieldByIndex(field.Index)
		if !field.IsExported() || value.IsZero() || value.Kind() == reflect.Map && value.Len() == 0 {
			continue
		}
		member, err := yaml.Marshal(map[string]any{field.Name: value.Interface()})
		if err != nil {
			t.Fatal(err)
		}
		text.Write(member)
	}
	lines := strings.TrimSuffix(text.String(), "\n")
	return "- " + strings.ReplaceAll(lines, "\n", "\n  ") + "\n"
}

func TestEnvironmentsRegisterTheReviewedGraph(t *testing.T) {
	for environment, stackFile := range map[string]string{
		"dev":       "../Pulumi.dev.yaml",
		"staging":   "../Pulumi.staging.yaml",
		"prod":      "../Pulumi.prod.yaml",
		"auto-mode": "testdata/Pulumi.auto-mode.yaml",
		"divided":   "testdata/Pulumi.divided.yaml",
	} {
		t.Run(environment, func(t *testing.T) {
			text, err := os.ReadFile(stackFile)
			if err != nil {
				t.Fatal(err)
			}
			g, err := run(t, environment, string(text), spotWasUsed)
			if err != nil {
				t.Fatal(err)
			}
			got, path := g.golden(t), filepath.Join("testdata", environment+".golden.yaml")
			if *update {
				if err := os.WriteFile(path, got, 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			want, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(string(got), "\n")); diff != "" {
				t.Errorf("the graph has changed; review the difference and run: go test ./infra -update\n%s", diff)
			}
		})
	}
}
