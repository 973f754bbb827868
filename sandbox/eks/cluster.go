// Package eks expands eks.Cluster of pulumi-eks v3.9.1 into the resources the real component makes, for the arguments
// this project uses.
//
// It owns names, parents, inputs, order and outputs of that expansion, held to recordings of the real component in
// testdata. It does not own what AWS makes of them. Two things of the real component are left out on purpose: it waits
// for a public endpoint to answer, and it needs the aws command on PATH; the sandbox has neither.
package eks

import (
	"fmt"
	"maps"
	"slices"

	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
	sdkprovider "github.com/pulumi/pulumi/sdk/v3/go/pulumi/provider"

	"github.com/headroom-eks/headroom/sandbox/plugin"
)

// Package is the provider package to serve.
func Package(version string) plugin.Package {
	return plugin.Package{
		Name:       "eks",
		Version:    version,
		Backend:    plugin.OnlyComponents{Package: "eks"},
		Components: map[string]plugin.Construct{clusterType: construct},
	}
}

const clusterType = "eks:index:Cluster"

// Cluster has the outputs of the real component; an output that does not apply is absent, as there.
type Cluster struct {
	pulumi.ResourceState

	AutoModeNodeRoleName    pulumi.StringOutput `pulumi:"autoModeNodeRoleName"`
	ClusterIngressRuleID    pulumi.StringOutput `pulumi:"clusterIngressRuleId"`
	ClusterSecurityGroup    pulumi.Input        `pulumi:"clusterSecurityGroup"`
	ClusterSecurityGroupID  pulumi.StringOutput `pulumi:"clusterSecurityGroupId"`
	Core                    pulumi.Map          `pulumi:"core"`
	DefaultNodeGroupAsgName pulumi.StringOutput `pulumi:"defaultNodeGroupAsgName"`
	EksCluster              pulumi.Input        `pulumi:"eksCluster"`
	EksClusterIngressRule   pulumi.Input        `pulumi:"eksClusterIngressRule"`
	FargateProfileID        pulumi.StringOutput `pulumi:"fargateProfileId"`
	FargateProfileStatus    pulumi.StringOutput `pulumi:"fargateProfileStatus"`
	InstanceRoles           pulumi.Array        `pulumi:"instanceRoles"`
	Kubeconfig              pulumi.Input        `pulumi:"kubeconfig"`
	KubeconfigJSON          pulumi.StringOutput `pulumi:"kubeconfigJson"`
	NodeSecurityGroup       pulumi.Input        `pulumi:"nodeSecurityGroup"`
	NodeSecurityGroupID     pulumi.StringOutput `pulumi:"nodeSecurityGroupId"`
	OidcIssuer              pulumi.StringOutput `pulumi:"oidcIssuer"`
	OidcProviderArn         pulumi.StringOutput `pulumi:"oidcProviderArn"`
	OidcProviderURL         pulumi.StringOutput `pulumi:"oidcProviderUrl"`
}

func construct(ctx *pulumi.Context, name string, inputs sdkprovider.ConstructInputs,
	opts pulumi.ResourceOption) (pulumi.ComponentResource, error) {
	given, err := inputs.Map()
	if err != nil {
		return nil, fmt.Errorf("eks.Cluster %s: %w", name, err)
	}
	args := &clusterArgs{}
	if err := inputs.CopyTo(args); err != nil {
		return nil, fmt.Errorf("eks.Cluster %s: %w", name, err)
	}
	if err := args.refuse(slices.Sorted(maps.Keys(given))); err != nil {
		return nil, err
	}
	c := &Cluster{}
	if err := ctx.RegisterComponentResourceV2(clusterType, name, given, c, opts); err != nil {
		return nil, err
	}
	e := &expansion{ctx: ctx, name: name, args: args, parent: c}
	if err := e.expand(c); err != nil {
		return nil, fmt.Errorf("eks.Cluster %s: %w", name, err)
	}
	return c, nil
}

// expansion is one eks.Cluster in the making.
type expansion struct {
	ctx    *pulumi.Context
	name   string
	args   *clusterArgs
	parent pulumi.Resource

	partition, dnsSuffix string
	cluster              *clusterResource
	// authorised are the resources that give principals access to the cluster; what is made in the cluster waits for
	// them.
	authorised []pulumi.Resource
}

