package automode

import (
	"fmt"
	"slices"
	"time"

	"github.com/headroom-eks/headroom/components/nodepool"
	"github.com/headroom-eks/headroom/problem"
)

// Lifetimes. A node lives 21 days at most, its draining included, and drains for 24 hours unless the pool says
// otherwise.
// https://docs.aws.amazon.com/eks/latest/best-practices/automode.html
// https://docs.aws.amazon.com/eks/latest/userguide/create-node-pool.html
const (
	maxLifetime  = 21 * 24 * time.Hour
	defaultGrace = 24 * time.Hour
)

// NodeClass is Auto Mode's kind of node class. https://docs.aws.amazon.com/eks/latest/userguide/create-node-pool.html
var NodeClass = nodepool.ClassKind{
	Group:       "eks.amazonaws.com",
	Version:     "v1",
	Kind:        "NodeClass",
	LabelDomain: "eks.amazonaws.com",
	InstanceTag: nodePoolTag,
	OmitsOS:     true, // "kubernetes.io/os" is among the labels that are not supported: nodes are Linux only
	// maxLifetime less defaultGrace: expiry takes a running model down, so it comes as late as it may.
	AdvertisedExpireAfter: "480h",
	GeneralExpireAfter:    "336h", // EKS's own default
	Drain:                 defaultGrace,
	End:                   30 * time.Minute,
	Rules:                 validateSpec,
	FormerType:            "headroom:automode:NodePool",
}

// validateSpec reports what Auto Mode refuses of a NodePool with its defaults.
func validateSpec(path string, spec nodepool.Spec) (problems problem.List) {
	// "default" is the NodeClass that EKS keeps itself.
	if spec.Name == "default" || slices.Contains(BuiltInPools, spec.Name) {
		problems.Add(path+".name", "is one that EKS keeps for itself", spec.Name, "choose another")
	}
	if spec.Advertised != nil && spec.Advertised.Static {
		problems.Join(Refuse(path, Static))
	}
	if len(spec.StartupTaints) > 0 {
		problems.Join(Refuse(path, StartupTaints))
	}
	problems.Join(validateLifetime(path, spec))
	return problems
}

func validateLifetime(path string, spec nodepool.Spec) (problems problem.List) {
	hours := int(maxLifetime.Hours())
	if spec.ExpireAfter == nodepool.Never {
		problems.Add(path+".expireAfter", fmt.Sprintf("Auto Mode replaces every node after %d hours at the latest",
			hours),
			spec.ExpireAfter, "give a duration")
		return problems
	}
	grace := defaultGrace
	if given, err := time.ParseDuration(spec.TerminationGracePeriod); err == nil { // nodepool reports one that is none
		grace = given
	}
	expire, err := time.ParseDuration(spec.ExpireAfter)
	if err == nil && expire+grace > maxLifetime {
		problems.Add(path+".expireAfter", fmt.Sprintf("with a grace period of %s is more than the %d hours that Auto "+
			"Mode lets a node live", grace, hours), spec.ExpireAfter, "shorten one")
	}
	return problems
}
