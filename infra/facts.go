package infra

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	capacityplan "github.com/headroom-eks/headroom/capacity/plan"
	"github.com/headroom-eks/headroom/components/cluster"
	"github.com/headroom-eks/headroom/components/clusterautoscaler"
	"github.com/headroom-eks/headroom/infra/config"
	"github.com/headroom-eks/headroom/pool"
	"github.com/headroom-eks/headroom/problem"
)

// facts are AWS's answers to what the configuration asks for. Whatever could not be asked is left out, and says why in
// unknown.
type facts struct {
	Partition string // aws, aws-cn, aws-us-gov
	DNSSuffix string // amazonaws.com or amazonaws.com.cn
	Region    string
	AccountID string
	Caller    string   // ARN of whoever runs the program
	Versions  []string // of Kubernetes that EKS serves here; empty when it could not be asked

	ZoneIDs   map[string]string     // of the account's zones, by name
	Shapes    map[string]pool.Shape // by instance type
	Offerings map[string][]string   // zones by instance type, sorted
	Quotas    map[string]quota      // by quota code
	Subnets   []subnet              // of an existing network
	VPCCIDR   string                // of an existing network
	VPCSubnet map[string]string     // VPC of each subnet of an existing network

	// of this stack's cluster, empty when there is none or it cannot be told from others
	LiveName    string
	LiveVersion string // of the cluster, empty when there is none or it could not be asked
	// whether the live cluster runs Auto Mode, nil when there is none or it could not be asked
	LiveAuto *bool
	// ARN of the node role in the live cluster's settings, kept there when Auto Mode goes off
	LiveAutoRole string
	LiveGroups   map[string]clusterautoscaler.Live // by physical name
	LiveNodes    map[string]int                    // running instances by pool, asked only when pools are handed over

	MissingAMIs []string // pinned AMI releases that this region does not have
	SpotRole    *bool    // whether the account has the service-linked role for spot, nil when it could not be asked

	Unknown []string // questions without an answer, each with its reason; less is promised
	// Unguarded are questions without an answer that keep what runs from being replaced or deleted; without them
	// nothing is changed.
	Unguarded []string
}

type quota struct {
	VCPUs  int
	Reason string // why the quota is not known; empty when it is
}

type subnet struct {
	ID, Zone      string
	CIDR          string
	FreeAddresses int
	Unknown       string // why its free addresses are not known; empty when they are
	Public        bool
}

// pinnedImage is one image that nodes will start from.
type pinnedImage struct{ architecture, variant, date, release string }

// pinnedImages of the managed groups and of Karpenter's nodes. Auto Mode chooses its own.
func pinnedImages(env config.Environment, f facts) (images []pinnedImage) {
	const gpuArchitecture = "x86_64" // of every type a pool may name
	add := func(image pinnedImage) {
		if !slices.Contains(images, image) {
			images = append(images, image)
		}
	}
	_, release, _ := strings.Cut(env.System.AMIRelease, "-")
	_, alias, _ := strings.Cut(env.Karpenter.AMIAlias, "@v")
	if !env.Uses(pool.AutoMode) {
		architecture := f.Shapes[env.System.InstanceType].Architecture
		if architecture == "" {
			architecture = "x86_64"
		}
		add(pinnedImage{architecture, "standard", release, env.System.AMIRelease})
	}
	if env.General != nil && env.General.Scaler == pool.Karpenter {
		add(pinnedImage{"x86_64", "standard", alias, env.Karpenter.AMIAlias})
	}
	for _, p := range env.Pools {
		switch {
		case p.Scaler.ManagedGroup():
			add(pinnedImage{gpuArchitecture, "nvidia", release, env.System.AMIRelease})
		case p.Scaler == pool.Karpenter:
			add(pinnedImage{gpuArchitecture, "nvidia", alias, env.Karpenter.AMIAlias})
		}
	}
	return images
}

// liveNames are the clusters that may be this stack's: the one of its name, or with a unique suffix every one of that
// name and some suffix, since which is this stack's is not known before the program has run.
func liveNames(all []string, c config.Cluster) (names []string) {
	own := regexp.MustCompile("^" + regexp.QuoteMeta(c.Name) + "$")
	if c.UniqueSuffix {
		own = regexp.MustCompile("^" + regexp.QuoteMeta(c.Name) + "-[a-z0-9]{6}$")
	}
	return slices.DeleteFunc(slices.Clone(all), func(name string) bool { return !own.MatchString(name) })
}

