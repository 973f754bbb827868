package config

import (
	"fmt"
	"maps"
	"net/netip"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/headroom-eks/headroom/components/pool"
	"github.com/headroom-eks/headroom/problem"
)

// LogTypes of an EKS control plane.
var LogTypes = []string{"api", "audit", "authenticator", "controllerManager", "scheduler"}

var (
	kubernetesVersion = regexp.MustCompile(`^1\.[0-9]{2}$`)
	addonVersion      = regexp.MustCompile(`^v[0-9]+\.[0-9]+\.[0-9]+-eksbuild\.[0-9]+$`)
	amiRelease        = regexp.MustCompile(`^1\.[0-9]{2}\.[0-9]+-20[0-9]{6}$`)
	amiAlias          = regexp.MustCompile(`^al2023@v20[0-9]{6}$`)
	chartVersion      = regexp.MustCompile(`^[0-9]+\.[0-9]+\.[0-9]+$`)
	clusterName       = regexp.MustCompile(`^[0-9A-Za-z][A-Za-z0-9_-]*$`)
	roleARN           = regexp.MustCompile(`^arn:aws[a-z-]*:iam::[0-9]{12}:(role|user)/[\w+=,.@/-]+$`)
	keyARN            = regexp.MustCompile(`^arn:aws[a-z-]*:kms:[a-z0-9-]+:[0-9]{12}:key/[A-Za-z0-9-]+$`)
	zoneName          = regexp.MustCompile(`^[a-z]{2}(-[a-z]+)+-[0-9][a-z]$`)
	// Karpenter's own pattern for durations. https://karpenter.sh/docs/concepts/nodepools/
	nodeDuration = regexp.MustCompile(`^([0-9]+(s|m|h))+$`)
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
	if e.General != nil {
		e.General.validate(&problems)
	}
	seen := map[string]int{}
	for i, p := range e.Pools {
		at := poolPath("pools", i, p.Name)
		if first, repeated := seen[p.Name]; repeated {
			problems.Add(at, "pools[%d] has the same name; names of pools are unique", first)
		} else {
			seen[p.Name] = i
		}
		p.validate(at, e, &problems)
	}
	if d, err := time.ParseDuration(e.Capacity.ValidFor); err != nil || d <= 0 {
		problems.Add("capacity.validFor", "found %q; write a duration above zero, for example 1h", e.Capacity.ValidFor)
	}
	if m := e.Capacity.SurgeMarginPercent; m < 0 || m > 100 {
		problems.Add("capacity.surgeMarginPercent", "found %d; write 0 to 100", m)
	}
	if r := e.Capacity.ReservedVCPUs; r.OnDemand < 0 || r.Spot < 0 {
		problems.Add("capacity.reservedVcpus", "found onDemand %d, spot %d; neither may be negative", r.OnDemand, r.Spot)
	}
	if name := e.Capacity.SSMParameter; name != "" && !strings.HasPrefix(name, "/") {
		problems.Add("capacity.ssmParameter", "found %q; write a path that starts with /", name)
	}
	oneOf("gitOps.nodePools", e.GitOps.NodePools, []string{"apply", "keep", "manifests"}, &problems)
	if e.GitOps.Applied && e.GitOps.NodePools != "manifests" {
		problems.Add("gitOps.applied", "has no meaning unless gitOps.nodePools is manifests; remove it")
	}
	return problems
}

// reservedTags are keys that EKS, Karpenter, cluster-autoscaler or this program set themselves; a copy on the wrong thing makes load
// balancers, node classes or the count of realized nodes go wrong (field faults BR-66, BR-74).
var reservedTags = []string{
	"aws:", "eks:", "kubernetes.io/cluster", "k8s.io/cluster-autoscaler", "karpenter.sh/", "karpenter.k8s.aws/", "headroom/", "Name",
}

