package plugin

import (
	"context"
	"fmt"

	"github.com/blang/semver"
	sdk "github.com/pulumi/pulumi/sdk/v3/go/common/resource/plugin"
	"github.com/pulumi/pulumi/sdk/v3/go/common/util/rpcutil/rpcerror"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
	sdkprovider "github.com/pulumi/pulumi/sdk/v3/go/pulumi/provider"
	pulumirpc "github.com/pulumi/pulumi/sdk/v3/proto/go"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/types/known/emptypb"
)

// Construct makes a remote component: it registers the component and its children and returns the component, whose
// outputs are the fields that carry a `pulumi` tag.
type Construct func(ctx *pulumi.Context, name string, inputs sdkprovider.ConstructInputs,
	opts pulumi.ResourceOption) (pulumi.ComponentResource, error)

// Package is one provider package to serve.
type Package struct {
	Name       string // package name in type tokens
	Version    string // the version told to the engine: that of the Go SDK the program uses, or the engine warns
	Backend    Backend
	Components map[string]Construct // by type token
}

// Server answers the engine for one package.
type server struct {
	pulumirpc.ResourceProviderServer
	pkg    Package
	engine func() (*grpc.ClientConn, error)
}

// NewServer serves the package; engine gives the connection to the engine that components register over, and may be nil
// when there are none.
func NewServer(pkg Package, callback func() (*grpc.ClientConn, error)) (pulumirpc.ResourceProviderServer, error) {
	version, err := semver.Parse(pkg.Version)
	if err != nil {
		return nil, fmt.Errorf("version %q of package %s: %w", pkg.Version, pkg.Name, err)
	}
	return &server{
		ResourceProviderServer: sdk.NewProviderServer(&provider{
			name:    pkg.Name,
			version: version,
			backend: pkg.Backend,
		}),
		pkg:    pkg,
		engine: callback,
	}, nil
}

// Main serves the package the way the engine expects of a plugin process: it prints its port and runs until the engine
// is done.
func Main(pkg Package) error {
	return sdkprovider.Main(pkg.Name, func(host *sdkprovider.HostClient) (pulumirpc.ResourceProviderServer, error) {
		return NewServer(pkg, func() (*grpc.ClientConn, error) {
			if host == nil {
				return nil, fmt.Errorf("the engine gave no address to register components at")
			}
			return host.EngineConn(), nil
		})
	})
}

// Diff and DiffConfig say that their diff is a detailed one, which the SDK's server forgets; the engine would ignore
// it.
func (s *server) Diff(ctx context.Context, req *pulumirpc.DiffRequest) (*pulumirpc.DiffResponse, error) {
	return asDetailed(s.ResourceProviderServer.Diff(ctx, req))
}

func (s *server) DiffConfig(ctx context.Context, req *pulumirpc.DiffRequest) (*pulumirpc.DiffResponse, error) {
	return asDetailed(s.ResourceProviderServer.DiffConfig(ctx, req))
}

func asDetailed(resp *pulumirpc.DiffResponse, err error) (*pulumirpc.DiffResponse, error) {
	if resp != nil {
		resp.HasDetailedDiff = len(resp.DetailedDiff) > 0
	}
	return resp, err
}

func (s *server) Construct(ctx context.Context, req *pulumirpc.ConstructRequest) (*pulumirpc.ConstructResponse, error) {
	construct, ok := s.pkg.Components[req.GetType()]
	if !ok {
		return nil, rpcerror.New(codes.Unimplemented, unknown(s.pkg.Name, "component", req.GetType()).Error())
	}
	conn, err := s.engine()
	if err != nil {
		return nil, err
	}
	return sdkprovider.Construct(ctx, req, conn, func(pctx *pulumi.Context, _, name string,
		inputs sdkprovider.ConstructInputs, opts pulumi.ResourceOption,
	) (*sdkprovider.ConstructResult, error) {
		component, err := construct(pctx, name, inputs, opts)
		if err != nil {
			return nil, err
		}
		return sdkprovider.NewConstructResult(component)
	})
}

func (s *server) Cancel(context.Context, *emptypb.Empty) (*emptypb.Empty, error) {
	return &emptypb.Empty{}, nil
}

// unknown is the loud failure for what the stand-in does not know: silence would make a wrong program look right.
func unknown(pkg, what, token string) error {
	return fmt.Errorf("the sandbox's %s provider does not know the %s %q; it knows only what this project uses", pkg,
		what, token)
}
