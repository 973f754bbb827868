package nodegroup_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/headroom-eks/headroom/components/handle"
	"github.com/headroom-eks/headroom/components/network"
	"github.com/headroom-eks/headroom/components/nodegroup"
	"github.com/headroom-eks/headroom/internal/recorder"
	"github.com/headroom-eks/headroom/pool"
	"github.com/pulumi/pulumi-aws/sdk/v6/go/aws/cloudwatch"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
)

const (
	group    = "aws:eks/nodeGroup:NodeGroup"
	template = "aws:ec2/launchTemplate:LaunchTemplate"
)

func args() *nodegroup.Args {
	return &nodegroup.Args{
		Cluster: handle.Cluster{
			Account:           handle.Account{Tags: map[string]string{"team": "ml"}},
			KubernetesVersion: "1.36",
			Name:              pulumi.String("headroom-dev"),
		},
		ReleaseVersion: "1.36.3-20260911",
		Pool:           "gpu-l4",
		InstanceTypes:  []string{"g6.xlarge"},
		Scaling:        nodegroup.Fixed(1),
		Shape:          pool.Shape{Architecture: "x86_64", GPUs: 1},
		Subnets: network.Subnets{
			{
				ID:   pulumi.String("subnet-a").ToStringOutput(),
				Zone: network.Zone{Name: "us-west-2a"},
				CIDR: "10.0.0.0/19",
			},
			{
				ID:   pulumi.String("subnet-b").ToStringOutput(),
				Zone: network.Zone{Name: "us-west-2b"},
				CIDR: "10.0.32.0/19",
			},
		},
		Labels: map[string]string{pool.AcceleratorLabel: "nvidia-l4"},
		Taints: []pool.Taint{pool.GPUTaint, {Key: "drain", Effect: pool.NoExecute}, {
			Key:    "soft",
			Value:  "x",
			Effect: pool.PreferNoSchedule,
		}},
	}
}

// answers of EKS, with the given names of Auto Scaling groups.
func answers(asgs ...string) recorder.Answers {
	groups := []any{}
	for _, name := range asgs {
		groups = append(groups, map[string]any{"name": name})
	}
	return recorder.Answers{
		group:    {"resources": []any{map[string]any{"autoscalingGroups": groups}}},
		template: {"latestVersion": 7},
	}
}

func run(t *testing.T, with recorder.Answers, change func(*nodegroup.Args)) (*recorder.Recorder, string, error) {
	t.Helper()
	var asg string
	r, err := recorder.Run(with, func(ctx *pulumi.Context) error {
		role, err := nodegroup.NewRole(ctx, "nodes", &nodegroup.RoleArgs{
			Account: handle.Account{Partition: "aws-cn", Tags: map[string]string{"team": "ml"}},
		})
		if err != nil {
			return err
		}
		routes, err := cloudwatch.NewLogGroup(ctx, "routes",
			&cloudwatch.LogGroupArgs{Tags: pulumi.StringMap{"team": pulumi.String("ml")}})
		if err != nil {
			return err
		}
		a := args()
		a.Role, a.Needs = role, []pulumi.Resource{routes}
		change(a)
		g, err := nodegroup.New(ctx, "gpu-l4", a)
		if err != nil {
			return err
		}
		ctx.Export("done", g.AsgName.ApplyT(func(name string) string { asg = name; return name }))
		return nil
	})
	return r, asg, err
}

