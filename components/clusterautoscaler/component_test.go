package clusterautoscaler_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/headroom-eks/headroom/components/clusterautoscaler"
	"github.com/headroom-eks/headroom/components/handle"
	"github.com/headroom-eks/headroom/internal/recorder"
	"github.com/headroom-eks/headroom/pool"
	"github.com/pulumi/pulumi-aws/sdk/v6/go/aws/sqs"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
)

const (
	chartToken = "kubernetes:helm.sh/v4:Chart"
	tagToken   = "aws:autoscaling/tag:Tag"
)

func args() *clusterautoscaler.Args {
	return &clusterautoscaler.Args{
		Cluster: handle.Cluster{
			Account: handle.Account{
				Partition: "aws",
				Region:    "us-west-2",
				AccountID: "123456789012",
				Tags:      map[string]string{"team": "ml"},
			},
			KubernetesVersion: "1.36",
			Name:              pulumi.String("prod"),
			OIDCProviderArn:   pulumi.String("arn:aws:iam::123456789012:oidc-provider/oidc.example/id/A"),
			Issuer:            pulumi.String("https://oidc.example/id/A"),
		},
		System: clusterautoscaler.System{Nodes: 2},
	}
}

func install(a *clusterautoscaler.Args) (*recorder.Recorder, error) {
	return recorder.Run(nil, func(ctx *pulumi.Context) error {
		_, err := clusterautoscaler.New(ctx, "ca", a)
		return err
	})
}

func installed(t *testing.T, a *clusterautoscaler.Args) *recorder.Recorder {
	t.Helper()
	r, err := install(a)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func under(inputs map[string]any, path ...string) any {
	var v any = inputs
	for _, key := range path {
		object, _ := v.(map[string]any)
		v = object[key]
	}
	return v
}

func TestChartIsPinnedAndFromTheProjectsRepository(t *testing.T) {
	chart := installed(t, args()).Get(t, chartToken, "ca-chart")
	for path, want := range map[string]any{
		"chart": "cluster-autoscaler", "version": "9.59.0", "namespace": "kube-system", "name": "cluster-autoscaler",
		"repositoryOpts.repo": "https://kubernetes.github.io/autoscaler", "values.image.tag": "v1.36.1",
	} {
		if diff := cmp.Diff(want, under(chart.Inputs, strings.Split(path, ".")...)); diff != "" {
			t.Errorf("%s: %s", path, diff)
		}
	}
}

func TestChartComesFromAMirrorWhenOneIsNamed(t *testing.T) {
	for mirror, want := range map[string][2]any{
		"https://mirror.example/charts": {"cluster-autoscaler", "https://mirror.example/charts"},
		"oci://mirror.example/charts/":  {"oci://mirror.example/charts/cluster-autoscaler", nil},
	} {
		a := args()
		a.Repository = mirror
		chart := installed(t, a).Get(t, chartToken, "ca-chart")
		got := [2]any{chart.Inputs["chart"], under(chart.Inputs, "repositoryOpts", "repo")}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", mirror, diff)
		}
	}
}

func TestServiceAccountAndRoleMeet(t *testing.T) {
	r := installed(t, args())
	role := r.Get(t, "aws:iam/role:Role", "ca-irsa-role")
	trust, _ := role.Inputs["assumeRolePolicy"].(string)
	if !strings.Contains(trust, `"system:serviceaccount:kube-system:cluster-autoscaler"`) {
		t.Errorf("the role trusts %s", trust)
	}
	account := under(r.Get(t, chartToken, "ca-chart").Inputs, "values", "rbac", "serviceAccount")
	want := map[string]any{
		"create": true, "name": "cluster-autoscaler",
		"annotations": map[string]any{"eks.amazonaws.com/role-arn": "arn:aws:mock:us-west-2:123456789012:ca-irsa-role"},
	}
	if diff := cmp.Diff(want, account); diff != "" {
		t.Error(diff)
	}
}

// Field fault BR-05: what the role gets is the document of this cluster.
func TestPolicyNamesTheCluster(t *testing.T) {
	policy := installed(t, args()).Get(t, "aws:iam/policy:Policy", "ca-irsa-controller")
	text, _ := policy.Inputs["policy"].(string)
	for _, want := range []string{"arn:aws:eks:us-west-2:123456789012:nodegroup/prod/*/*",
		`"aws:ResourceTag/k8s.io/cluster-autoscaler/prod":"owned"`} {
		if !strings.Contains(text, want) {
			t.Errorf("the policy lacks %s:\n%s", want, text)
		}
	}
	if diff := cmp.Diff(map[string]any{"team": "ml"}, policy.Inputs["tags"]); diff != "" {
		t.Error(diff)
	}
}

