package ask

import (
	"fmt"

	"github.com/headroom-eks/headroom/components/nodepool"
	"github.com/headroom-eks/headroom/pool"
	"github.com/pulumi/pulumi-aws/sdk/v6/go/aws/ec2"
)

// displaced counts the nodes for which dividing a pool, or dividing it no longer, leaves no place. It is asked for a
// warning alone. Most clusters have no divided pool and never had: one question tells that of all their pools.
func (a *asker) displaced() {
	live := a.answers.Live.Value()
	if live == nil {
		return
	}
	everDivided := map[string]bool{} // by tag
	for _, p := range a.env.Pools {
		tag := p.NodePoolTag()
		if _, asked := everDivided[tag]; tag == "" {
			continue
		} else if !asked {
			found, err := a.running(map[string]string{pool.ClusterTag: live.Name},
				inNodePool(tag, nodepool.SpotName("*")))
			everDivided[tag] = err != nil || found > 0
		}
		var n int
		var err error
		if p.MaxOnDemandNodeCount != nil {
			n, err = a.running(pool.InstanceTags(live.Name, p.Name), inNodePool(tag, p.Name),
				ec2.GetInstancesFilter{Name: "instance-lifecycle", Values: []string{"spot"}})
		} else if everDivided[tag] {
			n, err = a.running(pool.InstanceTags(live.Name, p.Name), inNodePool(tag, nodepool.SpotName(p.Name)))
		}
		if err != nil {
			a.answers.Displaced[p.Name] = missing[int](&a.answers, "nodes of pool "+p.Name+" by NodePool", err)
		} else if n > 0 {
			a.answers.Displaced[p.Name] = Known(n)
		}
	}
}

// inNodePool passes instances of one NodePool; EC2 knows * and ? in its name.
func inNodePool(tag, name string) ec2.GetInstancesFilter {
	return ec2.GetInstancesFilter{Name: "tag:" + tag, Values: []string{name}}
}

// running counts the running instances with these tags that pass the filters.
func (a *asker) running(tags map[string]string, filters ...ec2.GetInstancesFilter) (int, error) {
	answer, err := ec2.GetInstances(a.ctx, &ec2.GetInstancesArgs{
		InstanceTags:       tags,
		InstanceStateNames: []string{"running"},
		Filters:            filters,
	}, a.provider)
	if err != nil {
		return 0, fmt.Errorf("count instances: %w", err)
	}
	return len(answer.Ids), nil
}
