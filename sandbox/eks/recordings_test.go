package eks

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"sort"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/pulumi/pulumi/sdk/v3/go/common/resource"
	sdk "github.com/pulumi/pulumi/sdk/v3/go/common/resource/plugin"
	"github.com/pulumi/pulumi/sdk/v3/go/common/util/rpcutil"
	pulumirpc "github.com/pulumi/pulumi/sdk/v3/proto/go"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/emptypb"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/headroom-eks/headroom/sandbox/plugin"
)

// call is one thing the component did, in the form of the recordings.
type call struct {
	Kind        string         `json:"kind"`
	Token       string         `json:"token"`
	Name        string         `json:"name,omitempty"`
	ParentTypes string         `json:"parentTypes,omitempty"`
	Inputs      map[string]any `json:"inputs"`
}

type recording struct {
	Calls            []call            `json:"calls"`
	ComponentOutputs map[string]string `json:"componentOutputs"`
}

// private are the arguments of private.json; every other recording adds to them.
func private() resource.PropertyMap {
	return resource.NewPropertyMapFromMap(map[string]any{
		"name":                      "headroom-dev",
		"version":                   "1.36",
		"authenticationMode":        "API",
		"vpcId":                     "vpc-1",
		"publicSubnetIds":           []any{"subnet-c", "subnet-d"},
		"privateSubnetIds":          []any{"subnet-a", "subnet-b"},
		"skipDefaultNodeGroup":      true,
		"skipDefaultSecurityGroups": true,
		"createOidcProvider":        false,
		"createInstanceRole":        false,
		"endpointPrivateAccess":     true,
		"endpointPublicAccess":      false,
		"encryptionConfigKeyArn":    "arn:aws:kms:us-west-2:123456789012:key/x",
		"enabledClusterLogTypes":    []any{"api", "audit"},
		"tags":                      map[string]any{"env": "dev"},
	})
}

func with(key string, value any) resource.PropertyMap {
	args := private()
	args[resource.PropertyKey(key)] = resource.NewPropertyValue(value)
	return args
}

func TestExpansionMakesWhatTheRealComponentMade(t *testing.T) {
	cases := map[string]resource.PropertyMap{
		"private": private(),
		"access-entries": with("accessEntries", map[string]any{"admin": map[string]any{
			"principalArn": "arn:aws:iam::123456789012:role/admin",
			"accessPolicies": map[string]any{"cluster-admin": map[string]any{
				"policyArn":   "arn:aws:eks::aws:cluster-access-policy/AmazonEKSClusterAdminPolicy",
				"accessScope": map[string]any{"type": "cluster"},
			}},
		}}),
		"auto-mode": with("autoMode", map[string]any{"enabled": true, "createNodeRole": true}),
		"auto-mode-no-builtin-pools": with("autoMode", map[string]any{
			"enabled":        true,
			"createNodeRole": true,
			"computeConfig":  map[string]any{"nodePools": []any{}},
		}),
		"instance-role":           with("createInstanceRole", true),
		"default-security-groups": with("skipDefaultSecurityGroups", false),
	}
	files, err := filepath.Glob("testdata/*.json")
	if err != nil || len(files) != len(cases) {
		t.Fatalf("%d recordings for %d cases (%v)", len(files), len(cases), err)
	}
	for name, args := range cases {
		t.Run(name, func(t *testing.T) {
			data, err := os.ReadFile(filepath.Join("testdata", name+".json"))
			if err != nil {
				t.Fatal(err)
			}
			var want recording
			if err := json.Unmarshal(data, &want); err != nil {
				t.Fatal(err)
			}
			got, outputs, err := expand(t, args, false)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(sorted(want.Calls), sorted(got)); diff != "" {
				t.Errorf("calls differ from the recording (-recorded +expanded):\n%s", diff)
			}
			seen := map[string]string{
				"clusterSg":  outputs["clusterSecurityGroupId"].StringValue(),
				"nodeSg":     outputs["nodeSecurityGroupId"].StringValue(),
				"issuer":     outputs["oidcIssuer"].StringValue(),
				"oidcArn":    outputs["oidcProviderArn"].StringValue(),
				"eksCluster": outputs["eksCluster"].ResourceReferenceValue().ID.StringValue(),
			}
			if diff := cmp.Diff(normalised(want.ComponentOutputs), normalised(seen)); diff != "" {
				t.Errorf("outputs differ from the recording (-recorded +expanded):\n%s", diff)
			}
		})
	}
}

