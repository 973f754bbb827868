package lifecycle

import (
	"encoding/json"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/headroom-eks/headroom/capacity"
	"github.com/headroom-eks/headroom/infra"
	"github.com/headroom-eks/headroom/sandbox/run"
	"github.com/headroom-eks/headroom/sandbox/world"
)

const root = "../.."

// tools are found, or built, once for all tests.
var tools = sync.OnceValues(func() (run.Tools, error) {
	module, err := filepath.Abs(root)
	if err != nil {
		return run.Tools{}, err
	}
	return run.FindTools(testContext, module, os.Stderr)
})

// environment is one stack under test in an account of its own. Its configuration can be rewritten between updates.
type environment struct {
	*run.Sandbox
	t       *testing.T
	project string
	program run.Program
	// now is the clock of the program.
	now time.Time
	// unreachable makes the Kubernetes API refuse connections.
	unreachable bool
}

// start prepares a stack from the text of a stack file.
func start(t *testing.T, stackFile string, options ...func(*run.Options)) *environment {
	t.Helper()
	t.Parallel()
	found, err := tools()
	if err != nil {
		t.Fatalf("the engine is needed and could not be had: %v", err)
	}
	e := &environment{t: t, project: t.TempDir(), now: time.Date(2026, 11, 30, 9, 0, 0, 0, time.UTC)}
	projectFile, err := os.ReadFile(filepath.Join(root, "Pulumi.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	e.write("Pulumi.yaml", string(projectFile))
	e.write("Pulumi.test.yaml", stackFile)
	e.program = run.Program(infra.Program(infra.Options{Now: func() time.Time { return e.now }, Dial: e.dial}))
	o := run.Options{Environment: "test", Tools: found, Program: e.program}
	for _, option := range options {
		option(&o)
	}
	if e.Sandbox, err = run.New(testContext, e.project, o); err != nil {
		t.Fatal(err)
	}
	return e
}

func (e *environment) dial(string, string, time.Duration) (net.Conn, error) {
	if e.unreachable {
		return nil, errors.New("connection timed out")
	}
	here, there := net.Pipe()
	return here, there.Close()
}

func (e *environment) write(name, text string) {
	e.t.Helper()
	if err := os.WriteFile(filepath.Join(e.project, name), []byte(text), 0o644); err != nil {
		e.t.Fatal(err)
	}
}

// configure replaces parts of the stack file, given as pairs of old and new text; an old text that is not there fails the test.
func (e *environment) configure(pairs ...string) {
	e.t.Helper()
	path := filepath.Join(e.project, "Pulumi.test.yaml")
	text, err := os.ReadFile(path)
	if err != nil {
		e.t.Fatal(err)
	}
	changed := string(text)
	for i := 0; i+1 < len(pairs); i += 2 {
		if !strings.Contains(changed, pairs[i]) {
			e.t.Fatalf("the stack file has no %q", pairs[i])
		}
		changed = strings.Replace(changed, pairs[i], pairs[i+1], 1)
	}
	e.write("Pulumi.test.yaml", changed)
	if err := e.Use(testContext, e.program); err != nil { // reads the project's files again
		e.t.Fatal(err)
	}
}

// up updates and fails the test when that fails.
func (e *environment) up() run.Result {
	e.t.Helper()
	result, err := e.Up(testContext)
	if err != nil {
		e.t.Fatal(err)
	}
	return result
}

// down destroys, and fails the test when that fails or leaves anything behind.
func (e *environment) down() run.Result {
	e.t.Helper()
	result, err := e.Down(testContext)
	if err != nil {
		e.t.Fatal(err)
	}
	e.view(func(s *world.State) error {
		if left := s.Leftovers(); len(left) > 0 {
			e.t.Errorf("left in the account: %q", left)
		}
		return nil
	})
	return result
}

func (e *environment) view(f func(*world.State) error) {
	e.t.Helper()
	if err := e.World().View(f); err != nil {
		e.t.Fatal(err)
	}
}

// act changes the account behind the program's back.
func (e *environment) act(f func(*world.State) error) {
	e.t.Helper()
	if err := e.World().Update(f); err != nil {
		e.t.Fatal(err)
	}
}

// document is the capacity that the stack's outputs promise.
func (e *environment) document(outputs map[string]any) capacity.Document {
	e.t.Helper()
	text, err := json.Marshal(outputs["capacity"])
	if err != nil {
		e.t.Fatal(err)
	}
	doc, err := capacity.Decode(text)
	if err != nil {
		e.t.Fatal(err)
	}
	return doc
}

// pool of the document by name.
func (e *environment) pool(outputs map[string]any, name string) capacity.Pool {
	e.t.Helper()
	for _, p := range e.document(outputs).Pools {
		if p.Name == name {
			return p
		}
	}
	e.t.Fatalf("no pool %s in %v", name, outputs["capacity"])
	return capacity.Pool{}
}
