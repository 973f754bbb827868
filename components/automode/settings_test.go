package automode_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/headroom-eks/headroom/components/automode"
	"pgregory.net/rapid"
)

// Field fault BR-82: compute, block storage and load balancing are all on or all off, and always said.
func TestThreeSettingsMoveTogether(t *testing.T) {
	for _, enabled := range []bool{true, false} {
		inputs := automode.Settings{Enabled: enabled}.ClusterInputs()
		want := map[string]any{
			"storageConfig":           map[string]any{"blockStorage": map[string]any{"enabled": enabled}},
			"kubernetesNetworkConfig": map[string]any{"elasticLoadBalancing": map[string]any{"enabled": enabled}},
			"computeConfig":           map[string]any{"enabled": enabled},
		}
		if enabled {
			want["computeConfig"] = map[string]any{"enabled": true, "nodePools": []string(nil)}
		}
		if diff := cmp.Diff(want, inputs); diff != "" {
			t.Errorf("enabled %v:\n%s", enabled, diff)
		}
	}
}

func TestSelfManagedAddonsAreNeverBootstrappedWithAutoMode(t *testing.T) {
	if (automode.Settings{Enabled: true}).BootstrapSelfManagedAddons(true) {
		t.Error("EKS refuses a new Auto Mode cluster with self-managed add-ons")
	}
	if !(automode.Settings{}).BootstrapSelfManagedAddons(true) {
		t.Error("another cluster's own choice was overruled")
	}
}

// Field fault BR-83: the two inputs that would force a new cluster are held when Auto Mode is switched.
func TestSwitchingNeverChangesWhatReplacesTheCluster(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var states []automode.Settings
		for _, name := range []string{"before", "after"} {
			s := automode.Settings{Enabled: rapid.Bool().Draw(t, name)}
			if s.Enabled {
				s.BuiltInPools = rapid.SliceOfNDistinct(rapid.SampledFrom(automode.BuiltInPools), 0, 2, rapid.ID).Draw(t, name+" pools")
			}
			states = append(states, s)
		}
		before, after := states[0], states[1]
		if !slices.Contains(after.IgnoreChanges(), "bootstrapSelfManagedAddons") {
			t.Fatal("a change of bootstrapSelfManagedAddons replaces the cluster")
		}
		roleGoes := before.ClusterCarriesNodeRole() && !after.ClusterCarriesNodeRole()
		held := slices.Contains(after.IgnoreChanges(), "computeConfig.nodeRoleArn")
		if roleGoes && !after.Enabled && !held {
			t.Fatal("opting out takes the node role away, which replaces the cluster")
		}
		if after.ClusterCarriesNodeRole() && held {
			t.Fatal("opting in would leave the node role out, which EKS refuses with a built-in pool")
		}
	})
}

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

func TestBuiltInPoolsAreSentInOneOrder(t *testing.T) {
	compute := func(pools ...string) any {
		return automode.Settings{Enabled: true, BuiltInPools: pools}.ClusterInputs()["computeConfig"]
	}
	if diff := cmp.Diff(compute("general-purpose", "system"), compute("system", "general-purpose")); diff != "" {
		t.Error(diff)
	}
}

// Field fault BR-84: a misspelt name is refused and both names are listed.
func TestMisspeltBuiltInPoolIsRefused(t *testing.T) {
	err := automode.Settings{Enabled: true, BuiltInPools: []string{"general-purpose", "sytem"}}.Validate("cluster.autoMode").Err()
	if err == nil {
		t.Fatal("accepted")
	}
	for _, want := range []string{"cluster.autoMode.builtInPools[1]", `"sytem"`, "general-purpose", "or system"} {
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
