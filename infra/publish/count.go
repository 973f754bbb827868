package publish

import (
	"fmt"
	"slices"
	"sync"

	capacityplan "github.com/headroom-eks/headroom/capacity/plan"
	"github.com/headroom-eks/headroom/infra/ask"
	"github.com/headroom-eks/headroom/infra/plan"
	"github.com/headroom-eks/headroom/pool"
	"github.com/pulumi/pulumi-aws/sdk/v6/go/aws/ec2"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
)

// parallelQuestions bounds how many EC2 calls are under way at once; EC2 throttles an account that asks more.
const parallelQuestions = 8

// nodeGroupTag is what EKS puts on the instances of a managed group, whatever else is tagged:
// https://github.com/eksctl-io/eksctl/issues/2607
const nodeGroupTag = "eks:nodegroup-name"

// counter counts the running instances of pools in one cluster.
type counter struct {
	ctx      *pulumi.Context
	provider pulumi.InvokeOption
	cluster  string
	zones    []string // of the network
	pools    []string // of the plan
}

// all counts the running instances of each pool by its two tags, joined or not, and of divided pools the displaced ones
// among them. A question that fails makes that pool's count unknown, with the reason, and stops no other.
func (c counter) all(pools []plan.Pool) (realized map[string]capacityplan.Realized, displaced map[string]int) {
	found, moved := make([]capacityplan.Realized, len(pools)), make([]int, len(pools))
	slots := make(chan struct{}, parallelQuestions)
	var wait sync.WaitGroup
	for i, p := range pools {
		wait.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			nodes, err := c.nodes(p)
			if err == nil {
				moved[i], err = c.displaced(p, nodes)
			}
			found[i] = capacityplan.Realized{Nodes: nodes}
			if err != nil {
				found[i] = capacityplan.Realized{Unknown: ask.FirstLine(err)}
			}
		})
	}
	wait.Wait()
	realized, displaced = map[string]capacityplan.Realized{}, map[string]int{}
	for i, p := range pools {
		realized[p.Name()], displaced[p.Name()] = found[i], moved[i]
	}
	return realized, displaced
}

// spotOnly passes instances that were bought as spot.
var spotOnly = ec2.GetInstancesFilter{Name: "instance-lifecycle", Values: []string{"spot"}}

// displaced counts the spot nodes of a divided pool in the NodePool that buys them no longer.
func (c counter) displaced(p plan.Pool, nodes map[capacityplan.Place]int) (int, error) {
	realized := capacityplan.Realized{Nodes: nodes}
	if len(p.NodePools()) < 2 || realized.Total() == realized.Firm() {
		return 0, nil
	}
	return c.instances(p.Name(), []ec2.GetInstancesFilter{spotOnly, inNodePool(p, p.Name())})
}

// inNodePool passes instances of one NodePool of a pool.
func inNodePool(p plan.Pool, name string) ec2.GetInstancesFilter {
	return ec2.GetInstancesFilter{Name: "tag:" + p.NodePool.Class.Kind.InstanceTag, Values: []string{name}}
}

// nodes splits a pool's running instances by zone and by how they were bought. The answers of several calls may be of
// different moments; the total is asked first, and what no zone accounts for is counted under no zone.
func (c counter) nodes(p plan.Pool) (map[capacityplan.Place]int, error) {
	types := p.Facts.CapacityTypes
	bought := pool.OnDemand // what is not spot
	if slices.Contains(types, pool.Reserved) && !slices.Contains(types, pool.OnDemand) {
		bought = pool.Reserved
	}
	nodes := map[capacityplan.Place]int{}
	left, err := c.ofPool(p)
	for _, zone := range append(slices.Clone(c.zones), "") {
		if err != nil || left <= 0 {
			break
		}
		total, spots := left, 0
		if zone != "" {
			in := ec2.GetInstancesFilter{Name: "availability-zone", Values: []string{zone}}
			if total, err = c.ofPool(p, in); err != nil {
				break
			}
			left -= total
			if total > 0 && slices.Contains(types, pool.Spot) {
				if spots, err = c.ofPool(p, in, spotOnly); err != nil {
					break
				}
			}
		}
		if rest := total - spots; rest > 0 {
			nodes[capacityplan.Place{Zone: zone, CapacityType: bought}] = rest
		}
		if spots > 0 {
			nodes[capacityplan.Place{Zone: zone, CapacityType: pool.Spot}] = spots
		}
	}
	if err != nil {
		return nil, err
	}
	return nodes, nil
}

// ofPool counts a pool's running instances that pass the filters. A managed group that another replaces, or that
// belongs to an earlier scaler of the pool, is deleted after the count, and its nodes with it: they are not counted.
// Neither are those of the second NodePool of a pool that is divided no longer.
func (c counter) ofPool(p plan.Pool, filters ...ec2.GetInstancesFilter) (int, error) {
	if groups := p.GroupNames(); len(groups) > 0 {
		return c.instances(p.Name(), append(filters,
			ec2.GetInstancesFilter{Name: "tag:" + nodeGroupTag, Values: groups}))
	}
	left, err := c.instances(p.Name(), filters)
	going := []ec2.GetInstancesFilter{{Name: "tag-key", Values: []string{nodeGroupTag}}}
	if p.NodePool != nil && p.NodePool.Leaving != "" {
		going = append(going, inNodePool(p, p.NodePool.Leaving))
	}
	for _, filter := range going {
		if err != nil || left <= 0 {
			return 0, err
		}
		n := 0
		n, err = c.instances(p.Name(), append(filters, filter))
		left -= n
	}
	return max(0, left), err
}

func (c counter) instances(poolName string, filters []ec2.GetInstancesFilter) (int, error) {
	answer, err := ec2.GetInstances(c.ctx, &ec2.GetInstancesArgs{
		InstanceTags:       pool.InstanceTags(c.cluster, poolName),
		InstanceStateNames: []string{"running"},
		Filters:            slices.Clone(filters),
	}, c.provider)
	if err != nil {
		return 0, fmt.Errorf("count instances of pool %s: %w", poolName, err)
	}
	return len(answer.Ids), nil
}
