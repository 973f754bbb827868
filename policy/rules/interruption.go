package rules

import (
	"fmt"
	"slices"
	"strings"

	"github.com/headroom-eks/headroom/policy/view"
)

// Interruption rules look at how Karpenter hears that a node is about to go.
var interruptionRules = []Rule{
	{
		Name:   "queue-tls-only",
		Area:   "interruption",
		Level:  Mandatory,
		Stack:  queueTLSOnly,
		Why:    "The queue takes messages over plain HTTP.",
		Remedy: "add a statement to the queue's policy: Deny sqs:* to * when aws:SecureTransport is false",
		Types:  []string{view.TypeQueue, view.TypeQueuePolicy},
	},
	{
		Name:  "queue-encryption-reachable",
		Area:  "interruption",
		Level: Mandatory,
		Stack: queueEncryptionReachable,
		Why:   "The queue is not encrypted, or with a key that EventBridge cannot use: then no event ever arrives.",
		Remedy: "set sqsManagedSseEnabled, or a customer key whose policy lets events.amazonaws.com use " +
			"kms:GenerateDataKey and kms:Decrypt",
		Types: []string{view.TypeQueue, view.TypeKey},
	},
	{
		Name:  "interruption-rules-complete",
		Area:  "interruption",
		Level: Mandatory,
		Stack: interruptionRulesComplete,
		Why:   "Karpenter is never told that a node is about to go, and its pods die with it.",
		Remedy: "make all five rules with AWS's exact names, each with the queue as target, and let " +
			"events.amazonaws.com send to the queue",
		Types: []string{view.TypeQueue, view.TypeQueuePolicy, view.TypeEventRule, view.TypeEventTarget,
			view.TypeNodePool},
		Faults: []string{"BR-33"},
	},
	{
		Name:   "interruption-queue-readable",
		Area:   "interruption",
		Level:  Mandatory,
		Stack:  interruptionQueueReadable,
		Why:    "The queue is there and the controller may not read it, or may read others.",
		Remedy: "allow sqs:ReceiveMessage, sqs:DeleteMessage and sqs:GetQueueUrl on exactly this queue's ARN",
		Types:  []string{view.TypeQueue, view.TypePolicy, view.TypeRolePolicy, view.TypeNodePool},
		Faults: []string{"BR-30"},
	},
}

// interruption as EventBridge names it.
type interruption struct{ source, detailType string }

// interruptions Karpenter handles. https://karpenter.sh/v1.15/reference/cloudformation/
var interruptions = []interruption{
	{"aws.health", "AWS Health Event"},
	{"aws.ec2", "EC2 Spot Instance Interruption Warning"},
	{"aws.ec2", "EC2 Instance Rebalance Recommendation"},
	{"aws.ec2", "EC2 Instance State-change Notification"},
	{"aws.ec2", "EC2 Capacity Reservation Instance Interruption Warning"},
}

// policyOf gives the statements of the policy attached to a queue; found is false when there is none.
func policyOf(c *Check, g view.Graph, queue view.Resource) (list []view.Statement, found bool) {
	for _, p := range g.OfType(view.TypeQueuePolicy) {
		for _, output := range []string{"url", "id"} { // the URL is the queue's id too
			switch view.Refers(p, "queueUrl", queue, output) {
			case view.Unknown:
				c.Unknown(p.Props.Key("queueUrl"))
				return nil, true
			case view.Known:
				return statements(c, p.Props.Key("policy")), true
			}
		}
	}
	if at := queue.Props.Key("policy"); at.State() != view.Absent {
		return statements(c, at), true
	}
	return nil, false
}

