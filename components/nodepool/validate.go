package nodepool

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/headroom-eks/headroom/pool"
	"github.com/headroom-eks/headroom/pool/label"
	"github.com/headroom-eks/headroom/problem"
	"golang.org/x/mod/semver"
	"k8s.io/apimachinery/pkg/util/validation"
)

// The patterns are those of the NodePool's schema. https://karpenter.sh/v1.15/concepts/nodepools/
var (
	durationOrNever = regexp.MustCompile(`^(([0-9]+(s|m|h))+|Never)$`)
	plainDuration   = regexp.MustCompile(`^([0-9]+(s|m|h))+$`)
	budgetNodes     = regexp.MustCompile(`^((100|[0-9]{1,2})%|[0-9]+)$`)
	budgetDuration  = regexp.MustCompile(`^(([0-9]+(h|m))|([0-9]+h[0-9]+m))$`)
	budgetSchedule  = regexp.MustCompile(
		`^(@(annually|yearly|monthly|weekly|daily|midnight|hourly)|\S+ \S+ \S+ \S+ \S+)$`)
	instanceType = regexp.MustCompile(`^[a-z][a-z0-9-]*\.[a-z0-9-]+$`)
)

var (
	policies      = []string{whenEmpty, whenEmptyOrUnderutilized, balanced}
	reasons       = []string{"Empty", "Underutilized", "Drifted", "Unhealthy"}
	architectures = []string{"x86_64", "arm64"}
	gpuCategories = []string{"g", "gr", "p"}
	// other accelerators, not for pods without claims on them either
	otherCategories = []string{"dl", "f", "inf", "trn", "vt"}
)

const maxRequirements, maxBudgets = 100, 50

// Validate reports everything that is wrong with a pool, before anything is made of it. Paths are those of the
// program's configuration, which has no level for what is advertised and for disruption.
func Validate(path string, spec Spec) (problems problem.List) {
	at := func(field string) string { return path + "." + field }
	for _, msg := range validation.IsDNS1123Label(spec.Name) {
		problems.Addf(at("name"), "%q is not a DNS label: %s", spec.Name, msg)
	}
	switch {
	case spec.Advertised != nil && spec.General != nil:
		problems.Addf(path, "the pool is both advertised and general; keep one")
	case spec.Advertised != nil:
		problems.Join(validateAdvertised(path, spec))
	case spec.General != nil:
		problems.Join(validateGeneral(path, *spec.General))
	default:
		problems.Addf(path, "the pool is neither advertised nor general; describe one of them")
	}
	if len(spec.CapacityTypes) == 0 {
		problems.Addf(at("capacityTypes"), "none is given; use one or more of %v", pool.CapacityTypes)
	}
	for i, c := range spec.CapacityTypes {
		if !slices.Contains(pool.CapacityTypes, c) {
			problems.Addf(fmt.Sprintf("%s[%d]", at("capacityTypes"), i), "%q is unknown; use one of %v", c,
				pool.CapacityTypes)
		}
	}
	if spec.Architecture != "" && !slices.Contains(architectures, spec.Architecture) {
		problems.Addf(at("architecture"), "%q is unknown; use one of %v", spec.Architecture, architectures)
	}
	if spec.Weight < 0 || spec.Weight > 100 {
		problems.Addf(at("weight"), "%d is out of range; use 1 to 100, or 0 for none", spec.Weight)
	}
	problems.Join(label.Validate(at("labels"), pool.Karpenter, spec.Labels))
	problems.Join(label.ValidateTaints(at("taints"), spec.Taints))
	problems.Join(label.ValidateTaints(at("startupTaints"), spec.StartupTaints))
	for i, t := range spec.StartupTaints {
		same := func(other pool.Taint) bool { return other.Key == t.Key && other.Effect == t.Effect }
		if slices.ContainsFunc(spec.Taints, same) {
			problems.Addf(fmt.Sprintf("%s[%d] %q", at("startupTaints"), i, t.Key), "it is among the taints too, with "+
				"effect %s; keep one", t.Effect)
		}
	}
	if n := len(spec.Labels) + 9; n > maxRequirements {
		problems.Addf(at("labels"), "%d labels leave no room for requirements; Karpenter takes %d of both together",
			len(spec.Labels), maxRequirements)
	}
	problems.Join(validateDisruption(path, spec))
	return problems
}

