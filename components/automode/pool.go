package automode

import (
	"fmt"
	"time"

	"github.com/headroom-eks/headroom/components/nodepool"
	"github.com/headroom-eks/headroom/pool"
	"github.com/headroom-eks/headroom/problem"
)

// Pool is one pool of nodes that Auto Mode scales.
type Pool struct {
	// Spec of the NodePool. Its ExpireAfter defaults to 480h for an advertised pool, which with the grace period is the
	// longest life Auto Mode gives a node, and to 336h, EKS's own default, otherwise.
	Spec nodepool.Spec
	// Class of its nodes.
	Class Class
}

// Lifetimes. A node lives 21 days at most, its draining included, and drains for 24 hours unless the pool says
// otherwise.
// https://docs.aws.amazon.com/eks/latest/best-practices/automode.html
// https://docs.aws.amazon.com/eks/latest/userguide/create-node-pool.html
const (
	maxLifetime  = 21 * 24 * time.Hour
	defaultGrace = 24 * time.Hour
	// maxLifetime less defaultGrace: expiry takes a running model down, so it comes as late as it may
	advertisedExpireAfter = "480h"
	generalExpireAfter    = "336h"
)

// ValidatePool reports everything about a pool that nodepool, EKS or Auto Mode would refuse. kubernetesVersion is the
// cluster's ("1.36").
func ValidatePool(path string, p Pool, kubernetesVersion string) (problems problem.List) {
	problems.Join(nodepool.Validate(path, p.withDefaults().Spec))
	problems.Join(p.Class.validate(path + ".class"))
	if p.Spec.Name == "default" {
		problems.Addf(path+".name", `"default" is the NodeClass that EKS keeps itself; choose another name`)
	}
	for _, builtIn := range BuiltInPools {
		if p.Spec.Name == builtIn {
			problems.Addf(path+".name", "%q is a pool that EKS keeps itself; choose another name", builtIn)
		}
	}
	if a := p.Spec.Advertised; a != nil {
		problems.Join(ValidateDeviceMode(path, a.DeviceMode, kubernetesVersion))
		if a.Static {
			problems.Join(Refuse(path, Static))
		}
	}
	if len(p.Spec.StartupTaints) > 0 {
		problems.Join(Refuse(path, StartupTaints))
	}
	for _, c := range p.Spec.CapacityTypes {
		if c == pool.Reserved && len(p.Class.CapacityReservationIDs) == 0 {
			problems.Addf(path+".capacityTypes", "%q without capacityReservationIds finds no capacity; name the "+
				"reservations", c)
		}
	}
	problems.Join(validateLifetime(path, p.withDefaults().Spec))
	return problems
}

func validateLifetime(path string, spec nodepool.Spec) (problems problem.List) {
	if spec.ExpireAfter == "Never" {
		problems.Addf(path+".expireAfter", "Auto Mode replaces every node after %d hours at the latest; give a duration",
			int(maxLifetime.Hours()))
		return problems
	}
	grace := gracePeriod(spec)
	expire, err := time.ParseDuration(spec.ExpireAfter)
	if err == nil && expire+grace > maxLifetime {
		problems.Addf(path+".expireAfter", "%s and a grace period of %s are more than the %d hours Auto Mode lets a "+
			"node live; shorten one",
			spec.ExpireAfter, grace, int(maxLifetime.Hours()))
	}
	return problems
}

// gracePeriod of a node's drain. nodepool reports one that cannot be read.
func gracePeriod(spec nodepool.Spec) time.Duration {
	if grace, err := time.ParseDuration(spec.TerminationGracePeriod); err == nil {
		return grace
	}
	return defaultGrace
}

// deleteTimeout of a NodePool: its nodes may drain for the whole grace period, and AWS then has to end the instances.
func deleteTimeout(spec nodepool.Spec) time.Duration { return gracePeriod(spec) + 30*time.Minute }

// withDefaults fills what Auto Mode would otherwise refuse of nodepool's own defaults.
func (p Pool) withDefaults() Pool {
	if p.Spec.ExpireAfter == "" {
		p.Spec.ExpireAfter = generalExpireAfter
		if p.Spec.Advertised != nil {
			p.Spec.ExpireAfter = advertisedExpireAfter
		}
	}
	return p
}

// PlanPool gives the two objects of a valid pool: the NodeClass first, which the NodePool needs.
func PlanPool(p Pool, at Placement) (class, nodePool nodepool.Manifest, err error) {
	nodePool, err = planNodePool(p)
	return planNodeClass(p.Spec.Name, p.Class, at), nodePool, err
}

func planNodePool(p Pool) (nodepool.Manifest, error) {
	manifest, err := nodepool.PlanNodePool(p.withDefaults().Spec, nodepool.AutoModeNodeClass)
	if err != nil {
		return nodepool.Manifest{}, fmt.Errorf("plan NodePool %s: %w", p.Spec.Name, err)
	}
	return withoutOS(manifest), nil
}

// unsupportedLabel is one that Auto Mode refuses in requirements: its nodes are Linux only.
// https://docs.aws.amazon.com/eks/latest/userguide/create-node-pool.html
const unsupportedLabel = "kubernetes.io/os"

func withoutOS(m nodepool.Manifest) nodepool.Manifest {
	template, _ := m.Spec["template"].(map[string]any)
	spec, _ := template["spec"].(map[string]any)
	requirements, _ := spec["requirements"].([]any)
	var kept []any
	for _, r := range requirements {
		if requirement, _ := r.(map[string]any); requirement["key"] != unsupportedLabel {
			kept = append(kept, r)
		}
	}
	if len(kept) > 0 {
		spec["requirements"] = kept
	}
	return m
}
