package nodepool

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/headroom-eks/headroom/pool"
	"github.com/headroom-eks/headroom/problem"
	"k8s.io/apimachinery/pkg/api/resource"
)

// Class is what the instances of a pool are made of, as far as it is known when the program runs.
type Class struct {
	// AMIAlias pins the AMI release, such as al2023@v20260911; Karpenter picks the NVIDIA variant for GPU types by
	// itself. Never latest, which drifts every node with each release (field fault BR-79).
	// https://github.com/awslabs/amazon-eks-ami/releases
	AMIAlias string
	// RootVolumeGiB is the size of the encrypted root volume (gp3). Karpenter's default of 20 holds no model image.
	RootVolumeGiB int
	// RootVolumeKMSKeyID encrypts the root volume instead of the account's default key; the Spot service-linked role
	// must be allowed to use it.
	RootVolumeKMSKeyID string
	// LocalNVMe stripes the instance's own disks for images and pods (RAID0). Its content goes with the instance.
	LocalNVMe bool
	// Kubelet settings that differ from the AMI's.
	Kubelet Kubelet
	// CapacityReservationIDs that the pool may use; needed with capacity type reserved.
	CapacityReservationIDs []string
	// Tags of instances, volumes and launch templates, beside the two that mark the pool. Changing one drifts the
	// nodes.
	Tags map[string]string
}

// Kubelet settings that every supported Karpenter version takes; an unknown one cannot be written.
// https://karpenter.sh/v1.15/concepts/nodeclasses/#speckubelet
type Kubelet struct {
	// MaxPods of a node; 0 leaves it to the instance type's addresses.
	MaxPods int `json:"maxPods,omitempty"`
	// PodsPerCore; 0 sets none.
	PodsPerCore int `json:"podsPerCore,omitempty"`
	// SystemReserved and KubeReserved: cpu, memory, ephemeral-storage or pid to a quantity.
	SystemReserved map[string]string `json:"systemReserved,omitempty"`
	KubeReserved   map[string]string `json:"kubeReserved,omitempty"`
	// EvictionHard and EvictionSoft: signal (such as memory.available) to a quantity or share. Each soft signal has a
	// grace period.
	EvictionHard            map[string]string `json:"evictionHard,omitempty"`
	EvictionSoft            map[string]string `json:"evictionSoft,omitempty"`
	EvictionSoftGracePeriod map[string]string `json:"evictionSoftGracePeriod,omitempty"`
	// ImageGCHighThresholdPercent and ImageGCLowThresholdPercent of the disk; 0 leaves the kubelet's 85 and 80.
	ImageGCHighThresholdPercent int `json:"imageGCHighThresholdPercent,omitempty"`
	ImageGCLowThresholdPercent  int `json:"imageGCLowThresholdPercent,omitempty"`
	// CPUCFSQuota enforces CPU limits; absent leaves the kubelet's true.
	CPUCFSQuota *bool `json:"cpuCFSQuota,omitempty"`
}

// Wiring is what a node class takes from other resources.
type Wiring struct {
	// Cluster is the name of the cluster.
	Cluster string
	// SubnetIDs and SecurityGroupIDs by id and not by tag, which others could share (field fault BR-74).
	SubnetIDs, SecurityGroupIDs []string
	// Role is the name of the nodes' role; Karpenter makes an instance profile of it. Empty when InstanceProfile is
	// given.
	Role string
	// InstanceProfile is the name of one made beforehand, for networks without a path to IAM (field fault BR-48).
	InstanceProfile string
}

// nodeClassSpec mirrors the part of karpenter.k8s.aws/v1 that this package writes.
type nodeClassSpec struct {
	AMISelectorTerms           []map[string]string `json:"amiSelectorTerms"`
	SubnetSelectorTerms        []any               `json:"subnetSelectorTerms"`
	SecurityGroupSelectorTerms []any               `json:"securityGroupSelectorTerms"`
	CapacityReservationTerms   []any               `json:"capacityReservationSelectorTerms,omitempty"`
	Role                       string              `json:"role,omitempty"`
	InstanceProfile            string              `json:"instanceProfile,omitempty"`
	MetadataOptions            metadataOptions     `json:"metadataOptions"`
	BlockDeviceMappings        []blockDevice       `json:"blockDeviceMappings"`
	InstanceStorePolicy        string              `json:"instanceStorePolicy,omitempty"`
	Kubelet                    Kubelet             `json:"kubelet,omitzero"`
	Tags                       map[string]string   `json:"tags"`
}

