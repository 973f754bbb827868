// Package problem collects everything that is wrong with an input, so that a person reads all of it at once.
//
// It owns the shape of a complaint and how it is printed. It decides nothing about what is wrong.
package problem

import (
	"fmt"
	"slices"
	"strings"
)

// Problem is one thing that is wrong with an input.
type Problem struct {
	// Path of the value, as a person would look for it: `pools[2] "gpu-l4".minNodeCount`.
	Path string
	// Wrong is what is wrong with it: "exceeds maxNodeCount 2".
	Wrong string
	// Found is the value found, as text; empty when Wrong says it already.
	Found string
	// Remedy is what to do: "lower it or raise the maximum".
	Remedy string
}

// String is `path: what is wrong (found value); what to do`, without the parts that are empty.
func (p Problem) String() string {
	text := p.Wrong
	if p.Path != "" {
		text = p.Path + ": " + text
	}
	if p.Found != "" {
		text += " (found " + p.Found + ")"
	}
	if p.Remedy != "" {
		text += "; " + p.Remedy
	}
	return text
}

// List collects problems in the order in which they were found. The zero value is an empty list.
type List struct{ items []Problem }

// Add records that the value at path is wrong. Found is the value, nil when wrong says it already; text is printed in
// quotes.
func (l *List) Add(path, wrong string, found any, remedy string) {
	l.items = append(l.items, Problem{Path: path, Wrong: wrong, Found: shown(found), Remedy: remedy})
}

// Require records a value that was not given.
func (l *List) Require(path string, given bool) {
	if !given {
		l.Add(path, "is missing", nil, "give it")
	}
}

// OneOf records a value that is not among the allowed ones.
func OneOf[T ~string](l *List, path string, value T, allowed []T) {
	if !slices.Contains(allowed, value) {
		texts := make([]string, len(allowed))
		for i, a := range allowed {
			texts[i] = string(a)
		}
		l.Add(path, "is unknown", string(value), "use one of "+strings.Join(texts, ", "))
	}
}

// Unique records each item of the list at path that stands in it before.
func Unique[T ~string](l *List, path string, list []T) {
	for i, item := range list {
		if slices.Contains(list[:i], item) {
			l.Add(fmt.Sprintf("%s[%d]", path, i), "is given twice", string(item), "keep one")
		}
	}
}

// shown is a value as a reader of YAML knows it: text in quotes, a list in brackets, nothing for nil.
func shown(found any) string {
	switch v := found.(type) {
	case nil:
		return ""
	case int, bool, float64:
		return fmt.Sprint(v)
	case []string:
		return "[" + strings.Join(v, ", ") + "]"
	case fmt.Stringer:
		return v.String()
	default:
		return fmt.Sprintf("%q", fmt.Sprint(v))
	}
}

// Join appends the problems of another list.
func (l *List) Join(other List) { l.items = append(l.items, other.items...) }

// Revised returns the problems as revise gives them back, without those to which it says no.
func (l List) Revised(revise func(Problem) (Problem, bool)) (kept List) {
	for _, item := range l.items {
		if item, keep := revise(item); keep {
			kept.items = append(kept.items, item)
		}
	}
	return kept
}

// All returns the problems.
func (l List) All() []Problem { return slices.Clone(l.items) }

// Items returns the problems as printed.
func (l List) Items() (lines []string) {
	for _, item := range l.items {
		lines = append(lines, item.String())
	}
	return lines
}

// Err is nil for an empty list, and otherwise one error with a line for each problem.
func (l List) Err() error {
	if len(l.items) == 0 {
		return nil
	}
	return fmt.Errorf("%d problem(s):\n  %s", len(l.items), strings.Join(l.Items(), "\n  "))
}
