package rules

import (
	"testing"

	"github.com/headroom-eks/headroom/policy/graphtest"
)

var interruptionMutations = []mutation{
	{
		rule:     "queue-tls-only",
		resource: "interruption-queue-policy",
		about:    "plain HTTP is not refused",
		edit:     replace("aws:SecureTransport", "aws:Other", "policy"),
		unknown:  p("policy"),
	},
	{
		rule:     "queue-encryption-reachable",
		resource: "interruption-queue",
		about:    "not encrypted",
		edit:     set(false, "sqsManagedSseEnabled"),
		unknown:  p("sqsManagedSseEnabled"),
	},
	{
		rule:     "queue-encryption-reachable",
		resource: "interruption-queue",
		about:    "the key AWS manages",
		edit:     set("alias/aws/sqs", "kmsMasterKeyId"),
		unknown:  p("kmsMasterKeyId"),
	},
	{
		rule:     "queue-encryption-reachable",
		resource: "interruption-queue",
		about:    "a key that EventBridge may not use",
		edit:     set("arn:aws:kms:us-west-2:123456789012:key/k-1", "kmsMasterKeyId"),
	},
	{
		rule:     "interruption-rules-complete",
		resource: "interruption-spot",
		about:    "misspelt",
		edit:     replace("Interruption Warning", "interruption warning", "eventPattern"),
		unknown:  p("eventPattern"),
	},
	{
		rule:  "interruption-rules-complete",
		about: "field fault BR-33: one missing",
		graph: func(g []graphtest.Record) []graphtest.Record {
			return graphtest.Drop(g, "interruption-rebalance", "interruption-rebalance-target")
		},
	},
	{
		rule:  "interruption-rules-complete",
		about: "no target",
		graph: func(g []graphtest.Record) []graphtest.Record {
			return graphtest.Drop(g, "interruption-rebalance-target")
		},
	},
	{
		rule:     "interruption-rules-complete",
		resource: "interruption-spot-target",
		about:    "another target",
		edit:     set("arn:aws:sqs:us-west-2:123456789012:other", "arn"),
		unknown:  p("arn"),
	},
	{
		rule:     "interruption-rules-complete",
		resource: "interruption-spot",
		about:    "switched off",
		edit:     set("DISABLED", "state"),
	},
	{
		rule:     "interruption-rules-complete",
		resource: "interruption-queue-policy",
		about:    "EventBridge may not send",
		edit:     replace("sqs:SendMessage", "sqs:GetQueueUrl", "policy"),
		unknown:  p("policy"),
	},
	{
		rule:     "interruption-queue-readable",
		resource: "karpenter-interruption",
		about:    "field fault BR-30: may not read",
		edit:     replace(`"sqs:ReceiveMessage"`, `"sqs:ListQueues"`, "policy"),
		unknown:  p("policy"),
	},
	{
		rule:     "interruption-queue-readable",
		resource: "karpenter-interruption",
		about:    "another queue too",
		edit: replace(`"Resource": "arn:aws:sqs:us-west-2:123456789012:dev-interruption-1a2b3c4"`,
			`"Resource": ["arn:aws:sqs:us-west-2:123456789012:dev-interruption-1a2b3c4", `+
				`"arn:aws:sqs:us-west-2:123456789012:other"]`, "policy"),
	},
}

// The parts of a pattern may become known one after the other.
func TestAPatternThatIsKnownInPartIsUnknown(t *testing.T) {
	records := graphtest.Golden(t)
	graphtest.Find(t, records, "interruption-spot").Props["eventPattern"] = map[string]any{
		"source":      graphtest.Unknown{},
		"detail-type": []any{"EC2 Spot Instance Interruption Warning"},
	}
	for _, f := range evaluate(records, testEnv, nil)["interruption-rules-complete"] {
		if !f.Unknown {
			t.Errorf("reported: %s", f.Text)
		}
	}
}
