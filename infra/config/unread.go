package config

import (
	"regexp"
	"slices"
	"strings"

	"github.com/headroom-eks/headroom/problem"
)

// Unread are the paths of values that were given and could not be read, or that are required and were not given. What a
// rule says of such a value, or concludes from it about another one, judges a value that nobody wrote.
type Unread []string

// Without returns the problems that stay, whatever the unread values are meant to be.
func (u Unread) Without(found problem.List) problem.List {
	return found.Revised(func(p problem.Problem) (problem.Problem, bool) {
		return p, !slices.ContainsFunc(u, func(key string) bool { return doubtful(key, p.Path) })
	})
}

// concludes lists the keys from which rules conclude something about other ones, with the places at which they then
// complain. pools[] on both sides is one pool, pools[*] any; "pools and" is a complaint about two pools together.
var concludes = map[string][]string{
	"network":                      {"pools[*].zones", "pools[*].maxNodeCount", "general.zones"},
	"network.existing":             {"network", "pools[*].zones", "pools[*].maxNodeCount", "general.zones"},
	"network.zones":                {"pools[*].zones", "pools[*].maxNodeCount", "general.zones"},
	"network.natGateways":          {"network.existing", "karpenter.instanceProfile"},
	"cluster.uniqueSuffix":         {"cluster.name"},
	"cluster.kubernetesVersion":    {"cluster.addons", "system.amiRelease", "karpenter.version", "pools[*].deviceMode"},
	"cluster.addons":               {"cluster.kubernetesVersion"},
	"karpenter":                    {"pools[*].deviceMode"},
	"karpenter.version":            {"pools[*].deviceMode"},
	"karpenter.enableDRA":          {"pools[*].deviceMode"},
	"podsSelectPool":               {"pools and"},
	"general":                      {"system.tainted", "autoMode", "gitOps", "karpenter", "pools and"},
	"general.scaler":               {"general", "system", "autoMode", "gitOps", "karpenter", "pools and"},
	"autoMode":                     {"system", "gitOps", "pools and"},
	"autoMode.keep":                {"autoMode", "system", "gitOps", "pools and"},
	"gitOps.nodePools":             {"gitOps"},
	"pools":                        {"system", "autoMode", "gitOps"},
	"pools[]":                      {"pools and", "system", "autoMode", "gitOps"},
	"pools[].scaler":               {"pools[]", "pools and", "system", "autoMode", "gitOps"},
	"pools[].deviceMode":           {"pools[]", "pools and"},
	"pools[].taints":               {"pools and", "pools[].startupTaints"},
	"pools[].static":               {"pools[]"},
	"pools[].spread":               {"pools[].maxNodeCount"},
	"pools[].zones":                {"pools[].maxNodeCount"},
	"pools[].capacityTypes":        {"pools[].reservation"},
	"pools[].reservation":          {"pools[].capacityTypes"},
	"pools[].acceptNoWakeFromZero": {"pools[].minNodeCount"},
}

var (
	names    = regexp.MustCompile(` "[^"]*"`)
	onePool  = regexp.MustCompile(`^pools\[[0-9]+\]`)
	anyIndex = regexp.MustCompile(`\[[0-9]+\]`)
	// wholeKey is a key without what lies inside of a list: an unread item of it leaves the list in doubt.
	wholeKey = regexp.MustCompile(`^(pools\[\])?[^\[]*`)
)

// doubtful says that a complaint at path may come from the unread key.
func doubtful(key, path string) bool {
	key, path = names.ReplaceAllString(key, ""), names.ReplaceAllString(path, "")
	if within(path, key) || within(key, path) {
		return true
	}
	same := onePool.FindString(key)
	places := concludes[wholeKey.FindString(anyIndex.ReplaceAllString(key, "[]"))]
	return slices.ContainsFunc(places, func(place string) bool {
		return within(path, strings.Replace(place, "pools[]", same, 1)) ||
			within(onePool.ReplaceAllString(path, "pools[*]"), place)
	})
}

// within says that a path is another one or lies inside of it. Everything lies inside the object itself, whose path is
// empty.
func within(path, outer string) bool {
	rest, inside := strings.CutPrefix(path, outer)
	return inside && (outer == "" || rest == "" || rest[0] == '.' || rest[0] == '[')
}
