package plan

import (
	"github.com/headroom-eks/headroom/components/nodegroup"
	"github.com/headroom-eks/headroom/infra/config"
	"github.com/headroom-eks/headroom/problem"
)

// fixed pools are managed groups that nothing scales. One of no nodes is no group.
type fixed struct{}

func (fixed) environment(config.Environment) (none problem.List) { return none }

func (fixed) check(string, config.Pool, config.Environment) (none problem.List) { return none }

func (fixed) decide(d *decision, at string, c config.Pool, p *Pool) {
	args := d.groupArgs(at, c, p)
	args.Scaling = nodegroup.Fixed(*c.NodeCount)
	if *c.NodeCount > 0 { // EKS has no group of no nodes
		d.addGroup(p, Group{Args: d.attempt(args)})
	}
	d.groupBounds(p)
}
