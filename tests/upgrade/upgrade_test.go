package upgrade

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/headroom-eks/headroom/infra"
	"github.com/headroom-eks/headroom/sandbox/run"
	"github.com/headroom-eks/headroom/sandbox/world"
	"github.com/pulumi/pulumi/sdk/v3/go/common/apitype"
)

var record = flag.Bool("record", false, "record the environments anew, as the program leaves them now")

const root = "../.."

// environments that are recorded, with the stack files that a recording starts from.
var environments = map[string]string{
	"dev":       "Pulumi.dev.yaml",
	"staging":   "Pulumi.staging.yaml",
	"prod":      "Pulumi.prod.yaml",
	"auto-mode": "infra/testdata/Pulumi.auto-mode.yaml",
}

// tools are found, or built, once for all tests.
var tools = sync.OnceValues(func() (run.Tools, error) {
	module, err := filepath.Abs(root)
	if err != nil {
		return run.Tools{}, err
	}
	return run.FindTools(context.Background(), module, os.Stderr)
})

func TestUpdateOfARecordedEnvironmentReplacesAndDeletesNothing(t *testing.T) {
	for environment := range environments {
		t.Run(environment, func(t *testing.T) {
			t.Parallel()
			if *record {
				recordAnew(t, environment)
				return
			}
			sandbox := recorded(t, environment)
			plan, err := sandbox.Preview(t.Context())
			if err != nil {
				t.Fatalf("%v\n%s", err, plan.Screen)
			}
			for _, s := range plan.Steps {
				if strings.Contains(s.Op, "replace") || strings.Contains(s.Op, "delete") {
					t.Errorf("%s %s: would go (%s %v); keep its type, name and parent, or give it an alias",
						s.Type, s.Name, s.Op, s.Replaces)
				}
			}
			if t.Failed() {
				t.FailNow()
			}
			if done, err := sandbox.Up(t.Context()); err != nil {
				t.Fatalf("%v\n%s", err, done.Screen)
			}
			again, err := sandbox.Preview(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if again.Changed() {
				t.Errorf("the update does not settle; the next one plans %v", again.Ops())
			}
		})
	}
}

// recorded is an environment as its recording left it.
func recorded(t *testing.T, environment string) *run.Sandbox {
	t.Helper()
	home := t.TempDir()
	write(t, filepath.Join(home, "world.json"), read(t, recording(environment, "world.json")))
	sandbox := open(t, environment, home, recording(environment, "stack.yaml"))
	var state apitype.UntypedDeployment
	if err := json.Unmarshal(read(t, recording(environment, "state.json")), &state); err != nil {
		t.Fatal(err)
	}
	if err := sandbox.Import(t.Context(), state); err != nil {
		t.Fatal(err)
	}
	return sandbox
}

// recordAnew makes an environment in an account of its own and keeps what that leaves.
func recordAnew(t *testing.T, environment string) {
	t.Helper()
	source := filepath.Join(root, environments[environment])
	sandbox := open(t, environment, t.TempDir(), source)
	// Spot instances have run in the account before: the shipped environments expect that.
	if err := sandbox.World().Update(func(s *world.State) error {
		s.ServiceLinkedRoles = append(s.ServiceLinkedRoles, world.SpotRole)
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if done, err := sandbox.Up(t.Context()); err != nil {
		t.Fatalf("%v\n%s", err, done.Screen)
	}
	state, err := sandbox.Export(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	state.Deployment = withoutBuild(t, state.Deployment)
	text, err := json.Marshal(state)
	if err != nil {
		t.Fatal(err)
	}
	write(t, recording(environment, "stack.yaml"), read(t, source))
	write(t, recording(environment, "state.json"), lines(t, text))
	write(t, recording(environment, "world.json"), lines(t, read(t, filepath.Join(sandbox.Home(), "world.json"))))
}

// withoutBuild drops what a state says about the build of the program: lines of its source, which are half of the text.
func withoutBuild(t *testing.T, state []byte) []byte {
	t.Helper()
	var deployment apitype.DeploymentV3
	if err := json.Unmarshal(state, &deployment); err != nil {
		t.Fatal(err)
	}
	for i := range deployment.Resources {
		deployment.Resources[i].SourcePosition, deployment.Resources[i].StackTrace = "", nil
	}
	text, err := json.Marshal(deployment)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// open prepares the sandbox of an environment in a home of its own, with the program as it is now and a stopped clock.
func open(t *testing.T, environment, home, stackFile string) *run.Sandbox {
	t.Helper()
	found, err := tools()
	if err != nil {
		t.Fatalf("the engine is needed and could not be had: %v", err)
	}
	project := t.TempDir()
	write(t, filepath.Join(project, "Pulumi.yaml"), read(t, filepath.Join(root, "Pulumi.yaml")))
	write(t, filepath.Join(project, "Pulumi."+environment+".yaml"), read(t, stackFile))
	var sandbox *run.Sandbox
	program := infra.Program(infra.Options{
		Now: func() time.Time { return time.Date(2026, 11, 30, 9, 0, 0, 0, time.UTC) },
		Dial: func(ctx context.Context, network, address string) (net.Conn, error) {
			return sandbox.Dial(ctx, network, address)
		},
	})
	if sandbox, err = run.New(t.Context(), project, run.Options{
		Environment: environment, Home: home, Tools: found, Program: run.Program(program),
	}); err != nil {
		t.Fatal(err)
	}
	return sandbox
}

// recording is the path of a file of a recorded environment.
func recording(environment, name string) string { return filepath.Join("testdata", environment, name) }

func read(t *testing.T, path string) []byte {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func write(t *testing.T, path string, text []byte) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, text, 0o644); err != nil {
		t.Fatal(err)
	}
}

// lines lays JSON out with a value a line, so that recordings can be compared.
func lines(t *testing.T, text []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	if err := json.Indent(&out, text, "", ""); err != nil {
		t.Fatal(err)
	}
	return append(out.Bytes(), '\n')
}
