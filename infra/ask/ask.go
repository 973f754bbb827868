package ask

import (
	"fmt"
	"slices"
	"strings"

	capacityplan "github.com/headroom-eks/headroom/capacity/plan"
	"github.com/headroom-eks/headroom/components/network"
	"github.com/headroom-eks/headroom/infra/config"
	"github.com/headroom-eks/headroom/pool"
	"github.com/pulumi/pulumi-aws/sdk/v6/go/aws"
	"github.com/pulumi/pulumi-aws/sdk/v6/go/aws/ec2"
	"github.com/pulumi/pulumi-aws/sdk/v6/go/aws/eks"
	"github.com/pulumi/pulumi-aws/sdk/v6/go/aws/iam"
	"github.com/pulumi/pulumi-aws/sdk/v6/go/aws/servicequotas"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
)

// asker puts the questions of one environment, by plain data-source calls, so that answers are there in preview too.
type asker struct {
	ctx      *pulumi.Context
	provider pulumi.InvokeOption
	env      config.Environment
	answers  Answers
}

// AWS asks everything that depends on the configuration alone. The error says that there are no usable credentials;
// any other question that fails is an answer without a value.
func AWS(ctx *pulumi.Context, env config.Environment, provider pulumi.InvokeOption) (Answers, error) {
	a := &asker{ctx: ctx, provider: provider, env: env, answers: Answers{
		Shapes:       map[string]Answer[pool.Shape]{},
		Offerings:    map[string]Answer[[]string]{},
		Quotas:       map[string]Answer[int]{},
		RunningNodes: map[string]Answer[int]{},
		Displaced:    map[string]Answer[int]{},
		Endpoints:    map[string]Answer[[]string]{},
	}}
	if err := a.account(); err != nil {
		return a.answers, err
	}
	a.zones()
	a.versions()
	a.shapes()
	a.offerings()
	a.network()
	a.endpoints()
	a.quotas()
	a.former()
	a.live()
	a.entries()
	a.images()
	a.spotRole()
	a.runningNodes()
	a.displaced()
	return a.answers, nil
}

func (a *asker) account() error {
	partition, err := aws.GetPartition(a.ctx, nil, a.provider)
	if err != nil {
		return fmt.Errorf("ask AWS for its partition (are there credentials, and is aws:region right?): %w", err)
	}
	region, err := aws.GetRegion(a.ctx, nil, a.provider)
	if err != nil {
		return fmt.Errorf("ask AWS for the region: %w", err)
	}
	identity, err := aws.GetCallerIdentity(a.ctx, nil, a.provider)
	if err != nil {
		return fmt.Errorf("ask AWS whose credentials these are: %w", err)
	}
	a.answers.Account = Account{
		Partition: partition.Partition,
		DNSSuffix: partition.DnsSuffix,
		Region:    region.Name,
		ID:        identity.AccountId,
		CallerArn: identity.Arn,
		Stack:     a.ctx.Project() + "/" + a.ctx.Stack(),
	}
	return nil
}

func (a *asker) zones() {
	zones, err := aws.GetAvailabilityZones(a.ctx,
		&aws.GetAvailabilityZonesArgs{State: pulumi.StringRef("available")}, a.provider)
	if err != nil {
		a.answers.ZoneIDs = missing[map[string]string](&a.answers, "availability zones of the account", err)
		return
	}
	ids := map[string]string{}
	for i, name := range zones.Names {
		if i < len(zones.ZoneIds) {
			ids[name] = zones.ZoneIds[i]
		}
	}
	a.answers.ZoneIDs = Known(ids)
}

func (a *asker) versions() {
	served, err := eks.GetClusterVersions(a.ctx,
		&eks.GetClusterVersionsArgs{IncludeAll: pulumi.BoolRef(true)}, a.provider)
	if err != nil {
		a.answers.KubernetesVersions = missing[[]string](&a.answers, "Kubernetes versions that EKS serves", err)
		return
	}
	var versions []string
	for _, v := range served.ClusterVersions {
		versions = append(versions, v.ClusterVersion)
	}
	a.answers.KubernetesVersions = Known(versions)
}

// instanceTypes of all pools and of the system group.
func (a *asker) instanceTypes() []string {
	types := []string{a.env.System.InstanceType}
	for _, p := range a.env.Pools {
		types = append(types, p.InstanceTypes...)
	}
	slices.Sort(types)
	return slices.Compact(types)
}

