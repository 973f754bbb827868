package automode_test

import (
	"strings"
	"testing"

	"github.com/headroom-eks/headroom/components/automode"
)

func TestEverySettingIsRefusedWithItsPathReasonRemedyAndSource(t *testing.T) {
	for _, setting := range automode.RefusedSettings {
		problems := automode.Refuse("pools[1]", setting)
		for _, p := range problems.All() {
			if p.Path != "pools[1]."+string(setting) ||
				!strings.HasPrefix(p.Wrong, "is not possible with scaler auto-mode: ") ||
				!strings.Contains(p.Remedy, " (https://docs.aws.amazon.com/") {
				t.Errorf("%+v", p)
			}
		}
	}
}

// The guide names every setting that is refused, and nothing else as such.
func TestGuideNamesEveryRefusedSetting(t *testing.T) {
	_, listed, found := strings.Cut(read(t, "docs/auto-mode.md"), "## What it refuses\n")
	if !found {
		t.Fatal("the guide has no list of what is refused")
	}
	listed, _, _ = strings.Cut(listed, "\n## ")
	for _, setting := range automode.RefusedSettings {
		if !strings.Contains(listed, "`"+string(setting)+"`") {
			t.Errorf("the guide does not name %s", setting)
		}
	}
	if rows := strings.Count(listed, "\n| `"); rows != len(automode.RefusedSettings) {
		t.Errorf("the guide has %d rows for %d settings", rows, len(automode.RefusedSettings))
	}
}
