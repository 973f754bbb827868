package aws

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
)

// docKind says which rules a policy document follows.
type docKind int

const (
	identityPolicy docKind = iota // what a role may do: no principals
	trustPolicy                   // who may assume a role: no resources
	resourcePolicy                // on a queue, a key, an endpoint: both
)

// Sizes of IAM documents, white space not counted.
// https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_iam-quotas.html
const (
	maxManagedPolicy = 6144
	maxInlinePolicy  = 10240 // all inline policies of a role together
	maxTrustPolicy   = 2048
	maxAttached      = 10 // managed policies on a role
)

var (
	actionText = regexp.MustCompile(`^(\*|[a-z0-9-]+:[A-Za-z0-9*?]+)$`)
	sidText    = regexp.MustCompile(`^[A-Za-z0-9]*$`)
	operator   = regexp.MustCompile(`^((ForAllValues|ForAnyValue):)?(` +
		`String(Not)?(Equals|Like|EqualsIgnoreCase)|Arn(Not)?(Equals|Like)|` +
		`Numeric(Not)?Equals|Numeric(LessThan|GreaterThan)(Equals)?|` +
		`Date(Not)?Equals|Date(LessThan|GreaterThan)(Equals)?|Bool|BinaryEquals|(Not)?IpAddress|Null)(IfExists)?$`)
)

// statement is one statement of a document, every field in list form.
type statement struct {
	sid, effect             string
	actions, notActions     []string
	resources, notResources []string
	principals              map[string][]string // kind -> values; {"*": {"*"}} for everybody
	condition               obj
}

// parsePolicy reads a document and refuses what IAM refuses, in IAM's words where they are known.
func parsePolicy(document string, kind docKind, partition string) ([]statement, error) {
	malformed := func(format string, args ...any) ([]statement, error) {
		return nil, fmt.Errorf("MalformedPolicyDocument: "+format, args...)
	}
	var doc obj
	decoder := json.NewDecoder(strings.NewReader(document))
	if err := decoder.Decode(&doc); err != nil || decoder.More() {
		return malformed("This policy contains invalid Json")
	}
	for _, key := range sorted(doc) {
		if !slices.Contains([]string{"Version", "Id", "Statement"}, key) {
			return malformed("Syntax errors in policy. (unknown element %s)", key)
		}
	}
	switch v := str(doc, "Version"); v {
	case "2012-10-17", "2008-10-17":
	case "":
		if has(doc, "Version") {
			return malformed("Syntax errors in policy. (Version)")
		}
	default:
		return malformed("The policy must contain a valid version string (got %q)", v)
	}
	var raw []any
	switch s := doc["Statement"].(type) {
	case []any:
		raw = s
	case obj:
		raw = []any{s}
	}
	if len(raw) == 0 {
		return malformed("Syntax errors in policy. (no Statement)")
	}
	var out []statement
	for _, r := range raw {
		o, ok := r.(obj)
		if !ok {
			return malformed("Syntax errors in policy. (a Statement is not an object)")
		}
		st, err := parseStatement(o, kind, partition)
		if err != nil {
			return malformed("%s", err)
		}
		if st.sid != "" && slices.ContainsFunc(out, func(e statement) bool { return e.sid == st.sid }) {
			return malformed("Statement IDs (SID) in a single policy must be unique. (%s)", st.sid)
		}
		out = append(out, st)
	}
	return out, nil
}

// elements of a statement.
var elements = []string{
	"Sid", "Effect", "Principal", "NotPrincipal", "Action", "NotAction", "Resource", "NotResource", "Condition",
}

func parseStatement(o obj, kind docKind, partition string) (st statement, err error) {
	for _, key := range sorted(o) {
		if !slices.Contains(elements, key) {
			return st, fmt.Errorf("Syntax errors in policy. (unknown element %s)", key)
		}
	}
	st.sid, st.effect = str(o, "Sid"), str(o, "Effect")
	if kind != resourcePolicy && !sidText.MatchString(st.sid) {
		return st, fmt.Errorf("Statement IDs (SID) must be alpha-numeric. Check that your input satisfies the "+
			"regular expression [0-9A-Za-z]* (%q)", st.sid)
	}
	if st.effect != "Allow" && st.effect != "Deny" {
		return st, fmt.Errorf("Syntax errors in policy. (Effect must be Allow or Deny, is %q)", st.effect)
	}
	if err = st.readActions(o); err != nil {
		return st, err
	}
	if err = st.readResources(o, kind, partition); err != nil {
		return st, err
	}
	if st.principals, err = principalsOf(o, partition); err != nil {
		return st, err
	}
	st.condition, err = conditionOf(o)
	return st, err
}

func (st *statement) readActions(o obj) (err error) {
	if st.actions, err = stringsOf(o, "Action"); err != nil {
		return err
	}
	if st.notActions, err = stringsOf(o, "NotAction"); err != nil {
		return err
	}
	if (len(st.actions) == 0) == (len(st.notActions) == 0) {
		return fmt.Errorf("Policy statement must contain actions.")
	}
	for _, a := range append(st.actions, st.notActions...) {
		if !actionText.MatchString(strings.Replace(a, "SQS:", "sqs:", 1)) {
			return fmt.Errorf("Actions/Conditions must be prefaced by a vendor, e.g., iam, sdb, ec2, etc. (%q)", a)
		}
	}
	return nil
}

