package karpenter

// nodePolicies are AWS's policies that a node needs: to join, to give pods addresses and to pull images.
var nodePolicies = []string{
	"AmazonEKSWorkerNodePolicy",
	"AmazonEKS_CNI_Policy",
	"AmazonEC2ContainerRegistryPullOnly",
}
