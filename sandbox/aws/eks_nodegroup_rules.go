package aws

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/headroom-eks/headroom/sandbox/world"
)

// amiTypes are the spellings EKS takes, with what the image is for.
// https://docs.aws.amazon.com/eks/latest/APIReference/API_Nodegroup.html
var amiTypes = map[string]struct {
	arch string
	gpu  bool
}{
	"AL2_x86_64":                 {"x86_64", false},
	"AL2_x86_64_GPU":             {"x86_64", true},
	"AL2_ARM_64":                 {"arm64", false},
	"AL2023_x86_64_STANDARD":     {"x86_64", false},
	"AL2023_ARM_64_STANDARD":     {"arm64", false},
	"AL2023_x86_64_NVIDIA":       {"x86_64", true},
	"AL2023_ARM_64_NVIDIA":       {"arm64", true},
	"AL2023_x86_64_NEURON":       {"x86_64", false},
	"BOTTLEROCKET_x86_64":        {"x86_64", false},
	"BOTTLEROCKET_ARM_64":        {"arm64", false},
	"BOTTLEROCKET_x86_64_NVIDIA": {"x86_64", true},
	"BOTTLEROCKET_ARM_64_NVIDIA": {"arm64", true},
	"BOTTLEROCKET_x86_64_FIPS":   {"x86_64", false},
	"BOTTLEROCKET_ARM_64_FIPS":   {"arm64", false},
	"CUSTOM":                     {"", false},
}

// reservedLabels begin what EKS refuses in the labels of a node group.
var reservedLabels = []string{"kubernetes.io/", "k8s.io/", "eks.amazonaws.com/"}

// kubeletLabels under the reserved domains that a kubelet may set on itself; with others it does not start.
// https://kubernetes.io/docs/reference/access-authn-authz/admission-controllers/#noderestriction
var kubeletLabels = []string{
	"topology.kubernetes.io/region", "topology.kubernetes.io/zone", "node.kubernetes.io/instance-type",
	"kubernetes.io/hostname", "kubernetes.io/arch", "kubernetes.io/os", "failure-domain.beta.kubernetes.io/region",
	"failure-domain.beta.kubernetes.io/zone",
}

// qualifiedName of a label or taint.
// https://kubernetes.io/docs/concepts/overview/working-with-objects/labels/#syntax-and-character-set
var qualifiedName = regexp.MustCompile(`^([a-z0-9]([a-z0-9.-]*[a-z0-9])?/)?[A-Za-z0-9]([A-Za-z0-9_.-]*[A-Za-z0-9])?$`)

func kubeletRefuses(label string) bool {
	domain, _, found := strings.Cut(label, "/")
	if !found || slices.Contains(kubeletLabels, label) || domain == "kubelet.kubernetes.io" ||
		domain == "node.kubernetes.io" {
		return false
	}
	return domain == "kubernetes.io" || domain == "k8s.io" || strings.HasSuffix(domain, ".kubernetes.io") ||
		strings.HasSuffix(domain, ".k8s.io")
}

func checkNodeGroupInputs(in obj, fail func(string, string)) {
	for _, k := range []string{"minSize", "maxSize", "desiredSize"} {
		if scaling, ok := in["scalingConfig"].(obj); ok && !has(scaling, k) {
			fail("scalingConfig."+k, "required and missing")
		}
	}
	if has(in, "updateConfig.maxUnavailable") && has(in, "updateConfig.maxUnavailablePercentage") {
		fail("updateConfig", "only one of maxUnavailable and maxUnavailablePercentage can be set")
	}
	if update, given := in["updateConfig"].(obj); given && len(update) == 0 {
		fail("updateConfig", "one of maxUnavailable and maxUnavailablePercentage must be set")
	}
	if has(in, "launchTemplate") && has(in, "remoteAccess") {
		fail("remoteAccess", "conflicts with launchTemplate")
	}
	if n := len(list(in, "taints")); n > 50 {
		fail("taints", "at most 50 taints")
	}
	for i, v := range list(in, "taints") {
		taint, _ := v.(obj)
		at := fmt.Sprintf("taints[%d]", i)
		if key := str(taint, "key"); key != "" && !qualifiedName.MatchString(key) {
			fail(at+".key", fmt.Sprintf("InvalidParameterException: %q is not a qualified name", key))
		}
		for _, v := range list(in, "taints")[:i] {
			if earlier, _ := v.(obj); same(earlier["key"], taint["key"]) && same(earlier["effect"], taint["effect"]) {
				fail(at, "InvalidParameterException: Duplicate taint")
			}
		}
	}
}