func mustRun(t *testing.T, change func(*nodegroup.Args)) *recorder.Recorder {
	t.Helper()
	r, _, err := run(t, answers("eks-gpu-l4-asg"), change)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func same(*nodegroup.Args) {}

// Field fault BR-63: EKS spells effects its own way.
func TestTaintsAreSpelledAsEKSWantsThem(t *testing.T) {
	want := []any{
		map[string]any{"key": "nvidia.com/gpu", "value": "true", "effect": "NO_SCHEDULE"},
		map[string]any{"key": "drain", "value": "", "effect": "NO_EXECUTE"},
		map[string]any{"key": "soft", "value": "x", "effect": "PREFER_NO_SCHEDULE"},
	}
	if diff := cmp.Diff(want, mustRun(t, same).Get(t, group, "gpu-l4-group").Inputs["taints"]); diff != "" {
		t.Error(diff)
	}
}

func TestNodesCarryPoolAndAcceleratorLabels(t *testing.T) {
	want := map[string]any{"headroom/pool": "gpu-l4", "k8s.amazonaws.com/accelerator": "nvidia-l4"}
	if diff := cmp.Diff(want, mustRun(t, same).Get(t, group, "gpu-l4-group").Inputs["labels"]); diff != "" {
		t.Error(diff)
	}
}

// Field fault BR-78.
func TestMetadataServiceWantsTokensAndIsOutOfReachForPods(t *testing.T) {
	want := map[string]any{
		"httpEndpoint":            "enabled",
		"httpTokens":              "required",
		"httpPutResponseHopLimit": 1.0,
		"instanceMetadataTags":    "disabled", // FR-11
	}
	if diff := cmp.Diff(want, mustRun(t, same).Get(t, template,
		"gpu-l4-template").Inputs["metadataOptions"]); diff != "" {
		t.Error(diff)
	}
}

// Field fault BR-67: the disk is in the template, and only there.
func TestRootVolumeIsEncryptedAndGivenOnce(t *testing.T) {
	for given, want := range map[int]float64{0: 200, 300: 300} {
		r := mustRun(t, func(a *nodegroup.Args) { a.DiskGiB = given })
		mapping := []any{map[string]any{"deviceName": "/dev/xvda", "ebs": map[string]any{
			"volumeType": "gp3", "volumeSize": want, "encrypted": "true", "deleteOnTermination": "true",
		}}}
		if diff := cmp.Diff(mapping, r.Get(t, template, "gpu-l4-template").Inputs["blockDeviceMappings"]); diff != "" {
			t.Error(diff)
		}
		if size := r.Get(t, group, "gpu-l4-group").Inputs["diskSize"]; size != nil {
			t.Errorf("the group has disk size %v beside the template's", size)
		}
	}
}

// Field faults BR-04 and BR-75: tags go through the template, security groups do not.
func TestTemplateTagsWhatTheGroupStarts(t *testing.T) {
	in := mustRun(t, same).Get(t, template, "gpu-l4-template").Inputs
	tags := map[string]any{
		"team":             "ml",
		"Name":             "headroom-dev-gpu-l4",
		"headroom/cluster": "headroom-dev",
		"headroom/pool":    "gpu-l4",
	}
	var want []any
	for _, kind := range []string{"instance", "volume", "network-interface"} {
		want = append(want, map[string]any{"resourceType": kind, "tags": tags})
	}
	if diff := cmp.Diff(want, in["tagSpecifications"]); diff != "" {
		t.Error(diff)
	}
	for _, key := range []string{"vpcSecurityGroupIds", "networkInterfaces", "instanceType", "imageId", "userData"} {
		if in[key] != nil {
			t.Errorf("the template has %s %v", key, in[key])
		}
	}
}

// Field fault BR-17.
func TestUpdateReplacesOneNodeAtATime(t *testing.T) {
	in := mustRun(t, same).Get(t, group, "gpu-l4-group").Inputs
	if diff := cmp.Diff(map[string]any{"maxUnavailable": 1.0}, in["updateConfig"]); diff != "" {
		t.Error(diff)
	}
}

// Review M5.
func TestAnUpdateMayTakeLongerThanTheProviderWaits(t *testing.T) {
	r := mustRun(t, func(a *nodegroup.Args) { a.Scaling = nodegroup.Fixed(10) })
	want := nodegroup.Args{Scaling: nodegroup.Fixed(10)}.UpdateTimeout().String()
	if got := r.Get(t, group, "gpu-l4-group").RPC.GetCustomTimeouts().GetUpdate(); got != want {
		t.Errorf("%q, want %s", got, want)
	}
}

func TestImageIsPinned(t *testing.T) {
	in := mustRun(t, same).Get(t, group, "gpu-l4-group").Inputs
	got := map[string]any{"amiType": in["amiType"], "version": in["version"], "releaseVersion": in["releaseVersion"]}
	want := map[string]any{"amiType": "AL2023_x86_64_NVIDIA", "version": "1.36", "releaseVersion": "1.36.3-20260911"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	launch := map[string]any{"id": "gpu-l4-template-id", "version": "7"}
	if diff := cmp.Diff(launch, in["launchTemplate"]); diff != "" {
		t.Error(diff)
	}
}

// Field faults BR-13 and BR-14: the group itself ignores its desired size, and only when something scales it.
func TestDesiredSizeIsIgnoredOnTheGroupItself(t *testing.T) {
	for ignore, want := range map[bool][]string{true: {"scalingConfig.desiredSize"}, false: nil} {
		r := mustRun(t, func(a *nodegroup.Args) {
			a.Scaling = nodegroup.Scaling{Min: 0, Desired: 1, Max: 4, Scaled: true, Send: !ignore}
		})
		g := r.Get(t, group, "gpu-l4-group")
		if got := g.RPC.IgnoreChanges; !slices.Equal(got, want) {
			t.Errorf("ignore %v: the group ignores %v", ignore, got)
		}
		if diff := cmp.Diff(map[string]any{
			"minSize":     0.0,
			"desiredSize": 1.0,
			"maxSize":     4.0,
		}, g.Inputs["scalingConfig"]); diff != "" {
			t.Error(diff)
		}
	}
}

// Field fault BR-18: the group stays in the subnets it is given.
func TestGroupStartsNodesInItsSubnetsOnly(t *testing.T) {
	r := mustRun(t, func(a *nodegroup.Args) { a.Zone, a.Subnets = "us-west-2b", a.Subnets.In("us-west-2b") })
	in := r.Get(t, group, "gpu-l4-group").Inputs
	if diff := cmp.Diff([]any{"subnet-b"}, in["subnetIds"]); diff != "" {
		t.Error(diff)
	}
	if name := in["nodeGroupName"].(string); !strings.HasPrefix(name, "gpu-l4-us-west-2b-") {
		t.Errorf("name %s", name)
	}
}

func TestReservationIsTargetedByTheTemplate(t *testing.T) {
	r := mustRun(t, func(a *nodegroup.Args) { a.CapacityType, a.ReservationID = pool.Reserved, "cr-1" })
	want := map[string]any{"capacityReservationTarget": map[string]any{"capacityReservationId": "cr-1"}}
	if diff := cmp.Diff(want, r.Get(t, template,
		"gpu-l4-template").Inputs["capacityReservationSpecification"]); diff != "" {
		t.Error(diff)
	}
	if got := r.Get(t, group, "gpu-l4-group").Inputs["capacityType"]; got != "ON_DEMAND" {
		t.Errorf("capacity type %v", got)
	}
}

// Field fault BR-87: permissions and routes are there before the first node and until after the last.
func TestNodesComeAfterWhatTheyNeed(t *testing.T) {
	deps := strings.Join(mustRun(t, same).Get(t, group, "gpu-l4-group").RPC.Dependencies, " ")
	for _, want := range []string{"::routes", "::nodes-worker", "::nodes-images", "::nodes-cni"} {
		if !strings.Contains(deps, want) {
			t.Errorf("dependencies %s lack %s", deps, want)
		}
	}
}

// Field faults BR-39 and BR-61: a role of our own, for the partition it is in.
func TestNodeRoleMayDoWhatNodesNeed(t *testing.T) {
	r := mustRun(t, same)
	var got []string
	for _, a := range r.Of("aws:iam/rolePolicyAttachment:RolePolicyAttachment") {
		got = append(got, a.Inputs["policyArn"].(string))
		if !a.RPC.DeleteBeforeReplace {
			t.Errorf("%s is not deleted before it is replaced", a.Name)
		}
	}
	slices.Sort(got)
	want := []string{"arn:aws-cn:iam::aws:policy/AmazonEC2ContainerRegistryPullOnly",
		"arn:aws-cn:iam::aws:policy/AmazonEKSWorkerNodePolicy",
		"arn:aws-cn:iam::aws:policy/AmazonEKS_CNI_Policy"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	trust := r.Get(t, "aws:iam/role:Role", "nodes-role").Inputs["assumeRolePolicy"].(string)
	if !strings.Contains(trust, `["ec2.amazonaws.com","ec2.amazonaws.com.cn"]`) {
		t.Errorf("trust %s", trust)
	}
	if found := r.Of("aws:eks/accessEntry:AccessEntry"); len(found) != 0 {
		t.Error("an access entry is made, and EKS makes its own") // field fault BR-45
	}
}

// Field fault BR-93.
func TestAsgNameIsNeverEmpty(t *testing.T) {
	_, name, err := run(t, answers("eks-gpu-l4-asg"), same)
	if err != nil || name != "eks-gpu-l4-asg" {
		t.Errorf("name %q, error %v", name, err)
	}
	for label, with := range map[string]recorder.Answers{"none": answers(), "empty": answers("")} {
		if _, _, err := run(t, with, same); err == nil ||
			!strings.Contains(err.Error(), "reports no Auto Scaling group") {
			t.Errorf("%s: error %v", label, err)
		}
	}
}

func TestTagsReachEverythingThatCarriesThem(t *testing.T) {
	untagged := []string{"aws:iam/rolePolicyAttachment:RolePolicyAttachment", "headroom:nodegroup:NodeGroup",
		"headroom:nodegroup:Role"}
	for _, res := range mustRun(t, same).All() {
		tags, _ := res.Inputs["tags"].(map[string]any)
		if !slices.Contains(untagged, res.Type) && tags["team"] != "ml" {
			t.Errorf("%s %s has tags %v", res.Type, res.Name, tags)
		}
	}
}

// invalidGroups are what a change of the arguments is refused with.
var invalidGroups = []struct {
	want   string
	change func(*nodegroup.Args)
}{
	{".nodeCount: is below minNodeCount 2 (found 1)", // field fault BR-16
		func(a *nodegroup.Args) { a.Scaling = nodegroup.Scaling{Min: 2, Desired: 1, Max: 10} }},
	{".nodeCount: exceeds maxNodeCount 3 (found 5)",
		func(a *nodegroup.Args) { a.Scaling = nodegroup.Scaling{Desired: 5, Max: 3} }},
	{".maxNodeCount: is below 1, which EKS refuses (found 0)",
		func(a *nodegroup.Args) { a.Scaling = nodegroup.Scaling{} }},
	{".minNodeCount: is below 0 (found -1)",
		func(a *nodegroup.Args) { a.Scaling = nodegroup.Scaling{Min: -1, Desired: 1, Max: 1} }},
	{`pool: is not a name (found "GPU")`, func(a *nodegroup.Args) { a.Pool = "GPU" }},
	{"subnets: are empty", func(a *nodegroup.Args) { a.Subnets = nil }}, // field fault BR-68
	{"zone: is not the zone of the subnets, which lie in [us-west-2a us-west-2b]",
		func(a *nodegroup.Args) { a.Zone = "us-west-2a" }},
	{`releaseVersion: is not an AL2023 release for Kubernetes 1.36 (found "latest")`,
		func(a *nodegroup.Args) { a.ReleaseVersion = "latest" }},
	{`is not an AL2023 release for Kubernetes 1.36 (found "1.35.3-20260911")`,
		func(a *nodegroup.Args) { a.ReleaseVersion = "1.35.3-20260911" }},
	{`domain "kubernetes.io" is reserved`, // field fault BR-64
		func(a *nodegroup.Args) { a.Labels = map[string]string{"node-role.kubernetes.io/worker": "true"} }},
	{`effect: is unknown (found "NO_SCHEDULE")`, func(a *nodegroup.Args) { a.Taints[0].Effect = "NO_SCHEDULE" }},
	{"reservationId: does not go with capacity type on-demand", func(a *nodegroup.Args) { a.ReservationID = "cr-1" }},
	{`capacityType: is unknown (found "SPOT")`, func(a *nodegroup.Args) { a.CapacityType = "SPOT" }},
	{`shape.architecture: is unknown (found "")`, func(a *nodegroup.Args) { a.Shape.Architecture = "" }},
	{"instanceTypes: are empty", func(a *nodegroup.Args) { a.InstanceTypes = nil }},
	{"diskGiB: is out of range: images alone need most of 20 (found 8)",
		func(a *nodegroup.Args) { a.DiskGiB = 8 }},
	{"cluster.name: is missing", func(a *nodegroup.Args) { a.Cluster.Name = nil }},
	{"role: is missing", func(a *nodegroup.Args) { a.Role = nil }},
	{"role: is missing", func(a *nodegroup.Args) { a.Role = &nodegroup.Role{} }},
}

func TestInvalidGroupIsRefused(t *testing.T) {
	for _, c := range invalidGroups {
		r, _, err := run(t, answers("asg"), c.change)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("error lacks %q: %v", c.want, err)
		}
		if len(r.Of(template)) != 0 {
			t.Errorf("%s: a template is registered", c.want)
		}
	}
}