// handedOver are the pools, the general one included, whose NodePools GitOps can take over.
func handedOver(env config.Environment) (names []string) {
	if env.General != nil {
		names = append(names, generalPool)
	}
	for _, p := range env.Pools {
		if p.Scaler.Dynamic() {
			names = append(names, p.Name)
		}
	}
	return names
}

// networkZones are the zones in which nodes can run, sorted.
func networkZones(env config.Environment, f facts) []string {
	zones := slices.Clone(env.Network.Zones)
	for _, s := range f.Subnets {
		if !s.Public {
			zones = append(zones, s.Zone)
		}
	}
	slices.Sort(zones)
	return slices.Compact(zones)
}

// poolZones are the zones of the network that the pool asks for and that offer all its instance types, sorted; with an
// error when there is none. Zones that could not be asked about count as offering: the contract then says that they are
// not known.
func poolZones(p config.Pool, env config.Environment, f facts) ([]string, error) {
	zones := networkZones(env, f)
	offered := slices.Clone(zones)
	for _, t := range p.InstanceTypes {
		if in, asked := f.Offerings[t]; asked {
			offered = slices.DeleteFunc(offered, func(zone string) bool { return !slices.Contains(in, zone) })
		}
	}
	found, _, err := capacityplan.PoolZones(strings.Join(p.InstanceTypes, ", "), offered, zones, p.Zones)
	return found, err
}

// zonesOf a pool that judge has found to have some.
func zonesOf(p config.Pool, env config.Environment, f facts) []string {
	zones, _ := poolZones(p, env, f)
	return zones
}

// judge reports what AWS's answers refuse.
func judge(env config.Environment, f facts) (problems problem.List) {
	for _, question := range f.Unguarded {
		problems.Addf("aws", "%s; without the answer what runs could be replaced or deleted unseen; give the "+
			"permission to ask, and run again", question)
	}
	if s, known := f.Shapes[env.System.InstanceType]; !env.Uses(pool.AutoMode) && (!known || s.Architecture == "") {
		problems.Addf("system.instanceType", "EC2 gives no description of %s in %s; choose a type the region has",
			env.System.InstanceType, f.Region)
	}
	judgeQuotas(env, f, &problems)
	for _, zone := range env.Network.Zones {
		if _, known := f.ZoneIDs[zone]; !known && len(f.ZoneIDs) > 0 {
			problems.Addf("network.zones", "this account has no zone %q in %s; it has %s", zone, f.Region,
				strings.Join(slices.Sorted(maps.Keys(f.ZoneIDs)), ", "))
		}
	}
	if wanted := env.Cluster.KubernetesVersion; len(f.Versions) > 0 && !slices.Contains(f.Versions, wanted) {
		problems.Addf("cluster.kubernetesVersion", "EKS serves no %q in %s; it serves %s", wanted, f.Region,
			strings.Join(f.Versions, ", "))
	}
	problems.JoinUnder("cluster.", cluster.CheckVersion(f.LiveVersion, env.Cluster.KubernetesVersion))
	for _, id := range slices.Sorted(maps.Keys(f.VPCSubnet)) {
		if vpc := f.VPCSubnet[id]; vpc != env.Network.Existing.VPCID {
			problems.Addf("network.existing", "subnet %s belongs to %s, not to %s; name subnets of one VPC", id, vpc,
				env.Network.Existing.VPCID)
		}
	}
	if existing := env.Network.Existing; existing != nil &&
		(f.VPCCIDR == "" || len(f.Subnets) < len(existing.PrivateSubnetIDs)+len(existing.PublicSubnetIDs)) {
		problems.Addf("network.existing", "the VPC or a subnet could not be read (%s); check the ids and the "+
			"permission to describe them", strings.Join(f.Unknown, "; "))
	}
	if zones := networkZones(env, f); env.Network.Existing != nil && len(f.Subnets) > 0 && len(zones) < 2 {
		problems.Addf("network.existing.privateSubnetIds", "all lie in %s; EKS needs two zones at least",
			strings.Join(zones, ", "))
	}
	for _, ami := range f.MissingAMIs {
		problems.Addf("system.amiRelease", "%s does not exist in %s; pin another release", ami, f.Region)
	}
	if s, known := f.Shapes[env.System.InstanceType]; known && s.GPUs > 0 {
		problems.Addf("system.instanceType", "%s has GPUs; system nodes have none", env.System.InstanceType)
	}
	managed := 1 // the system group
	for _, p := range env.Pools {
		if p.Scaler.ManagedGroup() {
			managed += max(1, len(groupZones(p, env, f)))
		}
	}
	if err := capacityplan.NodeGroupsFit(managed, capacityplan.DefaultGroupsPerCluster); err != nil {
		problems.Addf("pools", "%v", err)
	}
	for i, p := range env.Pools {
		judgePool(fmt.Sprintf("pools[%d] %q", i, p.Name), p, env, f, &problems)
	}
	judgeGeneral(env, &problems)
	if f.SpotRole != nil && !*f.SpotRole && env.UsesSpot() && !env.Spot.CreateServiceLinkedRole {
		problems.Addf("spot", "this account has no service-linked role AWSServiceRoleForEC2Spot, without which no "+
			"spot instance starts; "+
			"create it once (aws iam create-service-linked-role --aws-service-name spot.amazonaws.com) or set "+
			"spot.createServiceLinkedRole: true in one stack of the account")
	}
	judgeAutoMode(env, f, &problems)
	for _, name := range slices.Sorted(maps.Keys(f.LiveNodes)) {
		if n := f.LiveNodes[name]; n > 0 {
			problems.Addf("gitOps", "pool %q has %d running nodes; if it is applied elsewhere already, set "+
				"gitOps.applied: true; if this program still "+
				"holds it, they would be deleted with its NodePool: first run an update with gitOps.nodePools: keep, "+
				"then apply the manifests and set "+
				"gitOps.nodePools: manifests with applied: true", name, n)
		}
	}
	return problems
}

