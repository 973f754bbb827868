package main

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/headroom-eks/headroom/policy/rules"
)

// page has what stands before and after the rules.
//
//go:embed explain.md
var page string

// Explain writes the rules as a markdown page.
func Explain(list []rules.Rule) string {
	var b strings.Builder
	head, foot, _ := strings.Cut(page, "<!-- rules -->\n")
	b.WriteString(head)
	area := ""
	for _, r := range list {
		if r.Area != area {
			area = r.Area
			fmt.Fprintf(&b, "\n## %s\n\n| rule | level | looks at | what goes wrong | remedy | field faults "+
				"|\n|---|---|---|---|---|---|\n", area)
		}
		kind := "inputs of "
		if r.Stack != nil {
			kind = "whole stack: "
		}
		var types []string
		for _, t := range r.Types {
			types = append(types, "`"+t+"`")
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s%s | %s | %s | %s |\n", r.Name, r.Level, kind, strings.Join(types, ", "),
			cell(r.Why), cell(r.Remedy), strings.Join(r.Faults, ", "))
	}
	b.WriteString("\n## Settings\n\n| rule | setting | default | meaning |\n|---|---|---|---|\n")
	for _, r := range list {
		for _, s := range r.Settings {
			value, _ := json.Marshal(s.Default) // ints and lists of strings only
			fmt.Fprintf(&b, "| `%s` | `%s` | `%s` | %s |\n", r.Name, s.Name, value, cell(s.Doc))
		}
	}
	b.WriteString(foot)
	return b.String()
}

// cell keeps text from ending a table's cell, and placeholders from reading as HTML.
func cell(text string) string {
	return strings.NewReplacer("|", `\|`, "<", "&lt;", ">", "&gt;", "*", `\*`).Replace(text)
}
