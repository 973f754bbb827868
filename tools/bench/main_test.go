package main

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/headroom-eks/headroom/infra/config"
	"sigs.k8s.io/yaml"
)

func TestFlagsOfTheTestScriptAreRead(t *testing.T) {
	got, err := flagsOf("set -e\nflags=(-trimpath \"-ldflags=-w -s\")\n")
	if want := []string{"-trimpath", "-ldflags=-w -s"}; err != nil || !slices.Equal(got, want) {
		t.Errorf("got %q, %v; want %q", got, err, want)
	}
	if _, err := flagsOf("go test ./..."); err == nil {
		t.Error("a script without flags is accepted: nothing would be compared")
	}
}

func TestCopyOfTheTreeLeavesOutWhatIsBuiltOrKept(t *testing.T) {
	from, to := t.TempDir(), filepath.Join(t.TempDir(), "copy")
	for _, name := range []string{"go.mod", "scripts/bench", ".sandbox/dev/world.json", ".git/HEAD", "bin/sandbox",
		"tools/bin/main.go"} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(from, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(from, name), []byte(name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := copyTree(from, to); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]bool{
		"go.mod":            true,
		"scripts/bench":     true,
		"tools/bin/main.go": true,
		".sandbox":          false,
		".git":              false,
		"bin":               false,
	} {
		if _, err := os.Stat(filepath.Join(to, name)); (err == nil) != want {
			t.Errorf("%s: copied %t, want %t", name, err == nil, want)
		}
	}
}

func TestGeneratedPoolsAreAsManyAsAskedForAndValid(t *testing.T) {
	b := &bench{root: filepath.Join("..", ".."), work: t.TempDir()}
	dir, err := b.poolProject(500)
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(dir, "Pulumi.dev.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var file struct{ Config map[string]any }
	if err := yaml.Unmarshal(text, &file); err != nil {
		t.Fatal(err)
	}
	object, err := yaml.Marshal(file.Config["headroom:environment"])
	if err != nil {
		t.Fatal(err)
	}
	if object, err = yaml.YAMLToJSON(object); err != nil {
		t.Fatal(err)
	}
	env, problems := config.Decode(string(object))
	if err := problems.Err(); err != nil || len(env.Pools) != 500 {
		t.Fatalf("%d pools, %v", len(env.Pools), err)
	}
	problems = env.WithDefaults("dev").Validate()
	if err := problems.Err(); err != nil {
		t.Error(err)
	}
}
