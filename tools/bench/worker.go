package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/headroom-eks/headroom/infra"
	"github.com/headroom-eks/headroom/sandbox/run"
)

// workerCommand makes this binary run one operation and print what it took: a process of its own, so that its peak of
// memory is the operation's.
const workerCommand = "worker"

// operation is a preview that a worker runs.
type operation struct {
	Project string // folder with Pulumi.yaml and Pulumi.dev.yaml
	Home    string // folder that the sandbox keeps its state in
	Tools   run.Tools
	Bare    bool // the bare program instead of the project's
	Pack    string
	Config  string // of the pack
}

// cost of one operation. The engine and, where the engine waits for them, its providers count as children.
type cost struct {
	Wall        time.Duration
	Program     time.Duration // from the call of the program's function to its return
	CPU, OwnCPU time.Duration // user and system; OwnCPU is the program's process
	OwnPeak     int64         // bytes of memory, resident
	ChildPeak   int64         // of the largest child
	Changed     bool
	Resources   int
	Findings    int // of policies
}

// measure runs an operation in a worker.
func (b *bench) measure(ctx context.Context, o operation) (cost, error) {
	o.Tools = b.tools
	text, err := json.Marshal(o)
	if err != nil {
		return cost{}, err
	}
	self, err := os.Executable()
	if err != nil {
		return cost{}, err
	}
	cmd := exec.CommandContext(ctx, self, workerCommand, string(text))
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	answer, err := cmd.Output()
	if err != nil {
		return cost{}, fmt.Errorf("%w: %s", err, stderr.String())
	}
	var c cost
	return c, json.Unmarshal(answer, &c)
}

// work is the worker's side.
func work(text string) error {
	var o operation
	if err := json.Unmarshal([]byte(text), &o); err != nil {
		return err
	}
	program, took := timed(programOf(o.Bare))
	options := run.Options{Program: program, Environment: "dev", Home: o.Home, Tools: o.Tools}
	if o.Pack != "" {
		options.PolicyPacks, options.PolicyPackConfigs = []string{o.Pack}, []string{o.Config}
	}
	ctx := context.Background()
	s, err := run.New(ctx, o.Project, options)
	if err != nil {
		return err
	}
	ownBefore, childrenBefore := usage(syscall.RUSAGE_SELF), usage(syscall.RUSAGE_CHILDREN)
	start := time.Now()
	result, err := s.Preview(ctx)
	if err != nil {
		return err
	}
	c := cost{Wall: time.Since(start), Program: *took, Changed: result.Changed()}
	own, children := usage(syscall.RUSAGE_SELF), usage(syscall.RUSAGE_CHILDREN)
	c.OwnCPU = own.cpu - ownBefore.cpu
	c.CPU = c.OwnCPU + children.cpu - childrenBefore.cpu
	c.OwnPeak, c.ChildPeak = own.peak, children.peak
	for _, n := range result.Summary {
		c.Resources += n
	}
	for _, d := range result.Diagnostics {
		if strings.HasPrefix(d.Severity, "policy") {
			c.Findings++
		}
	}
	return json.NewEncoder(os.Stdout).Encode(c)
}

// programOf is the program to run. A preview does not speak to the cluster.
func programOf(isBare bool) run.Program {
	if isBare {
		return bare
	}
	return run.Program(infra.Program(infra.Options{}))
}

type used struct {
	cpu  time.Duration
	peak int64 // bytes
}

func usage(who int) used {
	var r syscall.Rusage
	if err := syscall.Getrusage(who, &r); err != nil {
		return used{}
	}
	unit := int64(1024) // Linux counts memory in KiB, macOS in bytes
	if runtime.GOOS == "darwin" {
		unit = 1
	}
	return used{time.Duration(r.Utime.Nano() + r.Stime.Nano()), int64(r.Maxrss) * unit}
}

// median of one figure of several costs.
func median[T time.Duration | int64](costs []cost, figure func(cost) T) T {
	var all []T
	for _, c := range costs {
		all = append(all, figure(c))
	}
	slices.Sort(all)
	return all[len(all)/2]
}

func wall(c cost) time.Duration { return c.Wall }

func cpu(c cost) time.Duration { return c.CPU }

// inTurn measures several operations alternately, so that what else the machine does falls on each alike. Each runs on
// a home of its own that is made afresh, unless it names one.
func (b *bench) inTurn(ctx context.Context, operations ...operation) ([][]cost, error) {
	costs := make([][]cost, len(operations))
	for range b.repeat {
		for i, o := range operations {
			fresh := o.Home == ""
			if fresh {
				var err error
				if o.Home, err = os.MkdirTemp(b.work, "home-"); err != nil {
					return nil, err
				}
			}
			c, err := b.measure(ctx, o)
			if err != nil {
				return nil, err
			}
			if fresh {
				if err := os.RemoveAll(o.Home); err != nil {
					return nil, err
				}
			}
			fmt.Printf("  %-12s %s wall, %s CPU, %d resources, peak %s + %s\n", filepath.Base(o.Project)+suffix(o),
				seconds(c.Wall), seconds(c.CPU), c.Resources,
				mebibytes(c.OwnPeak), mebibytes(c.ChildPeak))
			costs[i] = append(costs[i], c)
		}
	}
	return costs, nil
}

func suffix(o operation) string {
	switch {
	case o.Bare:
		return " bare"
	case o.Pack != "":
		return " policies"
	}
	return ""
}
