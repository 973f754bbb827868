package automode_test

import (
	"strings"
	"testing"

	"github.com/headroom-eks/headroom/components/automode"
)

// With no built-in pool AWS refuses a node role in the settings, and with one it makes the access entry itself.
func TestNodeRoleStandsInExactlyOnePlace(t *testing.T) {
	for _, test := range []struct {
		name               string
		settings           automode.Settings
		clusterRole, entry bool
	}{
		{"off", automode.Settings{}, false, false},
		{"no built-in pool", automode.Settings{Enabled: true}, false, true},
		{"system pool", automode.Settings{Enabled: true, BuiltInPools: []string{"system"}}, true, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := test.settings.ClusterCarriesNodeRole(); got != test.clusterRole {
				t.Errorf("cluster carries the role: %v", got)
			}
			if got := test.settings.NeedsAccessEntry(); got != test.entry {
				t.Errorf("needs an access entry of ours: %v", got)
			}
		})
	}
}

// Field fault BR-84: a misspelt name is refused and both names are listed.
func TestMisspeltBuiltInPoolIsRefused(t *testing.T) {
	err := automode.Settings{Enabled: true, BuiltInPools: []string{"general-purpose",
		"sytem"}}.Validate("cluster.autoMode").Err()
	if err == nil {
		t.Fatal("accepted")
	}
	for _, want := range []string{"cluster.autoMode.builtInPools[1]", `"sytem"`, "use one of general-purpose, system"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q is missing from %v", want, err)
		}
	}
}

func TestBuiltInPoolsMayNotRepeatOrOutliveAutoMode(t *testing.T) {
	repeat := automode.Settings{Enabled: true, BuiltInPools: []string{"system", "system"}}.Validate("a")
	if got := len(repeat.Items()); got != 1 {
		t.Errorf("repeat: %v", repeat.Items())
	}
	off := automode.Settings{BuiltInPools: []string{"system"}}.Validate("a")
	if got := len(off.Items()); got != 1 {
		t.Errorf("off: %v", off.Items())
	}
	if err := (automode.Settings{Enabled: true, BuiltInPools: automode.BuiltInPools}).Validate("a").Err(); err != nil {
		t.Errorf("both pools: %v", err)
	}
}
