package config

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/headroom-eks/headroom/pool"
	"github.com/headroom-eks/headroom/pool/label"
	"github.com/headroom-eks/headroom/problem"
	"k8s.io/apimachinery/pkg/util/validation"
)

// LogTypes of an EKS control plane.
var LogTypes = []string{"api", "audit", "authenticator", "controllerManager", "scheduler"}

var (
	kubernetesVersion = regexp.MustCompile(`^1\.[0-9]{2}$`)
	addonVersion      = regexp.MustCompile(`^v[0-9]+\.[0-9]+\.[0-9]+-eksbuild\.[0-9]+$`)
	amiRelease        = regexp.MustCompile(`^1\.[0-9]{2}\.[0-9]+-20[0-9]{6}$`)
	amiAlias          = regexp.MustCompile(`^al2023@v20[0-9]{6}$`)
	chartVersion      = regexp.MustCompile(`^[0-9]+\.[0-9]+\.[0-9]+$`)
	chartRepository   = regexp.MustCompile(`^(https|oci)://[^/\s]+\S*$`)
	clusterName       = regexp.MustCompile(`^[0-9A-Za-z][A-Za-z0-9_-]*$`)
	roleARN           = regexp.MustCompile(`^arn:aws[a-z-]*:iam::[0-9]{12}:(role|user)/[\w+=,.@/-]+$`)
	keyARN            = regexp.MustCompile(`^arn:aws[a-z-]*:kms:[a-z0-9-]+:[0-9]{12}:key/[A-Za-z0-9-]+$`)
	// tagText is what AWS takes in a tag.
	// https://docs.aws.amazon.com/tag-editor/latest/userguide/best-practices-and-strats.html
	tagText = regexp.MustCompile(`^[\p{L}\p{N}\p{Zs}_.:/=+@-]*$`)
	// parameterName of a parameter in a hierarchy.
	// https://docs.aws.amazon.com/systems-manager/latest/APIReference/API_PutParameter.html
	parameterName = regexp.MustCompile(`^(/[A-Za-z0-9_.-]+){1,15}$`)
	zoneName      = regexp.MustCompile(`^[a-z]{2}(-[a-z]+)+-[0-9][a-z]$`)
)

// MaxClusterName is EKS's limit in characters; a unique suffix takes 7 of them.
const (
	MaxClusterName = 100
	suffixLength   = 7
)

// Validate reports everything that the configuration alone can get wrong. The receiver has its defaults.
func (e Environment) Validate() (problems problem.List) {
	validateTags(e.Tags, &problems)
	e.Network.validate(&problems)
	e.Cluster.validate(&problems)
	e.validateSystem(&problems)
	e.validateScalers(&problems)
	e.validateCharts(&problems)
	if e.General != nil {
		e.General.validate(e, &problems)
	}
	seen := map[string]int{}
	for i, p := range e.Pools {
		at := poolPath("pools", i, p.Name)
		if first, repeated := seen[p.Name]; repeated {
			problems.Addf(at, "pools[%d] has the same name; names of pools are unique", first)
		} else {
			seen[p.Name] = i
		}
		p.validate(at, e, &problems)
	}
	if d, err := time.ParseDuration(e.Capacity.ValidFor); err != nil || d <= 0 {
		problems.Addf("capacity.validFor", "found %q; write a duration above zero, for example 1h", e.Capacity.ValidFor)
	}
	if m := e.Capacity.SurgeMarginPercent; m < 0 || m > 100 {
		problems.Addf("capacity.surgeMarginPercent", "found %d; write 0 to 100", m)
	}
	if r := e.Capacity.ReservedVCPUs; r.OnDemand < 0 || r.Spot < 0 {
		problems.Addf("capacity.reservedVcpus", "found onDemand %d, spot %d; neither may be negative", r.OnDemand,
			r.Spot)
	}
	validateParameter(e.Capacity.SSMParameter, &problems)
	oneOf("gitOps.nodePools", e.GitOps.NodePools, []string{"apply", "keep", "manifests"}, &problems)
	if e.GitOps.Applied && e.GitOps.NodePools != "manifests" {
		problems.Addf("gitOps.applied", "has no meaning unless gitOps.nodePools is manifests; remove it")
	}
	return problems
}

// reservedTags are keys that EKS, Karpenter, cluster-autoscaler or this program set themselves; a copy on the wrong
// thing makes load balancers, node classes or the count of realized nodes go wrong (field faults BR-66, BR-74).
var reservedTags = []string{
	"aws:", "eks:", "kubernetes.io/cluster", "k8s.io/cluster-autoscaler", "karpenter.sh/", "karpenter.k8s.aws/",
	"headroom/", "Name",
}

