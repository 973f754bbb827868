package plan_test

import (
	"flag"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/headroom-eks/headroom/infra/plan"
	"github.com/headroom-eks/headroom/pool"
	"pgregory.net/rapid"
)

// TestMain draws more cases than rapid's default of 100, in which two scalers that may share a cluster can be missing;
// -rapid.checks still decides.
func TestMain(m *testing.M) {
	if err := flag.Set("rapid.checks", "1000"); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}

// pod is what decides on which pools it may run.
type pod struct {
	Tolerations []pool.Toleration
	Pool        string // value of its selector on pool.PoolLabel, empty without one
	// DeviceMode is how it claims GPUs, empty when it wants none.
	DeviceMode pool.DeviceMode
}

func (p pod) fits(c plan.Claimant) bool {
	if p.Pool != "" && p.Pool != c.Name {
		return false
	}
	for _, taint := range c.Taints {
		if taint.Effect == pool.PreferNoSchedule {
			continue
		}
		if !slices.ContainsFunc(p.Tolerations, func(t pool.Toleration) bool { return t.Tolerates(taint) }) {
			return false
		}
	}
	return true
}

// answering are those that would bring a node for the pod: the scalers, and beside them a scaler that would bring a
// node of the other device mode, where the pod never runs. A pod without GPUs runs anywhere.
func (p pod) answering(pools []plan.Claimant) (movers []string) {
	for _, c := range pools {
		if c.Scaler == pool.Fixed || !p.fits(c) {
			continue
		}
		movers = append(movers, string(c.Scaler))
		if p.DeviceMode != "" && c.DeviceMode != "" && c.DeviceMode != p.DeviceMode {
			movers = append(movers, string(c.Scaler)+" with nodes where it never runs", "nothing that helps it")
		}
	}
	slices.Sort(movers)
	return slices.Compact(movers)
}

var (
	keys   = []string{"nvidia.com/gpu", "team", "example.com/scaler", "dedicated"}
	values = []string{"", "true", "a", "b"}
)

func genPools(t *rapid.T) (pools []plan.Claimant) {
	taint := rapid.Custom(func(t *rapid.T) pool.Taint {
		return pool.Taint{
			Key:   rapid.SampledFrom(keys).Draw(t, "key"),
			Value: rapid.SampledFrom(values).Draw(t, "value"),
			Effect: rapid.SampledFrom([]pool.Effect{pool.NoSchedule, pool.NoSchedule, pool.NoExecute,
				pool.PreferNoSchedule}).Draw(t, "effect"),
		}
	})
	for i := range rapid.IntRange(2, 4).Draw(t, "pools") {
		pools = append(pools, plan.Claimant{
			Name: string(rune('a' + i)),
			Scaler: rapid.SampledFrom([]pool.Scaler{pool.Karpenter, pool.ClusterAutoscaler, pool.ClusterAutoscaler,
				pool.Fixed}).Draw(t, "scaler"),
			DeviceMode: rapid.SampledFrom([]pool.DeviceMode{"", pool.Plugin, pool.Plugin, pool.DRA}).
				Draw(t, "device mode"),
			Taints: rapid.SliceOfN(taint, 0, 3).Draw(t, "taints"),
		})
	}
	return pools
}

// genPod makes a pod as someone writes them who has one pool in mind: on keys of that pool, in any form
// Kubernetes allows but the one without a key; some on keys that no pool uses, as Kubernetes adds them to every pod.
func genPod(t *rapid.T, pools []plan.Claimant) (p pod) {
	written := rapid.SampledFrom(pools).Draw(t, "written for")
	p.DeviceMode = written.DeviceMode
	known := []string{"node.kubernetes.io/not-ready"}
	for _, taint := range written.Taints {
		known = append(known, taint.Key)
	}
	for range rapid.IntRange(0, 5).Draw(t, "tolerations") {
		tol := pool.Toleration{
			Key:      rapid.SampledFrom(known).Draw(t, "toleration key"),
			Operator: rapid.SampledFrom([]string{"Equal", "Exists"}).Draw(t, "operator"),
			Effect: rapid.SampledFrom([]pool.Effect{"", pool.NoSchedule, pool.NoExecute}).Draw(t,
				"toleration effect"),
		}
		if tol.Operator == "Equal" {
			tol.Value = rapid.SampledFrom(values).Draw(t, "toleration value")
		}
		p.Tolerations = append(p.Tolerations, tol)
	}
	return p
}

