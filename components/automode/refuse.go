package automode

import (
	"slices"

	"github.com/headroom-eks/headroom/pool"
	"github.com/headroom-eks/headroom/problem"
	"golang.org/x/mod/semver"
)

// Setting is one that works with another scaler and has no place in Auto Mode.
type Setting string

const (
	AMIRelease         Setting = "amiRelease"
	AlternativeNetwork Setting = "cni"
	DetailedMonitoring Setting = "detailedMonitoring"
	InstanceMetadata   Setting = "metadataOptions"
	InstanceStore      Setting = "instanceStorePolicy"
	Kubelet            Setting = "kubelet"
	RootDevice         Setting = "rootDevice"
	StartupTaints      Setting = "startupTaints"
	Static             Setting = "static"
	UserData           Setting = "userData"
)

const docs = "https://docs.aws.amazon.com/eks/latest/userguide/"

// refusals say why a setting cannot be had and what to do instead.
var refusals = map[Setting]struct{ reason, remedy, source string }{
	AMIRelease: {"AWS chooses the image and renews it about weekly",
		"remove it, or use another scaler to pin AL2023", docs + "automode-learn-instances.html"},
	AlternativeNetwork: {"its nodes have AWS's network plugin built in and support no other, Cilium included",
		"remove it, or use another scaler", docs + "alternate-cni-plugins.html"},
	DetailedMonitoring: {"a NodeClass has no such field", "remove it", docs +
		"create-node-class.html#auto-node-class-spec"},
	InstanceMetadata: {"IMDSv2 with a hop limit of 1 is enforced and cannot be changed",
		"remove it; a pod that needs the service runs with hostNetwork", docs + "automode-learn-instances.html"},
	InstanceStore: {"local disks are used by themselves when storageGiB is smaller than they are",
		"remove it and set storageGiB", docs + "automode-learn-instances.html"},
	Kubelet: {"a NodeClass has no kubelet settings and pods are capped at 110 a node",
		"remove it, or use another scaler", docs + "create-node-class.html"},
	RootDevice: {"the operating system's disk is AWS's; only the storage of images and pods has a size",
		"remove it and set storageGiB", docs + "create-node-class.html#auto-node-class-spec"},
	StartupTaints: {"they wait for a daemon that prepares the node, such as another network plugin, and Auto Mode " +
		"supports none",
		"remove them", docs + "alternate-cni-plugins.html"},
	Static: {"this program keeps a fixed number of nodes with Karpenter only",
		"set maxNodeCount instead, or scaler: karpenter or fixed", docs + "auto-static-capacity.html"},
	UserData: {"nodes are sealed and run nothing at start that is not AWS's",
		"remove it, or run a DaemonSet", docs + "automode-learn-instances.html"},
}

// Refuse reports every setting that was given and that Auto Mode cannot express. Path names the pool, or the
// environment.
func Refuse(path string, given ...Setting) (problems problem.List) {
	for _, setting := range slices.Compact(slices.Sorted(slices.Values(given))) {
		why, known := refusals[setting]
		if !known {
			problems.Addf(path, "setting %q is not one of Auto Mode's refusals; this is a fault of the program", setting)
			continue
		}
		problems.Addf(path+"."+string(setting), "not possible with scaler %s: %s; %s (%s)", pool.AutoMode, why.reason,
			why.remedy, why.source)
	}
	return problems
}

// draVersion is the first Kubernetes version with which Auto Mode's nodes carry the NVIDIA DRA driver.
// https://docs.aws.amazon.com/eks/latest/userguide/device-management.html
const draVersion = "1.36"

// ValidateDeviceMode reports a DRA pool on a Kubernetes version ("1.35") whose Auto Mode does not serve claims: its
// pods would wait for ever (field fault BR-12).
func ValidateDeviceMode(path string, mode pool.DeviceMode, kubernetesVersion string) (problems problem.List) {
	if mode != pool.DRA {
		return problems
	}
	version := "v" + kubernetesVersion
	if !semver.IsValid(version) {
		problems.Addf(path+".deviceMode", "the Kubernetes version %q cannot be read; give it as %q", kubernetesVersion,
			draVersion)
	} else if semver.Compare(version, "v"+draVersion) < 0 {
		problems.Addf(path+".deviceMode", "%s needs Kubernetes %s with scaler %s, and the cluster has %s; use %s, or "+
			"raise the version",
			pool.DRA, draVersion, pool.AutoMode, kubernetesVersion, pool.Plugin)
	}
	return problems
}
