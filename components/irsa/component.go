// Package irsa gives one Kubernetes service account one IAM role (IAM Roles for Service Accounts).
//
// It owns the role, its trust policy, its customer managed policies and their attachments. It does not own what the
// policies say (each controller's component does), nor the service account, nor the cluster's OIDC provider.
package irsa

import (
	"fmt"
	"maps"
	"slices"

	"github.com/headroom-eks/headroom/components/handle"
	"github.com/pulumi/pulumi-aws/sdk/v6/go/aws/iam"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
)

const roleType = "headroom:irsa:Role"

// Args of a role.
type Args struct {
	// Cluster of the service account: its OIDC provider, issuer and tags are used.
	Cluster handle.Cluster
	// Namespace and ServiceAccount are the only ones that may assume the role.
	Namespace, ServiceAccount string
	// Policies are policy documents as JSON, by a key that is stable ("controller"). Each becomes a customer managed
	// policy: its limit of 6144 characters is its own, while inline policies share one.
	Policies map[string]pulumi.StringInput
	// ManagedPolicyArns are policies that exist, by a stable key. Plain strings, so that no attachment is ever replaced
	// because an ARN turned unknown (field fault BR-47).
	ManagedPolicyArns map[string]string
}

// Role of one service account.
type Role struct {
	pulumi.ResourceState

	Arn  pulumi.StringOutput
	Name pulumi.StringOutput
	// Ready must exist before what needs the permissions, and outlive it: the policy attachments. The role alone is not
	// enough.
	Ready []pulumi.Resource
}

// New makes the role. The name is at most 51 characters long.
func New(ctx *pulumi.Context, name string, args *Args, opts ...pulumi.ResourceOption) (*Role, error) {
	if err := validate(name, args).Err(); err != nil {
		return nil, err
	}
	c := &Role{}
	inputs := pulumi.Map{
		"namespace":      pulumi.String(args.Namespace),
		"serviceAccount": pulumi.String(args.ServiceAccount),
	}
	if err := ctx.RegisterComponentResourceV2(roleType, name, inputs, c, opts...); err != nil {
		return nil, fmt.Errorf("register %s: %w", name, err)
	}
	trust := pulumi.All(args.Cluster.OIDCProviderArn, args.Cluster.Issuer).ApplyT(func(v []any) (string, error) {
		provider, _ := v[0].(string)
		issuer, _ := v[1].(string)
		return trustJSON(Subject{
			ProviderArn:    provider,
			Issuer:         issuer,
			Namespace:      args.Namespace,
			ServiceAccount: args.ServiceAccount,
		})
	}).(pulumi.StringOutput)
	role, err := iam.NewRole(ctx, name+"-role", &iam.RoleArgs{
		Description: pulumi.Sprintf("Pods of service account %s in namespace %s", args.ServiceAccount,
			args.Namespace),
		AssumeRolePolicy: trust,
		Tags:             pulumi.ToStringMap(args.Cluster.Tags),
	}, pulumi.Parent(c))
	if err != nil {
		return nil, fmt.Errorf("create role of %s: %w", name, err)
	}
	for _, key := range slices.Sorted(maps.Keys(args.Policies)) {
		policy, err := iam.NewPolicy(ctx, name+"-"+key, &iam.PolicyArgs{
			Policy: args.Policies[key],
			Tags:   pulumi.ToStringMap(args.Cluster.Tags),
		}, pulumi.Parent(c))
		if err != nil {
			return nil, fmt.Errorf("create policy %s of %s: %w", key, name, err)
		}
		if err := c.attach(ctx, name+"-"+key, role, policy.Arn); err != nil {
			return nil, err
		}
	}
	for _, key := range slices.Sorted(maps.Keys(args.ManagedPolicyArns)) {
		if err := c.attach(ctx, name+"-"+key, role, pulumi.String(args.ManagedPolicyArns[key])); err != nil {
			return nil, err
		}
	}
	c.Arn, c.Name = role.Arn, role.Name
	return c, ctx.RegisterResourceOutputs(c, pulumi.Map{"arn": c.Arn, "name": c.Name})
}

func (c *Role) attach(ctx *pulumi.Context, name string, role *iam.Role, policy pulumi.StringInput) error {
	// Made before the old one is deleted, an attachment of the same policy would be removed by that deletion (field
	// fault BR-47).
	a, err := iam.NewRolePolicyAttachment(ctx, name, &iam.RolePolicyAttachmentArgs{
		Role:      role.Name,
		PolicyArn: policy,
	}, pulumi.Parent(c), pulumi.DeleteBeforeReplace(true))
	if err != nil {
		return fmt.Errorf("attach policy %s: %w", name, err)
	}
	c.Ready = append(c.Ready, a)
	return nil
}
