package plan

import (
	"slices"
	"strings"
	"testing"

	"github.com/headroom-eks/headroom/components/clusterautoscaler"
	"github.com/headroom-eks/headroom/infra/ask"
	"github.com/headroom-eks/headroom/infra/config"
	"github.com/headroom-eks/headroom/pool"
)

// fixedPool is an environment with one fixed pool of two nodes, in a cluster that has no groups yet.
func fixedPool(t *testing.T) (config.Environment, ask.Answers, map[string]clusterautoscaler.Live) {
	t.Helper()
	a := answers(living())
	return valid(t, with(gpuPool(pool.Fixed, fixedAt(2)))), a, a.Live.Value().Groups
}

func current(desired int) clusterautoscaler.Live {
	return clusterautoscaler.Live{Exists: true, Status: "ACTIVE", Desired: desired, Version: "1.36",
		ReleaseVersion: "1.36.3-20260911"}
}

func is(status string) clusterautoscaler.Live {
	g := current(2)
	g.Status = status
	return g
}

// Review M4: which attempt lives is read from the names of the live groups alone.
func TestALostGroupGetsANewName(t *testing.T) {
	env, a, live := fixedPool(t)
	first := Decide(env, a).Pools[1].GroupNames()[0]
	for _, c := range []struct {
		name string
		live map[string]string // status by what follows the first name
		want string
	}{
		{"none lives", nil, ""},
		{"works", map[string]string{"": "ACTIVE"}, ""},
		{"is being made", map[string]string{"": "CREATING"}, ""},
		{"is degraded", map[string]string{"": "DEGRADED"}, ""},
		{"failed", map[string]string{"": "CREATE_FAILED"}, "-1"},
		{"is going", map[string]string{"": "DELETING"}, "-1"},
		{"would not go", map[string]string{"": "DELETE_FAILED"}, "-1"},
		{"failed, and the next works", map[string]string{"": "CREATE_FAILED", "-1": "ACTIVE"}, "-1"},
		{"the next works alone", map[string]string{"-1": "UPDATING"}, "-1"},
		{"failed twice", map[string]string{"": "CREATE_FAILED", "-1": "CREATE_FAILED"}, "-2"},
		{"the tenth failed", map[string]string{"-9": "CREATE_FAILED"}, "-10"},
		{"of other pools", map[string]string{"0": "CREATE_FAILED", "-": "CREATE_FAILED", "-01": "CREATE_FAILED"}, ""},
	} {
		clear(live)
		for suffix, status := range c.live {
			live[first+suffix] = is(status)
		}
		if got := Decide(env, a).Pools[1].GroupNames(); !slices.Equal(got, []string{first + c.want}) {
			t.Errorf("%s: %q, want %s", c.name, got, first+c.want)
		}
	}
}

func TestLostGroupsOfEveryKindOfPoolGetANewName(t *testing.T) {
	a := answers(living())
	env := valid(t, with(gpuPool(pool.ClusterAutoscaler, func(p *config.Pool) { p.Spread = "per-zone" })))
	before := Decide(env, a).Pools
	for _, name := range slices.Concat(before[0].GroupNames(), before[1].GroupNames()[1:]) {
		a.Live.Value().Groups[name] = is("CREATE_FAILED")
	}
	after := Decide(env, a).Pools
	if got, want := after[0].GroupNames()[0], before[0].GroupNames()[0]+"-1"; got != want {
		t.Errorf("system: %s, want %s", got, want)
	}
	zonal := before[1].GroupNames()
	if got, want := after[1].GroupNames(), []string{zonal[0], zonal[1] + "-1"}; !slices.Equal(got, want) {
		t.Errorf("spread: %q, want %q", got, want)
	}
}

// Review M4, and the second try's finding 12: the next update says what it does about a group that failed.
func TestALostGroupIsNamedWithWhatTakesItsPlace(t *testing.T) {
	env, a, live := fixedPool(t)
	name := Decide(env, a).Pools[1].GroupNames()[0]
	live[name] = is("CREATE_FAILED")
	p := Decide(env, a)
	want := name + " of pool gpu-l4 is CREATE_FAILED, and " + name + "-1 takes its place"
	if said := warning(p, "EKS has lost"); !strings.Contains(said, want) {
		t.Errorf("said %q, want %q", said, want)
	}
	if said := warning(p, "this update replaces node groups that have nodes"); said != "" {
		t.Errorf("a lost group is told as one whose configuration changed: %q", said)
	}
	live[name] = is("ACTIVE")
	if said := warning(Decide(env, a), "EKS has lost"); said != "" {
		t.Errorf("it works, and the plan says %q", said)
	}
}

func TestADegradedGroupIsSaid(t *testing.T) {
	env, a, live := fixedPool(t)
	name := Decide(env, a).Pools[1].GroupNames()[0]
	live[name] = is("DEGRADED")
	if said := warning(Decide(env, a), "are DEGRADED in EKS"); !strings.Contains(said, name+" of pool gpu-l4") {
		t.Errorf("said %q", said)
	}
	live[name] = is("ACTIVE")
	if said := warning(Decide(env, a), "are DEGRADED in EKS"); said != "" {
		t.Errorf("it works, and the plan says %q", said)
	}
}

// Review M5: EKS first starts up to twice as many nodes as the group has zones. The pool has two zones, two nodes of 4
// vCPUs, and so needs up to 8 + 16 of them.
func TestAQuotaWithoutRoomForARollIsSaidBeforehand(t *testing.T) {
	type group = clusterautoscaler.Live
	old := current(2)
	old.ReleaseVersion = "1.36.2-20260709"
	minor, empty := current(2), old
	minor.Version, minor.ReleaseVersion = "1.35", "1.35.5-20260911"
	empty.Desired = 0
	for _, c := range []struct {
		name  string
		live  group
		vcpus int
		says  string
	}{
		{"another release", old, 23, "quota L-DB2E81BA allows 23 vCPUs, 8 run in managed groups, and up to 16 more"},
		{"another release with room", old, 24, ""},
		{"another Kubernetes", minor, 23, "up to 16 more"},
		{"nothing changes", current(2), 8, ""},
		{"no nodes", empty, 4, ""},
		{"lost", is("CREATE_FAILED"), 15, "8 run in managed groups, and up to 8 more"},
		{"lost with room", is("CREATE_FAILED"), 16, ""},
	} {
		env, a, live := fixedPool(t)
		name := Decide(env, a).Pools[1].GroupNames()[0]
		live[name] = c.live
		a.Quotas[onDemandQuota] = ask.Known(c.vcpus)
		said := warning(Decide(env, a), "this update replaces nodes, and EKS starts the new ones first")
		if (said == "") != (c.says == "") || !strings.Contains(said, c.says) {
			t.Errorf("%s: said %q, want %q", c.name, said, c.says)
		}
	}
}

func TestRollsThatShareAQuotaAddUp(t *testing.T) {
	a := answers(living())
	env := valid(t, with(gpuPool(pool.Fixed, fixedAt(1)), gpuPool(pool.Fixed, named("second"), fixedAt(1))))
	old := current(1)
	old.ReleaseVersion = "1.36.2-20260709"
	for _, p := range Decide(env, a).Pools {
		a.Live.Value().Groups[p.GroupNames()[0]] = old
	}
	a.Quotas[onDemandQuota] = ask.Known(39)
	said := warning(Decide(env, a), "EKS starts the new ones first")
	if !strings.Contains(said, "8 run in managed groups, and up to 32 more") || !strings.Contains(said, "second-") {
		t.Errorf("said %q", said)
	}
}
