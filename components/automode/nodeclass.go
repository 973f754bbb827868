package automode

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/headroom-eks/headroom/components/nodepool"
	"github.com/headroom-eks/headroom/pool"
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
	// CapacityReservationIDs that the pool may use. With any in the cluster, Auto Mode no longer uses open reservations
	// by itself.
	CapacityReservationIDs []string
	// DenyPodTraffic blocks traffic to and from pods that no NetworkPolicy allows. Default: allowed.
	DenyPodTraffic bool
	// Tags of instances, volumes and network interfaces, beside the two that mark the pool.
	Tags map[string]string
}

// Placement is where the nodes of a class are put and as whom they run: outputs of other resources.
type Placement struct {
	Cluster, NodeRoleName       string
	SubnetIDs, SecurityGroupIDs []string
}

// reservedTagPrefixes cover the keys that EKS refuses in a NodeClass, and those it sets itself.
// https://docs.aws.amazon.com/eks/latest/userguide/create-node-class.html
var reservedTagPrefixes = []string{"kubernetes.io/cluster/", "karpenter.sh/", "eks.amazonaws.com/nodeclass", "eks:",
	"aws:"}

// Range of ephemeralStorage.size. Same source.
const minStorageGiB, maxStorageGiB = 1, 59000

func (c Class) validate(path string) (problems problem.List) {
	if c.StorageGiB != 0 && (c.StorageGiB < minStorageGiB || c.StorageGiB > maxStorageGiB) {
		problems.Addf(path+".storageGiB", "%d is outside %d to %d; choose a size EKS accepts", c.StorageGiB,
			minStorageGiB, maxStorageGiB)
	}
	for i, id := range c.CapacityReservationIDs {
		if !strings.HasPrefix(id, "cr-") {
			problems.Addf(fmt.Sprintf("%s.capacityReservationIds[%d]", path, i), "%q is no capacity reservation; its "+
				"id begins with cr-", id)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(c.Tags)) {
		for _, prefix := range reservedTagPrefixes {
			if strings.HasPrefix(key, prefix) {
				problems.Addf(fmt.Sprintf("%s.tags[%q]", path, key), "EKS keeps tags under %q to itself; use a key of "+
					"your own", prefix)
			}
		}
	}
	return problems
}

// planNodeClass gives the NodeClass of a pool, under the pool's name. Every field with a default that EKS could change
// is written out. It has no field for an image, kubelet, user data, instance metadata or block devices: see Refuse.
// https://docs.aws.amazon.com/eks/latest/userguide/create-node-class.html#auto-node-class-spec
func planNodeClass(name string, c Class, at Placement) nodepool.Manifest {
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
		"role":                       at.NodeRoleName,
		"subnetSelectorTerms":        byID(at.SubnetIDs),
		"securityGroupSelectorTerms": byID(at.SecurityGroupIDs),
		"ephemeralStorage":           storage,
		"networkPolicy":              networkPolicy,
		"networkPolicyEventLogs":     "Disabled",
		"snatPolicy":                 "Random",
		"tags":                       tags(at.Cluster, name, c.Tags),
	}
	if len(c.CapacityReservationIDs) > 0 {
		spec["capacityReservationSelectorTerms"] = byID(c.CapacityReservationIDs)
	}
	kind := nodepool.AutoModeNodeClass
	return nodepool.Manifest{
		APIVersion: kind.Group + "/" + kind.Version,
		Kind:       kind.Kind,
		Metadata:   map[string]any{"name": name},
		Spec:       spec,
	}
}

// byID selects exactly these, in one order: tags select what someone else tags tomorrow.
func byID(ids []string) []any {
	terms := []any{}
	for _, id := range slices.Sorted(slices.Values(ids)) {
		terms = append(terms, map[string]any{"id": id})
	}
	return terms
}

// tags of what a pool is made of: its own, and the two that mark it, which win.
func tags(cluster, name string, own map[string]string) map[string]string {
	all := map[string]string{}
	maps.Copy(all, own)
	maps.Copy(all, pool.InstanceTags(cluster, name))
	return all
}
