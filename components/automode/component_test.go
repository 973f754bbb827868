package automode_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/headroom-eks/headroom/components/automode"
	"github.com/headroom-eks/headroom/components/handle"
	"github.com/headroom-eks/headroom/components/nodepool"
	"github.com/headroom-eks/headroom/internal/recorder"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
)

const (
	entryToken       = "aws:eks/accessEntry:AccessEntry"
	associationToken = "aws:eks/accessPolicyAssociation:AccessPolicyAssociation"
	attachmentToken  = "aws:iam/rolePolicyAttachment:RolePolicyAttachment"
	policyToken      = "aws:iam/policy:Policy"
	classToken       = "kubernetes:eks.amazonaws.com/v1:NodeClass"
	nodePoolToken    = "kubernetes:karpenter.sh/v1:NodePool"
)

// run makes the node role, the access and one pool.
func run(t *testing.T, settings automode.Settings, spec nodepool.Spec) *recorder.Recorder {
	t.Helper()
	r, err := tryRun(settings, spec)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// theCluster is the one that the nodes join.
func theCluster() handle.Cluster {
	return handle.Cluster{
		Account: handle.Account{
			Partition: "aws",
			Tags:      map[string]string{"env": "dev"},
		},
		KubernetesVersion: "1.36",
		Name:              pulumi.String("headroom-dev"),
		SecurityGroupID:   pulumi.String("sg-1"),
	}
}

func tryRun(settings automode.Settings, spec nodepool.Spec) (*recorder.Recorder, error) {
	return recorder.Run(nil, func(ctx *pulumi.Context) error {
		access, err := automode.New(ctx, "auto", &automode.Args{
			Settings:            settings,
			Cluster:             theCluster(),
			ClusterRoleName:     pulumi.String("cluster-role"),
			ClusterNodeRoleName: pulumi.String("cluster-node-role"),
		})
		if err != nil {
			return err
		}
		_, err = nodepool.New(ctx, "gpu-l4", &nodepool.Args{
			Spec:      spec,
			Class:     class(automode.Class{}),
			Cluster:   theCluster(),
			RoleName:  access.NodeRoleName,
			SubnetIDs: subnets,
			Needs:     access.Ready,
		})
		return err
	})
}

var subnets = pulumi.ToStringArray([]string{"subnet-b", "subnet-a"})

func TestAccessEntryIsOursWithoutBuiltInPools(t *testing.T) {
	r := run(t, automode.Settings{Enabled: true}, gpuSpec())
	entry := r.Get(t, entryToken, "auto-nodes")
	if entry.Inputs["type"] != "EC2" ||
		entry.Inputs["principalArn"] != "arn:aws:mock:us-west-2:123456789012:auto-nodes" {
		t.Errorf("entry: %v", entry.Inputs)
	}
	association := r.Get(t, associationToken, "auto-nodes")
	if got, want := association.Inputs["policyArn"],
		"arn:aws:eks::aws:cluster-access-policy/AmazonEKSAutoNodePolicy"; got != want {
		t.Errorf("policy %v, want %v", got, want)
	}
	if !dependsOn(association, entryToken, "auto-nodes") {
		t.Error("the policy is associated before there is an entry")
	}
}

func TestAccessEntryIsLeftToEKSWithABuiltInPool(t *testing.T) {
	r := run(t, automode.Settings{Enabled: true, BuiltInPools: []string{"system"}}, gpuSpec())
	if found := append(r.Of(entryToken), r.Of(associationToken)...); len(found) != 0 {
		t.Errorf("EKS refuses a second entry for the role, yet %d resources were made", len(found))
	}
	if roles := r.Of("aws:iam/role:Role"); len(roles) != 0 {
		t.Errorf("a second node role was made: %v", roles[0].Name)
	}
	spec, _ := r.Get(t, classToken, "gpu-l4-class").Inputs["spec"].(map[string]any)
	if spec["role"] != "cluster-node-role" {
		t.Errorf("the class runs as %v, for which there is no entry", spec["role"])
	}
}

func TestClusterRoleIsGivenThePermissionToTag(t *testing.T) {
	r := run(t, automode.Settings{Enabled: true}, gpuSpec())
	attachment := r.Get(t, attachmentToken, "auto-cluster-role")
	if attachment.Inputs["role"] != "cluster-role" ||
		attachment.Inputs["policyArn"] != "arn:aws:mock:us-west-2:123456789012:auto-cluster-role" {
		t.Errorf("attachment: %v", attachment.Inputs)
	}
	text, _ := r.Get(t, policyToken, "auto-cluster-role").Inputs["policy"].(string)
	if !json.Valid([]byte(text)) || !strings.Contains(text, "ec2:RunInstances") {
		t.Errorf("policy: %s", text)
	}
}

func TestNodeRoleIsTrustedByEC2Alone(t *testing.T) {
	r := run(t, automode.Settings{Enabled: true}, gpuSpec())
	trust := r.Get(t, "aws:iam/role:Role", "auto-nodes").Inputs["assumeRolePolicy"]
	want := `{"Version":"2012-10-17","Statement":[{"Effect":"Allow",` +
		`"Principal":{"Service":"ec2.amazonaws.com"},"Action":"sts:AssumeRole"}]}`
	if trust != want {
		t.Errorf("trust %v", trust)
	}
	var attached []string
	for _, a := range r.Of(attachmentToken) {
		if a.Inputs["role"] == "auto-nodes-name" {
			attached = append(attached, fmt.Sprint(a.Inputs["policyArn"]))
		}
	}
	slices.Sort(attached)
	policies := []string{"arn:aws:iam::aws:policy/AmazonEC2ContainerRegistryPullOnly",
		"arn:aws:iam::aws:policy/AmazonEKSWorkerNodeMinimalPolicy"}
	if diff := cmp.Diff(policies, attached); diff != "" {
		t.Error(diff)
	}
}

func TestPoolRegistersBothObjectsAsPlanned(t *testing.T) {
	r := run(t, automode.Settings{Enabled: true}, gpuSpec())
	planned := class(automode.Class{}).Manifest("gpu-l4", nodepool.Wiring{
		Cluster:          "headroom-dev",
		Role:             "auto-nodes-name",
		SubnetIDs:        []string{"subnet-b", "subnet-a"},
		SecurityGroupIDs: []string{"sg-1"},
	})
	nodePool, err := nodepool.PlanNodePool(nodepool.Parts(gpuSpec())[0], automode.NodeClass)
	if err != nil {
		t.Fatal(err)
	}
	for token, want := range map[string]map[string]any{classToken: planned.Spec, nodePoolToken: nodePool.Spec} {
		objects := r.Of(token)
		if len(objects) != 1 {
			t.Fatalf("%d of %s", len(objects), token)
		}
		// Through JSON: the two sides differ in the Go types of equal lists and numbers.
		if diff := cmp.Diff(plain(t, want), plain(t, objects[0].Inputs["spec"])); diff != "" {
			t.Errorf("%s:\n%s", token, diff)
		}
	}
}

// Nodes are gone before the class, and the class before the entry and permission that its instances need.
func TestPoolIsDestroyedFromTheNodesDown(t *testing.T) {
	r := run(t, automode.Settings{Enabled: true}, gpuSpec())
	nodePool := r.Get(t, nodePoolToken, "gpu-l4-pool")
	if !dependsOn(nodePool, classToken, "gpu-l4-class") {
		t.Errorf("NodePool depends on %v", nodePool.RPC.Dependencies)
	}
	metadata, _ := nodePool.Inputs["metadata"].(map[string]any)
	annotations, _ := metadata["annotations"].(map[string]any)
	if annotations["pulumi.com/deletionPropagationPolicy"] != "foreground" {
		t.Errorf("NodePool is not deleted in the foreground: %v", annotations)
	}
	class := r.Get(t, classToken, "gpu-l4-class")
	for token, name := range map[string]string{
		entryToken: "auto-nodes", associationToken: "auto-nodes", attachmentToken: "auto-cluster-role",
	} {
		if !dependsOn(class, token, name) {
			t.Errorf("NodeClass does not depend on %s %s", token, name)
		}
	}
	if !dependsOn(class, attachmentToken, "auto-nodes-worker") {
		t.Error("NodeClass does not depend on the node role's policies")
	}
}

// Field faults BR-10 and BR-82: nothing of a Karpenter of ours, no add-on, no node group.
func TestNothingThatAutoModeBringsIsRegistered(t *testing.T) {
	r := run(t, automode.Settings{Enabled: true}, gpuSpec())
	allowed := []string{"pulumi:pulumi:Stack", "headroom:automode:Access", "headroom:nodepool:NodePool",
		"aws:iam/role:Role", policyToken, attachmentToken, entryToken, associationToken, classToken, nodePoolToken}
	for _, res := range r.All() {
		if !slices.Contains(allowed, res.Type) {
			t.Errorf("%s %s", res.Type, res.Name)
		}
	}
}

// A drain may take the whole grace period, 24 hours unless the pool says otherwise.
func TestDeletingWaitsAsLongAsNodesMayDrain(t *testing.T) {
	for grace, want := range map[string]string{"": "24h30m0s", "1h": "1h30m0s"} {
		spec := gpuSpec()
		spec.TerminationGracePeriod = grace
		r := run(t, automode.Settings{Enabled: true}, spec)
		if got := r.Get(t, nodePoolToken, "gpu-l4-pool").RPC.GetCustomTimeouts().GetDelete(); got != want {
			t.Errorf("grace %q: %s, want %s", grace, got, want)
		}
	}
}

// The former type keeps pools that an earlier version made: without the alias an update would delete them and drain
// their nodes. Children inherit it.
func TestAPoolIsKnownByTheTypeOfItsFormerComponent(t *testing.T) {
	r := run(t, automode.Settings{Enabled: true}, gpuSpec())
	aliases := r.Get(t, "headroom:nodepool:NodePool", "gpu-l4").RPC.GetAliases()
	if len(aliases) != 1 || aliases[0].GetSpec().GetType() != "headroom:automode:NodePool" {
		t.Errorf("aliases %v", aliases)
	}
}

func TestInvalidPoolRegistersNothing(t *testing.T) {
	spec := gpuSpec()
	spec.ExpireAfter = nodepool.Never
	r, err := tryRun(automode.Settings{Enabled: true}, spec)
	if err == nil || !strings.Contains(err.Error(), "Auto Mode replaces every node after 504 hours") {
		t.Errorf("got %v", err)
	}
	if found := append(r.Of(classToken), r.Of(nodePoolToken)...); len(found) != 0 {
		t.Errorf("%d objects were registered", len(found))
	}
}

func TestAccessIsRefusedWhileAutoModeIsOff(t *testing.T) {
	if _, err := tryRun(automode.Settings{}, gpuSpec()); err == nil ||
		!strings.Contains(err.Error(), "Auto Mode is off") {
		t.Errorf("got %v", err)
	}
}

func TestMissingArgumentsAreErrors(t *testing.T) {
	_, err := recorder.Run(nil, func(ctx *pulumi.Context) error {
		if _, err := automode.New(ctx, "b", nil); err == nil {
			return fmt.Errorf("New took nil")
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

func dependsOn(r recorder.Resource, token, name string) bool {
	return slices.ContainsFunc(r.RPC.Dependencies,
		func(urn string) bool { return strings.HasSuffix(urn, token+"::"+name) })
}

func plain(t *testing.T, value any) (out any) {
	t.Helper()
	text, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &out); err != nil {
		t.Fatal(err)
	}
	return out
}
