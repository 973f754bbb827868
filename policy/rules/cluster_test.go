package rules

import (
	"testing"

	"github.com/headroom-eks/headroom/policy/graphtest"
)

var clusterMutations = []mutation{
	{
		rule:     "cluster-endpoint-closed",
		resource: "cluster-eks-eksCluster",
		about:    "open to the world",
		edit:     set([]any{"192.0.2.0/24", "0.0.0.0/0"}, "vpcConfig", "publicAccessCidrs"),
		unknown:  p("vpcConfig", "publicAccessCidrs"),
	},
	{
		rule:     "cluster-endpoint-closed",
		resource: "cluster-eks-eksCluster",
		about:    "open by default",
		edit:     set(map[string]any{}, "vpcConfig"),
		unknown:  p("vpcConfig", "endpointPublicAccess"),
	},
	{
		rule:     "cluster-secrets-encrypted",
		resource: "cluster-eks-eksCluster",
		about:    "no encryption",
		edit:     set(nil, "encryptionConfig"),
		unknown:  p("encryptionConfig"),
	},
	{
		rule:     "cluster-secrets-encrypted",
		resource: "cluster-eks-eksCluster",
		about:    "something else is encrypted",
		edit:     set([]any{"other"}, "encryptionConfig", "resources"),
		unknown:  p("encryptionConfig", "provider", "keyArn"),
	},
	{
		rule:     "cluster-logs-on",
		resource: "cluster-eks-eksCluster",
		about:    "no authenticator log",
		edit:     set([]any{"api", "audit"}, "enabledClusterLogTypes"),
		unknown:  p("enabledClusterLogTypes"),
	},
	{
		rule:     "cluster-version-supported",
		resource: "cluster-eks-eksCluster",
		about:    "out of standard support",
		edit:     set("1.33", "version"),
		unknown:  p("version"),
	},
	{
		rule:     "cluster-version-supported",
		resource: "cluster-eks-eksCluster",
		about:    "unheard of",
		edit:     set("1.99", "version"),
	},
	{
		rule:     "cluster-version-supported",
		resource: "cluster-eks-eksCluster",
		about:    "not pinned",
		edit:     set(nil, "version"),
	},
	{
		rule:     "cluster-protected",
		resource: "cluster-eks-eksCluster",
		about:    "field faults BR-83 and BR-89: may be replaced",
		edit:     func(_ testing.TB, r *graphtest.Record) { r.Protect = false },
	},
}