func validateAdvertised(path string, spec Spec) (problems problem.List) {
	at := func(field string) string { return path + "." + field }
	a := spec.Advertised
	if len(a.InstanceTypes) == 0 {
		problems.Addf(at("instanceTypes"), "none is given; name exact types, such as g6.xlarge")
	}
	for i, name := range a.InstanceTypes {
		here := fmt.Sprintf("%s[%d]", at("instanceTypes"), i)
		switch {
		case !instanceType.MatchString(name):
			problems.Addf(here, "%q is not an instance type; use a name such as g6.xlarge", name)
		case Fractional(name):
			problems.Addf(here, "%q carries a fraction of a GPU, which can be neither counted nor promised; use whole "+
				"GPUs, such as g6", name)
		case slices.Contains(a.InstanceTypes[:i], name):
			problems.Addf(here, "%q is given twice; keep one", name)
		}
	}
	if !slices.Contains(pool.DeviceModes, a.DeviceMode) {
		problems.Addf(at("deviceMode"), "%q is unknown; use one of %v", a.DeviceMode, pool.DeviceModes)
	}
	if a.VCPUs < 1 {
		problems.Addf(at("vcpus"), "a node has %d; give what the instance type has, 1 or more", a.VCPUs)
	}
	if a.GPUs < 1 {
		problems.Addf(at("gpus"), "a node has %d; give what the instance type has, 1 or more", a.GPUs)
	}
	repels := func(t pool.Taint) bool { return t.Effect != pool.PreferNoSchedule }
	if !slices.ContainsFunc(spec.Taints, repels) {
		problems.Addf(path+".taints", "nothing keeps pods without GPUs off these nodes; add %s", pool.GPUTaint)
	}
	switch {
	case !a.Static && a.NodeCount != 0:
		problems.Addf(at("nodeCount"), "%d has no meaning here, Karpenter makes nodes as pods need them; remove it, "+
			"or set static: true", a.NodeCount)
	case !a.Static && a.MaxNodeCount < 1:
		problems.Addf(at("maxNodeCount"), "%d allows no node; use 1 or more, or remove the pool", a.MaxNodeCount)
	case a.Static && a.NodeCount < 0:
		problems.Addf(at("nodeCount"), "%d is negative; use 0 or more", a.NodeCount)
	case a.Static && a.MaxNodeCount != 0 && a.MaxNodeCount < a.NodeCount:
		problems.Addf(at("maxNodeCount"), "%d is below nodeCount %d; raise it or remove it", a.MaxNodeCount, a.NodeCount)
	}
	if a.Static && spec.Weight != 0 {
		problems.Addf(path+".weight", "%d is given, and a static pool has none; remove it", spec.Weight)
	}
	return problems
}

func validateGeneral(path string, g General) (problems problem.List) {
	accelerated := append(slices.Clone(gpuCategories), otherCategories...)
	for i, c := range g.Categories {
		if slices.Contains(accelerated, c) {
			problems.Addf(fmt.Sprintf("%s.instanceCategories[%d]", path, i), "%q has accelerators, which a general "+
				"pool leaves to GPU pools; remove it", c)
		}
	}
	for i, f := range g.Families {
		category := f
		if end := strings.IndexAny(f, "0123456789"); end > 0 {
			category = f[:end] // letters before the generation, as Karpenter reads the category
		}
		if slices.Contains(accelerated, category) {
			problems.Addf(fmt.Sprintf("%s.families[%d]", path, i), "%q has accelerators, which a general pool leaves "+
				"to GPU pools; remove it", f)
		}
	}
	if g.MinGeneration < 0 {
		problems.Addf(path+".minGeneration", "%d is negative; use a generation such as %d", g.MinGeneration,
			defaultMinGeneration)
	}
	if g.VCPUs < 1 {
		problems.Addf(path+".limits.vcpus", "%d allows no node; give the limit of the whole pool in vCPUs", g.VCPUs)
	}
	if g.MemoryGiB < 1 {
		problems.Addf(path+".limits.memoryGiB", "%d allows no node; give the limit of the whole pool in GiB",
			g.MemoryGiB)
	}
	return problems
}

