package run

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"golang.org/x/mod/semver"

	"github.com/headroom-eks/headroom/sandbox/plugin"
)

// Tools are the programs an engine run needs.
type Tools struct {
	CLI     string // the pulumi command
	Plugins string // folder with the provider binary
	Path    string // folder with the aws command that the program's kubeconfig names
}

// FindTools finds or builds the tools of the module at root, under root/.sandbox/bin. A first build of the CLI takes
// minutes; progress gets a line now and then.
func FindTools(ctx context.Context, root string, progress io.Writer) (Tools, error) {
	bin := filepath.Join(root, ".sandbox", "bin")
	if err := os.MkdirAll(filepath.Join(bin, "plugins"), 0o755); err != nil {
		return Tools{}, err
	}
	cli, err := findCLI(ctx, root, bin, progress)
	if err != nil {
		return Tools{}, err
	}
	tools := Tools{CLI: cli, Plugins: filepath.Join(bin, "plugins"), Path: filepath.Join(bin, "path")}
	binary := filepath.Join(tools.Plugins, pluginBinary)
	if err := build(ctx, root, progress, "the sandbox's providers", "-ldflags", "-w -s", "-o", binary,
		"./sandbox/cmd/pulumi-resource-sandbox"); err != nil {
		return Tools{}, err
	}
	if err := os.MkdirAll(tools.Path, 0o755); err != nil {
		return Tools{}, err
	}
	return tools, symlink(binary, filepath.Join(tools.Path, "aws"))
}

const pluginBinary = "pulumi-resource-sandbox"

// cachePlugins lays out the provider binary as the engine's plugin cache has it, one folder a plugin, under the
// versions that the program's SDKs ask for. The binary answers by the name it is started under.
func cachePlugins(from, cache string) error {
	for name, version := range plugin.Versions {
		dir := filepath.Join(cache, "resource-"+name+"-v"+version)
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return err
		}
		if err := symlink(filepath.Join(from, pluginBinary), filepath.Join(dir, "pulumi-resource-"+name)); err != nil {
			return err
		}
	}
	return nil
}

// symlink makes or corrects a link.
func symlink(target, link string) error {
	if now, err := os.Readlink(link); err == nil && now == target {
		return nil
	}
	_ = os.Remove(link)
	return os.Symlink(target, link)
}

const cliPackage = "github.com/pulumi/pulumi/pkg/v3"

// findCLI takes the pulumi command on PATH when it is as new as the pinned one, else one built from the module
// sandbox/cli.
func findCLI(ctx context.Context, root, bin string, progress io.Writer) (string, error) {
	gomod, err := os.ReadFile(filepath.Join(root, "sandbox", "cli", "go.mod"))
	if err != nil {
		return "", fmt.Errorf("reading which pulumi version is pinned: %w", err)
	}
	match := regexp.MustCompile(regexp.QuoteMeta(cliPackage) + ` (v\S+)`).FindStringSubmatch(string(gomod))
	if match == nil {
		return "", fmt.Errorf("sandbox/cli/go.mod pins no %s", cliPackage)
	}
	pinned := match[1]
	built := filepath.Join(bin, "pulumi")
	if onPath, err := exec.LookPath("pulumi"); err == nil {
		if found := versionOf(ctx, onPath); usable(found, pinned) {
			return onPath, nil
		} else if versionOf(ctx, built) != pinned {
			fmt.Fprintf(progress, "the pulumi command on PATH is %s, the sandbox needs %s or later with the same "+
				"major version\n", orNone(found), pinned)
		}
	}
	if versionOf(ctx, built) == pinned {
		return built, nil
	}
	return built, build(ctx, filepath.Join(root, "sandbox", "cli"), progress, "the pulumi command "+pinned+
		" (once, a few minutes)",
		// Without its version the Automation API refuses the command.
		"-ldflags", "-w -s -X github.com/pulumi/pulumi/sdk/v3/go/common/version.Version="+pinned, "-o", built,
		cliPackage+"/cmd/pulumi")
}

// usable reports whether a version is the pinned one or newer, of the same major version.
func usable(found, pinned string) bool {
	return semver.IsValid(found) && semver.Major(found) == semver.Major(pinned) && semver.Compare(found, pinned) >= 0
}

func orNone(v string) string {
	if v == "" {
		return "of no known version"
	}
	return v
}

// versionOf asks a pulumi command; empty when it does not answer.
func versionOf(ctx context.Context, command string) string {
	cmd := exec.CommandContext(ctx, command, "version")
	cmd.Env = append(os.Environ(), "PULUMI_SKIP_UPDATE_CHECK=true")
	out, err := cmd.Output()
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(out))
}

// build runs go build with the flags every build of the project uses, and says every ten seconds how far it is.
func build(ctx context.Context, dir string, progress io.Writer, what string, args ...string) error {
	cmd := exec.CommandContext(ctx, "go", append([]string{"build", "-v", "-trimpath"}, args...)...)
	cmd.Dir = dir
	stderr, err := cmd.StderrPipe()
	if err != nil {
		return err
	}
	start := time.Now()
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("building %s: %w; is Go installed?", what, err)
	}
	lines := make(chan string)
	go func() {
		defer close(lines)
		for scanner := bufio.NewScanner(stderr); scanner.Scan(); {
			lines <- scanner.Text()
		}
	}()
	tick := time.NewTicker(10 * time.Second)
	defer tick.Stop()
	packages, said, tail := 0, false, []string{}
	for open := true; open; {
		select {
		case line, ok := <-lines:
			if open = ok; !ok {
				break
			}
			// -v prints one package path a line; what is not a path is a message.
			if regexp.MustCompile(`^[\w./~-]+$`).MatchString(line) {
				packages++
				if !said {
					said = true
					fmt.Fprintf(progress, "building %s\n", what)
				}
			} else {
				tail = append(tail, line)
			}
		case <-tick.C:
			said = true // with everything in the build cache, linking is all there is
			fmt.Fprintf(progress, "building %s: %d packages compiled, %s so far\n", what, packages,
				time.Since(start).Round(time.Second))
		}
	}
	if err := cmd.Wait(); err != nil {
		return fmt.Errorf("building %s: %w\n%s", what, err, strings.Join(tail, "\n"))
	}
	if said {
		fmt.Fprintf(progress, "built %s in %s\n", what, time.Since(start).Round(time.Second))
	}
	return nil
}

// ModuleRoot walks up from a folder to the module that holds the sandbox.
func ModuleRoot(from string) (string, error) {
	dir, err := filepath.Abs(from)
	if err != nil {
		return "", err
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "sandbox", "cli", "go.mod")); err == nil {
			return dir, nil
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return "", fmt.Errorf("%s is not inside the module that holds the sandbox", from)
		}
		dir = parent
	}
}
