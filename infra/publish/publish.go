// Package publish counts what exists, computes the capacity contract and publishes it: stack outputs and mirrors.
//
// It owns the questions that can only be asked when the pools exist, the stack's outputs, and where the document is
// mirrored. It does not own the arithmetic (package capacity/plan) nor what it is told of a pool (package plan).
package publish

import (
	"encoding/json"
	"fmt"
	"maps"
	"time"

	"github.com/headroom-eks/headroom/capacity"
	"github.com/headroom-eks/headroom/infra/build"
	"github.com/headroom-eks/headroom/infra/plan"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi/internals"
)

// Outputs observes the pools and publishes everything that the stack promises. Now is the clock of the document.
func Outputs(ctx *pulumi.Context, p plan.Plan, made *build.Made, now func() time.Time) error {
	document := observe(ctx, p, made, now)

	// The contract is read as an object; whole numbers may reach a reader as floats (field fault BR-90).
	ctx.Export("capacity", document.ApplyT(func(text string) (map[string]any, error) {
		var object map[string]any
		err := json.Unmarshal([]byte(text), &object)
		return object, err
	}).(pulumi.MapOutput))
	ctx.Export("gpuPools", document.ApplyT(gpuPools).(pulumi.ArrayOutput))

	ctx.Export("clusterName", made.Cluster.Name)
	ctx.Export("region", pulumi.String(p.Account.Region))
	ctx.Export("clusterEndpoint", made.Cluster.Endpoint)
	ctx.Export("clusterCertificateAuthority", made.Cluster.CertificateAuthority)
	ctx.Export("kubeconfig", made.Cluster.Kubeconfig)
	ctx.Export("secretsKey", pulumi.Map{
		"arn":  made.Cluster.SecretsKeyArn,
		"made": pulumi.Bool(p.Environment.Cluster.SecretsKeyArn == ""),
	})
	ctx.Export("oidcProviderArn", made.Cluster.OIDCProviderArn)
	if p.Environment.UsesKarpenter() {
		ctx.Export("interruptionQueueName", made.InterruptionQueueName)
		ctx.Export("karpenterNodeRoleName", made.KarpenterNodeRoleName)
		if made.KarpenterInstanceProfileName != nil {
			ctx.Export("karpenterInstanceProfileName", made.KarpenterInstanceProfileName)
		}
	}
	ctx.Export("gitOpsNodePools", pulumi.String(p.Environment.GitOps.NodePools))
	if len(made.Manifests) > 0 {
		ctx.Export("manifests", merge(made.Manifests))
	}
	return mirror(ctx, p, made, document)
}

// observe computes the document after the pools, so that what an update made is counted by it. In the preview of a new
// stack it is unknown. In an update it does not hang on any pool: one that was left out (--target) or could not be made
// (--continue-on-error) has no known output, and promises what runs.
func observe(ctx *pulumi.Context, p plan.Plan, made *build.Made, now func() time.Time) pulumi.StringOutput {
	needs := []any{made.Cluster.Name}
	if ctx.DryRun() {
		for _, one := range made.Parts {
			needs = append(needs, one.Ready)
		}
	}
	return pulumi.All(needs...).ApplyT(func(v []any) (string, error) {
		name, _ := v[0].(string)
		o := plan.Observed{Cluster: name, NotMade: map[string]bool{}}
		if !ctx.DryRun() {
			for _, one := range made.Parts {
				if _, known := await(ctx, one.Ready); !known {
					o.NotMade[one.Pool] = true
				}
			}
		}
		c := counter{
			ctx:      ctx,
			provider: pulumi.Provider(made.AWS),
			cluster:  name,
			zones:    p.Network.Zones,
		}
		for _, one := range p.Pools {
			c.pools = append(c.pools, one.Name())
		}
		o.Now = now()
		o.Realized, o.Displaced = c.all(p.Pools)
		o.OthersVCPUs = c.others(p.Quotas)
		o.FreeAddresses = c.freeAddresses(made.Private)
		if !ctx.DryRun() {
			o.Groups = c.groups(p.Pools)
			o.NodePools = c.nodePools(p.Pools, made.Kubeconfig, made.Dial)
			if text := heldBack(o); text != "" {
				if err := ctx.Log.Warn(text, nil); err != nil {
					return "", err
				}
			}
		}
		computed := p.Document(o)
		if ctx.DryRun() {
			if err := warnOfFalls(ctx, p.Former, computed); err != nil {
				return "", err
			}
		}
		text, err := json.Marshal(computed)
		return string(text), err
	}).(pulumi.StringOutput)
}

// await waits for an output. Its error is the update's to report; here it means that there is no value.
func await(ctx *pulumi.Context, o pulumi.Output) (value any, known bool) {
	result, err := internals.UnsafeAwaitOutput(ctx.Context(), o)
	return result.Value, err == nil && result.Known
}

func gpuPools(text string) ([]any, error) {
	var doc capacity.Document
	if err := json.Unmarshal([]byte(text), &doc); err != nil {
		return nil, fmt.Errorf("read the capacity document: %w", err)
	}
	written, err := json.Marshal(capacity.GPUPools(doc))
	if err != nil {
		return nil, fmt.Errorf("write gpuPools: %w", err)
	}
	list := []any{}
	err = json.Unmarshal(written, &list) // not in the return: Go leaves open which of the two comes first
	return list, err
}

// merge puts the files of all pools into one map; their names begin with the pool's, so none is lost.
func merge(files []pulumi.StringMapOutput) pulumi.StringMapOutput {
	all := make([]any, len(files))
	for i, f := range files {
		all[i] = f
	}
	return pulumi.All(all...).ApplyT(func(v []any) map[string]string {
		merged := map[string]string{}
		for _, part := range v {
			if one, ok := part.(map[string]string); ok {
				maps.Copy(merged, one)
			}
		}
		return merged
	}).(pulumi.StringMapOutput)
}
