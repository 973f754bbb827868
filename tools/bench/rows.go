package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// rows in the order of the design.
var rows = []row{
	{"cold build of the program against the same with helm/v3", "at most 45 % of the CPU seconds", true, coldBuild},
	{"make up, nothing cached, CLI build included", "under 10 minutes", true, coldUp},
	{"make up again, nothing changed", "under 15 s, plans nothing", false, warmUp},
	{"plain preview, nothing changed", "under 5 s beyond the providers", false, warmPreview},
	{"first plain pulumi up after make test", "compiles no package again", false, sharedCache},
	{"preview of dev against a bare eks.Cluster and one node group", "at most 1.5 times", false, againstBare},
	{"preview with 10, 100 and 500 pools", "no faster than linear, under 1 GiB", false, manyPools},
	{"capacity arithmetic for 1,000 pools", "under 50 ms", false, arithmetic},
	{"promised of what an exact search could promise", "at least 0.95 in every family", false, promisedShare},
	{"policy pack: cold build", "under 60 CPU s", true, coldPolicy},
	{"policy pack: added to a preview", "under 10 %", false, policyOverhead},
}

// warm gives a copy of the project whose dev environment is up. Everything but the pulumi command is its own.
func (b *bench) warm(ctx context.Context) (string, error) {
	if b.warmed != "" {
		return b.warmed, nil
	}
	dir := filepath.Join(b.work, "warm")
	if err := copyTree(b.root, dir); err != nil {
		return "", err
	}
	bin := filepath.Join(dir, ".sandbox", "bin")
	if err := os.MkdirAll(bin, 0o755); err != nil {
		return "", err
	}
	if err := os.Symlink(b.tools.CLI, filepath.Join(bin, "pulumi")); err != nil {
		return "", err
	}
	took, err := b.command(ctx, dir, nil, false, "make", "up")
	if err != nil {
		return "", err
	}
	fmt.Printf("  the first make up of a fresh copy: %s\n", seconds(took.Wall))
	b.warmed = dir
	return dir, nil
}

func (b *bench) warmHome() string { return filepath.Join(b.warmed, ".sandbox", "dev") }

func warmUp(ctx context.Context, b *bench) (string, bool, error) {
	dir, err := b.warm(ctx)
	if err != nil {
		return "", false, err
	}
	var costs []cost
	for range b.repeat {
		c, err := b.command(ctx, dir, nil, false, "make", "up")
		if err != nil {
			return "", false, err
		}
		fmt.Printf("  %s wall, %s CPU\n", seconds(c.Wall), seconds(c.CPU))
		costs = append(costs, c)
	}
	again, err := b.measure(ctx, operation{Project: dir, Home: b.warmHome()})
	if err != nil {
		return "", false, err
	}
	took, plans := median(costs, wall), map[bool]string{true: "plans changes", false: "plans nothing"}[again.Changed]
	return fmt.Sprintf("%s (%s CPU), %s", seconds(took), seconds(median(costs, cpu)), plans), took < 15*time.Second &&
		!again.Changed, nil
}

// warmPreview adds what the language host does first, an up-to-date check of the build target. The sandbox's providers
// are quick, and what they take is counted in: the promise holds with room to spare when this holds.
func warmPreview(ctx context.Context, b *bench) (string, bool, error) {
	dir, err := b.warm(ctx)
	if err != nil {
		return "", false, err
	}
	build := func() (cost, error) { return b.goCommand(ctx, dir, nil, "build", "-o", "bin/headroom", ".") }
	if _, err := build(); err != nil { // links it, once
		return "", false, err
	}
	var builds []cost
	for range b.repeat {
		c, err := build()
		if err != nil {
			return "", false, err
		}
		builds = append(builds, c)
	}
	previews, err := b.inTurn(ctx, operation{Project: dir, Home: b.warmHome()})
	if err != nil {
		return "", false, err
	}
	check, preview := median(builds, wall), median(previews[0], wall)
	return fmt.Sprintf("%s with the sandbox's providers: %s build check, %s preview (program %s, its CPU %s)",
			seconds(check+preview), seconds(check), seconds(preview),
			seconds(median(previews[0], func(c cost) time.Duration { return c.Program })),
			seconds(median(previews[0], func(c cost) time.Duration { return c.OwnCPU }))), check+
			preview < 5*time.Second, nil
}

// languageHostFlags are what pulumi-language-go builds a program with.
// https://github.com/pulumi/pulumi/blob/v3.274.1/sdk/go/pulumi-language-go/main.go
var languageHostFlags = []string{"-trimpath", "-ldflags=-w -s"}

// sharedCache compares the build ids of everything the program is made of, under the flags of scripts/test and under
// the language host's. An id that differs is a package that is compiled again. It is asked this way because a cache
// that has both says nothing.
func sharedCache(ctx context.Context, b *bench) (string, bool, error) {
	script, err := os.ReadFile(filepath.Join(b.root, "scripts", "test"))
	if err != nil {
		return "", false, err
	}
	testFlags, err := flagsOf(string(script))
	if err != nil {
		return "", false, err
	}
	tests, err := b.buildIDs(ctx, testFlags)
	if err != nil {
		return "", false, err
	}
	host, err := b.buildIDs(ctx, languageHostFlags)
	if err != nil {
		return "", false, err
	}
	again := 0
	for pkg, id := range host {
		if tests[pkg] != id {
			again++
		}
	}
	return fmt.Sprintf("%d of %d packages compiled again", again, len(host)), again == 0 && len(host) > 0, nil
}

