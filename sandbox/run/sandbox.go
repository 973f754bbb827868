// Package run drives a Pulumi program through the real engine against the sandbox's simulated AWS account.
//
// It owns the tools (the pulumi command, the provider plugins), the run's folder with its own state, Pulumi home and
// copies of the project's files, and the environment of the processes. It does not own the account; that is package
// world. A real account is out of its reach: the engine finds the sandbox's providers and no others, and no
// credentials.
package run

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"

	"github.com/pulumi/pulumi/sdk/v3/go/auto"
	"github.com/pulumi/pulumi/sdk/v3/go/auto/events"
	"github.com/pulumi/pulumi/sdk/v3/go/auto/optdestroy"
	"github.com/pulumi/pulumi/sdk/v3/go/auto/optpreview"
	"github.com/pulumi/pulumi/sdk/v3/go/auto/optrefresh"
	"github.com/pulumi/pulumi/sdk/v3/go/auto/optup"
	"github.com/pulumi/pulumi/sdk/v3/go/common/apitype"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"

	"github.com/headroom-eks/headroom/sandbox/kubernetes"
	"github.com/headroom-eks/headroom/sandbox/world"
)

// Program is a Pulumi program; it runs in this process.
type Program func(*pulumi.Context) error

// Options of a sandbox.
type Options struct {
	Program     Program
	Environment string // names the stack and Pulumi.<environment>.yaml; "dev" when empty
	// Home is the folder for everything the run keeps: <project>/.sandbox/<environment> when empty.
	Home string
	// Tools to use; found or built in the module around the project, else around the working directory, when zero.
	Tools Tools
	// Progress gets the engine's screen and the progress of builds; nil for silence.
	Progress io.Writer
	Colour   bool
	// PolicyPacks are binaries or folders, PolicyPackConfigs a file for each, or none.
	PolicyPacks, PolicyPackConfigs []string
	// Secrets are set encrypted in the copy of the stack file, by their path in it: the project's own file can hold
	// none that the sandbox could read.
	Secrets map[string]string
	// Person is the AWS_PROFILE of the person who runs the operations, as providers see it.
	Person string
}

// Sandbox is one environment of a project in its own simulated account.
type Sandbox struct {
	project string
	options Options
	stack   auto.Stack
	world   *world.World
	api     atomic.Pointer[kubernetes.API] // while an operation runs
}

// New prepares the sandbox for the project in a folder. Nothing is deployed yet; what an earlier run left in Home is
// still there. It removes PULUMI_*, AWS_* and KUBECONFIG from this process's environment, and puts the sandbox's aws
// command first on its PATH.
func New(ctx context.Context, project string, o Options) (*Sandbox, error) {
	cleanProcess()
	var err error
	if project, err = filepath.Abs(project); err != nil {
		return nil, err
	}
	if o.Environment == "" {
		o.Environment = "dev"
	}
	if _, _, err := readProject(project, o.Environment); err != nil {
		return nil, err // before anything is built or made
	}
	if o.Home == "" {
		o.Home = filepath.Join(project, ".sandbox", o.Environment)
	}
	if o.Home, err = filepath.Abs(o.Home); err != nil {
		return nil, err
	}
	if o.Progress == nil {
		o.Progress = io.Discard
	}
	if o.Tools == (Tools{}) {
		root, err := ModuleRoot(project)
		if err != nil {
			if root, err = ModuleRoot("."); err != nil {
				return nil, err
			}
		}
		if o.Tools, err = FindTools(ctx, root, o.Progress); err != nil {
			return nil, err
		}
	}
	usePath(o.Tools.Path)
	for _, dir := range []string{"state", "home"} {
		if err := os.MkdirAll(filepath.Join(o.Home, dir), 0o755); err != nil {
			return nil, err
		}
	}
	s := &Sandbox{project: project, options: o}
	if s.world, err = world.Open(filepath.Join(o.Home, "world.json")); err != nil {
		return nil, err
	}
	return s, s.open(ctx)
}

