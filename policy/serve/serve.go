// Package serve answers the engine for a pack of rules.
//
// It owns how the engine asks and is told, and is the only package that knows policyx, which is experimental. It does
// not own the rules, nor what they look at. What policyx lacks is made up for here:
//   - a policy has one level, so that what cannot be checked yet is gathered and reported once by an advisory policy,
//     UnknownNote;
//   - stack policies get no config: a stack rule with settings is registered twice under its name, the second time as a
//     resource policy that finds nothing and remembers the config (resource policies always run first, the stack
//     resource among them);
//   - a panic ends the process: rules turn it into a violation.
package serve

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
	"github.com/headroom-eks/headroom/policy/rules"
	"github.com/headroom-eks/headroom/policy/view"
	"github.com/pulumi/pulumi/sdk/v3/go/property"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi/policyx"
)

// UnknownNote is the policy that says what could not be checked yet.
const UnknownNote = "unknown-in-preview"

// Pack is a set of rules under one name and version.
type Pack struct {
	Name    string
	Version string // semantic
	Rules   []rules.Rule
}

// Serve answers the engine until it hangs up.
func (p Pack) Serve() error {
	return policyx.Main(func(ctx *pulumi.Context) (policyx.PolicyPack, error) {
		region, _ := ctx.GetConfig("aws:region")
		environment, _ := ctx.GetConfig("headroom:environment")
		env, err := readEnvironment(region, environment)
		if err != nil {
			return nil, err
		}
		return p.forStack(env, time.Now)
	})
}

// readEnvironment takes what rules need from the stack's configuration; the program itself validates all of it.
func readEnvironment(region, environment string) (rules.Environment, error) {
	env := rules.Environment{Region: region}
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

// run is what the policies of one run share. The engine may ask about several resources at once.
type run struct {
	env      rules.Environment
	now      func() time.Time
	mu       sync.Mutex
	seen     map[string]int             // by resource type
	inputs   map[string]property.Map    // by URN
	settings map[string]map[string]any  // by rule
	notes    map[string][]rules.Finding // by rule: where it could not look
}

// forStack makes the policies of one run.
func (p Pack) forStack(env rules.Environment, now func() time.Time) (policyx.PolicyPack, error) {
	version, err := semver.Parse(p.Version)
	if err != nil {
		return nil, fmt.Errorf("version of policy pack %s: %w", p.Name, err)
	}
	r := &run{
		env:      env,
		now:      now,
		seen:     map[string]int{},
		inputs:   map[string]property.Map{},
		settings: map[string]map[string]any{},
		notes:    map[string][]rules.Finding{},
	}
	var policies []policyx.Policy
	for _, rule := range p.Rules {
		policies = append(policies, r.policies(rule)...)
	}
	// Last, when every other policy has looked.
	policies = append(policies, policyx.NewStackValidationPolicy(UnknownNote, policyx.StackValidationPolicyArgs{
		Description:      "Some rules could not look at values that the update decides; it runs the pack again.",
		EnforcementLevel: policyx.EnforcementLevelAdvisory,
		ValidateStack: func(_ context.Context, args policyx.StackValidationArgs) error {
			if text := r.noted(p.Rules); text != "" {
				args.Manager.ReportViolation(text, r.graphOf(args.Resources).StackURN())
			}
			return nil
		},
	}))
	return policyx.NewPolicyPack(p.Name, version, policyx.EnforcementLevelMandatory, policies)
}

// policies of one rule: one, or two for a stack rule with settings.
func (r *run) policies(rule rules.Rule) []policyx.Policy {
	level := policyx.EnforcementLevelAdvisory
	if rule.Level == rules.Mandatory {
		level = policyx.EnforcementLevelMandatory
	}
	onResource := policyx.NewResourceValidationPolicy(rule.Name, policyx.ResourceValidationPolicyArgs{
		Description:      rule.Why,
		EnforcementLevel: level,
		ConfigSchema:     Schema(rule.Settings),
		ValidateResource: func(_ context.Context, args policyx.ResourceValidationArgs) error {
			r.remember(rule.Name, args.Config)
			if leftOut(args.Resource) {
				return nil
			}
			r.saw(args.Resource)
			if rule.Resource != nil && rule.Wants(args.Resource.Type) {
				r.report(args.Manager, rule, rule.OnResource(r.check(args.Config), viewOf(args.Resource)))
			}
			return nil
		},
	})
	if rule.Resource != nil {
		return []policyx.Policy{onResource}
	}
	onStack := policyx.NewStackValidationPolicy(rule.Name, policyx.StackValidationPolicyArgs{
		Description:      rule.Why,
		EnforcementLevel: level,
		ConfigSchema:     Schema(rule.Settings),
		ValidateStack: func(_ context.Context, args policyx.StackValidationArgs) error {
			check := r.check(r.remembered(rule.Name))
			r.report(args.Manager, rule, rule.OnStack(check, r.graphOf(args.Resources)))
			return nil
		},
	})
	if len(rule.Settings) == 0 {
		return []policyx.Policy{onStack}
	}
	return []policyx.Policy{onResource, onStack}
}

func (r *run) check(settings map[string]any) rules.Check {
	r.mu.Lock()
	defer r.mu.Unlock()
	return rules.Check{Env: r.env, Now: r.now(), Seen: maps.Clone(r.seen), Settings: settings}
}

func (r *run) saw(a policyx.AnalyzerResource) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, again := r.inputs[a.URN]; !again {
		r.seen[a.Type]++
		r.inputs[a.URN] = a.Properties
	}
}

