package aws

import (
	"fmt"
	"strings"
	"testing"

	"github.com/headroom-eks/headroom/sandbox/world"
)

const root = "arn:aws:iam::123456789012:root"

func TestKeys(t *testing.T) {
	a := newAccount(t)
	admin := obj{"Sid": "admin", "Effect": "Allow", "Principal": obj{"AWS": root}, "Action": "kms:*", "Resource": "*"}
	logs := obj{
		"Sid":       "Allow logs",
		"Effect":    "Allow",
		"Principal": obj{"Service": "logs.us-west-2.amazonaws.com"},
		"Action":    []string{"kms:Encrypt*", "kms:Decrypt*"},
		"Resource":  "*",
	}
	bare := a.create(tKey, "bare", obj{"description": "secrets", "enableKeyRotation": true})
	if str(bare.out, "arn") != "arn:aws:kms:us-west-2:123456789012:key/"+bare.id || bare.out["keyId"] != bare.id {
		t.Errorf("outputs %v", bare.out)
	}
	a.refuses(tKey, obj{"policy": policyDocument(logs)}, "will not allow you to update the key policy")
	a.refuses(tKey, obj{"policy": policyDocument(obj{
		"Effect":   "Allow",
		"Action":   "kms:*",
		"Resource": "*",
	})}, "MalformedPolicyDocumentException", "Principal")
	a.fails(tKey, obj{"deletionWindowInDays": 5}, "deletionWindowInDays", "7 - 30")
	a.refuses(tLogGroup, obj{"name": "x", "kmsKeyId": bare.out["arn"]}, "AccessDeniedException",
		"not allowed to be used")
	good := a.create(tKey, "logs", obj{"policy": policyDocument(admin, logs)})
	a.create(tLogGroup, "logs", obj{"name": "x", "kmsKeyId": good.out["arn"]})
	a.create("aws:kms/keyPolicy:KeyPolicy", "bare", obj{"keyId": bare.id, "policy": policyDocument(admin, logs)})
	a.create(tLogGroup, "more", obj{"name": "y", "kmsKeyId": bare.out["arn"]})
	a.refuses("aws:kms/keyPolicy:KeyPolicy", obj{"keyId": "none", "policy": policyDocument(admin)}, "NotFoundException")

	const alias = "aws:kms/alias:Alias"
	made := a.create(alias, "alias", obj{"name": "alias/headroom", "targetKeyId": good.id})
	if made.out["targetKeyArn"] != good.out["arn"] {
		t.Errorf("the alias points at %v", made.out["targetKeyArn"])
	}
	a.refuses(alias, obj{"name": "alias/headroom", "targetKeyId": good.id}, "AlreadyExistsException", "alias/headroom")
	a.refuses(alias, obj{"name": "alias/other", "targetKeyId": "none"}, "NotFoundException")
	a.fails(alias, obj{"name": "headroom", "targetKeyId": good.id}, "name", "alias/")
	a.fails(alias, obj{"name": "alias/aws/eks", "targetKeyId": good.id}, "name", "reserved")
	named, _ := a.check(alias, "secrets", obj{"targetKeyId": good.id})
	if name := str(named, "name"); !strings.HasPrefix(name, "alias/secrets-") {
		t.Errorf("auto-named %q", name)
	}
}

func TestQueues(t *testing.T) {
	a := newAccount(t)
	queue := a.create(tQueue, "interruption", obj{"messageRetentionSeconds": 300, "sqsManagedSseEnabled": true})
	name := str(queue.out, "name")
	if queue.id != "https://sqs.us-west-2.amazonaws.com/123456789012/"+name ||
		str(queue.out, "arn") != "arn:aws:sqs:us-west-2:123456789012:"+name {
		t.Errorf("id %s, outputs %v", queue.id, queue.out)
	}
	if got := a.asks("aws:sqs/getQueue:getQueue", obj{"name": name}); got["arn"] != queue.out["arn"] {
		t.Errorf("answer %v", got)
	}
	if _, err := a.ask("aws:sqs/getQueue:getQueue", obj{"name": "none"}); err == nil {
		t.Error("a queue that is not there is found")
	}
	a.refuses(tQueue, obj{"name": name}, "QueueAlreadyExists")
	a.fails(tQueue, obj{"messageRetentionSeconds": 30}, "messageRetentionSeconds", "60 - 1209600")
	a.fails(tQueue, obj{"name": strings.Repeat("q", 81)}, "name", "1 - 80")
	a.fails(tQueue, obj{"sqsManagedSseEnabled": true, "kmsMasterKeyId": "alias/aws/sqs"}, "kmsMasterKeyId", "one type")
	const typ = "aws:sqs/queuePolicy:QueuePolicy"
	good := policyDocument(obj{
		"Effect":    "Allow",
		"Principal": obj{"Service": "events.amazonaws.com"},
		"Action":    "sqs:SendMessage",
		"Resource":  queue.out["arn"],
	},
		obj{
			"Sid":       "DenyHTTP",
			"Effect":    "Deny",
			"Principal": "*",
			"Action":    "sqs:*",
			"Resource":  queue.out["arn"],
			"Condition": obj{"Bool": obj{"aws:SecureTransport": false}},
		})
	policy := a.create(typ, "interruption", obj{"queueUrl": queue.id, "policy": good})
	a.refuses(typ, obj{"queueUrl": "https://none", "policy": good}, "NonExistentQueue")
	a.refuses(typ, obj{
		"queueUrl": queue.id,
		"policy":   policyDocument(obj{"Effect": "Allow", "Action": "sqs:SendMessage", "Resource": "*"}),
	}, "Invalid value for the parameter Policy")
	if read, _ := a.read(queue); read.out["policy"] != good {
		t.Error("the queue does not show its policy")
	}
	a.deletes(policy)
	if read, _ := a.read(queue); has(read.out, "policy") {
		t.Error("the queue shows a policy that is gone")
	}
}

