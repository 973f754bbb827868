package plan

import "github.com/headroom-eks/headroom/pool"

// OnHostNetwork are the pods of a node that take no address of their own: network add-on and kube-proxy.
const OnHostNetwork = 2

// AddressablePods is how many pods a node of the shape can give addresses. The first address of an interface is its
// own. 0 when the shape is not known.
// https://github.com/awslabs/amazon-eks-ami/blob/main/templates/shared/runtime/eni-max-pods.txt
func AddressablePods(shape pool.Shape, prefixDelegation bool) int {
	slots := shape.MaxENIs * (shape.IPv4PerENI - 1)
	if slots < 1 {
		return 0
	}
	if prefixDelegation {
		slots *= prefixAddresses
	}
	return slots + OnHostNetwork
}

// MaxPods is how many pods the kubelet takes on a node with an EKS image, when nothing else is configured. With prefix
// delegation it is what EKS recommends, which its managed groups set and Karpenter's node classes have to.
// https://github.com/awslabs/amazon-eks-ami/blob/main/nodeadm/internal/kubelet/eni_max_pods.go
// https://docs.aws.amazon.com/eks/latest/userguide/cni-increase-ip-addresses-procedure.html
func MaxPods(shape pool.Shape, prefixDelegation bool) int {
	switch {
	case !prefixDelegation:
		return AddressablePods(shape, false)
	case shape.VCPUs > 30:
		return 250
	default:
		return 110
	}
}
