package plan

import (
	"testing"

	"github.com/headroom-eks/headroom/components/clusterautoscaler"
	"github.com/headroom-eks/headroom/infra/ask"
	"github.com/headroom-eks/headroom/infra/config"
	"github.com/headroom-eks/headroom/pool"
)

var zones = []string{"us-west-2a", "us-west-2b", "us-west-2c"}

func ptr[T any](v T) *T { return &v }

// environment is one of three zones with the changes made to it, before its defaults.
func environment(changes ...func(*config.Environment)) config.Environment {
	env := config.Environment{Network: config.Network{Zones: zones}}
	for _, change := range changes {
		change(&env)
	}
	return env.WithDefaults("dev")
}

// valid is such an environment that Check has nothing against.
func valid(t *testing.T, changes ...func(*config.Environment)) config.Environment {
	t.Helper()
	env := environment(changes...)
	if err := Check(env).Err(); err != nil {
		t.Fatal(err)
	}
	return env
}

// with adds pools.
func with(pools ...config.Pool) func(*config.Environment) {
	return func(env *config.Environment) { env.Pools = append(env.Pools, pools...) }
}

func withGeneral(scaler pool.Scaler, changes ...func(*config.General)) func(*config.Environment) {
	return func(env *config.Environment) {
		env.General = &config.General{Scaler: scaler, Limits: config.GeneralLimits{VCPUs: 64, MemoryGiB: 256}}
		for _, change := range changes {
			change(env.General)
		}
	}
}

// gpuPool of a scaler, named gpu-l4, with up to four nodes of one L4 each.
func gpuPool(scaler pool.Scaler, changes ...func(*config.Pool)) config.Pool {
	p := config.Pool{Name: "gpu-l4", Scaler: scaler, InstanceTypes: []string{"g6.xlarge"}}
	if scaler == pool.Fixed {
		p.NodeCount = ptr(1)
	} else {
		p.MaxNodeCount = ptr(4)
	}
	for _, change := range changes {
		change(&p)
	}
	return p
}

func named(name string) func(*config.Pool) { return func(p *config.Pool) { p.Name = name } }

func upTo(nodes int) func(*config.Pool) { return func(p *config.Pool) { p.MaxNodeCount = ptr(nodes) } }

func fixedAt(nodes int) func(*config.Pool) { return func(p *config.Pool) { p.NodeCount = ptr(nodes) } }

// static makes a Karpenter pool keep its nodes.
func static(nodes int) func(*config.Pool) {
	return func(p *config.Pool) { p.Static, p.NodeCount, p.MaxNodeCount = true, ptr(nodes), nil }
}

func describe(instanceType string, vcpus, gpus int) ask.Answer[pool.Shape] {
	return ask.Known(pool.Shape{
		InstanceType: instanceType,
		VCPUs:        vcpus,
		MemoryMiB:    vcpus * 4096,
		GPUs:         gpus,
		GPUModel:     map[bool]string{true: "L4"}[gpus > 0],
		GPUMemoryMiB: 22888,
		Architecture: "x86_64",
		MaxENIs:      4,
		IPv4PerENI:   15,
	})
}

// answers of an account that has everything, and no cluster yet.
func answers(changes ...func(*ask.Answers)) ask.Answers {
	a := ask.Answers{
		Account: ask.Account{
			Partition: "aws",
			DNSSuffix: "amazonaws.com",
			Region:    "us-west-2",
			ID:        "123456789012",
		},
		KubernetesVersions: ask.Known([]string{"1.35", "1.36"}),
		ZoneIDs: ask.Known(map[string]string{
			"us-west-2a": "usw2-az1",
			"us-west-2b": "usw2-az2",
			"us-west-2c": "usw2-az3",
		}),
		Shapes: map[string]ask.Answer[pool.Shape]{
			"m6i.large":   describe("m6i.large", 2, 0),
			"g6.xlarge":   describe("g6.xlarge", 4, 1),
			"gr6.xlarge":  describe("gr6.xlarge", 8, 1),
			"g6.12xlarge": describe("g6.12xlarge", 48, 4),
		},
		Offerings: map[string]ask.Answer[[]string]{
			"m6i.large":   ask.Known(zones),
			"g6.xlarge":   ask.Known(zones[:2]),
			"gr6.xlarge":  ask.Known(zones[:1]),
			"g6.12xlarge": ask.Known(zones[2:]),
		},
		Quotas:       map[string]ask.Answer[int]{onDemandQuota: ask.Known(64), spotQuota: ask.Known(64)},
		Live:         ask.Known[*ask.Live](nil),
		SpotRole:     ask.Known(true),
		RunningNodes: map[string]ask.Answer[int]{},
		Displaced:    map[string]ask.Answer[int]{},
	}
	for _, change := range changes {
		change(&a)
	}
	return a
}

// Quotas of G and VT instances in vCPUs.
const (
	onDemandQuota = "L-DB2E81BA"
	spotQuota     = "L-3819A6DF"
)

// living makes the stack's cluster one that lives.
func living(changes ...func(*ask.Live)) func(*ask.Answers) {
	return func(a *ask.Answers) {
		live := &ask.Live{Name: "headroom-dev", Version: "1.36", Groups: map[string]clusterautoscaler.Live{}}
		for _, change := range changes {
			change(live)
		}
		a.Live = ask.Known(live)
	}
}