// readResources also says what the kind of document must and must not have.
func (st *statement) readResources(o obj, kind docKind, partition string) (err error) {
	if st.resources, err = stringsOf(o, "Resource"); err != nil {
		return err
	}
	if st.notResources, err = stringsOf(o, "NotResource"); err != nil {
		return err
	}
	hasPrincipal := has(o, "Principal") || has(o, "NotPrincipal")
	switch {
	case kind == identityPolicy && hasPrincipal:
		return fmt.Errorf("Policy document should not specify a principal.")
	case kind == identityPolicy && len(st.resources)+len(st.notResources) == 0:
		return fmt.Errorf("Policy statement must contain resources.")
	case kind == trustPolicy && (has(o, "Resource") || has(o, "NotResource")):
		return fmt.Errorf("Has prohibited field Resource")
	case kind != identityPolicy && !hasPrincipal:
		return fmt.Errorf("Missing required field Principal")
	}
	for _, r := range append(st.resources, st.notResources...) {
		if err := checkResource(r, partition); err != nil {
			return err
		}
	}
	return nil
}

func conditionOf(o obj) (condition obj, err error) {
	given, ok := o["Condition"]
	if !ok {
		return nil, nil
	}
	if condition, ok = given.(obj); !ok {
		return nil, fmt.Errorf("Syntax errors in policy. (Condition)")
	}
	for _, op := range sorted(condition) {
		keys, isMap := condition[op].(obj)
		if !operator.MatchString(op) || !isMap {
			return nil, fmt.Errorf("Invalid Condition type : %s", op)
		}
		for _, key := range sorted(keys) {
			if _, err := stringsOf(keys, key); err != nil || !strings.Contains(key, ":") {
				return nil, fmt.Errorf("Syntax errors in policy. (Condition %s %s)", op, key)
			}
		}
	}
	return condition, nil
}

func checkResource(r, partition string) error {
	if r == "*" {
		return nil
	}
	parts := strings.SplitN(r, ":", 6)
	if len(parts) < 6 || parts[0] != "arn" {
		return fmt.Errorf("Resource %s must be in ARN format or \"*\".", r)
	}
	if parts[1] != partition && !strings.ContainsAny(parts[1], "*?$") {
		return fmt.Errorf("Partition \"%s\" is not valid for resource \"%s\".", parts[1], r)
	}
	return nil
}

func principalsOf(o obj, partition string) (map[string][]string, error) {
	raw, given := o["Principal"]
	if !given {
		raw, given = o["NotPrincipal"]
	}
	if !given {
		return nil, nil
	}
	if raw == "*" {
		return map[string][]string{"*": {"*"}}, nil
	}
	kinds, ok := raw.(obj)
	if !ok || len(kinds) == 0 {
		return nil, fmt.Errorf("Invalid principal in policy: %v", raw)
	}
	out := map[string][]string{}
	for _, kind := range sorted(kinds) {
		values, err := stringsOf(kinds, kind)
		if err != nil || len(values) == 0 || !slices.Contains([]string{
			"AWS", "Service", "Federated", "CanonicalUser",
		}, kind) {
			return nil, fmt.Errorf("Invalid principal in policy: %q:%v", kind, kinds[kind])
		}
		for _, v := range values {
			arn := strings.HasPrefix(v, "arn:"+partition+":")
			accountID := regexp.MustCompile(`^[0-9]{12}$`).MatchString(v)
			switch {
			case kind == "Service" && !strings.Contains(v, ".amazonaws.com"),
				kind == "Federated" && !arn && !strings.Contains(v, "."),
				kind == "AWS" && v != "*" && !arn && !accountID:
				return nil, fmt.Errorf("Invalid principal in policy: %q:%q", kind, v)
			}
		}
		out[kind] = values
	}
	return out, nil
}

// stringsOf reads a string or a list of strings. Numbers and booleans count as strings in conditions.
func stringsOf(o obj, key string) ([]string, error) {
	switch v := o[key].(type) {
	case nil:
		return nil, nil
	case string:
		return []string{v}, nil
	case bool, float64:
		return []string{text(v)}, nil
	case []any:
		out := texts(v)
		if len(out) != len(v) {
			return nil, fmt.Errorf("Syntax errors in policy. (%s)", key)
		}
		return out, nil
	}
	return nil, fmt.Errorf("Syntax errors in policy. (%s)", key)
}

// size of a document as IAM counts it: white space between elements does not count.
func size(document string) int {
	var b bytes.Buffer
	if json.Compact(&b, []byte(document)) != nil {
		return len(document)
	}
	return b.Len()
}

// allowsService reports whether a statement lets a service principal do an action.
func (st statement) allowsService(service, action string) bool {
	return st.effect == "Allow" && slices.Contains(st.principals["Service"], service) &&
		slices.ContainsFunc(st.actions, func(pattern string) bool {
			matched, err := path.Match(strings.ToLower(pattern), strings.ToLower(action))
			return err == nil && matched
		})
}
