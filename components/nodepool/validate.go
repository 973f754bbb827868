package nodepool

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/headroom-eks/headroom/capacity/plan"
	"github.com/headroom-eks/headroom/pool"
	"github.com/headroom-eks/headroom/pool/label"
	"github.com/headroom-eks/headroom/problem"
	"golang.org/x/mod/semver"
	"k8s.io/apimachinery/pkg/util/validation"
)

// The patterns are those of the NodePool's schema, except that it leaves the words of a schedule open.
// https://github.com/kubernetes-sigs/karpenter/blob/v1.15.0/pkg/apis/crds/karpenter.sh_nodepools.yaml
var (
	duration       = regexp.MustCompile(`^([0-9]+(s|m|h))+$`)
	budgetNodes    = regexp.MustCompile(`^((100|[0-9]{1,2})%|[0-9]+)$`)
	budgetDuration = regexp.MustCompile(`^(([0-9]+(h|m))|([0-9]+h[0-9]+m))$`)
	instanceType   = regexp.MustCompile(`^[a-z][a-z0-9-]*\.[a-z0-9-]+$`)
)

var (
	policies      = []string{whenEmpty, whenEmptyOrUnderutilized, balanced}
	reasons       = []string{"Empty", "Drifted", "Underutilized", "Unhealthy"} // the last since Karpenter 1.15
	architectures = []string{"x86_64", "arm64"}
)

// https://github.com/kubernetes-sigs/karpenter/blob/v1.15.0/pkg/apis/crds/karpenter.sh_nodepools.yaml: weights are 1 to
// 100.
const maxRequirements, maxBudgets, maxWeight = 100, 50, 100

// requirementsOfOurs is the largest number that Requirements gives.
const requirementsOfOurs = 9

// Validate reports everything that is wrong with a pool on nodes of a kind of class, before anything is made of it.
// Paths are those of the program's configuration, which has no level for what is advertised and for disruption.
func Validate(path string, spec Spec, kind ClassKind) problem.List {
	problems := ValidateSettings(path, spec, kind)
	problems.Join(validateNodes(path, spec))
	return problems
}

// ValidateSettings is the part of Validate that does not depend on what a node is: names, ages, labels, taints,
// disruption.
func ValidateSettings(path string, spec Spec, kind ClassKind) (problems problem.List) {
	for _, msg := range validation.IsDNS1123Label(spec.Name) {
		problems.Add(path+".name", "is refused by Kubernetes: "+msg, spec.Name, "")
	}
	static := spec.Advertised != nil && spec.Advertised.Static
	switch {
	case spec.Weight < 0 || spec.Weight > maxWeight:
		problems.Add(path+".weight", "is out of range", spec.Weight, fmt.Sprintf("use 1 to %d, or none", maxWeight))
	case static && spec.Weight != 0:
		problems.Add(path+".weight", "has no place in a static pool", spec.Weight, "remove it")
	}
	problems.Join(validateParts(path, spec))
	problems.Join(label.ValidateNodePool(path+".labels", spec.Labels))
	if len(spec.Labels)+requirementsOfOurs > maxRequirements {
		problems.Add(path+".labels", fmt.Sprintf("leave no room for requirements: Karpenter takes %d of both together",
			maxRequirements), len(spec.Labels), "remove some")
	}
	problems.Join(label.ValidateTaints(path+".taints", spec.Taints))
	problems.Join(label.ValidateTaintDomains(path+".taints", spec.Taints))
	problems.Join(label.ValidateStartupTaints(path+".startupTaints", spec.StartupTaints, spec.Taints))
	problems.Join(label.ValidateTaintDomains(path+".startupTaints", spec.StartupTaints))
	problems.Join(validateDisruption(path, spec))
	if kind.Rules != nil {
		problems.Join(kind.Rules(path, spec.withDefaults(kind)))
	}
	return problems
}

func validateNodes(path string, spec Spec) (problems problem.List) {
	switch {
	case spec.Advertised != nil && spec.General != nil:
		problems.Add(path, "is both advertised and general", nil, "keep one")
	case spec.Advertised != nil:
		problems.Join(validateAdvertised(path, spec))
	case spec.General != nil:
		problems.Join(ValidateGeneral(path, *spec.General))
	default:
		problems.Add(path, "is neither advertised nor general", nil, "describe one of them")
	}
	if len(spec.CapacityTypes) == 0 {
		problems.Add(path+".capacityTypes", "is empty", nil, fmt.Sprintf("use one or more of %v", pool.CapacityTypes))
	}
	for i, c := range spec.CapacityTypes {
		problem.OneOf(&problems, fmt.Sprintf("%s.capacityTypes[%d]", path, i), c, pool.CapacityTypes)
	}
	if spec.Architecture != "" {
		problem.OneOf(&problems, path+".architecture", spec.Architecture, architectures)
	}
	return problems
}

