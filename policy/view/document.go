package view

import (
	"slices"
	"strings"
)

// Statement of a policy document.
type Statement struct{ Value }

// Statements of a document given as JSON text or as an object.
func Statements(document Value) ([]Statement, State) {
	list, state := document.JSON().Key("Statement").List()
	var out []Statement
	for _, s := range list {
		out = append(out, Statement{s})
	}
	return out, state
}

// Documents of an identity: its policy, or a role's inline ones.
func Documents(r Resource) []Value {
	if r.Type != TypeRole {
		return []Value{r.Props.Key("policy")}
	}
	var out []Value
	inline, _ := r.Props.Key("inlinePolicies").Elements()
	for _, p := range inline {
		out = append(out, p.Key("policy"))
	}
	return out
}

// Allows says whether the statement allows the action, wildcards in the document counted.
func (s Statement) Allows(action string) bool {
	if effect, _ := s.Key("Effect").Text(); effect != "Allow" {
		return false
	}
	actions, _ := s.Key("Action").Texts()
	return slices.ContainsFunc(actions, func(pattern string) bool {
		return like(strings.ToLower(pattern), strings.ToLower(action))
	})
}

// ConditionKeys of all the condition's operators.
func (s Statement) ConditionKeys() []string {
	var out []string
	operators, _ := s.Key("Condition").Keys()
	for _, operator := range operators {
		keys, _ := s.Key("Condition", operator).Keys()
		out = append(out, keys...)
	}
	return out
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