type metadataOptions struct {
	HTTPEndpoint            string `json:"httpEndpoint"`
	HTTPProtocolIPv6        string `json:"httpProtocolIPv6"`
	HTTPPutResponseHopLimit int    `json:"httpPutResponseHopLimit"`
	HTTPTokens              string `json:"httpTokens"`
}

type blockDevice struct {
	DeviceName string `json:"deviceName"`
	RootVolume bool   `json:"rootVolume"`
	EBS        ebs    `json:"ebs"`
}

type ebs struct {
	VolumeSize          string `json:"volumeSize"`
	VolumeType          string `json:"volumeType"`
	Encrypted           bool   `json:"encrypted"`
	DeleteOnTermination bool   `json:"deleteOnTermination"`
	KMSKeyID            string `json:"kmsKeyID,omitempty"`
}

// PlanNodeClass gives the EC2NodeClass of a pool. Errors only when the manifest cannot be written, which no valid Class
// is known to cause.
func PlanNodeClass(poolName string, class Class, wiring Wiring) (Manifest, error) {
	planned := nodeClassSpec{
		AMISelectorTerms:           []map[string]string{{"alias": class.AMIAlias}},
		SubnetSelectorTerms:        idTerms(wiring.SubnetIDs),
		SecurityGroupSelectorTerms: idTerms(wiring.SecurityGroupIDs),
		CapacityReservationTerms:   idTerms(class.CapacityReservationIDs),
		Role:                       wiring.Role,
		InstanceProfile:            wiring.InstanceProfile,
		// Hop limit 1 keeps pods from the credentials of the node.
		MetadataOptions: metadataOptions{
			HTTPEndpoint:            "enabled",
			HTTPProtocolIPv6:        "disabled",
			HTTPPutResponseHopLimit: 1,
			HTTPTokens:              "required",
		},
		BlockDeviceMappings: []blockDevice{{
			DeviceName: "/dev/xvda", RootVolume: true,
			EBS: ebs{
				VolumeSize:          resource.NewQuantity(int64(class.RootVolumeGiB)<<30, resource.BinarySI).String(),
				VolumeType:          "gp3",
				Encrypted:           true,
				DeleteOnTermination: true,
				KMSKeyID:            class.RootVolumeKMSKeyID,
			},
		}},
		Kubelet: class.Kubelet,
		Tags:    tags(wiring.Cluster, poolName, class.Tags),
	}
	if class.LocalNVMe {
		planned.InstanceStorePolicy = "RAID0"
	}
	body, err := object(planned)
	if err != nil {
		return Manifest{}, err
	}
	return Manifest{
		APIVersion: EC2NodeClass.Group + "/" + EC2NodeClass.Version, Kind: EC2NodeClass.Kind,
		Metadata: map[string]any{"name": poolName}, Spec: body,
	}, nil
}

// idTerms selects by id; the terms are ORed.
func idTerms(ids []string) []any {
	terms := []any{}
	for _, id := range ids {
		terms = append(terms, map[string]any{"id": id})
	}
	return terms
}

// tags of everything the pool's instances are made of. The two that mark the pool are counted by, so they win.
func tags(cluster, poolName string, own map[string]string) map[string]string {
	out := map[string]string{}
	maps.Copy(out, own)
	maps.Copy(out, pool.InstanceTags(cluster, poolName))
	return out
}

var (
	amiAlias          = regexp.MustCompile(`^al2023@v[0-9]{8}$`)
	reservationID     = regexp.MustCompile(`^cr-[0-9a-z]+$`)
	reservable        = []string{"cpu", "memory", "ephemeral-storage", "pid"}
	reservedTagStarts = []string{"kubernetes.io/cluster", "aws:"}

	evictionSignals = []string{
		"memory.available", "nodefs.available", "nodefs.inodesFree", "imagefs.available", "imagefs.inodesFree",
		"pid.available",
	}
	reservedTags = []string{
		"karpenter.sh/nodepool", "karpenter.sh/nodeclaim", "karpenter.sh/managed-by", "karpenter.k8s.aws/ec2nodeclass",
		"eks:eks-cluster-name",
	}
)

const maxVolumeGiB = 16384 // of gp3

