package plan

import "github.com/headroom-eks/headroom/pool"

// MaxPods is the kubelet's own maximum of pods on a node with an EKS image, when nothing else is configured.
// https://github.com/awslabs/amazon-eks-ami/blob/main/nodeadm/internal/kubelet/eni_max_pods.go
func MaxPods(shape pool.Shape, prefixDelegation bool) int {
	switch {
	case !prefixDelegation:
		return shape.MaxENIs*(shape.IPv4PerENI-1) + 2
	case shape.VCPUs > 30:
		return 250
	default:
		return 110
	}
}
