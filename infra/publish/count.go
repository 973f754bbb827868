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

// all counts the running instances of each pool by its two tags, joined or not. A question that fails makes that pool's
// count unknown, with the reason, and stops no other.
func (c counter) all(pools []plan.Pool) map[string]capacityplan.Realized {
	found := make([]capacityplan.Realized, len(pools))
	slots := make(chan struct{}, parallelQuestions)
	var wait sync.WaitGroup
	for i, p := range pools {
		wait.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			nodes, err := c.nodes(p)
			found[i] = capacityplan.Realized{Nodes: nodes}
			if err != nil {
				found[i] = capacityplan.Realized{Unknown: ask.FirstLine(err)}
			}
		})
	}
	wait.Wait()
	realized := map[string]capacityplan.Realized{}
	for i, p := range pools {
		realized[p.Name()] = found[i]
	}
	return realized
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
				spot := ec2.GetInstancesFilter{Name: "instance-lifecycle", Values: []string{"spot"}}
				if spots, err = c.ofPool(p, in, spot); err != nil {
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
func (c counter) ofPool(p plan.Pool, filters ...ec2.GetInstancesFilter) (int, error) {
	if groups := p.GroupNames(); len(groups) > 0 {
		return c.instances(p.Name(), append(filters,
			ec2.GetInstancesFilter{Name: "tag:" + nodeGroupTag, Values: groups}))
	}
	all, err := c.instances(p.Name(), filters)
	if err != nil || all == 0 {
		return 0, err
	}
	ofGroups, err := c.instances(p.Name(), append(filters,
		ec2.GetInstancesFilter{Name: "tag-key", Values: []string{nodeGroupTag}}))
	return max(0, all-ofGroups), err
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
