package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// coldBuild builds the program with the flags of the language host in a build cache that is empty; then the same
// program importing helm/v3, which is built on top of it, so that only what it adds is compiled. The link that both
// have is counted once.
func coldBuild(ctx context.Context, b *bench) (string, bool, error) {
	cache, err := b.cache("program")
	if err != nil {
		return "", false, err
	}
	defer os.RemoveAll(cache[0][len("GOCACHE="):])
	target := filepath.Join(b.work, "program")
	// A file that only this build sees.
	overlay, err := b.overlay("package main\n\nimport _ " +
		"\"github.com/pulumi/pulumi-kubernetes/sdk/v4/go/kubernetes/helm/v3\"\n")
	if err != nil {
		return "", false, err
	}
	var took []time.Duration
	for _, build := range []struct {
		say  string
		args []string
	}{
		{"the program, in an empty build cache", nil},
		{"the program again, which only links", nil},
		{"the program with helm/v3, on top of it", []string{"-overlay", overlay}},
	} {
		if err := os.RemoveAll(target); err != nil {
			return "", false, err
		}
		fmt.Printf("  building %s\n", build.say)
		c, err := b.goCommand(ctx, b.root, cache,
			append(append([]string{"build"}, build.args...), "-o", target, ".")...)
		if err != nil {
			return "", false, err
		}
		fmt.Printf("  %s CPU, %s wall\n", seconds(c.CPU), seconds(c.Wall))
		took = append(took, c.CPU)
	}
	program, v3 := took[0], took[0]+took[2]-took[1]
	percent := 100 * program.Seconds() / v3.Seconds()
	return fmt.Sprintf("%.0f %%: %.0f CPU s against %.0f", percent, program.Seconds(), v3.Seconds()), percent <= 45, nil
}

// coldUp is make up of a fresh copy with empty module and build caches, downloads included.
func coldUp(ctx context.Context, b *bench) (string, bool, error) {
	env, err := b.cache("up")
	if err != nil {
		return "", false, err
	}
	modules := filepath.Join(b.work, "up-modules")
	env = append(env, "GOMODCACHE="+modules)
	dir := filepath.Join(b.work, "cold")
	if err := copyTree(b.root, dir); err != nil {
		return "", false, err
	}
	// Modules are written read-only; go clean knows how to remove them.
	defer b.command(context.WithoutCancel(ctx), dir, env, false, "go", "clean", "-modcache", "-cache")
	c, err := b.command(ctx, dir, env, true, "make", "up")
	if err != nil {
		return "", false, err
	}
	return fmt.Sprintf("%s (%.0f CPU s)", c.Wall.Round(time.Second), c.CPU.Seconds()), c.Wall < 10*time.Minute, nil
}

func coldPolicy(ctx context.Context, b *bench) (string, bool, error) {
	cache, err := b.cache("policy")
	if err != nil {
		return "", false, err
	}
	c, err := b.goCommand(ctx, b.root, cache, "build", "-o", filepath.Join(b.work, "cold-policy"), "./policy")
	if err != nil {
		return "", false, err
	}
	return fmt.Sprintf("%.0f CPU s", c.CPU.Seconds()), c.CPU < time.Minute, nil
}

// cache is an empty build cache, as environment of a go command.
func (b *bench) cache(name string) ([]string, error) {
	dir := filepath.Join(b.work, "gocache-"+name)
	return []string{"GOCACHE=" + dir}, os.MkdirAll(dir, 0o755)
}

// overlay adds a file to the main package of a build, without writing it there.
func (b *bench) overlay(text string) (string, error) {
	file, list := filepath.Join(b.work, "overlay.go"), filepath.Join(b.work, "overlay.json")
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		return "", err
	}
	data, err := json.Marshal(map[string]any{"Replace": map[string]string{filepath.Join(b.root, "overlay.go"): file}})
	if err != nil {
		return "", err
	}
	return list, os.WriteFile(list, data, 0o644)
}

// buildIDs of everything the program is made of, by package. It compiles what is not in the build cache.
func (b *bench) buildIDs(ctx context.Context, flags []string) (map[string]string, error) {
	out, err := b.output(ctx, b.root, "go", append(append([]string{"list", "-export", "-deps", "-f",
		"{{.ImportPath}} {{.BuildID}}"}, flags...), ".")...)
	if err != nil {
		return nil, err
	}
	ids := map[string]string{}
	for line := range strings.Lines(out) {
		if pkg, id, found := strings.Cut(strings.TrimSpace(line), " "); found {
			ids[pkg] = id
		}
	}
	return ids, nil
}

// goCommand runs go with the flags of the language host after the subcommand.
func (b *bench) goCommand(ctx context.Context, dir string, env []string, args ...string) (cost, error) {
	return b.command(ctx, dir, env, false, "go", slices.Concat(args[:1], languageHostFlags, args[1:])...)
}

// command runs to its end and is measured. What it prints is shown when asked for, and is part of the error when it
// fails.
func (b *bench) command(ctx context.Context, dir string, env []string, show bool, name string, args ...string) (cost,
	error) {
	var printed bytes.Buffer
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), env...)
	cmd.Stdout = &printed
	if show {
		cmd.Stdout = io.MultiWriter(&printed, os.Stdout)
	}
	cmd.Stderr = cmd.Stdout
	start := time.Now()
	if err := cmd.Run(); err != nil {
		return cost{}, fmt.Errorf("%s %s: %w\n%s", name, strings.Join(args, " "), err, printed.String())
	}
	return cost{Wall: time.Since(start), CPU: cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()}, nil
}

func (b *bench) output(ctx context.Context, dir, name string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = dir
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("%s %s: %w\n%s%s", name, strings.Join(args, " "), err, out, stderr.String())
	}
	return string(out), nil
}

// copyTree copies a checkout without what is built or kept in it.
func copyTree(from, to string) error {
	return filepath.WalkDir(from, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		if slices.Contains([]string{".git", ".sandbox", "bin"}, name) {
			return fs.SkipDir
		}
		target := filepath.Join(to, name)
		if entry.IsDir() {
			return os.MkdirAll(target, 0o755)
		}
		info, err := entry.Info()
		if err != nil || !info.Mode().IsRegular() {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return os.WriteFile(target, data, info.Mode())
	})
}