// flagsOf reads the build flags in scripts/test: a bash array on one line.
func flagsOf(script string) (flags []string, err error) {
	match := regexp.MustCompile(`(?m)^flags=\((.*)\)$`).FindStringSubmatch(script)
	if match == nil {
		return nil, errors.New("scripts/test has no line flags=(...)")
	}
	for _, word := range regexp.MustCompile(`"[^"]*"|\S+`).FindAllString(match[1], -1) {
		flags = append(flags, strings.Trim(word, `"`))
	}
	return flags, nil
}

// againstBare compares first previews, where everything is planned.
func againstBare(ctx context.Context, b *bench) (string, bool, error) {
	dir, err := b.dev()
	if err != nil {
		return "", false, err
	}
	costs, err := b.inTurn(ctx, operation{Project: dir}, operation{Project: dir, Bare: true})
	if err != nil {
		return "", false, err
	}
	ratio := median(costs[0], wall).Seconds() / median(costs[1], wall).Seconds()
	return fmt.Sprintf("%.2f times: %s for %d resources, %s for %d; CPU %.2f times", ratio,
		seconds(median(costs[0], wall)), costs[0][0].Resources, seconds(median(costs[1], wall)), costs[1][0].Resources,
		median(costs[0], cpu).Seconds()/median(costs[1], cpu).Seconds()), ratio <= 1.5, nil
}

// manyPools compares what one pool more costs in CPU time between 100 and 500 with what it costs between 10 and 100, so
// that what every preview costs does not hide growth. A quarter more is taken for noise.
func manyPools(ctx context.Context, b *bench) (string, bool, error) {
	counts := []int{10, 100, 500}
	var operations []operation
	for _, n := range counts {
		dir, err := b.poolProject(n)
		if err != nil {
			return "", false, err
		}
		operations = append(operations, operation{Project: dir})
	}
	costs, err := b.inTurn(ctx, operations...)
	if err != nil {
		return "", false, err
	}
	cpus, walls, peak := make([]time.Duration, 3), make([]string, 3), int64(0)
	for i := range counts {
		cpus[i], walls[i] = median(costs[i], cpu), seconds(median(costs[i], wall))
		peak = max(peak, median(costs[i], func(c cost) int64 { return c.OwnPeak + c.ChildPeak }))
	}
	first, second := (cpus[1]-cpus[0])/90, (cpus[2]-cpus[1])/400
	return fmt.Sprintf("%s wall; a pool more costs %d CPU ms up to 100, %d up to 500; program and engine peak at %s",
			strings.Join(walls, ", "),
			first.Milliseconds(), second.Milliseconds(), mebibytes(peak)), float64(second) <= 1.25*float64(first) &&
			peak < 1<<30, nil
}

func arithmetic(ctx context.Context, b *bench) (string, bool, error) {
	out, err := b.output(ctx, b.root, "go", append([]string{"test", "-run=^$", "-bench=Allocate1000", "-benchmem"},
		append(languageHostFlags, "./capacity/plan")...)...)
	if err != nil {
		return "", false, err
	}
	match := regexp.MustCompile(`Allocate1000\S*\s+\d+\s+([\d.]+) ns/op`).FindStringSubmatch(out)
	if match == nil {
		return "", false, fmt.Errorf("no benchmark in %q", out)
	}
	ns, err := strconv.ParseFloat(match[1], 64)
	return fmt.Sprintf("%.1f ms", ns/1e6), ns < 50e6, err
}

// promisedShare draws worlds of each family of capacity/plan, and shows the family in which least is promised.
func promisedShare(ctx context.Context, b *bench) (string, bool, error) {
	out, err := b.output(ctx, b.root, "go", append([]string{"test", "-run=^$", "-bench=PromisedOfWhatCouldBe",
		"-benchtime=20x"}, append(languageHostFlags, "./capacity/plan")...)...)
	if err != nil {
		return "", false, err
	}
	families := regexp.MustCompile(`PromisedOfWhatCouldBe/(\S+)-\d+\s.*\s([\d.]+) promised/possible`).
		FindAllStringSubmatch(out, -1)
	if len(families) == 0 {
		return "", false, fmt.Errorf("no benchmark in %q", out)
	}
	least, where := math.Inf(1), ""
	for _, family := range families {
		share, err := strconv.ParseFloat(family[2], 64)
		if err != nil {
			return "", false, err
		}
		if name := strings.ReplaceAll(family[1], "_", " "); share < least {
			least, where = share, name
		}
		fmt.Printf("  %s: %.2f\n", strings.ReplaceAll(family[1], "_", " "), share)
	}
	return fmt.Sprintf("%.2f or more in %d families; least: %s", least, len(families), where), least >= 0.95, nil
}

// policyOverhead compares first previews of dev: every resource is shown to every rule.
func policyOverhead(ctx context.Context, b *bench) (string, bool, error) {
	dir, err := b.dev()
	if err != nil {
		return "", false, err
	}
	pack := filepath.Join(b.work, "policy")
	if _, err := b.goCommand(ctx, b.root, nil, "build", "-o", pack, "./policy"); err != nil {
		return "", false, err
	}
	costs, err := b.inTurn(ctx, operation{Project: dir}, operation{
		Project: dir,
		Pack:    pack,
		Config:  filepath.Join(b.root, "policy", "config", "dev.json"),
	})
	if err != nil {
		return "", false, err
	}
	if costs[1][0].Findings == 0 {
		return "", false, errors.New("the pack said nothing, so it may not have run: a first preview has a note " +
			"about unknown values at least")
	}
	without, with := median(costs[0], wall), median(costs[1], wall)
	added := 100 * (with.Seconds()/without.Seconds() - 1)
	return fmt.Sprintf("%.0f %% of the sandbox's preview: %.2f s instead of %.2f s for %d resources", added,
		with.Seconds(), without.Seconds(), costs[0][0].Resources), added < 10, nil
}
