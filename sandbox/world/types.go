package world

import (
	"maps"
	"slices"
	"strings"
)

// InstanceType is what EC2 says of an instance type, as far as the sandbox needs it. The program has no such table: it
// asks.
//
// Sources: sizes from https://docs.aws.amazon.com/ec2/latest/instancetypes/ and GPU memory as Karpenter's catalogue
// reports it from EC2 (https://karpenter.sh/v1.15/reference/instance-types/); interfaces from
// https://github.com/aws/amazon-vpc-cni-k8s/blob/master/pkg/vpc/vpc_ip_resource_limit.go.
type InstanceType struct {
	VCPUs      int
	MemoryMiB  int
	GPUs       int    // whole devices; 0 for the fractional families, as EC2 counts them
	GPUName    string // empty without GPUs
	GPUMaker   string
	GPUMemory  int // MiB of one GPU, or of the slice
	DiskGB     int // instance store, all disks together
	ENIs       int
	IPv4PerENI int
	Arch       string // "x86_64" or "arm64"
	EFA        int    // EFA interfaces
}

// Types is the sandbox's catalogue of instance types.
var Types = catalogue()

type gpuRow struct {
	name                                   string
	vcpus, gib, gpus, disk, enis, ips, efa int
}

var gpuRows = []struct {
	gpu, maker string
	memory     int
	rows       []gpuRow
}{
	{"L4", "NVIDIA", 22888, []gpuRow{
		{"g6.xlarge", 4, 16, 1, 250, 4, 15, 0}, {"g6.2xlarge", 8, 32, 1, 450, 4, 15, 0},
		{"g6.4xlarge", 16, 64, 1, 600, 8, 30, 0}, {"g6.8xlarge", 32, 128, 1, 900, 8, 30, 1},
		{"g6.12xlarge", 48, 192, 4, 3760, 8, 30, 1}, {"g6.16xlarge", 64, 256, 1, 1880, 15, 50, 1},
		{"g6.24xlarge", 96, 384, 4, 3760, 15, 50, 1}, {"g6.48xlarge", 192, 768, 8, 7520, 15, 50, 1},
		{"gr6.4xlarge", 16, 128, 1, 600, 8, 30, 0}, {"gr6.8xlarge", 32, 256, 1, 900, 8, 30, 1},
	}},
	// Slices of an L4: EC2 counts no whole GPU (field fault BR-27).
	{"L4", "NVIDIA", 2861, []gpuRow{{"g6f.large", 2, 8, 0, 80, 2, 10, 0}, {"g6f.xlarge", 4, 16, 0, 120, 4, 15, 0}}},
	{"L4", "NVIDIA", 5722, []gpuRow{{"g6f.2xlarge", 8, 32, 0, 230, 4, 15, 0}}},
	{"L4", "NVIDIA", 11444, []gpuRow{{"g6f.4xlarge", 16, 64, 0, 460, 8, 30, 0},
		{"gr6f.4xlarge", 16, 128, 0, 460, 8, 30, 0}}},
	{"L40S", "NVIDIA", 45776, []gpuRow{
		{"g6e.xlarge", 4, 32, 1, 250, 4, 15, 0}, {"g6e.2xlarge", 8, 64, 1, 450, 4, 15, 0},
		{"g6e.4xlarge", 16, 128, 1, 600, 8, 30, 0}, {"g6e.8xlarge", 32, 256, 1, 900, 8, 30, 1},
		{"g6e.12xlarge", 48, 384, 4, 3800, 10, 30, 1}, {"g6e.16xlarge", 64, 512, 1, 1900, 15, 50, 1},
		{"g6e.24xlarge", 96, 768, 4, 3800, 20, 50, 2}, {"g6e.48xlarge", 192, 1536, 8, 7600, 40, 50, 4},
	}},
	{"A10G", "NVIDIA", 24576, []gpuRow{{"g5.xlarge", 4, 16, 1, 250, 4, 15, 0},
		{"g5.12xlarge", 48, 192, 4, 3800, 15, 50, 1}}},
	{"T4", "NVIDIA", 16384, []gpuRow{{"g4dn.xlarge", 4, 16, 1, 125, 3, 10, 0}}},
	{"Radeon Pro V520", "AMD", 8192, []gpuRow{{"g4ad.xlarge", 4, 16, 1, 150, 2, 4, 0}}},
	{"A100", "NVIDIA", 40960, []gpuRow{{"p4d.24xlarge", 96, 1152, 8, 8000, 60, 50, 4}}},
	{"H100", "NVIDIA", 81920, []gpuRow{{"p5.48xlarge", 192, 2048, 8, 30400, 64, 50, 32}}},
}

// families without GPUs: GiB of memory per vCPU and the architecture.
var families = map[string]struct {
	gib  int
	arch string
}{
	"m5":  {4, "x86_64"},
	"m6i": {4, "x86_64"},
	"m6a": {4, "x86_64"},
	"m7i": {4, "x86_64"},
	"m7a": {4, "x86_64"},
	"m7g": {4, "arm64"},
	"c6i": {2, "x86_64"},
	"c6a": {2, "x86_64"},
	"c7i": {2, "x86_64"},
	"c7a": {2, "x86_64"},
	"c7g": {2, "arm64"},
	"r6i": {8, "x86_64"},
	"r6a": {8, "x86_64"},
	"r7i": {8, "x86_64"},
	"r7g": {8, "arm64"},
}

