package config

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/headroom-eks/headroom/components/automode"
	"github.com/headroom-eks/headroom/components/chart"
	"github.com/headroom-eks/headroom/components/clusterautoscaler"
	"github.com/headroom-eks/headroom/components/gpu"
	"github.com/headroom-eks/headroom/components/kmskey"
	"github.com/headroom-eks/headroom/components/nodegroup"
	"github.com/headroom-eks/headroom/components/nodepool"
	"github.com/headroom-eks/headroom/pool"
	"github.com/headroom-eks/headroom/pool/tag"
	"github.com/headroom-eks/headroom/pool/volume"
	"github.com/headroom-eks/headroom/problem"
)

// Validate reports everything that the configuration alone can get wrong, whichever scalers its pools have. The
// receiver has its defaults. What hangs on a value that could not be read is left out: Decode has reported that value.
func (e Environment) Validate() problem.List { return e.Unread.Without(e.validate()) }

func (e Environment) validate() (problems problem.List) {
	validateTags(e.Tags, &problems)
	e.Network.validate(&problems)
	e.Cluster.validate(&problems)
	e.validateSystem(&problems)
	e.validateComponents(&problems)
	e.validateAutoMode(&problems)
	if e.General != nil {
		e.General.validate(e, &problems)
	}
	seen := map[string]int{}
	for i, p := range e.Pools {
		at := poolPath("pools", i, p.Name)
		if first, repeated := seen[p.Name]; repeated {
			problems.Add(at+".name", fmt.Sprintf("is that of pools[%d] too", first), nil, "give each pool its own")
		} else {
			seen[p.Name] = i
		}
		p.validate(at, e, &problems)
	}
	e.validateParts(&problems)
	e.Capacity.validate(&problems)
	e.validateGitOps(&problems)
	return problems
}

// ownTags are set by this program on what it makes, beside those that nobody may set.
// https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/Using_Tags.html: consoles show it as the name of a resource.
var ownTags = tag.Reserved{Key: "Name", Exact: true, By: "this program"}

func validateTags(tags map[string]string, problems *problem.List) {
	const most = 40 // AWS allows 50 on a resource; the rest is for EKS, Karpenter and this program
	if len(tags) > most {
		problems.Add("tags", fmt.Sprintf("are more than %d, which leave room for those that AWS and this program add",
			most),
			len(tags), "remove some")
	}
	problems.Join(tag.Validate("tags", tags, ownTags))
}

func (e Environment) validateSystem(problems *problem.List) {
	s := e.System
	if n := *s.NodeCount; n < 1 || n > maxGroupNodes {
		problems.Add("system.nodeCount", "is out of range: controllers and DNS need one node, and EKS allows so many "+
			"in a managed group", n, fmt.Sprintf("use 1 to %d", maxGroupNodes))
	}
	problems.Join(volume.Validate("system.diskGiB", s.DiskGiB, volume.MinGiB))
	if pool.Accelerated(s.InstanceType) {
		problems.Add("system.instanceType", "has GPUs, and system nodes have none", s.InstanceType,
			"use another family")
	}
	if e.UsesAutoMode() { // without a system group
		if s.Tainted {
			problems.Add("system.tainted", "has no effect: Auto Mode has no system group of ours", nil, "remove it")
		}
		if s.AMIRelease != "" {
			problems.Join(automode.Refuse("system", automode.AMIRelease))
		}
		return
	}
	if s.Tainted && e.General == nil {
		problems.Add("system.tainted", "leaves no untainted node for pods without tolerations", nil,
			"leave it false or add the general pool")
	}
	if e.Cluster.HasVersion() {
		problems.Join(nodegroup.ValidateRelease("system.amiRelease", s.AMIRelease, e.Cluster.KubernetesVersion))
	}
}

// validateComponents asks the components about the values that they are given as they stand.
func (e Environment) validateComponents(problems *problem.List) {
	problems.Join(chart.ValidateVersion("gpu.devicePluginVersion", e.GPU.DevicePluginVersion,
		gpu.DefaultDevicePluginVersion))
	problems.Join(chart.ValidateVersion("gpu.draDriverVersion", e.GPU.DRADriverVersion, gpu.DefaultDRADriverVersion))
	problems.Join(chart.ValidateRepository("gpu.repository", e.GPU.Repository))
	problems.Join(chart.ValidateRepository("karpenter.repository", e.Karpenter.Repository))
	problems.Join(nodepool.ValidateAMIAlias("karpenter.amiAlias", e.Karpenter.AMIAlias))
	if key := e.Karpenter.InterruptionQueueKeyArn; key != "" {
		problems.Join(kmskey.ValidateArn("karpenter.interruptionQueueKeyArn", key))
	}
	ca := e.ClusterAutoscaler
	problems.Join(clusterautoscaler.ValidateSettings("clusterAutoscaler", ca.Expander, ca.StartupTaints, ca.Repository))
}

