// Package interruption tells a cluster's Karpenter in time that EC2 will take an instance away: a queue, and the event
// rules that fill it.
//
// It owns the queue, its policy, the rules and their targets: one set for each cluster, since a controller deletes
// messages about instances it does not know (field fault BR-32). It does not own who reads the queue (package
// karpenter).
package interruption

import (
	"fmt"

	"github.com/headroom-eks/headroom/components/handle"
	"github.com/headroom-eks/headroom/components/iampolicy"
	"github.com/pulumi/pulumi-aws/sdk/v6/go/aws/cloudwatch"
	"github.com/pulumi/pulumi-aws/sdk/v6/go/aws/sqs"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
)

const queueType = "headroom:interruption:Queue"

// Args of the queue.
type Args struct {
	// KMSKeyArn of a customer's key that encrypts the queue; nil lets SQS encrypt with its own. The key's policy must
	// allow events.amazonaws.com the actions kms:Decrypt and kms:GenerateDataKey, or no message ever arrives; AWS's own
	// key for SQS (alias/aws/sqs) cannot allow that.
	// https://docs.aws.amazon.com/eventbridge/latest/userguide/eb-troubleshooting.html
	KMSKeyArn pulumi.StringInput
	// Account to make it in: its tags are used.
	Account handle.Account
}

// Queue of interruption warnings.
type Queue struct {
	pulumi.ResourceState

	// QueueName for the controller's settings, QueueArn for its permissions (field fault BR-28).
	QueueName, QueueArn pulumi.StringOutput
	// Ready must exist before a controller that listens, and outlive it: queue, policy and targets.
	Ready []pulumi.Resource
}

// New makes the queue, its rules and their targets. A nil args takes SQS's own encryption.
func New(ctx *pulumi.Context, name string, args *Args, opts ...pulumi.ResourceOption) (*Queue, error) {
	if args == nil {
		args = &Args{}
	}
	c := &Queue{}
	inputs := pulumi.Map{"kmsKeyArn": args.KMSKeyArn}
	if err := ctx.RegisterComponentResourceV2(queueType, name, inputs, c, opts...); err != nil {
		return nil, fmt.Errorf("register %s: %w", name, err)
	}
	queue, err := c.queue(ctx, name, args)
	if err != nil {
		return nil, err
	}
	rules, err := c.rules(ctx, name, args)
	if err != nil {
		return nil, err
	}
	policy, err := c.policy(ctx, name, queue, rules)
	if err != nil {
		return nil, err
	}
	c.Ready = []pulumi.Resource{queue, policy}
	for i, r := range Rules {
		target, err := cloudwatch.NewEventTarget(ctx, name+"-"+r.Key, &cloudwatch.EventTargetArgs{
			Rule: rules[i].Name,
			Arn:  queue.Arn,
			// The policy first: EventBridge drops an event that it may not deliver.
		}, pulumi.Parent(c), pulumi.DependsOn([]pulumi.Resource{policy}))
		if err != nil {
			return nil, fmt.Errorf("create target of rule %s of %s: %w", r.Key, name, err)
		}
		c.Ready = append(c.Ready, target)
	}
	c.QueueName, c.QueueArn = queue.Name, queue.Arn
	return c, ctx.RegisterResourceOutputs(c, pulumi.Map{"queueName": c.QueueName, "queueArn": c.QueueArn})
}

func (c *Queue) queue(ctx *pulumi.Context, name string, args *Args) (*sqs.Queue, error) {
	queueArgs := &sqs.QueueArgs{
		MessageRetentionSeconds: pulumi.Int(retentionSeconds),
		Tags:                    pulumi.ToStringMap(args.Account.Tags),
	}
	if args.KMSKeyArn == nil {
		queueArgs.SqsManagedSseEnabled = pulumi.Bool(true)
	} else {
		queueArgs.KmsMasterKeyId = args.KMSKeyArn.ToStringOutput().ToStringPtrOutput()
	}
	queue, err := sqs.NewQueue(ctx, name+"-queue", queueArgs, pulumi.Parent(c))
	if err != nil {
		return nil, fmt.Errorf("create queue of %s: %w", name, err)
	}
	return queue, nil
}

// rules makes one rule for each of Rules, in their order.
func (c *Queue) rules(ctx *pulumi.Context, name string, args *Args) ([]*cloudwatch.EventRule, error) {
	var made []*cloudwatch.EventRule
	for _, r := range Rules {
		pattern, err := r.Pattern()
		if err != nil {
			return nil, fmt.Errorf("write pattern of rule %s: %w", r.Key, err)
		}
		rule, err := cloudwatch.NewEventRule(ctx, name+"-"+r.Key, &cloudwatch.EventRuleArgs{
			Description:  pulumi.Sprintf("%s, for Karpenter", r.DetailType),
			EventPattern: pulumi.String(pattern),
			Tags:         pulumi.ToStringMap(args.Account.Tags),
		}, pulumi.Parent(c))
		if err != nil {
			return nil, fmt.Errorf("create rule %s of %s: %w", r.Key, name, err)
		}
		made = append(made, rule)
	}
	return made, nil
}

// policy lets the rules, and nobody else's, put messages in the queue.
func (c *Queue) policy(ctx *pulumi.Context, name string, queue *sqs.Queue,
	rules []*cloudwatch.EventRule) (*sqs.QueuePolicy, error) {
	ruleArns := pulumi.StringArray{}
	for _, rule := range rules {
		ruleArns = append(ruleArns, rule.Arn)
	}
	policy, err := sqs.NewQueuePolicy(ctx, name+"-policy", &sqs.QueuePolicyArgs{
		QueueUrl: queue.Url,
		Policy: pulumi.All(queue.Arn, ruleArns).ApplyT(func(v []any) (string, error) {
			queueArn, _ := v[0].(string)
			arns, _ := v[1].([]string)
			return QueuePolicy(queueArn, arns).JSON(iampolicy.QueueLimit)
		}).(pulumi.StringOutput),
	}, pulumi.Parent(c))
	if err != nil {
		return nil, fmt.Errorf("create queue policy of %s: %w", name, err)
	}
	return policy, nil
}
