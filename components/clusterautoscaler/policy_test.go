package clusterautoscaler

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/headroom-eks/headroom/components/iampolicy"
)

func document() iampolicy.Document {
	return permissions(scope{
		Partition: "aws-us-gov",
		Region:    "us-gov-west-1",
		AccountID: "123456789012",
		Cluster:   "prod",
	})
}

// Field fault BR-05.
func TestReadsCarryNoCondition(t *testing.T) {
	reads := 0
	for _, s := range document().Statement {
		for _, action := range s.Action {
			if _, verb, _ := strings.Cut(action, ":"); !strings.HasPrefix(verb, "Describe") &&
				!strings.HasPrefix(verb, "Get") {
				continue
			}
			reads++
			if s.Condition != nil {
				t.Errorf("%s has condition %v", action, s.Condition)
			}
		}
	}
	if reads < 10 {
		t.Errorf("%d reads, want every one the controller makes", reads)
	}
}

// Field fault BR-05.
func TestNodeGroupsOfThisClusterAloneAreDescribed(t *testing.T) {
	for _, s := range document().Statement {
		if s.Sid != "ReadNodeGroups" {
			continue
		}
		want := iampolicy.Statement{
			Sid: "ReadNodeGroups", Action: iampolicy.Strings{"eks:DescribeNodegroup"},
			Resource: iampolicy.Strings{"arn:aws-us-gov:eks:us-gov-west-1:123456789012:nodegroup/prod/*/*"},
		}
		if diff := cmp.Diff(want, s); diff != "" {
			t.Error(diff)
		}
		return
	}
	t.Error("eks:DescribeNodegroup is not allowed")
}

// Field fault BR-05.
func TestWritesAreTiedToTheGroupsOfThisCluster(t *testing.T) {
	writes := 0
	for _, s := range document().Statement {
		for _, action := range s.Action {
			if action != "autoscaling:SetDesiredCapacity" &&
				action != "autoscaling:TerminateInstanceInAutoScalingGroup" {
				continue
			}
			writes++
			want := iampolicy.Conditions{"StringEquals": {
				"aws:ResourceTag/k8s.io/cluster-autoscaler/enabled": {"true"},
				"aws:ResourceTag/k8s.io/cluster-autoscaler/prod":    {"owned"},
			}}
			if diff := cmp.Diff(want, s.Condition); diff != "" {
				t.Errorf("%s: %s", action, diff)
			}
		}
	}
	if writes != 2 {
		t.Errorf("%d writes, want the two", writes)
	}
}

func TestNothingElseIsWritten(t *testing.T) {
	allowed := map[string]bool{
		"autoscaling:SetDesiredCapacity":                  true,
		"autoscaling:TerminateInstanceInAutoScalingGroup": true,
	}
	for _, s := range document().Statement {
		for _, action := range s.Action {
			_, verb, _ := strings.Cut(action, ":")
			if strings.Contains(action, "*") || !strings.HasPrefix(verb, "Describe") &&
				!strings.HasPrefix(verb, "Get") && !allowed[action] {
				t.Errorf("%s is allowed", action)
			}
		}
	}
}

func TestPolicyFitsItsLimitWithTheLongestClusterName(t *testing.T) {
	long := scope{
		Partition: "aws-us-gov",
		Region:    "ap-southeast-4",
		AccountID: "123456789012",
		Cluster:   strings.Repeat("c", 100),
	}
	if _, err := policyJSON(long); err != nil {
		t.Error(err)
	}
}

// Field fault BR-93.
func TestPolicyWithAnEmptyNameInItIsRefused(t *testing.T) {
	full := scope{Partition: "aws", Region: "us-west-2", AccountID: "123456789012", Cluster: "prod"}
	for _, empty := range []func(*scope){
		func(s *scope) { s.Partition = "" }, func(s *scope) { s.Region = "" }, func(s *scope) { s.AccountID = "" },
		func(s *scope) { s.Cluster = "" },
	} {
		s := full
		empty(&s)
		if text, err := policyJSON(s); err == nil {
			t.Errorf("%+v is rendered: %s", s, text)
		}
	}
}
