package aws

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/headroom-eks/headroom/sandbox/constraints"
	"github.com/headroom-eks/headroom/sandbox/plugin"
)

// Limits of tags. https://docs.aws.amazon.com/tag-editor/latest/userguide/best-practices-and-strats.html
const (
	maxTags     = 50
	maxTagKey   = 128
	maxTagValue = 256
)

var tagText = regexp.MustCompile(`^[\p{L}\p{Z}\p{N}_.:/=+\-@]*$`)

// verify reports everything about the inputs that the provider refuses before it calls AWS, and what AWS's own
// descriptions refuse. Unknown values pass.
func (row *resourceRow) verify(in obj, fail func(path, reason string)) {
	known := obj{}
	for _, k := range sorted(in) {
		switch {
		case row.takes(k):
			known[k] = in[k]
		case k != defaultsKey:
			fail(k, fmt.Sprintf("%q is not an input the sandbox knows of this type; if AWS has it, add it to the row "+
				"in sandbox/aws", k))
		}
	}
	for _, v := range constraints.Check(row.typ, known) {
		fail(v.Path, v.Reason)
	}
	for _, k := range row.required {
		if !has(in, k) {
			fail(k, "required and missing")
		}
	}
	for path, allowed := range row.enums {
		for _, v := range at(in, path) {
			if s, ok := v.(string); ok && !slices.Contains(allowed, s) {
				fail(path, fmt.Sprintf("expected %s to be one of [%s], got %s", path, strings.Join(allowed, ", "), s))
			}
		}
	}
	for path, limits := range row.ranges {
		for _, v := range at(in, path) {
			if n, ok := v.(float64); ok && (int(n) < limits.least || int(n) > limits.most) {
				fail(path, fmt.Sprintf("expected %s to be in the range (%d - %d), got %d", path, limits.least,
					limits.most, int(n)))
			}
		}
	}
	for _, path := range row.json {
		for _, v := range at(in, path) {
			if s, ok := v.(string); ok && !json.Valid([]byte(s)) {
				fail(path, fmt.Sprintf("%q contains an invalid JSON", path))
			}
		}
	}
	row.verifyName(in, fail)
	if tags, ok := in["tags"].(obj); ok {
		verifyTags("tags", tags, fail)
		if strings.HasPrefix(row.typ, "aws:iam/") {
			verifyTagCase(tags, fail)
		}
	}
	if row.check != nil {
		row.check(in, fail)
	}
}

func (row *resourceRow) verifyName(in obj, fail func(path, reason string)) {
	n := row.name
	name, ok := one(in, n.property).(string)
	if n.property == "" || !ok {
		return
	}
	if length := utf8.RuneCountInString(name); length > n.max || length < n.min {
		fail(n.property, fmt.Sprintf("expected length of %s to be in the range (%d - %d), got %d: %s",
			n.property, max(n.min, 1), n.max, length, name))
	}
	if n.pattern != nil && !n.pattern.MatchString(name) {
		fail(n.property, fmt.Sprintf("invalid value for %s (%s): %s", n.property, n.says, name))
	}
}

func verifyTags(path string, tags obj, fail func(path, reason string)) {
	if len(tags) > maxTags {
		fail(path, fmt.Sprintf("TooManyTagsException: %d tags; at most %d are allowed on a resource", len(tags),
			maxTags))
	}
	for _, key := range sorted(tags) {
		tag := path + "[" + key + "]"
		if n := utf8.RuneCountInString(key); n < 1 || n > maxTagKey {
			fail(tag, fmt.Sprintf("InvalidTagKey: tag keys have 1 to %d characters, this one has %d", maxTagKey, n))
		}
		if strings.HasPrefix(strings.ToLower(key), "aws:") {
			fail(tag, "InvalidParameterValue: Tag keys starting with 'aws:' are reserved for internal use")
		}
		if !tagText.MatchString(key) {
			fail(tag, "InvalidTagKey: only letters, digits, spaces and _.:/=+-@ are allowed")
		}
		value, ok := tags[key].(string)
		if !ok {
			continue
		}
		if n := utf8.RuneCountInString(value); n > maxTagValue {
			fail(tag, fmt.Sprintf("InvalidTagValue: tag values have at most %d characters, this one has %d",
				maxTagValue, n))
		}
		if !tagText.MatchString(value) {
			fail(tag, "InvalidTagValue: only letters, digits, spaces and _.:/=+-@ are allowed")
		}
	}
}

// verifyTagCase: IAM takes keys that differ in case alone for one.
// https://docs.aws.amazon.com/IAM/latest/UserGuide/id_tags.html#id_tags_rules_creating
func verifyTagCase(tags obj, fail func(path, reason string)) {
	first := map[string]string{}
	for _, key := range sorted(tags) {
		lower := strings.ToLower(key)
		if first[lower] != "" {
			fail("tags["+key+"]", fmt.Sprintf("InvalidInput: Duplicate tag keys found. Please note that Tag keys are "+
				"case insensitive. (%s, %s)", first[lower], key))
		}
		first[lower] = key
	}
}

// refused is verify at the time of the call: AWS looks again, now that all values are known, and reads the policy
// documents.
func (row *resourceRow) refused(in obj) error {
	var reasons []string
	row.verify(in, func(path, reason string) { reasons = append(reasons, path+": "+reason) })
	if len(reasons) > 0 {
		return fmt.Errorf("InvalidParameterValue: %s", strings.Join(reasons, "; "))
	}
	return nil
}

var _ plugin.Configurer = (*Backend)(nil)
