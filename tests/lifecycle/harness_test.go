package lifecycle

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"os"
	"path/filepath"
	"slices"
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

// stackFile is the text of a stack file from lines of headroom:environment. Network and cluster have a value when no
// line gives one.
func stackFile(lines ...string) string {
	for _, usual := range []string{"network: {zones: [us-west-2a, us-west-2b]}", "cluster: {publicAccessCidrs: " +
		"[203.0.113.0/24]}"} {
		key, _, _ := strings.Cut(usual, " ")
		if !slices.ContainsFunc(lines, func(line string) bool { return strings.HasPrefix(line, key) }) {
			lines = append(lines, usual)
		}
	}
	return "config:\n  aws:region: us-west-2\n  headroom:environment:\n    " + strings.Join(lines, "\n    ") + "\n"
}

// environment is one stack under test in an account of its own. Its configuration can be rewritten between updates.
type environment struct {
	*run.Sandbox
	t       *testing.T
	project string
	file    string // the stack file's name
	program run.Program
	// now is the clock of the program.
	now time.Time
	// unreachable makes the Kubernetes API refuse connections.
	unreachable bool
}

// start prepares a stack from the text of a stack file, and lets the test run beside others.
func start(t *testing.T, stackFile string, options ...func(*run.Options)) *environment {
	t.Helper()
	t.Parallel()
	return open(t, stackFile, options...)
}

// inAccountOf prepares another stack in the account of the first one.
func inAccountOf(first *environment, stack, stackFile string, options ...func(*run.Options)) *environment {
	first.t.Helper()
	return open(first.t, stackFile, append(options,
		func(o *run.Options) { o.Environment, o.Home = stack, first.Home() })...)
}

func open(t *testing.T, stackFile string, options ...func(*run.Options)) *environment {
	t.Helper()
	found, err := tools()
	if err != nil {
		t.Fatalf("the engine is needed and could not be had: %v", err)
	}
	e := &environment{t: t, project: t.TempDir(), now: time.Date(2026, 11, 30, 9, 0, 0, 0, time.UTC)}
	projectFile, err := os.ReadFile(filepath.Join(root, "Pulumi.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	e.program = run.Program(infra.Program(infra.Options{Now: func() time.Time { return e.now }, Dial: e.dial}))
	o := run.Options{Environment: "test", Tools: found, Program: e.program}
	for _, option := range options {
		option(&o)
	}
	e.program, e.file = o.Program, "Pulumi."+o.Environment+".yaml"
	e.write("Pulumi.yaml", string(projectFile))
	e.write(e.file, stackFile)
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

// configure replaces parts of the stack file, given as pairs of old and new text; an old text that is not there fails
// the test.
func (e *environment) configure(pairs ...string) {
	e.t.Helper()
	text, err := os.ReadFile(filepath.Join(e.project, e.file))
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
	e.write(e.file, changed)
	if err := e.Use(testContext, e.program); err != nil { // reads the project's files again
		e.t.Fatal(err)
	}
}

// fails runs an operation that has to fail, and wants each of the words in what it says.
func (e *environment) fails(operation func(context.Context) (run.Result, error), words ...string) run.Result {
	e.t.Helper()
	result, err := operation(testContext)
	if err == nil {
		e.t.Fatalf("it went through, and should have said %q; it did %v", words, changes(result))
	}
	for _, w := range words {
		if !strings.Contains(err.Error(), w) {
			e.t.Errorf("no %q in: %v", w, err)
		}
	}
	return result
}

// changes are the operations of a result by the logical name and the type of the resource, in the engine's order: what
// tests compare.
func changes(r run.Result) map[string]string {
	out := map[string]string{}
	for _, s := range r.Steps {
		key := s.Name + " " + s.Type[strings.LastIndex(s.Type, ":")+1:]
		out[key] = strings.TrimSpace(out[key] + " " + s.Op)
	}
	return out
}

// step runs one behaviour of a sequence that shares the environment, as a test of its own; after a failed one the rest
// would say nothing.
func (e *environment) step(name string, f func()) {
	e.t.Helper()
	sequence := e.t
	passed := sequence.Run(name, func(t *testing.T) {
		e.t = t
		defer func() { e.t = sequence }()
		f()
	})
	if !passed {
		sequence.FailNow()
	}
}

// refused fails the test unless a preview fails and says all of it.
func (e *environment) refused(want ...string) {
	e.t.Helper()
	e.fails(e.Preview, want...)
}

// preview plans, and fails the test when that fails.
func (e *environment) preview() run.Result {
	e.t.Helper()
	result, err := e.Preview(testContext)
	if err != nil {
		e.t.Fatal(err)
	}
	return result
}

// settled fails the test when an update would change anything.
func (e *environment) settled() {
	e.t.Helper()
	if again := e.preview(); again.Changed() {
		e.t.Errorf("the next update plans %v", again.Ops())
	}
}

// up updates and fails the test when that fails.
func (e *environment) up() run.Result {
	e.t.Helper()
	result, err := e.Up(testContext)
	if err != nil {
		e.t.Fatalf("%v\n%s", err, result.Screen)
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
