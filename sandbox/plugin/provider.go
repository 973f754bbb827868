package plugin

import (
	"context"
	"fmt"
	"strings"

	"github.com/blang/semver"
	"github.com/pulumi/pulumi/sdk/v3/go/common/resource"
	sdk "github.com/pulumi/pulumi/sdk/v3/go/common/resource/plugin"
	"github.com/pulumi/pulumi/sdk/v3/go/common/tokens"
)

// Configurer is a Backend that needs the provider's own configuration. CheckConfig may meet unknown values (a
// kubeconfig that is not made yet); Configure then still runs, with what is known.
type Configurer interface {
	CheckConfig(config resource.PropertyMap) []CheckFailure
	Configure(config resource.PropertyMap) error
	DiffConfig(old, wanted resource.PropertyMap) Diff
}

// provider adapts a Backend to the engine's own Go view of a provider, which brings its marshalling with it.
//
// A backend gets plain values: no secrets, ids in place of resource references. What went in secret comes out secret,
// see marks.
type provider struct {
	sdk.UnimplementedProvider
	name    string
	version semver.Version
	backend Backend
}

func (p *provider) Pkg() tokens.Package                      { return tokens.Package(p.name) }
func (p *provider) Close() error                             { return nil }
func (p *provider) SignalCancellation(context.Context) error { return nil }

func (p *provider) Handshake(context.Context, sdk.ProviderHandshakeRequest) (*sdk.ProviderHandshakeResponse, error) {
	return &sdk.ProviderHandshakeResponse{AcceptSecrets: true, AcceptResources: true, AcceptOutputs: true}, nil
}

func (p *provider) GetPluginInfo(context.Context) (sdk.PluginInfo, error) {
	return sdk.PluginInfo{Version: &p.version}, nil
}

func (p *provider) GetSchema(context.Context, sdk.GetSchemaRequest) (sdk.GetSchemaResponse, error) {
	return sdk.GetSchemaResponse{Schema: fmt.Appendf(nil, `{"name":%q,"version":%q}`, p.name, p.version)}, nil
}

func (p *provider) CheckConfig(_ context.Context, req sdk.CheckConfigRequest) (sdk.CheckConfigResponse, error) {
	resp := sdk.CheckConfigResponse{Properties: req.News}
	if c, ok := p.backend.(Configurer); ok {
		resp.Failures = failures(c.CheckConfig(plain(req.News)))
	}
	return resp, nil
}

func (p *provider) DiffConfig(_ context.Context, req sdk.DiffConfigRequest) (sdk.DiffConfigResponse, error) {
	old, wanted := plain(req.OldInputs), plain(req.NewInputs)
	if c, ok := p.backend.(Configurer); ok {
		return detailed(c.DiffConfig(old, wanted), old, wanted), nil
	}
	return detailed(Diff{Changed: Differences(old, wanted)}, old, wanted), nil
}

func (p *provider) Configure(_ context.Context, req sdk.ConfigureRequest) (sdk.ConfigureResponse, error) {
	if c, ok := p.backend.(Configurer); ok {
		return sdk.ConfigureResponse{}, c.Configure(plain(req.Inputs))
	}
	return sdk.ConfigureResponse{}, nil
}

func (p *provider) Check(_ context.Context, req sdk.CheckRequest) (sdk.CheckResponse, error) {
	inputs, refused, err := p.backend.Check(Request{
		URN:        req.URN,
		Type:       req.Type,
		Name:       req.Name,
		Inputs:     plain(req.News),
		OldInputs:  plain(req.Olds),
		RandomSeed: req.RandomSeed,
	})
	return sdk.CheckResponse{Properties: marked(inputs, req.News), Failures: failures(refused)}, err
}

func (p *provider) Diff(_ context.Context, req sdk.DiffRequest) (sdk.DiffResult, error) {
	old, wanted := plain(req.OldInputs), plain(req.NewInputs)
	diff, err := p.backend.Diff(Request{
		URN:           req.URN,
		Type:          req.Type,
		Name:          req.Name,
		ID:            string(req.ID),
		Inputs:        wanted,
		OldInputs:     old,
		OldOutputs:    plain(req.OldOutputs),
		IgnoreChanges: req.IgnoreChanges,
	})
	if err != nil {
		return sdk.DiffResult{}, err
	}
	return detailed(diff, old, wanted), nil
}

func (p *provider) Create(_ context.Context, req sdk.CreateRequest) (sdk.CreateResponse, error) {
	id, outputs, err := p.backend.Create(Request{
		URN:     req.URN,
		Type:    req.Type,
		Name:    req.Name,
		Inputs:  plain(req.Properties),
		Preview: req.Preview,
	})
	return sdk.CreateResponse{ID: resource.ID(id), Properties: marked(outputs, req.Properties)}, err
}