func (r *run) remember(rule string, settings map[string]any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.settings[rule] = settings
}

func (r *run) remembered(rule string) map[string]any {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.settings[rule]
}

// report tells the engine what violates, and keeps what is unknown for the note at the end.
func (r *run) report(manager policyx.PolicyManager, rule rules.Rule, findings []rules.Finding) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, f := range findings {
		if f.Unknown {
			r.notes[rule.Name] = append(r.notes[rule.Name], f)
		} else {
			manager.ReportViolation(f.Text, f.URN)
		}
	}
}

// noted says in one text what each rule could not look at, in the order of the rules.
func (r *run) noted(list []rules.Rule) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var lines []string
	for _, rule := range list {
		var places []string
		for _, f := range r.notes[rule.Name] {
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

// leftOut: the update makes no such resource, because it was given targets (--target) that leave it out. The engine
// shows it all the same, without any property, since its provider was not asked to check it; a checked one has some.
func leftOut(a policyx.AnalyzerResource) bool { return a.Properties.Len() == 0 }

func viewOf(a policyx.AnalyzerResource) view.Resource {
	r := view.NewResource(a.Type, a.Name, a.URN, a.Properties)
	r.Parent, r.PropertyDependencies = a.Parent, a.PropertyDependencies
	r.Protect, r.IgnoreChanges = a.Options.Protect, a.Options.IgnoreChanges
	return r
}

// graphOf views all resources by their outputs. What a preview does not know of them, as when a provider is not there
// yet, is taken from the inputs that resource policies were shown before.
func (r *run) graphOf(resources []policyx.AnalyzerResource) view.Graph {
	r.mu.Lock()
	defer r.mu.Unlock()
	g := view.Graph{}
	for _, a := range resources {
		for key, input := range r.inputs[a.URN].All {
			if output := a.Properties.Get(key); output.IsNull() || output.IsComputed() {
				a.Properties = a.Properties.Set(key, input)
			}
		}
		if !leftOut(a) {
			g.Resources = append(g.Resources, viewOf(a))
		}
	}
	// The engine's order is random; a finding must name the same resource each time, since exceptions are made by URN.
	slices.SortFunc(g.Resources, func(a, b view.Resource) int { return strings.Compare(a.URN, b.URN) })
	return g
}

// Schema of a rule's settings, with their defaults, which the engine fills in.
func Schema(settings []rules.Setting) *policyx.ConfigSchema {
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