func validateAdvertised(path string, spec Spec) (problems problem.List) {
	a := spec.Advertised
	if len(a.InstanceTypes) == 0 {
		problems.Add(path+".instanceTypes", "is empty", nil, "name exact types, such as g6.xlarge")
	}
	for i, name := range a.InstanceTypes {
		at := fmt.Sprintf("%s.instanceTypes[%d]", path, i)
		switch {
		case !instanceType.MatchString(name):
			problems.Add(at, "is not an instance type", name, "use a name such as g6.xlarge")
		case pool.Fractional(name):
			problems.Add(at, "carries a fraction of a GPU, which can be neither counted nor promised", name,
				"use whole GPUs, such as g6")
		}
	}
	problem.Unique(&problems, path+".instanceTypes", a.InstanceTypes)
	problem.OneOf(&problems, path+".deviceMode", a.DeviceMode, pool.DeviceModes)
	for _, part := range []struct {
		key string
		n   int
	}{{"vcpus", a.VCPUs}, {"gpus", a.GPUs}} {
		if part.n < 1 {
			problems.Add(path+"."+part.key, "of a node are below 1", part.n, "give what the instance type has")
		}
	}
	repels := func(t pool.Taint) bool { return t.Effect != pool.PreferNoSchedule }
	if !slices.ContainsFunc(spec.Taints, repels) {
		problems.Add(path+".taints", "nothing keeps pods without GPUs off these nodes", nil, "add "+
			pool.GPUTaint.String())
	}
	problems.Join(a.validateCounts(path))
	return problems
}

func (a Advertised) validateCounts(path string) (problems problem.List) {
	switch {
	case !a.Static && a.NodeCount != 0:
		problems.Add(path+".nodeCount", "has no meaning: nodes are made as pods need them", a.NodeCount,
			"remove it, or set static: true")
	case !a.Static && a.MaxNodeCount < 1:
		problems.Add(path+".maxNodeCount", "allows no node", a.MaxNodeCount, "use 1 or more, or remove the pool")
	case a.Static && a.NodeCount < 0:
		problems.Add(path+".nodeCount", "is negative", a.NodeCount, "use 0 or more")
	case a.Static && a.MaxNodeCount != 0 && a.MaxNodeCount < a.NodeCount:
		problems.Add(path+".maxNodeCount", fmt.Sprintf("is below nodeCount %d", a.NodeCount), a.MaxNodeCount,
			"raise it or remove it")
	}
	return problems
}

// ValidateGeneral reports accelerators and limits that a general pool cannot have.
func ValidateGeneral(path string, g General) (problems problem.List) {
	for _, list := range []struct {
		key   string
		names []string
	}{{"instanceCategories", g.Categories}, {"families", g.Families}} {
		for i, name := range list.names {
			if pool.Accelerated(name) {
				problems.Add(fmt.Sprintf("%s.%s[%d]", path, list.key, i),
					"has accelerators, which a general pool leaves to GPU pools", name, "remove it")
			}
		}
	}
	if g.MinGeneration < 0 {
		problems.Add(path+".minGeneration", "is negative", g.MinGeneration,
			fmt.Sprintf("use a generation such as %d", defaultMinGeneration))
	}
	for _, limit := range []struct {
		key string
		n   int
	}{{"vcpus", g.VCPUs}, {"memoryGiB", g.MemoryGiB}} {
		if limit.n < 1 {
			problems.Add(path+".limits."+limit.key, "allows no node", limit.n, "give the limit of the whole pool, at "+
				"least 1")
		}
	}
	if g.VCPUs > 0 && g.MemoryGiB > 0 && !g.fits() {
		problems.Add(path+".limits", fmt.Sprintf("allow no node of categories %s", strings.Join(g.categories(), ", ")),
			fmt.Sprintf("%d vCPUs, %d GiB", g.VCPUs, g.MemoryGiB), "raise them: they are the limits of the whole pool")
	}
	return problems
}

// smallest x86 instance of a category since the fifth generation: vCPUs and whole GiB of memory. A category that is not
// here has some that are as small as any limit. https://aws.amazon.com/ec2/instance-types/
var smallest = map[string]struct{ vcpus, gib int }{
	"c": {2, 4}, "m": {2, 8}, "r": {2, 16}, "i": {2, 16}, "d": {4, 32},
}

// fits says whether the limits allow one node of some category.
func (g General) fits() bool {
	return slices.ContainsFunc(g.categories(), func(category string) bool {
		least := smallest[category]
		return g.VCPUs >= least.vcpus && g.MemoryGiB >= least.gib
	})
}