func TestPinnedAddonVersionsAskForNothing(t *testing.T) {
	args := private()
	args["kubeProxyAddonOptions"] = resource.NewPropertyValue(map[string]any{"version": "v1.36.0-eksbuild.9"})
	args["vpcCniOptions"] = resource.NewPropertyValue(map[string]any{
		"addonVersion":   "v1.22.3-eksbuild.1",
		"logLevel":       "INFO",
		"pluginLogLevel": "INFO",
	})
	args["corednsAddonOptions"] = resource.NewPropertyValue(map[string]any{
		"enabled": true,
		"version": "v1.14.3-eksbuild.3",
	})
	calls, _, err := expand(t, args, false)
	if err != nil {
		t.Fatal(err)
	}
	versions := map[string]any{}
	for _, c := range calls {
		if c.Kind == "invoke" && strings.Contains(c.Token, "getAddonVersion") {
			t.Errorf("asked for the version of %v though every version is pinned", c.Inputs["addonName"])
		}
		if c.Token == "aws:eks/addon:Addon" {
			versions[c.Inputs["addonName"].(string)] = c.Inputs["addonVersion"]
			if said, _ := c.Inputs["configurationValues"].(string); strings.Contains(said, "DEBUG") {
				t.Errorf("log level DEBUG though INFO was asked for: %s", said)
			}
		}
	}
	want := map[string]any{
		"kube-proxy": "v1.36.0-eksbuild.9",
		"vpc-cni":    "v1.22.3-eksbuild.1",
		"coredns":    "v1.14.3-eksbuild.3",
	}
	if diff := cmp.Diff(want, versions); diff != "" {
		t.Error(diff)
	}
}

func TestCorednsStaysOutWhenSwitchedOff(t *testing.T) {
	args := with("corednsAddonOptions", map[string]any{"enabled": false})
	args["autoMode"] = resource.NewPropertyValue(map[string]any{"enabled": true})
	calls, _, err := expand(t, args, false)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range calls {
		if c.Token == "aws:eks/addon:Addon" {
			t.Errorf("made the add-on %v", c.Inputs["addonName"])
		}
	}
}

func TestArgumentsItCannotHonourAreRefusedTogether(t *testing.T) {
	args := with("fargate", true)
	args["authenticationMode"] = resource.NewProperty("CONFIG_MAP")
	args["createOidcProvider"] = resource.NewProperty(true)
	args["vpcCniOptions"] = resource.NewPropertyValue(map[string]any{"securityContextPrivileged": true})
	delete(args, "vpcId")
	_, _, err := expand(t, args, false)
	if err == nil {
		t.Fatal("accepted")
	}
	for _, want := range []string{"fargate: ", "authenticationMode: ", "vpcId: ", "createOidcProvider: ",
		"vpcCniOptions.securityContextPrivileged: "} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("the error does not name %q: %v", want, err)
		}
	}
}

func TestEveryUnknownOfAPreviewStaysUnknown(t *testing.T) {
	args := private()
	for _, key := range []string{"vpcId", "encryptionConfigKeyArn"} {
		args[resource.PropertyKey(key)] = resource.MakeComputed(resource.NewProperty(""))
	}
	args["privateSubnetIds"] = resource.NewProperty(
		[]resource.PropertyValue{resource.MakeComputed(resource.NewProperty("")), resource.NewProperty("subnet-b")})
	served, _, err := expand(t, private(), false)
	if err != nil {
		t.Fatal(err)
	}
	preview, outputs, err := expand(t, args, true)
	if err != nil {
		t.Fatal(err)
	}
	names := func(calls []call) (out []string) {
		for _, c := range calls {
			if c.Kind == "create" {
				out = append(out, c.Name)
			}
		}
		sort.Strings(out)
		return out
	}
	if diff := cmp.Diff(names(served), names(preview)); diff != "" {
		t.Errorf("a preview registers other resources than an update:\n%s", diff)
	}
	if k := outputs["kubeconfig"]; !k.IsComputed() {
		t.Errorf("kubeconfig of a cluster that does not exist is %v", k)
	}
}