// Field fault BR-09.
func TestNoPodFitsPoolsOfTwoScalersWhenTheirTaintsAreAccepted(t *testing.T) {
	mixed, fitted := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		pools := genPools(t)
		if plan.ValidateOverlap("pools", pools, false).Err() != nil {
			t.Skip("refused")
		}
		if shares(pools) {
			mixed++
		}
		for range 20 {
			p := genPod(t, pools)
			if rapid.Bool().Draw(t, "selects") {
				selected := rapid.SampledFrom(pools).Draw(t, "selected")
				p.Pool, p.DeviceMode = selected.Name, selected.DeviceMode
			}
			scalers := p.answering(pools)
			fitted += len(scalers)
			if len(scalers) > 1 {
				t.Fatalf("%v all answer pod %+v on pools %+v", scalers, p, pools)
			}
		}
	})
	if mixed == 0 || fitted == 0 {
		t.Fatalf("%d configurations with two scalers accepted and %d pods placed: nothing was tried", mixed, fitted)
	}
}

func shares(pools []plan.Claimant) bool {
	has := func(s pool.Scaler) bool {
		return slices.ContainsFunc(pools, func(c plan.Claimant) bool { return c.Scaler == s })
	}
	return has(pool.Karpenter) && has(pool.ClusterAutoscaler)
}

// Field fault BR-09.
func TestNoPodFitsPoolsOfTwoScalersWhenEveryPodSelectsItsPool(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		pools := genPools(t)
		if err := plan.ValidateOverlap("pools", pools, true).Err(); err != nil {
			t.Fatal(err)
		}
		p, selected := genPod(t, pools), rapid.SampledFrom(pools).Draw(t, "selected")
		p.Tolerations = append(p.Tolerations, pool.Toleration{Operator: "Exists"})
		p.Pool, p.DeviceMode = selected.Name, selected.DeviceMode
		if scalers := p.answering(pools); len(scalers) > 1 {
			t.Fatalf("%v all answer pod %+v on pools %+v", scalers, p, pools)
		}
	})
}

// Refusing capacity that could exist is a fault too: every refusal has a pod to show for it.
func TestEveryRefusalHasAPodThatFitsPoolsOfTwoScalers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		pools := genPools(t)
		if plan.ValidateOverlap("pools", pools, false).Err() == nil {
			t.Skip("accepted")
		}
		for _, written := range pools {
			p := pod{DeviceMode: written.DeviceMode}
			for _, taint := range written.Taints {
				p.Tolerations = append(p.Tolerations, pool.Toleration{Key: taint.Key, Operator: "Exists"})
			}
			// A NoExecute taint keeps pods out as well; the rule counts NoSchedule alone, and so does this pod.
			p.Tolerations = append(p.Tolerations, pool.Toleration{Operator: "Exists", Effect: pool.NoExecute})
			if len(p.answering(pools)) > 1 {
				return
			}
		}
		t.Fatalf("refused, and no pod fits two scalers: %+v", pools)
	})
}

func TestOverlapNamesBothPoolsAndTheOneWithoutATaint(t *testing.T) {
	err := plan.ValidateOverlap("pools", []plan.Claimant{
		{
			Name:   "gpu-l4",
			Scaler: pool.Karpenter,
			Taints: []pool.Taint{pool.GPUTaint, {Key: "team", Value: "a", Effect: pool.NoSchedule}},
		},
		{Name: "gpu-dra", Scaler: pool.ClusterAutoscaler, Taints: []pool.Taint{pool.GPUTaint}},
	}, false).Err()
	if err == nil {
		t.Fatal("a pool without a taint of its own is accepted")
	}
	for _, want := range []string{`"gpu-l4" and "gpu-dra"`,
		`give "gpu-dra" a NoSchedule taint on a key that "gpu-l4" does not use`, "podsSelectPool: true"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%v\nlacks %s", err, want)
		}
	}
}

func TestOverlapIsDecidedByKeysBecauseExistsTakesAnyValue(t *testing.T) {
	pools := func(keyA, keyB string) []plan.Claimant {
		return []plan.Claimant{
			{
				Name:   "a",
				Scaler: pool.Karpenter,
				Taints: []pool.Taint{{Key: keyA, Value: "karpenter", Effect: pool.NoSchedule}},
			},
			{
				Name:   "b",
				Scaler: pool.ClusterAutoscaler,
				Taints: []pool.Taint{{Key: keyB, Value: "other", Effect: pool.NoSchedule}},
			},
		}
	}
	if plan.ValidateOverlap("pools", pools("team", "team"), false).Err() == nil {
		t.Error("two values of one key are accepted; a toleration with Exists fits both")
	}
	if err := plan.ValidateOverlap("pools", pools("team-a", "team-b"), false).Err(); err != nil {
		t.Error(err)
	}
}

func TestFixedPoolsAreInNobodysWay(t *testing.T) {
	err := plan.ValidateOverlap("pools", []plan.Claimant{
		{Name: "system", Scaler: pool.Fixed}, {Name: "general", Scaler: pool.Karpenter},
		{Name: "spare", Scaler: pool.Fixed},
	}, false).Err()
	if err != nil {
		t.Error(err)
	}
}

