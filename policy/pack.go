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
	"github.com/pulumi/pulumi/sdk/v3/go/property"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi/policyx"
)

// This is the only file that knows policyx, which is experimental. What it lacks is made up for here:
//   - a policy has one level, so that what cannot be checked yet is gathered and reported once by an advisory policy,
//     unknownNote;
//   - stack policies get no config: a stack rule with settings is registered twice under its name, the second time as a
//     resource policy that finds nothing and remembers the config (resource policies always run first, the stack
//     resource among them);
//   - a panic ends the process: Rule.run turns it into a violation.

const (
	packName    = "headroom"
	packVersion = "0.1.0" // also in PulumiPolicy.yaml, a test compares
	unknownNote = "unknown-in-preview"
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
		// its text may hold a secret
		return env, fmt.Errorf("headroom:environment: podsSelectPool cannot be read: %T", err)
	}
	env.PodsSelectPool = object.PodsSelectPool
	return env, nil
}

// pack is what the policies of one run share. The engine may ask about several resources at once.
type pack struct {
	env      Environment
	now      func() time.Time
	mu       sync.Mutex
	seen     map[string]int            // by resource type
	inputs   map[string]property.Map   // by URN
	settings map[string]map[string]any // by rule
	notes    map[string][]Finding      // by rule: where it could not look
}

func newPack(env Environment, rules []Rule, now func() time.Time) (policyx.PolicyPack, error) {
	p := &pack{
		env:      env,
		now:      now,
		seen:     map[string]int{},
		inputs:   map[string]property.Map{},
		settings: map[string]map[string]any{},
		notes:    map[string][]Finding{},
	}
	var policies []policyx.Policy
	for _, rule := range rules {
		policies = append(policies, p.policies(rule)...)
	}
	// Last, when every other policy has looked.
	policies = append(policies, policyx.NewStackValidationPolicy(unknownNote, policyx.StackValidationPolicyArgs{
		Description:      "Some rules could not look at values that the update decides; it runs the pack again.",
		EnforcementLevel: policyx.EnforcementLevelAdvisory,
		ValidateStack: func(_ context.Context, args policyx.StackValidationArgs) error {
			if text := p.noted(rules); text != "" {
				args.Manager.ReportViolation(text, stackURN(p.graphOf(args.Resources)))
			}
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
			p.saw(args.Resource)
			if rule.Resource != nil && rule.Wants(args.Resource.Type) {
				r := viewOf(args.Resource)
				p.report(args.Manager, rule, rule.run(p.check(args.Config), &r, Graph{}))
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
			p.report(args.Manager, rule, rule.run(p.check(p.remembered(rule.Name)), nil, p.graphOf(args.Resources)))
			return nil
		},
	})
	if len(rule.Settings) == 0 {
		return []policyx.Policy{onStack}
	}
	return []policyx.Policy{onResource, onStack}
}

func (p *pack) check(settings map[string]any) Check {
	p.mu.Lock()
	defer p.mu.Unlock()
	return Check{Env: p.env, Now: p.now(), Seen: maps.Clone(p.seen), settings: settings}
}

func (p *pack) saw(a policyx.AnalyzerResource) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if _, again := p.inputs[a.URN]; !again {
		p.seen[a.Type]++
		p.inputs[a.URN] = a.Properties
	}
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

// report tells the engine what violates, and keeps what is unknown for the note at the end.
func (p *pack) report(manager policyx.PolicyManager, rule Rule, findings []Finding) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, f := range findings {
		if f.Unknown {
			p.notes[rule.Name] = append(p.notes[rule.Name], f)
		} else {
			manager.ReportViolation(f.Text, f.URN)
		}
	}
}

// noted says in one text what each rule could not look at, in the order of the rules.
func (p *pack) noted(rules []Rule) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	var lines []string
	for _, rule := range rules {
		var places []string
		for _, f := range p.notes[rule.Name] {
			places = append(places, f.URN[strings.LastIndex(f.URN, ":")+1:]+" "+f.Path)
		}
		slices.Sort(places)
		if places = slices.Compact(places); len(places) > 4 {
			places = append(places[:3], fmt.Sprintf("and %d more", len(places)-3))
		}
		if len(places) > 0 {
			lines = append(lines, fmt.Sprintf("%s cannot be checked in preview: %s", rule.Name,
				strings.Join(places, ", ")))
		}
	}
	return strings.Join(lines, "\n")
}

func viewOf(a policyx.AnalyzerResource) Resource {
	r := newResource(a.Type, a.Name, a.URN, a.Properties)
	r.Parent, r.PropertyDependencies = a.Parent, a.PropertyDependencies
	r.Protect, r.IgnoreChanges = a.Options.Protect, a.Options.IgnoreChanges
	return r
}

// graphOf views all resources by their outputs. What a preview does not know of them, as when a provider is not there
// yet, is taken from the inputs that resource policies were shown before.
func (p *pack) graphOf(resources []policyx.AnalyzerResource) Graph {
	p.mu.Lock()
	defer p.mu.Unlock()
	g := Graph{}
	for _, a := range resources {
		for key, input := range p.inputs[a.URN].All {
			if output := a.Properties.Get(key); output.IsNull() || output.IsComputed() {
				a.Properties = a.Properties.Set(key, input)
			}
		}
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