// judgeAutoMode refuses a switch that nobody allowed, and those that would replace the cluster: its settings take a
// node role once, and neither another nor none after it (docs/auto-mode.md).
func judgeAutoMode(env config.Environment, f facts, problems *problem.List) {
	if f.LiveAuto == nil {
		return
	}
	wanted, builtIn := env.Uses(pool.AutoMode), len(env.AutoMode.BuiltInPools) > 0
	if *f.LiveAuto != wanted && !env.AutoMode.AllowSwitch {
		problems.Addf("autoMode", "the live cluster has Auto Mode %s and this configuration would switch it %s, which "+
			"moves every node; set autoMode.allowSwitch: true to do it", onOff(*f.LiveAuto), onOff(wanted))
	}
	switch {
	case !wanted:
	case f.LiveAutoRole != "" && !builtIn:
		problems.Addf("autoMode.builtInPools", "is empty, and the live cluster's settings hold the node role %s of a "+
			"built-in pool; taking it out would replace the cluster; keep one", f.LiveAutoRole)
	case f.LiveAutoRole != "" && !*f.LiveAuto:
		problems.Addf("autoMode.builtInPools", "the live cluster's settings still hold the node role %s of an earlier "+
			"Auto Mode; a new one would replace the cluster; use another scaler, or a new cluster", f.LiveAutoRole)
	case f.LiveAutoRole == "" && builtIn && *f.LiveAuto:
		problems.Addf("autoMode.builtInPools", "is %s, and the live cluster runs Auto Mode without any; no order is "+
			"known in which the nodes' access entry goes from this program to EKS; leave it empty, or switch Auto "+
			"Mode off first", strings.Join(env.AutoMode.BuiltInPools, ", "))
	}
}

