package infra

import (
	"fmt"
	"slices"
	"sync"

	capacityplan "github.com/headroom-eks/headroom/capacity/plan"
	"github.com/headroom-eks/headroom/pool"
	"github.com/pulumi/pulumi-aws/sdk/v6/go/aws/ec2"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
)

// parallelQuestions bounds how many EC2 calls are under way at once; EC2 throttles an account that asks more.
const parallelQuestions = 8

// nodeGroupTag is what EKS puts on the instances of a managed group, whatever else is tagged:
// https://github.com/eksctl-io/eksctl/issues/2607
const nodeGroupTag = "eks:nodegroup-name"

// observed is a pool whose instances are to be counted.
type observed struct {
	name string
	// groups are the managed groups of the pool by name, none for a pool of NodePools. A group that another replaces,
	// or that belongs to an earlier scaler of the pool, is deleted after the count, and its nodes with it: they are not
	// counted.
	groups        []string
	zones         []string
	capacityTypes []pool.CapacityType
}

// observe counts the running instances of each pool by its two tags, joined or not. A question that fails makes that
// pool's count unknown, with the reason, and stops no other.
func observe(ctx *pulumi.Context, cluster string, pools []observed,
	provider pulumi.InvokeOption) map[string]capacityplan.Realized {
	found := make([]capacityplan.Realized, len(pools))
	slots := make(chan struct{}, parallelQuestions)
	var wait sync.WaitGroup
	for i, p := range pools {
		wait.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			nodes, err := count(ctx, cluster, p, provider)
			found[i] = capacityplan.Realized{Nodes: nodes}
			if err != nil {
				found[i] = capacityplan.Realized{Unknown: firstLine(err)}
			}
		})
	}
	wait.Wait()
	realized := map[string]capacityplan.Realized{}
	for i, p := range pools {
		realized[p.name] = found[i]
	}
	return realized
}

// count splits a pool's running instances by zone and by how they were bought. The answers of several calls may be of
// different moments; the total is asked first, and what no zone accounts for is counted under no zone.
func count(ctx *pulumi.Context, cluster string, p observed, provider pulumi.InvokeOption) (map[capacityplan.Place]int,
	error) {
	number := func(filters ...ec2.GetInstancesFilter) (int, error) {
		answer, err := ec2.GetInstances(ctx, &ec2.GetInstancesArgs{
			InstanceTags: pool.InstanceTags(cluster, p.name), InstanceStateNames: []string{"running"}, Filters: filters,
		}, provider)
		if err != nil {
			return 0, fmt.Errorf("count instances of pool %s: %w", p.name, err)
		}
		return len(answer.Ids), nil
	}
	ask := func(filters ...ec2.GetInstancesFilter) (int, error) {
		if len(p.groups) > 0 {
			return number(append(slices.Clone(filters),
				ec2.GetInstancesFilter{Name: "tag:" + nodeGroupTag, Values: p.groups})...)
		}
		all, err := number(filters...)
		if err != nil || all == 0 {
			return 0, err
		}
		ofGroups, err := number(append(slices.Clone(filters), ec2.GetInstancesFilter{
			Name:   "tag-key",
			Values: []string{nodeGroupTag},
		})...)
		return max(0, all-ofGroups), err
	}
	nodes := map[capacityplan.Place]int{}
	left, err := ask()
	if err != nil || left == 0 {
		return nodes, err
	}
	bought := pool.OnDemand // what is not spot
	if slices.Contains(p.capacityTypes, pool.Reserved) && !slices.Contains(p.capacityTypes, pool.OnDemand) {
		bought = pool.Reserved
	}
	spot := ec2.GetInstancesFilter{Name: "instance-lifecycle", Values: []string{"spot"}}
	for _, zone := range append(slices.Clone(p.zones), "") {
		var in []ec2.GetInstancesFilter
		total, spots := left, 0
		if zone != "" {
			in = append(in, ec2.GetInstancesFilter{Name: "availability-zone", Values: []string{zone}})
			if total, err = ask(in...); err != nil {
				return nil, err
			}
			left -= total
		}
		if total > 0 && slices.Contains(p.capacityTypes, pool.Spot) && zone != "" {
			if spots, err = ask(append(in, spot)...); err != nil {
				return nil, err
			}
		}
		if rest := total - spots; rest > 0 {
			nodes[capacityplan.Place{Zone: zone, CapacityType: bought}] = rest
		}
		if spots > 0 {
			nodes[capacityplan.Place{Zone: zone, CapacityType: pool.Spot}] = spots
		}
		if left <= 0 {
			break
		}
	}
	return nodes, nil
}

// freeAddresses asks again what the subnets of an existing network have free: nodes that this update started have taken
// theirs since the preflight. To be asked after the nodes are counted, so that a node which starts meanwhile makes the
// answer smaller, not larger.
func freeAddresses(ctx *pulumi.Context, subnets []subnet, provider pulumi.InvokeOption) []subnet {
	found := slices.Clone(subnets)
	for i := range found {
		answer, err := ec2.LookupSubnet(ctx, &ec2.LookupSubnetArgs{Id: &found[i].ID}, provider)
		if err != nil {
			found[i].Unknown = firstLine(err)
			continue
		}
		found[i].FreeAddresses = answer.AvailableIpAddressCount
	}
	return found
}
