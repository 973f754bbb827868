package automode

import (
	"fmt"

	"github.com/headroom-eks/headroom/components/nodepool"
	"github.com/headroom-eks/headroom/pool/tag"
	"github.com/headroom-eks/headroom/problem"
)

// defaultStorageGiB holds two generations of an inference image (20 GiB each and more) beside EKS's own 20. EKS's
// default is 80.
const defaultStorageGiB = 100

// Class is what the nodes of one pool are made on.
type Class struct {
	// StorageGiB of container images and emptyDir volumes on each node; default 100. Smaller than the instance's local
	// disks, those are used instead (one RAID 0) and the volume is not bought.
	StorageGiB int
	// StorageKeyArn of a customer key for the volume; empty uses the account's own EBS key. It is encrypted either way.
	StorageKeyArn string
	// CapacityReservationIDs that the pool may use; needed with capacity type reserved. With any in the cluster, Auto
	// Mode no longer uses open reservations by itself.
	CapacityReservationIDs []string
	// DenyPodTraffic blocks traffic to and from pods that no NetworkPolicy allows. Default: allowed.
	DenyPodTraffic bool
	// Tags of instances, volumes and network interfaces, beside the two that mark the pool.
	Tags map[string]string
}

// Range of ephemeralStorage.size. https://docs.aws.amazon.com/eks/latest/userguide/create-node-class.html
const minStorageGiB, maxStorageGiB = 1, 59000

// ValidateClass reports everything that is wrong with a class. Path names the pool.
func ValidateClass(path string, c Class) (problems problem.List) {
	if c.StorageGiB != 0 && (c.StorageGiB < minStorageGiB || c.StorageGiB > maxStorageGiB) {
		problems.Add(path+".diskGiB", "is out of range", c.StorageGiB,
			fmt.Sprintf("use %d to %d", minStorageGiB, maxStorageGiB))
	}
	for i, id := range c.CapacityReservationIDs {
		problems.Join(nodepool.ValidateReservation(fmt.Sprintf("%s.capacityReservationIDs[%d]", path, i), id))
	}
	problems.Join(tag.Validate(path+".tags", c.Tags))
	return problems
}

// PlanNodeClass gives the NodeClass of a class, or all that is wrong with it. Path names the pool. Every field with a
// default that EKS could change is written out. It has no field for an image, kubelet, user data, instance metadata or
// block devices: see Refuse.
// https://docs.aws.amazon.com/eks/latest/userguide/create-node-class.html#auto-node-class-spec
func PlanNodeClass(path string, c Class) (nodepool.NodeClass, problem.List) {
	problems := ValidateClass(path, c)
	if problems.Err() != nil {
		return nodepool.NodeClass{}, problems
	}
	size := c.StorageGiB
	if size == 0 {
		size = defaultStorageGiB
	}
	storage := map[string]any{"size": fmt.Sprintf("%dGi", size)}
	if c.StorageKeyArn != "" {
		storage["kmsKeyID"] = c.StorageKeyArn
	}
	networkPolicy := "DefaultAllow"
	if c.DenyPodTraffic {
		networkPolicy = "DefaultDeny"
	}
	spec := map[string]any{
		"ephemeralStorage":       storage,
		"networkPolicy":          networkPolicy,
		"networkPolicyEventLogs": "Disabled",
		"snatPolicy":             "Random",
	}
	if len(c.CapacityReservationIDs) > 0 {
		spec["capacityReservationSelectorTerms"] = nodepool.IDTerms(c.CapacityReservationIDs)
	}
	return nodepool.NodeClass{Kind: NodeClass, Spec: spec, Tags: c.Tags}, problems
}
