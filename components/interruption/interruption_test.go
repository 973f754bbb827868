package interruption_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/headroom-eks/headroom/components/handle"
	"github.com/headroom-eks/headroom/components/iampolicy"
	"github.com/headroom-eks/headroom/components/interruption"
	"github.com/headroom-eks/headroom/internal/recorder"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
)

const (
	queueType  = "aws:sqs/queue:Queue"
	ruleType   = "aws:cloudwatch/eventRule:EventRule"
	targetType = "aws:cloudwatch/eventTarget:EventTarget"
	policyType = "aws:sqs/queuePolicy:QueuePolicy"
)

func run(t *testing.T, args *interruption.Args) *recorder.Recorder {
	t.Helper()
	r, err := recorder.Run(recorder.Answers{queueType: {"url": "https://sqs/queue"}}, func(ctx *pulumi.Context) error {
		_, err := interruption.New(ctx, "dev-interruption", args)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestEveryKindOfWarningHasARuleWithTheQueueAsItsOnlyTarget(t *testing.T) {
	r := run(t, nil)
	want := map[string]string{
		"AWS Health Event":                                       "aws.health",
		"EC2 Spot Instance Interruption Warning":                 "aws.ec2",
		"EC2 Instance Rebalance Recommendation":                  "aws.ec2",
		"EC2 Instance State-change Notification":                 "aws.ec2",
		"EC2 Capacity Reservation Instance Interruption Warning": "aws.ec2",
	}
	got := map[string]string{}
	for _, rule := range r.Of(ruleType) {
		var pattern map[string][]string
		if err := json.Unmarshal([]byte(rule.Inputs["eventPattern"].(string)), &pattern); err != nil {
			t.Fatal(err)
		}
		if len(pattern["source"]) != 1 || len(pattern["detail-type"]) != 1 || len(pattern) != 2 {
			t.Fatalf("pattern %v", pattern)
		}
		got[pattern["detail-type"][0]] = pattern["source"][0]
		target := r.Get(t, targetType, rule.Name)
		if target.Inputs["rule"] != rule.Name+"-name" ||
			!strings.HasSuffix(target.Inputs["arn"].(string), ":dev-interruption-queue") {
			t.Errorf("rule %s has target %v", rule.Name, target.Inputs)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("field fault BR-33:\n%s", diff)
	}
	if n := len(r.Of(targetType)); n != len(want) {
		t.Errorf("%d targets, want %d", n, len(want))
	}
}

func TestNothingHasANameThatASecondClusterCouldTake(t *testing.T) {
	for _, res := range run(t, nil).All() {
		for _, key := range []string{"name", "namePrefix"} {
			if got, found := res.Inputs[key]; found {
				t.Errorf("field fault BR-31: %s %s has %s %v", res.Type, res.Name, key, got)
			}
		}
	}
}

func TestQueueKeepsWarningsForFiveMinutesAndEncryptsThem(t *testing.T) {
	queue := run(t, nil).Get(t, queueType, "dev-interruption-queue")
	if queue.Inputs["messageRetentionSeconds"] != float64(300) || queue.Inputs["sqsManagedSseEnabled"] != true {
		t.Errorf("queue %v", queue.Inputs)
	}
}

func TestCustomersKeyReplacesThatOfSQS(t *testing.T) {
	queue := run(t, &interruption.Args{KMSKeyArn: pulumi.String("arn:key")}).Get(t, queueType, "dev-interruption-queue")
	if _, found := queue.Inputs["sqsManagedSseEnabled"]; found || queue.Inputs["kmsMasterKeyId"] != "arn:key" {
		t.Errorf("SQS refuses both kinds of encryption together: %v", queue.Inputs)
	}
}

func TestQueuePolicyAdmitsOnlyTheseRulesOverTLS(t *testing.T) {
	r := run(t, nil)
	var got iampolicy.Document
	if err := json.Unmarshal([]byte(r.Get(t, policyType, "dev-interruption-policy").Inputs["policy"].(string)),
		&got); err != nil {
		t.Fatal(err)
	}
	arn := func(name string) string { return "arn:aws:mock:us-west-2:123456789012:dev-interruption-" + name }
	queue := iampolicy.Strings{arn("queue")}
	want := iampolicy.New(
		iampolicy.Statement{
			Sid:       "AllowTheseRules",
			Effect:    iampolicy.Allow,
			Principal: iampolicy.Principal{"Service": {"events.amazonaws.com"}},
			Action:    iampolicy.Strings{"sqs:SendMessage"},
			Resource:  queue,
			Condition: iampolicy.Conditions{"ArnEquals": {"aws:SourceArn": {
				arn("capacity-reservation-interruption"), arn("instance-state-change"), arn("rebalance"),
				arn("scheduled-change"), arn("spot-interruption"),
			}}},
		},
		iampolicy.Statement{
			Sid:       "DenyHTTP",
			Effect:    iampolicy.Deny,
			Principal: iampolicy.Principal{"AWS": {"*"}},
			Action:    iampolicy.Strings{"sqs:*"},
			Resource:  queue,
			Condition: iampolicy.Conditions{"Bool": {"aws:SecureTransport": {"false"}}},
		},
	)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestQueuePolicyFitsWithTheLongestNames(t *testing.T) {
	prefix := "arn:aws-us-gov:events:us-gov-west-1:123456789012:rule/"
	var rules []string
	for _, r := range interruption.Rules {
		rules = append(rules, prefix+r.Key[:1]+strings.Repeat("x", 63)) // names of rules have at most 64 characters
	}
	queue := "arn:aws-us-gov:sqs:us-gov-west-1:123456789012:" + strings.Repeat("q", 80)
	if _, err := interruption.QueuePolicy(queue, rules).JSON(iampolicy.QueueLimit); err != nil {
		t.Error(err)
	}
}

func TestTagsReachWhatCanCarryThem(t *testing.T) {
	r := run(t, &interruption.Args{Account: handle.Account{Tags: map[string]string{"team": "ml"}}})
	for _, res := range append(r.Of(queueType), r.Of(ruleType)...) {
		if diff := cmp.Diff(map[string]any{"team": "ml"}, res.Inputs["tags"]); diff != "" {
			t.Errorf("%s:\n%s", res.Name, diff)
		}
	}
}
