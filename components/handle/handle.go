// Package handle holds what a component needs to know of the account and of the cluster that it works in.
//
// It owns two plain structs and makes nothing. Package cluster fills them for a cluster that it makes; for any other
// one the caller does. It is a package of its own because package cluster itself uses components that take a handle,
// and because a component that takes one should not be built against all that a control plane is made of.
package handle

import "github.com/pulumi/pulumi/sdk/v3/go/pulumi"

// Account is where things are made. It is looked up, never written down.
type Account struct {
	AccountID string
	Region    string
	// Partition of ARNs: "aws".
	Partition string
	// DNSSuffix of service names in the partition: "amazonaws.com".
	DNSSuffix string
	// Tags of everything that can carry tags.
	Tags map[string]string
}

// Cluster is a control plane, as those who work with it see it.
type Cluster struct {
	Account

	// KubernetesVersion of the control plane, "1.36".
	KubernetesVersion string

	Name     pulumi.StringInput
	Endpoint pulumi.StringInput
	// OIDCProviderArn of the cluster's OIDC provider in IAM.
	OIDCProviderArn pulumi.StringInput
	// Issuer of that provider, with or without "https://".
	Issuer pulumi.StringInput
	// SecurityGroupID of the group that EKS makes for the control plane and every node.
	SecurityGroupID pulumi.StringInput

	// Ready must exist before any node of the cluster, and outlive it: control plane, network add-ons, access entries.
	Ready []pulumi.Resource
}
