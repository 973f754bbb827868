package tag_test

import (
	"strings"
	"testing"

	"github.com/headroom-eks/headroom/pool/tag"
	"pgregory.net/rapid"
)

// Field faults BR-66 and BR-74.
func TestATagThatIsRefusedOrTakenIsNamedByItsKey(t *testing.T) {
	name := tag.Reserved{Key: "Name", Exact: true, By: "this program"}
	for _, c := range []struct {
		key, value, want string // want: empty when the tag is fine
	}{
		{"team", "inference", ""},
		{"cost/center", "5 + 5 = 10", ""},
		{"Names", "", ""},
		{"awsome", "", ""},
		{"", "a", `tags[""]: a key has 1 to 128 characters (found 0); shorten it or give one`},
		{strings.Repeat("ä", 129), "", `a key has 1 to 128 characters (found 129)`},
		{"a", strings.Repeat("ä", 257), `tags["a"]: a value has at most 256 characters (found 257); shorten it`},
		{"a#b", "", `tags["a#b"]: has a character that AWS refuses (found "a#b"); use letters`},
		{"cost", "5€", `tags["cost"]: has a character that AWS refuses (found "5€")`},
		{"Name", "x", `tags["Name"]: is set by this program; remove it`},
		{"aws:x", "", `keys under "aws:" are set by AWS; remove it`},
		{"eks:eks-cluster-name", "", `keys under "eks:" are set by EKS`},
		{"eks.amazonaws.com/nodeclass", "", `are set by EKS`},
		{"kubernetes.io/cluster/dev", "", `keys under "kubernetes.io/cluster" are set by EKS`},
		{"k8s.io/cluster-autoscaler/enabled", "", `are set by EKS and cluster-autoscaler`},
		{"karpenter.sh/nodepool", "", `are set by Karpenter`},
		{"karpenter.k8s.aws/ec2nodeclass", "", `are set by Karpenter`},
		{"headroom/pool", "", `keys under "headroom/" are set by this program`},
	} {
		found := strings.Join(func() []string {
			problems := tag.Validate("tags", map[string]string{c.key: c.value}, name)
			return problems.Items()
		}(), "\n")
		if c.want == "" && found != "" || !strings.Contains(found, c.want) {
			t.Errorf("%q=%q: want %q, found %q", c.key, c.value, c.want, found)
		}
	}
}

func TestAKeyThatACallerReservesIsFreeForOthers(t *testing.T) {
	if err := tag.Validate("tags", map[string]string{"Name": "x"}).Err(); err != nil {
		t.Error(err)
	}
}

func TestNoTagPanics(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tag.Validate(rapid.String().Draw(t, "path"), rapid.MapOf(rapid.String(), rapid.String()).Draw(t, "tags"))
	})
}