func (a *asker) shapes() {
	for _, t := range a.instanceTypes() {
		described, err := ec2.GetInstanceType(a.ctx, &ec2.GetInstanceTypeArgs{InstanceType: t}, a.provider)
		if err != nil {
			a.answers.Shapes[t] = missing[pool.Shape](&a.answers, "instance type "+t, err)
			continue
		}
		a.answers.Shapes[t] = Known(shapeOf(described))
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

// offerings guard managed groups: which zones offer a type decides in which subnets a group stands, and EKS replaces
// a group whose subnets change.
func (a *asker) offerings() {
	types := a.instanceTypes()
	answer, err := ec2.GetInstanceTypeOfferings(a.ctx, &ec2.GetInstanceTypeOfferingsArgs{
		LocationType: pulumi.StringRef("availability-zone"),
		Filters:      []ec2.GetInstanceTypeOfferingsFilter{{Name: "instance-type", Values: types}},
	}, a.provider)
	if err != nil {
		unknown := missing[[]string](&a.answers, "zones that offer the instance types", err)
		if a.env.UsesManagedGroups() {
			unguarded[[]string](&a.answers, "zones that offer the instance types, which managed groups stand in,", err)
		}
		for _, t := range types {
			a.answers.Offerings[t] = unknown
		}
		return
	}
	zones := map[string][]string{}
	for i, t := range answer.InstanceTypes {
		if i < len(answer.Locations) {
			zones[t] = append(zones[t], answer.Locations[i])
		}
	}
	for _, t := range types {
		slices.Sort(zones[t])
		a.answers.Offerings[t] = Known(zones[t])
	}
}

func (a *asker) network() {
	existing := a.env.Network.Existing
	if existing == nil {
		return
	}
	n := &a.answers.Network
	vpc, err := ec2.LookupVpc(a.ctx, &ec2.LookupVpcArgs{Id: &existing.VpcID}, a.provider)
	if err != nil {
		n.CIDR = missing[string](&a.answers, "VPC "+existing.VpcID, err)
	} else {
		n.CIDR = Known(vpc.CidrBlock)
		for attribute, on := range map[string]bool{
			"enableDnsHostnames": vpc.EnableDnsHostnames,
			"enableDnsSupport":   vpc.EnableDnsSupport,
		} {
			if !on {
				n.Off = append(n.Off, attribute)
			}
		}
		slices.Sort(n.Off)
	}
	for i, id := range slices.Concat(existing.PrivateSubnetIDs, existing.PublicSubnetIDs) {
		s := Subnet{ID: id, Public: i >= len(existing.PrivateSubnetIDs)}
		if description, err := DescribeSubnet(a.ctx, id, a.provider); err != nil {
			s.Found = missing[SubnetDescription](&a.answers, "subnet "+id, err)
		} else {
			s.Found = Known(description)
		}
		n.Subnets = append(n.Subnets, s)
	}
}

// endpoints of a new network: whether the region has the services.
func (a *asker) endpoints() {
	n := a.env.Network
	if n.Existing != nil {
		return
	}
	account := a.answers.Account
	for _, service := range network.Endpoints(network.NAT(n.NATGateways), n.InterfaceEndpoints) {
		name := network.ServiceName(account.Partition, account.Region, service)
		found, err := ec2.LookupVpcEndpointService(a.ctx, &ec2.LookupVpcEndpointServiceArgs{
			ServiceName: &name,
			ServiceType: pulumi.StringRef("Interface"), // some have a gateway too
		}, a.provider)
		switch {
		case err == nil: // GovCloud says no zones
			a.answers.Endpoints[name] = Known(append([]string{}, found.AvailabilityZones...))
		case absent(err):
			a.answers.Endpoints[name] = Known[[]string](nil)
		default:
			a.answers.Endpoints[name] = missing[[]string](&a.answers, "endpoint service "+name, err)
		}
	}
}

// DescribeSubnet asks EC2 about one subnet.
func DescribeSubnet(ctx *pulumi.Context, id string, provider pulumi.InvokeOption) (SubnetDescription, error) {
	s, err := ec2.LookupSubnet(ctx, &ec2.LookupSubnetArgs{Id: &id}, provider)
	if err != nil {
		return SubnetDescription{}, err
	}
	return SubnetDescription{
		VpcID:         s.VpcId,
		Zone:          s.AvailabilityZone,
		CIDR:          s.CidrBlock,
		FreeAddresses: s.AvailableIpAddressCount,
	}, nil
}

func (a *asker) quotas() {
	var codes []string
	for _, p := range a.env.Pools {
		for _, use := range capacityplan.QuotaUses(p.InstanceTypes[0], 1, p.CapacityTypes) {
			codes = append(codes, use.Limit)
		}
	}
	if !a.env.UsesAutoMode() {
		codes = append(codes, capacityplan.StandardQuota) // of the system group
	}
	slices.Sort(codes)
	for _, code := range slices.Compact(codes) {
		answer, err := servicequotas.LookupServiceQuota(a.ctx,
			&servicequotas.LookupServiceQuotaArgs{ServiceCode: "ec2", QuotaCode: &code}, a.provider)
		if err != nil {
			a.answers.Quotas[code] = missing[int](&a.answers, "service quota "+code, err)
			continue
		}
		a.answers.Quotas[code] = Known(int(answer.Value))
	}
}

func (a *asker) spotRole() {
	if !a.env.UsesSpot() {
		return
	}
	_, err := iam.LookupRole(a.ctx, &iam.LookupRoleArgs{Name: "AWSServiceRoleForEC2Spot"}, a.provider)
	switch {
	case err == nil:
		a.answers.SpotRole = Known(true)
	case absent(err):
		a.answers.SpotRole = Known(false)
	default:
		a.answers.SpotRole = missing[bool](&a.answers, "service-linked role for spot", err)
	}
}

// absent tells an answer "there is no such thing" from a failed question. Data sources report both as errors, in AWS's
// or the provider's words.
func absent(err error) bool {
	text := err.Error()
	return slices.ContainsFunc([]string{"ParameterNotFound", "NoSuchEntity", "NotFoundException",
		"couldn't find resource", "empty result", "InvalidServiceName",
		"no matching EC2 VPC Endpoint Service"}, func(words string) bool { return strings.Contains(text, words) })
}

// FirstLine of an error, without the provider's stack of wrapping.
func FirstLine(err error) string {
	if err == nil {
		return "no answer"
	}
	line, _, _ := strings.Cut(strings.TrimSpace(err.Error()), "\n")
	return line
}
