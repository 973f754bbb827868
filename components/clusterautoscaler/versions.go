package clusterautoscaler

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/headroom-eks/headroom/problem"
	"golang.org/x/mod/semver"
)

// Release is a chart and the image it runs. They are only ever chosen together: a new image under an old chart lacks
// permissions, stays healthy and does nothing (field fault BR-08).
type Release struct {
	Chart string // version of the chart, for example "9.59.0"
	Image string // tag of the image, for example "v1.36.1"
}

// releases by Kubernetes minor version. The image follows the cluster's minor version, as the project asks; the chart
// is the newest one whose values were read (app 1.35.0, https://github.com/kubermatic/kubermatic/pull/16253). A chart
// newer than its image is harmless, its permissions are a superset; the other way round is not.
var releases = map[string]Release{
	// https://github.com/aws-ia/terraform-aws-eks-blueprints-addons/pull/516
	"1.34": {Chart: "9.59.0", Image: "v1.34.4"},
	"1.35": {Chart: "9.59.0", Image: "v1.35.1"}, // the same
	"1.36": {Chart: "9.59.0", Image: "v1.36.1"}, // https://github.com/kubernetes/autoscaler/pull/10169
}

// draLockedOn is the first minor version whose image always handles Dynamic Resource Allocation. It ends at once when
// it is told not to, and it needs to read resource.k8s.io whether a pool uses DRA or not.
// https://github.com/kubernetes/autoscaler/pull/10278
const draLockedOn = "1.35"

// minor of a Kubernetes version: "1.36" of "1.36", "1.36.3" or "v1.36.1". Empty when it is not a version.
func minor(version string) string {
	return strings.TrimPrefix(semver.MajorMinor("v"+strings.TrimPrefix(version, "v")), "v")
}

func older(a, b string) bool { return semver.Compare("v"+a, "v"+b) < 0 }

// ReleaseFor is the release for a cluster's Kubernetes version ("1.36" or "1.36.3"). Override replaces chart and image,
// both or neither; its zero value overrides nothing. A version that is not in the table is refused, nothing near it is
// taken instead.
func ReleaseFor(path, kubernetes string, override Release) (Release, problem.List) {
	var problems problem.List
	m := minor(kubernetes)
	known, found := releases[m]
	if !found {
		problems.Add(path, "is a Kubernetes version for which no cluster-autoscaler release is known", kubernetes,
			fmt.Sprintf("use one of %s, or add a tried row to the table of releases",
				strings.Join(slices.Sorted(maps.Keys(releases)), ", ")))
		return Release{}, problems
	}
	if override == (Release{}) {
		return known, problems
	}
	at := path + ".release"
	if override.Chart == "" || override.Image == "" {
		problems.Add(at, "has one of chart and image, and an image under another chart's permissions runs and does "+
			"nothing", override.Chart+override.Image, "give both or neither")
		return Release{}, problems
	}
	if !semver.IsValid("v" + override.Chart) {
		problems.Add(at+".chart", "is not a version", override.Chart, "write it like "+known.Chart)
	} else if older(override.Chart, known.Chart) {
		problems.Add(at+".chart", fmt.Sprintf("is older than %s, the one whose values and permissions are known",
			known.Chart), override.Chart, "use that one or a newer one")
	}
	if !strings.HasPrefix(override.Image, "v") || minor(override.Image) != m {
		problems.Add(at+".image", "is not of the cluster's minor version", override.Image, "use one like v"+m+".0")
	}
	return override, problems
}
