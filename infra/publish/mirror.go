package publish

import (
	"fmt"

	"github.com/headroom-eks/headroom/capacity"
	"github.com/headroom-eks/headroom/infra/build"
	"github.com/headroom-eks/headroom/infra/plan"
	"github.com/pulumi/pulumi-aws/sdk/v6/go/aws/ssm"
	corev1 "github.com/pulumi/pulumi-kubernetes/sdk/v4/go/kubernetes/core/v1"
	metav1 "github.com/pulumi/pulumi-kubernetes/sdk/v4/go/kubernetes/meta/v1"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
)

// parameterLimit of an advanced parameter, in bytes.
// https://docs.aws.amazon.com/systems-manager/latest/userguide/parameter-store-advanced-parameters.html
const parameterLimit = 8192

// mirror publishes the same document where a reader without access to the stack finds it. It is written anew by every
// update, since a document says when it was observed.
func mirror(ctx *pulumi.Context, p plan.Plan, made *build.Made, document pulumi.StringOutput) error {
	settings := p.Environment.Capacity
	if settings.ConfigMap {
		if _, err := corev1.NewConfigMap(ctx, "capacity", &corev1.ConfigMapArgs{
			Metadata: metav1.ObjectMetaArgs{
				Name:      pulumi.String("headroom-capacity"),
				Namespace: pulumi.String("kube-system"),
			},
			Data: pulumi.StringMap{"capacity.json": document},
		}, pulumi.Provider(made.Kubernetes)); err != nil {
			return fmt.Errorf("publish capacity as a ConfigMap: %w", err)
		}
	}
	name := settings.SSMParameter
	if name == "" {
		return nil
	}
	fitted := document.ApplyT(func(text string) (string, error) {
		short, err := capacity.Fitted(text, parameterLimit)
		if err != nil {
			return "", fmt.Errorf("%w into parameter %s; set capacity.configMap instead of capacity.ssmParameter", err,
				name)
		}
		return short, nil
	}).(pulumi.StringOutput)
	if _, err := ssm.NewParameter(ctx, "capacity", &ssm.ParameterArgs{
		Name:  pulumi.String(name),
		Type:  pulumi.String("String"),
		Value: fitted,
		Tags:  pulumi.ToStringMap(p.Environment.Tags),
		// A document of many pools is longer than the 4 KiB of a standard parameter.
		Tier: pulumi.String("Intelligent-Tiering"),
	}, pulumi.Provider(made.AWS)); err != nil {
		return fmt.Errorf("publish capacity as parameter %s: %w", name, err)
	}
	return nil
}