// openSandbox makes or selects the stack.
func (s *Sandbox) open(ctx context.Context) error {
	o := s.options
	if err := copyProject(s.project, o.Home, o.Environment); err != nil {
		return err
	}
	// The Automation API wants a folder with bin/pulumi in it.
	root := filepath.Join(o.Home, "cli")
	if err := os.MkdirAll(filepath.Join(root, "bin"), 0o755); err != nil {
		return err
	}
	link := filepath.Join(root, "bin", "pulumi")
	if err := symlink(o.Tools.CLI, link); err != nil {
		return err
	}
	if err := cachePlugins(o.Tools.Plugins, filepath.Join(o.Home, "home", "plugins")); err != nil {
		return err
	}
	command, err := auto.NewPulumiCommand(&auto.PulumiCommandOptions{Root: root})
	if err != nil {
		return fmt.Errorf("the pulumi command %s cannot be used: %w", o.Tools.CLI, err)
	}
	s.stack, err = auto.UpsertStackInlineSource(ctx, o.Environment, "", pulumi.RunFunc(o.Program),
		auto.WorkDir(o.Home), auto.Pulumi(command), auto.PulumiHome(filepath.Join(o.Home, "home")),
		auto.EnvVars(s.environment()))
	if err != nil {
		return fmt.Errorf("opening the sandbox's stack: %w", err)
	}
	return nil
}

func (s *Sandbox) environment() map[string]string {
	home := s.options.Home
	return map[string]string{
		"AWS_PROFILE": s.options.Person,
		// The sandbox's providers are the cached plugins of its own home, found there without a word; those on a
		// person's PATH are not used.
		"PULUMI_IGNORE_AMBIENT_PLUGINS":                 "true",
		"PULUMI_BACKEND_URL":                            "file://" + filepath.ToSlash(filepath.Join(home, "state")),
		"PULUMI_CONFIG_PASSPHRASE":                      "sandbox", // it guards nothing
		"PULUMI_SKIP_UPDATE_CHECK":                      "true",
		"PULUMI_DISABLE_AUTOMATIC_PLUGIN_ACQUISITION":   "true",
		"PULUMI_DIY_BACKEND_DISABLE_CHECKPOINT_BACKUPS": "true",
		world.PathVariable:                              filepath.Join(home, "world.json"),
	}
}

// World is the simulated account, to look into or to act on.
func (s *Sandbox) World() *world.World { return s.world }

// Dial connects to the Kubernetes API of a cluster in the account. It answers while an operation runs.
func (s *Sandbox) Dial(ctx context.Context, network, address string) (net.Conn, error) {
	api := s.api.Load()
	if api == nil {
		return nil, errors.New("the sandbox's Kubernetes API answers while an operation runs, and none does")
	}
	return api.Dial(ctx, network, address)
}

// Home is the folder that holds everything of this sandbox.
func (s *Sandbox) Home() string { return s.options.Home }

// Use changes the program of later operations: a test plays the next revision of it.
func (s *Sandbox) Use(ctx context.Context, p Program) error {
	s.options.Program = p
	return s.open(ctx)
}

// As changes who runs later operations.
func (s *Sandbox) As(ctx context.Context, person string) error {
	s.options.Person = person
	return s.open(ctx)
}

// skipCheckpoints keeps the engine from writing out the whole state after each resource. In a preview what it writes is
// thrown away, and takes time that grows with the square of the resources. In an update it is what a killed run leaves
// behind, so there it stays.
const skipCheckpoints = "PULUMI_SKIP_CHECKPOINTS"

// Preview plans.
func (s *Sandbox) Preview(ctx context.Context) (Result, error) {
	s.stack.Workspace().SetEnvVar(skipCheckpoints, "true")
	defer s.stack.Workspace().UnsetEnvVar(skipCheckpoints)
	return s.operate(ctx, "preview", func(ch chan events.EngineEvent, out, errs io.Writer) error {
		_, err := s.stack.Preview(ctx, optpreview.EventStreams(ch), optpreview.ProgressStreams(out),
			optpreview.ErrorProgressStreams(errs), optpreview.Color(s.colour()), optpreview.SuppressOutputs(),
			optpreview.PolicyPacks(s.options.PolicyPacks...),
			optpreview.PolicyPackConfigs(s.options.PolicyPackConfigs...))
		return err
	})
}

// Up updates the account to what the program says.
func (s *Sandbox) Up(ctx context.Context) (Result, error) { return s.UpWith(ctx) }

