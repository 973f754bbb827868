package view

import "testing"

func TestHardwareIsReadFromTheNameOfAType(t *testing.T) {
	for name, want := range map[string]Hardware{
		"g6.xlarge":            {GPU: true, NVIDIA: true, GPUs: 1, VCPUs: 4},
		"g6.12xlarge":          {GPU: true, NVIDIA: true, GPUs: 4, VCPUs: 48},
		"g6.48xlarge":          {GPU: true, NVIDIA: true, GPUs: 8, VCPUs: 192},
		"gr6.4xlarge":          {GPU: true, NVIDIA: true, GPUs: 1, VCPUs: 16},
		"g6f.large":            {GPU: true, NVIDIA: true, Fractional: true, VCPUs: 2},
		"gr6f.4xlarge":         {GPU: true, NVIDIA: true, Fractional: true, VCPUs: 16},
		"g4ad.xlarge":          {GPU: true, VCPUs: 4},
		"p5.48xlarge":          {GPU: true, NVIDIA: true, GPUs: 8, VCPUs: 192},
		"p6-b200.metal":        {GPU: true, NVIDIA: true, GPUs: 1},
		"g9.xlarge":            {GPU: true, NVIDIA: true, VCPUs: 4}, // a family the table does not have: GPUs unknown
		"m6i.large":            {VCPUs: 2},
		"c7gn.2xlarge":         {VCPUs: 8},
		"r6gd.metal":           {},
		"inf2.xlarge":          {VCPUs: 4},
		"pppxlarge":            {},
		"":                     {},
		"g6.99999999999xlarge": {GPU: true, NVIDIA: true, GPUs: 1, VCPUs: 399999999996},
	} {
		want.Type = name
		if got := hardware(name); got != want {
			t.Errorf("%s: got %+v, want %+v", name, got, want)
		}
	}
}
