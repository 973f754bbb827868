// Headroom makes one environment: an EKS cluster for GPU inference, and the truth about its capacity.
package main

import (
	"github.com/headroom-eks/headroom/infra"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
)

func main() {
	pulumi.Run(infra.Program(infra.Options{}))
}
