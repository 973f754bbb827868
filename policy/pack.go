package main

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/blang/semver"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi/policyx"
)

// This is the only file that knows policyx, which is experimental. What it lacks is made up for here:
//   - a policy has one level, so that what cannot be checked yet is reported by advisory policies of their own (unknownNote);
//   - stack policies get no config: a stack rule with settings is registered twice under its name, the second time as a resource
//     policy that finds nothing and remembers the config (resource policies always run first, the stack resource among them);
//   - a panic ends the process: Rule.run turns it into a violation.

const (
	packName    = "headroom"
	packVersion = "0.1.0" // also in PulumiPolicy.yaml, a test compares
	unknownNote = "unknown-in-preview"
	unknownAll  = "unknown-in-preview-stack"
)

// serve answers the engine until it hangs up.
func serve() error {
	return policyx.Main(func(ctx *pulumi.Context) (policyx.PolicyPack, error) {
		region, _ := ctx.GetConfig("aws:region")
		environment, _ := ctx.GetConfig("headroom:environment")
		env, err := readEnvironment(region, environment)
		if err != nil {
			return nil, err
		}
		return newPack(env, Rules, time.Now)
	})
}

// readEnvironment takes what rules need from the stack's configuration; the program itself validates all of it.
func readEnvironment(region, environment string) (Environment, error) {
	env := Environment{Region: region}
	if environment == "" {
		return env, nil
	}
	var object struct {
		PodsSelectPool bool `json:"podsSelectPool"`
	}
	if err := json.Unmarshal([]byte(environment), &object); err != nil {
		return env, fmt.Errorf("headroom:environment: podsSelectPool cannot be read: %T", err) // its text may hold a secret
	}
	env.PodsSelectPool = object.PodsSelectPool
	return env, nil
}

// pack is what policies of one run share. The engine may ask about several resources at once.
type pack struct {
	env      Environment
	rules    []Rule
	now      func() time.Time
	mu       sync.Mutex
	seen     map[string]int
	settings map[string]map[string]any // by rule
}

func newPack(env Environment, rules []Rule, now func() time.Time) (policyx.PolicyPack, error) {
	p := &pack{env: env, rules: rules, now: now, seen: map[string]int{}, settings: map[string]map[string]any{}}
	var policies []policyx.Policy
	for _, rule := range rules {
		policies = append(policies, p.policies(rule)...)
	}
	policies = append(policies,
		policyx.NewResourceValidationPolicy(unknownNote, policyx.ResourceValidationPolicyArgs{
			Description:      "Some rules could not look at this resource: the values are decided by the update, which runs the pack again.",
			EnforcementLevel: policyx.EnforcementLevelAdvisory,
			ValidateResource: func(_ context.Context, args policyx.ResourceValidationArgs) error {
				r := viewOf(args.Resource)
				p.note(args.Manager, func(rule Rule) []Finding { return rule.run(p.check(rule, p.remembered(rule.Name)), &r, Graph{}) })
				return nil
			},
		}),
		policyx.NewStackValidationPolicy(unknownAll, policyx.StackValidationPolicyArgs{
			Description:      "Some rules could not look at the whole stack: the values are decided by the update, which runs the pack again.",
			EnforcementLevel: policyx.EnforcementLevelAdvisory,
			ValidateStack: func(_ context.Context, args policyx.StackValidationArgs) error {
				g := graphOf(args.Resources)
				p.note(args.Manager, func(rule Rule) []Finding { return rule.run(p.check(rule, p.remembered(rule.Name)), nil, g) })
				return nil
			},
		}))
	return policyx.NewPolicyPack(packName, semver.MustParse(packVersion), policyx.EnforcementLevelMandatory, policies)
}

