package lifecycle

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/headroom-eks/headroom/infra/config"
	"github.com/headroom-eks/headroom/sandbox/run"
	"github.com/headroom-eks/headroom/sandbox/world"
)

// built is a command of this module, compiled as the Makefile does.
func built(folder, pkg string) (string, error) {
	binary := filepath.Join(folder, filepath.Base(pkg))
	command := exec.Command("go", "build", "-trimpath", "-ldflags=-w -s", "-o", binary, pkg)
	command.Dir = root
	if out, err := command.CombinedOutput(); err != nil {
		return "", errors.New(string(out))
	}
	return binary, nil
}

// commands are the policy pack and the sandbox's own command, built once.
var commands = sync.OnceValues(func() (found struct{ pack, sandbox string }, err error) {
	// kept, so that the next run links nothing anew
	folder, err := filepath.Abs(filepath.Join(root, ".sandbox", "tests"))
	if err != nil {
		return found, err
	}
	if found.pack, err = built(folder, "./policy"); err != nil {
		return found, err
	}
	found.sandbox, err = built(folder, "./sandbox/cmd/sandbox")
	return found, err
})

// shippedPolicy is the path of a shipped environment's configuration of the pack.
func shippedPolicy(name string) string { return filepath.Join(root, "policy", "config", name+".json") }

// withPack makes the engine enforce the built pack with a configuration.
func withPack(t *testing.T, path string) func(*run.Options) {
	t.Helper()
	c, err := commands()
	if err != nil {
		t.Fatalf("the pack cannot be built: %v", err)
	}
	absolute, err := filepath.Abs(path) // the engine looks from another folder
	if err != nil {
		t.Fatal(err)
	}
	return func(o *run.Options) {
		o.PolicyPacks, o.PolicyPackConfigs = []string{c.pack}, []string{absolute}
	}
}

// policyOfTests is the path of the pack's configuration that every test has unless it says otherwise.
var policyOfTests = filepath.Join("testdata", "policy.json")

// spotted makes the account one that has run spot instances before.
func (e *environment) spotted() {
	e.t.Helper()
	e.act(func(s *world.State) error {
		s.ServiceLinkedRoles = append(s.ServiceLinkedRoles, world.SpotRole)
		return nil
	})
}

func TestPackPassesWhatIsShipped(t *testing.T) {
	for _, name := range []string{"dev", "staging", "prod"} {
		t.Run(name, func(t *testing.T) {
			e := startShipped(t, name, withPack(t, shippedPolicy(name)))
			e.spotted()
			e.step("in the preview of a new stack, with a note of what it could not see", func() {
				planned := e.preview()
				if !strings.Contains(planned.Messages("policy advisory"), "unknown-in-preview") {
					e.t.Errorf("no note of what is unknown; advisory findings:\n%s",
						planned.Messages("policy advisory"))
				}
				if found := planned.Messages("policy mandatory"); found != "" {
					e.t.Errorf("%s", found)
				}
			})
			e.step("in an update", func() {
				updated := e.up()
				if noted := updated.Messages("policy advisory"); strings.Contains(noted, "unknown-in-preview") {
					e.t.Errorf("an update leaves something unseen:\n%s", noted)
				}
			})
			e.step("in the update after it", func() { e.settled() })
		})
	}
}

func TestPackEndsThePreviewOfAViolatingEnvironment(t *testing.T) {
	e := startShipped(t, "prod", withPack(t, shippedPolicy("prod")))
	e.spotted()
	e.change(func(env *config.Environment) {
		env.Protect = false
		env.Tags = map[string]string{"owner": "somebody"}
		env.Cluster.LogTypes, env.Cluster.PublicAccessCIDRs = []string{"api"}, []string{"0.0.0.0/0"}
		env.Pools[0].MaxNodeCount = new(160)
	})
	result := e.fails(e.Preview)
	found := result.Messages("policy mandatory")
	for _, rule := range []string{"cluster-endpoint-closed", "cluster-protected", "cluster-logs-on", "tags-present",
		"gpu-budget"} {
		if !strings.Contains(found, rule) {
			t.Errorf("nothing of %s in:\n%s", rule, found)
		}
	}
	e.view(func(s *world.State) error {
		if left := s.Leftovers(); len(left) > 0 {
			t.Errorf("a preview made %q", left)
		}
		return nil
	})
}

func TestSandboxCommandExitsNonZeroOnAViolation(t *testing.T) {
	t.Parallel()
	c, err := commands()
	if err != nil {
		t.Fatal(err)
	}
	project := t.TempDir()
	preview := func(text string) (string, int) {
		projectFile, err := os.ReadFile(filepath.Join(root, "Pulumi.yaml"))
		if err != nil {
			t.Fatal(err)
		}
		for name, content := range map[string]string{"Pulumi.yaml": string(projectFile), "Pulumi.dev.yaml": text} {
			if err := os.WriteFile(filepath.Join(project, name), []byte(content), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		command := exec.Command(c.sandbox, "-C", project, "-policy-pack", c.pack, "-policy-pack-config",
			shippedPolicy("dev"), "preview")
		out, err := command.CombinedOutput()
		var exit *exec.ExitError
		if err != nil && !errors.As(err, &exit) {
			t.Fatal(err)
		}
		return string(out), command.ProcessState.ExitCode()
	}
	if out, code := preview(shipped(t, "dev")); code != 0 {
		t.Errorf("exit %d for what is shipped:\n%s", code, out)
	}
	exposed := filled(config.Environment{Tags: map[string]string{"environment": "dev"}})
	exposed.Cluster.PublicAccessCIDRs = []string{"0.0.0.0/0"}
	out, code := preview(stackFile(t, object(t, exposed)))
	if code == 0 || !strings.Contains(out, "cluster-endpoint-closed") {
		t.Errorf("exit %d for an API open to the world:\n%s", code, out)
	}
}
