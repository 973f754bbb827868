// Package gpu makes the GPUs of nodes claimable: NVIDIA's device plugin for pools of device mode plugin, NVIDIA's DRA
// driver for pools of device mode dra.
//
// It owns the two charts and where their agents run. It does not own the GPU driver, which comes with the node's image,
// and installs nothing for Auto Mode, whose nodes bring everything.
package gpu

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"strings"

	"github.com/headroom-eks/headroom/components/chart"
	"github.com/headroom-eks/headroom/pool"
	helm "github.com/pulumi/pulumi-kubernetes/sdk/v4/go/kubernetes/helm/v4"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
)

const devicesType = "headroom:gpu:Devices"

// Args of the agents.
type Args struct {
	// Targets are all GPU pools of the cluster. A chart is installed when one of them needs it.
	Targets []Target
	// Versions of the charts. Defaults DefaultDevicePluginVersion and DefaultDRADriverVersion.
	DevicePluginVersion, DRADriverVersion string
	// Repository replaces both charts' own, for clusters that reach only a mirror: https://, or oci:// up to the folder
	// of the charts.
	Repository string
	// Needs must exist before the agents and outlive them: what lets the cluster take objects.
	Needs []pulumi.Resource
}

// Devices are the agents that advertise GPUs.
type Devices struct {
	pulumi.ResourceState

	// DevicePlugin and DRADriver are set when their chart is installed.
	DevicePlugin, DRADriver bool
}

// New installs the agents that the pools need. The caller passes a kubernetes provider.
func New(ctx *pulumi.Context, name string, args *Args, opts ...pulumi.ResourceOption) (*Devices, error) {
	if args == nil {
		return nil, fmt.Errorf("gpu %q: no arguments were given", name)
	}
	a := args.withDefaults()
	if err := a.validate(fmt.Sprintf("gpu %q", name)).Err(); err != nil {
		return nil, err
	}
	plugin, dra := With(pool.Plugin, a.Targets), With(pool.DRA, a.Targets)
	c := &Devices{DevicePlugin: len(plugin) > 0, DRADriver: len(dra) > 0}
	outputs := pulumi.Map{"devicePlugin": pulumi.Bool(c.DevicePlugin), "draDriver": pulumi.Bool(c.DRADriver)}
	if err := ctx.RegisterComponentResourceV2(devicesType, name, outputs, c, opts...); err != nil {
		return nil, fmt.Errorf("register %s: %w", name, err)
	}
	if c.DevicePlugin {
		if err := c.install(ctx, name+"-device-plugin", devicePlugin, a.DevicePluginVersion, DevicePluginValues(plugin),
			a); err != nil {
			return nil, err
		}
	}
	if c.DRADriver {
		// The chart has no value for it.
		only := pulumi.Transforms([]pulumi.ResourceTransform{withoutExtendedResource})
		if err := c.install(ctx, name+"-dra-driver", draDriver, a.DRADriverVersion, DRADriverValues(dra), a,
			only); err != nil {
			return nil, err
		}
	}
	return c, ctx.RegisterResourceOutputs(c, outputs)
}

func (c *Devices) install(ctx *pulumi.Context, name string, from source, version string, values map[string]any, a Args,
	opts ...pulumi.ResourceOption) error {
	args := chart.Args(cmp.Or(a.Repository, from.repository), from.chart, version, Namespace)
	args.Values = pulumi.ToMap(values)
	// A pool may have no node for weeks, or get one in the middle of an update: no agent has to be ready (field fault
	// BR-60).
	args.SkipAwait = pulumi.Bool(true)
	_, err := helm.NewChart(ctx, name, args, append(opts, pulumi.Parent(c), pulumi.DependsOn(a.Needs))...)
	if err != nil {
		return fmt.Errorf("install %s: %w", from.chart, err)
	}
	return nil
}

// withoutExtendedResource takes the extended resource off the driver's DeviceClass. With it Kubernetes 1.36 would also
// serve a plain request for nvidia.com/gpu from a DRA pool, so that pods meant for plugin pools took GPUs that are
// promised to claims.
// https://github.com/kubernetes/enhancements/tree/master/keps/sig-node/5004-dra-extended-resource
func withoutExtendedResource(_ context.Context, r *pulumi.ResourceTransformArgs) *pulumi.ResourceTransformResult {
	if !strings.HasPrefix(r.Type, "kubernetes:resource.k8s.io/") || !strings.HasSuffix(r.Type, ":DeviceClass") {
		return nil
	}
	spec, ok := r.Props["spec"].(pulumi.Map)
	if !ok {
		return nil
	}
	props := maps.Clone(r.Props)
	spec = maps.Clone(spec)
	delete(spec, "extendedResourceName")
	props["spec"] = spec
	return &pulumi.ResourceTransformResult{Props: props, Opts: r.Opts}
}
