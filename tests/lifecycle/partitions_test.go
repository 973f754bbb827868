package lifecycle

import (
	"strings"
	"testing"

	"github.com/headroom-eks/headroom/infra/config"
	"github.com/headroom-eks/headroom/pool"
	"github.com/headroom-eks/headroom/sandbox/world"
)

// Tried-2, section 3, finding 3: the other partitions come up, with all scalers of ours and in a network without a way
// out, whose endpoints have names of the partition's own.
func TestOtherPartitionsComeUp(t *testing.T) {
	for elsewhere, registry := range map[string]string{
		"cn-north-1":    "cn.com.amazonaws.cn-north-1.ecr.dkr",
		"us-gov-west-1": "com.amazonaws.us-gov-west-1.ecr.dkr",
	} {
		t.Run(elsewhere, func(t *testing.T) {
			t.Parallel()
			scaled := autoscaled("gpu-scaled", "g6.xlarge", 2)
			karpenter := config.Pool{
				Name:          "gpu-karpenter",
				Scaler:        pool.Karpenter,
				InstanceTypes: []string{"g6.xlarge"},
				CapacityTypes: []pool.CapacityType{pool.OnDemand},
				MaxNodeCount:  new(2),
			}
			env := config.Environment{
				PodsSelectPool: true,
				Network: config.Network{
					Zones:              []string{"us-west-2a", "us-west-2b"},
					InterfaceEndpoints: []string{"ecr.api", "ecr.dkr", "ec2", "sts", "eks", "kms", "logs"},
				},
				Pools: []config.Pool{fixed("gpu-fixed", "g6.xlarge", 1), scaled, karpenter},
			}
			given := object(t, filled(env))
			e := open(t, strings.ReplaceAll(stackFile(t, given), region, elsewhere))
			e.config = environmentOf(t, given)
			e.up()
			e.settled()
			e.view(func(s *world.State) error {
				if s.Find("aws:ec2/vpcEndpoint:VpcEndpoint", "serviceName", registry) == nil {
					e.t.Errorf("there is no endpoint %s", registry)
				}
				for key, r := range s.Resources {
					if arn, _ := r.Outputs["arn"].(string); strings.HasPrefix(arn, "arn:aws:") {
						e.t.Errorf("%s is %s", key, arn)
					}
				}
				return nil
			})
			e.down()
		})
	}
}
