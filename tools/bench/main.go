// Command bench measures the numbers that the design promises and says which of them hold on this machine.
//
//	bench [-C dir] [-cold] [-only words] [-repeat n]
//
// It owns how each number is measured, and its target. It does not own what is measured: builds run through the go
// command, updates through make and package run, each measured operation in a process of its own. Nothing outside the
// project's .sandbox/bench is written, and that is removed at the end.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/headroom-eks/headroom/sandbox/run"
)

// row is one promise. measure returns what was found, and whether that keeps the promise.
type row struct {
	what, target string
	cold         bool // builds everything anew, which takes minutes
	measure      func(context.Context, *bench) (string, bool, error)
}

// bench is what the measurements share.
type bench struct {
	root   string // of the project
	work   string // folder of this run
	repeat int    // of what is repeated; the median counts
	tools  run.Tools
	warmed string // copy of the project whose dev environment is up; empty before it is needed
}

func main() {
	if len(os.Args) > 1 && os.Args[1] == workerCommand {
		if err := work(os.Args[2]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	b := &bench{}
	flag.StringVar(&b.root, "C", ".", "project folder")
	flag.IntVar(&b.repeat, "repeat", 5, "how often to measure what is repeated; the median counts")
	cold := flag.Bool("cold", false, "measure cold builds too: about 25 minutes on two cores")
	only := flag.String("only", "", "measure only rows whose description has this text")
	flag.Parse()
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt)
	defer cancel()
	if err := b.run(ctx, *cold, *only); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// run measures, and returns an error when something could not be measured. A promise that does not hold on this machine
// stands in the table.
func (b *bench) run(ctx context.Context, cold bool, only string) (err error) {
	if err := run.RefuseReal(os.Environ()); err != nil {
		return err
	}
	if b.root, err = run.ModuleRoot(b.root); err != nil {
		return err
	}
	base := filepath.Join(b.root, ".sandbox", "bench")
	if err := os.MkdirAll(base, 0o755); err != nil {
		return err
	}
	if b.work, err = os.MkdirTemp(base, "run-"); err != nil {
		return err
	}
	defer os.RemoveAll(b.work)
	fmt.Printf("%s, %d cores, %s; load %s at the start. Wall times hold for an idle machine only.\n", runtime.Version(),
		runtime.NumCPU(), system(), load())
	if b.tools, err = run.FindTools(ctx, b.root, os.Stdout); err != nil {
		return err
	}

	failed := 0
	var table strings.Builder
	out := tabwriter.NewWriter(&table, 0, 0, 3, ' ', 0)
	fmt.Fprintln(out, "WHAT\tTARGET\tMEASURED\tHELD")
	for _, r := range rows {
		if !strings.Contains(r.what, only) {
			continue
		}
		measured, verdict := "not measured; COLD=1 measures it", "-"
		if !r.cold || cold {
			fmt.Printf("\n%s\n", r.what)
			found, ok, err := r.measure(ctx, b)
			if ctx.Err() != nil {
				return errors.New("interrupted")
			}
			measured, verdict = found, map[bool]string{true: "yes", false: "NO"}[ok]
			if err != nil {
				failed++
				measured, verdict = "failed, see above", "?"
				fmt.Printf("  failed: %v\n", err)
			}
		}
		fmt.Fprintf(out, "%s\t%s\t%s\t%s\n", r.what, r.target, measured, verdict)
	}
	if err := out.Flush(); err != nil {
		return err
	}
	fmt.Printf("\n%s\nload %s at the end\n", table.String(), load())
	if failed > 0 {
		return fmt.Errorf("%d of the numbers could not be measured", failed)
	}
	return nil
}

func seconds(d time.Duration) string { return fmt.Sprintf("%.1f s", d.Seconds()) }

func mebibytes(bytes int64) string { return fmt.Sprintf("%d MiB", bytes>>20) }

func system() string { return runtime.GOOS + "/" + runtime.GOARCH }

// load averages of the last 1, 5 and 15 minutes, where the system tells.
func load() string {
	text, err := os.ReadFile("/proc/loadavg")
	if fields := strings.Fields(string(text)); err == nil && len(fields) >= 3 {
		return strings.Join(fields[:3], " ")
	}
	return "not known"
}
