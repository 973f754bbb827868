package nodepool

import (
	"maps"
	"reflect"

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

// IsZero reports whether no setting is given.
func (k Kubelet) IsZero() bool { return reflect.ValueOf(k).IsZero() }

// NodeClass is a planned node class of either kind. What it takes from other resources is put in when it is made.
type NodeClass struct {
	Kind ClassKind
	// Spec without role, subnets, security groups and tags.
	Spec map[string]any
	// Tags of instances, volumes and launch templates, beside the two that mark the pool.
	Tags map[string]string
}

// Wiring is what a node class takes from other resources.
type Wiring struct {
	// Cluster is the name of the cluster.
	Cluster string
	// SubnetIDs and SecurityGroupIDs by id and not by tag, which others could share (field fault BR-74).
	SubnetIDs, SecurityGroupIDs []string
	// Role is the name of the nodes' role; an instance profile is made of it. Empty when InstanceProfile is given.
	Role string
	// InstanceProfile is the name of one made beforehand, for networks without a path to IAM (field fault BR-48).
	InstanceProfile string
}

// Manifest of the class, under the pool's name.
func (n NodeClass) Manifest(poolName string, w Wiring) Manifest {
	m := n.unwired(poolName)
	m.Spec["subnetSelectorTerms"], m.Spec["securityGroupSelectorTerms"] = IDTerms(w.SubnetIDs),
		IDTerms(w.SecurityGroupIDs)
	m.Spec["tags"] = instanceTags(w.Cluster, poolName, n.Tags)
	if w.InstanceProfile != "" {
		m.Spec["instanceProfile"] = w.InstanceProfile
	} else {
		m.Spec["role"] = w.Role
	}
	return m
}

func (n NodeClass) unwired(poolName string) Manifest {
	return Manifest{
		APIVersion: n.Kind.Group + "/" + n.Kind.Version,
		Kind:       n.Kind.Kind,
		Metadata:   map[string]any{"name": poolName},
		Spec:       maps.Clone(n.Spec),
	}
}

// IDTerms selects by id; the terms are ORed.
func IDTerms(ids []string) []any {
	terms := []any{}
	for _, id := range ids {
		terms = append(terms, map[string]any{"id": id})
	}
	return terms
}

// instanceTags of everything the pool's instances are made of. The two that mark the pool are counted by, so they win.
func instanceTags(cluster, poolName string, own map[string]string) map[string]string {
	out := map[string]string{}
	maps.Copy(out, own)
	maps.Copy(out, pool.InstanceTags(cluster, poolName))
	return out
}

// nodeClassSpec mirrors the part of karpenter.k8s.aws/v1 that this package writes.
type nodeClassSpec struct {
	AMISelectorTerms         []map[string]string `json:"amiSelectorTerms"`
	CapacityReservationTerms []any               `json:"capacityReservationSelectorTerms,omitempty"`
	MetadataOptions          metadataOptions     `json:"metadataOptions"`
	BlockDeviceMappings      []blockDevice       `json:"blockDeviceMappings"`
	InstanceStorePolicy      string              `json:"instanceStorePolicy,omitempty"`
	Kubelet                  Kubelet             `json:"kubelet,omitzero"`
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

// PlanNodeClass gives the EC2NodeClass of a class, or all that is wrong with it. Path names the pool.
func PlanNodeClass(path string, class Class) (NodeClass, problem.List) {
	problems := ValidateClass(path, class)
	if problems.Err() != nil {
		return NodeClass{}, problems
	}
	planned := nodeClassSpec{
		AMISelectorTerms:         []map[string]string{{"alias": class.AMIAlias}},
		CapacityReservationTerms: IDTerms(class.CapacityReservationIDs),
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
	}
	if class.LocalNVMe {
		planned.InstanceStorePolicy = "RAID0"
	}
	body, err := object(planned)
	if err != nil { // no valid Class is known to cause it
		problems.Add(path, "its node class cannot be written", err, "")
	}
	return NodeClass{Kind: EC2NodeClass, Spec: body, Tags: class.Tags}, problems
}
