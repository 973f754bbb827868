package automode_test

import (
	"strings"
	"testing"

	"github.com/headroom-eks/headroom/components/automode"
	"github.com/headroom-eks/headroom/pool"
)

func TestEverySettingIsRefusedWithItsPathReasonAndSource(t *testing.T) {
	for _, setting := range []automode.Setting{
		automode.AMIRelease, automode.AlternativeNetwork, automode.DetailedMonitoring, automode.InstanceMetadata,
		automode.InstanceStore,
		automode.Kubelet, automode.RootDevice, automode.StartupTaints, automode.Static, automode.UserData,
	} {
		items := automode.Refuse("pools[1]", setting, setting).Items()
		if len(items) != 1 {
			t.Fatalf("%s: %v", setting, items)
		}
		for _, want := range []string{"pools[1]." + string(setting) + ": not possible with scaler auto-mode: ",
			"https://docs.aws.amazon.com/"} {
			if !strings.Contains(items[0], want) {
				t.Errorf("%q is missing from %s", want, items[0])
			}
		}
	}
	if items := automode.Refuse("pools[1]").Items(); len(items) != 0 {
		t.Errorf("nothing given, yet %v", items)
	}
}

// Field fault BR-12: before Kubernetes 1.36 no node of Auto Mode serves a claim.
func TestDRANeedsAKubernetesVersionThatServesClaims(t *testing.T) {
	for version, ok := range map[string]bool{
		"1.34":   false,
		"1.35":   false,
		"1.36":   true,
		"1.37":   true,
		"1.100":  true,
		"":       false,
		"latest": false,
	} {
		if err := automode.ValidateDeviceMode("p", pool.DRA, version).Err(); (err == nil) != ok {
			t.Errorf("%q: %v", version, err)
		}
	}
	if err := automode.ValidateDeviceMode("p", pool.Plugin, "1.33").Err(); err != nil {
		t.Errorf("the device plugin works on every version: %v", err)
	}
}
