package automode

import (
	"fmt"

	"github.com/headroom-eks/headroom/pool"
	"github.com/headroom-eks/headroom/problem"
)

// Setting is one that works with another scaler and has no place in Auto Mode, by its key in the configuration.
type Setting string

const (
	AMIRelease    Setting = "amiRelease"
	Kubelet       Setting = "kubelet"
	LocalDisks    Setting = "localDisks"
	StartupTaints Setting = "startupTaints"
	Static        Setting = "static"
)

// RefusedSettings are those that Auto Mode cannot express.
var RefusedSettings = []Setting{AMIRelease, Kubelet, LocalDisks, StartupTaints, Static}

const docs = "https://docs.aws.amazon.com/eks/latest/userguide/"

// refusals say why a setting cannot be had and what to do instead.
var refusals = map[Setting]struct{ reason, remedy, source string }{
	AMIRelease: {
		"AWS chooses the image and renews it about weekly",
		"remove it, or use another scaler to pin AL2023", "automode-learn-instances.html",
	},
	Kubelet: {
		"a NodeClass has no kubelet settings and pods are capped at 110 a node",
		"remove it, or use another scaler", "create-node-class.html",
	},
	LocalDisks: {
		"local disks are used by themselves when diskGiB is smaller than they are",
		"remove it and set diskGiB", "automode-learn-instances.html",
	},
	StartupTaints: {
		"they wait for a daemon that prepares the node, such as another network plugin, and Auto Mode supports none",
		"remove them", "alternate-cni-plugins.html",
	},
	Static: {
		"this program keeps a fixed number of nodes with Karpenter only",
		"set maxNodeCount instead, or scaler: karpenter or fixed", "auto-static-capacity.html",
	},
}

// Refuse reports a setting that was given and that Auto Mode cannot express. Path names what holds the key.
func Refuse(path string, given Setting) (problems problem.List) {
	why := refusals[given]
	problems.Add(path+"."+string(given), fmt.Sprintf("is not possible with scaler %s: %s", pool.AutoMode, why.reason),
		nil,
		fmt.Sprintf("%s (%s%s)", why.remedy, docs, why.source))
	return problems
}