func (g General) categories() []string {
	if len(g.Categories) == 0 {
		return DefaultCategories
	}
	return g.Categories
}

func validateDisruption(path string, spec Spec) (problems problem.List) {
	d := spec.Disruption
	for _, age := range []struct{ key, value string }{
		{"expireAfter", spec.ExpireAfter}, {"consolidateAfter", d.ConsolidateAfter},
	} {
		if age.value != "" && age.value != Never && !readable(age.value) {
			problems.Add(path+"."+age.key, "is not a duration", age.value, "use a form such as 10m or 720h, or Never")
		}
	}
	if d, err := time.ParseDuration(spec.ExpireAfter); err == nil && d <= 0 {
		problems.Add(path+".expireAfter", "expires every node at once", spec.ExpireAfter,
			"use a form such as 720h, or Never")
	}
	if g := spec.TerminationGracePeriod; g != "" && !readable(g) {
		problems.Add(path+".terminationGracePeriod", "is not a duration", g, "use a form such as 30m")
	}
	if d.ConsolidationPolicy != "" {
		problem.OneOf(&problems, path+".consolidationPolicy", d.ConsolidationPolicy, policies)
	}
	if len(d.Budgets) > maxBudgets {
		problems.Add(path+".budgets", fmt.Sprintf("are more than the %d that Karpenter takes", maxBudgets),
			len(d.Budgets),
			"remove some")
	}
	for i, b := range d.Budgets {
		problems.Join(b.validate(fmt.Sprintf("%s.budgets[%d]", path, i)))
	}
	return problems
}

// readable durations have the form of the schema and fit what Karpenter, a Go program, reads them into: 292 years.
func readable(text string) bool {
	_, err := time.ParseDuration(text)
	return err == nil && duration.MatchString(text)
}

func (b Budget) validate(path string) (problems problem.List) {
	if !budgetNodes.MatchString(b.Nodes) {
		problems.Add(path+".nodes", "is neither a number nor a share", b.Nodes, `use a form such as "1" or "10%"`)
	}
	if (b.Schedule == "") != (b.Duration == "") {
		problems.Add(path, "has one of schedule and duration, which go together",
			strings.TrimSpace(b.Schedule+b.Duration),
			"give both or neither")
	}
	if b.Schedule != "" && !cron(b.Schedule) {
		problems.Add(path+".schedule", "is not a cron line of five fields, in UTC", b.Schedule,
			`use a form such as "0 9 * * mon-fri"`)
	}
	if b.Duration != "" && (!budgetDuration.MatchString(b.Duration) || !readable(b.Duration)) {
		problems.Add(path+".duration", "is not in hours and minutes", b.Duration, "use a form such as 8h or 1h30m")
	}
	for i, reason := range b.Reasons {
		problem.OneOf(&problems, fmt.Sprintf("%s.reasons[%d]", path, i), reason, reasons)
	}
	return problems
}

// ValidateWake refuses a pool for whose pods its scaler would never make a node (field fault BR-12): measured, a
// claim-only pod brings none while Karpenter's switch is off. Of the facts, what runs is not read.
func ValidateWake(path string, f plan.WakeFacts) (problems problem.List) {
	needs, found := plan.NeedsToWake(f.Scaler, f.DeviceMode, f.Static)
	if !found { // an unknown scaler or device mode, which other rules speak of
		return problems
	}
	key, wrong, instead := ".deviceMode", "no node would ever be made for a claim", "use device mode plugin"
	if _, static := plan.NeedsToWake(f.Scaler, f.DeviceMode, true); static {
		instead += " or a static pool"
	}
	if f.Static {
		key, wrong, instead = ".static", "nothing would keep the pool's nodes", "give maxNodeCount instead"
	}
	for _, v := range []struct{ what, found, least, key string }{
		{"Karpenter", f.ScalerVersion, needs.ScalerVersion, "karpenter.version"},
		{"Kubernetes", f.KubernetesVersion, needs.KubernetesVersion, "cluster.kubernetesVersion"},
	} {
		switch {
		case v.least == "":
		case !semver.IsValid("v" + v.found):
			problems.Add(path+key, "hangs on a version of "+v.what+" that cannot be read", v.found,
				"give it like "+v.least)
		case semver.Compare("v"+v.found, "v"+v.least) < 0:
			problems.Add(path+key, fmt.Sprintf("%s: %s needs %s %s for it", wrong, f.Scaler, v.what, v.least), v.found,
				fmt.Sprintf("raise %s, or %s", v.key, instead))
		}
	}
	if needs.Switch && !f.DRAEnabled {
		problems.Add(path+key, wrong+": Karpenter's support for DRA is off", nil, "set karpenter.enableDRA: true "+
			"(alpha), or "+instead)
	}
	return problems
}
