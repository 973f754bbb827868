package cluster

import (
	"encoding/json"

	"github.com/headroom-eks/headroom/pool"
)

// The EBS driver's service account, fixed by the add-on.
const (
	ebsNamespace      = "kube-system"
	ebsServiceAccount = "ebs-csi-controller-sa"
	ebsPolicy         = "service-role/AmazonEBSCSIDriverPolicy" // of AWS
)

// storageClassName of the default storage class.
const storageClassName = "gp3"

// provisioner of EBS volumes: Auto Mode brings its own driver.
// https://docs.aws.amazon.com/eks/latest/userguide/create-storage-class.html
func provisioner(autoMode bool) string {
	if autoMode {
		return "ebs.csi.eks.amazonaws.com"
	}
	return "ebs.csi.aws.com"
}

// systemTolerations let an add-on run on the system group. Given at all, they replace the add-on's own, which has the
// first.
func systemTolerations(taints []pool.Taint) []pool.Toleration {
	return append([]pool.Toleration{{Key: "CriticalAddonsOnly", Operator: "Exists"}}, pool.Tolerations(taints)...)
}

// corednsValues is the add-on's configuration.
// https://docs.aws.amazon.com/eks/latest/userguide/kubernetes-field-management.html
func corednsValues(taints []pool.Taint) (string, error) {
	return values(map[string]any{"tolerations": systemTolerations(taints)})
}

// ebsValues is the driver's configuration. Its DaemonSet tolerates every taint by itself. The tags go to the volumes it
// makes.
func ebsValues(taints []pool.Taint, tags map[string]string) (string, error) {
	controller := map[string]any{"tolerations": systemTolerations(taints)}
	if len(tags) > 0 {
		controller["extraVolumeTags"] = tags
	}
	return values(map[string]any{"controller": controller})
}

func values(v map[string]any) (string, error) {
	text, err := json.Marshal(v)
	return string(text), err
}
