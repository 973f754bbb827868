package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/headroom-eks/headroom/sandbox/run"
	"github.com/headroom-eks/headroom/sandbox/world"
)

// lines of the table that table prints for the outputs.
func lines(t *testing.T, stackFile string, outputs map[string]any) []string {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "Pulumi.dev.yaml"), []byte(stackFile), 0o644); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := (command{project: dir, environment: "dev", out: &out}).table(outputs); err != nil {
		t.Fatal(err)
	}
	var trimmed []string
	for line := range strings.Lines(strings.TrimSpace(out.String())) {
		trimmed = append(trimmed, strings.Join(strings.Fields(line), " "))
	}
	return trimmed
}

func TestTableShowsEveryPoolAndWhatBindsIt(t *testing.T) {
	doc := map[string]any{"schemaVersion": 1, "pools": []any{map[string]any{
		"name":          "gpu-l4",
		"scaler":        "fixed",
		"instanceTypes": []any{"g6.xlarge"},
		"perNode":       map[string]any{"gpus": 1},
		"nodes":         map[string]any{"realized": 1, "maximum": 1},
		"boundBy":       "no-autoscaler",
		"notes":         []any{"its bounds have no effect"},
	}, map[string]any{
		"name":          "lost",
		"scaler":        "karpenter",
		"instanceTypes": []any{"p5.48xlarge"},
		"perNode":       map[string]any{"gpus": 8},
		"boundBy":       "unknown",
		"ceilings":      []any{map[string]any{"kind": "unknown", "of": "realized"}},
		"error":         "not allowed to look",
	}}}
	want := []string{
		"POOL SCALER TYPE GPUS/NODE REALIZED MAXIMUM BOUND BY",
		"gpu-l4 fixed g6.xlarge 1 1 1 no-autoscaler",
		"lost karpenter p5.48xlarge 8 ? 0 unknown",
		"gpu-l4: its bounds have no effect",
		"lost: not allowed to look",
	}
	if got := lines(t, "", map[string]any{"capacity": doc}); strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestTableOfAPreviewSaysThatNumbersComeAtUpdate(t *testing.T) {
	stackFile := "config:\n  headroom:environment:\n    pools:\n      - name: gpu\n        scaler: karpenter\n       " +
		" instanceTypes: [g6.xlarge]\n"
	got := lines(t, stackFile, map[string]any{"capacity": run.Unknown})
	if len(got) != 2 || got[1] != "gpu karpenter g6.xlarge at update at update at update at update" {
		t.Errorf("got %q", got)
	}
}

func TestTableWithoutAnOutputSaysWhatToDo(t *testing.T) {
	if got := lines(t, "", nil); !strings.Contains(got[0], "run up first") {
		t.Errorf("got %q", got)
	}
}

func TestOutputThatIsNoDocumentIsAnError(t *testing.T) {
	if _, _, err := advertised("not JSON"); err == nil {
		t.Error("accepted")
	}
	if rows, _, err := advertised(`{"schemaVersion":1,"pools":[{"name":"gpu"}]}`); err != nil || len(rows) != 1 {
		t.Errorf("JSON text: %+v, %v", rows, err)
	}
}

func TestActs(t *testing.T) {
	w, err := world.Open(filepath.Join(t.TempDir(), "world.json"))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ args, said, fails string }{
		{"quota L-DB2E81BA 12", "is now 12", ""},
		{"quota L-DB2E81BA many", "", "invalid syntax"},
		{"quota X 1", "", "known:"},
		{"empty-zone us-west-2a g6.xlarge", "g6.xlarge in us-west-2a fail now", ""},
		{"fill-zone us-west-2a g6.xlarge", "work again", ""},
		{"empty-zone nowhere", "", "no zone"},
		{"deny ec2:*", "denied now", ""},
		{"allow ec2:*", "allowed again", ""},
		{"allow ec2:*", "", "not denied"},
		{"scale gpu 2", "", "no managed node group"},
		{"scale gpu -1", "", "not a number of nodes"},
		{"interrupt gpu", "", "no running spot node"},
		{"leftovers", "empty", ""},
		{"dance", "", "no act"},
		{"quota", "", "use: sandbox act quota <code> <vcpus>"},
	} {
		said, err := act(w, strings.Fields(c.args))
		if (err != nil) != (c.fails != "") || (err != nil && !strings.Contains(err.Error(), c.fails)) ||
			(err == nil && !strings.Contains(said, c.said)) {
			t.Errorf("%s: said %q, error %v", c.args, said, err)
		}
	}
}
