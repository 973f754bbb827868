package clusterautoscaler

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/headroom-eks/headroom/components/chart"
	"github.com/headroom-eks/headroom/pool/label"
	"github.com/headroom-eks/headroom/problem"
	"k8s.io/apimachinery/pkg/util/validation"
)

// maxName leaves room in the role's name, which is this name, "-irsa-role" and Pulumi's suffix.
const maxName = 64 - 8 - len("-irsa-role")

// Validate reports everything wrong with the arguments that is known before the first resource, so that a program can
// ask for the problems of all its components at once.
func Validate(path string, args *Args) (problems problem.List) {
	if args == nil {
		problems.Add(path, "no arguments were given", nil, "")
		return problems
	}
	_, release := ReleaseFor(path, args.Cluster.KubernetesVersion, args.Release)
	problems.Join(release)
	for _, missing := range []struct {
		key   string
		empty bool
	}{
		{"partition", args.Cluster.Partition == ""},
		{"region", args.Cluster.Region == ""},
		{"accountId", args.Cluster.AccountID == ""},
		{"clusterName", args.Cluster.Name == nil},
		{"oidcProviderArn", args.Cluster.OIDCProviderArn == nil},
		{"issuer", args.Cluster.Issuer == nil},
	} {
		if missing.empty {
			problems.Add(path+"."+missing.key, "is empty", nil, "pass what the cluster and the account say")
		}
	}
	problems.Join(ValidateSettings(path, cmp.Or(args.Expander, DefaultExpander), args.StartupTaints, args.Repository))
	if args.System.Nodes < 1 {
		problems.Add(path+".system.nodes", "leave no place for the controller", args.System.Nodes, "use one at least")
	}
	problems.Join(label.ValidateTaints(path+".system.taints", args.System.Taints))
	return problems
}

// ValidateSettings is the part of Validate that a person configures: startup taints go by their keys.
func ValidateSettings(path, expander string, startupTaints []string, repository string) (problems problem.List) {
	problem.OneOf(&problems, path+".expander", expander, expanders)
	for i, key := range startupTaints {
		for _, msg := range validation.IsQualifiedName(key) {
			problems.Add(fmt.Sprintf("%s.startupTaints[%d]", path, i), "is not a key: "+msg, key,
				"give the taint's key alone")
		}
	}
	problems.Join(chart.ValidateRepository(path+".repository", repository))
	return problems
}

// settings of valid arguments, all but what the cluster and the role answer.
func (args *Args) settings(release Release) settings {
	s := settings{
		Kubernetes:      args.Cluster.KubernetesVersion,
		Region:          args.Cluster.Region,
		Release:         release,
		ImageRepository: args.ImageRepository,
		Expander:        cmp.Or(args.Expander, DefaultExpander),
		StartupTaints:   slices.Clone(args.StartupTaints),
		DRA:             args.DRA,
		SystemPool:      args.System.Pool,
		SystemTaints:    args.System.Taints,
		SystemNodes:     args.System.Nodes,
	}
	if s.SystemPool == "" {
		s.SystemPool = defaultSystemPool
	}
	return s
}
