package chart

import (
	helm "github.com/pulumi/pulumi-kubernetes/sdk/v4/go/kubernetes/helm/v4"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
)

// Args of a chart from a repository, installed under its own name.
func Args(repository, name, version, namespace string) *helm.ChartArgs {
	reference, from := At(repository, name)
	args := &helm.ChartArgs{
		Chart:     pulumi.String(reference),
		Version:   pulumi.String(version),
		Name:      pulumi.String(name),
		Namespace: pulumi.String(namespace),
	}
	if from != "" {
		args.RepositoryOpts = helm.RepositoryOptsArgs{Repo: pulumi.String(from)}
	}
	return args
}
