package rules

import (
	"slices"
	"strings"
	"time"

	"github.com/headroom-eks/headroom/policy/view"
	"github.com/pulumi/pulumi/sdk/v3/go/property"
)

var clusterOnly = []string{view.TypeCluster}

// Cluster rules look at the control plane.
var clusterRules = []Rule{
	{
		Name:     "cluster-endpoint-closed",
		Area:     "cluster",
		Level:    Mandatory,
		Types:    clusterOnly,
		Resource: clusterEndpointClosed,
		Why:      "The Kubernetes API answers the whole internet.",
		Remedy:   "switch endpointPublicAccess off, or list the networks that may reach it in publicAccessCidrs",
	},
	{
		Name:     "cluster-secrets-encrypted",
		Area:     "cluster",
		Level:    Mandatory,
		Types:    clusterOnly,
		Resource: clusterSecretsEncrypted,
		Why:      "Kubernetes secrets are not encrypted with a key of this account.",
		Remedy:   "set encryptionConfig with resources [\"secrets\"] and a KMS key",
	},
	{
		Name:     "cluster-logs-on",
		Area:     "cluster",
		Level:    Mandatory,
		Types:    clusterOnly,
		Resource: clusterLogsOn,
		Why:      "After an incident nobody could tell who asked the Kubernetes API for what.",
		Remedy:   "add the missing types to enabledClusterLogTypes",
		Settings: []Setting{
			{Name: "logTypes", Doc: "log types that must be on", Default: []string{"audit", "authenticator"}},
		},
	},
	{
		Name:     "cluster-version-supported",
		Area:     "cluster",
		Level:    Mandatory,
		Types:    clusterOnly,
		Resource: clusterVersionSupported,
		Why:      "AWS upgrades a cluster on its own date, or charges extra, once standard support ends.",
		Remedy:   "pin a Kubernetes version in standard support, and upgrade one minor at a time",
		Faults:   []string{"BR-08"},
	},
	{
		Name:     "cluster-protected",
		Area:     "cluster",
		Level:    Advisory,
		Types:    clusterOnly,
		Resource: clusterProtected,
		Why:      "A change that forces replacement would delete the cluster and everything in it.",
		Remedy:   "set protect: true in headroom:environment",
		Faults:   []string{"BR-83", "BR-89"},
	},
}

func clusterEndpointClosed(c *Check, r view.Resource) {
	vpc := r.Props.Key("vpcConfig")
	public, state := vpc.Key("endpointPublicAccess").Bool()
	if state == view.Unknown {
		c.Unknown(vpc.Key("endpointPublicAccess"))
		return
	}
	if state == view.Known && !public { // EKS opens the endpoint unless told otherwise
		return
	}
	cidrs, state := vpc.Key("publicAccessCidrs").Texts()
	switch {
	case state == view.Unknown:
		c.Unknown(vpc.Key("publicAccessCidrs"))
	case len(cidrs) == 0:
		c.Violation(vpc.Key("publicAccessCidrs"), "the public endpoint is on (also the default) and open to 0.0.0.0/0")
	case slices.ContainsFunc(cidrs, func(cidr string) bool { return strings.HasSuffix(strings.TrimSpace(cidr), "/0") }):
		c.Violation(vpc.Key("publicAccessCidrs"), "the public endpoint is open to the world")
	}
}

func clusterSecretsEncrypted(c *Check, r view.Resource) {
	config := r.Props.Key("encryptionConfig")
	c.Expect(config.Key("resources"), "secrets are not among what is encrypted", func(v view.Value) bool {
		texts, _ := v.Texts()
		return slices.Contains(texts, "secrets")
	})
	c.Expect(config.Key("provider", "keyArn"), "no key",
		func(v view.Value) bool { text, _ := v.Text(); return text != "" })
}

func clusterLogsOn(c *Check, r view.Resource) {
	at := r.Props.Key("enabledClusterLogTypes")
	on, state := at.Texts()
	if state == view.Unknown {
		c.Unknown(at)
		return
	}
	for _, want := range c.Strings("logTypes") {
		if !slices.Contains(on, want) {
			c.Violation(at, "log type %q is missing", want)
		}
	}
}

// standardSupportEnds by Kubernetes minor of 1.
// https://docs.aws.amazon.com/eks/latest/userguide/kubernetes-versions.html For 1.36 no date was published when this
// was written: 14 months after the upstream release, the earliest it can be.
var standardSupportEnds = map[int]string{
	31: "2025-11-26", 32: "2026-03-23", 33: "2026-07-29", 34: "2026-12-02", 35: "2027-03-27", 36: "2027-06-22",
}

// minor of a version such as "1.36".
func minor(version string) (int, bool) {
	rest, found := strings.CutPrefix(version, "1.")
	n, ok := digits(rest)
	return n, found && ok
}

func clusterVersionSupported(c *Check, r view.Resource) {
	at := r.Props.Key("version")
	version, state := at.Text()
	if state == view.Unknown {
		c.Unknown(at)
		return
	}
	if state == view.Absent {
		c.Violation(at, "no version is pinned")
		return
	}
	n, _ := minor(version)
	day, listed := standardSupportEnds[n]
	ends, err := time.Parse(time.DateOnly, day)
	switch {
	case !listed || err != nil:
		c.Violation(at, "the pack knows no support dates of this version")
	case c.Now.After(ends):
		c.Violation(at, "standard support ended on %s", day)
	}
}

func clusterProtected(c *Check, r view.Resource) {
	if !r.Protect {
		c.Violation(view.NewValue(r.URN, "options.protect", property.New(false)), "the cluster could be replaced or "+
			"deleted by an update")
	}
}
