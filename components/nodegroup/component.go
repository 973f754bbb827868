// Package nodegroup makes one EKS managed node group with a launch template of its own, and the role its nodes run as.
//
// It owns how nodes start: image, disk, metadata service, tags, taints and labels. It does not own what moves their
// number, nor the tags of the Auto Scaling group (package clusterautoscaler), nor how a pool is spread over several
// groups.
//
// An update replaces nodes one at a time. EKS starts new ones first, for which it widens the group for a while, by up
// to twice the number of its zones: quota has to have room for them, and a GPU pool's maximum does not include them
// (field fault BR-17).
package nodegroup

import (
	"fmt"
	"slices"

	"github.com/headroom-eks/headroom/components/handle"
	"github.com/headroom-eks/headroom/components/network"
	"github.com/headroom-eks/headroom/pool"
	"github.com/pulumi/pulumi-aws/sdk/v6/go/aws/ec2"
	"github.com/pulumi/pulumi-aws/sdk/v6/go/aws/eks"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
)

const groupType = "headroom:nodegroup:NodeGroup"

// Args of a node group.
type Args struct {
	// Cluster that the nodes join. They get its Kubernetes version.
	Cluster handle.Cluster
	// Pool the nodes belong to.
	Pool string
	// Zone of the group, when the pool has one group in each.
	Zone string
	// Attempt at making the group, from 0: one that EKS could not make keeps its name, so the next has another.
	Attempt int
	// Role of the nodes; may be shared by all groups of a cluster.
	Role *Role
	// Subnets to start nodes in, already narrowed to the zones that offer the instance type (field fault BR-68).
	Subnets       network.Subnets
	InstanceTypes []string
	// Shape of one node; chooses the image.
	Shape        pool.Shape
	CapacityType pool.CapacityType // default on-demand
	// ReservationID of the capacity reservation to start nodes in; with capacity type reserved.
	ReservationID string
	Scaling       Scaling
	// ReleaseVersion of the AL2023 image, "1.36.3-20260911".
	ReleaseVersion string
	// DiskGiB of the encrypted root volume. Default 50, with GPUs 200.
	DiskGiB int
	Labels  map[string]string
	Taints  []pool.Taint
	// NodeRepair lets EKS replace nodes that the kubelet reports unhealthy. Faults of a GPU it sees only with the
	// add-on eks-node-monitoring-agent. https://docs.aws.amazon.com/eks/latest/userguide/node-health.html
	NodeRepair bool
	// Needs must exist before any node and outlive it, beside the role and what makes the cluster ready: routes.
	Needs []pulumi.Resource
}

// NodeGroup of a pool.
type NodeGroup struct {
	pulumi.ResourceState

	Name pulumi.StringOutput
	Arn  pulumi.StringOutput
	// AsgName of the Auto Scaling group that EKS made; never empty.
	AsgName pulumi.StringOutput
	// Ready must exist before anything that runs on the nodes, and outlive it: the group itself.
	Ready []pulumi.Resource
}

// New makes a node group.
func New(ctx *pulumi.Context, name string, args *Args, opts ...pulumi.ResourceOption) (*NodeGroup, error) {
	if args == nil {
		return nil, fmt.Errorf("node group %q: no arguments were given", name)
	}
	a := args.withDefaults()
	problems := a.validate()
	if err := problems.Err(); err != nil {
		return nil, fmt.Errorf("node group %q: %w", name, err)
	}
	c := &NodeGroup{}
	inputs := pulumi.Map{"pool": pulumi.String(a.Pool), "instanceTypes": pulumi.ToStringArray(a.InstanceTypes)}
	if a.Scaling.Scaled {
		// the policy pack reads it: a size that is sent is the live one
		inputs["desiredSizeOwner"] = pulumi.String("scaler")
	}
	if err := ctx.RegisterComponentResourceV2(groupType, name, inputs, c, opts...); err != nil {
		return nil, fmt.Errorf("register %s: %w", name, err)
	}
	tags := a.Cluster.Name.ToStringOutput().ApplyT(func(cluster string) map[string]string {
		return instanceTags(cluster, a.Pool, a.Cluster.Tags)
	}).(pulumi.StringMapOutput)
	template, err := c.launchTemplate(ctx, name, a, tags)
	if err != nil {
		return nil, err
	}
	own := []pulumi.ResourceOption{
		pulumi.Parent(c),
		// A node without its permissions never joins, and one that loses them never leaves in order.
		pulumi.DependsOn(slices.Concat(a.Cluster.Ready, a.Needs, a.Role.Ready)),
		pulumi.Timeouts(&pulumi.CustomTimeouts{Update: a.UpdateTimeout().String()}),
	}
	if a.Scaling.Scaled && !a.Scaling.Send {
		// On the group itself: on the component it would have no effect (field faults BR-13, BR-14).
		own = append(own, pulumi.IgnoreChanges([]string{"scalingConfig.desiredSize"}))
	}
	group, err := eks.NewNodeGroup(ctx, name+"-group", groupArgs(a, template, tags), own...)
	if err != nil {
		return nil, fmt.Errorf("create node group %s: %w", name, err)
	}
	c.Name, c.Arn, c.Ready = group.NodeGroupName, group.Arn, []pulumi.Resource{group}
	c.AsgName = group.Resources.ApplyT(func(resources []eks.NodeGroupResource) (string, error) {
		return asgName(a.Pool, resources)
	}).(pulumi.StringOutput)
	return c, ctx.RegisterResourceOutputs(c, pulumi.Map{"name": c.Name, "arn": c.Arn, "asgName": c.AsgName})
}

