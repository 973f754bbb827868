package interruption

import (
	"encoding/json"

	"github.com/headroom-eks/headroom/components/iampolicy"
)

// Rule forwards one kind of event to the queue.
type Rule struct {
	// Key names the rule's resources.
	Key string
	// Source and DetailType of the event, exactly as AWS sends them.
	Source, DetailType string
}

// Rules are the events that Karpenter understands, all of them: a kind left out is a warning that never arrives (field
// fault BR-33).
// https://karpenter.sh/v1.15/reference/cloudformation/#interruption-handling
var Rules = []Rule{
	{"scheduled-change", "aws.health", "AWS Health Event"},
	{"spot-interruption", "aws.ec2", "EC2 Spot Instance Interruption Warning"},
	{"rebalance", "aws.ec2", "EC2 Instance Rebalance Recommendation"},
	{"instance-state-change", "aws.ec2", "EC2 Instance State-change Notification"},
	{"capacity-reservation-interruption", "aws.ec2", "EC2 Capacity Reservation Instance Interruption Warning"},
}

// Pattern of the rule in EventBridge's JSON. Errors are not known to happen: it holds strings only.
func (r Rule) Pattern() (string, error) {
	out, err := json.Marshal(map[string][]string{"source": {r.Source}, "detail-type": {r.DetailType}})
	return string(out), err
}

// retentionSeconds: a warning comes two minutes ahead, so one that is five minutes old is of no use.
const retentionSeconds = 300

// QueuePolicy lets these rules, and nobody else's, put messages in the queue, and refuses everything that is not
// encrypted in transit. The account is part of the rules' ARNs. SQS's own limit is 8192 characters.
func QueuePolicy(queueArn string, ruleArns []string) iampolicy.Document {
	return iampolicy.New(
		iampolicy.Statement{
			Sid:       "AllowTheseRules",
			Principal: iampolicy.Principal{"Service": {"events.amazonaws.com"}},
			Action:    iampolicy.Strings{"sqs:SendMessage"},
			Resource:  iampolicy.Strings{queueArn},
			Condition: iampolicy.Conditions{"ArnEquals": {"aws:SourceArn": ruleArns}},
		},
		iampolicy.Statement{
			Sid:       "DenyHTTP",
			Effect:    iampolicy.Deny,
			Principal: iampolicy.Principal{"AWS": {"*"}},
			Action:    iampolicy.Strings{"sqs:*"},
			Resource:  iampolicy.Strings{queueArn},
			Condition: iampolicy.Conditions{"Bool": {"aws:SecureTransport": {"false"}}},
		},
	)
}
