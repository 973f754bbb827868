package main

import (
	"fmt"
	"slices"
	"strings"
	"time"
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
	Resource func(*Check, Resource)
	Stack    func(*Check, Graph)
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
	settings map[string]any
	rule     *Rule
	findings []Finding
}

// Violation reports what is wrong with the value. Text and arguments must not hold a property's value except through
// Show.
func (c *Check) Violation(at Value, format string, args ...any) {
	text := fmt.Sprintf("%s is %s: %s. Remedy: %s", at.Path(), at.Show(), fmt.Sprintf(format, args...), c.rule.Remedy)
	c.findings = append(c.findings, Finding{URN: at.urn, Path: at.Path(), Text: text})
}

// Unknown notes that the rule could not look at the value.
func (c *Check) Unknown(at Value) {
	c.findings = append(c.findings, Finding{URN: at.urn, Path: at.Path(), Text: at.Path(), Unknown: true})
}

// Expect reports the value unless it holds. Absent violates; unknown is noted.
func (c *Check) Expect(at Value, says string, holds func(Value) bool) {
	switch {
	case at.State() == Unknown:
		c.Unknown(at)
	case at.State() == Absent || !holds(at):
		c.Violation(at, "%s", says)
	}
}

// Known tells whether the value can be read, and notes it when it is there but unknown.
func (c *Check) Known(at Value, state State) bool {
	if state == Unknown {
		c.Unknown(at)
	}
	return state == Known
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
	if value, ok := c.settings[name]; ok {
		return value
	}
	for _, s := range c.rule.Settings {
		if s.Name == name {
			return s.Default
		}
	}
	return nil
}

// Wants tells whether a resource rule is called for resources of this type.
func (r Rule) Wants(typ string) bool {
	return slices.ContainsFunc(r.Types, func(t string) bool {
		return t == typ || strings.HasSuffix(t, ":") && strings.HasPrefix(typ, t)
	})
}

// run gives the rule's findings on one resource or on a whole stack. A rule that fails has not passed: its panic
// becomes a violation that does not show the panic's text, since that may hold a property's value.
func (r Rule) run(c Check, one *Resource, all Graph) (findings []Finding) {
	c.rule = &r
	defer func() {
		if p := recover(); p != nil {
			failed := Finding{
				Path: "(rule)",
				Text: fmt.Sprintf("the rule itself failed (%T); this is a fault of the pack, report it", p),
			}
			if one != nil {
				failed.URN = one.URN
			}
			findings = append(c.findings, failed)
		}
	}()
	switch {
	case one == nil && r.Stack != nil:
		r.Stack(&c, all)
	case one != nil && r.Resource != nil && r.Wants(one.Type):
		r.Resource(&c, *one)
	}
	return c.findings
}

// Rules is the pack, by area.
var Rules = slices.Concat(capacityRules, poolRules, scalerRules, clusterRules, nodeRules, iamRules, interruptionRules,
	namingRules)