// policies of one rule: one, or two for a stack rule with settings.
func (p *pack) policies(rule Rule) []policyx.Policy {
	level := policyx.EnforcementLevelAdvisory
	if rule.Level == Mandatory {
		level = policyx.EnforcementLevelMandatory
	}
	onResource := policyx.NewResourceValidationPolicy(rule.Name, policyx.ResourceValidationPolicyArgs{
		Description: rule.Why, EnforcementLevel: level, ConfigSchema: schema(rule.Settings),
		ValidateResource: func(_ context.Context, args policyx.ResourceValidationArgs) error {
			p.remember(rule.Name, args.Config)
			p.saw(args.Resource.Type)
			if rule.Resource != nil && rule.Wants(args.Resource.Type) {
				r := viewOf(args.Resource)
				report(args.Manager, rule.run(p.check(rule, args.Config), &r, Graph{}))
			}
			return nil
		},
	})
	if rule.Resource != nil {
		return []policyx.Policy{onResource}
	}
	onStack := policyx.NewStackValidationPolicy(rule.Name, policyx.StackValidationPolicyArgs{
		Description: rule.Why, EnforcementLevel: level, ConfigSchema: schema(rule.Settings),
		ValidateStack: func(_ context.Context, args policyx.StackValidationArgs) error {
			report(args.Manager, rule.run(p.check(rule, p.remembered(rule.Name)), nil, graphOf(args.Resources)))
			return nil
		},
	})
	if len(rule.Settings) == 0 {
		return []policyx.Policy{onStack}
	}
	return []policyx.Policy{onResource, onStack}
}

func (p *pack) check(rule Rule, settings map[string]any) Check {
	p.mu.Lock()
	defer p.mu.Unlock()
	return Check{Env: p.env, Now: p.now(), Seen: maps.Clone(p.seen), settings: settings}
}

func (p *pack) saw(typ string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.seen[typ]++
}

func (p *pack) remember(rule string, settings map[string]any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.settings[rule] = settings
}

func (p *pack) remembered(rule string) map[string]any {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.settings[rule]
}

// report tells the engine what violates; what is unknown is left to note.
func report(manager policyx.PolicyManager, findings []Finding) {
	for _, f := range findings {
		if !f.Unknown {
			manager.ReportViolation(f.Text, f.URN)
		}
	}
}

// note reports, in one finding a resource, what each rule could not look at.
func (p *pack) note(manager policyx.PolicyManager, run func(Rule) []Finding) {
	var order []string
	notes := map[string][]string{}
	for _, rule := range p.rules {
		paths := map[string][]string{}
		for _, f := range run(rule) {
			if f.Unknown {
				paths[f.URN] = append(paths[f.URN], f.Path)
			}
		}
		for urn, list := range paths {
			if notes[urn] == nil {
				order = append(order, urn)
			}
			notes[urn] = append(notes[urn], fmt.Sprintf("%s cannot be checked in preview: %s", rule.Name, strings.Join(unique(list), ", ")))
		}
	}
	for _, urn := range order {
		manager.ReportViolation(strings.Join(notes[urn], "\n"), urn)
	}
}

func unique(list []string) (out []string) {
	seen := map[string]bool{}
	for _, item := range list {
		if !seen[item] {
			out = append(out, item)
		}
		seen[item] = true
	}
	return out
}

func viewOf(a policyx.AnalyzerResource) Resource {
	r := newResource(a.Type, a.Name, a.URN, a.Properties)
	r.Parent, r.PropertyDependencies = a.Parent, a.PropertyDependencies
	r.Protect, r.IgnoreChanges = a.Options.Protect, a.Options.IgnoreChanges
	return r
}

func graphOf(resources []policyx.AnalyzerResource) Graph {
	g := Graph{}
	for _, a := range resources {
		g.Resources = append(g.Resources, viewOf(a))
	}
	// The engine's order is random; a finding must name the same resource each time, since exceptions are made by URN.
	slices.SortFunc(g.Resources, func(a, b Resource) int { return strings.Compare(a.URN, b.URN) })
	return g
}

// schema of a rule's settings, with their defaults, which the engine fills in.
func schema(settings []Setting) *policyx.ConfigSchema {
	if len(settings) == 0 {
		return nil
	}
	properties := map[string]map[string]any{}
	for _, s := range settings {
		property := map[string]any{"description": s.Doc}
		switch value := s.Default.(type) {
		case int:
			property["type"], property["default"] = "integer", value
		case []string:
			list := make([]any, len(value))
			for i, item := range value {
				list[i] = item
			}
			property["type"], property["default"], property["items"] = "array", list, map[string]any{"type": "string"}
		}
		properties[s.Name] = property
	}
	return &policyx.ConfigSchema{Properties: properties}
}
