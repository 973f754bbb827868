// Package tag holds the rules about tags in AWS: which texts AWS takes, and which keys belong to somebody else.
//
// It owns the rules and no value: which tags a resource has is decided where the resource is. It imports no Pulumi.
package tag

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/headroom-eks/headroom/problem"
)

// Reserved are keys that somebody sets himself. A copy on the wrong thing makes load balancers, node classes or the
// count of realized nodes go wrong (field faults BR-66, BR-74).
type Reserved struct {
	Key string
	// Exact: this key alone, and not all that begin with it.
	Exact bool
	// By whom it is set.
	By string
}

// reserved holds for everything that this program tags, since each of its tags ends on nodes.
var reserved = []Reserved{
	// https://docs.aws.amazon.com/tag-editor/latest/userguide/best-practices-and-strats.html
	{Key: "aws:", By: "AWS"},
	// https://docs.aws.amazon.com/eks/latest/userguide/eks-using-tags.html and, for Auto Mode's nodes,
	// https://docs.aws.amazon.com/eks/latest/userguide/create-node-class.html
	{Key: "eks:", By: "EKS"},
	{Key: "eks.amazonaws.com/nodeclass", By: "EKS"},
	// https://kubernetes-sigs.github.io/aws-load-balancer-controller/latest/deploy/subnet_discovery/
	{Key: "kubernetes.io/cluster", By: "EKS and its load balancers"},
	// https://github.com/kubernetes/autoscaler/blob/master/cluster-autoscaler/cloudprovider/aws/README.md
	{Key: "k8s.io/cluster-autoscaler", By: "EKS and cluster-autoscaler"},
	// Rules of spec.tags in the definition of EC2NodeClass, Karpenter 1.15.
	// https://karpenter.sh/v1.15/concepts/nodeclasses/#spectags
	{Key: "karpenter.sh/", By: "Karpenter"},
	{Key: "karpenter.k8s.aws/", By: "Karpenter"},
	{Key: "headroom/", By: "this program"},
}

// text is what AWS takes in a key and in a value; the numbers are in characters.
// https://docs.aws.amazon.com/tag-editor/latest/userguide/best-practices-and-strats.html
var text = regexp.MustCompile(`^[\p{L}\p{N}\p{Zs}_.:/=+@-]*$`)

const maxKey, maxValue = 128, 256

// Validate reports every tag that AWS would refuse or that is somebody else's. Path names the map; more are keys that
// only the caller's resources reserve.
func Validate(path string, tags map[string]string, more ...Reserved) (problems problem.List) {
	folded := map[string]string{}
	for _, key := range slices.Sorted(maps.Keys(tags)) {
		at := fmt.Sprintf("%s[%q]", path, key)
		lower := strings.ToLower(key)
		if first, repeated := folded[lower]; repeated {
			problems.Add(at, fmt.Sprintf("differs from %q in case alone, and IAM takes both for one", first), nil,
				"keep one")
		}
		folded[lower] = key
		if n := utf8.RuneCountInString(key); n < 1 || n > maxKey {
			problems.Add(at, fmt.Sprintf("a key has 1 to %d characters", maxKey), n, "shorten it or give one")
		}
		if n := utf8.RuneCountInString(tags[key]); n > maxValue {
			problems.Add(at, fmt.Sprintf("a value has at most %d characters", maxValue), n, "shorten it")
		}
		for _, part := range []string{key, tags[key]} {
			if !text.MatchString(part) {
				problems.Add(at, "has a character that AWS refuses", part, "use letters, digits, spaces and _ . : / "+
					"= + - @")
			}
		}
		for _, r := range slices.Concat(reserved, more) {
			switch {
			case r.Exact && key == r.Key:
				problems.Add(at, "is set by "+r.By, nil, "remove it")
			// Whatever its case: AWS refuses AWS:x as well.
			case !r.Exact && strings.HasPrefix(strings.ToLower(key), r.Key):
				problems.Add(at, fmt.Sprintf("keys under %q are set by %s", r.Key, r.By), nil, "remove it")
			}
		}
	}
	return problems
}
