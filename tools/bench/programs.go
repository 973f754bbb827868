package main

import (
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/pulumi/pulumi-aws/sdk/v6/go/aws"
	awseks "github.com/pulumi/pulumi-aws/sdk/v6/go/aws/eks"
	"github.com/pulumi/pulumi-aws/sdk/v6/go/aws/iam"
	"github.com/pulumi/pulumi-eks/sdk/v3/go/eks"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"

	"github.com/headroom-eks/headroom/infra/config"
	"github.com/headroom-eks/headroom/pool"
	"github.com/headroom-eks/headroom/sandbox/run"
	"sigs.k8s.io/yaml"
)

// bare is the least that has a control plane and nodes, in a network that is there already: what the program's preview
// is compared with.
func bare(ctx *pulumi.Context) error {
	provider, err := aws.NewProvider(ctx, "aws", &aws.ProviderArgs{Region: pulumi.String("us-west-2")})
	if err != nil {
		return err
	}
	subnets := pulumi.StringArray{pulumi.String("subnet-0123456789abcdef0"), pulumi.String("subnet-0123456789abcdef1")}
	mode := eks.AuthenticationModeApi
	cluster, err := eks.NewCluster(ctx, "cluster", &eks.ClusterArgs{
		AuthenticationMode:   &mode, // the one that the sandbox's component expands
		Version:              pulumi.String("1.36"),
		VpcId:                pulumi.String("vpc-0123456789abcdef0"),
		PrivateSubnetIds:     subnets,
		SkipDefaultNodeGroup: pulumi.BoolRef(true),
	}, pulumi.Providers(provider))
	if err != nil {
		return err
	}
	role, err := iam.NewRole(ctx, "nodes", &iam.RoleArgs{AssumeRolePolicy: pulumi.String(
		`{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Action":"sts:AssumeRole",` +
			`"Principal":{"Service":"ec2.amazonaws.com"}}]}`)}, pulumi.Provider(provider))
	if err != nil {
		return err
	}
	_, err = awseks.NewNodeGroup(ctx, "nodes", &awseks.NodeGroupArgs{
		ClusterName: cluster.EksCluster.Name(),
		NodeRoleArn: role.Arn,
		SubnetIds:   subnets,
		ScalingConfig: &awseks.NodeGroupScalingConfigArgs{
			MinSize:     pulumi.Int(2),
			MaxSize:     pulumi.Int(2),
			DesiredSize: pulumi.Int(2),
		},
	}, pulumi.Provider(provider))
	return err
}

// timed runs a program and keeps how long its function took.
func timed(p run.Program) (run.Program, *time.Duration) {
	took := new(time.Duration)
	return func(ctx *pulumi.Context) error {
		start := time.Now()
		defer func() { *took = time.Since(start) }()
		return p(ctx)
	}, took
}

// poolProject is a project whose dev environment has n Karpenter pools, which share quotas and subnets. (Managed node
// groups are limited to 30 a cluster.)
func (b *bench) poolProject(n int) (string, error) {
	env := config.Environment{
		Network: config.Network{Zones: []string{"us-west-2a", "us-west-2b", "us-west-2c"}},
		Cluster: config.Cluster{PublicAccessCIDRs: []string{"203.0.113.0/24"}},
		Spot:    config.Spot{CreateServiceLinkedRole: true},
	}
	types := []string{"g6.xlarge", "g6.2xlarge", "g6e.xlarge"}
	bought := [][]pool.CapacityType{{pool.OnDemand}, {pool.Spot}, {pool.Spot, pool.OnDemand}}
	for i := range n {
		env.Pools = append(env.Pools, config.Pool{
			Name:          fmt.Sprintf("gpu-%03d", i),
			Scaler:        pool.Karpenter,
			InstanceTypes: []string{types[i%3]},
			CapacityTypes: bought[i%3],
			MaxNodeCount:  new(1 + i%4),
			Priority:      i % 7,
		})
	}
	text, err := yaml.Marshal(map[string]any{
		"config": map[string]any{"aws:region": "us-west-2", "headroom:environment": env},
	})
	if err != nil {
		return "", err
	}
	return b.project(fmt.Sprintf("%d-pools", n), string(text))
}

// project makes a project folder with the project's own Pulumi.yaml and a stack file of its dev environment.
func (b *bench) project(name, stackFile string) (string, error) {
	dir := filepath.Join(b.work, name)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	project, err := os.ReadFile(filepath.Join(b.root, "Pulumi.yaml"))
	if err != nil {
		return "", err
	}
	if err := os.WriteFile(filepath.Join(dir, "Pulumi.yaml"), project, 0o644); err != nil {
		return "", err
	}
	return dir, os.WriteFile(filepath.Join(dir, "Pulumi.dev.yaml"), []byte(stackFile), 0o644)
}

// dev is a project with the dev environment as it is.
func (b *bench) dev() (string, error) {
	stackFile, err := os.ReadFile(filepath.Join(b.root, "Pulumi.dev.yaml"))
	if err != nil {
		return "", err
	}
	return b.project("dev", string(stackFile))
}