// judgeQuotas refuses nodes that are still to be made at once, without a pod asking, when the quota cannot hold even
// them: the update would fail half-way. What runs already is not counted: a quota that was lowered under it removes
// nothing, and the contract tells of it.
func judgeQuotas(env config.Environment, f facts, problems *problem.List) {
	needed, by := map[string]int{}, map[string][]string{}
	for _, p := range env.Pools {
		vcpus := f.Shapes[p.InstanceTypes[0]].VCPUs
		uses := capacityplan.QuotaUses(p.InstanceTypes[0], vcpus, p.CapacityTypes)
		nodes := startingNodes(p, env, f)
		if nodes == 0 || len(uses) != 1 { // a pool with a choice may take what is left elsewhere
			continue
		}
		needed[uses[0].Limit] += nodes * vcpus
		by[uses[0].Limit] = append(by[uses[0].Limit], p.Name)
	}
	for _, code := range slices.Sorted(maps.Keys(needed)) {
		if q, asked := f.Quotas[code]; asked && q.Reason == "" && needed[code] > q.VCPUs {
			problems.Addf("pools", "%s start with nodes of %d vCPUs together, and the quota %s allows %d; ask AWS for "+
				"more or lower their counts",
				strings.Join(by[code], ", "), needed[code], code, q.VCPUs)
		}
	}
}

// startingNodes are those that the update itself has to start for a pool, whatever the pods ask for.
func startingNodes(p config.Pool, env config.Environment, f facts) (nodes int) {
	switch {
	case p.Static && f.LiveName == "": // on a live cluster they may be there already
		return *p.NodeCount
	case p.Scaler.ManagedGroup():
		decided, _ := groups("", p, env, f) // judge reports its problems
		for _, g := range decided {
			nodes += max(0, g.Args.Scaling.Min-f.LiveGroups[g.Args.Name()].Desired)
		}
	}
	return nodes
}

func judgePool(at string, p config.Pool, env config.Environment, f facts, problems *problem.List) {
	var first pool.Shape
	for i, t := range p.InstanceTypes {
		shape, known := f.Shapes[t]
		if !known {
			problems.Addf(at+".instanceTypes", "EC2 gives no description of %s in %s, so what a node offers is not "+
				"known; choose a type the region has", t, f.Region)
			continue
		}
		if shape.GPUs < 1 {
			problems.Addf(at+".instanceTypes", "%s has no whole GPU", t)
		}
		if i == 0 {
			first = shape
			continue
		}
		if shape.VCPUs != first.VCPUs || shape.GPUs != first.GPUs {
			problems.Addf(at+".instanceTypes", "%s has %d vCPUs and %d GPUs, %s has %d and %d; the types of a pool "+
				"have one shape",
				t, shape.VCPUs, shape.GPUs, first.InstanceType, first.VCPUs, first.GPUs)
		}
		if shape.GPUModel != first.GPUModel {
			problems.Addf(at+".instanceTypes",
				"%s has %s GPUs, %s has %s; a gang expects one model, make a pool of each", t, shape.GPUModel,
				first.InstanceType, first.GPUModel)
		}
	}
	if _, err := poolZones(p, env, f); err != nil {
		problems.Addf(at+".zones", "%v", err)
	}
	judgeGroups(at, p, env, f, problems)
	judgeNodePool(at, p, env, f, problems)
}

// lockedOut says that whoever runs the program may not be able to make objects in the cluster: with a cluster-admin
// named, the creator gets no access of its own. It is a warning and no refusal, since a role can be assumed in ways its
// name does not show.
func lockedOut(env config.Environment, f facts) (warning string) {
	// arn:aws:sts::123456789012:assumed-role/<role>/<session> is the caller that has assumed <role>.
	caller := strings.Split(f.Caller, "/")
	admins := 0
	for _, name := range slices.Sorted(maps.Keys(env.Cluster.Access)) {
		a := env.Cluster.Access[name]
		if a.Policy != "cluster-admin" {
			continue
		}
		admins++
		if a.PrincipalARN == f.Caller || len(caller) > 1 && strings.HasSuffix(a.PrincipalARN, "/"+caller[1]) {
			return ""
		}
	}
	if admins == 0 {
		return ""
	}
	return fmt.Sprintf("cluster.access names cluster-admins, and %s is none of them by its name: if it is not, "+
		"objects in the cluster are refused as unauthorized", f.Caller)
}

func onOff(b bool) string {
	if b {
		return "on"
	}
	return "off"
}