func validateTags(tags map[string]string, problems *problem.List) {
	const most = 40 // AWS allows 50 on a resource; the rest is for EKS, Karpenter and this program
	if len(tags) > most {
		problems.Addf("tags", "found %d; at most %d leave room for those that AWS and this program add", len(tags), most)
	}
	for _, key := range slices.Sorted(maps.Keys(tags)) {
		at := fmt.Sprintf("tags[%q]", key)
		if keys, values := utf8.RuneCountInString(key), utf8.RuneCountInString(tags[key]); keys < 1 || keys > 128 ||
			values > 256 {
			problems.Addf(at, "a key has 1 to 128 characters and a value at most 256; found %d and %d", keys, values)
		}
		for _, text := range []string{key, tags[key]} {
			if !tagText.MatchString(text) {
				problems.Addf(at, "found %q; AWS takes letters, digits, spaces and _ . : / = + - @", text)
			}
		}
		for _, reserved := range reservedTags {
			if strings.HasPrefix(key, reserved) && (reserved != "Name" || key == reserved) {
				problems.Addf(at, "keys under %q are set by AWS or by this program; remove it", reserved)
			}
		}
	}
}

func (e Environment) validateSystem(problems *problem.List) {
	if *e.System.NodeCount < 1 {
		problems.Addf("system.nodeCount", "found %d; controllers and DNS need one node at least", *e.System.NodeCount)
	}
	if *e.System.NodeCount > maxGroupNodes {
		problems.Addf("system.nodeCount", "found %d; EKS allows %d nodes in one managed group", *e.System.NodeCount,
			maxGroupNodes)
	}
	if e.System.Tainted && e.General == nil {
		problems.Addf("system.tainted", "leaves no untainted node for pods without tolerations; leave it false or add "+
			"the general pool")
	}
	if e.System.DiskGiB < 20 {
		problems.Addf("system.diskGiB", "found %d; the image alone needs 20", e.System.DiskGiB)
	}
	if family, _, _ := strings.Cut(e.System.InstanceType, "."); gpuFamily.MatchString(family) {
		problems.Addf("system.instanceType", "found %s, which has GPUs; system nodes have none", e.System.InstanceType)
	}
	if version := e.Cluster.KubernetesVersion; e.Cluster.HasVersion() &&
		(!amiRelease.MatchString(e.System.AMIRelease) || !strings.HasPrefix(e.System.AMIRelease, version+".")) {
		problems.Addf("system.amiRelease", "found %q; pin an AL2023 release for Kubernetes %s, in the form "+
			"%s.Z-YYYYMMDD (https://github.com/awslabs/amazon-eks-ami/releases)",
			e.System.AMIRelease, version, version)
	}
}

// validateParameter: AWS keeps names that begin with aws or ssm to itself, in any case.
func validateParameter(name string, problems *problem.List) {
	lower := strings.ToLower(name)
	switch {
	case name == "":
	case !parameterName.MatchString(name) || len(name) > 900: // 1011 with the ARN before it
		problems.Addf("capacity.ssmParameter", "found %q; write a path of letters, digits and _ . -, for example "+
			"/headroom/capacity", name)
	case strings.HasPrefix(lower, "/aws") || strings.HasPrefix(lower, "/ssm"):
		problems.Addf("capacity.ssmParameter", "found %q; names under /aws and /ssm are kept by AWS, for example use "+
			"/headroom/capacity", name)
	}
}

// validateCharts holds where charts come from and which.
func (e Environment) validateCharts(problems *problem.List) {
	for _, c := range []struct{ key, version, example string }{
		{"gpu.devicePluginVersion", e.GPU.DevicePluginVersion, defaultDevicePluginVersion},
		{"gpu.draDriverVersion", e.GPU.DRADriverVersion, defaultDRADriverVersion},
	} {
		if !chartVersion.MatchString(c.version) {
			problems.Addf(c.key, "found %q; write a release without v, for example %s", c.version, c.example)
		}
	}
	for _, c := range []struct{ key, repository string }{
		{"gpu.repository", e.GPU.Repository}, {"karpenter.repository", e.Karpenter.Repository},
		{"clusterAutoscaler.repository", e.ClusterAutoscaler.Repository},
	} {
		if c.repository != "" && !chartRepository.MatchString(c.repository) {
			problems.Addf(c.key, "found %q; write the address of a chart repository with its scheme, https:// or oci://",
				c.repository)
		}
	}
	for i, key := range e.ClusterAutoscaler.StartupTaints {
		for _, msg := range validation.IsQualifiedName(key) {
			problems.Addf(fmt.Sprintf("clusterAutoscaler.startupTaints[%d]", i), "found %q; give the taint's key "+
				"alone: %s", key, msg)
		}
	}
}

