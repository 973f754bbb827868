package infra

import (
	"fmt"
	"slices"
	"strings"

	capacityplan "github.com/headroom-eks/headroom/capacity/plan"
	"github.com/headroom-eks/headroom/components/clusterautoscaler"
	"github.com/headroom-eks/headroom/infra/config"
	"github.com/headroom-eks/headroom/pool"
	"github.com/pulumi/pulumi-aws/sdk/v6/go/aws"
	"github.com/pulumi/pulumi-aws/sdk/v6/go/aws/ec2"
	"github.com/pulumi/pulumi-aws/sdk/v6/go/aws/eks"
	"github.com/pulumi/pulumi-aws/sdk/v6/go/aws/iam"
	"github.com/pulumi/pulumi-aws/sdk/v6/go/aws/servicequotas"
	"github.com/pulumi/pulumi-aws/sdk/v6/go/aws/ssm"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
)

// ask puts every question that depends on the configuration alone, by plain data-source calls, so that the answers are
// there in preview too. Where the program cannot go on without an answer it returns an error; otherwise a failed call
// leaves the fact out and says so in Unknown.
func ask(ctx *pulumi.Context, env config.Environment, provider pulumi.InvokeOption) (facts, error) {
	f := facts{
		ZoneIDs:    map[string]string{},
		Shapes:     map[string]pool.Shape{},
		Offerings:  map[string][]string{},
		Quotas:     map[string]quota{},
		VPCSubnet:  map[string]string{},
		LiveGroups: map[string]clusterautoscaler.Live{},
		LiveNodes:  map[string]int{},
	}
	partition, err := aws.GetPartition(ctx, nil, provider)
	if err != nil {
		return f, fmt.Errorf("ask AWS for its partition (are there credentials, and is aws:region right?): %w", err)
	}
	region, err := aws.GetRegion(ctx, nil, provider)
	if err != nil {
		return f, fmt.Errorf("ask AWS for the region: %w", err)
	}
	identity, err := aws.GetCallerIdentity(ctx, nil, provider)
	if err != nil {
		return f, fmt.Errorf("ask AWS whose credentials these are: %w", err)
	}
	f.Partition, f.DNSSuffix, f.Region, f.AccountID = partition.Partition, partition.DnsSuffix, region.Name,
		identity.AccountId

	f.Caller = identity.Arn

	askZones(ctx, &f, provider)
	askVersions(ctx, &f, provider)
	askShapes(ctx, env, &f, provider)
	askNetwork(ctx, env, &f, provider)
	askQuotas(ctx, env, &f, provider)
	askLiveCluster(ctx, env, &f, provider)
	askAMIs(ctx, env, &f, provider)
	askSpotRole(ctx, env, &f, provider)
	askLiveNodes(ctx, env, &f, provider)
	return f, nil
}

func (f *facts) unknown(question string, err error) {
	f.Unknown = append(f.Unknown, fmt.Sprintf("%s: %s", question, firstLine(err)))
}

func (f *facts) unguarded(question string, err error) {
	f.Unguarded = append(f.Unguarded, fmt.Sprintf("%s could not be asked about (%s)", question, firstLine(err)))
}

func askZones(ctx *pulumi.Context, f *facts, provider pulumi.InvokeOption) {
	zones, err := aws.GetAvailabilityZones(ctx, &aws.GetAvailabilityZonesArgs{State: pulumi.StringRef("available")},
		provider)
	if err != nil {
		f.unknown("availability zones of the account", err)
		return
	}
	for i, name := range zones.Names {
		if i < len(zones.ZoneIds) {
			f.ZoneIDs[name] = zones.ZoneIds[i]
		}
	}
}

func askVersions(ctx *pulumi.Context, f *facts, provider pulumi.InvokeOption) {
	versions, err := eks.GetClusterVersions(ctx, &eks.GetClusterVersionsArgs{IncludeAll: pulumi.BoolRef(true)},
		provider)
	if err != nil {
		f.unknown("Kubernetes versions that EKS serves", err)
		return
	}
	for _, v := range versions.ClusterVersions {
		f.Versions = append(f.Versions, v.ClusterVersion)
	}
}

