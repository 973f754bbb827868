package iameval_test

import (
	"testing"

	"github.com/headroom-eks/headroom/components/iampolicy"
	"github.com/headroom-eks/headroom/tests/karpenter/iameval"
)

const allow = `{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Action":["ec2:Run*","ec2:CreateTags"],` +
	`"Resource":"arn:aws:ec2:us-west-2:*:instance/*",` +
	`"Condition":{"StringEquals":{"aws:RequestTag/owner":["a","b"]},"StringLike":{"aws:RequestTag/pool":"*"},` +
	`"StringEqualsIfExists":{"aws:RequestTag/name":"c"},` +
	`"ForAllValues:StringEquals":{"aws:TagKeys":["owner","pool","name"]}}}]}`

const deny = `{"Version":"2012-10-17","Statement":[{"Effect":"Deny","Action":"ec2:*","Resource":"*",` +
	`"Condition":{"Bool":{"aws:SecureTransport":"false"}}}]}`

func TestDecisions(t *testing.T) {
	const instance = "arn:aws:ec2:us-west-2:123456789012:instance/i-1"
	tags := func(pairs ...string) map[string][]string {
		context := map[string][]string{"aws:SecureTransport": {"true"}}
		for i := 0; i < len(pairs); i += 2 {
			context["aws:RequestTag/"+pairs[i]] = []string{pairs[i+1]}
			context["aws:TagKeys"] = append(context["aws:TagKeys"], pairs[i])
		}
		return context
	}
	insecure := tags("owner", "a", "pool", "x")
	insecure["aws:SecureTransport"] = []string{"false"}
	cases := map[string]struct {
		action, resource string
		context          map[string][]string
		want             bool
	}{
		"all holds":               {"ec2:RunInstances", instance, tags("owner", "a", "pool", "x"), true},
		"the other of two values": {"ec2:CreateTags", instance, tags("owner", "b", "pool", "x"), true},
		"action in other case":    {"EC2:runinstances", instance, tags("owner", "a", "pool", "x"), true},
		"optional key holds": {"ec2:RunInstances", instance, tags("owner", "a", "pool", "x", "name", "c"),
			true},
		"optional key does not hold": {"ec2:RunInstances", instance, tags("owner", "a", "pool", "x", "name", "d"),
			false},
		"a tag key too many": {"ec2:RunInstances", instance, tags("owner", "a", "pool", "x", "cost", "y"),
			false},
		"wrong value":                 {"ec2:RunInstances", instance, tags("owner", "z", "pool", "x"), false},
		"absent key":                  {"ec2:RunInstances", instance, tags("pool", "x"), false},
		"absent key under a wildcard": {"ec2:RunInstances", instance, tags("owner", "a"), false},
		"other action":                {"ec2:TerminateInstances", instance, tags("owner", "a", "pool", "x"), false},
		"other kind": {"ec2:RunInstances", "arn:aws:ec2:us-west-2:123456789012:volume/v",
			tags("owner", "a", "pool", "x"), false},
		"other region": {"ec2:RunInstances", "arn:aws:ec2:us-east-1:123456789012:instance/i",
			tags("owner", "a", "pool", "x"), false},
		"wildcard over a colon": {"ec2:RunInstances", "arn:aws:ec2:us-west-2:x:y:instance/i",
			tags("owner", "a", "pool", "x"), false},
		"an explicit deny has the say": {"ec2:RunInstances", instance, insecure, false},
	}
	var documents []iampolicy.Document
	for _, text := range []string{allow, deny} {
		d, err := iameval.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		documents = append(documents, d)
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := iameval.Allowed(documents, iameval.Request{
				Action:   c.action,
				Resource: c.resource,
				Context:  c.context,
			})
			if err != nil || got != c.want {
				t.Errorf("%v (%v), want %v", got, err, c.want)
			}
		})
	}
}

func TestWhatIsNotKnownIsAnErrorAndNoAnswer(t *testing.T) {
	if _,
		err := iameval.Parse(
		`{"Version":"2012-10-17","Statement":[{"Effect":"Allow","NotAction":"iam:*","Resource":"*"}]}`); err == nil {
		t.Error("NotAction was read as if it were not there")
	}
	d := iampolicy.New(iampolicy.Statement{Action: iampolicy.Strings{"*"}, Resource: iampolicy.Strings{"*"},
		Condition: iampolicy.Conditions{"DateLessThan": {"aws:CurrentTime": {"2027-01-01"}}}})
	if got, err := iameval.Allowed([]iampolicy.Document{d}, iameval.Request{
		Action:   "s3:GetObject",
		Resource: "arn:aws:s3:::b/k",
	}); err == nil || got {
		t.Errorf("an unknown operator gave %v, %v", got, err)
	}
}
