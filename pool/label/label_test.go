package label_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/headroom-eks/headroom/pool"
	"github.com/headroom-eks/headroom/pool/label"
)

var labelCases = []struct {
	name       string
	nodePool   bool
	key, value string
	want       string // empty: the label is fine
}{
	{"own domain", true, "example.com/team", "ml", ""},
	{"kubelet's own label of a group, field fault BR-64", false, "node.kubernetes.io/team", "ml", ""},
	{"the same with Karpenter, field fault BR-65", true, "node.kubernetes.io/team", "ml",
		`domain "kubernetes.io" is reserved`},
	{"a role, field fault BR-64", false, "node-role.kubernetes.io/worker", "true",
		`domain "kubernetes.io" is reserved`},
	{"Karpenter's domain", true, "karpenter.sh/x", "y", `domain "karpenter.sh" is reserved`},
	{"Karpenter's domain in a group", false, "karpenter.sh/x", "y", ""},
	{"EKS's domain", false, "eks.amazonaws.com/x", "y", `domain "eks.amazonaws.com" is reserved`},
	{"ours", false, pool.PoolLabel, "x", "set by the program itself; remove it"},
	{"a key with a space", false, "a b", "x", "the key is refused by Kubernetes"},
	{"a value with a space", false, "a", "x y", `(found "x y")`},
}

func TestALabelThatNodesCouldNotCarryIsNamedByItsKey(t *testing.T) {
	for _, c := range labelCases {
		validate := label.ValidateGroup
		if c.nodePool {
			validate = label.ValidateNodePool
		}
		problems := validate("labels", map[string]string{c.key: c.value})
		found := strings.Join(problems.Items(), "\n")
		if c.want == "" && found != "" || !strings.Contains(found, c.want) {
			t.Errorf("%s: want %q, found %q", c.name, c.want, found)
		}
	}
}

func TestATaintIsNamedByItsIndexAndKey(t *testing.T) {
	taint := func(key, value string, effect pool.Effect) pool.Taint {
		return pool.Taint{Key: key, Value: value, Effect: effect}
	}
	given := []pool.Taint{taint("a", "1", pool.NoSchedule), taint("a", "2", pool.NoSchedule),
		taint("a", "", pool.NoExecute), taint("b", "", "NO_SCHEDULE")}
	problems := label.ValidateTaints("taints", given)
	want := []string{`taints[1] "a": the taint is given twice with one effect (found "NoSchedule"); keep one`,
		`taints[3] "b".effect: is unknown (found "NO_SCHEDULE"); use one of NoSchedule, NoExecute, PreferNoSchedule`}
	if got := problems.Items(); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestAStartupTaintThatStaysIsRefused(t *testing.T) {
	problems := label.ValidateStartupTaints("startupTaints", []pool.Taint{pool.GPUTaint}, []pool.Taint{pool.GPUTaint})
	want := `startupTaints[0] "nvidia.com/gpu": is among the pool's taints too`
	if got := problems.Items(); len(got) != 1 || !strings.HasPrefix(got[0], want) {
		t.Errorf("got %q", got)
	}
}

func TestTaintsOfKarpenterAreKarpentersOwn(t *testing.T) {
	problems := label.ValidateTaintDomains("taints",
		[]pool.Taint{{Key: "karpenter.sh/disrupted"}, {Key: "x.karpenter.k8s.aws/y"},
			{Key: "notkarpenter.sh/z"}})
	if got := problems.Items(); len(got) != 2 {
		t.Errorf("got %q", got)
	}
}