// checkNodeGroup refuses what CreateNodegroup and UpdateNodegroup refuse.
func (c *call) checkNodeGroup(cluster *world.Resource) error {
	if err := c.checkSizes(); err != nil {
		return err
	}
	if err := c.checkNodeRole(); err != nil {
		return err
	}
	for _, label := range sorted(anyMap(c.out["labels"])) {
		if slices.ContainsFunc(reservedLabels, func(p string) bool { return strings.HasPrefix(label, p) }) &&
			!slices.Contains(kubeletLabels, label) {
			return invalid("Label cannot contain reserved prefixes [kubernetes.io/, k8s.io/, eks.amazonaws.com/] (%s)",
				label)
		}
	}
	template := c.template()
	if has(c.in, "launchTemplate") {
		if err := c.checkTemplate(template); err != nil {
			return err
		}
	}
	types := texts(list(c.in, "instanceTypes"))
	if t := str(template, "instanceType"); t != "" {
		types = []string{t}
	} else if len(types) == 0 {
		types = []string{"t3.medium"}
	}
	if !has(template, "instanceType") {
		c.set("instanceTypes", types)
	}
	if len(types) > 20 {
		return invalid("at most 20 instance types")
	}
	if !has(c.in, "diskSize") && template == nil {
		c.set("diskSize", 20)
	}
	if err := c.checkImage(types, template); err != nil {
		return err
	}
	if err := c.checkZones(cluster, types); err != nil {
		return err
	}
	return c.checkRelease(cluster)
}

func invalid(format string, args ...any) error {
	return fmt.Errorf("InvalidParameterException: "+format, args...)
}

func (c *call) checkSizes() error {
	low, high, desired := num(c.in, "scalingConfig.minSize"), num(c.in, "scalingConfig.maxSize"),
		num(c.in, "scalingConfig.desiredSize")
	switch {
	case low > high:
		return invalid("Minimum capacity %d can't be greater than maximum size %d", low, high)
	case low > desired:
		return invalid("Minimum capacity %d can't be greater than desired size %d", low, desired)
	case desired > high:
		return invalid("desired capacity %d can't be greater than max size %d", desired, high)
	case float64(high) > c.s.Quotas[world.QuotaGroupNodes]:
		return fmt.Errorf("ResourceLimitExceededException: Nodes per node group exceeds quota %s of %g",
			world.QuotaGroupNodes, c.s.Quotas[world.QuotaGroupNodes])
	}
	return nil
}

func (c *call) checkNodeRole() error {
	role := c.s.Find(tRole, "arn", str(c.in, "nodeRoleArn"))
	// In China both spellings of the principal are in use.
	if role == nil || !trusts(c.s, role, "ec2.amazonaws.com", "sts:AssumeRole") &&
		!trusts(c.s, role, "ec2."+dnsSuffix(c.s.Partition), "sts:AssumeRole") {
		return invalid("Following required service principals [ec2.amazonaws.com] were not found in the trust "+
			"relationships of nodeRole %s", str(c.in, "nodeRoleArn"))
	}
	return nil
}

// notInTemplate is what a launch template of a node group must not hold.
var notInTemplate = []string{
	"iamInstanceProfile", "instanceMarketOptions", "hibernationOptions", "instanceRequirements",
}

// checkTemplate: template is the version that the node group names, nil where there is none.
func (c *call) checkTemplate(template obj) error {
	if template == nil {
		return invalid("You must specify a version that exists for launch template %s%s, not %q",
			str(c.in, "launchTemplate.id"), str(c.in, "launchTemplate.name"), str(c.in, "launchTemplate.version"))
	}
	for _, k := range notInTemplate {
		if has(template, k) && !(k == "instanceMarketOptions" && str(c.in, "capacityType") == "CAPACITY_BLOCK") {
			return fmt.Errorf("InvalidRequestException: Launch template should not specify %s.", k)
		}
	}
	if len(at(template, "networkInterfaces.subnetId")) > 0 {
		return fmt.Errorf("InvalidRequestException: Launch template should not specify a subnet.")
	}
	if has(c.in, "diskSize") {
		return invalid("Disk size must be specified within the launch template.")
	}
	if has(template, "instanceType") && len(list(c.in, "instanceTypes")) > 0 {
		return invalid("Instance types cannot be specified both in the launch template and in the node group (%s)",
			str(template, "instanceType"))
	}
	if has(template, "imageId") && (has(c.in, "amiType") && str(c.in, "amiType") != "CUSTOM" ||
		has(c.in, "releaseVersion") || has(c.in, "version")) {
		return invalid("You cannot specify amiType, version or releaseVersion when the launch template has an image " +
			"id.")
	}
	return nil
}

