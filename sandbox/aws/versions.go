package aws

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// kubernetesVersion is a version EKS knows. Dates as AWS publishes them, as far as known on 2026-11-30.
// https://docs.aws.amazon.com/eks/latest/userguide/kubernetes-versions.html
type kubernetesVersion struct {
	version, patch, released, endOfStandard, endOfExtended string
}

// served are the versions the sandbox's EKS serves. 1.37 is upstream, and not confirmed for EKS. The end of standard
// support of 1.36 is not published where we looked; it is put about 14 months after its release.
var served = []kubernetesVersion{
	{"1.33", "1.33.8", "2025-05-29", "2026-07-29", "2027-07-29"},
	{"1.34", "1.34.6", "2025-10-02", "2026-12-02", "2027-12-02"},
	{"1.35", "1.35.5", "2026-01-28", "2027-03-27", "2028-03-27"},
	{"1.36", "1.36.3", "2026-06-02", "2027-08-02", "2028-08-02"},
}

const defaultVersion = "1.36"

func findVersion(v string) (kubernetesVersion, bool) {
	i := slices.IndexFunc(served, func(k kubernetesVersion) bool { return k.version == v })
	if i < 0 {
		return kubernetesVersion{}, false
	}
	return served[i], true
}

// minor is 36 of "1.36", and -1 of what is no version.
func minor(version string) int {
	major, rest, found := strings.Cut(version, ".")
	n, err := strconv.Atoi(rest)
	if !found || major != "1" || err != nil {
		return -1
	}
	return n
}

// addons are the add-ons and their versions by Kubernetes minor version, the default first, the newest last. Known good
// for 1.36 are the pins this project ships; the others are made up in the same form.
var addons = map[string]map[string][]string{
	"vpc-cni": {"": {"v1.22.3-eksbuild.1", "v1.21.1-eksbuild.1", "v1.22.3-eksbuild.1"}},
	"coredns": {
		"1.36": {"v1.14.3-eksbuild.3", "v1.14.3-eksbuild.1", "v1.14.3-eksbuild.3"},
		"":     {"v1.13.1-eksbuild.1"},
	},
	"kube-proxy": {
		"1.36": {"v1.36.0-eksbuild.9", "v1.36.0-eksbuild.2", "v1.36.0-eksbuild.9"},
		"1.35": {"v1.35.3-eksbuild.2"},
		"1.34": {"v1.34.6-eksbuild.2"},
		"1.33": {"v1.33.8-eksbuild.2"},
	},
	"aws-ebs-csi-driver":     {"": {"v1.62.0-eksbuild.1", "v1.58.0-eksbuild.1", "v1.62.0-eksbuild.1"}},
	"eks-pod-identity-agent": {"": {"v1.3.10-eksbuild.2"}},
	"aws-efs-csi-driver":     {"": {"v2.1.15-eksbuild.1"}},
	"metrics-server":         {"": {"v0.8.1-eksbuild.1"}},
}

// addonVersions lists the versions of an add-on for a Kubernetes version, the default first; the error is EKS's.
func addonVersions(name, kubernetes string) ([]string, error) {
	byVersion, known := addons[name]
	if !known {
		return nil, fmt.Errorf("InvalidParameterException: Addon %s specified is not supported (if EKS has it, add "+
			"it to sandbox/aws/versions.go)",
			name)
	}
	if v, found := byVersion[kubernetes]; found {
		return v, nil
	}
	if v, found := byVersion[""]; found {
		return v, nil
	}
	return nil, fmt.Errorf("InvalidParameterException: Addon %s specified is not supported in %s kubernetes version",
		name, kubernetes)
}

// releases of the EKS-optimized AL2023 and Bottlerocket images, by Kubernetes minor version, the oldest first.
// https://github.com/awslabs/amazon-eks-ami/releases
var releases = map[string][]string{
	"1.33": {"1.33.8-20260827", "1.33.8-20260911"},
	"1.34": {"1.34.6-20260827", "1.34.6-20260911"},
	"1.35": {"1.35.5-20260827", "1.35.5-20260911"},
	"1.36": {"1.36.2-20260709", "1.36.3-20260827", "1.36.3-20260911"},
}

// latestRelease is the recommended image release of a Kubernetes version.
func latestRelease(version string) string {
	all := releases[version]
	if len(all) == 0 {
		return ""
	}
	return slices.MaxFunc(all, func(a, b string) int {
		return cmp.Compare(a[strings.Index(a, "-"):],
			b[strings.Index(b, "-"):])
	})
}
