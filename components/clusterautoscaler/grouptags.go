package clusterautoscaler

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/pulumi/pulumi-aws/sdk/v6/go/aws/autoscaling"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
)

const groupTagsType = "headroom:clusterautoscaler:GroupTags"

// GroupTagsArgs of one managed node group.
type GroupTagsArgs struct {
	// AsgName is the Auto Scaling group that the node group reports. EKS copies neither tags nor labels nor taints to
	// it (field faults BR-01, BR-04).
	AsgName pulumi.StringInput
	// Template of the group's nodes.
	Template Template
}

// GroupTags are the template tags on the Auto Scaling group of one managed node group.
type GroupTags struct {
	pulumi.ResourceState
}

// NewGroupTags tags one group.
func NewGroupTags(ctx *pulumi.Context, name string, args *GroupTagsArgs, opts ...pulumi.ResourceOption) (*GroupTags,
	error) {
	if args == nil || args.AsgName == nil {
		return nil, fmt.Errorf("group tags %q: the node group's Auto Scaling group is needed", name)
	}
	if err := ValidateTemplate(fmt.Sprintf("node group %q", name), args.Template).Err(); err != nil {
		return nil, err
	}
	c := &GroupTags{}
	if err := ctx.RegisterComponentResourceV2(groupTagsType, name, pulumi.Map{"asgName": args.AsgName}, c,
		opts...); err != nil {
		return nil, fmt.Errorf("register %s: %w", name, err)
	}
	asg := args.AsgName.ToStringOutput().ApplyT(func(asg string) (string, error) {
		if asg == "" {
			return "", fmt.Errorf("node group %q reports no Auto Scaling group, so it could not be tagged", name)
		}
		return asg, nil
	}).(pulumi.StringOutput)
	tags := TemplateTags(args.Template)
	for _, key := range slices.Sorted(maps.Keys(tags)) {
		_, err := autoscaling.NewTag(ctx, name+"-"+strings.TrimPrefix(key, templatePrefix), &autoscaling.TagArgs{
			AutoscalingGroupName: asg,
			Tag: autoscaling.TagTagArgs{
				Key:   pulumi.String(key),
				Value: pulumi.String(tags[key]),
				// They describe a node to the autoscaler; an instance's own tags come from the launch template.
				PropagateAtLaunch: pulumi.Bool(false),
			},
		}, pulumi.Parent(c))
		if err != nil {
			return nil, fmt.Errorf("tag %s of %s: %w", key, name, err)
		}
	}
	return c, ctx.RegisterResourceOutputs(c, pulumi.Map{"asgName": asg})
}
