package run

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/pulumi/pulumi/sdk/v3/go/auto/events"
	"github.com/pulumi/pulumi/sdk/v3/go/common/apitype"
)

// Result is what one operation did, or plans to do.
type Result struct {
	// Steps are the resource steps that change something, in the order the engine took them; resources that stay the
	// same are only counted.
	Steps []Step
	// Summary counts resources by operation, "same" included.
	Summary map[string]int
	// Outputs of the stack. After a preview they hold what is known; an unknown output is the text of Unknown.
	Outputs map[string]any
	// Diagnostics are the messages of program, providers, policies and engine.
	Diagnostics []Diagnostic
	// Screen is what the command printed.
	Screen string
}

// Unknown stands for a value that is not known yet, in the outputs of a preview.
const Unknown = "04da6b54-80e4-46f7-96ec-b56ff0331ba9"

// Step is one step of the engine.
type Step struct {
	Op   string // create, update, delete, replace, create-replacement, delete-replaced, read, refresh, ...
	URN  string
	Type string
	Name string
	// Diffs are the properties that changed, Replaces those that force a replacement.
	Diffs, Replaces []string
	// Inputs as the engine sends them to the provider; unknown values are the text of Unknown.
	Inputs map[string]any
}

// Diagnostic is one message.
type Diagnostic struct{ Severity, URN, Message string }

// Changed reports whether anything was done or planned to a resource.
func (r Result) Changed() bool { return len(r.Steps) > 0 }

// Ops are the operations by URN: what a test compares.
func (r Result) Ops() map[string][]string {
	ops := map[string][]string{}
	for _, s := range r.Steps {
		ops[s.URN] = append(ops[s.URN], s.Op)
	}
	return ops
}

// Named finds the steps of a resource by its logical name.
func (r Result) Named(name string) []Step {
	var out []Step
	for _, s := range r.Steps {
		if s.Name == name {
			out = append(out, s)
		}
	}
	return out
}

// Messages joins the diagnostics of a severity ("info", "warning", "error"), one a line; all of them when it is empty.
func (r Result) Messages(severity string) string {
	var lines []string
	for _, d := range r.Diagnostics {
		if severity == "" || d.Severity == severity {
			lines = append(lines, d.Message)
		}
	}
	return strings.Join(lines, "\n")
}

// collect folds the engine's events into a result. It returns when the channel closes, or at done: then no sender is
// left.
func collect(ch <-chan events.EngineEvent, done <-chan struct{}) Result {
	r := Result{Summary: map[string]int{}}
	for {
		select {
		case e, open := <-ch:
			if !open {
				return r
			}
			r.add(e)
		case <-done:
			return r
		}
	}
}

func (r *Result) add(e events.EngineEvent) {
	switch {
	case e.DiagnosticEvent != nil && !e.DiagnosticEvent.Ephemeral:
		d := e.DiagnosticEvent
		r.Diagnostics = append(r.Diagnostics, Diagnostic{d.Severity, d.URN, plain(d.Prefix + d.Message)})
	case e.PolicyEvent != nil:
		p := e.PolicyEvent
		r.Diagnostics = append(r.Diagnostics, Diagnostic{"policy " + p.EnforcementLevel, p.ResourceURN,
			plain(fmt.Sprintf("[%s] %s: %s", p.PolicyPackName, p.PolicyName, p.Message))})
	case e.ResourcePreEvent != nil:
		r.step(e.ResourcePreEvent.Metadata)
	case e.ResOutputsEvent != nil:
		m := e.ResOutputsEvent.Metadata
		if m.Type == "pulumi:pulumi:Stack" && m.New != nil && m.New.Outputs != nil {
			r.Outputs = m.New.Outputs
		}
	case e.SummaryEvent != nil:
		for op, n := range e.SummaryEvent.ResourceChanges {
			r.Summary[string(op)] = n
		}
	}
}

func (r *Result) step(m apitype.StepEventMetadata) {
	if m.Op == apitype.OpSame || m.Op == "refresh" && len(m.Diffs) == 0 || m.Type == "pulumi:pulumi:Stack" {
		return
	}
	s := Step{
		Op:       string(m.Op),
		URN:      m.URN,
		Type:     m.Type,
		Name:     m.URN[strings.LastIndex(m.URN, "::")+2:],
		Diffs:    m.Diffs,
		Replaces: m.Keys,
	}
	slices.Sort(s.Diffs)
	if m.New != nil {
		s.Inputs = m.New.Inputs
	}
	r.Steps = append(r.Steps, s)
}

var colour = regexp.MustCompile(`<\{%[^%]*%\}>|\x1b\[[0-9;]*m`)

// plain drops colour marks and the blank lines around a message.
func plain(s string) string { return strings.TrimSpace(colour.ReplaceAllString(s, "")) }
