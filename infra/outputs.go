package infra

import (
	"encoding/json"
	"fmt"
	"maps"

	"github.com/headroom-eks/headroom/capacity"
	"github.com/headroom-eks/headroom/pool"
	"github.com/pulumi/pulumi-aws/sdk/v6/go/aws/ssm"
	corev1 "github.com/pulumi/pulumi-kubernetes/sdk/v4/go/kubernetes/core/v1"
	metav1 "github.com/pulumi/pulumi-kubernetes/sdk/v4/go/kubernetes/meta/v1"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
)

// outputs observes the pools and publishes everything that the stack promises.
func (s *stack) outputs() error {
	// After the pools, so that what an update made is counted by it. In the preview of a new stack it is unknown.
	published := pulumi.All(append([]any{s.cluster.Name}, s.made...)...).ApplyT(func(v []any) (string, error) {
		cluster, _ := v[0].(string)
		realized := observe(s.ctx, cluster, s.observed(), pulumi.Provider(s.aws))
		f := s.facts
		f.Subnets = freeAddresses(s.ctx, f.Subnets, pulumi.Provider(s.aws))
		text, err := json.Marshal(document(cluster, s.env, f, realized, s.options.Now()))
		return string(text), err
	}).(pulumi.StringOutput)

	// The contract is read as an object; whole numbers may reach a reader as floats (field fault BR-90).
	s.ctx.Export("capacity", published.ApplyT(func(text string) (map[string]any, error) {
		var object map[string]any
		err := json.Unmarshal([]byte(text), &object)
		return object, err
	}).(pulumi.MapOutput))
	s.ctx.Export("gpuPools", published.ApplyT(gpuPools).(pulumi.ArrayOutput))

	s.ctx.Export("clusterName", s.cluster.Name)
	s.ctx.Export("region", pulumi.String(s.facts.Region))
	s.ctx.Export("clusterEndpoint", s.cluster.Endpoint)
	s.ctx.Export("clusterCertificateAuthority", s.cluster.CertificateAuthority)
	s.ctx.Export("kubeconfig", s.cluster.Kubeconfig)
	s.ctx.Export("oidcProviderArn", s.cluster.OIDCProviderArn)
	if s.env.Uses(pool.Karpenter) {
		s.ctx.Export("interruptionQueueName", s.interruptionQueueName)
		s.ctx.Export("karpenterNodeRoleName", s.karpenterNodeRoleName)
	}
	if len(s.manifests) > 0 {
		s.ctx.Export("manifests", merge(s.manifests))
	}
	return s.mirror(published)
}

// observed are the pools whose instances are counted.
func (s *stack) observed() (pools []observed) {
	zones := networkZones(s.env, s.facts)
	if !s.env.Uses(pool.AutoMode) {
		pools = append(pools, observed{
			name:          systemPool,
			groups:        s.groups[systemPool],
			zones:         zones,
			capacityTypes: []pool.CapacityType{pool.OnDemand},
		})
	}
	if g := s.env.General; g != nil {
		pools = append(pools, observed{name: generalPool, zones: zones, capacityTypes: g.CapacityTypes})
	}
	for _, p := range s.env.Pools {
		pools = append(pools, observed{
			name:          p.Name,
			groups:        s.groups[p.Name],
			zones:         zones,
			capacityTypes: p.CapacityTypes,
		})
	}
	return pools
}

func gpuPools(text string) ([]any, error) {
	var doc capacity.Document
	if err := json.Unmarshal([]byte(text), &doc); err != nil {
		return nil, err
	}
	written, err := json.Marshal(capacity.GPUPools(doc))
	if err != nil {
		return nil, err
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
			if files, ok := part.(map[string]string); ok {
				maps.Copy(merged, files)
			}
		}
		return merged
	}).(pulumi.StringMapOutput)
}

// parameterLimit of an advanced parameter, in bytes.
// https://docs.aws.amazon.com/systems-manager/latest/userguide/parameter-store-advanced-parameters.html
const parameterLimit = 8192

// mirror publishes the same document where a reader without access to the stack finds it. It is written anew by every
// update, since a document says when it was observed.
func (s *stack) mirror(published pulumi.StringOutput) error {
	if s.env.Capacity.ConfigMap {
		if _, err := corev1.NewConfigMap(s.ctx, "capacity", &corev1.ConfigMapArgs{
			Metadata: metav1.ObjectMetaArgs{Name: pulumi.String("headroom-capacity"),
				Namespace: pulumi.String("kube-system")},
			Data: pulumi.StringMap{"capacity.json": published},
		}, pulumi.Provider(s.kubernetes)); err != nil {
			return fmt.Errorf("publish capacity as a ConfigMap: %w", err)
		}
	}
	if name := s.env.Capacity.SSMParameter; name != "" {
		text := published.ApplyT(func(text string) (string, error) {
			fitted, err := capacity.Fitted(text, parameterLimit)
			if err != nil {
				return "", fmt.Errorf("%w into parameter %s; set capacity.configMap instead of capacity.ssmParameter",
					err, name)
			}
			return fitted, nil
		}).(pulumi.StringOutput)
		if _, err := ssm.NewParameter(s.ctx, "capacity", &ssm.ParameterArgs{
			Name: pulumi.String(name), Type: pulumi.String("String"), Value: text, Tags: pulumi.ToStringMap(s.env.Tags),
			// A document of many pools is longer than the 4 KiB of a standard parameter.
			Tier: pulumi.String("Intelligent-Tiering"),
		}, pulumi.Provider(s.aws)); err != nil {
			return fmt.Errorf("publish capacity as parameter %s: %w", name, err)
		}
	}
	return nil
}
