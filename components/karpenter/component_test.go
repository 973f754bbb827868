package karpenter_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/headroom-eks/headroom/components/handle"
	"github.com/headroom-eks/headroom/components/iampolicy"
	"github.com/headroom-eks/headroom/components/karpenter"
	"github.com/headroom-eks/headroom/internal/recorder"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
)

const (
	issuer         = "oidc.eks.us-gov-west-1.amazonaws.com/id/ABC"
	chartType      = "kubernetes:helm.sh/v4:Chart"
	attachmentType = "aws:iam/rolePolicyAttachment:RolePolicyAttachment"
	entryType      = "aws:eks/accessEntry:AccessEntry"
)

func args() *karpenter.Args {
	return &karpenter.Args{
		Version:  "1.15.0",
		Settings: karpenter.Settings{SystemPool: "system", SystemNodes: 2},
		Cluster: handle.Cluster{
			Account: handle.Account{
				Region:    "us-gov-west-1",
				Partition: "aws-us-gov",
				AccountID: "123456789012",
			},
			KubernetesVersion: "1.36",
			Name:              pulumi.String("gpu-west"),
			Endpoint:          pulumi.String("https://x"),
			OIDCProviderArn:   pulumi.String("arn:aws-us-gov:iam::123456789012:oidc-provider/" + issuer),
			Issuer:            pulumi.String(issuer),
		},
		NodeRoleArn: pulumi.String("arn:aws-us-gov:iam::123456789012:role/node"),
		Queue: &karpenter.QueueArgs{
			Name: pulumi.String("queue-1a2b"),
			Arn:  pulumi.String("arn:aws-us-gov:sqs:us-gov-west-1:123456789012:queue-1a2b"),
		},
	}
}

type thing struct{ pulumi.CustomResourceState }

// run makes a controller that needs one other resource, named queue-policy.
func run(t *testing.T, a *karpenter.Args) (*recorder.Recorder, *karpenter.Controller, error) {
	t.Helper()
	var controller *karpenter.Controller
	r, err := recorder.Run(nil, func(ctx *pulumi.Context) (err error) {
		if a != nil {
			needed := &thing{}
			if err := ctx.RegisterResource("test:index:Thing", "queue-policy", pulumi.Map{}, needed); err != nil {
				return err
			}
			a.Needs = []pulumi.Resource{needed}
		}
		controller, err = karpenter.New(ctx, "karpenter", a)
		return err
	})
	return r, controller, err
}

func dependsOn(r recorder.Resource, name string) bool {
	return slices.ContainsFunc(r.RPC.GetDependencies(),
		func(urn string) bool { return strings.HasSuffix(urn, "::"+name) })
}

func TestDefinitionsComeFirstFromTheirOwnChartAtTheSameVersion(t *testing.T) {
	r, _, err := run(t, args())
	if err != nil {
		t.Fatal(err)
	}
	crd, main := r.Get(t, chartType, "karpenter-crd"), r.Get(t, chartType, "karpenter-chart")
	for key, want := range map[string]any{
		"chart":     "oci://public.ecr.aws/karpenter/karpenter-crd",
		"version":   "1.15.0",
		"name":      "karpenter-crd",
		"namespace": "kube-system",
	} {
		if crd.Inputs[key] != want {
			t.Errorf("field fault BR-49: definitions: %s is %v, want %v", key, crd.Inputs[key], want)
		}
	}
	for key, want := range map[string]any{
		"chart":     "oci://public.ecr.aws/karpenter/karpenter",
		"version":   "1.15.0",
		"name":      "karpenter",
		"namespace": "kube-system",
		"skipCrds":  true,
	} {
		if main.Inputs[key] != want {
			t.Errorf("field faults BR-49, BR-51, BR-54: controller: %s is %v, want %v", key, main.Inputs[key], want)
		}
	}
	if _, found := main.Inputs["repositoryOpts"]; found {
		t.Error("field fault BR-51: the repository is named twice")
	}
	if !dependsOn(main, "karpenter-crd") {
		t.Errorf("field fault BR-49: the controller depends on %v", main.RPC.GetDependencies())
	}
}