// Found by the generated pods: the pool itself is in nobody's way, the pods written for it are.
func TestPodsOfAFullFixedPoolMustNotFitTwoScalers(t *testing.T) {
	team := pool.Taint{Key: "team", Effect: pool.NoSchedule}
	err := plan.ValidateOverlap("pools", []plan.Claimant{
		{Name: "both", Scaler: pool.Fixed, Taints: []pool.Taint{pool.GPUTaint, team}},
		{Name: "gpu", Scaler: pool.Karpenter, Taints: []pool.Taint{pool.GPUTaint}},
		{Name: "team", Scaler: pool.ClusterAutoscaler, Taints: []pool.Taint{team}},
	}, false).Err()
	if err == nil || !strings.Contains(err.Error(), `"gpu" and "team": a pod for "both"`) {
		t.Errorf("got %v, want the three pools named", err)
	}
}

// Field fault BR-10.
func TestAutoModeExcludesEveryOtherScalerWhateverPodsSelect(t *testing.T) {
	for _, other := range []pool.Scaler{pool.Karpenter, pool.ClusterAutoscaler, pool.Fixed} {
		pools := []plan.Claimant{{Name: "auto", Scaler: pool.AutoMode}, {
			Name:   "other",
			Scaler: other,
			Taints: []pool.Taint{pool.GPUTaint},
		}}
		for _, selects := range []bool{false, true} {
			if plan.ValidateOverlap("pools", pools, selects).Err() == nil {
				t.Errorf("auto-mode beside %s is accepted with podsSelectPool %v", other, selects)
			}
		}
	}
}

// The stated limit of the rule: taints cannot keep out a pod that tolerates everything, only a selector can.
func TestAPodThatToleratesEverythingIsBeyondTaints(t *testing.T) {
	pools := []plan.Claimant{
		{Name: "a", Scaler: pool.Karpenter, Taints: []pool.Taint{{Key: "a", Effect: pool.NoSchedule}}},
		{Name: "b", Scaler: pool.ClusterAutoscaler, Taints: []pool.Taint{{Key: "b", Effect: pool.NoSchedule}}},
	}
	if err := plan.ValidateOverlap("pools", pools, false).Err(); err != nil {
		t.Fatal(err)
	}
	everything := pod{Tolerations: []pool.Toleration{{Operator: "Exists"}}}
	if n := len(everything.answering(pools)); n != 2 {
		t.Errorf("%d scalers answer, want 2: the documented limit no longer holds, say so", n)
	}
	everything.Pool = "a"
	if n := len(everything.answering(pools)); n != 1 {
		t.Errorf("%d scalers answer a pod with a selector, want 1", n)
	}
}

// Found by the generated pods: each answer was compared with the first alone, and a pool without GPUs came first.
func TestPodsOfAFullFixedPoolGetNoNodeOfAnotherDeviceMode(t *testing.T) {
	found := plan.ValidateOverlap("pools", []plan.Claimant{
		{Name: "full", Scaler: pool.Fixed, DeviceMode: pool.Plugin, Taints: []pool.Taint{pool.GPUTaint}},
		{Name: "general", Scaler: pool.Karpenter},
		{Name: "claims", Scaler: pool.Karpenter, DeviceMode: pool.DRA, Taints: []pool.Taint{pool.GPUTaint}},
	}, false).Items()
	if len(found) != 1 || !strings.Contains(found[0],
		`pools "full" and "claims": a pod for "full" (device mode plugin)`) {
		t.Errorf("found %q", found)
	}
}

// Seen with the real Karpenter: four pods of the device plugin got two nodes of the pool for claims, which never
// initialised; two pods stayed Pending.
func TestPoolsOfTwoDeviceModesAreKeptApart(t *testing.T) {
	pools := func(own ...pool.Taint) []plan.Claimant {
		return []plan.Claimant{
			{Name: "gpu-l4", Scaler: pool.Karpenter, DeviceMode: pool.Plugin, Taints: []pool.Taint{pool.GPUTaint}},
			{
				Name:       "gpu-l4-claims",
				Scaler:     pool.Karpenter,
				DeviceMode: pool.DRA,
				Taints:     append([]pool.Taint{pool.GPUTaint}, own...),
			},
			{Name: "general", Scaler: pool.Karpenter},
		}
	}
	found := plan.ValidateOverlap("pools", pools(), false).Items()
	if len(found) != 2 || !strings.Contains(found[0],
		`a pod for "gpu-l4" (device mode plugin) could get a node of "gpu-l4-claims" (device mode dra), where it `+
			`never runs`) {
		t.Errorf("found %q", found)
	}
	if err := plan.ValidateOverlap("pools", pools(), true).Err(); err != nil {
		t.Errorf("every pod selects its pool: %v", err)
	}
	// Pods for claims tolerate the plugin pool's one taint, so a taint on one side is not enough.
	claims := pool.Taint{Key: "claims", Effect: pool.NoSchedule}
	if found := plan.ValidateOverlap("pools", pools(claims), false).Items(); len(found) != 1 {
		t.Errorf("with a taint on the pool for claims alone: %q", found)
	}
}