func askShapes(ctx *pulumi.Context, env config.Environment, f *facts, provider pulumi.InvokeOption) {
	types := []string{env.System.InstanceType}
	for _, p := range env.Pools {
		types = append(types, p.InstanceTypes...)
	}
	slices.Sort(types)
	types = slices.Compact(types)
	for _, t := range types {
		answer, err := ec2.GetInstanceType(ctx, &ec2.GetInstanceTypeArgs{InstanceType: t}, provider)
		if err != nil {
			f.unknown("instance type "+t, err)
			continue
		}
		f.Shapes[t] = shapeOf(answer)
	}
	offerings, err := ec2.GetInstanceTypeOfferings(ctx, &ec2.GetInstanceTypeOfferingsArgs{
		LocationType: pulumi.StringRef("availability-zone"),
		Filters:      []ec2.GetInstanceTypeOfferingsFilter{{Name: "instance-type", Values: types}},
	}, provider)
	if err != nil {
		f.unknown("zones that offer the instance types", err)
		if slices.ContainsFunc(env.Pools, func(p config.Pool) bool { return p.Scaler.ManagedGroup() }) {
			f.unguarded("zones that offer the instance types, which managed groups stand in,", err)
		}
		return
	}
	for _, t := range types {
		f.Offerings[t] = []string{}
	}
	for i, t := range offerings.InstanceTypes {
		if i < len(offerings.Locations) {
			f.Offerings[t] = append(f.Offerings[t], offerings.Locations[i])
		}
	}
	for _, zones := range f.Offerings {
		slices.Sort(zones)
	}
}

func shapeOf(t *ec2.GetInstanceTypeResult) pool.Shape {
	shape := pool.Shape{
		InstanceType: t.InstanceType,
		VCPUs:        t.DefaultVcpus,
		MemoryMiB:    t.MemorySize,
		MaxENIs:      t.MaximumNetworkInterfaces,
		IPv4PerENI:   t.MaximumIpv4AddressesPerInterface,
	}
	if len(t.SupportedArchitectures) > 0 {
		shape.Architecture = t.SupportedArchitectures[0]
	}
	for _, gpu := range t.Gpuses {
		shape.GPUs += gpu.Count
		shape.GPUModel = gpu.Name
		shape.GPUMemoryMiB = gpu.MemorySize
	}
	return shape
}

func askNetwork(ctx *pulumi.Context, env config.Environment, f *facts, provider pulumi.InvokeOption) {
	existing := env.Network.Existing
	if existing == nil {
		return
	}
	vpc, err := ec2.LookupVpc(ctx, &ec2.LookupVpcArgs{Id: &existing.VPCID}, provider)
	if err != nil {
		f.unknown("VPC "+existing.VPCID, err)
	} else {
		f.VPCCIDR = vpc.CidrBlock
	}
	for _, id := range slices.Concat(existing.PrivateSubnetIDs, existing.PublicSubnetIDs) {
		answer, err := ec2.LookupSubnet(ctx, &ec2.LookupSubnetArgs{Id: &id}, provider)
		if err != nil {
			f.unknown("subnet "+id, err)
			continue
		}
		f.VPCSubnet[id] = answer.VpcId
		f.Subnets = append(f.Subnets, subnet{
			ID:            id,
			Zone:          answer.AvailabilityZone,
			CIDR:          answer.CidrBlock,
			FreeAddresses: answer.AvailableIpAddressCount,
			Public:        slices.Contains(existing.PublicSubnetIDs, id),
		})
	}
}

func askQuotas(ctx *pulumi.Context, env config.Environment, f *facts, provider pulumi.InvokeOption) {
	var codes []string
	for _, p := range env.Pools {
		for _, use := range capacityplan.QuotaUses(p.InstanceTypes[0], 1, p.CapacityTypes) {
			codes = append(codes, use.Limit)
		}
	}
	slices.Sort(codes)
	for _, code := range slices.Compact(codes) {
		answer, err := servicequotas.LookupServiceQuota(ctx, &servicequotas.LookupServiceQuotaArgs{
			ServiceCode: "ec2",
			QuotaCode:   &code,
		}, provider)
		if err != nil {
			f.Quotas[code] = quota{Reason: firstLine(err)}
			f.unknown("service quota "+code, err)
			continue
		}
		f.Quotas[code] = quota{VCPUs: int(answer.Value)}
	}
}

