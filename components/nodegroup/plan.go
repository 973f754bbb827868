package nodegroup

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/headroom-eks/headroom/pool"
	"github.com/headroom-eks/headroom/pool/label"
	"github.com/headroom-eks/headroom/pool/volume"
	"github.com/headroom-eks/headroom/problem"
)

// Scaling of a group. EKS accepts 0 <= Min <= Desired <= Max and Max >= 1.
type Scaling struct {
	Min, Desired, Max int
	// Scaled is set when the desired size belongs to whatever scales the group. Desired is then used when the group is
	// made, and in an update that has Send set.
	Scaled bool
	// Send Desired although the group is scaled: its bounds change, EKS takes all three numbers in one request, and
	// Desired is the size that the group has.
	Send bool
}

// Fixed is the scaling of a group that nothing scales. EKS takes no maximum of 0, so no nodes are no group: with a
// maximum of 1 a cluster-autoscaler that finds groups by itself would scale it.
func Fixed(nodes int) Scaling { return Scaling{Min: nodes, Desired: nodes, Max: nodes} }

// AMIType for the nodes: always AL2023, whose NVIDIA variant brings the driver. AL2 has no images for Kubernetes 1.33
// and later (field faults BR-70, BR-71). https://docs.aws.amazon.com/eks/latest/APIReference/API_Nodegroup.html
func AMIType(shape pool.Shape) string {
	arch, variant := "x86_64", "STANDARD"
	if shape.Architecture == "arm64" {
		arch = "ARM_64"
	}
	if shape.GPUs > 0 {
		variant = "NVIDIA"
	}
	return "AL2023_" + arch + "_" + variant
}

// rootDevice of AL2023 images. A mapping for another device would add a disk and leave the root as small as it is
// (field fault BR-67).
const rootDevice = "/dev/xvda"

// maxName is EKS's limit of a node group's name.
// https://docs.aws.amazon.com/eks/latest/APIReference/API_CreateNodegroup.html
const maxName = 63

// Name of the group: the pool, its zone when it has one of several, and a hash of everything whose change makes EKS
// replace the group. So a replacement has another name and can be made before the old group goes (field fault BR-88),
// and a group can be looked up in AWS before the program makes anything. Not in the hash, because they are not known by
// then: the cluster and the node role, which are replaced only when everything is. The first attempt has no number, and
// a later one ends with it.
func (a Args) Name() string {
	subnets := make([]string, len(a.Subnets))
	for i, s := range a.Subnets {
		subnets[i] = s.Zone.Name + " " + s.CIDR
	}
	slices.Sort(subnets)
	h := sha256.New()
	for _, part := range [][]string{{a.Pool, a.Zone, AMIType(a.Shape), capacityType(a.CapacityType)}, a.InstanceTypes,
		subnets} {
		fmt.Fprintf(h, "%q\n", part)
	}
	number := ""
	if a.Attempt > 0 {
		number = "-" + strconv.Itoa(a.Attempt)
	}
	return stem(a.Pool, a.Zone, len(number)) + "-" + hex.EncodeToString(h.Sum(nil))[:hashLength] + number
}

const hashLength = 8

// stem of a group's name, before its hash, cut to what EKS's limit and the attempt's number leave.
func stem(pool, zone string, number int) string {
	if zone != "" {
		pool += "-" + zone
	}
	return pool[:min(len(pool), maxName-1-hashLength-number)]
}

// NamesOf matches every name that a group of the pool can have, in one of the zones or in all.
func NamesOf(pool string, zones []string) *regexp.Regexp {
	var names []string
	for digits := range maxDigits + 1 {
		number, length := "", 0
		if digits > 0 {
			number, length = fmt.Sprintf("-[1-9][0-9]{%d}", digits-1), 1+digits
		}
		for _, zone := range append([]string{""}, zones...) {
			names = append(names, fmt.Sprintf("%s-[0-9a-f]{%d}%s", regexp.QuoteMeta(stem(pool, zone, length)),
				hashLength, number))
		}
	}
	return regexp.MustCompile("^(" + strings.Join(names, "|") + ")$")
}

// maxDigits of an attempt's number: fewer than a hash has.
const maxDigits = 3

var attemptSuffix = regexp.MustCompile(fmt.Sprintf(`-([1-9][0-9]{0,%d})$`, maxDigits-1))

// AttemptOf says which attempt at this group has the name; false when none has.
func (a Args) AttemptOf(name string) (attempt int, found bool) {
	a.Attempt = 0
	if name == a.Name() {
		return 0, true
	}
	if m := attemptSuffix.FindStringSubmatch(name); m != nil {
		a.Attempt, _ = strconv.Atoi(m[1]) // digits
	}
	return a.Attempt, name == a.Name()
}

// SurgeNodes is how many nodes EKS may start at most, beside those that run, while it replaces the nodes of a group:
// twice the number of its zones, or maxUnavailable if that is more. It replaces them when the launch template, the
// image's release or the Kubernetes version changes.
// https://docs.aws.amazon.com/eks/latest/userguide/managed-node-update-behavior.html
func (a Args) SurgeNodes() int { return max(2*len(a.Subnets.Zones()), maxUnavailable) }