func (p *provider) Read(_ context.Context, req sdk.ReadRequest) (sdk.ReadResponse, error) {
	inputs, outputs, found, err := p.backend.Read(Request{
		URN:        req.URN,
		Type:       req.Type,
		Name:       req.Name,
		ID:         string(req.ID),
		OldInputs:  plain(req.Inputs),
		OldOutputs: plain(req.State),
	})
	if err != nil || !found {
		return sdk.ReadResponse{}, err // an empty id says that the resource is gone
	}
	return sdk.ReadResponse{ReadResult: sdk.ReadResult{
		ID:      req.ID,
		Inputs:  marked(inputs, req.Inputs),
		Outputs: marked(outputs, req.State),
	}}, nil
}

func (p *provider) Update(_ context.Context, req sdk.UpdateRequest) (sdk.UpdateResponse, error) {
	outputs, err := p.backend.Update(Request{
		URN:           req.URN,
		Type:          req.Type,
		Name:          req.Name,
		ID:            string(req.ID),
		Inputs:        plain(req.NewInputs),
		OldInputs:     plain(req.OldInputs),
		OldOutputs:    plain(req.OldOutputs),
		IgnoreChanges: req.IgnoreChanges,
		Preview:       req.Preview,
	})
	return sdk.UpdateResponse{Properties: marked(outputs, req.NewInputs)}, err
}

func (p *provider) Delete(_ context.Context, req sdk.DeleteRequest) (sdk.DeleteResponse, error) {
	return sdk.DeleteResponse{}, p.backend.Delete(Request{
		URN:        req.URN,
		Type:       req.Type,
		Name:       req.Name,
		ID:         string(req.ID),
		OldInputs:  plain(req.Inputs),
		OldOutputs: plain(req.Outputs),
	})
}

func (p *provider) Invoke(_ context.Context, req sdk.InvokeRequest) (sdk.InvokeResponse, error) {
	result, err := p.backend.Invoke(string(req.Tok), plain(req.Args))
	return sdk.InvokeResponse{Properties: result}, err
}

func failures(refused []CheckFailure) []sdk.CheckFailure {
	out := make([]sdk.CheckFailure, 0, len(refused))
	for _, f := range refused {
		out = append(out, sdk.CheckFailure{Property: resource.PropertyKey(f.Property), Reason: f.Reason})
	}
	return out
}

// detailed turns changed paths into the engine's diff, so that a person sees these paths and no others.
func detailed(diff Diff, old, wanted resource.PropertyMap) sdk.DiffResult {
	if len(diff.Changed) == 0 && len(diff.Replaces) == 0 {
		return sdk.DiffResult{Changes: sdk.DiffNone}
	}
	result := sdk.DiffResult{
		Changes:             sdk.DiffSome,
		DeleteBeforeReplace: diff.DeleteBeforeReplace,
		DetailedDiff:        map[string]sdk.PropertyDiff{},
	}
	for _, path := range diff.Changed {
		result.DetailedDiff[path] = sdk.PropertyDiff{Kind: kind(path, old, wanted), InputDiff: true}
	}
	for _, path := range diff.Replaces {
		result.DetailedDiff[path] = sdk.PropertyDiff{Kind: kind(path, old, wanted).AsReplace(), InputDiff: true}
	}
	for path, d := range result.DetailedDiff {
		// The engine derives both lists itself; a transport that has only the lists needs them too.
		result.ChangedKeys = append(result.ChangedKeys, resource.PropertyKey(top(path)))
		if d.Kind.IsReplace() {
			result.ReplaceKeys = append(result.ReplaceKeys, resource.PropertyKey(top(path)))
		}
	}
	return result
}

func kind(path string, old, wanted resource.PropertyMap) sdk.DiffKind {
	parsed, err := resource.ParsePropertyPath(path)
	if err != nil {
		return sdk.DiffUpdate
	}
	_, before := parsed.Get(resource.NewProperty(old))
	_, after := parsed.Get(resource.NewProperty(wanted))
	switch {
	case !before && after:
		return sdk.DiffAdd
	case before && !after:
		return sdk.DiffDelete
	}
	return sdk.DiffUpdate
}

// top is the first name of a property path: "vpcConfig" of "vpcConfig.subnetIds[0]".
func top(path string) string {
	if i := strings.IndexAny(path, ".["); i > 0 {
		return path[:i]
	}
	return path
}

// Differences are the paths at which two property maps differ, in order. An unknown value differs from every known one.
func Differences(old, wanted resource.PropertyMap) []string {
	diff := old.Diff(wanted)
	if diff == nil {
		return nil
	}
	var paths []string
	for _, key := range diff.ChangedKeys() {
		paths = append(paths, string(key))
	}
	return paths
}
