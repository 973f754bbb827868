package kubernetes

import (
	"fmt"
	"maps"
	"slices"

	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi/internals"
	sdkprovider "github.com/pulumi/pulumi/sdk/v3/go/pulumi/provider"
)

const chartType = "kubernetes:helm.sh/v4:Chart"

// Chart is the component helm/v4.Chart.
type Chart struct {
	pulumi.ResourceState
	Resources pulumi.ArrayOutput `pulumi:"resources"`
}

// construct registers the objects that stand for a chart, or none while a value is unknown, as the real component does.
func construct(ctx *pulumi.Context, name string, inputs sdkprovider.ConstructInputs,
	opts pulumi.ResourceOption) (pulumi.ComponentResource, error) {
	given, err := inputs.Map()
	if err != nil {
		return nil, fmt.Errorf("helm chart %s: %w", name, err)
	}
	c := &Chart{}
	if err := ctx.RegisterComponentResourceV2(chartType, name, given, c, opts); err != nil {
		return nil, err
	}
	args, unknown, err := known(ctx, given)
	if err != nil {
		return nil, fmt.Errorf("helm chart %s: %w", name, err)
	}
	if len(unknown) > 0 {
		// A value that is not known may decide what the chart renders.
		if err := ctx.Log.Info(fmt.Sprintf("[Can't preview] all chart values must be known ahead of time to generate "+
			"an accurate preview; unknown: %v", unknown),
			&pulumi.LogArgs{Resource: c}); err != nil {
			return nil, err
		}
		c.Resources = pulumi.UnsafeUnknownOutput(nil).ApplyT(func(any) []any { return nil }).(pulumi.ArrayOutput)
		return c, ctx.RegisterResourceOutputs(c, pulumi.Map{"resources": c.Resources})
	}
	r, err := parseRelease(name, args)
	if err != nil {
		return nil, fmt.Errorf("helm chart %s: %w", name, err)
	}
	prefix := name
	if own := str(args["resourcePrefix"]); own != "" {
		prefix = own
	}
	children := pulumi.Array{}
	var definitions []pulumi.Resource
	for _, o := range r.objects() {
		child := &manifest{}
		options := []pulumi.ResourceOption{pulumi.Parent(c)}
		if o.kind() != crdKind {
			options = append(options, pulumi.DependsOn(definitions))
		}
		if err := ctx.RegisterResource(o.token(), prefix+":"+o.id(), pulumi.ToMap(o), child, options...); err != nil {
			return nil, err
		}
		if o.kind() == crdKind {
			definitions = append(definitions, child)
		}
		// By way of the URN, so that what takes the reference depends on the object.
		children = append(children,
			child.URN().ApplyT(func(pulumi.URN) pulumi.Resource { return child }).(pulumi.ResourceOutput))
	}
	c.Resources = children.ToArrayOutput()
	return c, ctx.RegisterResourceOutputs(c, pulumi.Map{"resources": c.Resources})
}

type manifest struct{ pulumi.CustomResourceState }

// known awaits every argument; unknown names those whose value, or a part of it, is not known yet.
func known(ctx *pulumi.Context, given pulumi.Map) (args map[string]any, unknown []string, err error) {
	args = map[string]any{}
	for _, key := range slices.Sorted(maps.Keys(given)) {
		result, err := internals.UnsafeAwaitOutput(ctx.Context(), pulumi.ToOutput(given[key]))
		if err != nil {
			return nil, nil, err
		}
		if !result.Known {
			unknown = append(unknown, key)
			continue
		}
		args[key] = result.Value
	}
	return args, unknown, nil
}