// validateScalers holds what pools of different scalers mean for each other.
func (e Environment) validateScalers(problems *problem.List) {
	if e.Uses(pool.Karpenter) {
		if !amiAlias.MatchString(e.Karpenter.AMIAlias) {
			problems.Addf("karpenter.amiAlias", "found %q; pin a release, for example %s: with latest every release "+
				"replaces every node", e.Karpenter.AMIAlias, defaultAMIAlias)
		}
		if key := e.Karpenter.InterruptionQueueKeyARN; key != "" && !keyARN.MatchString(key) {
			problems.Addf("karpenter.interruptionQueueKeyArn", "found %q; write the ARN of a KMS key", key)
		}
	}
	oneOf("clusterAutoscaler.expander", e.ClusterAutoscaler.Expander,
		[]string{"least-nodes", "least-waste", "most-pods", "random"}, problems)
	for i, name := range e.AutoMode.BuiltInPools {
		oneOf("autoMode.builtInPools", name, []string{"general-purpose", "system"}, problems)
		if slices.Contains(e.AutoMode.BuiltInPools[:i], name) {
			problems.Addf("autoMode.builtInPools", "%s is given twice; keep one", name)
		}
	}
	scaled := slices.ContainsFunc(e.Pools, func(p Pool) bool { return p.Scaler == pool.AutoMode })
	if scaled && len(e.AutoMode.BuiltInPools) == 0 && e.General == nil {
		problems.Addf("autoMode.builtInPools", "is empty and there is no general pool, so system pods have no node; "+
			"keep system or add the general pool")
	}
	for i, p := range e.Pools {
		if e.AutoMode.Keep && p.Scaler != pool.AutoMode {
			problems.Addf("autoMode.keep", "Auto Mode stays on, beside which nothing else scales or has groups, and "+
				"%s has scaler %s; bring that pool in the update that drops autoMode.keep",
				poolPath("pools", i, p.Name), p.Scaler)
		}
	}
	if g := e.General; e.AutoMode.Keep && g != nil && g.Scaler != pool.AutoMode {
		problems.Addf("autoMode.keep", "Auto Mode stays on, beside which nothing else scales, and the general pool "+
			"has scaler %s; bring it in the update that drops autoMode.keep", g.Scaler)
	}
	if e.GitOps.NodePools != "apply" && !e.Uses(pool.Karpenter) && !e.Uses(pool.AutoMode) {
		problems.Addf("gitOps.nodePools", "no pool has NodePools to hand over; remove it or choose scaler karpenter "+
			"or auto-mode")
	}
}

func (g General) validate(e Environment, problems *problem.List) {
	if !g.Scaler.Dynamic() {
		problems.Addf("general.scaler", "found %q; use %s or %s", g.Scaler, pool.Karpenter, pool.AutoMode)
	}
	if g.Limits.VCPUs < 1 || g.Limits.MemoryGiB < 1 {
		problems.Addf("general.limits", "found vcpus %d and memoryGiB %d; both are at least 1", g.Limits.VCPUs,
			g.Limits.MemoryGiB)
	}
	if g.Limits.VCPUs > maxGeneralLimit || g.Limits.MemoryGiB > maxGeneralLimit {
		problems.Addf("general.limits", "found vcpus %d and memoryGiB %d; at most %d each", g.Limits.VCPUs,
			g.Limits.MemoryGiB, maxGeneralLimit)
	}
	if g.DiskGiB < 20 || g.DiskGiB > maxDiskGiB {
		problems.Addf("general.diskGiB", "found %d; 20 to %d: the image alone needs most of 20", g.DiskGiB, maxDiskGiB)
	}
	e.validateZones("general", g.Zones, problems)
	for _, category := range g.InstanceCategories {
		oneOf("general.instanceCategories", category, []string{"a", "c", "m", "r", "t", "i", "d"}, problems)
	}
	for _, t := range g.CapacityTypes {
		oneOf("general.capacityTypes", t, []pool.CapacityType{pool.OnDemand, pool.Spot}, problems)
	}
	validateDisruption("general", g.ConsolidateAfter, g.ExpireAfter, g.Budgets, problems)
	problems.JoinUnder("general.", label.ValidateTaints("startupTaints", g.StartupTaints))
	validateTaintDomains("general.startupTaints", g.StartupTaints, problems)
}

// oneOf reports a value that is not in the list of allowed ones.
func oneOf[T ~string](path string, value T, allowed []T, problems *problem.List) {
	if !slices.Contains(allowed, value) {
		texts := make([]string, len(allowed))
		for i, a := range allowed {
			texts[i] = string(a)
		}
		problems.Addf(path, "found %q; use one of %s", value, strings.Join(texts, ", "))
	}
}
