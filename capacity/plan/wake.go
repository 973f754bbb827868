package plan

import (
	"fmt"
	"strings"

	"github.com/headroom-eks/headroom/capacity"
	"github.com/headroom-eks/headroom/pool"
	"golang.org/x/mod/semver"
)

// WakeFacts decide whether a scaler can make nodes for the pods of a pool.
type WakeFacts struct {
	Scaler pool.Scaler
	// Static: a Karpenter pool of a fixed number of nodes.
	Static     bool
	DeviceMode pool.DeviceMode
	// ScalerVersion of the Karpenter or cluster-autoscaler that runs, with or without a leading v. Not read for Auto
	// Mode.
	ScalerVersion string
	// DRAEnabled is Karpenter's switch: settings.enableDRA, or settings.awsFeatureGates.draNVIDIAGPU with
	// ignoreDRARequests off.
	DRAEnabled bool
	// KubernetesVersion of the control plane, for example "1.36".
	KubernetesVersion string
	// MinNodeCount of the pool's group.
	MinNodeCount int
	Realized     Realized
}

// WakeNeeds is what it takes for a scaler to make nodes for the pods of a pool. The zero value needs nothing.
type WakeNeeds struct {
	ScalerVersion     string // lowest version of the scaler, such as "1.15"
	KubernetesVersion string // lowest version of Kubernetes
	Switch            bool   // the scaler's switch for DRA has to be on
	FromOne           bool   // it can add nodes to a running one, and cannot make the first
}

// wakeRule is a row: the pools it is for, and what those need. The first row that fits a pool decides.
type wakeRule struct {
	scaler pool.Scaler
	static bool
	mode   pool.DeviceMode
	needs  WakeNeeds
}

// wakeRules is the whole table. A fixed pool has no scaler and no row: NoAutoscaler bounds it.
//
//   - Karpenter and DRA: alpha since 1.15, Kubernetes 1.34; works from zero. With the switch off a pod that has only a
//     claim never gets a node (measured). https://karpenter.sh/docs/tasks/dra/
//   - Static Karpenter pools keep their number whatever pods ask. https://karpenter.sh/docs/concepts/nodepools/
//   - Auto Mode and DRA: Kubernetes 1.36. https://docs.aws.amazon.com/eks/latest/userguide/device-management.html
//   - cluster-autoscaler and DRA: its AWS provider describes no devices of a node that is not there yet, so the first
//     node never comes; field fault BR-11. Always on since 1.35, which needs resource.k8s.io/v1.
//     https://github.com/modelplaneai/modelplane/issues/345
var wakeRules = []wakeRule{
	{scaler: pool.Karpenter, static: true, mode: pool.Plugin, needs: WakeNeeds{ScalerVersion: "1.8"}},
	{scaler: pool.Karpenter, static: true, mode: pool.DRA, needs: WakeNeeds{ScalerVersion: "1.8"}},
	{scaler: pool.Karpenter, mode: pool.Plugin},
	{scaler: pool.Karpenter, mode: pool.DRA, needs: WakeNeeds{
		ScalerVersion: "1.15", KubernetesVersion: "1.34", Switch: true,
	}},
	{scaler: pool.AutoMode, mode: pool.Plugin},
	{scaler: pool.AutoMode, mode: pool.DRA, needs: WakeNeeds{KubernetesVersion: "1.36"}},
	{scaler: pool.ClusterAutoscaler, mode: pool.Plugin},
	{scaler: pool.ClusterAutoscaler, mode: pool.DRA, needs: WakeNeeds{
		ScalerVersion: "1.35", KubernetesVersion: "1.34", FromOne: true,
	}},
}

// NeedsToWake says what a scaler needs to make nodes for the pods of a pool; false for a scaler or a device mode that
// has no row.
func NeedsToWake(scaler pool.Scaler, mode pool.DeviceMode, static bool) (WakeNeeds, bool) {
	if mode == "" { // a pool without GPUs
		mode = pool.Plugin
	}
	for _, r := range wakeRules {
		if r.scaler == scaler && r.static == static && r.mode == mode {
			return r.needs, true
		}
	}
	return WakeNeeds{}, false
}

// Wake reports whether the pool's scaler can make the first node for the pool's pods, and what bounds the promise if it
// cannot.
//
// A cluster-autoscaler pool of claims can grow while at least one node runs and its minimum keeps one; with a minimum
// of 0 it could fall to zero and stay there, so only what runs is promised. The bound limits the promise and not the
// scaler: pods without a claim may still wake the pool.
func Wake(f WakeFacts) (scalesFromZero bool, ceiling *Bound) {
	realized := f.Realized.Total()
	bound := func(format string, args ...any) *Bound {
		detail := fmt.Sprintf(format, args...)
		return &Bound{Kind: capacity.WakeFromZero, Nodes: realized, PromiseOnly: true, Detail: detail}
	}
	unknown := func(reason string) *Bound {
		return &Bound{Kind: capacity.WakeFromZero, Unknown: reason, PromiseOnly: true}
	}
	if f.Scaler == pool.Fixed {
		return false, nil
	}
	pods := "pods that claim GPUs through DRA"
	if f.Static {
		pods = "a pool of a fixed number of them"
	}
	needs, found := NeedsToWake(f.Scaler, f.DeviceMode, f.Static)
	if !found {
		return false, unknown(fmt.Sprintf("nothing is known of scaler %q with device mode %q", f.Scaler, f.DeviceMode))
	}
	for _, need := range []struct{ what, have, want string }{
		{string(f.Scaler), f.ScalerVersion, needs.ScalerVersion},
		{"Kubernetes", f.KubernetesVersion, needs.KubernetesVersion},
	} {
		if need.want == "" {
			continue
		}
		have := "v" + strings.TrimPrefix(need.have, "v")
		if !semver.IsValid(have) {
			return false, unknown(fmt.Sprintf("the version of %s (%q) is not known; it has to be %s or later",
				need.what, need.have, need.want))
		}
		if semver.Compare(have, "v"+need.want) < 0 {
			return false, bound("%s makes no nodes for %s before %s %s; it is %s", f.Scaler, pods, need.what, need.want,
				need.have)
		}
	}
	switch {
	case needs.Switch && !f.DRAEnabled:
		return false, bound("%s makes no nodes for %s while its switch for that is off", f.Scaler, pods)
	case needs.FromOne && f.Realized.Unknown != "":
		return false, unknown("whether a node runs that this scaler could copy is not known: " + f.Realized.Unknown)
	case needs.FromOne && realized == 0:
		return false, bound("%s cannot make the first node of a DRA pool, and none runs", f.Scaler)
	case needs.FromOne && f.MinNodeCount < 1:
		return false, bound("%s cannot make the first node of a DRA pool, and with minNodeCount 0 the pool may fall "+
			"to zero", f.Scaler)
	}
	return !needs.FromOne, nil
}
