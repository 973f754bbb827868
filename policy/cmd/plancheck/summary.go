package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/headroom-eks/headroom/capacity"
)

// Summary is a comment for a pull request.
func Summary(plan Plan, refused []string) string {
	var b strings.Builder
	ops := map[string]int{}
	for _, s := range plan.Steps {
		ops[s.Op]++
	}
	var changes []string
	for _, op := range slices.Sorted(maps.Keys(ops)) {
		if op != "same" {
			changes = append(changes, fmt.Sprintf("%d %s", ops[op], op))
		}
	}
	fmt.Fprintf(&b, "**Changes:** %s\n", cmp.Or(strings.Join(changes, ", "), "none"))
	for _, message := range plan.Errors {
		fmt.Fprintf(&b, "\n**Error:** %s\n", line(message))
	}
	if len(refused) > 0 {
		b.WriteString("\n**Refused:**\n\n")
		for _, r := range refused {
			fmt.Fprintf(&b, "- %s\n", line(r))
		}
	}
	if len(plan.Findings) > 0 {
		b.WriteString("\n**Policies:**\n\n")
		for _, f := range plan.Findings {
			fmt.Fprintf(&b, "- %s `%s` on `%s`: %s\n", f.Level, f.Policy, f.URN[strings.LastIndex(f.URN, ":")+1:],
				line(f.Text))
		}
	}
	b.WriteString("\n**Capacity:** " + capacityTable(plan.Before, plan.After))
	return b.String()
}

// line keeps text on one line of a list, and from closing a code span or opening HTML.
func line(text string) string {
	return strings.NewReplacer("\r", " ", "\n", " ", "<", "&lt;", "|", `\|`, "`", "'").Replace(text)
}

// capacityTable compares what each pool advertises before and after.
func capacityTable(before, after json.RawMessage) string {
	if after == nil && before == nil {
		return "not advertised\n"
	}
	then, _ := pools(before)
	now, known := pools(after)
	if !known {
		return "known after the update\n"
	}
	var rows []string
	names := map[string]bool{}
	for name := range then {
		names[name] = true
	}
	for name := range now {
		names[name] = true
	}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		was, had := then[name]
		is, has := now[name]
		row := []string{name}
		for _, nodes := range []func(capacity.Pool) int{
			func(p capacity.Pool) int { return p.Nodes.Realized }, func(p capacity.Pool) int { return p.Nodes.Maximum },
			func(p capacity.Pool) int { return p.Nodes.Firm },
		} {
			row = append(row, change(fmt.Sprint(nodes(was)), fmt.Sprint(nodes(is)), had, has))
		}
		row = append(row, change(string(was.BoundBy), string(is.BoundBy), had, has))
		if strings.Contains(strings.Join(row[1:], ""), "→") {
			rows = append(rows, "| "+strings.Join(row, " | ")+" |\n")
		}
	}
	if len(rows) == 0 {
		return "unchanged\n"
	}
	return "\n\n| pool | realized | maximum | firm | bound by |\n|---|---|---|---|---|\n" + strings.Join(rows, "")
}

func change(was, is string, had, has bool) string {
	switch {
	case !had:
		return "→ " + is
	case !has:
		return was + " →"
	case was == is:
		return is
	}
	return was + " → " + is
}

// pools of a document by name; known is false for one that the preview cannot compute.
func pools(text json.RawMessage) (map[string]capacity.Pool, bool) {
	var document capacity.Document
	out := map[string]capacity.Pool{}
	if text == nil || json.Unmarshal(text, &document) != nil {
		return out, false
	}
	for _, p := range document.Pools {
		out[p.Name] = p
	}
	return out, true
}
