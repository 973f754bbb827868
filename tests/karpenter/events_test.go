package karpenter_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/aws/karpenter-provider-aws/pkg/controllers/interruption"
	"github.com/aws/karpenter-provider-aws/pkg/controllers/interruption/messages"
	"github.com/google/go-cmp/cmp"
	ours "github.com/headroom-eks/headroom/components/interruption"
)

// delivered tells which rules would send an event to the queue. It knows the part of EventBridge's patterns that the
// rules use: exact values of fields at the top.
// https://docs.aws.amazon.com/eventbridge/latest/userguide/eb-event-patterns.html
func delivered(t *testing.T, event map[string]any) (rules []string) {
	t.Helper()
	for _, r := range ours.Rules {
		text, err := r.Pattern()
		if err != nil {
			t.Fatal(err)
		}
		var pattern map[string][]string
		if err := json.Unmarshal([]byte(text), &pattern); err != nil {
			t.Fatal(err)
		}
		matches := len(pattern) > 0
		for field, values := range pattern {
			matches = matches && slices.Contains(values, fmt.Sprint(event[field]))
		}
		if matches {
			rules = append(rules, r.Key)
		}
	}
	return rules
}

// The samples follow those that AWS documents for each event, with times and ids filled in.
func TestEachOfAWSsSampleEventsArrivesOnceAndIsUnderstood(t *testing.T) {
	want := map[string]messages.Kind{
		"spot-interruption": messages.SpotInterruptionKind, "rebalance": messages.RebalanceRecommendationKind,
		"instance-state-change": messages.InstanceStoppedKind, "scheduled-change": messages.ScheduledChangeKind,
		"capacity-reservation-interruption": messages.CapacityReservationInterruptionKind,
	}
	files, err := filepath.Glob("testdata/events/*.json")
	if err != nil || len(files) != len(ours.Rules) {
		t.Fatalf("%d samples (%v), want one for each of %d rules", len(files), err, len(ours.Rules))
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var event map[string]any
		if err := json.Unmarshal(text, &event); err != nil {
			t.Fatal(err)
		}
		key := strings.TrimSuffix(filepath.Base(file), ".json")
		if diff := cmp.Diff([]string{key}, delivered(t, event)); diff != "" {
			t.Errorf("field fault BR-33: %s:\n%s", key, diff)
		}
		message, err := interruption.NewEventParser(interruption.DefaultParsers...).Parse(string(text))
		if err != nil || message.Kind() != want[key] || len(message.EC2InstanceIDs()) != 1 {
			t.Errorf("%s: Karpenter reads %v (%v), want %s of one instance", key, message, err, want[key])
		}
	}
}

func TestRulesAreExactlyTheEventsThatKarpenterReads(t *testing.T) {
	var got, want []string
	for _, r := range ours.Rules {
		got = append(got, r.Source+" "+r.DetailType)
	}
	for _, p := range interruption.DefaultParsers {
		want = append(want, p.Source()+" "+p.DetailType())
	}
	slices.Sort(got)
	slices.Sort(want)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("field fault BR-33:\n%s", diff)
	}
}

// Other events of the same sources. https://docs.aws.amazon.com/eventbridge/latest/ref/events-ref-ec2.html
func TestOtherEventsStayOutOfTheQueue(t *testing.T) {
	for _, detailType := range []string{
		"Capacity Block Delivered", "Capacity Block Expiration Warning", "EBS Volume Notification",
		"EBS Snapshot Notification", "EC2 AMI State Change",
		"EC2 Capacity Reservation Active", "EC2 Capacity Reservation Cancelled", "EC2 Spot Instance Rebalance " +
			"Recommended",
		"EC2 Spot Instance Request Fulfillment", "EC2 Fast Launch State-change Notification",
		"EC2 Instance State-change Notification ",
		"EC2 Interruptible Capacity Reservation Allocation Reclamation Completed", "EC2 Instance-terminate Lifecycle " +
			"Action", "",
	} {
		if rules := delivered(t, map[string]any{"source": "aws.ec2", "detail-type": detailType}); len(rules) > 0 {
			t.Errorf("%q is delivered by %v", detailType, rules)
		}
	}
	for _, event := range []map[string]any{
		{"source": "aws.health", "detail-type": "AWS Health Abuse Event"},
		{"source": "aws.autoscaling", "detail-type": "EC2 Instance State-change Notification"},
		{"source": "my.app", "detail-type": "EC2 Spot Instance Interruption Warning"},
		{"detail": "nothing else"},
	} {
		if rules := delivered(t, event); len(rules) > 0 {
			t.Errorf("%v is delivered by %v", event, rules)
		}
	}
}
