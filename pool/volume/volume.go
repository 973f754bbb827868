// Package volume holds the rule about the root volume of a node.
//
// It owns the bounds and no value: how large a pool's volumes are is decided where the pool is. It imports no Pulumi.
package volume

import (
	"fmt"

	"github.com/headroom-eks/headroom/problem"
)

// Sizes of a gp3 root volume, in GiB. EKS's AL2023 image needs the least of them.
// https://docs.aws.amazon.com/ebs/latest/userguide/general-purpose.html
const MinGiB, MaxGiB = 20, 16384

// Validate reports a root volume of fewer GiB than least, which the images need, or of more than there is.
func Validate(path string, gib, least int) (problems problem.List) {
	if gib < least || gib > MaxGiB {
		problems.Add(path, fmt.Sprintf("is out of range: images alone need most of %d", least), gib,
			fmt.Sprintf("use %d to %d", least, MaxGiB))
	}
	return problems
}
