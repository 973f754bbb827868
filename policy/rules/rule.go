// Package rules holds a stack to what it advertises and to safe defaults. Each rule is a row: its name, its level, what
// goes wrong without it, the remedy, the types it fires on, and a function over the view.
//
// It owns the rules and what they say. It does not own how a property is read (package view), nor how the engine asks
// and is answered (package serve). It imports no provider SDK: it knows resources by type token and property name.
// Every rule is pure: the same view and the same Check give the same findings. Another pack takes All, or some of it,
// and adds rows of its own.
package rules

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/headroom-eks/headroom/policy/view"
)

// Level of a rule as it ships; policy/config may change it for an environment.
type Level string

const (
	Advisory  Level = "advisory"  // shown
	Mandatory Level = "mandatory" // stops the preview or update
)

// Rule is one row of the pack. Exactly one of Resource and Stack is set.
type Rule struct {
	Name  string // kebab-case, subject first
	Area  string
	Level Level
	// Why is what goes wrong without the rule; the engine prints it above every finding.
	Why string
	// Remedy ends every finding.
	Remedy string
	// Types the rule relies on: a resource rule is called for these only. A type that ends in ":" stands for all that
	// begin with it.
	Types []string
	// Faults of the field this rule answers.
	Faults   []string
	Settings []Setting
	Resource func(*Check, view.Resource)
	Stack    func(*Check, view.Graph)
}

// Setting of a rule, given in the pack's config file under the rule's name.
type Setting struct {
	Name, Doc string
	Default   any // int, string or []string
}

// Environment is what the pack reads from the stack's own configuration.
type Environment struct {
	// Region from aws:region; empty when it is not configured.
	Region string
	// PodsSelectPool from headroom:environment: every pod selects its pool by label.
	PodsSelectPool bool
}

// Finding is one complaint, or, with Unknown set, a place where the rule could not look.
type Finding struct {
	URN, Path, Text string
	Unknown         bool
}

// Check is one run of one rule: what it may ask, and where it reports.
type Check struct {
	Env      Environment
	Now      time.Time
	Seen     map[string]int // how often resource rules were called so far, by resource type
	Settings map[string]any // of the rule that runs; what is not given has its default
	rule     *Rule
	findings []Finding
}

// Violation reports what is wrong with the value. Text and arguments must not hold a property's value except through
// Show.
func (c *Check) Violation(at view.Value, format string, args ...any) {
	text := fmt.Sprintf("%s is %s: %s. Remedy: %s", at.Path(), at.Show(), fmt.Sprintf(format, args...), c.rule.Remedy)
	c.findings = append(c.findings, Finding{URN: at.URN(), Path: at.Path(), Text: text})
}

// Unknown notes that the rule could not look at the value.
func (c *Check) Unknown(at view.Value) {
	c.findings = append(c.findings, Finding{URN: at.URN(), Path: at.Path(), Text: at.Path(), Unknown: true})
}

// Expect reports the value unless it holds. Absent violates; unknown is noted.
func (c *Check) Expect(at view.Value, says string, holds func(view.Value) bool) {
	switch {
	case at.State() == view.Unknown:
		c.Unknown(at)
	case at.State() == view.Absent || !holds(at):
		c.Violation(at, "%s", says)
	}
}

// Known says whether the value can be read, and notes it when it is there but unknown.
func (c *Check) Known(at view.Value, state view.State) bool {
	if state == view.Unknown {
		c.Unknown(at)
	}
	return state == view.Known
}

// Int is a whole number setting.
func (c *Check) Int(name string) int {
	if n, ok := c.setting(name).(float64); ok {
		return int(n)
	}
	n, _ := c.setting(name).(int)
	return n
}

// Strings is a list setting.
func (c *Check) Strings(name string) []string {
	switch list := c.setting(name).(type) {
	case []string:
		return list
	case []any:
		var out []string
		for _, e := range list {
			out = append(out, fmt.Sprint(e))
		}
		return out
	}
	return nil
}

func (c *Check) setting(name string) any {
	if value, ok := c.Settings[name]; ok {
		return value
	}
	for _, s := range c.rule.Settings {
		if s.Name == name {
			return s.Default
		}
	}
	return nil
}

// Wants says whether a resource rule is called for resources of this type.
func (r Rule) Wants(typ string) bool {
	return slices.ContainsFunc(r.Types, func(t string) bool {
		return t == typ || strings.HasSuffix(t, ":") && strings.HasPrefix(typ, t)
	})
}

// OnResource gives a resource rule's findings on one resource; a stack rule, or a rule for other types, has none.
func (r Rule) OnResource(c Check, one view.Resource) []Finding {
	if r.Resource == nil || !r.Wants(one.Type) {
		return nil
	}
	return r.run(c, one.URN, func(c *Check) { r.Resource(c, one) })
}

// OnStack gives a stack rule's findings on a whole stack; a resource rule has none.
func (r Rule) OnStack(c Check, all view.Graph) []Finding {
	if r.Stack == nil {
		return nil
	}
	return r.run(c, "", func(c *Check) { r.Stack(c, all) })
}

// run calls the rule. A rule that fails has not passed: its panic becomes a violation that does not show the panic's
// text, since that may hold a property's value.
func (r Rule) run(c Check, urn string, rule func(*Check)) (findings []Finding) {
	c.rule = &r
	defer func() {
		if p := recover(); p != nil {
			findings = append(c.findings, Finding{
				URN:  urn,
				Path: "(rule)",
				Text: fmt.Sprintf("the rule itself failed (%T); this is a fault of the pack, report it", p),
			})
		}
	}()
	rule(&c)
	return c.findings
}

// All rules of the pack, by area.
var All = slices.Concat(
	capacityRules,
	poolRules,
	scalerRules,
	clusterRules,
	nodeRules,
	iamRules,
	interruptionRules,
	namingRules,
)
