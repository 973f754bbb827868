package cluster

import (
	"context"
	"maps"

	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
)

const innerType = "aws:eks/cluster:Cluster"

// controlPlane sets on the component's inner cluster what its arguments cannot express.
//
// Add-ons come only from us: EKS's own bootstrap would put unpinned ones there first. The same value is what Auto Mode
// needs, and a change of it replaces the cluster, so it never changes (field fault BR-83). The three capabilities of
// Auto Mode are all on or all off, explicitly (field fault BR-82).
func controlPlane(a Args) pulumi.ResourceTransform {
	return func(_ context.Context, r *pulumi.ResourceTransformArgs) *pulumi.ResourceTransformResult {
		if r.Type != innerType {
			return nil
		}
		props := maps.Clone(r.Props)
		props["upgradePolicy"] = pulumi.Map{"supportType": pulumi.String(a.UpgradePolicy)}
		if len(a.PublicAccessCIDRs) > 0 {
			props["vpcConfig"] = publicAccess(props["vpcConfig"], a.PublicAccessCIDRs)
		}
		props["bootstrapSelfManagedAddons"] = pulumi.Bool(false)
		props["accessConfig"] = pulumi.Map{
			"authenticationMode":                      pulumi.String("API"),
			"bootstrapClusterCreatorAdminPermissions": pulumi.Bool(CreatorIsAdmin(a.Access)),
		}
		if !a.AutoMode.Enabled {
			off := pulumi.Map{"enabled": pulumi.Bool(false)}
			props["computeConfig"] = off
			props["storageConfig"] = pulumi.Map{"blockStorage": off}
			// The address family is named because the component names it with Auto Mode on, and a change of it replaces
			// the cluster.
			network := pulumi.Map{"ipFamily": pulumi.String("ipv4")}
			if given, ok := props["kubernetesNetworkConfig"].(pulumi.Map); ok {
				maps.Copy(network, given)
			}
			network["elasticLoadBalancing"] = off
			props["kubernetesNetworkConfig"] = network
		}
		opts := r.Opts
		opts.Protect = opts.Protect || a.Protect
		// EKS reads it once. Naming the first admin later would otherwise replace the cluster.
		opts.IgnoreChanges = append(opts.IgnoreChanges[:len(opts.IgnoreChanges):len(opts.IgnoreChanges)],
			"accessConfig.bootstrapClusterCreatorAdminPermissions")
		if !a.AutoMode.Enabled {
			// The provider takes a node role that goes away for a change of the role, and replaces the cluster; EKS
			// lets it stay while Auto Mode is off. https://github.com/hashicorp/terraform-provider-aws/issues/40411
			opts.IgnoreChanges = append(opts.IgnoreChanges, "computeConfig.nodeRoleArn")
		}
		return &pulumi.ResourceTransformResult{Props: props, Opts: opts}
	}
}

// publicAccess opens the endpoint of a VPC configuration to the ranges. What is unknown of it stays so by itself.
func publicAccess(given pulumi.Input, cidrs []string) pulumi.Input {
	if vpc, ok := given.(pulumi.Map); ok {
		vpc = maps.Clone(vpc)
		vpc["endpointPublicAccess"], vpc["publicAccessCidrs"] = pulumi.Bool(true), pulumi.ToStringArray(cidrs)
		return vpc
	}
	return pulumi.ToOutput(given).ApplyT(func(v any) any {
		vpc, _ := v.(map[string]any)
		vpc = maps.Clone(vpc)
		if vpc != nil {
			vpc["endpointPublicAccess"], vpc["publicAccessCidrs"] = true, cidrs
		}
		return vpc
	})
}
