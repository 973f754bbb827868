package view

import (
	"strconv"
	"strings"
)

// Hardware is what the name of an instance type says about its GPUs.
type Hardware struct {
	Type       string
	GPU        bool // has GPUs, or a share of one
	Fractional bool // a share of a GPU (field fault BR-27)
	NVIDIA     bool
	GPUs       int // 0: not in the table below
	VCPUs      int // 0: the size does not tell
}

// gpusBySize holds the sizes with more than one GPU; the other sizes of a listed family have one. It is a second
// opinion beside the program's own look-up, so it is kept by hand, and small. A family that is missing is reported as
// not checkable. https://docs.aws.amazon.com/ec2/latest/instancetypes/ac.html
var gpusBySize = map[string]map[string]int{
	"g4dn":    {"12xlarge": 4, "metal": 8},
	"g5":      {"12xlarge": 4, "24xlarge": 4, "48xlarge": 8},
	"g5g":     {"16xlarge": 2, "metal": 2},
	"g6":      {"12xlarge": 4, "24xlarge": 4, "48xlarge": 8},
	"g6e":     {"12xlarge": 4, "24xlarge": 4, "48xlarge": 8},
	"gr6":     {},
	"p3":      {"8xlarge": 4, "16xlarge": 8},
	"p3dn":    {"24xlarge": 8},
	"p4d":     {"24xlarge": 8},
	"p4de":    {"24xlarge": 8},
	"p5":      {"48xlarge": 8},
	"p5e":     {"48xlarge": 8},
	"p5en":    {"48xlarge": 8},
	"p6-b200": {"48xlarge": 8},
	"p6-b300": {"48xlarge": 8},
}

// hardware reads an instance type's name: family letters g, gr and p are the GPU families.
func hardware(instanceType string) Hardware {
	family, size, _ := strings.Cut(instanceType, ".")
	h := Hardware{Type: instanceType, GPU: gpuFamily(family), VCPUs: vcpus(size)}
	if !h.GPU {
		return h
	}
	h.Fractional = strings.HasSuffix(family, "f")
	h.NVIDIA = !strings.HasSuffix(family, "ad")
	if sizes, listed := gpusBySize[family]; listed {
		h.GPUs = max(1, sizes[size])
	}
	return h
}

// gpuFamily says whether a family, or a category, has GPUs.
func gpuFamily(family string) bool {
	letters := family
	if i := strings.IndexFunc(family, func(r rune) bool { return r >= '0' && r <= '9' }); i >= 0 {
		letters = family[:i]
	}
	return letters == "g" || letters == "gr" || letters == "p"
}

// vcpus of a size, by the convention that an xlarge has four.
func vcpus(size string) int {
	switch {
	case size == "large":
		return 2
	case size == "xlarge":
		return 4
	case strings.HasSuffix(size, "xlarge"):
		if n, err := strconv.Atoi(strings.TrimSuffix(size, "xlarge")); err == nil {
			return 4 * n
		}
	}
	return 0
}
