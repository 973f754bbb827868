package rules

import (
	"slices"
	"strings"

	"github.com/headroom-eks/headroom/policy/view"
	"github.com/pulumi/pulumi/sdk/v3/go/property"
)

var identityPolicies = []string{view.TypePolicy, view.TypeRolePolicy, view.TypeRole}

// IAM rules read the documents, statement by statement.
var iamRules = []Rule{
	{
		Name:     "iam-trust-exact",
		Area:     "iam",
		Level:    Mandatory,
		Types:    []string{view.TypeRole},
		Resource: iamTrustExact,
		Why:      "Another service account, or none, could assume a controller's role.",
		Remedy: "one issuer a statement, with StringEquals on <issuer host and path>:sub (a full " +
			"system:serviceaccount:<ns>:<name>) and :aud (sts.amazonaws.com)",
		Faults: []string{"BR-35", "BR-36", "BR-37"},
	},
	{
		Name:     "iam-actions-named",
		Area:     "iam",
		Level:    Mandatory,
		Types:    identityPolicies,
		Resource: iamActionsNamed,
		Why:      "A wildcard grants what its service adds next year.",
		Remedy:   "name each action; only reads may end in a star (Describe*, Get*, List*)",
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
		Types:    []string{"aws:", view.TypeEC2NodeClass},
		Resource: partitionMatchesRegion,
		Why:      "An ARN with a written partition is refused outside the commercial regions.",
		Remedy:   "build ARNs from the looked-up partition",
		Faults:   []string{"BR-40"},
	},
}

// statements of a document; what cannot be read is noted.
func statements(c *Check, document view.Value) []view.Statement {
	list, state := view.Statements(document)
	c.Known(document, state)
	return list
}

func iamTrustExact(c *Check, r view.Resource) {
	for _, s := range statements(c, r.Props.Key("assumeRolePolicy")) {
		if s.Allows("sts:AssumeRoleWithWebIdentity") {
			trustExact(c, s)
		}
	}
}

func trustExact(c *Check, s view.Statement) {
	federated := s.Key("Principal", "Federated")
	arns, state := federated.Texts()
	if state == view.Unknown {
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
func (c *Check) only(exact view.Value, key, says string, holds func(string) bool) {
	at := exact.Key(key)
	texts, state := at.Texts()
	if state == view.Unknown {
		c.Unknown(exact)
		return
	}
	if len(texts) == 0 || slices.ContainsFunc(texts, func(text string) bool { return !holds(text) }) {
		c.Violation(at.At(exact.Path()+"[\"..."+key[strings.LastIndex(key, ":"):]+"\"]"), "%s", says)
	}
}

func iamActionsNamed(c *Check, r view.Resource) {
	for _, document := range view.Documents(r) {
		for _, s := range statements(c, document) {
			if effect, _ := s.Key("Effect").Text(); effect != "Allow" {
				continue
			}
			if at := s.Key("NotAction"); at.State() != view.Absent {
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

func iamPassRoleScoped(c *Check, r view.Resource) {
	for _, document := range view.Documents(r) {
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

func iamAutoscalerScoped(c *Check, r view.Resource) {
	for _, document := range view.Documents(r) {
		for _, s := range statements(c, document) {
			tagged := slices.ContainsFunc(s.ConditionKeys(), func(key string) bool {
				return strings.Contains(key, "ResourceTag/")
			})
			if s.Key("Condition").State() == view.Unknown {
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

func partitionMatchesRegion(c *Check, r view.Resource) {
	want := partition(c.Env.Region)
	if want == "" {
		c.Unknown(view.NewValue(r.URN, "aws:region", property.Value{}))
		return
	}
	r.Props.Leaves(func(v view.Value) {
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