func validateTags(tags map[string]string, problems *problem.List) {
	const most = 40 // AWS allows 50 on a resource; the rest is for EKS, Karpenter and this program
	if len(tags) > most {
		problems.Add("tags", "found %d; at most %d leave room for those that AWS and this program add", len(tags), most)
	}
	for _, key := range slices.Sorted(maps.Keys(tags)) {
		at := fmt.Sprintf("tags[%q]", key)
		if key == "" || len(key) > 128 || len(tags[key]) > 256 {
			problems.Add(at, "a key has 1 to 128 characters and a value at most 256; found %d and %d", len(key), len(tags[key]))
		}
		for _, reserved := range reservedTags {
			if strings.HasPrefix(key, reserved) && (reserved != "Name" || key == reserved) {
				problems.Add(at, "keys under %q are set by AWS or by this program; remove it", reserved)
			}
		}
	}
}

func (n Network) validate(problems *problem.List) {
	if n.Existing != nil {
		if n.CIDR != "" || len(n.Zones) > 0 || n.NATGateways != "" || len(n.InterfaceEndpoints) > 0 {
			problems.Add("network.existing", "goes without cidr, zones, natGateways and interfaceEndpoints: an existing VPC is not changed; remove either")
		}
		if !strings.HasPrefix(n.Existing.VPCID, "vpc-") {
			problems.Add("network.existing.vpcId", "found %q; write an id such as vpc-0123456789abcdef0", n.Existing.VPCID)
		}
		if len(n.Existing.PrivateSubnetIDs) < 2 {
			problems.Add("network.existing.privateSubnetIds", "found %d; EKS needs subnets in two zones at least", len(n.Existing.PrivateSubnetIDs))
		}
		all := slices.Concat(n.Existing.PrivateSubnetIDs, n.Existing.PublicSubnetIDs)
		for i, id := range all {
			if !strings.HasPrefix(id, "subnet-") {
				problems.Add("network.existing", "subnet id %q; write ids such as subnet-0123456789abcdef0", id)
			}
			if slices.Contains(all[:i], id) {
				problems.Add("network.existing", "subnet %s is given twice; keep one", id)
			}
		}
		return
	}
	if prefix, err := netip.ParsePrefix(n.CIDR); err != nil || !prefix.Addr().Is4() || prefix.Masked() != prefix || prefix.Bits() < 16 || prefix.Bits() > 21 {
		problems.Add("network.cidr", "found %q; write an IPv4 block between /16 and /21 with no host bits, for example 10.0.0.0/16", n.CIDR)
	}
	if len(n.Zones) < 2 {
		problems.Add("network.zones", "found %d; EKS needs two zones at least, for example [us-west-2a, us-west-2b]", len(n.Zones))
	}
	for i, zone := range n.Zones {
		if !zoneName.MatchString(zone) {
			problems.Add("network.zones", "found %q; write the name of an availability zone, for example us-west-2a", zone)
		}
		if slices.Contains(n.Zones[:i], zone) {
			problems.Add("network.zones", "%s is given twice; keep one", zone)
		}
	}
	oneOf("network.natGateways", n.NATGateways, []string{"one-per-vpc", "one-per-zone", "none"}, problems)
}

