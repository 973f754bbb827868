package iampolicy_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/headroom-eks/headroom/components/iampolicy"
)

// Field fault BR-39.
func TestANodesRoleIsTrustedToEC2OfItsPartition(t *testing.T) {
	for partition, want := range map[string]iampolicy.Strings{
		"aws":        {"ec2.amazonaws.com"},
		"aws-us-gov": {"ec2.amazonaws.com"},
		"aws-cn":     {"ec2.amazonaws.com", "ec2.amazonaws.com.cn"},
	} {
		text, err := iampolicy.EC2Trust(partition)
		if err != nil {
			t.Fatal(err)
		}
		var got iampolicy.Document
		if err := json.Unmarshal([]byte(text), &got); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got.Statement[0].Principal["Service"]); diff != "" {
			t.Errorf("%s:\n%s", partition, diff)
		}
	}
}

func TestAPartitionWhoseEC2IsNotKnownIsRefused(t *testing.T) {
	if text, err := iampolicy.EC2Trust("aws-iso"); err == nil {
		t.Errorf("accepted: %s", text)
	}
}

func TestArnsOfPoliciesThatAWSKeepsFollowThePartition(t *testing.T) {
	for want, got := range map[string]string{
		"arn:aws-cn:iam::aws:policy/service-role/X":   iampolicy.ManagedPolicyArn("aws-cn", "service-role/X"),
		"arn:aws-cn:eks::aws:cluster-access-policy/X": iampolicy.AccessPolicyArn("aws-cn", "X"),
	} {
		if got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}
