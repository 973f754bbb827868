package ask

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/headroom-eks/headroom/components/clusterautoscaler"
	"github.com/headroom-eks/headroom/infra/config"
	"github.com/headroom-eks/headroom/pool"
	"github.com/pulumi/pulumi-aws/sdk/v6/go/aws/eks"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
)

// live looks before it asks: a lookup of what is absent is an error, and an error must not read as absence.
func (a *asker) live() {
	clusters, err := eks.GetClusters(a.ctx, a.provider)
	if err != nil {
		a.answers.Live = unguarded[*Live](&a.answers, "clusters of the account", err)
		return
	}
	if own := a.answers.Former.Value().Cluster; slices.Contains(clusters.Names, own) &&
		len(liveNames([]string{own}, a.env.Cluster)) == 0 {
		a.answers.Renamed = own
	}
	names := liveNames(clusters.Names, a.env.Cluster)
	if a.env.Cluster.UniqueSuffix {
		if names, err = a.ownOf(names); err != nil {
			a.answers.Live = unguarded[*Live](&a.answers, "which cluster is this stack's", err)
			return
		}
	}
	switch len(names) {
	case 0:
		a.answers.Live = Known[*Live](nil)
	case 1:
		a.answers.Live = a.liveCluster(names[0])
	default:
		err := errors.New("what lives in it is not compared with the configuration")
		question := fmt.Sprintf("which of the clusters %s is this stack's", strings.Join(names, ", "))
		a.answers.Live = missing[*Live](&a.answers, question, err)
	}
}

// liveNames are the clusters that may be this stack's: the one of its name, or with a unique suffix every one of that
// name and some suffix, since which is this stack's is not known before the program has run.
func liveNames(all []string, c config.Cluster) (names []string) {
	own := regexp.MustCompile("^" + regexp.QuoteMeta(c.Name) + "$")
	if c.UniqueSuffix {
		own = regexp.MustCompile("^" + regexp.QuoteMeta(c.Name) + "-[a-z0-9]{6}$")
	}
	return slices.DeleteFunc(slices.Clone(all), func(name string) bool { return !own.MatchString(name) })
}

// ownOf leaves of clusters that may be this stack's the one of its last update; before the first has ended, those that
// its mark gives to this stack, or that have none.
func (a *asker) ownOf(names []string) (own []string, err error) {
	if name := a.answers.Former.Value().Cluster; slices.Contains(names, name) {
		return []string{name}, nil
	}
	for _, name := range names {
		found, err := eks.LookupCluster(a.ctx, &eks.LookupClusterArgs{Name: name}, a.provider)
		if err != nil {
			return nil, err
		}
		if stack := found.Tags[pool.StackTag]; stack == "" || stack == a.answers.Account.Stack {
			own = append(own, name)
		}
	}
	return own, nil
}

func (a *asker) liveCluster(name string) Answer[*Live] {
	found, err := eks.LookupCluster(a.ctx, &eks.LookupClusterArgs{Name: name}, a.provider)
	if err != nil {
		return unguarded[*Live](&a.answers, "cluster "+name, err)
	}
	live := &Live{
		Stack:   found.Tags[pool.StackTag],
		Name:    name,
		Version: found.Version,
		Groups:  map[string]clusterautoscaler.Live{},
		Subnets: map[string]string{},
	}
	for _, c := range found.ComputeConfigs {
		live.AutoMode, live.NodeRoleArn = c.Enabled, c.NodeRoleArn
	}
	a.controlPlaneSubnets(live, found.VpcConfig.SubnetIds)
	if a.env.UsesManagedGroups() {
		a.liveGroups(live)
	}
	return Known(live)
}

// controlPlaneSubnets asks where the control plane's subnets lie.
func (a *asker) controlPlaneSubnets(live *Live, subnets []string) {
	for _, id := range subnets {
		subnet, err := DescribeSubnet(a.ctx, id, a.provider)
		if err != nil {
			unguarded[any](&a.answers, "subnet "+id+" of the control plane", err)
			live.Subnets = nil
			return
		}
		live.Subnets[subnet.Zone] = subnet.CIDR
	}
}

func (a *asker) liveGroups(live *Live) {
	groups, err := eks.GetNodeGroups(a.ctx, &eks.GetNodeGroupsArgs{ClusterName: live.Name}, a.provider)
	if err != nil {
		unguarded[any](&a.answers, "node groups of "+live.Name, err)
		return
	}
	for _, name := range groups.Names {
		group, err := DescribeGroup(a.ctx, live.Name, name, a.provider)
		if err != nil {
			unguarded[any](&a.answers, "node group "+name, err)
			continue
		}
		live.Groups[name] = group
	}
}

// entries asks for access entries that somebody else made: EKS takes no second one (FR-04).
func (a *asker) entries() {
	live := a.answers.Live.Value()
	if live == nil || !a.answers.Former.Value().Marks {
		return
	}
	for _, name := range slices.Sorted(maps.Keys(a.env.Cluster.Access)) {
		arn := a.env.Cluster.Access[name].PrincipalArn
		entry, err := eks.LookupAccessEntry(a.ctx,
			&eks.LookupAccessEntryArgs{ClusterName: live.Name, PrincipalArn: arn},
			a.provider)
		switch {
		case err != nil && !absent(err):
			missing[any](&a.answers, "access entry of "+arn, err)
		case err == nil && entry.Tags[pool.ClusterTag] == "":
			a.answers.Entries = append(a.answers.Entries, arn)
		}
	}
}

// DescribeGroup asks EKS about one managed group. One that is not there is no error: it does not exist. The data source
// gives the group's status and not its health issues (pulumi-aws v6.83.4, LookupNodeGroupResult).
func DescribeGroup(ctx *pulumi.Context, cluster, name string, provider pulumi.InvokeOption) (
	clusterautoscaler.Live, error) {
	group, err := eks.LookupNodeGroup(ctx, &eks.LookupNodeGroupArgs{ClusterName: cluster, NodeGroupName: name},
		provider)
	switch {
	case err != nil && absent(err):
		return clusterautoscaler.Live{}, nil
	case err != nil:
		return clusterautoscaler.Live{}, err
	case len(group.ScalingConfigs) == 0:
		return clusterautoscaler.Live{}, errors.New("EKS says nothing of its size")
	}
	s := group.ScalingConfigs[0]
	return clusterautoscaler.Live{
		Exists:         true,
		Status:         group.Status,
		Min:            s.MinSize,
		Max:            s.MaxSize,
		Desired:        s.DesiredSize,
		Version:        group.Version,
		ReleaseVersion: group.ReleaseVersion,
	}, nil
}

// runningNodes counts before pools are handed over, since handing over the wrong way deletes nodes, and before an
// instance profile goes.
func (a *asker) runningNodes() {
	live := a.answers.Live.Value()
	handsOver := a.env.GitOps.NodePools == "manifests" && !a.env.GitOps.Applied
	dropsProfile := a.answers.Former.Value().KarpenterInstanceProfile != "" && !a.env.Karpenter.InstanceProfile
	if live == nil || !handsOver && !dropsProfile {
		return
	}
	for _, name := range a.env.NodePools() {
		n, err := a.running(pool.InstanceTags(live.Name, name))
		if err != nil {
			a.answers.RunningNodes[name] = unguarded[int](&a.answers, "running nodes of pool "+name, err)
			continue
		}
		a.answers.RunningNodes[name] = Known(n)
	}
}
