package automode

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/headroom-eks/headroom/components/iampolicy"
)

func statements(t *testing.T, keys ...string) map[string]iampolicy.Statement {
	t.Helper()
	text, err := clusterRolePolicy("aws", keys)
	if err != nil {
		t.Fatal(err)
	}
	var document iampolicy.Document
	if err := json.Unmarshal([]byte(text), &document); err != nil {
		t.Fatal(err)
	}
	bySid := map[string]iampolicy.Statement{}
	for _, s := range document.Statement {
		bySid[s.Sid] = s
	}
	return bySid
}

// What an instance with tags is launched through, as AWS lists it for custom tags.
func TestClusterRoleMayTagWhatANodeIsLaunchedThrough(t *testing.T) {
	got := statements(t)
	for sid, actions := range map[string][]string{
		"TagComputeAtLaunch":    {"ec2:CreateFleet", "ec2:CreateLaunchTemplate", "ec2:RunInstances"},
		"TagInterfacesAtLaunch": {"ec2:CreateNetworkInterface"},
		"ChangeTagsOfOwnNodes":  {"ec2:CreateTags", "ec2:DeleteTags"},
	} {
		if !slices.Equal([]string(got[sid].Action), actions) {
			t.Errorf("%s: %v", sid, got[sid].Action)
		}
	}
	if len(got) != 3 {
		t.Errorf("%d statements, want 3 without a customer key", len(got))
	}
}

func TestClusterRoleReachesOnlyItsOwnCluster(t *testing.T) {
	for sid, s := range statements(t) {
		var held bool
		for key, values := range s.Condition["StringEquals"] {
			held = held || strings.HasSuffix(key, "/eks:eks-cluster-name") &&
				slices.Equal([]string(values), []string{"${aws:PrincipalTag/eks:eks-cluster-name}"})
		}
		if !held {
			t.Errorf("%s is not bound to the session's cluster: %v", sid, s.Condition)
		}
	}
}

func TestCustomerKeyIsUsedOnlyForVolumesOfAWSResources(t *testing.T) {
	key := "arn:aws:kms:us-west-2:123456789012:key/k"
	got := statements(t, key)
	for _, sid := range []string{"EncryptNodeVolumes", "GrantKeyToVolumes"} {
		if !slices.Equal([]string(got[sid].Resource), []string{key}) {
			t.Errorf("%s: resource %v", sid, got[sid].Resource)
		}
	}
	if !slices.Equal([]string(got["GrantKeyToVolumes"].Condition["Bool"]["kms:GrantIsForAWSResource"]),
		[]string{"true"}) {
		t.Errorf("grants are not bound to AWS resources: %v", got["GrantKeyToVolumes"].Condition)
	}
}

func TestPartitionReachesEveryArn(t *testing.T) {
	text, err := clusterRolePolicy("aws-us-gov", nil)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(text, "arn:aws:") {
		t.Errorf("a commercial ARN in %s", text)
	}
}

// The permission of a plain worker node, AmazonEKSWorkerNodePolicy or the network plugin's, would be more than Auto
// Mode needs.
func TestNodeRoleHasTheTwoMinimalPolicies(t *testing.T) {
	if len(nodePolicies) != 2 || nodePolicies["worker"] != "AmazonEKSWorkerNodeMinimalPolicy" ||
		nodePolicies["registry"] != "AmazonEC2ContainerRegistryPullOnly" {
		t.Error(nodePolicies)
	}
}