// Deleting in order rests on this: a reference that is passed on makes a dependency, as it does in the real component.
func TestWhatTakesAResourceDependsOnIt(t *testing.T) {
	m, resp, err := constructed(t, private(), false)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.ContainsFunc(m.depends["platform-eksRole-4b490823"],
		func(urn string) bool { return strings.HasSuffix(urn, "::platform-eksRole-role") }) {
		t.Errorf("the policy attachment does not depend on its role: %v", m.depends["platform-eksRole-4b490823"])
	}
	for _, output := range []string{"eksCluster", "kubeconfig", "kubeconfigJson", "core", "oidcIssuer",
		"clusterSecurityGroupId"} {
		urns := resp.StateDependencies[output].GetUrns()
		if !slices.ContainsFunc(urns, func(urn string) bool {
			return strings.HasSuffix(urn,
				"::platform-eksCluster")
		}) {
			t.Errorf("output %s does not depend on the cluster: %v", output, urns)
		}
	}
}

var counter = regexp.MustCompile(`(platform-[A-Za-z-]+?)-\d+`)

// normalised drops the counters that stand for "some id": the order of creation is not part of the contract.
func normalised[T any](v T) T {
	data, _ := json.Marshal(v)
	var out T
	_ = json.Unmarshal(counter.ReplaceAll(data, []byte("$1-n")), &out)
	return out
}

func sorted(calls []call) []call {
	out := slices.Clone(calls)
	for i := range out {
		out[i].Inputs = normalised(out[i].Inputs)
	}
	sort.Slice(out, func(i, j int) bool { return callKey(out[i]) < callKey(out[j]) })
	return out
}

func callKey(c call) string { return fmt.Sprint(c.Kind, c.Token, c.Name, c.Inputs["addonName"]) }

// monitor plays the engine: it records what the component registers and asks, and answers as the provider of the
// recordings did.
type monitor struct {
	pulumirpc.UnimplementedResourceMonitorServer
	mu    sync.Mutex
	calls []call
	// depends holds the URNs each resource depends on through its properties, by name.
	depends map[string][]string
	dry     bool
}

func (m *monitor) SupportsFeature(context.Context,
	*pulumirpc.SupportsFeatureRequest) (*pulumirpc.SupportsFeatureResponse, error) {
	return &pulumirpc.SupportsFeatureResponse{HasSupport: true}, nil
}

func (m *monitor) RegisterResourceOutputs(context.Context, *pulumirpc.RegisterResourceOutputsRequest) (*emptypb.Empty,
	error) {
	return &emptypb.Empty{}, nil
}

func (m *monitor) Invoke(_ context.Context, req *pulumirpc.ResourceInvokeRequest) (*pulumirpc.ResourceInvokeResponse,
	error) {
	args, err := sdk.UnmarshalProperties(req.Args, sdk.MarshalOptions{})
	if err != nil {
		return nil, err
	}
	m.record(call{Kind: "invoke", Token: req.Tok, Inputs: args.Mappable()})
	answer := map[string]any{"partition": "aws", "dnsSuffix": "amazonaws.com"}
	if strings.Contains(req.Tok, "getAddonVersion") {
		answer = map[string]any{"version": "v1.2.3-eksbuild.1"}
	}
	out, err := structpb.NewStruct(answer)
	return &pulumirpc.ResourceInvokeResponse{Return: out}, err
}

