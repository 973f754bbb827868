package main

import (
	"fmt"
	"slices"
	"strings"
)

// Interruption rules look at how Karpenter hears that a node is about to go.
var interruptionRules = []Rule{
	{
		Name: "queue-tls-only", Area: "interruption", Level: Mandatory, Stack: queueTLSOnly,
		Why:    "The queue takes messages over plain HTTP.",
		Remedy: "add a statement to the queue's policy: Deny sqs:* to * when aws:SecureTransport is false",
		Types:  []string{typeQueue, typeQueuePolicy},
	},
	{
		Name:  "queue-encryption-reachable",
		Area:  "interruption",
		Level: Mandatory,
		Stack: queueEncryptionReachable,
		Why:   "The queue is not encrypted, or with a key that EventBridge cannot use: then no event ever arrives.",
		Remedy: "set sqsManagedSseEnabled, or a customer key whose policy lets events.amazonaws.com use " +
			"kms:GenerateDataKey and kms:Decrypt",
		Types: []string{typeQueue, typeKey},
	},
	{
		Name:  "interruption-rules-complete",
		Area:  "interruption",
		Level: Mandatory,
		Stack: interruptionRulesComplete,
		Why:   "Karpenter is never told that a node is about to go, and its pods die with it.",
		Remedy: "make all five rules with AWS's exact names, each with the queue as target, and let " +
			"events.amazonaws.com send to the queue",
		Types:  []string{typeQueue, typeQueuePolicy, typeEventRule, typeEventTarget, typeNodePool},
		Faults: []string{"BR-33"},
	},
	{
		Name: "interruption-queue-readable", Area: "interruption", Level: Mandatory, Stack: interruptionQueueReadable,
		Why:    "The queue is there and the controller may not read it, or may read others.",
		Remedy: "allow sqs:ReceiveMessage, sqs:DeleteMessage and sqs:GetQueueUrl on exactly this queue's ARN",
		Types:  []string{typeQueue, typePolicy, typeRolePolicy, typeNodePool}, Faults: []string{"BR-30"},
	},
}

// interruptions Karpenter handles, as EventBridge names them. https://karpenter.sh/v1.15/reference/cloudformation/
var interruptions = []struct{ source, detailType string }{
	{"aws.health", "AWS Health Event"},
	{"aws.ec2", "EC2 Spot Instance Interruption Warning"},
	{"aws.ec2", "EC2 Instance Rebalance Recommendation"},
	{"aws.ec2", "EC2 Instance State-change Notification"},
	{"aws.ec2", "EC2 Capacity Reservation Instance Interruption Warning"},
}

// policyOf gives the statements of the policy attached to a queue; found is false when there is none.
func policyOf(c *Check, g Graph, queue Resource) (list []Statement, found bool) {
	for _, p := range g.OfType(typeQueuePolicy) {
		for _, output := range []string{"url", "id"} { // the URL is the queue's id too
			switch Refers(p, "queueUrl", queue, output) {
			case Unknown:
				c.Unknown(p.Props.Key("queueUrl"))
				return nil, true
			case Known:
				return statements(c, p.Props.Key("policy")), true
			}
		}
	}
	if at := queue.Props.Key("policy"); at.State() != Absent {
		return statements(c, at), true
	}
	return nil, false
}

func queueTLSOnly(c *Check, g Graph) {
	for _, queue := range g.OfType(typeQueue) {
		before := len(c.findings)
		list, found := policyOf(c, g, queue)
		unread := len(c.findings) > before
		denies := slices.ContainsFunc(list, func(s Statement) bool {
			effect, _ := s.Key("Effect").Text()
			actions, _ := s.Key("Action").Texts()
			secure, _ := s.Key("Condition", "Bool", "aws:SecureTransport").Texts()
			plain, _ := s.Key("Condition", "Bool", "aws:SecureTransport").Bool()
			return effect == "Deny" && slices.Contains(actions, "sqs:*") && everyone(s) && !plain &&
				(slices.Equal(secure, []string{"false"}) ||
					s.Key("Condition", "Bool", "aws:SecureTransport").State() == Known && len(secure) == 0)
		})
		if !found || !denies && !unread {
			c.Violation(queue.Props.Key("policy"), "no statement of a policy attached to queue %s refuses plain HTTP",
				queue.Name)
		}
	}
}

func everyone(s Statement) bool {
	all, _ := s.Key("Principal").Texts()
	aws, _ := s.Key("Principal", "AWS").Texts()
	return slices.Contains(all, "*") || slices.Contains(aws, "*")
}

// lets tells whether EventBridge may do the action.
func lets(list []Statement, action string) bool {
	return slices.ContainsFunc(list, func(s Statement) bool {
		services, _ := s.Key("Principal", "Service").Texts()
		return s.Allows(action) && slices.Contains(services, "events.amazonaws.com")
	})
}

