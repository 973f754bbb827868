package world

// Quota codes of the limits the sandbox keeps. https://docs.aws.amazon.com/servicequotas/latest/userguide/intro.html
const (
	QuotaStandardOnDemand = "L-1216C47A" // vCPUs
	QuotaStandardSpot     = "L-34B43A08" // vCPUs
	QuotaGOnDemand        = "L-DB2E81BA" // vCPUs
	QuotaGSpot            = "L-3819A6DF" // vCPUs
	QuotaPOnDemand        = "L-417A185B" // vCPUs
	QuotaPSpot            = "L-7212CCBC" // vCPUs
	QuotaVPCs             = "L-F678F1CE"
	QuotaAddresses        = "L-0263D0A3" // Elastic IPs
	QuotaClusters         = "L-1194D53C"
	QuotaNodeGroups       = "L-6D54EA21" // managed node groups per cluster
	QuotaGroupNodes       = "L-BD136A63" // nodes per managed node group
)

// Quota describes one limit as Service Quotas does.
type Quota struct{ Service, ServiceName, Name string }

// QuotaNames are the quotas that can be asked for.
var QuotaNames = map[string]Quota{
	QuotaStandardOnDemand: {"ec2", "Amazon Elastic Compute Cloud (Amazon EC2)", "Running On-Demand Standard (A, C, " +
		"D, H, I, M, R, T, Z) instances"},
	QuotaStandardSpot: {"ec2", "Amazon Elastic Compute Cloud (Amazon EC2)", "All Standard (A, C, D, H, I, M, R, T, " +
		"Z) Spot Instance Requests"},
	QuotaGOnDemand:  {"ec2", "Amazon Elastic Compute Cloud (Amazon EC2)", "Running On-Demand G and VT instances"},
	QuotaGSpot:      {"ec2", "Amazon Elastic Compute Cloud (Amazon EC2)", "All G and VT Spot Instance Requests"},
	QuotaPOnDemand:  {"ec2", "Amazon Elastic Compute Cloud (Amazon EC2)", "Running On-Demand P instances"},
	QuotaPSpot:      {"ec2", "Amazon Elastic Compute Cloud (Amazon EC2)", "All P4, P3 and P2 Spot Instance Requests"},
	QuotaVPCs:       {"vpc", "Amazon Virtual Private Cloud (Amazon VPC)", "VPCs per Region"},
	QuotaAddresses:  {"ec2", "Amazon Elastic Compute Cloud (Amazon EC2)", "EC2-VPC Elastic IPs"},
	QuotaClusters:   {"eks", "Amazon Elastic Kubernetes Service (Amazon EKS)", "Clusters"},
	QuotaNodeGroups: {"eks", "Amazon Elastic Kubernetes Service (Amazon EKS)", "Managed node groups per cluster"},
	QuotaGroupNodes: {"eks", "Amazon Elastic Kubernetes Service (Amazon EKS)", "Nodes per managed node group"},
}

// DefaultQuotas of a fresh sandbox account. The vCPU quotas are more than a real new account has, which often starts at
// 0 for GPUs.
var DefaultQuotas = map[string]float64{
	QuotaStandardOnDemand: 256,
	QuotaStandardSpot:     256,
	QuotaGOnDemand:        64,
	QuotaGSpot:            64,
	QuotaPOnDemand:        0,
	QuotaPSpot:            0,
	QuotaVPCs:             5,
	QuotaAddresses:        5,
	QuotaClusters:         100,
	QuotaNodeGroups:       30,
	QuotaGroupNodes:       450,
}

// vcpuQuota is the code of the quota that counts the vCPUs of an instance type.
func vcpuQuota(instanceType string, spot bool) string {
	codes := [2]string{QuotaStandardOnDemand, QuotaStandardSpot}
	switch instanceType[0] {
	case 'g':
		codes = [2]string{QuotaGOnDemand, QuotaGSpot}
	case 'p':
		codes = [2]string{QuotaPOnDemand, QuotaPSpot}
	}
	if spot {
		return codes[1]
	}
	return codes[0]
}