func queueTLSOnly(c *Check, g view.Graph) {
	for _, queue := range g.OfType(view.TypeQueue) {
		before := len(c.findings)
		list, found := policyOf(c, g, queue)
		unread := len(c.findings) > before
		denies := slices.ContainsFunc(list, func(s view.Statement) bool {
			effect, _ := s.Key("Effect").Text()
			actions, _ := s.Key("Action").Texts()
			secure, _ := s.Key("Condition", "Bool", "aws:SecureTransport").Texts()
			plain, _ := s.Key("Condition", "Bool", "aws:SecureTransport").Bool()
			return effect == "Deny" && slices.Contains(actions, "sqs:*") && everyone(s) && !plain &&
				(slices.Equal(secure, []string{"false"}) ||
					s.Key("Condition", "Bool", "aws:SecureTransport").State() == view.Known && len(secure) == 0)
		})
		if !found || !denies && !unread {
			c.Violation(queue.Props.Key("policy"), "no statement of a policy attached to queue %s refuses plain HTTP",
				queue.Name)
		}
	}
}

func everyone(s view.Statement) bool {
	all, _ := s.Key("Principal").Texts()
	aws, _ := s.Key("Principal", "AWS").Texts()
	return slices.Contains(all, "*") || slices.Contains(aws, "*")
}

// lets says whether EventBridge may do the action.
func lets(list []view.Statement, action string) bool {
	return slices.ContainsFunc(list, func(s view.Statement) bool {
		services, _ := s.Key("Principal", "Service").Texts()
		return s.Allows(action) && slices.Contains(services, "events.amazonaws.com")
	})
}

func queueEncryptionReachable(c *Check, g view.Graph) {
	for _, queue := range g.OfType(view.TypeQueue) {
		own := queue.Props.Key("sqsManagedSseEnabled")
		key := queue.Props.Key("kmsMasterKeyId")
		text, state := key.Text()
		switch on, s := own.Bool(); {
		case state == view.Absent || text == "" && state == view.Known:
			if c.Known(own, s) && !on || s == view.Absent {
				c.Violation(own, "queue %s is not encrypted", queue.Name)
			}
		case strings.HasPrefix(text, "alias/aws/"):
			c.Violation(key, "EventBridge cannot use the key that AWS manages for SQS")
		default:
			keyLetsEvents(c, g, queue, key)
		}
	}
}

func keyLetsEvents(c *Check, g view.Graph, queue view.Resource, at view.Value) {
	for _, key := range g.OfType(view.TypeKey) {
		if view.Refers(queue, "kmsMasterKeyId", key, "arn") != view.Known &&
			view.Refers(queue, "kmsMasterKeyId", key, "keyId") != view.Known {
			continue
		}
		before := len(c.findings)
		list := statements(c, key.Props.Key("policy"))
		if len(c.findings) == before && !(lets(list, "kms:GenerateDataKey") && lets(list, "kms:Decrypt")) {
			c.Violation(at, "the policy of key %s does not let EventBridge use it", key.Name)
		}
		return
	}
	c.Unknown(at) // a key from elsewhere, or not known yet
}

func interruptionRulesComplete(c *Check, g view.Graph) {
	p := karpenterPool(g)
	if p == nil {
		return
	}
	queues := g.OfType(view.TypeQueue)
	if len(queues) == 0 {
		c.Violation(p.Props.Key("spec", "template", "spec", "nodeClassRef"), "Karpenter makes nodes and this stack "+
			"has no queue for interruptions")
		return
	}
	made := map[interruption]bool{}
	unread := false
	for _, rule := range g.OfType(view.TypeEventRule) {
		events, known := waitsFor(c, rule.Props.Key("eventPattern"))
		if !known {
			unread = true
			continue
		}
		for _, e := range events {
			made[e] = true
		}
		ruleWorks(c, g, rule, events)
	}
	for _, i := range interruptions {
		if !made[i] && !unread {
			c.Violation(queues[0].Props.Key("name"), "no rule sends %q of %s to the queue", i.detailType, i.source)
		}
	}
	for _, queue := range queues {
		before := len(c.findings)
		if list, _ := policyOf(c, g, queue); !lets(list, "sqs:SendMessage") && len(c.findings) == before {
			c.Violation(queue.Props.Key("policy"), "EventBridge may not send to queue %s", queue.Name)
		}
	}
}

