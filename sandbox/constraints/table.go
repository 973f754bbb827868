// Package constraints is what AWS's own machine-readable descriptions say about each property: lengths, ranges,
// patterns, words, counts, and what must be there.
//
// It owns the table and how Pulumi's properties map to AWS's members. It does not own what no model states (existing
// zones, reserved ranges, one property beside another): those rules are the rows' in sandbox/aws, each with its source.
//
// The table holds facts alone, no descriptions: parameters of the calls that create what the sandbox makes, from the
// API models in botocore, and properties of CloudFormation's registry (names with ::) where the API model states
// nothing. Where both speak, the API decides. The field source of table.json names the versions.
package constraints

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"sync"
)

//go:embed table.json
var data []byte

// shape is a member as AWS describes it. Numbers are bounds of a length, a count or a value, by what the member is.
type shape struct {
	Min      *float64          `json:"min"`
	Max      *float64          `json:"max"`
	Pattern  string            `json:"pattern"`
	Enum     []any             `json:"enum"`
	Required []string          `json:"required"`
	Members  map[string]*shape `json:"m"`
	Item     *shape            `json:"i"` // of a list
	Key      *shape            `json:"k"` // of a map
	Value    *shape            `json:"v"`

	pattern *regexp.Regexp
}

var shapes = sync.OnceValue(func() map[string]*shape {
	var table struct {
		Shapes map[string]*shape `json:"shapes"`
	}
	if err := json.Unmarshal(data, &table); err != nil {
		panic(fmt.Sprintf("constraints: the embedded table: %v", err))
	}
	for name, s := range table.Shapes {
		s.compile(strings.Contains(name, "::"))
	}
	return table.Shapes
})

// compile reads patterns. One of an API holds for the whole text; one of the registry, a JSON Schema, anywhere in it.
func (s *shape) compile(registry bool) {
	if s == nil {
		return
	}
	if s.Pattern != "" {
		text := s.Pattern
		if !registry {
			text = `^(?:` + text + `)$`
		}
		s.pattern = regexp.MustCompile(text)
	}
	for _, m := range s.Members {
		m.compile(registry)
	}
	for _, part := range []*shape{s.Item, s.Key, s.Value} {
		part.compile(registry)
	}
}

// at follows names of members, through lists; nil where there is no such member.
func (s *shape) at(path string) *shape {
	for name := range strings.SplitSeq(path, ".") {
		for s != nil && s.Item != nil {
			s = s.Item
		}
		if s == nil {
			return nil
		}
		s = s.Members[name]
	}
	return s
}

// member finds the member of a structure that has the property's name, whatever its case.
func (s *shape) member(property string) (string, *shape) {
	for name, m := range s.Members {
		if strings.EqualFold(name, property) {
			return name, m
		}
	}
	return "", nil
}
