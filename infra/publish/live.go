package publish

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	capacityplan "github.com/headroom-eks/headroom/capacity/plan"
	"github.com/headroom-eks/headroom/components/clusterautoscaler"
	"github.com/headroom-eks/headroom/components/network"
	"github.com/headroom-eks/headroom/components/nodepool"
	"github.com/headroom-eks/headroom/infra/ask"
	"github.com/headroom-eks/headroom/infra/kubeapi"
	"github.com/headroom-eks/headroom/infra/plan"
	"github.com/headroom-eks/headroom/pool"
	"github.com/pulumi/pulumi-aws/sdk/v6/go/aws/ec2"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
)

// groups asks what the managed groups of the pools allow in AWS. Only those that cluster-autoscaler moves: a fixed one
// promises what runs, whatever its bounds.
func (c counter) groups(pools []plan.Pool) map[string]ask.Answer[clusterautoscaler.Live] {
	live := map[string]ask.Answer[clusterautoscaler.Live]{}
	for _, p := range pools {
		for _, g := range p.Groups {
			if g.Template == nil {
				continue
			}
			name := g.Args.Name()
			group, err := ask.DescribeGroup(c.ctx, c.cluster, name, c.provider)
			if err != nil {
				live[name] = ask.Unknown[clusterautoscaler.Live](ask.FirstLine(err))
				continue
			}
			live[name] = ask.Known(group)
		}
	}
	return live
}

// heldBack says which NodePools hold their pool to what runs, since they could not be read or are not there; empty when
// none does. One of a pool that this update left out is not there yet.
func heldBack(o plan.Observed) string {
	var unread, gone []string
	reason := ""
	for _, name := range slices.Sorted(maps.Keys(o.NodePools)) {
		answer := o.NodePools[name]
		switch live, known := answer.Get(); {
		case !known:
			unread, reason = append(unread, name), answer.Reason()
		case !live.Exists && !o.NotMade[name]:
			gone = append(gone, name)
		}
	}
	var said []string
	if len(unread) > 0 {
		said = append(said, fmt.Sprintf("NodePools %s could not be read (%s)", strings.Join(unread, ", "), reason))
	}
	if len(gone) > 0 {
		said = append(said, fmt.Sprintf("NodePools %s are not in the cluster; pulumi refresh and then pulumi up make "+
			"those of this stack again", strings.Join(gone, ", ")))
	}
	if len(said) == 0 {
		return ""
	}
	return "capacity: pools promise no more than what runs: " + strings.Join(said, "; ")
}

// liveTimeout bounds the question for NodePools with all its tries.
const liveTimeout = 30 * time.Second

// nodePools asks the cluster for the NodePools of the pools, all at once. Nil when no pool has one.
func (c counter) nodePools(pools []plan.Pool, kubeconfig pulumi.Output, dial kubeapi.Dial) (
	live map[string]ask.Answer[nodepool.Live]) {
	live = map[string]ask.Answer[nodepool.Live]{}
	for _, p := range pools {
		for _, part := range p.NodePools() {
			live[part.Name] = ask.Known(nodepool.Live{})
		}
	}
	if len(live) == 0 {
		return live
	}
	found, err := c.askForNodePools(kubeconfig, dial)
	for name := range live {
		if err != nil {
			live[name] = ask.Unknown[nodepool.Live](ask.FirstLine(err))
			continue
		}
		if pool, exists := found[name]; exists {
			live[name] = ask.Known(nodepool.Live{
				Exists:   true,
				Deleting: pool.Deleting,
				Replicas: pool.Replicas,
				Limits:   pool.Limits,
			})
		}
	}
	return live
}

func (c counter) askForNodePools(kubeconfig pulumi.Output, dial kubeapi.Dial) (map[string]kubeapi.Bounds, error) {
	text, known := await(c.ctx, kubeconfig)
	if !known {
		return nil, errors.New("this update made no kubeconfig")
	}
	client, err := kubeapi.New(fmt.Sprint(text), dial)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(c.ctx.Context(), liveTimeout)
	defer cancel()
	return client.NodePools(ctx)
}

