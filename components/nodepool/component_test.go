package nodepool_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/headroom-eks/headroom/components/handle"
	"github.com/headroom-eks/headroom/components/nodepool"
	"github.com/headroom-eks/headroom/internal/recorder"
	"github.com/headroom-eks/headroom/pool"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
)

const (
	classType = "kubernetes:karpenter.k8s.aws/v1:EC2NodeClass"
	poolType  = "kubernetes:karpenter.sh/v1:NodePool"
	chartURN  = "chart"
)

func class() nodepool.NodeClass {
	planned, problems := nodepool.PlanNodeClass("class", nodepool.Class{
		AMIAlias:      "al2023@v20260911",
		RootVolumeGiB: 100,
		Tags:          map[string]string{"team": "ml"},
	})
	if err := problems.Err(); err != nil {
		panic(err) // the class above is fine
	}
	return planned
}

func args() *nodepool.Args {
	return &nodepool.Args{
		Spec: nodepool.Spec{
			Name: "gpu-l4",
			Advertised: &nodepool.Advertised{
				InstanceTypes: []string{"g6.xlarge"},
				DeviceMode:    pool.Plugin,
				VCPUs:         4,
				GPUs:          1,
				MaxNodeCount:  4,
			},
			CapacityTypes: []pool.CapacityType{pool.Spot},
			Taints:        []pool.Taint{pool.GPUTaint},
		},
		Class:     class(),
		Cluster:   handle.Cluster{Name: pulumi.String("dev-1"), SecurityGroupID: pulumi.String("sg-1")},
		RoleName:  pulumi.String("node-role"),
		SubnetIDs: pulumi.ToStringArray([]string{"subnet-1", "subnet-2"}),
	}
}

type chart struct{ pulumi.CustomResourceState }