func queueEncryptionReachable(c *Check, g Graph) {
	for _, queue := range g.OfType(typeQueue) {
		own := queue.Props.Key("sqsManagedSseEnabled")
		key := queue.Props.Key("kmsMasterKeyId")
		text, state := key.Text()
		switch on, s := own.Bool(); {
		case state == Absent || text == "" && state == Known:
			if c.Known(own, s) && !on || s == Absent {
				c.Violation(own, "queue %s is not encrypted", queue.Name)
			}
		case strings.HasPrefix(text, "alias/aws/"):
			c.Violation(key, "EventBridge cannot use the key that AWS manages for SQS")
		default:
			keyLetsEvents(c, g, queue, key)
		}
	}
}

func keyLetsEvents(c *Check, g Graph, queue Resource, at Value) {
	for _, key := range g.OfType(typeKey) {
		if Refers(queue, "kmsMasterKeyId", key, "arn") != Known &&
			Refers(queue, "kmsMasterKeyId", key, "keyId") != Known {
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

// karpenterPool is a NodePool of ours that Karpenter serves, or nil.
func karpenterPool(g Graph) *Pool {
	for _, p := range g.Pools() {
		if group, _ := p.Props.Key("spec", "template", "spec", "nodeClassRef", "group").Text(); !p.Managed &&
			group == karpenterAPI {
			return &p
		}
	}
	return nil
}

func interruptionRulesComplete(c *Check, g Graph) {
	p := karpenterPool(g)
	if p == nil {
		return
	}
	queues := g.OfType(typeQueue)
	if len(queues) == 0 {
		c.Violation(p.Props.Key("spec", "template", "spec", "nodeClassRef"), "Karpenter makes nodes and this stack "+
			"has no queue for interruptions")
		return
	}
	made := map[string]bool{}
	unread := false
	for _, rule := range g.OfType(typeEventRule) {
		pattern := rule.Props.Key("eventPattern")
		document := pattern.JSON()
		sources, s1 := document.Key("source").Texts()
		details, s2 := document.Key("detail-type").Texts()
		if !c.Known(pattern, max(s1, s2)) && (s1 == Unknown || s2 == Unknown) {
			unread = true
			continue
		}
		target, to := targetOf(g, rule)
		if target == Unknown {
			c.Unknown(to)
		}
		for _, detail := range details {
			for _, source := range sources {
				if !slices.ContainsFunc(interruptions,
					func(i struct{ source, detailType string }) bool {
						return i.source == source &&
							i.detailType == detail
					}) {
					c.Violation(pattern, "rule %s waits for an event that AWS does not send under this name", rule.Name)
				}
				made[source+detail] = true
			}
		}
		if state, _ := rule.Props.Key("state").Text(); state == "DISABLED" {
			c.Violation(rule.Props.Key("state"), "the rule is switched off")
		}
		if target == Absent {
			c.Violation(rule.Props.Key("name"), "rule %s has no target that is a queue of this stack", rule.Name)
		}
	}
	for _, i := range interruptions {
		if !made[i.source+i.detailType] && !unread {
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

// targetOf tells whether a rule has a target that is a queue of this stack.
func targetOf(g Graph, rule Resource) (State, Value) {
	best, at := Absent, Value{}
	for _, target := range g.OfType(typeEventTarget) {
		of := Refers(target, "rule", rule, "name")
		for _, queue := range g.OfType(typeQueue) {
			switch to := Refers(target, "arn", queue, "arn"); {
			case of == Known && to == Known:
				return Known, target.Props.Key("arn")
			case of != Absent && to != Absent:
				best, at = Unknown, target.Props.Key("arn")
			}
		}
	}
	return best, at
}

func interruptionQueueReadable(c *Check, g Graph) {
	queues := g.OfType(typeQueue)
	if karpenterPool(g) == nil || len(queues) == 0 {
		return
	}
	reads := []string{"sqs:ReceiveMessage", "sqs:DeleteMessage", "sqs:GetQueueUrl"}
	unread := false
	granted := map[string]bool{} // action on queue
	for _, r := range g.OfType(typePolicy, typeRolePolicy, typeRole) {
		for _, document := range documents(r) {
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
					arn, state := at.Text()
					if !c.Known(at, state) {
						unread = true
						continue
					}
					i := slices.IndexFunc(queues,
						func(q Resource) bool { own, s := q.Props.Key("arn").Text(); return s == Known && own == arn })
					if i < 0 {
						if slices.ContainsFunc(queues,
							func(q Resource) bool { return q.Props.Key("arn").State() == Unknown }) {
							c.Unknown(at)
							unread = true
							continue
						}
						c.Violation(at, "it is no queue of this stack")
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