func TestPodsOutliveNeitherTheirPermissionsNorTheirNodes(t *testing.T) {
	r, err := recorder.Run(nil, func(ctx *pulumi.Context) error {
		system, err := sqs.NewQueue(ctx, "stands-for-the-system-group", nil)
		if err != nil {
			return err
		}
		a := args()
		a.Needs = []pulumi.Resource{system}
		_, err = clusterautoscaler.New(ctx, "ca", a)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	depends := r.Get(t, chartToken, "ca-chart").RPC.Dependencies
	for _, want := range []string{"aws:iam/rolePolicyAttachment:RolePolicyAttachment::ca-irsa-controller",
		"stands-for-the-system-group"} {
		if !slices.ContainsFunc(depends, func(urn string) bool { return strings.HasSuffix(urn, want) }) {
			t.Errorf("the chart depends on %v, not on %s", depends, want)
		}
	}
}

func TestEverythingHangsOffTheController(t *testing.T) {
	r := installed(t, args())
	for _, child := range []recorder.Resource{r.Get(t, chartToken, "ca-chart"),
		r.Get(t, "headroom:irsa:Role", "ca-irsa")} {
		if !strings.HasSuffix(child.RPC.Parent, "headroom:clusterautoscaler:Controller::ca") {
			t.Errorf("%s hangs off %s", child.Name, child.RPC.Parent)
		}
	}
}

func TestWrongArgumentsAreRefusedTogetherBeforeAnythingIsRegistered(t *testing.T) {
	a := args()
	a.Cluster.KubernetesVersion, a.Cluster.Region, a.Cluster.Issuer = "1.29", "", nil
	a.Expander, a.System.Nodes = "price", 0
	a.StartupTaints, a.Repository = []string{"key=value:NoSchedule"}, "mirror.example"
	r, err := install(a)
	if err == nil {
		t.Fatal("accepted")
	}
	for _, want := range []string{`(found "1.29")`, "region", `"price"`, "system.nodes", "issuer",
		"key=value:NoSchedule", `repository: is not the address of a chart repository (found "mirror.example")`} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%v\nsays nothing of %s", err, want)
		}
	}
	if n := len(r.All()); n != 0 {
		t.Errorf("%d resources were registered", n)
	}
}

func TestNothingPanicsOnNoArguments(t *testing.T) {
	if _, err := install(nil); err == nil {
		t.Error("no arguments are accepted")
	}
	_, err := recorder.Run(nil, func(ctx *pulumi.Context) error {
		_, err := clusterautoscaler.NewGroupTags(ctx, "tags", nil)
		return err
	})
	if err == nil {
		t.Error("group tags without arguments are accepted")
	}
}

func TestALongNameIsRefusedBeforeIAMDoes(t *testing.T) {
	_, err := recorder.Run(nil, func(ctx *pulumi.Context) error {
		_, err := clusterautoscaler.New(ctx, strings.Repeat("n", 47), args())
		return err
	})
	if err == nil || !strings.Contains(err.Error(), "a name of more than 46 characters, which leaves no room for the "+
		"role's (found 47)") {
		t.Errorf("got %v", err)
	}
}

func tagged(asg string) (*recorder.Recorder, error) {
	return recorder.Run(nil, func(ctx *pulumi.Context) error {
		_, err := clusterautoscaler.NewGroupTags(ctx, "gpu-l4", &clusterautoscaler.GroupTagsArgs{
			AsgName: pulumi.String(asg),
			Template: clusterautoscaler.Template{
				Labels:     map[string]string{pool.PoolLabel: "gpu-l4", pool.AcceleratorLabel: "nvidia-l4"},
				Taints:     []pool.Taint{pool.GPUTaint},
				DeviceMode: pool.Plugin, GPUs: 4, DiskGiB: 100,
				Nodes: []clusterautoscaler.Node{{VCPUs: 48, MemoryMiB: 196608, MaxPods: 234}},
			},
		})
		return err
	})
}

// Field faults BR-01, BR-04, BR-06 and BR-07.
func TestTagsGoToTheGroupThatEKSReports(t *testing.T) {
	r, err := tagged("eks-gpu-l4-1234")
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{
		"gpu-l4-label/headroom/pool":                 "gpu-l4",
		"gpu-l4-label/k8s.amazonaws.com/accelerator": "nvidia-l4",
		"gpu-l4-taint/nvidia.com/gpu":                "true:NoSchedule",
		"gpu-l4-resources/nvidia.com/gpu":            "4",
		"gpu-l4-resources/ephemeral-storage":         "89Gi",
		"gpu-l4-resources/cpu":                       "47810m",
		"gpu-l4-resources/memory":                    "178933Mi",
		"gpu-l4-resources/pods":                      "234",
	}
	got := map[string]string{}
	for _, tag := range r.Of(tagToken) {
		if tag.Inputs["autoscalingGroupName"] != "eks-gpu-l4-1234" ||
			under(tag.Inputs, "tag", "propagateAtLaunch") != false {
			t.Errorf("%s: %v", tag.Name, tag.Inputs)
		}
		key, _ := under(tag.Inputs, "tag", "key").(string)
		if want := "k8s.io/cluster-autoscaler/node-template/" + strings.TrimPrefix(tag.Name, "gpu-l4-"); key != want {
			t.Errorf("%s has key %q, want %q", tag.Name, key, want)
		}
		got[tag.Name], _ = under(tag.Inputs, "tag", "value").(string)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestANodeGroupThatReportsNoGroupIsAnErrorNotATagOnNothing(t *testing.T) {
	r, err := tagged("")
	if err == nil || !strings.Contains(err.Error(), `node group "gpu-l4" reports no Auto Scaling group`) {
		t.Errorf("got %v", err)
	}
	if n := len(r.Of(tagToken)); n != 0 {
		t.Errorf("%d tags were registered", n)
	}
}
