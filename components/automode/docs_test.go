package automode_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/headroom-eks/headroom/capacity/plan"
	"github.com/headroom-eks/headroom/pool"
)

const root = "../.."

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, path))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// The guide's two rows on scaling from zero, held to what the capacity output is computed with.
func TestGuideSaysWhoWakesFromZero(t *testing.T) {
	guide := read(t, "docs/choosing-a-scaler.md")
	columns := []pool.Scaler{pool.Karpenter, pool.ClusterAutoscaler, pool.AutoMode, pool.Fixed}
	for _, mode := range pool.DeviceModes {
		_, row, found := strings.Cut(guide, "| **From zero, device mode `"+string(mode)+"`** |")
		if !found {
			t.Fatalf("no row for %s", mode)
		}
		row, _, _ = strings.Cut(row, "\n")
		cells := strings.Split(row, "|")
		for i, scaler := range columns {
			wakes, _ := plan.Wake(plan.WakeFacts{
				Scaler:            scaler,
				DeviceMode:        mode,
				ScalerVersion:     "1.36.0",
				DRAEnabled:        true,
				KubernetesVersion: "1.36",
				MinNodeCount:      1,
			})
			if says := strings.HasPrefix(strings.TrimSpace(cells[i]), "yes"); says != wakes {
				t.Errorf("%s, %s: the guide says %q, capacity computes %v", scaler, mode, cells[i], wakes)
			}
		}
	}
}

// Every number in the guide's table has an entry below, and every test named there exists.
func TestEvidenceOfTheGuideExists(t *testing.T) {
	guide := read(t, "docs/choosing-a-scaler.md")
	table, evidence, found := strings.Cut(guide, "## Evidence")
	if !found {
		t.Fatal("the guide has no evidence")
	}
	for _, number := range regexp.MustCompile(`\[(\d+)\]`).FindAllStringSubmatch(table, -1) {
		if !strings.Contains(evidence, "\n"+number[1]+". ") {
			t.Errorf("[%s] has no entry", number[1])
		}
	}
	tests := testNames(t)
	for _, name := range regexp.MustCompile("`(Test\\w+)`").FindAllStringSubmatch(evidence, -1) {
		if !tests[name[1]] {
			t.Errorf("there is no test %s", name[1])
		}
	}
}

func testNames(t *testing.T) map[string]bool {
	t.Helper()
	declared := regexp.MustCompile(`(?m)^func (Test\w+)\(`)
	names := map[string]bool{}
	for _, folder := range []string{"components", "capacity", "infra"} {
		err := fs.WalkDir(os.DirFS(root), folder, func(path string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() || !strings.HasSuffix(path, "_test.go") {
				return err
			}
			for _, match := range declared.FindAllStringSubmatch(read(t, path), -1) {
				names[match[1]] = true
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return names
}

// The guide to Auto Mode names what it costs beyond EC2.
func TestManagementFeeIsNamed(t *testing.T) {
	if text := read(t, "docs/auto-mode.md"); !strings.Contains(text, "**management fee**") ||
		!strings.Contains(text, "https://aws.amazon.com/eks/pricing/") {
		t.Error("docs/auto-mode.md does not say that Auto Mode has a management fee, or where its rates are")
	}
}
