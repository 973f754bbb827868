// Package problem collects everything that is wrong with an input, so that a person reads all of it at once.
//
// It owns the shape of a complaint: a path, what was found, the remedy. It decides nothing about what is wrong.
package problem

import (
	"fmt"
	"strings"
)

// List collects problems in the order in which they were found. The zero value is an empty list.
type List struct{ items []string }

// Add records one problem of the value at path. The text says what was found and what to do about it, for example:
// Add(`pools[2] "gpu-l4"`, "minNodeCount %d exceeds maxNodeCount %d; lower it or raise the maximum", 3, 2).
func (l *List) Add(path, format string, args ...any) {
	l.items = append(l.items, path+": "+fmt.Sprintf(format, args...))
}

// Join appends the problems of another list, each path prefixed with parent.
func (l *List) Join(parent string, other List) {
	for _, item := range other.items {
		l.items = append(l.items, parent+item)
	}
}

// Items returns the problems as written.
func (l List) Items() []string { return append([]string(nil), l.items...) }

// Err is nil for an empty list, and otherwise one error with a line for each problem.
func (l List) Err() error {
	if len(l.items) == 0 {
		return nil
	}
	return fmt.Errorf("%d problem(s):\n  %s", len(l.items), strings.Join(l.items, "\n  "))
}