func run(t *testing.T, a *nodepool.Args) *recorder.Recorder {
	t.Helper()
	r, err := recorder.Run(nil, func(ctx *pulumi.Context) error {
		controller := &chart{}
		if err := ctx.RegisterResource("test:index:Chart", chartURN, pulumi.Map{}, controller); err != nil {
			return err
		}
		a.Needs = []pulumi.Resource{controller}
		_, err := nodepool.New(ctx, "gpu-l4", a)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func dependsOn(r recorder.Resource, name string) bool {
	return slices.ContainsFunc(r.RPC.GetDependencies(),
		func(urn string) bool { return strings.HasSuffix(urn, "::"+name) })
}

func TestPoolIsDeletedBeforeItsClassAndBothBeforeTheController(t *testing.T) {
	r := run(t, args())
	class, nodePool := r.Get(t, classType, "gpu-l4-class"), r.Get(t, poolType, "gpu-l4-pool")
	if !dependsOn(nodePool, "gpu-l4-class") || !dependsOn(nodePool, chartURN) || !dependsOn(class, chartURN) {
		t.Errorf("field faults BR-55, BR-86: NodePool depends on %v, class on %v", nodePool.RPC.GetDependencies(),
			class.RPC.GetDependencies())
	}
}

func TestPoolDeletionWaitsForItsNodes(t *testing.T) {
	for grace, want := range map[string]time.Duration{"": 30 * time.Minute, "2h": 2*time.Hour + 15*time.Minute} {
		a := args()
		a.Spec.TerminationGracePeriod = grace
		nodePool := run(t, a).Get(t, poolType, "gpu-l4-pool")
		metadata := nodePool.Inputs["metadata"].(map[string]any)
		annotations := metadata["annotations"].(map[string]any)
		if got := annotations["pulumi.com/deletionPropagationPolicy"]; got != "foreground" {
			t.Errorf("field fault BR-86: propagation %v", got)
		}
		if got, err := time.ParseDuration(nodePool.RPC.GetCustomTimeouts().GetDelete()); err != nil || got != want {
			t.Errorf("field fault BR-86: grace %q, delete timeout %v (%v), want %v", grace, got, err, want)
		}
	}
}

// Both NodePools of a divided pool are kept from outliving what their nodes need, and share one node class.
func TestADividedPoolIsTwoNodePoolsOnOneClass(t *testing.T) {
	a := args()
	a.Spec.Advertised.MaxOnDemandNodeCount = new(1)
	a.Spec.CapacityTypes = []pool.CapacityType{pool.Spot, pool.OnDemand}
	r := run(t, a)
	for name, want := range map[string]string{"gpu-l4-pool": "gpu-l4", "gpu-l4-spot": "gpu-l4-spot"} {
		made := r.Get(t, poolType, name)
		metadata := made.Inputs["metadata"].(map[string]any)
		if metadata["name"] != want {
			t.Errorf("%s is the NodePool %v, want %s", name, metadata["name"], want)
		}
		if !dependsOn(made, "gpu-l4-class") || !dependsOn(made, chartURN) {
			t.Errorf("%s depends on %v", name, made.RPC.GetDependencies())
		}
		annotations := metadata["annotations"].(map[string]any)
		if annotations["pulumi.com/deletionPropagationPolicy"] != "foreground" {
			t.Errorf("%s: %v", name, annotations)
		}
	}
}

func TestClassIsWiredFromResources(t *testing.T) {
	spec := run(t, args()).Get(t, classType, "gpu-l4-class").Inputs["spec"].(map[string]any)
	for key, want := range map[string]any{
		"role":                       "node-role",
		"subnetSelectorTerms":        []any{map[string]any{"id": "subnet-1"}, map[string]any{"id": "subnet-2"}},
		"securityGroupSelectorTerms": []any{map[string]any{"id": "sg-1"}},
		"tags": map[string]any{
			"team":             "ml",
			"headroom/cluster": "dev-1",
			"headroom/pool":    "gpu-l4",
		},
	} {
		if diff := cmp.Diff(want, spec[key]); diff != "" {
			t.Errorf("%s:\n%s", key, diff)
		}
	}
	if _, found := spec["instanceProfile"]; found {
		t.Error("field fault BR-48: role and instance profile are both set")
	}
}

func TestClassOfAPrivateNetworkNamesAProfileAndNoRole(t *testing.T) {
	a := args()
	a.RoleName, a.InstanceProfile = nil, pulumi.String("profile")
	spec := run(t, a).Get(t, classType, "gpu-l4-class").Inputs["spec"].(map[string]any)
	if _, found := spec["role"]; found || spec["instanceProfile"] != "profile" {
		t.Errorf("field fault BR-48: role %v, instance profile %v", spec["role"], spec["instanceProfile"])
	}
}

func TestMetadataIsClosedToPodsEvenBeforeAnythingIsKnown(t *testing.T) {
	spec := run(t, args()).Get(t, classType, "gpu-l4-class").Inputs["spec"].(map[string]any)
	options := spec["metadataOptions"].(map[string]any)
	if options["httpTokens"] != "required" || options["httpPutResponseHopLimit"] != float64(1) {
		t.Errorf("metadata options %v", options)
	}
}

func TestHandedOverPoolIsKept(t *testing.T) {
	a := args()
	a.KeepOnDelete = true
	r := run(t, a)
	for _, res := range []recorder.Resource{r.Get(t, classType, "gpu-l4-class"), r.Get(t, poolType, "gpu-l4-pool")} {
		if !res.RPC.GetRetainOnDelete() {
			t.Errorf("%s would be deleted", res.Name)
		}
	}
	if run(t, args()).Get(t, poolType, "gpu-l4-pool").RPC.GetRetainOnDelete() {
		t.Error("a pool is kept that was not handed over: its instances would outlive the stack")
	}
}

func TestManifestsEqualWhatWouldBeApplied(t *testing.T) {
	files := make(chan map[string]string, 1)
	_, err := recorder.Run(nil, func(ctx *pulumi.Context) error {
		a := args()
		a.Spec.Advertised.MaxOnDemandNodeCount = new(1)
		a.Spec.CapacityTypes = []pool.CapacityType{pool.Spot, pool.OnDemand}
		out, err := nodepool.Manifests("gpu-l4", a)
		if err != nil {
			return err
		}
		ctx.Export("files", out.ApplyT(func(f map[string]string) map[string]string { files <- f; return f }))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	got := <-files
	for name, want := range map[string][]string{
		"gpu-l4-1-nodeclass.yaml": {"kind: EC2NodeClass", "- id: subnet-2", "- id: sg-1", "role: node-role",
			"headroom/cluster: dev-1", "alias: al2023@v20260911"},
		"gpu-l4-2-nodepool.yaml": {"kind: NodePool", "name: gpu-l4\n", `nvidia.com/gpu: "1"`, "- g6.xlarge"},
		"gpu-l4-3-nodepool.yaml": {"kind: NodePool", "name: gpu-l4-spot\n", `nvidia.com/gpu: "3"`, "weight: 1"},
	} {
		for _, line := range want {
			if !strings.Contains(got[name], line) {
				t.Errorf("%s lacks %q:\n%s", name, line, got[name])
			}
		}
	}
	if len(got) != 3 {
		t.Errorf("%d files", len(got))
	}
}

func TestReservedCapacityNeedsAReservation(t *testing.T) {
	a := args()
	a.Spec.CapacityTypes = []pool.CapacityType{pool.Reserved}
	_, err := recorder.Run(nil, func(ctx *pulumi.Context) error {
		_, err := nodepool.New(ctx, "gpu-l4", a)
		return err
	})
	if err == nil || !strings.Contains(err.Error(), "capacityTypes: finds no capacity without reservations") {
		t.Errorf("got %v", err)
	}
}

func TestInvalidArgsMakeNothing(t *testing.T) {
	for name, change := range map[string]func(*nodepool.Args) *nodepool.Args{
		"nil":             func(*nodepool.Args) *nodepool.Args { return nil },
		"no role at all":  func(a *nodepool.Args) *nodepool.Args { a.RoleName = nil; return a },
		"both identities": func(a *nodepool.Args) *nodepool.Args { a.InstanceProfile = pulumi.String("p"); return a },
		"no subnets":      func(a *nodepool.Args) *nodepool.Args { a.SubnetIDs = nil; return a },
		"a bad pool":      func(a *nodepool.Args) *nodepool.Args { a.Spec.Name = ""; return a },
		"no class":        func(a *nodepool.Args) *nodepool.Args { a.Class = nodepool.NodeClass{}; return a },
	} {
		r, err := recorder.Run(nil, func(ctx *pulumi.Context) error {
			_, err := nodepool.New(ctx, "gpu-l4", change(args()))
			return err
		})
		if err == nil || len(r.All()) != 0 {
			t.Errorf("%s: error %v, %d resources", name, err, len(r.All()))
		}
	}
}
