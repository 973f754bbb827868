package capacity

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Change of one pool between two documents.
type Change struct {
	Pool string
	// Lower says that the pool promises less than before: fewer nodes, firm nodes, or nodes of one gang.
	Lower bool
	// Text says what changed, and by which ceiling where the maximum did.
	Text string
}

// Diff lists what changed between two documents, in the order of the pools' names. Times are not compared.
func Diff(before, after Document) []Change {
	var out []Change
	old := map[string]Pool{}
	for _, p := range before.Pools {
		old[p.Name] = p
	}
	now := map[string]bool{}
	for _, p := range after.Pools {
		now[p.Name] = true
		was, existed := old[p.Name]
		if !existed {
			out = append(out, Change{p.Name, false,
				fmt.Sprintf("new, %d of %d nodes%s", p.Nodes.Realized, p.Nodes.Maximum, p.bound())})
			continue
		}
		if text := was.changes(p); text != "" {
			lower := p.Nodes.Maximum < was.Nodes.Maximum || p.Nodes.Firm < was.Nodes.Firm ||
				p.LargestGang < was.LargestGang
			out = append(out, Change{p.Name, lower, text})
		}
	}
	for _, p := range before.Pools {
		if !now[p.Name] {
			out = append(out, Change{p.Name, p.Nodes.Maximum > 0,
				fmt.Sprintf("gone, had %d of %d nodes", p.Nodes.Realized, p.Nodes.Maximum)})
		}
	}
	slices.SortFunc(out, func(a, b Change) int { return cmp.Compare(a.Pool, b.Pool) })
	return out
}

func (p Pool) bound() string {
	if len(p.Ceilings) == 0 {
		return ""
	}
	return " (" + p.Ceilings[0].String() + ")"
}

// changes says what is different in a later state of the same pool.
func (p Pool) changes(now Pool) string {
	var parts []string
	for _, n := range []struct {
		what    string
		was, is int
	}{
		{"realized", p.Nodes.Realized, now.Nodes.Realized},
		{"maximum", p.Nodes.Maximum, now.Nodes.Maximum},
		{"firm", p.Nodes.Firm, now.Nodes.Firm},
		{"largest gang", p.LargestGang, now.LargestGang},
	} {
		if n.was == n.is {
			continue
		}
		part := fmt.Sprintf("%s %d -> %d", n.what, n.was, n.is)
		if n.what == "maximum" {
			part += now.bound()
		}
		parts = append(parts, part)
	}
	if p.BoundBy != now.BoundBy {
		parts = append(parts, fmt.Sprintf("bound by %s, was %s", now.BoundBy, p.BoundBy))
	}
	if p.ScalesFromZero != now.ScalesFromZero {
		parts = append(parts, fmt.Sprintf("scales from zero: %t, was %t", now.ScalesFromZero, p.ScalesFromZero))
	}
	if p.Error != now.Error {
		if now.Error == "" {
			parts = append(parts, "observed again")
		} else {
			parts = append(parts, "not observed: "+now.Error)
		}
	}
	return strings.Join(parts, ", ")
}

// Markdown is a list for a comment on a change, lower promises marked; empty when nothing changed.
func Markdown(changes []Change) string {
	var b strings.Builder
	for _, c := range changes {
		mark := ""
		if c.Lower {
			mark = "**lower** "
		}
		fmt.Fprintf(&b, "- `%s`: %s%s\n", c.Pool, mark, c.Text)
	}
	return b.String()
}