func TestEventRules(t *testing.T) {
	a := newAccount(t)
	pattern := `{"source":["aws.ec2"],"detail-type":["EC2 Spot Instance Interruption Warning"]}`
	rule := a.create(tRule, "spot", obj{"name": "headroom-spot", "eventPattern": pattern})
	a.refuses(tRule, obj{"name": "headroom-spot", "eventPattern": pattern}, "already exists") // field fault BR-31
	for _, bad := range []string{`[]`, `{}`, `{"source":"aws.ec2"}`, `{"source":[]}`,
		`{"detail":{"state":"stopped"}}`} {
		a.refuses(tRule, obj{"eventPattern": bad}, "InvalidEventPatternException")
	}
	a.fails(tRule, obj{"eventPattern": "{"}, "eventPattern", "invalid JSON")
	a.fails(tRule, obj{}, "eventPattern", "one of")
	a.fails(tRule, obj{"name": strings.Repeat("r", 65), "eventPattern": pattern}, "name", "1 - 64")
	if d := a.diff(rule, obj{"name": "headroom-spot",
		"eventPattern": strings.ReplaceAll(pattern, ",", " , ")}); len(d.Changed) > 0 {
		t.Errorf("white space in a pattern changes %v", d.Changed)
	}
	queue := a.create(tQueue, "q", obj{})
	target := a.create(tTarget, "spot", obj{"rule": rule.id, "arn": queue.out["arn"]})
	a.refuses(tTarget, obj{"rule": "none", "arn": queue.out["arn"]}, "ResourceNotFoundException", "none")
	a.refuses(tTarget, obj{"rule": rule.id, "arn": queue.out["name"]}, "not in correct format")
	for i := range 4 {
		a.create(tTarget, fmt.Sprint("t", i), obj{"rule": rule.id, "arn": queue.out["arn"]})
	}
	a.refuses(tTarget, obj{"rule": rule.id, "arn": queue.out["arn"]}, "LimitExceededException")
	wantError(t, a.delete(rule), "Rule can't be deleted since it has targets")
	a.deletes(target)
}