// waitsFor gives the events that a rule's pattern names; known is false, and noted, when it cannot be read.
func waitsFor(c *Check, pattern view.Value) (events []interruption, known bool) {
	document := pattern.JSON()
	sources, s1 := document.Key("source").Texts()
	details, s2 := document.Key("detail-type").Texts()
	if s1 == view.Unknown || s2 == view.Unknown {
		c.Unknown(pattern)
		return nil, false
	}
	for _, detail := range details {
		for _, source := range sources {
			events = append(events, interruption{source, detail})
		}
	}
	return events, true
}

// ruleWorks reports a rule that is off, sends to no queue of this stack, or waits for what never comes.
func ruleWorks(c *Check, g view.Graph, rule view.Resource, events []interruption) {
	target, to := targetOf(g, rule)
	if target == view.Unknown {
		c.Unknown(to)
	}
	for _, e := range events {
		if !slices.Contains(interruptions, e) {
			c.Violation(rule.Props.Key("eventPattern"),
				"rule %s waits for an event that AWS does not send under this name", rule.Name)
		}
	}
	if state, _ := rule.Props.Key("state").Text(); state == "DISABLED" {
		c.Violation(rule.Props.Key("state"), "the rule is switched off")
	}
	if target == view.Absent {
		c.Violation(rule.Props.Key("name"), "rule %s has no target that is a queue of this stack", rule.Name)
	}
}

// targetOf says whether a rule has a target that is a queue of this stack.
func targetOf(g view.Graph, rule view.Resource) (view.State, view.Value) {
	best, at := view.Absent, view.Value{}
	for _, target := range g.OfType(view.TypeEventTarget) {
		of := view.Refers(target, "rule", rule, "name")
		for _, queue := range g.OfType(view.TypeQueue) {
			switch to := view.Refers(target, "arn", queue, "arn"); {
			case of == view.Known && to == view.Known:
				return view.Known, target.Props.Key("arn")
			case of != view.Absent && to != view.Absent:
				best, at = view.Unknown, target.Props.Key("arn")
			}
		}
	}
	return best, at
}

func interruptionQueueReadable(c *Check, g view.Graph) {
	queues := g.OfType(view.TypeQueue)
	if karpenterPool(g) == nil || len(queues) == 0 {
		return
	}
	reads := []string{"sqs:ReceiveMessage", "sqs:DeleteMessage", "sqs:GetQueueUrl"}
	unread := false
	granted := map[string]bool{} // action on queue
	for _, r := range g.OfType(view.TypePolicy, view.TypeRolePolicy, view.TypeRole) {
		for _, document := range view.Documents(r) {
			before := len(c.findings)
			list := statements(c, document)
			unread = unread || len(c.findings) > before
			for _, s := range list {
				if !slices.ContainsFunc(reads, s.Allows) {
					continue
				}
				targets, state := s.Key("Resource").List()
				unread = unread || !c.Known(s.Key("Resource"), state)
				for _, at := range targets {
					i, known := queueNamed(c, queues, at)
					unread = unread || !known
					if i < 0 {
						continue
					}
					for _, action := range reads {
						granted[fmt.Sprint(i, action)] = granted[fmt.Sprint(i, action)] || s.Allows(action)
					}
				}
			}
		}
	}
	for i, queue := range queues {
		for _, action := range reads {
			if !granted[fmt.Sprint(i, action)] && !unread {
				c.Violation(queue.Props.Key("arn"), "no policy of this stack allows %s on queue %s", action, queue.Name)
			}
		}
	}
}

// queueNamed finds the queue of this stack that an ARN names, or -1; known is false, and noted, when it cannot be told.
func queueNamed(c *Check, queues []view.Resource, at view.Value) (i int, known bool) {
	arn, state := at.Text()
	if !c.Known(at, state) {
		return -1, false
	}
	unknown := false
	for i, queue := range queues {
		own, state := queue.Props.Key("arn").Text()
		if state == view.Known && own == arn {
			return i, true
		}
		unknown = unknown || queue.Props.Key("arn").State() == view.Unknown
	}
	if unknown {
		c.Unknown(at)
		return -1, false
	}
	c.Violation(at, "it is no queue of this stack")
	return -1, true
}