func (c *call) checkImage(types []string, template obj) error {
	var first world.InstanceType
	for i, name := range types {
		t, known := world.Types[name]
		if !known {
			return fmt.Errorf("InvalidParameterException: The following supplied instance types do not exist: [%s] "+
				"(if AWS has it, add it to sandbox/world/types.go)",
				name)
		}
		if i == 0 {
			first = t
		}
		if t.Arch != first.Arch {
			return fmt.Errorf("InvalidParameterException: instance types of different architectures: [%s]",
				strings.Join(types, ", "))
		}
	}
	if !has(c.in, "amiType") {
		kind := map[bool]string{false: "AL2023_x86_64_STANDARD", true: "AL2023_x86_64_NVIDIA"}[first.HasGPU() &&
			first.GPUMaker == "NVIDIA"]
		if first.Arch == "arm64" {
			kind = "AL2023_ARM_64_STANDARD"
		}
		if has(template, "imageId") {
			kind = "CUSTOM"
		}
		c.set("amiType", kind)
	}
	kind := str(c.out, "amiType")
	image := amiTypes[kind]
	if kind == "CUSTOM" {
		return nil
	}
	for _, name := range types {
		t := world.Types[name]
		if t.Arch != image.arch {
			return fmt.Errorf("InvalidParameterException: [%s] is not a valid instance type for requested amiType %s",
				name, kind)
		}
		if t.HasGPU() != image.gpu {
			return fmt.Errorf("InvalidParameterException: [%s] is not a valid instance type for requested amiType %s "+
				"(GPU types need a GPU image, and others must not have one)",
				name, kind)
		}
	}
	if strings.HasPrefix(kind, "AL2_") && minor(str(c.out, "version")) >= 33 {
		return fmt.Errorf("InvalidParameterException: AMI Type %s is only supported for kubernetes versions 1.32 or "+
			"earlier", kind)
	}
	return nil
}

// checkZones: every zone of the group must offer one of its types (field fault BR-68).
func (c *call) checkZones(cluster *world.Resource, types []string) error {
	subnets := texts(list(c.in, "subnetIds"))
	if len(subnets) == 0 {
		return fmt.Errorf("InvalidParameterException: Subnets cannot be empty")
	}
	for _, id := range subnets {
		subnet := c.s.Get(tSubnet, id).Outputs
		if str(subnet, "vpcId") != str(cluster.Outputs, "vpcConfig.vpcId") {
			return fmt.Errorf("InvalidParameterException: Subnet %s is not in the cluster's VPC %s", id,
				str(cluster.Outputs, "vpcConfig.vpcId"))
		}
		zone := str(subnet, "availabilityZone")
		if !slices.ContainsFunc(types, func(t string) bool { return c.s.Offered(t, zone) }) {
			return fmt.Errorf("InvalidParameterException: Your requested instance type (%s) is not supported in your "+
				"requested Availability Zone (%s).",
				strings.Join(types, ", "), zone)
		}
	}
	return nil
}

func (c *call) checkRelease(cluster *world.Resource) error {
	version, control := str(c.out, "version"), str(cluster.Outputs, "version")
	if _, known := findVersion(version); !known {
		return fmt.Errorf("InvalidParameterException: Requested Nodegroup version %s is not supported", version)
	}
	if minor(version) > minor(control) || minor(version) < minor(control)-3 {
		return fmt.Errorf("InvalidParameterException: Nodegroup Kubernetes version %s is not compatible with the "+
			"cluster's %s", version, control)
	}
	if !strings.HasPrefix(str(c.out, "amiType"), "AL2023_") {
		return nil
	}
	release := str(c.in, "releaseVersion")
	if release == "" {
		c.set("releaseVersion", latestRelease(version))
		return nil
	}
	if !slices.Contains(releases[version], release) {
		return fmt.Errorf("InvalidParameterException: Requested release version %s is not valid for kubernetes "+
			"version %s.", release, version)
	}
	return nil
}