// freeAddresses asks what the private subnets have free, by CIDR, after the nodes are counted: a node that starts
// meanwhile makes the answer smaller, not larger. A subnet that a preview would make is not asked about.
func (c counter) freeAddresses(subnets network.Subnets) map[string]ask.Answer[int] {
	free := map[string]ask.Answer[int]{}
	for _, s := range subnets {
		id, known := await(c.ctx, s.ID)
		if !known {
			if !c.ctx.DryRun() {
				free[s.CIDR] = ask.Unknown[int]("the subnet was not made")
			}
			continue
		}
		subnet, err := ask.DescribeSubnet(c.ctx, fmt.Sprint(id), c.provider)
		if err != nil {
			free[s.CIDR] = ask.Unknown[int](ask.FirstLine(err))
			continue
		}
		free[s.CIDR] = ask.Known(subnet.FreeAddresses)
	}
	return free
}

// mostOthers is how many instances of others are looked up one by one, in all. With more, what they use is unknown.
const mostOthers = 50

// others are the vCPUs that instances of the account which are in no pool of the plan hold of each quota: those of
// other clusters, and nodes of this one whose pool has left the program. EC2 tells the instances of a family and a way
// of buying; their size takes one look-up each. A starting instance counts, as it does in EC2.
// https://docs.aws.amazon.com/ec2/latest/instancetypes/ec2-instance-quotas.html
func (c counter) others(quotas []plan.Quota) map[string]ask.Answer[int] {
	used := map[string]ask.Answer[int]{}
	looked := 0
	for _, q := range quotas {
		vcpus, err := c.othersOf(q.Quota, &looked)
		if err != nil {
			used[q.Code] = ask.Unknown[int](ask.FirstLine(err))
			continue
		}
		used[q.Code] = ask.Known(vcpus)
	}
	return used
}

func (c counter) othersOf(q capacityplan.Quota, looked *int) (vcpus int, err error) {
	var patterns []string // EC2 knows * and ?, so a pattern may hold types of another quota too
	for _, family := range q.Families {
		patterns = append(patterns, family+"*")
	}
	spot := q.CapacityType == pool.Spot
	all, err := c.started(patterns, spot)
	if err != nil || len(all) == 0 {
		return 0, err
	}
	planned, err := c.started(patterns, spot,
		ec2.GetInstancesFilter{Name: "tag:" + pool.ClusterTag, Values: []string{c.cluster}},
		ec2.GetInstancesFilter{Name: "tag:" + pool.PoolTag, Values: c.pools})
	if err != nil {
		return 0, err
	}
	for _, id := range all {
		if slices.Contains(planned, id) {
			continue
		}
		if *looked++; *looked > mostOthers {
			return 0, fmt.Errorf("more than %d instances are in no pool of the plan; give what they use as "+
				"capacity.reservedVcpus", mostOthers)
		}
		shape, err := c.shapeOf(id)
		if err != nil {
			return 0, err
		}
		if counts, found := capacityplan.QuotaFor(shape.InstanceType, q.CapacityType); found && counts.Code == q.Code {
			vcpus += shape.DefaultVcpus
		}
	}
	return vcpus, nil
}

// started are the instances of some types that run or start, spot or not, and pass the filters.
func (c counter) started(types []string, spot bool, filters ...ec2.GetInstancesFilter) ([]string, error) {
	filters = append(filters, ec2.GetInstancesFilter{Name: "instance-type", Values: types})
	find := func(more ...ec2.GetInstancesFilter) ([]string, error) {
		answer, err := ec2.GetInstances(c.ctx, &ec2.GetInstancesArgs{
			InstanceStateNames: []string{"pending", "running"},
			Filters:            slices.Concat(filters, more),
		}, c.provider)
		if err != nil {
			return nil, fmt.Errorf("count instances of the account: %w", err)
		}
		return answer.Ids, nil
	}
	spots, err := find(ec2.GetInstancesFilter{Name: "instance-lifecycle", Values: []string{"spot"}})
	if err != nil || spot {
		return spots, err
	}
	all, err := find() // EC2 has no filter for "on demand": its instances have no lifecycle
	return slices.DeleteFunc(all, func(id string) bool { return slices.Contains(spots, id) }), err
}

func (c counter) shapeOf(id string) (*ec2.GetInstanceTypeResult, error) {
	instance, err := ec2.LookupInstance(c.ctx, &ec2.LookupInstanceArgs{InstanceId: pulumi.StringRef(id)}, c.provider)
	if err != nil {
		return nil, fmt.Errorf("describe instance %s: %w", id, err)
	}
	shape, err := ec2.GetInstanceType(c.ctx, &ec2.GetInstanceTypeArgs{InstanceType: instance.InstanceType}, c.provider)
	if err != nil {
		return nil, fmt.Errorf("describe instance type %s: %w", instance.InstanceType, err)
	}
	return shape, nil
}
