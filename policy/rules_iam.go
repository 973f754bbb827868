package main

import (
	"slices"
	"strings"
)

var identityPolicies = []string{typePolicy, typeRolePolicy, typeRole}

// IAM rules read the documents, statement by statement.
var iamRules = []Rule{
	{
		Name:     "iam-trust-exact",
		Area:     "iam",
		Level:    Mandatory,
		Types:    []string{typeRole},
		Resource: iamTrustExact,
		Why:      "Another service account, or none, could assume a controller's role.",
		Remedy: "one issuer a statement, with StringEquals on <issuer host and path>:sub (a full " +
			"system:serviceaccount:<ns>:<name>) and :aud (sts.amazonaws.com)",
		Faults: []string{"BR-35", "BR-36", "BR-37"},
	},
	{
		Name: "iam-actions-named", Area: "iam", Level: Mandatory, Types: identityPolicies, Resource: iamActionsNamed,
		Why:    "A wildcard grants what its service adds next year.",
		Remedy: "name each action; only reads may end in a star (Describe*, Get*, List*)",
	},
	{
		Name:     "iam-pass-role-scoped",
		Area:     "iam",
		Level:    Mandatory,
		Types:    identityPolicies,
		Resource: iamPassRoleScoped,
		Why:      "Who may pass any role has every role's permissions.",
		Remedy:   "name the role's ARN in a statement of its own",
		Faults:   []string{"BR-43"},
	},
	{
		Name:     "iam-autoscaler-scoped",
		Area:     "iam",
		Level:    Mandatory,
		Types:    identityPolicies,
		Resource: iamAutoscalerScoped,
		Why:      "cluster-autoscaler could scale another cluster's groups, or cannot read its own.",
		Remedy: "condition the writes on aws:ResourceTag/k8s.io/cluster-autoscaler/<cluster>, and leave " +
			"eks:DescribeNodegroup without a tag condition",
		Faults: []string{"BR-05"},
	},
	{
		Name:     "partition-matches-region",
		Area:     "iam",
		Level:    Mandatory,
		Types:    []string{"aws:", typeEC2NodeClass},
		Resource: partitionMatchesRegion,
		Why:      "An ARN with a written partition is refused outside the commercial regions.",
		Remedy:   "build ARNs from the looked-up partition",
		Faults:   []string{"BR-40"},
	},
}

// Statement of a policy document.
type Statement struct{ Value }

// statements of a document given as JSON text or as an object.
func statements(c *Check, document Value) []Statement {
	list, state := document.JSON().Key("Statement").List()
	if state == Unknown {
		c.Unknown(document)
	}
	var out []Statement
	for _, s := range list {
		out = append(out, Statement{s})
	}
	return out
}

// Allows tells whether the statement allows the action, wildcards in the document counted.
func (s Statement) Allows(action string) bool {
	if effect, _ := s.Key("Effect").Text(); effect != "Allow" {
		return false
	}
	actions, _ := s.Key("Action").Texts()
	return slices.ContainsFunc(actions, func(pattern string) bool {
		return like(strings.ToLower(pattern),
			strings.ToLower(action))
	})
}

// like matches IAM's * wildcard; ? is not used by any document of ours and matches only itself.
func like(pattern, text string) bool {
	parts := strings.Split(pattern, "*")
	if len(parts) == 1 {
		return pattern == text
	}
	if !strings.HasPrefix(text, parts[0]) {
		return false
	}
	text = text[len(parts[0]):]
	for _, part := range parts[1 : len(parts)-1] {
		i := strings.Index(text, part)
		if i < 0 {
			return false
		}
		text = text[i+len(part):]
	}
	return strings.HasSuffix(text, parts[len(parts)-1])
}

// documents of an identity: its policy, or a role's inline ones.
func documents(r Resource) []Value {
	if r.Type != typeRole {
		return []Value{r.Props.Key("policy")}
	}
	var out []Value
	inline, _ := r.Props.Key("inlinePolicies").Elements()
	for _, p := range inline {
		out = append(out, p.Key("policy"))
	}
	return out
}

func iamTrustExact(c *Check, r Resource) {
	for _, s := range statements(c, r.Props.Key("assumeRolePolicy")) {
		if s.Allows("sts:AssumeRoleWithWebIdentity") {
			trustExact(c, s)
		}
	}
}

func trustExact(c *Check, s Statement) {
	federated := s.Key("Principal", "Federated")
	arns, state := federated.Texts()
	if state == Unknown {
		c.Unknown(federated)
		return
	}
	if len(arns) != 1 {
		c.Violation(federated, "the statement has %d issuers, it must have one", len(arns))
		return
	}
	_, issuer, found := strings.Cut(arns[0], ":oidc-provider/")
	if !found {
		c.Violation(federated, "it is not the ARN of an OIDC provider")
		return
	}
	operators, _ := s.Key("Condition").Keys()
	for _, operator := range operators {
		keys, _ := s.Key("Condition", operator).Keys()
		for _, key := range keys {
			at := s.Key("Condition", operator)
			if operator != "StringEquals" || key != issuer+":sub" && key != issuer+":aud" {
				c.Violation(at,
					"condition %s under %s is neither sub nor aud of this statement's issuer by exact match",
					at.ShowKey(key), at.ShowKey(operator))
			}
		}
	}
	exact := s.Key("Condition", "StringEquals")
	c.only(exact, issuer+":sub", "the subject is not one full service account", func(text string) bool {
		return strings.HasPrefix(text, "system:serviceaccount:") && strings.Count(text, ":") == 3 &&
			!strings.ContainsAny(text, "*?") && !strings.HasSuffix(text, ":")
	})
	c.only(exact, issuer+":aud", "the audience is not sts.amazonaws.com",
		func(text string) bool { return text == "sts.amazonaws.com" })
}