func (e Environment) validateAutoMode(problems *problem.List) {
	// the default stands when it is off
	settings := automode.Settings{Enabled: true, BuiltInPools: e.AutoMode.BuiltInPools}
	problems.Join(settings.Validate("autoMode"))
	scaled := slices.ContainsFunc(e.Pools, func(p Pool) bool { return p.Scaler == pool.AutoMode })
	if scaled && len(e.AutoMode.BuiltInPools) == 0 && e.General == nil {
		problems.Add("autoMode.builtInPools", "is empty and there is no general pool, so system pods have no node", nil,
			"keep system or add the general pool")
	}
	if !e.AutoMode.Keep {
		return
	}
	for i, p := range e.Pools {
		if p.Scaler != pool.AutoMode {
			problems.Add("autoMode.keep", fmt.Sprintf("leaves Auto Mode on, beside which nothing else scales or has "+
				"groups, and %s has another scaler", poolPath("pools", i, p.Name)), string(p.Scaler),
				"bring that pool in the update that drops autoMode.keep")
		}
	}
	if g := e.General; g != nil && g.Scaler != pool.AutoMode {
		problems.Add("autoMode.keep",
			"leaves Auto Mode on, beside which nothing else scales, and the general pool has "+
				"another scaler", string(g.Scaler), "bring it in the update that drops autoMode.keep")
	}
}

// Ways of leaving NodePools to someone else.
var nodePoolOwners = []string{"apply", "keep", "manifests"}

func (e Environment) validateGitOps(problems *problem.List) {
	g := e.GitOps
	problem.OneOf(problems, "gitOps.nodePools", g.NodePools, nodePoolOwners)
	if g.Applied && g.NodePools != "manifests" {
		problems.Add("gitOps.applied", "has no meaning unless gitOps.nodePools is manifests", nil, "remove it")
	}
	if g.NodePools != "apply" && !e.UsesKarpenter() && !e.UsesAutoMode() {
		problems.Add("gitOps.nodePools", "has no pool with NodePools to hand over", g.NodePools,
			"remove it or choose scaler karpenter or auto-mode")
	}
}

// parameterName of a parameter in a hierarchy.
// https://docs.aws.amazon.com/systems-manager/latest/APIReference/API_PutParameter.html
var parameterName = regexp.MustCompile(`^(/[A-Za-z0-9_.-]+){1,15}$`)

const maxParameterName = 900 // 1011 with the ARN before it

// maxValidFor of a document: a node that was lost, or a quota that was cut, is told to nobody until it ends.
const maxValidFor = 6 * time.Hour

// minValidFor of a document: a shorter one is over before anybody has read it.
const minValidFor = time.Minute

func (c Capacity) validate(problems *problem.List) {
	switch d, err := time.ParseDuration(c.ValidFor); {
	case err != nil || d < minValidFor:
		problems.Add("capacity.validFor", "is not a duration of a minute or more", c.ValidFor, "use a form such as 1h")
	case d > maxValidFor:
		problems.Add("capacity.validFor", "is longer than a promise can be believed that nobody renews", c.ValidFor,
			"use 6h at most, and renew the document by an update")
	}
	if m := c.SurgeMarginPercent; m < 0 || m > 100 {
		problems.Add("capacity.surgeMarginPercent", "is not a percentage", m, "use 0 to 100")
	}
	for _, r := range []struct {
		key   string
		vcpus int
	}{{"onDemand", c.ReservedVCPUs.OnDemand}, {"spot", c.ReservedVCPUs.Spot}} {
		if r.vcpus < 0 {
			problems.Add("capacity.reservedVcpus."+r.key, "is negative", r.vcpus, "use 0 or more")
		}
	}
	name := c.SSMParameter
	lower := strings.ToLower(name)
	switch {
	case name == "":
	case !parameterName.MatchString(name) || len(name) > maxParameterName:
		problems.Add("capacity.ssmParameter", "is not a path of letters, digits and _ . -", name,
			"use a form such as /headroom/capacity")
	case strings.HasPrefix(lower, "/aws") || strings.HasPrefix(lower, "/ssm"):
		problems.Add("capacity.ssmParameter", "is a name that AWS keeps, as all under /aws and /ssm", name,
			"use a form such as /headroom/capacity")
	}
}

// categories of instances that a general pool may have: without accelerators, and not made for one purpose.
var categories = []string{"a", "c", "m", "r", "t", "i", "d"}

func (g General) validate(e Environment, problems *problem.List) {
	if !g.Scaler.Dynamic() {
		problems.Add("general.scaler", "is unknown", string(g.Scaler),
			fmt.Sprintf("use one of %s, %s", pool.Karpenter, pool.AutoMode))
	}
	spec := g.Spec()
	problems.Join(nodepool.ValidateGeneral("general", *spec.General))
	problems.Join(nodepool.ValidateSettings("general", spec, classKinds[g.Scaler]))
	for _, limit := range []struct {
		key string
		n   int
	}{{"vcpus", g.Limits.VCPUs}, {"memoryGiB", g.Limits.MemoryGiB}} {
		if limit.n > maxGeneralLimit {
			problems.Add("general.limits."+limit.key, "is out of range", limit.n,
				fmt.Sprintf("use at most %d", maxGeneralLimit))
		}
	}
	problems.Join(volume.Validate("general.diskGiB", g.DiskGiB, volume.MinGiB))
	e.validateZones("general", g.Zones, problems)
	for i, category := range g.InstanceCategories {
		problem.OneOf(problems, fmt.Sprintf("general.instanceCategories[%d]", i), category, categories)
	}
	for i, t := range g.CapacityTypes {
		problem.OneOf(problems, fmt.Sprintf("general.capacityTypes[%d]", i), t,
			[]pool.CapacityType{pool.OnDemand, pool.Spot})
	}
	problem.Unique(problems, "general.instanceCategories", g.InstanceCategories)
	problem.Unique(problems, "general.capacityTypes", g.CapacityTypes)
}