var sizes = map[string]struct{ vcpus, enis, ips int }{
	"large":    {2, 3, 10},
	"xlarge":   {4, 4, 15},
	"2xlarge":  {8, 4, 15},
	"4xlarge":  {16, 8, 30},
	"8xlarge":  {32, 8, 30},
	"12xlarge": {48, 8, 30},
	"16xlarge": {64, 15, 50},
	"24xlarge": {96, 15, 50},
}

var burstable = map[string]InstanceType{
	"t3.medium":  {VCPUs: 2, MemoryMiB: 4096, ENIs: 3, IPv4PerENI: 6, Arch: "x86_64"},
	"t3.large":   {VCPUs: 2, MemoryMiB: 8192, ENIs: 3, IPv4PerENI: 12, Arch: "x86_64"},
	"t3.xlarge":  {VCPUs: 4, MemoryMiB: 16384, ENIs: 4, IPv4PerENI: 15, Arch: "x86_64"},
	"t3.2xlarge": {VCPUs: 8, MemoryMiB: 32768, ENIs: 4, IPv4PerENI: 15, Arch: "x86_64"},
}

func catalogue() map[string]InstanceType {
	out := maps.Clone(burstable)
	for _, g := range gpuRows {
		for _, r := range g.rows {
			out[r.name] = InstanceType{
				VCPUs:      r.vcpus,
				MemoryMiB:  r.gib * 1024,
				GPUs:       r.gpus,
				GPUName:    g.gpu,
				GPUMaker:   g.maker,
				GPUMemory:  g.memory,
				DiskGB:     r.disk,
				ENIs:       r.enis,
				IPv4PerENI: r.ips,
				Arch:       "x86_64",
				EFA:        r.efa,
			}
		}
	}
	for family, f := range families {
		for size, s := range sizes {
			out[family+"."+size] = InstanceType{
				VCPUs:      s.vcpus,
				MemoryMiB:  s.vcpus * f.gib * 1024,
				ENIs:       s.enis,
				IPv4PerENI: s.ips,
				Arch:       f.arch,
			}
		}
	}
	return out
}

// HasGPU reports whether the type carries a GPU or a slice of one.
func (t InstanceType) HasGPU() bool { return t.GPUName != "" }

// Zone is an availability zone of a region.
type Zone struct {
	Name, ID string
	// NoControlPlane is set where EKS cannot place a control plane.
	// https://docs.aws.amazon.com/eks/latest/userguide/network-reqs.html
	NoControlPlane bool
}

// regions of the sandbox, with the account's zone letters. The ids a real account sees under a letter differ from
// account to account.
var regions = map[string][]Zone{
	"us-west-2":     zonesOf("us-west-2", "usw2", "abcd"),
	"us-east-1":     zonesOf("us-east-1", "use1", "abcdef"),
	"us-east-2":     zonesOf("us-east-2", "use2", "abc"),
	"eu-west-1":     zonesOf("eu-west-1", "euw1", "abc"),
	"eu-central-1":  zonesOf("eu-central-1", "euc1", "abc"),
	"us-gov-west-1": zonesOf("us-gov-west-1", "usgw1", "abc"),
	"cn-north-1":    zonesOf("cn-north-1", "cnn1", "abc"),
}

func zonesOf(region, short, letters string) []Zone {
	var out []Zone
	for i, letter := range letters {
		name := region + string(letter)
		id := short + "-az" + string(rune('1'+i))
		if name == "us-east-1e" { // the zone EKS leaves out is use1-az3
			id = "use1-az3"
		} else if name == "us-east-1c" {
			id = "use1-az5"
		}
		out = append(out, Zone{Name: name, ID: id, NoControlPlane: id == "use1-az3"})
	}
	return out
}

// Zones of the world's region, in order of their names.
func (s *State) Zones() []Zone { return regions[s.Region] }

// KnownRegion reports whether the sandbox has zones for a region.
func KnownRegion(region string) bool { return regions[region] != nil }

// ZoneNamed returns the zone with this name.
func (s *State) ZoneNamed(name string) (Zone, bool) {
	i := slices.IndexFunc(s.Zones(), func(z Zone) bool { return z.Name == name })
	if i < 0 {
		return Zone{}, false
	}
	return s.Zones()[i], true
}

// Offered reports whether EC2 offers the type in the zone. In the sandbox no GPU type is offered in the fourth zone and
// later, gr6 and the P families in the first two only.
func (s *State) Offered(instanceType, zone string) bool {
	t, known := Types[instanceType]
	at := slices.IndexFunc(s.Zones(), func(z Zone) bool { return z.Name == zone })
	if !known || at < 0 || slices.Contains(s.NotOffered[instanceType], zone) ||
		slices.Contains(s.NotOffered["*"], zone) {
		return false
	}
	if strings.HasPrefix(instanceType, "gr6") || instanceType[0] == 'p' {
		return at < 2
	}
	return !t.HasGPU() || at < 3
}