// UpWith is Up with more flags of the engine: targets, for example.
func (s *Sandbox) UpWith(ctx context.Context, more ...optup.Option) (Result, error) {
	var outputs auto.OutputMap
	r, err := s.operate(ctx, "up", func(ch chan events.EngineEvent, out, errs io.Writer) error {
		up, err := s.stack.Up(ctx, append(more, optup.EventStreams(ch), optup.ProgressStreams(out),
			optup.ErrorProgressStreams(errs), optup.Color(s.colour()), optup.SuppressOutputs(),
			optup.PolicyPacks(s.options.PolicyPacks...), optup.PolicyPackConfigs(s.options.PolicyPackConfigs...))...)
		outputs = up.Outputs
		return err
	})
	if err == nil {
		r.Outputs = values(outputs)
	}
	return r, err
}

// Refresh reads the account into the stack's state.
func (s *Sandbox) Refresh(ctx context.Context) (Result, error) {
	return s.operate(ctx, "refresh", func(ch chan events.EngineEvent, out, errs io.Writer) error {
		_, err := s.stack.Refresh(ctx, optrefresh.EventStreams(ch), optrefresh.ProgressStreams(out),
			optrefresh.ErrorProgressStreams(errs), optrefresh.Color(s.colour()), optrefresh.SuppressOutputs())
		return err
	})
}

// Down destroys everything the stack made, or, when something is protected, nothing: it plans first, as a person at a
// prompt would.
func (s *Sandbox) Down(ctx context.Context) (Result, error) {
	return s.operate(ctx, "down", func(ch chan events.EngineEvent, out, errs io.Writer) error {
		if _, err := s.stack.PreviewDestroy(ctx, optdestroy.ProgressStreams(out), optdestroy.ErrorProgressStreams(errs),
			optdestroy.Color(s.colour()), optdestroy.SuppressOutputs()); err != nil {
			return err
		}
		_, err := s.stack.Destroy(ctx, optdestroy.EventStreams(ch), optdestroy.ProgressStreams(out),
			optdestroy.ErrorProgressStreams(errs), optdestroy.Color(s.colour()), optdestroy.SuppressOutputs())
		return err
	})
}

// Outputs are the stack's outputs as they are stored.
func (s *Sandbox) Outputs(ctx context.Context) (map[string]any, error) {
	outputs, err := s.stack.Outputs(ctx)
	return values(outputs), err
}

// Export is the stack's state. Secrets are readable in it: the sandbox has none that guard anything.
func (s *Sandbox) Export(ctx context.Context) (apitype.UntypedDeployment, error) {
	return s.stack.Export(ctx)
}

// Import takes an exported state for the stack's own.
func (s *Sandbox) Import(ctx context.Context, state apitype.UntypedDeployment) error {
	return s.stack.Import(ctx, state)
}

func values(outputs auto.OutputMap) map[string]any {
	out := map[string]any{}
	for key, o := range outputs {
		out[key] = o.Value
	}
	return out
}

func (s *Sandbox) colour() string {
	if s.options.Colour {
		return "always"
	}
	return "never"
}

// operate runs one operation on fresh copies of the project's files, and gathers what it did.
func (s *Sandbox) operate(ctx context.Context, name string,
	f func(ch chan events.EngineEvent, out, errs io.Writer) error) (Result, error) {
	if err := copyProject(s.project, s.options.Home, s.options.Environment); err != nil {
		return Result{}, err
	}
	for _, path := range slices.Sorted(maps.Keys(s.options.Secrets)) {
		value := auto.ConfigValue{Value: s.options.Secrets[path], Secret: true}
		if err := s.stack.SetConfigWithOptions(ctx, path, value, &auto.ConfigOptions{Path: true}); err != nil {
			return Result{}, fmt.Errorf("setting the secret %s: %w", path, err)
		}
	}
	api, err := kubernetes.Serve(s.world)
	if err != nil {
		return Result{}, err
	}
	defer api.Close()
	s.api.Store(api)
	defer s.api.Store(nil)
	var screen, stderr bytes.Buffer
	shared := &lineWriter{w: io.MultiWriter(&screen, s.options.Progress)}
	ch := make(chan events.EngineEvent)
	results := make(chan Result, 1)
	done := make(chan struct{})
	go func() { results <- collect(ch, done) }()
	err = f(ch, shared, io.MultiWriter(&stderr, shared))
	shared.flush()
	close(done) // the API closes ch only when the engine got as far as sending events
	r := <-results
	r.Screen = screen.String()
	if err != nil {
		return r, &OperationError{Operation: name, Result: r, Stderr: plain(stderr.String()), Err: err}
	}
	return r, nil
}