func validateDisruption(path string, spec Spec) (problems problem.List) {
	at := func(field string) string { return path + "." + field }
	spec = spec.withDefaults()
	if !durationOrNever.MatchString(spec.ExpireAfter) {
		problems.Addf(at("expireAfter"), "%q is neither a duration nor Never; use a form such as 720h", spec.ExpireAfter)
	}
	if g := spec.TerminationGracePeriod; g != "" && !plainDuration.MatchString(g) {
		problems.Addf(at("terminationGracePeriod"), "%q is not a duration; use a form such as 30m", g)
	}
	d := spec.Disruption
	if !slices.Contains(policies, d.ConsolidationPolicy) {
		problems.Addf(at("consolidationPolicy"), "%q is unknown; use one of %v", d.ConsolidationPolicy, policies)
	}
	if !durationOrNever.MatchString(d.ConsolidateAfter) {
		problems.Addf(at("consolidateAfter"), "%q is neither a duration nor Never; use a form such as 10m",
			d.ConsolidateAfter)
	}
	if len(d.Budgets) > maxBudgets {
		problems.Addf(at("budgets"), "%d budgets are given; Karpenter takes %d", len(d.Budgets), maxBudgets)
	}
	for i, b := range d.Budgets {
		here := fmt.Sprintf("%s[%d]", at("budgets"), i)
		if !budgetNodes.MatchString(b.Nodes) {
			problems.Addf(here+".nodes", "%q is neither a number nor a share; use a form such as 1 or 10%%", b.Nodes)
		}
		if (b.Schedule == "") != (b.Duration == "") {
			problems.Addf(here, "schedule %q and duration %q go together; give both or neither", b.Schedule, b.Duration)
		}
		if b.Schedule != "" && !budgetSchedule.MatchString(b.Schedule) {
			problems.Addf(here+".schedule", "%q is not a cron line of five fields, in UTC; use a form such as 0 9 * * "+
				"mon-fri", b.Schedule)
		}
		if b.Duration != "" && !budgetDuration.MatchString(b.Duration) {
			problems.Addf(here+".duration", "%q is not in hours and minutes; use a form such as 8h or 1h30m", b.Duration)
		}
		for _, r := range b.Reasons {
			if !slices.Contains(reasons, r) {
				problems.Addf(here+".reasons", "%q is unknown; use some of %v", r, reasons)
			}
		}
	}
	return problems
}

// The first versions in which Karpenter makes new nodes for pods that claim GPUs through DRA.
// https://karpenter.sh/v1.15/tasks/dra/
const draKarpenter, draKubernetes = "1.15", "1.34"

// ValidateDRA refuses a dynamic DRA pool that would never get a node (field fault BR-12): measured, a claim-only pod
// brings none while the switch is off. Static pools need none of this. Versions are like "1.15.0" and "1.36".
func ValidateDRA(path, karpenterVersion, kubernetesVersion string, enableDRA bool) (problems problem.List) {
	for _, v := range []struct{ what, found, least, key string }{
		{"Karpenter", karpenterVersion, draKarpenter, "karpenter.version"},
		{"Kubernetes", kubernetesVersion, draKubernetes, "cluster.kubernetesVersion"},
	} {
		switch {
		case !semver.IsValid("v" + v.found):
			problems.Addf(path, "%s version %q cannot be read; give it like %s", v.what, v.found, v.least)
		case semver.Compare("v"+v.found, "v"+v.least) < 0:
			problems.Addf(path, "no node would ever be made for a claim: DRA needs %s %s, found %s; raise %s, or use "+
				"deviceMode plugin or a static pool",
				v.what, v.least, v.found, v.key)
		}
	}
	if !enableDRA {
		problems.Addf(path, "no node would ever be made for a claim: Karpenter's DRA support is off; "+
			"set karpenter.enableDRA: true (alpha), or use deviceMode plugin or a static pool")
	}
	return problems
}