func (c Cluster) validate(problems *problem.List) {
	most := MaxClusterName
	if c.UniqueSuffix {
		most -= suffixLength
	}
	if !clusterName.MatchString(c.Name) || len(c.Name) > most {
		problems.Add("cluster.name", "found %q (%d characters); EKS takes letters, digits, - and _, at most %d", c.Name, len(c.Name), most)
	}
	if !kubernetesVersion.MatchString(c.KubernetesVersion) {
		problems.Add("cluster.kubernetesVersion", "found %q; write a minor version, for example %q", c.KubernetesVersion, DefaultKubernetesVersion)
	}
	for _, cidr := range c.PublicAccessCIDRs {
		if prefix, err := netip.ParsePrefix(cidr); err != nil || prefix.Masked() != prefix {
			problems.Add("cluster.publicAccessCidrs", "found %q; write address blocks, for example 203.0.113.7/32", cidr)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(c.Access)) {
		at := fmt.Sprintf("cluster.access[%q]", name)
		if !roleARN.MatchString(c.Access[name].PrincipalARN) {
			problems.Add(at+".principalArn", "found %q; write the ARN of an IAM role", c.Access[name].PrincipalARN)
		}
		oneOf(at+".policy", c.Access[name].Policy, []string{"cluster-admin", "admin", "edit", "view"}, problems)
		for _, other := range slices.Sorted(maps.Keys(c.Access)) {
			if other < name && c.Access[other].PrincipalARN == c.Access[name].PrincipalARN {
				problems.Add(at, "%q names the same principal, and EKS keeps one entry for each; remove one", other)
			}
		}
	}
	if c.SecretsKeyARN != "" && !keyARN.MatchString(c.SecretsKeyARN) {
		problems.Add("cluster.secretsKeyArn", "found %q; write the ARN of a KMS key (not of an alias)", c.SecretsKeyARN)
	}
	for _, logType := range c.LogTypes {
		oneOf("cluster.logTypes", logType, LogTypes, problems)
	}
	// https://docs.aws.amazon.com/AmazonCloudWatchLogs/latest/APIReference/API_PutRetentionPolicy.html
	if days := []int{1, 3, 5, 7, 14, 30, 60, 90, 120, 150, 180, 365, 400, 545, 731, 1096, 1827, 2192, 2557, 2922, 3288, 3653}; !slices.Contains(days, c.LogRetentionDays) {
		problems.Add("cluster.logRetentionDays", "found %d; CloudWatch Logs takes one of %v", c.LogRetentionDays, days)
	}
	oneOf("cluster.upgradePolicy", c.UpgradePolicy, []string{"STANDARD", "EXTENDED"}, problems)
	for _, addon := range []struct{ key, version string }{
		{"vpcCni", c.Addons.VPCCNI}, {"kubeProxy", c.Addons.KubeProxy}, {"coredns", c.Addons.CoreDNS}, {"ebsCsi", c.Addons.EBSCSI},
	} {
		if !addonVersion.MatchString(addon.version) {
			problems.Add("cluster.addons."+addon.key, "found %q; pin a version for Kubernetes %s, for example v1.22.3-eksbuild.1", addon.version, c.KubernetesVersion)
		}
	}
}

func (e Environment) validateSystem(problems *problem.List) {
	if *e.System.NodeCount < 1 {
		problems.Add("system.nodeCount", "found %d; controllers and DNS need one node at least", *e.System.NodeCount)
	}
	if e.System.Tainted && e.General == nil {
		problems.Add("system.tainted", "leaves no untainted node for pods without tolerations; leave it false or add the general pool")
	}
	if e.System.DiskGiB < 20 {
		problems.Add("system.diskGiB", "found %d; the image alone needs 20", e.System.DiskGiB)
	}
	if family, _, _ := strings.Cut(e.System.InstanceType, "."); gpuFamily.MatchString(family) {
		problems.Add("system.instanceType", "found %s, which has GPUs; system nodes have none", e.System.InstanceType)
	}
	if !amiRelease.MatchString(e.System.AMIRelease) || !strings.HasPrefix(e.System.AMIRelease, e.Cluster.KubernetesVersion+".") {
		problems.Add("system.amiRelease", "found %q; pin an AL2023 release for Kubernetes %s, for example %s", e.System.AMIRelease, e.Cluster.KubernetesVersion, defaultAMIRelease)
	}
}

// validateScalers holds what pools of different scalers mean for each other.
func (e Environment) validateScalers(problems *problem.List) {
	if e.Uses(pool.Karpenter) {
		if !chartVersion.MatchString(e.Karpenter.Version) {
			problems.Add("karpenter.version", "found %q; write a release without v, for example %s", e.Karpenter.Version, defaultKarpenterVersion)
		}
		if !amiAlias.MatchString(e.Karpenter.AMIAlias) {
			problems.Add("karpenter.amiAlias", "found %q; pin a release, for example %s: with latest every release replaces every node", e.Karpenter.AMIAlias, defaultAMIAlias)
		}
		if key := e.Karpenter.InterruptionQueueKeyARN; key != "" && !keyARN.MatchString(key) {
			problems.Add("karpenter.interruptionQueueKeyArn", "found %q; write the ARN of a KMS key", key)
		}
	}
	oneOf("clusterAutoscaler.expander", e.ClusterAutoscaler.Expander, []string{"least-nodes", "least-waste", "most-pods", "random"}, problems)
	for i, name := range e.AutoMode.BuiltInPools {
		oneOf("autoMode.builtInPools", name, []string{"general-purpose", "system"}, problems)
		if slices.Contains(e.AutoMode.BuiltInPools[:i], name) {
			problems.Add("autoMode.builtInPools", "%s is given twice; keep one", name)
		}
	}
	scaled := slices.ContainsFunc(e.Pools, func(p Pool) bool { return p.Scaler == pool.AutoMode })
	if scaled && len(e.AutoMode.BuiltInPools) == 0 && e.General == nil {
		problems.Add("autoMode.builtInPools", "is empty and there is no general pool, so system pods have no node; keep system or add the general pool")
	}
	for i, p := range e.Pools {
		if e.AutoMode.Keep && p.Scaler != pool.AutoMode {
			problems.Add("autoMode.keep", "Auto Mode stays on, beside which nothing else scales or has groups, and %s has scaler %s; bring that pool in the update that drops autoMode.keep", poolPath("pools", i, p.Name), p.Scaler)
		}
	}
	if g := e.General; e.AutoMode.Keep && g != nil && g.Scaler != pool.AutoMode {
		problems.Add("autoMode.keep", "Auto Mode stays on, beside which nothing else scales, and the general pool has scaler %s; bring it in the update that drops autoMode.keep", g.Scaler)
	}
	if e.GitOps.NodePools != "apply" && !e.Uses(pool.Karpenter) && !e.Uses(pool.AutoMode) {
		problems.Add("gitOps.nodePools", "no pool has NodePools to hand over; remove it or choose scaler karpenter or auto-mode")
	}
}

func (g General) validate(problems *problem.List) {
	if !g.Scaler.Dynamic() {
		problems.Add("general.scaler", "found %q; use %s or %s", g.Scaler, pool.Karpenter, pool.AutoMode)
	}
	if g.Limits.VCPUs < 1 || g.Limits.MemoryGiB < 1 {
		problems.Add("general.limits", "found vcpus %d and memoryGiB %d; both are at least 1", g.Limits.VCPUs, g.Limits.MemoryGiB)
	}
	for _, category := range g.InstanceCategories {
		oneOf("general.instanceCategories", category, []string{"a", "c", "m", "r", "t", "i", "d"}, problems)
	}
	for _, t := range g.CapacityTypes {
		oneOf("general.capacityTypes", t, []pool.CapacityType{pool.OnDemand, pool.Spot}, problems)
	}
	validateDisruption("general", g.ConsolidateAfter, g.ExpireAfter, g.Budgets, problems)
	problems.Join("general.", pool.ValidateTaints("startupTaints", g.StartupTaints))
}

func validateDisruption(at, consolidateAfter, expireAfter string, budgets []Budget, problems *problem.List) {
	for _, d := range []struct{ key, value string }{{"consolidateAfter", consolidateAfter}, {"expireAfter", expireAfter}} {
		if d.value != "" && d.value != "Never" && !nodeDuration.MatchString(d.value) {
			problems.Add(at+"."+d.key, "found %q; write a duration such as 10m or 720h, or Never", d.value)
		}
	}
	for i, b := range budgets {
		path := fmt.Sprintf("%s.budgets[%d]", at, i)
		if !regexp.MustCompile(`^((100|[0-9]{1,2})%|[0-9]+)$`).MatchString(b.Nodes) {
			problems.Add(path+".nodes", "found %q; write a number or a percentage, for example \"1\" or \"10%%\"", b.Nodes)
		}
		if (b.Schedule == "") != (b.Duration == "") {
			problems.Add(path, "schedule and duration go together; give both or neither")
		}
		for _, reason := range b.Reasons {
			oneOf(path+".reasons", reason, []string{"Empty", "Drifted", "Underutilized"}, problems)
		}
	}
}

// oneOf reports a value that is not in the list of allowed ones.
func oneOf[T ~string](path string, value T, allowed []T, problems *problem.List) {
	if !slices.Contains(allowed, value) {
		texts := make([]string, len(allowed))
		for i, a := range allowed {
			texts[i] = string(a)
		}
		problems.Add(path, "found %q; use one of %s", value, strings.Join(texts, ", "))
	}
}
