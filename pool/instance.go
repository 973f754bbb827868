package pool

import (
	"slices"
	"strings"
)

// GPUFamilies are the families of instance types that a GPU pool may name: whole L4 and L40S GPUs.
// https://aws.amazon.com/ec2/instance-types/g6/ and https://aws.amazon.com/ec2/instance-types/g6e/
var GPUFamilies = []string{"g6", "g6e", "gr6"}

// fractionalFamilies carry a slice of a GPU: their labels and their count of GPUs disagree (field fault BR-27).
var fractionalFamilies = []string{"g6f", "gr6f"}

// acceleratedCategories are the categories of families with GPUs or other accelerators.
// https://docs.aws.amazon.com/ec2/latest/instancetypes/ac.html
var acceleratedCategories = []string{"dl", "f", "g", "gr", "inf", "p", "trn", "vt"}

// Family of an instance type: what stands before the dot, "g6" of "g6.xlarge".
func Family(instanceType string) string {
	family, _, _ := strings.Cut(instanceType, ".")
	return family
}

// Category of an instance type or a family: the letters before the generation, as Karpenter reads them, "g" of "g6".
func Category(family string) string {
	if end := strings.IndexAny(family, "0123456789"); end > 0 {
		return family[:end]
	}
	return family
}

// Fractional reports whether nodes of an instance type have less than one whole GPU.
func Fractional(instanceType string) bool {
	return slices.Contains(fractionalFamilies, Family(instanceType))
}

// Accelerated reports whether an instance type, a family or a category has GPUs or other accelerators.
func Accelerated(family string) bool {
	return slices.Contains(acceleratedCategories, Category(Family(family)))
}