// ValidateClass reports everything that is wrong with a node class.
func ValidateClass(path string, class Class) (problems problem.List) {
	if !amiAlias.MatchString(class.AMIAlias) {
		problems.Addf(path+".amiAlias", "%q is not a pinned AL2023 release; use a form such as al2023@v20260911",
			class.AMIAlias)
	}
	if class.RootVolumeGiB < 20 || class.RootVolumeGiB > maxVolumeGiB {
		problems.Addf(path+".diskGiB", "%d is out of range; use 20 to %d", class.RootVolumeGiB, maxVolumeGiB)
	}
	for i, id := range class.CapacityReservationIDs {
		if !reservationID.MatchString(id) {
			problems.Addf(fmt.Sprintf("%s.capacityReservationIDs[%d]", path, i), "%q is not a capacity reservation; "+
				"use a form such as cr-0123456789abcdef0", id)
		}
	}
	problems.Join(ValidateTags(path+".tags", class.Tags))
	problems.Join(ValidateKubelet(path+".kubelet", class.Kubelet))
	return problems
}

// ValidateTags reports the tags that Karpenter and AWS keep for themselves (field fault BR-66), and those that pools
// are counted by.
func ValidateTags(path string, tags map[string]string) (problems problem.List) {
	for _, key := range slices.Sorted(maps.Keys(tags)) {
		starts := func(reserved string) bool { return strings.HasPrefix(key, reserved) }
		reserved := slices.Contains(reservedTags, key) || slices.ContainsFunc(reservedTagStarts, starts)
		switch {
		case key == "":
			problems.Addf(path, "a tag has no key; give it one or remove it")
		case reserved:
			problems.Addf(fmt.Sprintf("%s[%q]", path, key), "the tag is reserved, instances would not be made with "+
				"it; remove it")
		case key == pool.ClusterTag || key == pool.PoolTag:
			problems.Addf(fmt.Sprintf("%s[%q]", path, key), "the tag is set by the program itself; remove it")
		}
	}
	return problems
}

// ValidateKubelet reports everything that is wrong with kubelet settings. Path names them.
func ValidateKubelet(path string, k Kubelet) (problems problem.List) {
	for _, c := range []struct {
		field string
		n     int
	}{{"maxPods", k.MaxPods}, {"podsPerCore", k.PodsPerCore}} {
		if c.n < 0 {
			problems.Addf(path+"."+c.field, "%d is negative; use 1 or more, or 0 for the default", c.n)
		}
	}
	keys := func(field string, values map[string]string, known []string, what string) {
		for _, key := range slices.Sorted(maps.Keys(values)) {
			at := fmt.Sprintf("%s.%s[%q]", path, field, key)
			if !slices.Contains(known, key) {
				problems.Addf(at, "it is not a %s; use some of %v", what, known)
			}
			if field == "evictionSoftGracePeriod" {
				if !plainDuration.MatchString(values[key]) {
					problems.Addf(at, "%q is not a duration; use a form such as 90s", values[key])
				}
				continue
			}
			if _, err := resource.ParseQuantity(strings.TrimSuffix(values[key], "%")); err != nil ||
				strings.HasPrefix(values[key], "-") {
				problems.Addf(at, "%q is not a quantity; use a form such as 500Mi", values[key])
			}
		}
	}
	keys("systemReserved", k.SystemReserved, reservable, "resource that can be reserved")
	keys("kubeReserved", k.KubeReserved, reservable, "resource that can be reserved")
	keys("evictionHard", k.EvictionHard, evictionSignals, "signal for eviction")
	keys("evictionSoft", k.EvictionSoft, evictionSignals, "signal for eviction")
	keys("evictionSoftGracePeriod", k.EvictionSoftGracePeriod, evictionSignals, "signal for eviction")
	for _, signal := range slices.Sorted(maps.Keys(k.EvictionSoft)) {
		if _, found := k.EvictionSoftGracePeriod[signal]; !found {
			problems.Addf(fmt.Sprintf("%s.evictionSoft[%q]", path, signal), "it has no grace period; add one under "+
				"evictionSoftGracePeriod")
		}
	}
	for _, signal := range slices.Sorted(maps.Keys(k.EvictionSoftGracePeriod)) {
		if _, found := k.EvictionSoft[signal]; !found {
			problems.Addf(fmt.Sprintf("%s.evictionSoftGracePeriod[%q]", path, signal), "it has no threshold; add one "+
				"under evictionSoft")
		}
	}
	high, low := k.ImageGCHighThresholdPercent, k.ImageGCLowThresholdPercent
	if high < 0 || high > 100 || low < 0 || low > 100 || (high != 0 && low != 0 && high <= low) {
		problems.Addf(path+".imageGCHighThresholdPercent", "%d over a low mark of %d cannot be; use percentages, the "+
			"high one above the low one", high, low)
	}
	return problems
}