// Untyped resources: the outputs the expansion reads, by the names the provider gives them.
type (
	clusterResource struct {
		pulumi.CustomResourceState
		Arn                  pulumi.StringOutput `pulumi:"arn"`
		Name                 pulumi.StringOutput `pulumi:"name"`
		Version              pulumi.StringOutput `pulumi:"version"`
		Endpoint             pulumi.StringOutput `pulumi:"endpoint"`
		CertificateAuthority pulumi.AnyOutput    `pulumi:"certificateAuthority"`
		Identities           pulumi.AnyOutput    `pulumi:"identities"`
		VpcConfig            pulumi.AnyOutput    `pulumi:"vpcConfig"`
	}
	roleResource struct {
		pulumi.CustomResourceState
		Arn  pulumi.StringOutput `pulumi:"arn"`
		Name pulumi.StringOutput `pulumi:"name"`
	}
	ruleResource struct {
		pulumi.CustomResourceState
		SecurityGroupRuleID pulumi.StringOutput `pulumi:"securityGroupRuleId"`
	}
	plainResource    struct{ pulumi.CustomResourceState }
	providerResource struct{ pulumi.ProviderResourceState }
	component        struct{ pulumi.ResourceState }
)

func (e *expansion) expand(c *Cluster) error {
	if err := e.lookUpPartition(); err != nil {
		return err
	}
	clusterRole, err := e.serviceRole("eksRole", "eks.amazonaws.com", "Allows EKS to manage clusters on your behalf.",
		clusterRolePolicies(e.args.auto()), "sts:AssumeRole", "sts:TagSession")
	if err != nil {
		return err
	}
	var clusterGroup *plainResource
	if !e.skipSecurityGroups() {
		if clusterGroup, err = e.clusterSecurityGroup(); err != nil {
			return err
		}
	}
	var nodeRole *serviceRole
	if e.args.auto() && (e.args.AutoMode.CreateNodeRole == nil || *e.args.AutoMode.CreateNodeRole) {
		if nodeRole, err = e.serviceRole("nodeRole", "ec2."+e.dnsSuffix, "", nodeAutoPolicies,
			"sts:AssumeRole"); err != nil {
			return err
		}
	}
	if err := e.controlPlane(clusterRole, nodeRole, clusterGroup); err != nil {
		return err
	}
	if err := e.kubeProxy(); err != nil {
		return err
	}
	k8s, err := e.kubernetesProvider()
	if err != nil {
		return err
	}
	var instanceRole *serviceRole
	if want := e.args.CreateInstanceRole; (want != nil && *want) || (want == nil && !e.args.SkipDefaultNodeGroup) {
		if instanceRole, err = e.instanceRole(); err != nil {
			return err
		}
	}
	if err := e.accessEntries(instanceRole); err != nil {
		return err
	}
	cni, err := e.vpcCni(k8s)
	if err != nil {
		return err
	}
	if err := e.coredns(); err != nil {
		return err
	}
	var nodeGroup *plainResource
	var ingress *ruleResource
	if clusterGroup != nil {
		if nodeGroup, ingress, err = e.nodeSecurityGroup(clusterGroup); err != nil {
			return err
		}
	}
	return e.outputs(c, parts{clusterRole, nodeRole, instanceRole, clusterGroup, nodeGroup, ingress, k8s, cni})
}

func clusterRolePolicies(auto bool) []string {
	if auto {
		return append(slices.Clone(clusterPolicies), clusterAutoPolicies...)
	}
	return clusterPolicies
}

func (e *expansion) skipSecurityGroups() bool {
	if skip := e.args.SkipDefaultSecurityGroups; skip != nil {
		return *skip
	}
	return e.args.auto()
}

// lookUpPartition asks once, as the component does.
func (e *expansion) lookUpPartition() error {
	var partition struct {
		Partition string `pulumi:"partition"`
		DNSSuffix string `pulumi:"dnsSuffix"`
	}
	if err := e.ctx.Invoke("aws:index/getPartition:getPartition", &struct{}{}, &partition,
		pulumi.Parent(e.parent)); err != nil {
		return err
	}
	e.partition, e.dnsSuffix = partition.Partition, partition.DNSSuffix
	return nil
}

// register makes one child of the component itself.
func (e *expansion) register(token, name string, inputs pulumi.Map, r pulumi.CustomResource,
	opts ...pulumi.ResourceOption) error {
	return e.ctx.RegisterResource(token, name, present(inputs), r,
		append([]pulumi.ResourceOption{pulumi.Parent(e.parent)}, opts...)...)
}

// ref passes a resource on as a resource reference, and what takes it depends on the resource. (NewResourceInput of the
// SDK forgets that.)
func ref(r pulumi.Resource) pulumi.ResourceOutput {
	return r.URN().ApplyT(func(pulumi.URN) pulumi.Resource { return r }).(pulumi.ResourceOutput)
}