// maxUnavailable is how many nodes EKS replaces at once.
const maxUnavailable = 1

// How long EKS takes to replace one node, at most: pods have 15 minutes to leave, then the update fails, and EKS waits
// one minute more (the page above). How long a new node takes to start and join is a belief.
const nodeUpdate = 15*time.Minute + time.Minute + 10*time.Minute

// providerTimeout is what the provider waits for any operation on a group unless told otherwise.
// https://github.com/hashicorp/terraform-provider-aws/blob/main/internal/service/eks/node_group.go
const providerTimeout = 60 * time.Minute

// UpdateTimeout is how long an update may take: the nodes go one after the other, and a scaled group may have its
// maximum. Without it the provider gives up after an hour, while EKS goes on. Making and deleting a group keep the
// provider's hour: the nodes start together, and they end together, after five minutes of draining at most.
// https://docs.aws.amazon.com/eks/latest/userguide/delete-managed-node-group.html
func (a Args) UpdateTimeout() time.Duration {
	return providerTimeout + time.Duration(a.Scaling.Max)*nodeUpdate/maxUnavailable
}

// capacityType in EKS's spelling. A capacity reservation is bought on demand; which one is in the launch template.
func capacityType(c pool.CapacityType) string {
	if c == pool.Reserved {
		return pool.OnDemand.EKS()
	}
	return c.EKS()
}

// nodeLabels are the pool's own and the one that marks it.
func nodeLabels(poolName string, labels map[string]string) map[string]string {
	out := map[string]string{pool.PoolLabel: poolName}
	maps.Copy(out, labels)
	return out
}

// instanceTags mark what the group starts. The program's own tags win: realized nodes are counted by them.
func instanceTags(cluster, poolName string, tags map[string]string) map[string]string {
	out := map[string]string{"Name": cluster + "-" + poolName}
	maps.Copy(out, tags)
	maps.Copy(out, pool.InstanceTags(cluster, poolName))
	return out
}

// nodePolicies are what a node itself needs, by the key of their attachment. Pulling images is all it may do with the
// registry. https://docs.aws.amazon.com/eks/latest/userguide/create-node-role.html
func nodePolicies(ssm bool) map[string]string {
	policies := map[string]string{
		"worker": "AmazonEKSWorkerNodePolicy",
		"images": "AmazonEC2ContainerRegistryPullOnly",
		"cni":    "AmazonEKS_CNI_Policy",
	}
	if ssm {
		policies["ssm"] = "AmazonSSMManagedInstanceCore"
	}
	return policies
}

var poolName = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]*[a-z0-9])?$`)

func (a Args) withDefaults() Args {
	if a.CapacityType == "" {
		a.CapacityType = pool.OnDemand
	}
	if a.DiskGiB == 0 {
		a.DiskGiB = DefaultDiskGiB
		if a.Shape.GPUs > 0 {
			a.DiskGiB = DefaultGPUDiskGiB
		}
	}
	return a
}

func (a Args) validate() (problems problem.List) {
	if !poolName.MatchString(a.Pool) {
		problems.Add("pool", "is not a name", a.Pool, "use lower-case letters, digits and dashes")
	}
	problems.Require("cluster.name", a.Cluster.Name != nil)
	problems.Require("role", a.Role != nil && a.Role.Arn.OutputState != nil)
	if len(a.Subnets) == 0 {
		problems.Add("subnets", "are empty: no zone of the pool is in the network and offers the instance type", nil,
			"choose other zones or types")
	}
	if zones := a.Subnets.Zones(); a.Zone != "" && !slices.Equal(zones, []string{a.Zone}) {
		problems.Add("zone", fmt.Sprintf("is not the zone of the subnets, which lie in %v", zones), a.Zone,
			"give subnets of that zone")
	}
	if len(a.InstanceTypes) == 0 || slices.Contains(a.InstanceTypes, "") {
		problems.Add("instanceTypes", "are empty, or one is", a.InstanceTypes, "name at least one")
	}
	problem.OneOf(&problems, "shape.architecture", a.Shape.Architecture, []string{"x86_64", "arm64"})
	problems.Join(ValidateRelease("releaseVersion", a.ReleaseVersion, a.Cluster.KubernetesVersion))
	problem.OneOf(&problems, "capacityType", a.CapacityType, pool.CapacityTypes)
	if (a.CapacityType == pool.Reserved) != strings.HasPrefix(a.ReservationID, "cr-") {
		problems.Add("reservationId", fmt.Sprintf("does not go with capacity type %s", a.CapacityType), a.ReservationID,
			"give both an id and reserved, or neither")
	}
	problems.Join(volume.Validate("diskGiB", a.DiskGiB, volume.MinGiB))
	problems.Join(a.Scaling.Validate(fmt.Sprintf("pool %q", a.Pool)))
	problems.Join(label.ValidateGroup("labels", a.Labels))
	problems.Join(label.ValidateTaints("taints", a.Taints))
	return problems
}
