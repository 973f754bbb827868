package ask

import (
	"fmt"
	"slices"
	"strings"

	"github.com/pulumi/pulumi-aws/sdk/v6/go/aws/ssm"
)

// gpuArchitecture is that of every instance type that a GPU pool may name.
const gpuArchitecture = "x86_64"

// pin is one image that nodes will start from.
type pin struct{ architecture, variant, date, release string }

// images looks for the pinned releases among the public parameters of the region.
// https://docs.aws.amazon.com/eks/latest/userguide/retrieve-ami-id.html
func (a *asker) images() {
	const parameter = "/aws/service/eks/optimized-ami/%[1]s/amazon-linux-2023/%[2]s/%[3]s/" +
		"amazon-eks-node-al2023-%[2]s-%[3]s-%[1]s-v%[4]s/image_id"
	version := a.env.Cluster.KubernetesVersion
	for _, p := range a.pins() {
		name := fmt.Sprintf(parameter, version, p.architecture, p.variant, p.date)
		image := Image{
			Release:     p.release,
			Description: fmt.Sprintf("%s %s image for Kubernetes %s", p.architecture, p.variant, version),
		}
		_, err := ssm.LookupParameter(a.ctx, &ssm.LookupParameterArgs{Name: name}, a.provider)
		switch {
		case err == nil:
			image.Exists = Known(true)
		case absent(err):
			image.Exists = Known(false)
		default:
			image.Exists = missing[bool](&a.answers, "AMI release "+p.release, err)
		}
		a.answers.Images = append(a.answers.Images, image)
	}
}

// pins of the managed groups and of Karpenter's nodes. Auto Mode chooses its own images.
func (a *asker) pins() (pins []pin) {
	if a.env.UsesAutoMode() {
		return nil
	}
	add := func(p pin) {
		if !slices.Contains(pins, p) {
			pins = append(pins, p)
		}
	}
	_, release, _ := strings.Cut(a.env.System.AMIRelease, "-")
	_, alias, _ := strings.Cut(a.env.Karpenter.AMIAlias, "@v")
	architecture := a.answers.Shapes[a.env.System.InstanceType].Value().Architecture
	if architecture == "" {
		architecture = gpuArchitecture // its shape is not known, which is refused later
	}
	add(pin{architecture, "standard", release, a.env.System.AMIRelease})
	if a.env.General != nil {
		add(pin{"x86_64", "standard", alias, a.env.Karpenter.AMIAlias})
	}
	for _, p := range a.env.Pools {
		if p.Scaler.ManagedGroup() {
			add(pin{gpuArchitecture, "nvidia", release, a.env.System.AMIRelease})
		} else {
			add(pin{gpuArchitecture, "nvidia", alias, a.env.Karpenter.AMIAlias})
		}
	}
	return pins
}
