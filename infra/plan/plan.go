// Package plan decides an environment: the configuration and AWS's answers in, one Plan out.
//
// It owns every decision about a pool, each made once: zones, groups or NodePool, labels, what it may take, which
// ceilings hold it. Building, counting and the contract only read the Plan. It makes nothing, asks nothing and imports
// no Pulumi. Rules about a value belong to the component that uses it, rules across fields to package config; here they
// are called with the paths of the configuration.
package plan

import (
	"fmt"

	"github.com/headroom-eks/headroom/infra/ask"
	"github.com/headroom-eks/headroom/infra/config"
	"github.com/headroom-eks/headroom/pool"
	"github.com/headroom-eks/headroom/problem"
)

// Plan is an environment, decided.
type Plan struct {
	// Environment with its defaults, for settings that need no decision.
	Environment config.Environment
	Account     ask.Account
	Network     Network
	Cluster     Cluster
	// Pools are the system group where there is one, the general pool where it is asked for, then the GPU pools as
	// configured.
	Pools []Pool
	// Quotas from which the pools draw.
	Quotas []Quota
	// Reservations that pools name, each once.
	Reservations []Reservation
	// Warnings are what a person should know although nothing is refused.
	Warnings []string
	// Former is the stack's output capacity of the last update; nil when there is none.
	Former any
	// Problems are everything that AWS's answers refuse. With any, nothing is built.
	Problems problem.List
}

// Cluster is what is decided of the control plane beside its configuration.
type Cluster struct {
	AutoMode bool
	// PrivateAccess is who reaches the private endpoint beside the nodes.
	PrivateAccess config.PrivateAccess
	// ControlPlaneZones are those of the control plane's subnets.
	ControlPlaneZones []string
	// SystemTaints keep other pods off the system group.
	SystemTaints []pool.Taint
}

// decision is a plan in the making.
type decision struct {
	env     config.Environment
	answers ask.Answers
	live    *ask.Live // nil when there is none, or when it is not known
	plan    *Plan
}

// Decide makes the plan of an environment that Check has nothing against. It always returns one: what it could not
// decide is among the problems.
func Decide(env config.Environment, answers ask.Answers) Plan {
	p := Plan{Environment: env, Account: answers.Account, Cluster: Cluster{AutoMode: env.UsesAutoMode()}}
	if env.System.Tainted {
		p.Cluster.SystemTaints = []pool.Taint{{Key: "CriticalAddonsOnly", Value: "true", Effect: pool.NoSchedule}}
	}
	d := &decision{env: env, answers: answers, live: answers.Live.Value(), plan: &p}
	p.Former = answers.Former.Value().Capacity
	d.unanswered()
	d.network()
	d.cluster()
	if !p.Cluster.AutoMode {
		p.Pools = append(p.Pools, d.systemPool())
	}
	if env.General != nil {
		p.Pools = append(p.Pools, d.generalPool(*env.General))
	}
	for i, c := range env.Pools {
		p.Pools = append(p.Pools, d.gpuPool(PoolPath(i, c.Name), c))
	}
	d.quotas()
	d.groupCount()
	d.handOver()
	p.Warnings = d.warnings()
	return p
}

// PoolPath is where a GPU pool stands in the configuration.
func PoolPath(i int, name string) string { return fmt.Sprintf("pools[%d] %q", i, name) }

func (d *decision) problems() *problem.List { return &d.plan.Problems }

// unanswered refuses to go on without the answers that protect what runs.
func (d *decision) unanswered() {
	for _, m := range d.answers.Missing {
		if m.Guards {
			d.problems().Add("aws", fmt.Sprintf("%s could not be asked about (%s); without the answer what runs "+
				"could be replaced or deleted "+
				"unseen", m.Question, m.Reason), nil, "give the permission to ask, and run again")
		}
	}
}

// handOver refuses to hand over a NodePool that has nodes and is still this program's: they would be deleted with it.
func (d *decision) handOver() {
	for _, name := range d.env.NodePools() {
		if n := d.answers.RunningNodes[name].Value(); n > 0 {
			d.problems().Add("gitOps", fmt.Sprintf("pool %q has %d running nodes", name, n), nil,
				"if it is applied elsewhere already, set gitOps.applied: true; if this program still holds it, they "+
					"would be deleted with its NodePool: first run an update with gitOps.nodePools: keep, then apply "+
					"the manifests and set gitOps.nodePools: manifests with applied: true")
		}
	}
}
