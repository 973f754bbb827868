// Command sandbox runs the project's program on the real Pulumi engine against a simulated AWS account on this machine:
// no account, no network, nothing real is touched.
//
//	sandbox [-C dir] [-env dev] preview | up | refresh | down | table | tools
//	sandbox [-C dir] [-env dev] act <act> ...
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"time"

	"github.com/headroom-eks/headroom/sandbox/run"
	"github.com/headroom-eks/headroom/sandbox/world"
)

const usage = `sandbox: the real Pulumi engine, the project's program, and a simulated AWS account.
Nothing real is touched.

  sandbox [flags] preview            what an update would do
  sandbox [flags] up                 update the simulated account, then show the capacity table
  sandbox [flags] refresh            read the account into the state
  sandbox [flags] down               destroy everything
  sandbox [flags] table              show the capacity table of the last update
  sandbox [flags] tools              build what the others need, and stop
  sandbox [flags] act <act> ...      change the account behind the program's back:
%s
Flags:
`

type command struct {
	project, environment string
	pack, packConfig     string
	out                  io.Writer
	colour               bool
}

func main() {
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt)
	defer cancel()
	c := command{out: os.Stdout}
	if info, err := os.Stdout.Stat(); err == nil {
		c.colour = info.Mode()&os.ModeCharDevice != 0 && os.Getenv("NO_COLOR") == ""
	}
	flags := flag.NewFlagSet("sandbox", flag.ContinueOnError)
	flags.StringVar(&c.project, "C", ".", "project folder, the one with Pulumi.yaml")
	flags.StringVar(&c.environment, "env", "dev", "environment: the stack file is Pulumi.<env>.yaml")
	flags.StringVar(&c.pack, "policy-pack", "", "policy pack to enforce: a binary, or a folder with PulumiPolicy.yaml")
	flags.StringVar(&c.packConfig, "policy-pack-config", "", "configuration file of the policy pack")
	flags.Usage = func() { fmt.Fprintf(flags.Output(), usage, actUsage()); flags.PrintDefaults() }
	if err := flags.Parse(os.Args[1:]); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return
		}
		os.Exit(2)
	}
	if flags.NArg() == 0 {
		flags.Usage()
		os.Exit(2)
	}
	if flags.Arg(0) != "tools" { // building touches no account
		if err := run.RefuseReal(os.Environ()); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(2)
		}
	}
	if err := c.run(ctx, flags.Arg(0), flags.Args()[1:]); err != nil {
		fmt.Fprintf(os.Stderr, "\n%v\n", err)
		os.Exit(1)
	}
}

// operations are the commands that run the engine.
var operations = map[string]func(*run.Sandbox, context.Context) (run.Result, error){
	"preview": (*run.Sandbox).Preview,
	"up":      (*run.Sandbox).Up,
	"refresh": (*run.Sandbox).Refresh,
	"down":    (*run.Sandbox).Down,
	"table": func(s *run.Sandbox, ctx context.Context) (run.Result, error) {
		outputs, err := s.Outputs(ctx)
		return run.Result{Outputs: outputs}, err
	},
}

func (c command) run(ctx context.Context, name string, args []string) error {
	if name == "act" {
		return c.act(args)
	}
	if len(args) > 0 {
		return fmt.Errorf("%s takes no arguments: %s. Flags come before the command", name, strings.Join(args, " "))
	}
	if name == "tools" {
		return c.tools(ctx)
	}
	if operations[name] == nil {
		return fmt.Errorf("%q is no command of the sandbox; see sandbox -h", name)
	}
	return c.operate(ctx, name)
}

// tools builds what the other commands need.
func (c command) tools(ctx context.Context) error {
	root, err := run.ModuleRoot(c.project)
	if err != nil {
		return err
	}
	tools, err := run.FindTools(ctx, root, c.out)
	if err == nil {
		fmt.Fprintf(c.out, "the engine is %s\n", tools.CLI)
	}
	return err
}

// act changes the account behind the program's back.
func (c command) act(args []string) error {
	w, err := world.Open(filepath.Join(c.home(), "world.json"))
	if err != nil {
		return err
	}
	said, err := act(w, args)
	if err != nil {
		return err
	}
	fmt.Fprintln(c.out, said)
	return nil
}

// operate runs one of the operations and shows what it left.
func (c command) operate(ctx context.Context, name string) error {
	if name != "table" {
		fmt.Fprintf(c.out, "sandbox: simulated AWS account, environment %s; nothing real is touched\n", c.environment)
	}
	start := time.Now()
	var s *run.Sandbox
	o := c.options()
	o.Program = program(func(ctx context.Context, network, address string) (net.Conn, error) {
		return s.Dial(ctx, network, address)
	})
	s, err := run.New(ctx, c.project, o)
	if err != nil {
		return err
	}
	// Spot has been used in this account, as in most: a fresh one lacks the role, and the program then says how to make
	// it.
	if err := s.World().Update(func(w *world.State) error { w.LinkRole(world.SpotRole); return nil }); err != nil {
		return err
	}
	result, err := operations[name](s, ctx)
	if err != nil {
		return c.explain(name, err)
	}
	if name == "preview" || name == "up" || name == "table" {
		if err := c.table(result.Outputs); err != nil {
			return err
		}
	}
	if name == "down" {
		if err := c.empty(s); err != nil {
			return err
		}
	}
	if name != "table" {
		fmt.Fprintf(c.out, "\n%s finished in %s\n", name, time.Since(start).Round(100*time.Millisecond))
	}
	return nil
}

func (c command) home() string { return filepath.Join(c.project, ".sandbox", c.environment) }

func (c command) options() run.Options {
	o := run.Options{Environment: c.environment, Progress: c.out, Colour: c.colour}
	if c.pack != "" {
		// The engine looks from another folder than this one.
		o.PolicyPacks = []string{absolute(c.pack)}
		if c.packConfig != "" {
			o.PolicyPackConfigs = []string{absolute(c.packConfig)}
		}
	}
	return o
}

func absolute(path string) string {
	if abs, err := filepath.Abs(path); err == nil {
		return abs
	}
	return path
}

// explain says what to do after a failed operation. What went wrong is on the screen already, where it happened.
func (c command) explain(name string, err error) error {
	var failed *run.OperationError
	if !errors.As(err, &failed) {
		return err
	}
	next := fmt.Sprintf("What was made before the failure stays in the simulated account: correct the cause and run "+
		"%s again.", name)
	if name == "preview" {
		next = "Nothing was changed: correct the cause and preview again."
	}
	if strings.Contains(err.Error(), "currently locked") {
		next = "Another run is going on, or one was killed. If it was killed, delete " +
			filepath.Join(c.home(), "state", ".pulumi", "locks") + " and try again."
	}
	return fmt.Errorf("sandbox %s failed, see above.\n%s\nTo forget this environment altogether, delete %s", name, next,
		c.home())
}

// empty tells what is left in the account after everything was destroyed.
func (c command) empty(s *run.Sandbox) error {
	var left []string
	if err := s.World().View(func(state *world.State) error { left = state.Leftovers(); return nil }); err != nil {
		return err
	}
	if len(left) == 0 {
		fmt.Fprintln(c.out, "\nthe simulated account is empty")
		return nil
	}
	return fmt.Errorf("the stack is gone, but the simulated account still holds, as a real one would:\n  %s\nsandbox "+
		"act remove <name> removes one", strings.Join(left, "\n  "))
}