// asgName is checked: an empty name would put the scaler's tags on nothing (field fault BR-93).
func asgName(poolName string, resources []eks.NodeGroupResource) (string, error) {
	for _, r := range resources {
		for _, g := range r.AutoscalingGroups {
			if g.Name != nil && *g.Name != "" {
				return *g.Name, nil
			}
		}
	}
	return "", fmt.Errorf("the node group of pool %q reports no Auto Scaling group", poolName)
}

// groupArgs leave out the disk's size and the instance types' place in the template: EKS takes each in one place only.
func groupArgs(a Args, template *ec2.LaunchTemplate, tags pulumi.StringMapOutput) *eks.NodeGroupArgs {
	var taints eks.NodeGroupTaintArray
	for _, t := range a.Taints {
		taints = append(taints, eks.NodeGroupTaintArgs{
			Key:    pulumi.String(t.Key),
			Value:  pulumi.String(t.Value),
			Effect: pulumi.String(t.Effect.EKS()),
		})
	}
	return &eks.NodeGroupArgs{
		ClusterName:   a.Cluster.Name,
		NodeGroupName: pulumi.String(a.Name()),
		NodeRoleArn:   a.Role.Arn,
		SubnetIds:     a.Subnets.IDs(),
		InstanceTypes: pulumi.ToStringArray(a.InstanceTypes),
		AmiType:       pulumi.String(AMIType(a.Shape)),
		CapacityType:  pulumi.String(capacityType(a.CapacityType)),
		// Both, so that a group follows its control plane to the next minor in one request.
		Version:        pulumi.String(a.Cluster.KubernetesVersion),
		ReleaseVersion: pulumi.String(a.ReleaseVersion),
		Labels:         pulumi.ToStringMap(nodeLabels(a.Pool, a.Labels)),
		Taints:         taints,
		ScalingConfig: eks.NodeGroupScalingConfigArgs{
			MinSize:     pulumi.Int(a.Scaling.Min),
			DesiredSize: pulumi.Int(a.Scaling.Desired),
			MaxSize:     pulumi.Int(a.Scaling.Max),
		},
		UpdateConfig:     eks.NodeGroupUpdateConfigArgs{MaxUnavailable: pulumi.Int(maxUnavailable)},
		NodeRepairConfig: eks.NodeGroupNodeRepairConfigArgs{Enabled: pulumi.Bool(a.NodeRepair)},
		LaunchTemplate: eks.NodeGroupLaunchTemplateArgs{
			Id:      template.ID(),
			Version: pulumi.Sprintf("%d", template.LatestVersion),
		},
		Tags: tags,
	}
}

// launchTemplate has no security group: without one EKS attaches the cluster's own, the same on every node (field fault
// BR-75).
func (c *NodeGroup) launchTemplate(ctx *pulumi.Context, name string, a Args,
	tags pulumi.StringMapOutput) (*ec2.LaunchTemplate, error) {
	var specifications ec2.LaunchTemplateTagSpecificationArray
	for _, kind := range []string{"instance", "volume", "network-interface"} {
		specifications = append(specifications, ec2.LaunchTemplateTagSpecificationArgs{
			ResourceType: pulumi.String(kind),
			Tags:         tags,
		})
	}
	args := &ec2.LaunchTemplateArgs{
		Description: pulumi.Sprintf("Nodes of pool %s", a.Pool),
		MetadataOptions: ec2.LaunchTemplateMetadataOptionsArgs{
			HttpEndpoint: pulumi.String("enabled"),
			HttpTokens:   pulumi.String("required"),
			// Out of reach for pods, which get their own roles and are told region and cluster (field fault BR-78).
			HttpPutResponseHopLimit: pulumi.Int(1),
			// An account may default to "enabled"; then no instance starts that has a tag key with a slash (FR-11).
			// https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/work-with-tags-in-IMDS.html
			InstanceMetadataTags: pulumi.String("disabled"),
		},
		BlockDeviceMappings: ec2.LaunchTemplateBlockDeviceMappingArray{ec2.LaunchTemplateBlockDeviceMappingArgs{
			DeviceName: pulumi.String(rootDevice),
			Ebs: ec2.LaunchTemplateBlockDeviceMappingEbsArgs{
				VolumeType:          pulumi.String("gp3"),
				VolumeSize:          pulumi.Int(a.DiskGiB),
				Encrypted:           pulumi.String("true"),
				DeleteOnTermination: pulumi.String("true"),
			},
		}},
		TagSpecifications: specifications,
		Tags:              tags,
	}
	if a.ReservationID != "" {
		args.CapacityReservationSpecification = ec2.LaunchTemplateCapacityReservationSpecificationArgs{
			CapacityReservationTarget: ec2.LaunchTemplateCapacityReservationSpecificationCapacityReservationTargetArgs{
				CapacityReservationId: pulumi.String(a.ReservationID),
			},
		}
	}
	template, err := ec2.NewLaunchTemplate(ctx, name+"-template", args, pulumi.Parent(c))
	if err != nil {
		return nil, fmt.Errorf("create launch template of %s: %w", name, err)
	}
	return template, nil
}
