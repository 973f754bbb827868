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

// warning returns the one warning that holds the text, or nothing.
func warning(p Plan, text string) string {
	i := slices.IndexFunc(p.Warnings, func(w string) bool { return strings.Contains(w, text) })
	if i < 0 {
		return ""
	}
	return p.Warnings[i]
}

func TestWhoRunsTheProgramIsToldBeforeBeingLockedOut(t *testing.T) {
	admins := func(env *config.Environment) {
		env.Cluster.Access = map[string]config.Access{"admins": {
			PrincipalArn: "arn:aws:iam::123456789012:role/path/admins",
			Policy:       "cluster-admin",
		}}
	}
	nobody := func(*config.Environment) {}
	for _, c := range []struct {
		name   string
		access func(*config.Environment)
		caller string
		warned bool
	}{
		{"nobody named: the creator is admin", nobody, "someone", false},
		{"the caller is named", admins, "admins", false},
		{"someone else is named", admins, "someone", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			a := answers(func(a *ask.Answers) {
				a.Account.CallerArn = "arn:aws:sts::123456789012:assumed-role/" + c.caller + "/session"
			})
			if said := warning(Decide(valid(t, c.access), a), "cluster.access"); (said != "") != c.warned {
				t.Errorf("warning %q", said)
			}
		})
	}
}

func TestReplacementOfAGroupWithNodesIsSaidBeforehand(t *testing.T) {
	env := valid(t, with(gpuPool(pool.Fixed, named("gpu"), fixedAt(1)), gpuPool(pool.Fixed, fixedAt(2))))
	a := answers(living())
	for _, p := range Decide(env, a).Pools[1:] {
		a.Live.Value().Groups[p.GroupNames()[0]] = clusterautoscaler.Live{
			Exists:  true,
			Desired: *p.Facts.Configured.NodeCount,
		}
	}
	const replaces = "this update replaces node groups"
	if said := warning(Decide(env, a), replaces); said != "" {
		t.Errorf("nothing changes, and it says %q", said)
	}
	a.Offerings["g6.xlarge"] = ask.Known([]string{"us-west-2b"})
	said := warning(Decide(env, a), replaces)
	if !strings.Contains(said, "(1 nodes), gpu-l4-") || strings.Count(said, "nodes)") != 2 {
		t.Errorf("warning %q", said)
	}
}

func TestAFixedPoolOfNoNodesHasNoGroupAndSaysWhoseNodesGo(t *testing.T) {
	of := func(nodes int) config.Environment { return valid(t, with(gpuPool(pool.Fixed, fixedAt(nodes)))) }
	a := answers(living())
	group := Decide(of(2), a).Pools[1].GroupNames()[0]
	a.Live.Value().Groups[group] = clusterautoscaler.Live{Exists: true, Desired: 2}
	emptied := Decide(of(0), a)
	if groups := emptied.Pools[1].GroupNames(); len(groups) > 0 {
		t.Errorf("groups %v", groups)
	}
	if said := warning(emptied, "this update deletes node groups"); !strings.Contains(said, group+" (2 nodes)") {
		t.Errorf("warning %q", said)
	}
	if said := warning(Decide(of(1), a), "this update deletes node groups"); said != "" {
		t.Errorf("the group stays, and it says %q", said)
	}
}

// Field fault BR-77.
func TestPrefixDelegationInSmallSubnetsIsWarnedOf(t *testing.T) {
	const takes = "network.prefixDelegation takes blocks"
	of := func(cidr string, delegation bool) string {
		return warning(Decide(valid(t, func(env *config.Environment) {
			env.Network = config.Network{CIDR: cidr, Zones: zones[:2], PrefixDelegation: delegation}
		}), answers()), takes)
	}
	if said := of("10.0.0.0/21", true); !strings.Contains(said,
		"10.0.0.0/24 in us-west-2a, 10.0.1.0/24 in us-west-2b") || !strings.Contains(said, "/22 or larger") {
		t.Errorf("field fault BR-77: private subnets of /24: %q", said)
	}
	for _, quiet := range []string{of("10.0.0.0/19", true), of("10.0.0.0/21", false)} {
		if quiet != "" {
			t.Errorf("warned without need: %s", quiet)
		}
	}
	small, public := subnet("subnet-a", "us-west-2a", "vpc-1"), subnet("subnet-b", "us-west-2b", "vpc-1")
	small.Found = ask.Known(ask.SubnetDescription{VpcID: "vpc-1", Zone: "us-west-2a", CIDR: "10.1.0.0/23"})
	public.Public = true
	env := environment(existingNetwork[0], func(env *config.Environment) { env.Network.PrefixDelegation = true })
	said := warning(Decide(env, answers(func(a *ask.Answers) {
		a.Network.Subnets = []ask.Subnet{small, public}
	})), takes)
	if !strings.Contains(said, "(10.1.0.0/23 in us-west-2a)") {
		t.Errorf("field fault BR-77: an existing subnet of /23: %q", said)
	}
}

func TestWhatAWSDidNotAnswerIsSaid(t *testing.T) {
	a := answers(func(a *ask.Answers) {
		a.Missing = []ask.Missing{{Question: "service quota L-1", Reason: "AccessDenied"}}
	})
	if warning(Decide(valid(t), a), "no more is promised than is certain: service quota L-1: AccessDenied") == "" {
		t.Errorf("warnings %q", Decide(valid(t), a).Warnings)
	}
}

// FR-12
func TestASystemGroupInOneZoneOfSeveralIsSaid(t *testing.T) {
	decided := Decide(valid(t), answers(func(a *ask.Answers) {
		a.Offerings["m6i.large"] = ask.Known([]string{"us-west-2b"})
	}))
	if got := decided.Pools[0].Groups[0].Args.Subnets.Zones(); !slices.Equal(got, []string{"us-west-2b"}) {
		t.Errorf("the group stands in %v", got)
	}
	if warning(decided, "only zone us-west-2b offers m6i.large") == "" {
		t.Errorf("warnings %q", decided.Warnings)
	}
	if said := warning(Decide(valid(t), answers()), "only zone"); said != "" {
		t.Errorf("in every zone: %q", said)
	}
}

// FR-17
func TestFixedPoolsThatEC2MayRebalanceAreNamed(t *testing.T) {
	oneZone := func(p *config.Pool) { p.Zones = zones[:1] }
	decided := Decide(valid(t, with(gpuPool(pool.Fixed, named("two"), fixedAt(2)),
		gpuPool(pool.Fixed, named("single"), fixedAt(1)),
		gpuPool(pool.Fixed, named("zonal"), fixedAt(3), oneZone))), answers())
	if said := warning(decided, "even out its zones"); !strings.HasPrefix(said, "pools two: ") {
		t.Errorf("said %q", said)
	}
}
