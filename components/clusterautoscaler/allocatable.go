package clusterautoscaler

import "fmt"

// Node is an instance type as a node: what EC2 says it has, and the pods that its kubelet takes.
type Node struct{ VCPUs, MemoryMiB, MaxPods int }

// What EKS's AL2023 image holds back from pods: memory for each pod and a base, cores by thousandths, and the threshold
// below which the kubelet evicts.
// https://github.com/awslabs/amazon-eks-ami/blob/main/nodeadm/internal/kubelet/config.go
const (
	reservedMiBPerPod = 11
	reservedMiB       = 255
	evictionMiB       = 100
)

// reservedMillicores out of each thousand: 6 % of the first core, 1 % of the second, 0.5 % of the next two and 0.25 %
// of all others.
func reservedMillicores(cores int) (millicores int) {
	tenThousandths := 0
	for core := range cores {
		switch {
		case core < 1:
			tenThousandths += 600
		case core < 2:
			tenThousandths += 100
		case core < 4:
			tenThousandths += 50
		default:
			tenThousandths += 25
		}
	}
	return (tenThousandths + 9) / 10
}

// lostPerMille of the memory that EC2 names never reaches the operating system. How much depends on the type; this is
// what Karpenter assumes (vm-memory-overhead-percent 0.075), and more than what has been seen. Too little costs a pod
// that would just have fitted; too much starts nodes on which its pods stay Pending.
// https://karpenter.sh/docs/reference/settings/
const lostPerMille = 75

func (n Node) millicores() int { return max(0, n.VCPUs*1000-reservedMillicores(n.VCPUs)) }

func (n Node) memoryMiB() int {
	return max(0, n.MemoryMiB*(1000-lostPerMille)/1000-reservedMiBPerPod*n.MaxPods-reservedMiB-evictionMiB)
}

// allocatable is what pods can have of the smallest of some nodes, as cluster-autoscaler reads it from tags. It takes
// a tag for what is allocatable; without one, all that the instance type has, and 110 pods.
// https://github.com/kubernetes/autoscaler/blob/master/cluster-autoscaler/cloudprovider/aws/aws_manager.go
func allocatable(nodes []Node) map[string]string {
	if len(nodes) == 0 {
		return nil
	}
	cpu, memory, pods := nodes[0].millicores(), nodes[0].memoryMiB(), nodes[0].MaxPods
	for _, n := range nodes[1:] {
		cpu, memory, pods = min(cpu, n.millicores()), min(memory, n.memoryMiB()), min(pods, n.MaxPods)
	}
	return map[string]string{
		"cpu":    fmt.Sprintf("%dm", cpu),
		"memory": fmt.Sprintf("%dMi", memory),
		"pods":   fmt.Sprint(pods),
	}
}
