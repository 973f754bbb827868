package karpenter

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/headroom-eks/headroom/components/chart"
	"github.com/headroom-eks/headroom/problem"
	"golang.org/x/mod/semver"
)

// DefaultVersion of both charts, the one that the values were rendered with (tests/karpenter).
const DefaultVersion = "1.15.0"

// release is what this package must know of a minor version of Karpenter's AWS provider.
type release struct {
	// deletion are the actions of the statement AllowScopedDeletion.
	deletion []string
	// enableDRA says whether the chart has settings.enableDRA.
	enableDRA bool
}

// releases by minor version. A version without an entry is refused: its permissions are not known (field fault BR-42).
// https://karpenter.sh/v1.15/reference/cloudformation/ and the same page of the other versions.
var releases = map[string]release{
	"1.13": {deletion: []string{"ec2:DeleteLaunchTemplate", "ec2:TerminateInstances"}},
	"1.14": {deletion: []string{"ec2:DeleteLaunchTemplate", "ec2:TerminateInstances"}},
	"1.15": {
		deletion:  []string{"ec2:DeleteLaunchTemplate", "ec2:RebootInstances", "ec2:TerminateInstances"},
		enableDRA: true,
	},
}

// leastFor is the oldest Karpenter that supports a Kubernetes version.
// https://karpenter.sh/v1.15/upgrading/compatibility/
var leastFor = map[string]string{
	"1.31": "1.0.5", "1.32": "1.2", "1.33": "1.5", "1.34": "1.6", "1.35": "1.9", "1.36": "1.13", "1.37": "1.15",
}

// minor version of an exact one: "1.15" of "1.15.0".
func minor(version string) string {
	if m := semver.MajorMinor("v" + version); m != "" {
		return m[1:]
	}
	return ""
}

// ValidateVersion refuses a chart version that is not known here, or that does not support the Kubernetes version
// ("1.36").
func ValidateVersion(path, version, kubernetes string) (problems problem.List) {
	if problems.Join(chart.ValidateVersion(path, version, DefaultVersion)); problems.Err() != nil {
		return problems
	}
	if _, found := releases[minor(version)]; !found {
		problems.Add(path, "needs permissions that are not known here", version, "use one of "+
			strings.Join(slices.Sorted(maps.Keys(releases)), ", "))
	}
	least, found := leastFor[kubernetes]
	switch {
	case !found:
		problems.Add(path, fmt.Sprintf("no Karpenter is known to support Kubernetes %q", kubernetes), nil,
			"use one of "+strings.Join(slices.Sorted(maps.Keys(leastFor)), ", "))
	case semver.Compare("v"+version, "v"+least) < 0:
		problems.Add(path, "does not support Kubernetes "+kubernetes, version, "use "+least+" or later")
	}
	return problems
}
