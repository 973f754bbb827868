package nodegroup

import (
	"fmt"
	"regexp"

	"github.com/headroom-eks/headroom/problem"
)

// Defaults of a group's root volume, in GiB.
const (
	DefaultDiskGiB    = 50
	DefaultGPUDiskGiB = 200 // inference images and models
)

// DefaultRelease of the AL2023 image, for its Kubernetes version alone: known good, seen in public use in September
// 2026. https://github.com/awslabs/amazon-eks-ami/releases
const DefaultRelease = "1.36.3-20260911"

// release of an AL2023 image for node groups: Kubernetes version and date.
var release = regexp.MustCompile(`^(1\.[0-9]{2})\.[0-9]+-20[0-9]{6}$`)

// ValidateRelease reports an AMI release that is not pinned, or that is for another Kubernetes version ("1.36").
func ValidateRelease(path, version, kubernetes string) (problems problem.List) {
	if m := release.FindStringSubmatch(version); m == nil || m[1] != kubernetes {
		problems.Add(path, "is not an AL2023 release for Kubernetes "+kubernetes, version,
			fmt.Sprintf("pin one of the form %s.Z-YYYYMMDD (https://github.com/awslabs/amazon-eks-ami/releases)",
				kubernetes))
	}
	return problems
}

// Validate reports sizes that EKS refuses minutes later, naming no number (field fault BR-16). Path names the pool, and
// the sizes go by the keys of its configuration.
func (s Scaling) Validate(path string) (problems problem.List) {
	if s.Min < 0 {
		problems.Add(path+".minNodeCount", "is below 0", s.Min, "raise it")
	}
	if s.Max < 1 {
		problems.Add(path+".maxNodeCount", "is below 1, which EKS refuses", s.Max, "raise it")
	}
	if s.Min > s.Max {
		problems.Add(path+".minNodeCount", fmt.Sprintf("exceeds maxNodeCount %d", s.Max), s.Min,
			"lower it or raise the maximum")
		return problems
	}
	if s.Desired > s.Max {
		problems.Add(path+".nodeCount", fmt.Sprintf("exceeds maxNodeCount %d", s.Max), s.Desired,
			"lower it or raise the maximum")
	}
	if s.Desired < s.Min {
		problems.Add(path+".nodeCount", fmt.Sprintf("is below minNodeCount %d", s.Min), s.Desired,
			"raise it or lower the minimum")
	}
	return problems
}