// only reports a condition key whose values do not all hold, or that has none. The key is left out of the message: it
// holds the issuer.
func (c *Check) only(exact Value, key, says string, holds func(string) bool) {
	at := exact.Key(key)
	texts, state := at.Texts()
	if state == Unknown {
		c.Unknown(exact)
		return
	}
	if len(texts) == 0 || slices.ContainsFunc(texts, func(text string) bool { return !holds(text) }) {
		shown := at
		shown.path = exact.path + "[\"..." + key[strings.LastIndex(key, ":"):] + "\"]"
		c.Violation(shown, "%s", says)
	}
}

func iamActionsNamed(c *Check, r Resource) {
	for _, document := range documents(r) {
		for _, s := range statements(c, document) {
			if effect, _ := s.Key("Effect").Text(); effect != "Allow" {
				continue
			}
			if at := s.Key("NotAction"); at.State() != Absent {
				c.Violation(at, "it grants everything else")
			}
			actions, state := s.Key("Action").List()
			c.Known(s.Key("Action"), state)
			for _, a := range actions {
				text, state := a.Text()
				if !c.Known(a, state) || !strings.Contains(text, "*") {
					continue
				}
				_, verb, _ := strings.Cut(text, ":")
				reads := slices.ContainsFunc([]string{"Describe", "Get", "List"},
					func(p string) bool { return strings.HasPrefix(verb, p) })
				if !reads || strings.Index(verb, "*") != len(verb)-1 {
					c.Violation(a, "the action is a wildcard")
				}
			}
		}
	}
}

func iamPassRoleScoped(c *Check, r Resource) {
	for _, document := range documents(r) {
		for _, s := range statements(c, document) {
			if !s.Allows("iam:PassRole") {
				continue
			}
			resources, state := s.Key("Resource").List()
			if !c.Known(s.Key("Resource"), state) {
				continue
			}
			for _, at := range resources {
				if text, state := at.Text(); c.Known(at, state) && strings.Contains(text, "*") {
					c.Violation(at, "iam:PassRole covers more than one role")
				}
			}
		}
	}
}

func iamAutoscalerScoped(c *Check, r Resource) {
	for _, document := range documents(r) {
		for _, s := range statements(c, document) {
			tagged := false
			s.Key("Condition").keysWithin(func(key string) { tagged = tagged || strings.Contains(key, "ResourceTag/") })
			if s.Key("Condition").State() == Unknown {
				c.Unknown(s.Key("Condition"))
				continue
			}
			for _, write := range []string{"autoscaling:SetDesiredCapacity",
				"autoscaling:TerminateInstanceInAutoScalingGroup"} {
				if s.Allows(write) && !tagged {
					c.Violation(s.Key("Condition"), "%s is allowed on every group of the account", write)
					break
				}
			}
			if s.Allows("eks:DescribeNodegroup") && tagged {
				c.Violation(s.Key("Condition"), "the tag condition cancels eks:DescribeNodegroup, and pools at zero "+
					"read as without labels")
			}
		}
	}
}

// keysWithin calls f for the keys of a condition's operators.
func (v Value) keysWithin(f func(string)) {
	operators, _ := v.Keys()
	for _, operator := range operators {
		keys, _ := v.Key(operator).Keys()
		for _, key := range keys {
			f(key)
		}
	}
}

// partition of a region, by its name. https://docs.aws.amazon.com/IAM/latest/UserGuide/reference-arns.html
func partition(region string) string {
	switch {
	case region == "":
		return ""
	case strings.HasPrefix(region, "cn-"):
		return "aws-cn"
	case strings.HasPrefix(region, "us-gov-"):
		return "aws-us-gov"
	case strings.HasPrefix(region, "eusc-"):
		return "aws-eusc"
	}
	return "aws"
}

func partitionMatchesRegion(c *Check, r Resource) {
	want := partition(c.Env.Region)
	if want == "" {
		c.Unknown(Value{urn: r.URN, path: "aws:region"})
		return
	}
	r.Props.Leaves(func(v Value) {
		text, _ := v.Text() // what is unknown is built from outputs, not written
		for rest := text; ; {
			_, after, found := strings.Cut(rest, "arn:")
			if !found {
				return
			}
			rest = after
			got, _, _ := strings.Cut(after, ":")
			if strings.HasPrefix(got, "aws") && got != want {
				c.Violation(v, "an ARN in it has another partition than %s, the one of region %s", want, c.Env.Region)
				return
			}
		}
	})
}
