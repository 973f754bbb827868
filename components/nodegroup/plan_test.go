package nodegroup_test

import (
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/headroom-eks/headroom/components/network"
	"github.com/headroom-eks/headroom/components/nodegroup"
	"github.com/headroom-eks/headroom/pool"
	"pgregory.net/rapid"
)

// forced are arguments whose every part makes EKS replace the group.
type forced struct {
	pool, zone, arch, cidr, instanceType string
	gpus                                 int
	capacity                             pool.CapacityType
}

func (f forced) args() nodegroup.Args {
	return nodegroup.Args{
		Pool: f.pool, Zone: f.zone, InstanceTypes: []string{f.instanceType}, CapacityType: f.capacity,
		Shape:   pool.Shape{Architecture: f.arch, GPUs: f.gpus},
		Subnets: network.Subnets{{Zone: network.Zone{Name: "us-west-2a"}, CIDR: f.cidr}},
	}
}

func draw(t *rapid.T) forced {
	return forced{
		pool:         rapid.StringMatching(`[a-z0-9]([a-z0-9-]{0,38}[a-z0-9])?`).Draw(t, "pool"),
		zone:         rapid.SampledFrom([]string{"", "us-west-2a", "us-gov-west-1b"}).Draw(t, "zone"),
		arch:         rapid.SampledFrom([]string{"x86_64", "arm64"}).Draw(t, "arch"),
		cidr:         rapid.SampledFrom([]string{"10.0.0.0/19", "10.0.32.0/19"}).Draw(t, "cidr"),
		instanceType: rapid.SampledFrom([]string{"g6.xlarge", "g6.12xlarge"}).Draw(t, "type"),
		gpus:         rapid.IntRange(0, 1).Draw(t, "gpus"),
		capacity:     rapid.SampledFrom([]pool.CapacityType{pool.OnDemand, pool.Spot}).Draw(t, "capacity"),
	}
}

var groupName = regexp.MustCompile(`^[0-9A-Za-z][A-Za-z0-9_-]{0,62}$`)

func TestNameIsOneThatEKSTakes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		if name := draw(t).args().Name(); !groupName.MatchString(name) {
			t.Errorf("name %q", name)
		}
	})
}

// Field fault BR-88: a replacement has another name, and nothing else changes it.
func TestNameChangesExactlyWhenTheGroupIsReplaced(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := draw(t), draw(t)
		if (a == b) != (a.args().Name() == b.args().Name()) {
			t.Errorf("%+v is %s, %+v is %s", a, a.args().Name(), b, b.args().Name())
		}
	})
}

func TestNameDoesNotDependOnWhatIsUpdatedInPlace(t *testing.T) {
	a := forced{pool: "gpu", arch: "x86_64", instanceType: "g6.xlarge", capacity: pool.Spot}.args()
	before := a.Name()
	a.Scaling, a.ReleaseVersion, a.Cluster.KubernetesVersion = nodegroup.Fixed(3), "1.36.3-20260911", "1.36"
	a.Labels, a.Taints, a.DiskGiB = map[string]string{"a": "b"}, []pool.Taint{pool.GPUTaint}, 500
	if after := a.Name(); after != before {
		t.Errorf("%s became %s", before, after)
	}
}

func TestNameDoesNotDependOnTheOrderOfSubnets(t *testing.T) {
	a := forced{pool: "gpu", arch: "x86_64"}.args()
	a.Subnets = network.Subnets{{CIDR: "10.0.0.0/19"}, {CIDR: "10.0.32.0/19"}}
	b := a
	b.Subnets = network.Subnets{a.Subnets[1], a.Subnets[0]}
	if a.Name() != b.Name() {
		t.Errorf("%s and %s", a.Name(), b.Name())
	}
}

// Review M4: EKS keeps the name of a group that it could not make, so the next attempt has another, which says which it
// is. The first has the name that groups always had.
func TestEachAttemptHasANameOfItsOwnFromWhichItIsRead(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a := draw(t).args()
		first := a.Name()
		made := rapid.IntRange(0, 999).Draw(t, "attempt")
		a.Attempt = made
		name := a.Name()
		if (name == first) != (a.Attempt == 0) || !groupName.MatchString(name) {
			t.Errorf("attempt %d after %s is %s", a.Attempt, first, name)
		}
		other := draw(t).args()
		other.Attempt = rapid.IntRange(0, 3).Draw(t, "whatever it was")
		other.Pool = a.Pool + "x"
		if _, found := other.AttemptOf(name); found {
			t.Errorf("%s is taken for a group of pool %s", name, other.Pool)
		}
		a.Attempt = other.Attempt
		if attempt, found := a.AttemptOf(name); !found || attempt != made {
			t.Errorf("%s reads as attempt %d, %t", name, attempt, found)
		}
	})
}

