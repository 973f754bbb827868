package clusterautoscaler

import (
	"fmt"
	"slices"
	"strings"

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
		problems.Addf(path, "no arguments were given")
		return problems
	}
	_, release := ReleaseFor(path, args.Cluster.KubernetesVersion, args.Release)
	problems.Join(release)
	for _, missing := range []struct {
		name  string
		empty bool
	}{
		{"partition", args.Cluster.Partition == ""},
		{"region", args.Cluster.Region == ""},
		{"account id", args.Cluster.AccountID == ""},
		{"cluster name", args.Cluster.Name == nil},
		{"OIDC provider", args.Cluster.OIDCProviderArn == nil},
		{"issuer", args.Cluster.Issuer == nil},
	} {
		if missing.empty {
			problems.Addf(path+" "+missing.name, "it is empty; pass what the cluster and the account say")
		}
	}
	if args.Expander != "" {
		if said := expanderProblem(args.Expander); said != "" {
			problems.Addf(path+" expander", "%s", said)
		}
	}
	for _, key := range args.StartupTaints {
		for _, msg := range validation.IsQualifiedName(key) {
			problems.Addf(fmt.Sprintf("%s startupTaints %q", path, key), "give the taint's key alone: %s", msg)
		}
	}
	if args.System.Nodes < 1 {
		problems.Addf(path+" system group", "%d nodes leave no place for the controller; it needs at least one",
			args.System.Nodes)
	}
	problems.Join(label.ValidateTaints(path+" system group taints", args.System.Taints))
	if args.Repository != "" && !strings.Contains(args.Repository, "://") {
		problems.Addf(path+" repository", "%q is not a URL; write it with its scheme, https:// or oci://",
			args.Repository)
	}
	return problems
}

// settings of valid arguments, all but what the cluster and the role answer.
func (args *Args) settings(release Release) settings {
	s := settings{
		Kubernetes:      args.Cluster.KubernetesVersion,
		Region:          args.Cluster.Region,
		Release:         release,
		ImageRepository: args.ImageRepository,
		Expander:        args.Expander,
		StartupTaints:   slices.Clone(args.StartupTaints),
		DRA:             args.DRA,
		SystemPool:      args.System.Pool,
		SystemTaints:    args.System.Taints,
		SystemNodes:     args.System.Nodes,
	}
	if s.Expander == "" {
		s.Expander = defaultExpander
	}
	if s.SystemPool == "" {
		s.SystemPool = defaultSystemPool
	}
	return s
}
