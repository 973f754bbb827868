// Package iampolicy is the one typed form of an AWS policy document that every component builds: trust policies,
// permissions, key and queue policies.
//
// It owns the shape, the canonical JSON and the size limits, how the policies that AWS keeps are addressed, and how EC2
// is trusted. It does not own what any role may do: each component keeps its own statements. It imports no Pulumi.
package iampolicy

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/headroom-eks/headroom/problem"
)

// Limits in characters, white space not counted.
// https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_iam-quotas.html
const (
	ManagedLimit = 6144  // a customer managed policy
	TrustLimit   = 2048  // a role's trust policy, without a quota increase
	KeyLimit     = 32768 // a KMS key policy, https://docs.aws.amazon.com/kms/latest/developerguide/resource-limits.html
	// an SQS queue policy,
	// https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/quotas-policies.html
	QueueLimit = 8192
)

// Effect of a statement.
type Effect string

const (
	Allow Effect = "Allow"
	Deny  Effect = "Deny"
)

// Strings is a list that policy JSON writes as a bare string when it has one entry, and sorted, because its order has
// no meaning: the same statement always gives the same text. Both forms are read.
type Strings []string

// Conditions of a statement: operator -> context key -> values, for example {"StringEquals": {"aws:RequestedRegion":
// {"us-west-2"}}}.
type Conditions map[string]map[string]Strings

// Principal of a statement: kind ("Service", "AWS", "Federated") -> identifiers.
type Principal map[string]Strings

// Statement of a policy. An empty Effect means Allow. Identity policies have a Resource and no Principal; trust
// policies have a Principal and no Resource; resource policies have both.
type Statement struct {
	Sid       string     `json:"Sid,omitempty"`
	Effect    Effect     `json:"Effect"`
	Principal Principal  `json:"Principal,omitempty"`
	Action    Strings    `json:"Action"`
	Resource  Strings    `json:"Resource,omitempty"`
	Condition Conditions `json:"Condition,omitempty"`
}

// Document is a policy.
type Document struct {
	Version   string      `json:"Version"`
	Statement []Statement `json:"Statement"`
}

// New is a document of the given statements, in their order.
func New(statements ...Statement) Document {
	return Document{Version: "2012-10-17", Statement: statements}
}

// JSON renders the document without white space. It fails when the document is malformed or longer than limit
// characters, naming every fault: AWS itself reports one, minutes later.
func (d Document) JSON(limit int) (string, error) {
	d.Statement = slices.Clone(d.Statement)
	for i := range d.Statement {
		if d.Statement[i].Effect == "" {
			d.Statement[i].Effect = Allow
		}
	}
	problems := d.validate()
	text, err := encode(d)
	if err != nil {
		return "", fmt.Errorf("render policy document: %w", err)
	}
	if len(text) > limit {
		problems.Add("document", fmt.Sprintf("has more characters than the limit of %d", limit), len(text),
			"split the policy or shorten the names in it")
	}
	return string(text), problems.Err()
}

var sid = regexp.MustCompile(`^[0-9A-Za-z]*$`)

func (d Document) validate() (problems problem.List) {
	if len(d.Statement) == 0 {
		problems.Add("document", "has no statement", nil, "add one")
	}
	seen := map[string]bool{}
	for i, s := range d.Statement {
		at := fmt.Sprintf("statement[%d] %q", i, s.Sid)
		if !sid.MatchString(s.Sid) {
			problems.Add(at, "the Sid holds more than letters and digits", nil, "leave the rest out")
		}
		if s.Sid != "" && seen[s.Sid] {
			problems.Add(at, "the Sid is used twice", nil, "give each statement its own")
		}
		seen[s.Sid] = true
		problem.OneOf(&problems, at+".effect", s.Effect, []Effect{Allow, Deny})
		if len(s.Action) == 0 {
			problems.Add(at, "has no action", nil, "name at least one")
		}
		if len(s.Resource) == 0 && len(s.Principal) == 0 {
			problems.Add(at, "has neither a resource nor a principal", nil, "name at least one")
		}
		s.empties(at, &problems)
	}
	return problems
}

// empties reports empty strings: an output that resolved to nothing must not become a policy that matches nothing, or
// everything (field fault BR-93).
func (s Statement) empties(at string, problems *problem.List) {
	report := func(where string, values Strings) {
		if len(values) == 0 || slices.Contains(values, "") {
			problems.Add(at, where+" holds an empty value", nil, "give the name or ARN that it is made of")
		}
	}
	if len(s.Action) > 0 {
		report("Action", s.Action)
	}
	if len(s.Resource) > 0 {
		report("Resource", s.Resource)
	}
	for _, kind := range slices.Sorted(maps.Keys(s.Principal)) {
		report("Principal "+kind, s.Principal[kind])
	}
	for _, operator := range slices.Sorted(maps.Keys(s.Condition)) {
		for _, key := range slices.Sorted(maps.Keys(s.Condition[operator])) {
			report(strings.Join([]string{"Condition", operator, key}, " "), s.Condition[operator][key])
		}
	}
}

// MarshalJSON implements json.Marshaler.
func (s Strings) MarshalJSON() ([]byte, error) {
	if len(s) == 1 {
		return encode(s[0])
	}
	sorted := slices.Sorted(slices.Values(s))
	return encode(slices.Compact(sorted))
}

// UnmarshalJSON implements json.Unmarshaler.
func (s *Strings) UnmarshalJSON(text []byte) error {
	var one string
	if err := json.Unmarshal(text, &one); err == nil {
		*s = Strings{one}
		return nil
	}
	var many []string
	if err := json.Unmarshal(text, &many); err != nil {
		return fmt.Errorf("a policy value is a string or a list of strings: %w", err)
	}
	*s = many
	return nil
}

// encode keeps "&", "<" and ">" as they are: escaped they would count sixfold against the limits.
func encode(v any) ([]byte, error) {
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(out.Bytes(), []byte("\n")), nil
}