func TestWhatIsNoNameOfTheGroupIsNoAttempt(t *testing.T) {
	a := forced{pool: "gpu", arch: "x86_64", instanceType: "g6.xlarge", capacity: pool.Spot}.args()
	first := a.Name()
	for _, name := range []string{"", "-", "-1", "gpu", first + "-", first + "-0", first + "-01", first + "-x",
		first + "-1000", first + "1", first + "-1-1"} {
		if attempt, found := a.AttemptOf(name); found {
			t.Errorf("%q is attempt %d", name, attempt)
		}
	}
}

// Review M5: nodes are replaced one by one, each in up to 26 minutes; the provider waits an hour unless told otherwise.
func TestAnUpdateHasTimeForEachNodeThatTheGroupMayHave(t *testing.T) {
	for nodes, want := range map[int]time.Duration{1: 86 * time.Minute, 10: 320 * time.Minute} {
		if got := (nodegroup.Args{Scaling: nodegroup.Fixed(nodes)}).UpdateTimeout(); got != want {
			t.Errorf("%d nodes: %s, want %s", nodes, got, want)
		}
	}
	scaled := nodegroup.Args{Scaling: nodegroup.Scaling{Min: 0, Desired: 1, Max: 10, Scaled: true}}
	if got := scaled.UpdateTimeout(); got != 320*time.Minute {
		t.Errorf("a group that may grow to 10 nodes: %s", got)
	}
}

// Field fault BR-70.
func TestAMITypeFitsTheNode(t *testing.T) {
	for want, shape := range map[string]pool.Shape{
		"AL2023_x86_64_NVIDIA":   {Architecture: "x86_64", GPUs: 1},
		"AL2023_x86_64_STANDARD": {Architecture: "x86_64"},
		"AL2023_ARM_64_STANDARD": {Architecture: "arm64"},
		"AL2023_ARM_64_NVIDIA":   {Architecture: "arm64", GPUs: 2},
	} {
		if got := nodegroup.AMIType(shape); got != want {
			t.Errorf("%+v: %s, want %s", shape, got, want)
		}
	}
}

func TestFixedGroupHasOneSize(t *testing.T) {
	if got := nodegroup.Fixed(2); got != (nodegroup.Scaling{Min: 2, Desired: 2, Max: 2}) {
		t.Errorf("two nodes: %+v", got)
	}
	if err := nodegroup.Fixed(0).Validate("pool").Err(); err == nil {
		t.Error("a group of no nodes, which EKS refuses, is accepted")
	}
}

// Tried-2, section 3: a name that is cut is still known for the pool's, or nobody hears that the group goes.
func TestEveryNameOfAPoolIsKnownForIts(t *testing.T) {
	for _, zone := range []string{"", "us-west-2a", "us-gov-west-1a"} {
		long := "gpu-" + strings.Repeat("x", 36)
		for i, name := range []string{"gpu", long, "gpu", long} {
			args := forced{pool: name, zone: zone, arch: "x86_64"}.args()
			args.Attempt = i / 2 * 37
			group := args.Name()
			if !groupName.MatchString(group) {
				t.Errorf("%s has %d characters", group, len(group))
			}
			if own := nodegroup.NamesOf(name, []string{"us-west-2a", "us-gov-west-1a"}); !own.MatchString(group) {
				t.Errorf("%s is not one of %s", group, own)
			}
			if other := nodegroup.NamesOf("gpu-l4", []string{"us-west-2a"}); other.MatchString(group) {
				t.Errorf("%s is one of %s", group, other)
			}
		}
	}
}

func TestLongestNamesOfTwoZonesDiffer(t *testing.T) {
	long := "gpu-" + strings.Repeat("x", 36)
	a := forced{pool: long, zone: "us-gov-west-1a", arch: "x86_64"}.args().Name()
	b := forced{pool: long, zone: "us-gov-west-1b", arch: "x86_64"}.args().Name()
	if a == b || len(a) > 63 || len(b) > 63 {
		t.Errorf("%s and %s", a, b)
	}
}
