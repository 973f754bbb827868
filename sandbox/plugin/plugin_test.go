package plugin

import (
	"context"
	"errors"
	"net"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/pulumi/pulumi/sdk/v3/go/common/resource"
	sdk "github.com/pulumi/pulumi/sdk/v3/go/common/resource/plugin"
	"github.com/pulumi/pulumi/sdk/v3/go/common/tokens"
	pulumirpc "github.com/pulumi/pulumi/sdk/v3/proto/go"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
)

// echo stores what it is sent and adds one computed output.
type echo struct {
	OnlyComponents
	seen resource.PropertyMap // inputs as the backend got them
}

func (e *echo) Check(r Request) (resource.PropertyMap, []CheckFailure, error) {
	e.seen = r.Inputs
	if r.Inputs["name"].IsString() && r.Inputs["name"].StringValue() == "bad" {
		return nil, []CheckFailure{{"name", "is bad"}}, nil
	}
	return r.Inputs, nil, nil
}

func (e *echo) Diff(r Request) (Diff, error) {
	d := Diff{Changed: Differences(r.OldInputs, r.Inputs), DeleteBeforeReplace: true}
	if _, fixed := r.Inputs["fixed"]; fixed {
		d.Replaces = []string{"fixed"}
	}
	return d, nil
}

func (e *echo) Create(r Request) (string, resource.PropertyMap, error) {
	out := r.Inputs.Copy()
	out["arn"] = resource.NewProperty("arn:" + r.Name)
	if r.Preview {
		out["arn"] = resource.MakeComputed(resource.NewProperty(""))
	}
	return "id-" + r.Name, out, nil
}

func (e *echo) Read(r Request) (in, out resource.PropertyMap, found bool, err error) {
	return r.OldInputs, r.OldOutputs, r.ID != "gone", nil
}

func (e *echo) Delete(r Request) error { return errors.New("DependencyViolation: still used") }

func (e *echo) Invoke(token string, args resource.PropertyMap) (resource.PropertyMap, error) {
	if token != "test:index:get" {
		return e.OnlyComponents.Invoke(token, args)
	}
	return resource.PropertyMap{"got": args["want"]}, nil
}

const urn = resource.URN("urn:pulumi:dev::p::test:index:Thing::a")

// engine connects the engine's own client to a served backend.
func engine(t *testing.T, b Backend) sdk.Provider {
	t.Helper()
	srv, err := NewServer(Package{Name: "test", Version: "1.2.3", Backend: b}, nil)
	if err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := grpc.NewServer()
	pulumirpc.RegisterResourceProviderServer(s, srv)
	go func() { _ = s.Serve(listener) }()
	conn, err := grpc.NewClient(listener.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close(); s.Stop() })
	p := sdk.NewProviderWithClient(nil, pulumirpc.NewResourceProviderClient(conn), false)
	if _, err := p.Handshake(context.Background(), sdk.ProviderHandshakeRequest{}); err != nil {
		t.Fatal(err)
	}
	typ, name, id, providerURN := tokens.Type("pulumi:providers:test"), "test", resource.ID("1"),
		resource.URN("urn:pulumi:dev::p::pulumi:providers:test::test")
	if _, err := p.Configure(context.Background(), sdk.ConfigureRequest{
		URN:    &providerURN,
		Name:   &name,
		Type:   &typ,
		ID:     &id,
		Inputs: resource.PropertyMap{},
	}); err != nil {
		t.Fatal(err)
	}
	return p
}

