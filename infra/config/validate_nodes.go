package config

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	capacityplan "github.com/headroom-eks/headroom/capacity/plan"
	"github.com/headroom-eks/headroom/pool"
	"github.com/headroom-eks/headroom/pool/label"
	"github.com/headroom-eks/headroom/problem"
)

// Bounds beyond which a number is a slip of the finger, and arithmetic over it may overflow.
const (
	// maxNodes of the largest cluster that EKS has shown.
	// https://aws.amazon.com/blogs/containers/under-the-hood-amazon-eks-ultra-scale-clusters/
	maxNodes        = 100_000
	maxGroupNodes   = capacityplan.DefaultNodesPerGroup
	maxGeneralLimit = 10_000_000 // vCPUs or GiB
	maxDiskGiB      = 16384      // of gp3
)

// identityLabels are set by the kubelet of a node, or of what it runs on; another value would make a node somebody it
// is not.
var identityLabels = []string{"kubernetes.io/hostname", "kubernetes.io/arch", "kubernetes.io/os",
	"node.kubernetes.io/instance-type"}

// validateBounds holds node counts against what EKS can have.
func (p Pool) validateBounds(at string, e Environment, problems *problem.List) {
	group, shared := maxGroupNodes, "in one managed group; make several pools"
	if p.Spread != "" {
		zones := len(p.Zones)
		if zones == 0 {
			zones = len(e.Network.Zones)
		}
		if zones == 0 { // of an existing network, not known yet
			zones = maxNodes / group
		}
		group, shared = group*zones, fmt.Sprintf("in each of the managed groups of %d zones; make several pools", zones)
	}
	for _, c := range []struct {
		key   string
		value *int
	}{{"nodeCount", p.NodeCount}, {"minNodeCount", p.MinNodeCount}, {"maxNodeCount", p.MaxNodeCount}} {
		switch {
		case c.value == nil || *c.value <= min(group, maxNodes):
		case *c.value > maxNodes:
			problems.Addf(at, "%s is %d; the largest cluster of EKS has %d nodes", c.key, *c.value, maxNodes)
		case p.Scaler == pool.ClusterAutoscaler && c.key == "maxNodeCount" || p.Scaler == pool.Fixed &&
			c.key == "nodeCount":
			problems.Addf(at, "%s is %d; EKS allows %d nodes %s", c.key, *c.value, maxGroupNodes, shared)
		}
	}
}

// validateNodes holds what nodes of the pool carry: labels and taints.
func (p Pool) validateNodes(at string, problems *problem.List) {
	problems.JoinUnder(at+".", label.Validate("labels", p.Scaler, p.Labels))
	for _, key := range slices.Sorted(maps.Keys(p.Labels)) {
		if p.Scaler.ManagedGroup() && (slices.Contains(identityLabels, key) ||
			strings.HasPrefix(key, "topology.kubernetes.io/")) {
			problems.Addf(fmt.Sprintf("%s.labels[%q]", at, key), "nodes get this label by themselves, from what they "+
				"are; remove it")
		}
	}
	problems.JoinUnder(at+".", label.ValidateTaints("taints", p.Taints))
	problems.JoinUnder(at+".", label.ValidateTaints("startupTaints", p.StartupTaints))
	for i, t := range p.Taints {
		if sameTaint(t, pool.GPUTaint) {
			problems.Addf(fmt.Sprintf("%s.taints[%d] %q", at, i, t.Key), "every GPU pool has %s already; remove it",
				pool.GPUTaint)
		}
	}
	for i, t := range p.StartupTaints {
		if slices.ContainsFunc(p.AllTaints(), func(other pool.Taint) bool { return sameTaint(t, other) }) {
			problems.Addf(fmt.Sprintf("%s.startupTaints[%d] %q", at, i, t.Key), "is among the pool's taints too, with "+
				"effect %s; keep one", t.Effect)
		}
	}
	if p.Scaler.Dynamic() {
		validateTaintDomains(at+".taints", p.Taints, problems)
		validateTaintDomains(at+".startupTaints", p.StartupTaints, problems)
	}
}

func sameTaint(a, b pool.Taint) bool { return a.Key == b.Key && a.Effect == b.Effect }

// validateTaintDomains refuses the domains that Karpenter keeps for itself.
func validateTaintDomains(at string, taints []pool.Taint, problems *problem.List) {
	for i, t := range taints {
		domain, _, _ := strings.Cut(t.Key, "/")
		for _, own := range []string{"karpenter.sh", "karpenter.k8s.aws"} {
			if domain == own || strings.HasSuffix(domain, "."+own) {
				problems.Addf(fmt.Sprintf("%s[%d] %q", at, i, t.Key), "taints under %s are Karpenter's own; use a "+
					"domain of your own", own)
			}
		}
	}
}
