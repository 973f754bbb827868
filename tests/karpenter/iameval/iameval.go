// Package iameval decides whether identity policies allow a request, as far as the policies of this repository need it.
//
// It knows explicit allow and deny, wildcards in actions and resources, and the condition operators StringEquals,
// StringLike, Bool and ArnEquals with IfExists and ForAllValues. It knows no NotAction, NotResource, policy variables,
// boundaries or service control policies: a policy that uses what it does not know is an error, never an answer.
// https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_policies_evaluation-logic.html
package iameval

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/headroom-eks/headroom/components/iampolicy"
)

// Request asks for one action on one resource. A call that touches several resources is several requests.
type Request struct {
	Action, Resource string
	// Context holds the condition keys of the request, such as "aws:RequestTag/Name". A key that is absent is not in
	// the request.
	Context map[string][]string
}

// Parse reads a rendered document and refuses elements that this package does not know.
func Parse(text string) (iampolicy.Document, error) {
	var document iampolicy.Document
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&document); err != nil {
		return document, fmt.Errorf("read policy: %w", err)
	}
	return document, nil
}

// Allowed reports whether the documents together allow the request: some statement does, and none denies.
func Allowed(documents []iampolicy.Document, r Request) (bool, error) {
	allowed := false
	for _, d := range documents {
		for _, s := range d.Statement {
			applies, err := matches(s, r)
			if err != nil {
				return false, fmt.Errorf("statement %q: %w", s.Sid, err)
			}
			if applies && s.Effect == iampolicy.Deny {
				return false, nil
			}
			allowed = allowed || applies
		}
	}
	return allowed, nil
}

func matches(s iampolicy.Statement, r Request) (bool, error) {
	action := slices.ContainsFunc(s.Action, func(p string) bool {
		return wildcard(strings.ToLower(p),
			strings.ToLower(r.Action))
	})
	resource := slices.ContainsFunc(s.Resource, func(p string) bool { return arn(p, r.Resource) })
	holds := true
	for operator, keys := range s.Condition {
		for key, values := range keys {
			ok, err := condition(operator, lookup(r.Context, key), values)
			if err != nil {
				return false, err
			}
			holds = holds && ok
		}
	}
	return action && resource && holds, nil
}

// lookup finds a condition key; the names of keys ignore case, the keys of tags in them too.
func lookup(context map[string][]string, key string) []string {
	for name, values := range context {
		if strings.EqualFold(name, key) {
			return values
		}
	}
	return nil
}

var comparisons = map[string]func(pattern, value string) bool{
	"StringEquals": func(pattern, value string) bool { return pattern == value },
	"StringLike":   wildcard,
	"ArnEquals":    arn,
	"Bool":         strings.EqualFold,
}

func condition(operator string, got, want []string) (bool, error) {
	name, ifExists := strings.CutSuffix(operator, "IfExists")
	name, forAll := strings.CutPrefix(name, "ForAllValues:")
	compare, known := comparisons[name]
	if !known {
		return false, fmt.Errorf("condition operator %q is not known here", operator)
	}
	one := func(value string) bool {
		return slices.ContainsFunc(want, func(pattern string) bool { return compare(pattern, value) })
	}
	switch {
	case forAll:
		return !slices.ContainsFunc(got, func(v string) bool { return !one(v) }), nil // true for no values at all
	case len(got) == 0:
		return ifExists, nil
	case len(got) > 1:
		return false, fmt.Errorf("condition operator %q needs a single value, the request has %v", operator, got)
	default:
		return one(got[0]), nil
	}
}

// arn compares part by part, so that a wildcard does not reach over a colon; what follows the fifth is one part.
func arn(pattern, value string) bool {
	if pattern == "*" {
		return true
	}
	patterns, values := strings.SplitN(pattern, ":", 6), strings.SplitN(value, ":", 6)
	if len(patterns) != len(values) {
		return false
	}
	for i := range patterns {
		if !wildcard(patterns[i], values[i]) {
			return false
		}
	}
	return true
}

// wildcard compares with * for any run of characters and ? for one.
func wildcard(pattern, value string) bool {
	quoted := strings.NewReplacer(`\*`, `.*`, `\?`, `.`).Replace(regexp.QuoteMeta(pattern))
	return regexp.MustCompile(`(?s)^` + quoted + `$`).MatchString(value)
}