// askLiveCluster looks before it asks: a lookup of what is absent is an error, and an error must not read as absence.
func askLiveCluster(ctx *pulumi.Context, env config.Environment, f *facts, provider pulumi.InvokeOption) {
	clusters, err := eks.GetClusters(ctx, provider)
	if err != nil {
		f.unguarded("clusters of the account", err)
		return
	}
	names := liveNames(clusters.Names, env.Cluster)
	if len(names) != 1 {
		if len(names) > 1 {
			f.Unknown = append(f.Unknown, fmt.Sprintf("which of the clusters %s is this stack's; what runs in it is "+
				"not compared with the configuration",
				strings.Join(names, ", ")))
		}
		return
	}
	name := names[0]
	cluster, err := eks.LookupCluster(ctx, &eks.LookupClusterArgs{Name: name}, provider)
	if err != nil {
		f.unguarded("cluster "+name, err)
		return
	}
	f.LiveName = name
	f.LiveVersion = cluster.Version
	auto := false
	for _, c := range cluster.ComputeConfigs {
		auto, f.LiveAutoRole = c.Enabled, c.NodeRoleArn
	}
	f.LiveAuto = &auto
	if !env.Uses(pool.ClusterAutoscaler) && !env.Uses(pool.Fixed) {
		return
	}
	groups, err := eks.GetNodeGroups(ctx, &eks.GetNodeGroupsArgs{ClusterName: name}, provider)
	if err != nil {
		f.unguarded("node groups of "+name, err)
		return
	}
	for _, group := range groups.Names {
		askLiveGroup(ctx, f, name, group, provider)
	}
}

func askLiveGroup(ctx *pulumi.Context, f *facts, cluster, name string, provider pulumi.InvokeOption) {
	group, err := eks.LookupNodeGroup(ctx, &eks.LookupNodeGroupArgs{ClusterName: cluster, NodeGroupName: name},
		provider)
	if err != nil || len(group.ScalingConfigs) == 0 {
		f.unguarded("node group "+name, err)
		return
	}
	s := group.ScalingConfigs[0]
	f.LiveGroups[name] = clusterautoscaler.Live{
		Exists: true, Updating: group.Status == "UPDATING", Min: s.MinSize, Max: s.MaxSize, Desired: s.DesiredSize,
	}
}

// askAMIs looks for the pinned releases among the public parameters of the region.
// https://docs.aws.amazon.com/eks/latest/userguide/retrieve-ami-id.html
func askAMIs(ctx *pulumi.Context, env config.Environment, f *facts, provider pulumi.InvokeOption) {
	for _, image := range pinnedImages(env, *f) {
		name := fmt.Sprintf(
			"/aws/service/eks/optimized-ami/%[1]s/amazon-linux-2023/%[2]s/%[3]s/amazon-eks-node-al2023-%[2]s-%[3]s-%[1]s-v%[4]s/image_id",
			env.Cluster.KubernetesVersion, image.architecture, image.variant, image.date)
		_, err := ssm.LookupParameter(ctx, &ssm.LookupParameterArgs{Name: name}, provider)
		switch {
		case err == nil:
		case absent(err):
			f.MissingAMIs = append(f.MissingAMIs, fmt.Sprintf("%s (%s %s image for Kubernetes %s)",
				image.release, image.architecture, image.variant, env.Cluster.KubernetesVersion))
		default:
			f.unknown("AMI release "+image.release, err)
		}
	}
}

func askSpotRole(ctx *pulumi.Context, env config.Environment, f *facts, provider pulumi.InvokeOption) {
	if !env.UsesSpot() {
		return
	}
	_, err := iam.LookupRole(ctx, &iam.LookupRoleArgs{Name: "AWSServiceRoleForEC2Spot"}, provider)
	switch {
	case err == nil:
		f.SpotRole = pulumi.BoolRef(true)
	case absent(err):
		f.SpotRole = pulumi.BoolRef(false)
	default:
		f.unknown("service-linked role for spot", err)
	}
}

// askLiveNodes counts what runs before pools are handed over, since handing over the wrong way deletes it.
func askLiveNodes(ctx *pulumi.Context, env config.Environment, f *facts, provider pulumi.InvokeOption) {
	if env.GitOps.NodePools != "manifests" || env.GitOps.Applied || f.LiveName == "" {
		return
	}
	for _, name := range handedOver(env) {
		answer, err := ec2.GetInstances(ctx, &ec2.GetInstancesArgs{
			InstanceTags: pool.InstanceTags(f.LiveName, name), InstanceStateNames: []string{"running"},
		}, provider)
		if err != nil {
			f.unguarded("running nodes of pool "+name, err)
			continue
		}
		f.LiveNodes[name] = len(answer.Ids)
	}
}

// absent tells an answer "there is no such thing" from a failed question. Data sources report both as errors, in AWS's
// or the provider's words.
func absent(err error) bool {
	text := err.Error()
	return slices.ContainsFunc([]string{"ParameterNotFound", "NoSuchEntity", "NotFoundException",
		"couldn't find resource", "empty result"},
		func(words string) bool { return strings.Contains(text, words) })
}

// firstLine of an error, without the provider's stack of wrapping.
func firstLine(err error) string {
	if err == nil {
		return "no answer"
	}
	text := strings.TrimSpace(err.Error())
	line, _, _ := strings.Cut(text, "\n")
	return line
}