func TestControllerStartsAfterItsPermissionsAndQueue(t *testing.T) {
	r, controller, err := run(t, args())
	if err != nil {
		t.Fatal(err)
	}
	main := r.Get(t, chartType, "karpenter-chart")
	want := []string{"queue-policy"}
	for _, a := range r.Of(attachmentType) {
		want = append(want, a.Name)
	}
	if len(want) != 7 {
		t.Fatalf("%d needs, want the queue's policy and six attachments", len(want))
	}
	for _, name := range want {
		if !dependsOn(main, name) {
			t.Errorf("field fault BR-34: the controller does not depend on %s", name)
		}
	}
	if len(controller.Ready) != len(want)+2 {
		t.Errorf("field fault BR-86: pools would depend on %d things, want both charts and all the controller needs",
			len(controller.Ready))
	}
}

func TestChartIsGivenTheQueuesNameAndThePolicyItsARN(t *testing.T) {
	r, _, err := run(t, args())
	if err != nil {
		t.Fatal(err)
	}
	values := r.Get(t, chartType, "karpenter-chart").Inputs["values"].(map[string]any)
	if got := values["settings"].(map[string]any)["interruptionQueue"]; got != "queue-1a2b" {
		t.Errorf("field faults BR-28, BR-29: the chart is given queue %v", got)
	}
	var got iampolicy.Document
	policy := r.Get(t, "aws:iam/policy:Policy", "karpenter-interruption").Inputs["policy"].(string)
	if err := json.Unmarshal([]byte(policy), &got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(iampolicy.Strings{"arn:aws-us-gov:sqs:us-gov-west-1:123456789012:queue-1a2b"},
		got.Statement[0].Resource); diff != "" {
		t.Errorf("field fault BR-28:\n%s", diff)
	}
}

func TestServiceAccountOfTheChartIsTheOneTheRoleTrusts(t *testing.T) {
	r, _, err := run(t, args())
	if err != nil {
		t.Fatal(err)
	}
	account := r.Get(t, chartType,
		"karpenter-chart").Inputs["values"].(map[string]any)["serviceAccount"].(map[string]any)
	role := r.Get(t, "aws:iam/role:Role", "karpenter-role")
	want := "system:serviceaccount:kube-system:" + account["name"].(string)
	if trust := role.Inputs["assumeRolePolicy"].(string); !strings.Contains(trust, `"`+issuer+`:sub":"`+want+`"`) {
		t.Errorf("field faults BR-35, BR-54: trust %s, want %s", trust, want)
	}
	const roleArn = "arn:aws:mock:us-west-2:123456789012:karpenter-role"
	if got := account["annotations"].(map[string]any)["eks.amazonaws.com/role-arn"]; got != roleArn {
		t.Errorf("role annotation %v", got)
	}
}

func TestWithoutAQueueThereIsNeitherSettingNorPermission(t *testing.T) {
	a := args()
	a.Queue = nil
	r, _, err := run(t, a)
	if err != nil {
		t.Fatal(err)
	}
	values := r.Get(t, chartType, "karpenter-chart").Inputs["values"].(map[string]any)
	if got, found := values["settings"].(map[string]any)["interruptionQueue"]; found {
		t.Errorf("field fault BR-30: queue %v", got)
	}
	for _, p := range r.Of("aws:iam/policy:Policy") {
		if strings.Contains(p.Inputs["policy"].(string), "sqs:") {
			t.Errorf("field fault BR-30: policy %s allows a queue", p.Name)
		}
	}
}

func TestNothingNamesAnotherPartition(t *testing.T) {
	r, _, err := run(t, args())
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range r.Of("aws:iam/policy:Policy") {
		if strings.Contains(p.Inputs["policy"].(string), "arn:aws:") {
			t.Errorf("field fault BR-40: %s: %s", p.Name, p.Inputs["policy"])
		}
	}
}

func TestControllerArgsThatCannotWorkMakeNothing(t *testing.T) {
	for name, change := range map[string]func(*karpenter.Args) *karpenter.Args{
		"nil":             func(*karpenter.Args) *karpenter.Args { return nil },
		"unknown version": func(a *karpenter.Args) *karpenter.Args { a.Version = "2.0.0"; return a },
		// Field fault BR-56.
		"no system node": func(a *karpenter.Args) *karpenter.Args { a.Settings.SystemNodes = 0; return a },
		// Field fault BR-78.
		"no region":          func(a *karpenter.Args) *karpenter.Args { a.Cluster.Region = ""; return a },
		"no endpoint":        func(a *karpenter.Args) *karpenter.Args { a.Cluster.Endpoint = nil; return a },
		"queue without name": func(a *karpenter.Args) *karpenter.Args { a.Queue.Name = nil; return a },
		"DRA before 1.15": func(a *karpenter.Args) *karpenter.Args { // field fault BR-12
			a.Version, a.Settings.EnableDRA = "1.14.1", true
			return a
		},
	} {
		r, _, err := run(t, change(args()))
		if err == nil || len(r.Of("headroom:karpenter:Controller")) != 0 {
			t.Errorf("%s: error %v, %d resources", name, err, len(r.All()))
		}
	}
}

func nodeRole(t *testing.T, a *karpenter.NodeRoleArgs) (*recorder.Recorder, *karpenter.NodeRole) {
	t.Helper()
	var role *karpenter.NodeRole
	answers := recorder.Answers{"aws:iam/role:Role": {"uniqueId": "AROA1"}}
	r, err := recorder.Run(answers, func(ctx *pulumi.Context) (err error) {
		role, err = karpenter.NewNodeRole(ctx, "node", a)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return r, role
}

func TestNodesJoinByOneLinuxEntryThatFollowsTheRole(t *testing.T) {
	r, role := nodeRole(t, &karpenter.NodeRoleArgs{Cluster: args().Cluster})
	entries := r.Of(entryType)
	if len(entries) != 1 {
		t.Fatalf("field fault BR-45: %d entries", len(entries))
	}
	entry := entries[0]
	want := map[string]any{
		"clusterName":  "gpu-west",
		"principalArn": "arn:aws:mock:us-west-2:123456789012:node-role",
		"type":         "EC2_LINUX",
	}
	for key, value := range want {
		if entry.Inputs[key] != value {
			t.Errorf("field fault BR-44: %s is %v, want %v", key, entry.Inputs[key], value)
		}
	}
	for _, key := range []string{"kubernetesGroups", "userName"} {
		if got, found := entry.Inputs[key]; found {
			t.Errorf("field fault BR-44: %s is %v", key, got)
		}
	}
	trigger := entry.RPC.GetReplacementTrigger().GetStringValue()
	if got := trigger; got != "AROA1" || !entry.RPC.GetDeleteBeforeReplace() {
		t.Errorf("field fault BR-46: the entry is replaced when %q changes, want the role's unique id", got)
	}
	if len(role.Ready) != 4 { // three attachments and the entry
		t.Errorf("%d things are needed by nodes, want 4", len(role.Ready))
	}
}

func TestNodePoliciesAreAttachedByARNsKnownBeforehand(t *testing.T) {
	r, _ := nodeRole(t, &karpenter.NodeRoleArgs{Cluster: args().Cluster})
	var got []string
	for _, a := range r.Of(attachmentType) {
		got = append(got, a.Inputs["policyArn"].(string))
		if !a.RPC.GetDeleteBeforeReplace() {
			t.Errorf("field fault BR-47: %s is made before the old one goes", a.Name)
		}
	}
	slices.Sort(got)
	prefix := "arn:aws-us-gov:iam::aws:policy/"
	want := []string{
		prefix + "AmazonEC2ContainerRegistryPullOnly",
		prefix + "AmazonEKSWorkerNodePolicy",
		prefix + "AmazonEKS_CNI_Policy",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("field faults BR-40, BR-47:\n%s", diff)
	}
}

func TestInstanceProfileIsMadeOnlyWhenAsked(t *testing.T) {
	a := &karpenter.NodeRoleArgs{Cluster: args().Cluster}
	if _, role := nodeRole(t, a); role.InstanceProfileName != nil {
		t.Error("field fault BR-48: a profile is made unasked")
	}
	a.InstanceProfile = true
	r, role := nodeRole(t, a)
	profile := r.Get(t, "aws:iam/instanceProfile:InstanceProfile", "node-profile")
	if role.InstanceProfileName == nil || profile.Inputs["role"] != "node-role-name" {
		t.Errorf("field fault BR-48: profile %v", profile.Inputs)
	}
}

func TestSpotRoleStaysInTheAccount(t *testing.T) {
	r, err := recorder.Run(nil, func(ctx *pulumi.Context) error {
		_, err := karpenter.NewSpotRole(ctx, "spot")
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	role := r.Get(t, "aws:iam/serviceLinkedRole:ServiceLinkedRole", "spot")
	if role.Inputs["awsServiceName"] != "spot.amazonaws.com" || !role.RPC.GetRetainOnDelete() {
		t.Errorf("field fault BR-41: %v", role.Inputs)
	}
}
