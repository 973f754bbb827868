package lifecycle

import (
	"context"
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
	"github.com/headroom-eks/headroom/infra/config"
	"github.com/headroom-eks/headroom/sandbox/run"
	"github.com/headroom-eks/headroom/sandbox/world"
	"github.com/headroom-eks/headroom/tests/permissions"
)

const root = "../.."

var testContext = context.Background()

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
	file    string // the stack file's name
	config  config.Environment
	program run.Program
	// now is the clock of the program.
	now time.Time
	// unreachable makes the Kubernetes API refuse connections.
	unreachable bool
}

// start prepares a stack of the environment, and lets the test run beside others.
func start(t *testing.T, env config.Environment, options ...func(*run.Options)) *environment {
	t.Helper()
	t.Parallel()
	return opened(t, env, options...)
}

// inAccountOf prepares another stack in the account of the first one.
func inAccountOf(first *environment, stack string, env config.Environment,
	options ...func(*run.Options)) *environment {
	first.t.Helper()
	return opened(first.t, env, append(options,
		func(o *run.Options) { o.Environment, o.Home = stack, first.Home() })...)
}

// foreign makes the stack that of another program, which our policies are not about.
func foreign(stack string, program run.Program) func(*run.Options) {
	return func(o *run.Options) {
		o.Environment, o.Program = stack, program
		o.PolicyPacks, o.PolicyPackConfigs = nil, nil
	}
}

func opened(t *testing.T, env config.Environment, options ...func(*run.Options)) *environment {
	t.Helper()
	given := object(t, filled(env))
	e := open(t, stackFile(t, given), options...)
	e.config = environmentOf(t, given) // a copy, which no other test shares
	return e
}

// open prepares a stack from the text of a stack file, with the policy pack.
func open(t *testing.T, text string, options ...func(*run.Options)) *environment {
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
	e.program = run.Program(infra.Program(infra.Options{Now: func() time.Time { return e.now }, Dial: e.dial,
		EnterFor: 5 * time.Second}))
	o := run.Options{Environment: "test", Tools: found, Program: e.program}
	withPack(t, policyOfTests)(&o)
	for _, option := range options {
		option(&o)
	}
	e.program, e.file = o.Program, "Pulumi."+o.Environment+".yaml"
	e.write("Pulumi.yaml", string(projectFile))
	e.write(e.file, text)
	if e.Sandbox, err = run.New(testContext, e.project, o); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { noteCalls(t, e.World()) })
	return e
}

func (e *environment) dial(ctx context.Context, network, address string) (net.Conn, error) {
	if e.unreachable {
		return nil, errors.New("connection timed out")
	}
	return e.Sandbox.Dial(ctx, network, address)
}

func (e *environment) write(name, text string) {
	e.t.Helper()
	if err := os.WriteFile(filepath.Join(e.project, name), []byte(text), 0o644); err != nil {
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

// mayOnly gives the caller the policies with these names, and nothing else. A call that no policy has fails.
func (e *environment) mayOnly(policies ...string) {
	e.t.Helper()
	granted, err := permissions.Actions(append(policies, permissions.Preview)...)
	if err != nil {
		e.t.Fatal(err)
	}
	e.act(func(s *world.State) error { s.Granted = granted; return nil })
}

// inMode are the policies of a mode.
func inMode(name string) []string {
	for _, m := range permissions.Modes {
		if m.Name == name {
			return m.Parts
		}
	}
	panic("no mode " + name)
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