func TestGroupTags(t *testing.T) {
	a := newAccount(t)
	p := a.platform()
	lt := a.create(tLaunchTemplate, "gpu", templateInputs("gpu-l4"))
	group := a.create(tNodeGroup, "gpu", groupInputs(p, lt, 0, 0, 4))
	asg := at(group.out, "resources.autoscalingGroups.name")[0]
	tags := func() map[string]string {
		out := map[string]string{}
		for _, v := range list(a.asks("aws:autoscaling/getGroup:getGroup", obj{"name": asg}), "tags") {
			out[str(v.(obj), "key")] = str(v.(obj), "value")
		}
		return out
	}
	if got := tags(); got["k8s.io/cluster-autoscaler/enabled"] != "true" ||
		got["k8s.io/cluster-autoscaler/headroom-test"] != "owned" {
		t.Errorf("EKS's own tags are missing: %v", got)
	}
	const typ = "aws:autoscaling/tag:Tag"
	in := func(key, value string) obj {
		return obj{"autoscalingGroupName": asg, "tag": obj{"key": key, "value": value, "propagateAtLaunch": false}}
	}
	const key = "k8s.io/cluster-autoscaler/node-template/taint/nvidia.com/gpu"
	tag := a.create(typ, "taint", in(key, "true:NoSchedule"))
	if got := tags()[key]; got != "true:NoSchedule" {
		t.Errorf("tag value %q", got)
	}
	if d := a.diff(tag, in(key, "false:NoSchedule")); len(d.Replaces) > 0 || len(d.Changed) != 1 {
		t.Errorf("a new value changes %v and replaces %v", d.Changed, d.Replaces)
	}
	if d := a.diff(tag, in("other", "true:NoSchedule")); len(d.Replaces) != 1 {
		t.Errorf("a new key replaces %v", d.Replaces)
	}
	a.refuses(typ, with(in("k", "v"), obj{"autoscalingGroupName": "none"}), "AutoScalingGroup name not found")
	a.fails(typ, in(strings.Repeat("k", 129), "v"), "tag", "1 to 128")
	a.fails(typ, in("k", strings.Repeat("v", 257)), "tag", "at most 256")
	a.fails(typ, obj{"autoscalingGroupName": "x", "tag": obj{"key": "k", "value": "v"}}, "tag.propagateAtLaunch",
		"required")
	for i := len(tags()); i < maxTags; i++ {
		a.create(typ, fmt.Sprint("t", i), in(fmt.Sprint("k", i), "v"))
	}
	a.refuses(typ, in("one-more", "v"), "LimitExceeded")
	a.deletes(tag)
	if _, there := tags()[key]; there {
		t.Error("the tag outlives its resource")
	}
	a.deletes(group)
	a.deletes(thing{typ: typ, id: fmt.Sprintf("%s,%s", asg, "k49"), in: in("k49", "v")})
}

func TestParameters(t *testing.T) {
	a := newAccount(t)
	in := obj{"name": "/headroom/test/capacity", "type": "String", "value": "{}"}
	p := a.create(tParameter, "capacity", in)
	a.refuses(tParameter, in, "ParameterAlreadyExists")
	p = a.update(p, with(in, obj{"value": "{ }"}))
	if num(p.out, "version") != 2 || str(p.out,
		"arn") != "arn:aws:ssm:us-west-2:123456789012:parameter/headroom/test/capacity" {
		t.Errorf("outputs %v", p.out)
	}
	if got := a.asks("aws:ssm/getParameter:getParameter", obj{"name": in["name"]}); got["value"] != "{ }" {
		t.Errorf("value %v", got["value"])
	}
	a.refuses(tParameter, with(in, obj{"name": "big", "value": strings.Repeat("x", 4097)}), "ValidationException",
		"4096")
	a.create(tParameter, "advanced", with(in, obj{
		"name":  "big",
		"tier":  "Advanced",
		"value": strings.Repeat("x", 8192),
	}))
	a.fails(tParameter, with(in, obj{"name": "/aws/x"}), "name", "aws")
	a.fails(tParameter, obj{"name": "x", "type": "String"}, "value", "one of")
}

func TestPermissionLost(t *testing.T) {
	cases := map[string]struct {
		action string
		call   func(*account) error
		wanted string
	}{
		"quota": {"servicequotas:GetServiceQuota", func(a *account) error {
			_, err := a.ask("aws:servicequotas/getServiceQuota:getServiceQuota", obj{
				"serviceCode": "ec2",
				"quotaCode":   world.QuotaGOnDemand,
			})
			return err
		}, "AccessDeniedException"},
		"instances": {"ec2:Describe*", func(a *account) error {
			_, err := a.ask("aws:ec2/getInstances:getInstances", obj{})
			return err
		}, "UnauthorizedOperation"},
		"creation": {"ec2:CreateVpc", func(a *account) error {
			_, err := a.try(tVpc, "net", obj{"cidrBlock": "10.0.0.0/16"})
			return err
		}, "UnauthorizedOperation"},
		"role": {"iam:*", func(a *account) error {
			_, err := a.try(tRole, "r", obj{"assumeRolePolicy": trust("ec2.amazonaws.com")})
			return err
		}, "AccessDenied: "},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			a := newAccount(t)
			if err := c.call(a); err != nil {
				t.Fatalf("before it is denied: %v", err)
			}
			a = newAccount(t)
			a.act(func(s *world.State) error { return s.Deny(c.action) })
			wantError(t, c.call(a), c.wanted, "not authorized to perform")
			a.act(func(s *world.State) error { return s.Allow(c.action) })
			if err := c.call(a); err != nil {
				t.Errorf("after it is allowed: %v", err)
			}
		})
	}
	a := newAccount(t)
	vpc := a.create(tVpc, "net", obj{"cidrBlock": "10.0.0.0/16"})
	a.act(func(s *world.State) error { return s.Deny("ec2:DeleteVpc") })
	wantError(t, a.delete(vpc), "UnauthorizedOperation")
}