func TestBackendGetsPlainValuesAndTheEngineGetsTheMarksBack(t *testing.T) {
	b := &echo{OnlyComponents: OnlyComponents{"test"}}
	p := engine(t, b)
	inputs := resource.PropertyMap{
		"token": resource.MakeSecret(resource.NewProperty("s3cret")),
		"deep":  resource.NewProperty(resource.PropertyMap{"inner": resource.MakeSecret(resource.NewProperty("x"))}),
		"ref":   resource.MakeCustomResourceReference(urn, "ref-id", ""),
		"later": resource.MakeComputed(resource.NewProperty("")),
	}
	checked, err := p.Check(context.Background(), sdk.CheckRequest{
		URN:           urn,
		Name:          "a",
		Type:          "test:index:Thing",
		News:          inputs,
		AllowUnknowns: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	if v := b.seen["token"]; !v.IsString() {
		t.Errorf("the backend got %v for a secret", v)
	}
	if v := b.seen["ref"]; !v.IsString() || v.StringValue() != "ref-id" {
		t.Errorf("the backend got %v for a resource reference, want its id", v)
	}
	if !b.seen["later"].IsComputed() {
		t.Errorf("the backend got %v for an unknown", b.seen["later"])
	}
	created, err := p.Create(context.Background(), sdk.CreateRequest{
		URN:        urn,
		Name:       "a",
		Type:       "test:index:Thing",
		Properties: checked.Properties,
		Preview:    true,
	})
	if err != nil {
		t.Fatal(err)
	}
	out := created.Properties
	if !out["token"].IsSecret() || !out["deep"].ObjectValue()["inner"].IsSecret() {
		t.Errorf("secret marks were lost: %v", out)
	}
	if !out["later"].IsComputed() || !out["arn"].IsComputed() {
		t.Errorf("unknowns were lost: %v", out)
	}
}

func TestRefusalsReachTheEngine(t *testing.T) {
	p := engine(t, &echo{OnlyComponents: OnlyComponents{"test"}})
	resp, err := p.Check(context.Background(), sdk.CheckRequest{
		URN:  urn,
		Name: "a",
		Type: "test:index:Thing",
		News: resource.PropertyMap{"name": resource.NewProperty("bad")},
	})
	if err != nil || len(resp.Failures) != 1 || resp.Failures[0].Property != "name" {
		t.Errorf("check: %+v, %v", resp, err)
	}
	_, err = p.Delete(context.Background(), sdk.DeleteRequest{
		URN:     urn,
		Name:    "a",
		Type:    "test:index:Thing",
		ID:      "x",
		Inputs:  resource.PropertyMap{},
		Outputs: resource.PropertyMap{},
	})
	if err == nil || !strings.Contains(err.Error(), "DependencyViolation: still used") {
		t.Errorf("delete: %v", err)
	}
}

func TestDiffNamesWhatChangesAndWhatReplaces(t *testing.T) {
	p := engine(t, &echo{OnlyComponents: OnlyComponents{"test"}})
	old := resource.NewPropertyMapFromMap(map[string]any{"a": "1", "b": "2"})
	wanted := resource.NewPropertyMapFromMap(map[string]any{"a": "1", "fixed": true})
	diff, err := p.Diff(context.Background(), sdk.DiffRequest{
		URN:        urn,
		Name:       "a",
		Type:       "test:index:Thing",
		ID:         "x",
		OldInputs:  old,
		OldOutputs: old,
		NewInputs:  wanted,
	})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]sdk.PropertyDiff{
		"b":     {Kind: sdk.DiffDelete, InputDiff: true},
		"fixed": {Kind: sdk.DiffAddReplace, InputDiff: true},
	}
	if d := cmp.Diff(want, diff.DetailedDiff); d != "" || !diff.DeleteBeforeReplace || !diff.Replace() {
		t.Errorf("%s\n%+v", d, diff)
	}
	same, err := p.Diff(context.Background(), sdk.DiffRequest{
		URN:        urn,
		Name:       "a",
		Type:       "test:index:Thing",
		ID:         "x",
		OldInputs:  old,
		OldOutputs: old,
		NewInputs:  old,
	})
	if err != nil || same.Changes != sdk.DiffNone {
		t.Errorf("no change: %+v, %v", same, err)
	}
}

func TestResourceThatIsGoneReadsAsGone(t *testing.T) {
	p := engine(t, &echo{OnlyComponents: OnlyComponents{"test"}})
	props := resource.NewPropertyMapFromMap(map[string]any{"a": "1"})
	for id, found := range map[resource.ID]bool{"there": true, "gone": false} {
		resp, err := p.Read(context.Background(), sdk.ReadRequest{
			URN:    urn,
			Name:   "a",
			Type:   "test:index:Thing",
			ID:     id,
			Inputs: props,
			State:  props,
		})
		if err != nil || (resp.Outputs != nil) != found {
			t.Errorf("%s: %+v, %v", id, resp, err)
		}
	}
}

func TestCallsAnswerAndUnknownOnesFailLoudly(t *testing.T) {
	p := engine(t, &echo{OnlyComponents: OnlyComponents{"test"}})
	resp, err := p.Invoke(context.Background(), sdk.InvokeRequest{
		Tok:  "test:index:get",
		Args: resource.PropertyMap{"want": resource.NewProperty(3.0)},
	})
	if err != nil || resp.Properties["got"].NumberValue() != 3 {
		t.Errorf("%+v, %v", resp, err)
	}
	if _, err = p.Invoke(context.Background(), sdk.InvokeRequest{Tok: "test:index:other"}); err == nil ||
		!strings.Contains(err.Error(), "test:index:other") {
		t.Errorf("unknown call: %v", err)
	}
}

func TestReportedVersionIsThatOfTheServedSDK(t *testing.T) {
	info, err := engine(t, &echo{}).GetPluginInfo(context.Background())
	if err != nil || info.Version.String() != "1.2.3" {
		t.Errorf("%v, %v", info, err)
	}
	gomod, err := os.ReadFile("../../go.mod")
	if err != nil {
		t.Fatal(err)
	}
	required := map[string]string{}
	requirement := regexp.MustCompile(`github.com/pulumi/pulumi-(\w+)/sdk/v\d+ v([\d.]+)`)
	for _, m := range requirement.FindAllStringSubmatch(string(gomod), -1) {
		required[m[1]] = m[2]
	}
	if d := cmp.Diff(required, Versions); d != "" {
		t.Errorf("go.mod asks for other versions (-go.mod +plugin):\n%s", d)
	}
}