func (m *monitor) RegisterResource(_ context.Context,
	req *pulumirpc.RegisterResourceRequest) (*pulumirpc.RegisterResourceResponse, error) {
	inputs, err := sdk.UnmarshalProperties(req.Object, sdk.MarshalOptions{KeepUnknowns: true, KeepResources: true})
	if err != nil {
		return nil, err
	}
	typ := req.Type
	if req.Parent != "" {
		if parents := string(resource.URN(req.Parent).QualifiedType()); parents != "pulumi:pulumi:Stack" {
			typ = parents + "$" + typ
		}
	}
	urn := "urn:pulumi:dev::headroom::" + typ + "::" + req.Name
	resp := &pulumirpc.RegisterResourceResponse{Urn: urn, Object: req.Object}
	m.mu.Lock()
	for _, d := range req.PropertyDependencies {
		m.depends[req.Name] = append(m.depends[req.Name], d.Urns...)
	}
	m.mu.Unlock()
	if !req.Custom {
		return resp, nil
	}
	outputs := inputs.Copy()
	if strings.HasPrefix(req.Type, "aws:") {
		parents := strings.TrimSuffix(typ, "$"+req.Type)
		m.record(call{Kind: "create", Token: req.Type, Name: req.Name, ParentTypes: parents, Inputs: plain(inputs)})
	}
	if !m.dry {
		resp.Id = req.Name + "-1"
		outputs["arn"] = resource.NewProperty("arn:aws:x:us-west-2:123456789012:" + req.Name + "-1")
		if req.Type == "aws:eks/cluster:Cluster" {
			resp.Id = inputs["name"].StringValue()
			outputs["endpoint"] = resource.NewProperty("https://abc.example")
			outputs["certificateAuthority"] = resource.NewPropertyValue(map[string]any{"data": "Q0E="})
			outputs["identities"] = resource.NewPropertyValue([]any{map[string]any{"oidcs": []any{
				map[string]any{"issuer": "https://oidc.eks.us-west-2.amazonaws.com/id/ABC"},
			}}})
			vpc := outputs["vpcConfig"].ObjectValue().Copy()
			vpc["clusterSecurityGroupId"] = resource.NewProperty("sg-cluster")
			outputs["vpcConfig"] = resource.NewProperty(vpc)
		}
	}
	resp.Object, err = sdk.MarshalProperties(outputs, sdk.MarshalOptions{KeepUnknowns: true, KeepResources: true})
	return resp, err
}

func (m *monitor) record(c call) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.calls = append(m.calls, c)
}

// plain is a property map as the recordings write it.
func plain(inputs resource.PropertyMap) map[string]any {
	data, _ := json.Marshal(inputs.MapRepl(nil, func(v resource.PropertyValue) (any, bool) {
		if v.IsResourceReference() {
			return map[string]any{"$resource": v.ResourceReferenceValue().URN.Name()}, true
		}
		return nil, false
	}))
	var out map[string]any
	_ = json.Unmarshal(data, &out)
	return out
}

// expand runs the component through the plugin protocol against the recording monitor.
func expand(t *testing.T, args resource.PropertyMap, dry bool) ([]call, resource.PropertyMap, error) {
	t.Helper()
	m, resp, err := constructed(t, args, dry)
	if err != nil {
		return nil, nil, err
	}
	outputs, err := sdk.UnmarshalProperties(resp.State, sdk.MarshalOptions{KeepUnknowns: true, KeepResources: true})
	return m.calls, outputs, err
}

func constructed(t *testing.T, args resource.PropertyMap, dry bool) (*monitor, *pulumirpc.ConstructResponse, error) {
	t.Helper()
	m := &monitor{dry: dry, depends: map[string][]string{}}
	cancel := make(chan bool)
	handle, err := rpcutil.ServeWithOptions(rpcutil.ServeOptions{Cancel: cancel, Init: func(s *grpc.Server) error {
		pulumirpc.RegisterResourceMonitorServer(s, m)
		return nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { close(cancel); <-handle.Done })
	server, err := plugin.NewServer(Package("3.9.1"), func() (*grpc.ClientConn, error) { return nil, nil })
	if err != nil {
		t.Fatal(err)
	}
	inputs, err := sdk.MarshalProperties(args, sdk.MarshalOptions{KeepUnknowns: true, KeepResources: true})
	if err != nil {
		t.Fatal(err)
	}
	resp, err := server.Construct(context.Background(), &pulumirpc.ConstructRequest{
		Project:             "headroom",
		Stack:               "dev",
		DryRun:              dry,
		Parallel:            8,
		MonitorEndpoint:     fmt.Sprintf("127.0.0.1:%d", handle.Port),
		Type:                clusterType,
		Name:                "platform",
		Inputs:              inputs,
		AcceptsOutputValues: true,
	})
	return m, resp, err
}
