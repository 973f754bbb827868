package view

import "testing"

func TestWildcardsMatchAsIAMDoes(t *testing.T) {
	for _, c := range []struct {
		pattern, text string
		want          bool
	}{
		{"*", "iam:passrole", true}, {"iam:*", "iam:passrole", true}, {"iam:pass*", "iam:passrole", true},
		{"iam:*role", "iam:passrole", true},
		{"iam:p*s*e", "iam:passrole", true}, {"iam:passrole", "iam:passrole", true}, {"", "iam:passrole", false},
		{"sqs:*", "iam:passrole", false},
		{"iam:passrole*x", "iam:passrole", false}, {"iam:pass**", "iam:passrole", true},
		{"iam:passrole*passrole", "iam:passrole", false},
	} {
		if got := like(c.pattern, c.text); got != c.want {
			t.Errorf("%q against %q: %v", c.pattern, c.text, got)
		}
	}
}
