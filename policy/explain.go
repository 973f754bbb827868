package main

import (
	"encoding/json"
	"fmt"
	"strings"
)

// Explain writes the rules as a markdown page.
func Explain(rules []Rule) string {
	var b strings.Builder
	b.WriteString(explainHead)
	area := ""
	for _, r := range rules {
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
	for _, r := range rules {
		for _, s := range r.Settings {
			value, _ := json.Marshal(s.Default) // ints and lists of strings only
			fmt.Fprintf(&b, "| `%s` | `%s` | `%s` | %s |\n", r.Name, s.Name, value, cell(s.Doc))
		}
	}
	b.WriteString(explainFoot)
	return b.String()
}

// cell keeps text from ending a table's cell, and placeholders from reading as HTML.
func cell(text string) string {
	return strings.NewReplacer("|", `\|`, "<", "&lt;", ">", "&gt;", "*", `\*`).Replace(text)
}

const explainHead = `# Policies

The pack in ` + "`policy/`" + ` runs with every preview and update (` + "`make preview`, `make up`" + `) and in CI. A mandatory finding ends a preview
with a non-zero exit and stops an update; an advisory one is shown. Every finding says what goes wrong, the property, the value found (never
a secret) and the remedy. This page is generated: ` + "`go test ./policy -run Docs -update`" + `.

With plain Pulumi:

    go build -trimpath -o bin/policy ./policy
    pulumi preview --policy-pack "$PWD/bin/policy" --policy-pack-config policy/config/dev.json

` + "`--policy-pack policy`" + ` works too and compiles the pack at every start.

- **Levels and settings** per environment stand in ` + "`policy/config/<environment>.json`" + `, under the rule's name; so do **exceptions**, each with its
  reason and the exact URNs it covers. An excepted finding is still shown.
- **Unknown values.** In a preview some values are decided by the update. What a rule could not look at for that reason stands in one
  advisory finding, ` + "`unknown-in-preview`" + `, and the update runs the pack again with the values. A note is not a pass.
- **Stack rules** look at the outputs of all resources after all steps, the stack's own outputs (` + "`capacity`" + `) included, and at
  inputs where a preview knows no outputs. Their settings stand in the same file: the pack hands them over, which its SDK does not.
- **Charts** show policies neither version nor values, only the objects they render; before the cluster exists, not even those.
- **What no policy can see** is the operation: that a resource is replaced, or what it was before. ` + "`policy/cmd/plancheck`" + ` reads that from
  ` + "`pulumi preview --event-log`" + `; see [ci.md](ci.md).
`

const explainFoot = `
A rule that fails to run is a finding, not a pass. ` + "`podsSelectPool`" + ` and the region are read from the stack's own configuration.
`
