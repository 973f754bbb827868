package constraints

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"
)

// Violation is one thing that AWS would refuse.
type Violation struct{ Path, Reason string }

// Check reports what AWS's descriptions refuse of the inputs of a resource type, in order of their paths. Inputs are
// plain values as JSON has them; a value of another type is one that a preview does not know, and passes.
func Check(typ string, inputs map[string]any) []Violation {
	m, mapped := mappings[typ]
	if !mapped {
		return []Violation{{"", "constraints has no mapping of " + typ + "; add it in sandbox/constraints"}}
	}
	c := &checker{mapping: m}
	for _, property := range slices.Sorted(maps.Keys(inputs)) {
		if _, none := m.none[property]; none {
			continue
		}
		_, s := m.resolve(property)
		if s == nil {
			c.add(property, "has no member in %s and no exception; add either in sandbox/constraints", m.shape)
			continue
		}
		c.value(property, property, inputs[property], s)
	}
	return c.found
}

// checker walks inputs and shapes side by side. Paths are those of the inputs; generic ones have no indices and no
// keys.
type checker struct {
	mapping mapping
	found   []Violation
}

func (c *checker) add(path, format string, args ...any) {
	c.found = append(c.found, Violation{path, fmt.Sprintf(format, args...)})
}

func (c *checker) value(path, generic string, v any, s *shape) {
	switch v := v.(type) {
	case map[string]any:
		if pairs := s.pairs(generic); pairs != nil {
			c.entries(path, generic, v, pairs)
			return
		}
		for s.Item != nil { // Pulumi writes a list that has at most one element as the element
			s = s.Item
		}
		if s.Value != nil {
			c.entries(path, generic, v, s)
			return
		}
		c.structure(path, generic, v, s)
	case []any:
		c.bounds(path, "items", float64(len(v)), s)
		if s.Item == nil {
			c.add(path, "is a list, which AWS does not take")
			return
		}
		for i, e := range v {
			c.value(fmt.Sprintf("%s[%d]", path, i), generic, e, s.Item)
		}
	case string:
		c.text(path, v, s)
	case float64:
		c.bounds(path, "", v, s)
		c.word(path, v, s)
	}
}

// pairs is the list of tags as the map that Pulumi makes of it; nil for anything else.
func (s *shape) pairs(property string) *shape {
	if s.Item == nil || property != "tags" && !strings.HasSuffix(property, ".tags") {
		return nil
	}
	_, key := s.Item.member("Key")
	_, value := s.Item.member("Value")
	if key == nil { // of KMS
		_, key = s.Item.member("TagKey")
		_, value = s.Item.member("TagValue")
	}
	return &shape{Min: s.Min, Max: s.Max, Key: key, Value: value}
}

func (c *checker) entries(path, generic string, v map[string]any, s *shape) {
	c.bounds(path, "entries", float64(len(v)), s)
	for _, key := range slices.Sorted(maps.Keys(v)) {
		at := fmt.Sprintf("%s[%q]", path, key)
		if s.Key != nil {
			c.text(at, key, s.Key)
		}
		c.value(at, generic, v[key], s.Value)
	}
}

func (c *checker) structure(path, generic string, v map[string]any, s *shape) {
	seen := map[string]bool{}
	for _, property := range slices.Sorted(maps.Keys(v)) {
		at, name := path+"."+property, generic+"."+property
		if _, none := c.mapping.none[name]; none || property == "__defaults" {
			continue
		}
		member := c.mapping.members[name]
		inner := s.Members[member]
		if member == "" {
			member, inner = s.member(property)
		}
		if inner == nil {
			c.add(at, "has no member in %s and no exception; add either in sandbox/constraints", c.mapping.shape)
			continue
		}
		seen[member] = true
		c.value(at, name, v[property], inner)
	}
	for _, name := range s.Required {
		if !seen[name] {
			c.add(path, "%s is required and missing", name)
		}
	}
}

func (c *checker) text(path, v string, s *shape) {
	c.bounds(path, "characters", float64(utf8.RuneCountInString(v)), s)
	if s.pattern != nil && !s.pattern.MatchString(v) {
		c.add(path, "%q does not match %s", v, s.Pattern)
	}
	c.word(path, v, s)
}

func (c *checker) word(path string, v any, s *shape) {
	if len(s.Enum) > 0 && !slices.Contains(s.Enum, v) {
		c.add(path, "expected %s to be one of %v, got %v", path, s.Enum, v)
	}
}

func (c *checker) bounds(path, unit string, n float64, s *shape) {
	if s.Min != nil && n < *s.Min {
		c.add(path, "expected at least %s, got %s", strings.TrimSpace(fmt.Sprint(*s.Min, " ", unit)), fmt.Sprint(n))
	}
	if s.Max != nil && n > *s.Max {
		c.add(path, "expected at most %s, got %s", strings.TrimSpace(fmt.Sprint(*s.Max, " ", unit)), fmt.Sprint(n))
	}
}
