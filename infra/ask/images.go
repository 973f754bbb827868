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
	const image = "/aws/service/eks/optimized-ami/%[1]s/amazon-linux-2023/%[2]s/%[3]s/" +
		"amazon-eks-node-al2023-%[2]s-%[3]s-%[1]s-v%[4]s/"
	version := a.env.Cluster.KubernetesVersion
	for _, p := range a.pins() {
		path := fmt.Sprintf(image, version, p.architecture, p.variant, p.date)
		found := Image{
			Release:     p.release,
			Description: fmt.Sprintf("%s %s image for Kubernetes %s", p.architecture, p.variant, version),
		}
		_, err := a.parameter(path + "image_id")
		switch {
		case err == nil:
			found.Exists = Known(true)
		case absent(err):
			found.Exists = Known(false)
		default:
			found.Exists = missing[bool](&a.answers, "AMI release "+p.release, err)
		}
		if found.Exists.Value() && p.release == a.env.System.AMIRelease {
			found.OfDate = a.releaseOf(path, p.release)
		}
		a.answers.Images = append(a.answers.Images, found)
	}
}

// releaseOf an image, which EKS wants for groups: the path holds its date alone (m6).
func (a *asker) releaseOf(path, pinned string) Answer[string] {
	release, err := a.parameter(path + "release_version")
	switch {
	case err == nil:
		return Known(release)
	case absent(err): // then EKS alone compares
		return Unknown[string](FirstLine(err))
	}
	return missing[string](&a.answers, "AMI release "+pinned+" by its whole name", err)
}

func (a *asker) parameter(name string) (value string, err error) {
	found, err := ssm.LookupParameter(a.ctx, &ssm.LookupParameterArgs{Name: name}, a.provider)
	if err != nil {
		return "", err
	}
	return found.Value, nil
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
