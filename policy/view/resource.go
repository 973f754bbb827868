// Package view is what rules look at: the resources of a stack, read by type token and property name, and the graph of
// all of them.
//
// It owns how a property is read: absent, unknown or known, with its place, and never a secret shown. It owns how a
// managed node group and a NodePool are read alike, and what the name of an instance type says. It does not own any
// judgement of what it reads (package rules), and imports no provider SDK. Every function is pure; none panics.
package view

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/pulumi/pulumi/sdk/v3/go/property"
	"sigs.k8s.io/yaml"
)

// State of a property: a preview knows less than an update.
type State int

const (
	Absent  State = iota // not given, or null
	Unknown              // decided by the update, or of a type the rule cannot read
	Known
)

// Resource is a read-only view of one resource. Resource rules see its inputs before the step, stack rules its outputs
// after all steps.
type Resource struct {
	Type, Name, URN, Parent string
	Props                   Value
	Protect                 bool
	IgnoreChanges           []string
	// PropertyDependencies: property -> URNs it was made from. Only stack rules have it.
	PropertyDependencies map[string][]string
}

// Value is a property that says where it is, whether it is known, and never shows a secret.
// Reading through an absent value gives absent, through an unknown one unknown; nothing panics.
type Value struct {
	raw    property.Value
	urn    string
	path   string
	secret bool
}

// NewResource views a property map.
func NewResource(typ, name, urn string, props property.Map) Resource {
	return Resource{Type: typ, Name: name, URN: urn, Props: Value{raw: property.New(props), urn: urn}}
}

// NewValue is a value at a place of a resource, or one that a rule has worked out from several.
func NewValue(urn, path string, raw property.Value) Value {
	return Value{raw: raw, urn: urn, path: path}
}

// At is the same value under another path, for a message that must not hold the value's own.
func (v Value) At(path string) Value {
	v.path = path
	return v
}

// State of the value as a whole; a known list may hold unknown elements.
func (v Value) State() State {
	switch {
	case v.raw.IsComputed():
		return Unknown
	case v.raw.IsNull():
		return Absent
	default:
		return Known
	}
}

func (v Value) child(step string, raw property.Value) Value {
	path := step
	if v.path != "" {
		path = v.path + step
		if !strings.HasPrefix(step, "[") {
			path = v.path + "." + step
		}
	}
	return Value{raw: raw, urn: v.urn, path: path, secret: v.secret || raw.Secret()}
}

// Key reads one key after another. Keys with other characters than letters, digits and underscores are quoted in the
// path.
func (v Value) Key(keys ...string) Value {
	for _, key := range keys {
		step := key
		if strings.IndexFunc(key, func(r rune) bool { return r != '_' && !isAlphanumeric(r) }) >= 0 {
			step = "[" + strconv.Quote(key) + "]"
		}
		raw := v.raw
		switch {
		case raw.IsMap():
			raw = raw.AsMap().Get(key)
		case !raw.IsNull():
			raw = property.New(property.Computed)
		}
		v = v.child(step, raw)
	}
	return v
}

func isAlphanumeric(r rune) bool {
	return r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'
}

// Elements of a list. Absent gives no elements; anything but a list is unknown.
func (v Value) Elements() ([]Value, State) {
	if !v.raw.IsArray() {
		if v.State() == Absent {
			return nil, Absent
		}
		return nil, Unknown
	}
	var out []Value
	for i, raw := range v.raw.AsArray().All {
		out = append(out, v.child("["+strconv.Itoa(i)+"]", raw))
	}
	return out, Known
}

// List is Elements, with a single value read as a list of one, as policy documents write it.
func (v Value) List() ([]Value, State) {
	if v.State() == Known && !v.raw.IsArray() {
		return []Value{v}, Known
	}
	return v.Elements()
}

// Keys of a map, sorted. Those of a secret map are secret too: show them only through ShowKey.
func (v Value) Keys() ([]string, State) {
	if !v.raw.IsMap() {
		if v.State() == Absent {
			return nil, Absent
		}
		return nil, Unknown
	}
	var keys []string
	for key := range v.raw.AsMap().All {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys, Known
}

// Text of a string; another type is unknown.
func (v Value) Text() (string, State) {
	if v.raw.IsString() {
		return v.raw.AsString(), Known
	}
	return "", v.unreadable()
}

// Bool also reads the strings "true" and "false", as launch templates write them.
func (v Value) Bool() (bool, State) {
	if v.raw.IsBool() {
		return v.raw.AsBool(), Known
	}
	if v.raw.IsString() {
		if b, err := strconv.ParseBool(v.raw.AsString()); err == nil {
			return b, Known
		}
	}
	return false, v.unreadable()
}

// Int reads whole numbers, and strings of digits as Kubernetes quantities write them.
func (v Value) Int() (int, State) {
	if v.raw.IsNumber() {
		if n := v.raw.AsNumber(); n == math.Trunc(n) && math.Abs(n) < 1<<52 {
			return int(n), Known
		}
	}
	if v.raw.IsString() {
		if n, err := strconv.Atoi(v.raw.AsString()); err == nil {
			return n, Known
		}
	}
	return 0, v.unreadable()
}

func (v Value) unreadable() State {
	if v.State() == Absent {
		return Absent
	}
	return Unknown
}

// Texts gives the known strings of a list and whether every element was one.
func (v Value) Texts() ([]string, State) {
	elements, state := v.List()
	var out []string
	for _, e := range elements {
		text, s := e.Text()
		if s != Known {
			state = Unknown
			continue
		}
		out = append(out, text)
	}
	return out, state
}

// JSON reads a string that holds a JSON document as a value; a map is taken as it is. Text that is no JSON is unknown.
func (v Value) JSON() Value {
	text, state := v.Text()
	if state != Known {
		return v
	}
	var doc any
	v.raw = property.New(property.Computed)
	if json.Unmarshal([]byte(text), &doc) == nil {
		if raw, err := property.Any(plain(doc)); err == nil {
			v.raw = raw
		}
	}
	return v
}

// YAML reads a string that holds a YAML document as a value. Text that is no YAML is unknown.
func (v Value) YAML() Value {
	text, state := v.Text()
	if state != Known {
		return v
	}
	document, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		v.raw = property.New(property.Computed)
		return v
	}
	v.raw = property.New(string(document))
	return v.JSON()
}

// plain turns decoded JSON into what property.Any takes.
func plain(doc any) any {
	switch d := doc.(type) {
	case map[string]any:
		out := map[string]property.Value{}
		for k, e := range d {
			out[k], _ = property.Any(plain(e)) // decoded JSON holds nothing that Any refuses
		}
		return out
	case []any:
		out := make([]property.Value, len(d))
		for i, e := range d {
			out[i], _ = property.Any(plain(e))
		}
		return out
	}
	return doc
}

// Leaves calls f for every string in the value, unknown values included, keys in order.
func (v Value) Leaves(f func(Value)) {
	if keys, state := v.Keys(); state == Known {
		for _, key := range keys {
			leaf := v.Key(key)
			if v.secret { // its keys are secret too
				leaf.path = v.path + "[(secret)]"
			}
			leaf.Leaves(f)
		}
		return
	}
	if elements, state := v.Elements(); state == Known {
		for _, e := range elements {
			e.Leaves(f)
		}
		return
	}
	if v.raw.IsString() || v.raw.IsComputed() {
		f(v)
	}
}

// Show is the value for a person: short, and never a secret.
func (v Value) Show() string {
	switch {
	case v.secret || v.raw.HasSecrets():
		return "(secret)"
	case v.State() == Absent:
		return "nothing"
	case v.State() == Unknown:
		return "(unknown)"
	case v.raw.IsString():
		text := []rune(v.raw.AsString())
		if len(text) > 120 {
			return strconv.Quote(string(text[:117])) + "..."
		}
		return strconv.Quote(string(text))
	case v.raw.IsBool():
		return strconv.FormatBool(v.raw.AsBool())
	case v.raw.IsNumber():
		return strconv.FormatFloat(v.raw.AsNumber(), 'f', -1, 64)
	}
	if elements, state := v.Elements(); state == Known {
		var shown []string
		for i, e := range elements {
			if i == 5 {
				shown = append(shown, "...")
				break
			}
			shown = append(shown, e.Show())
		}
		return "[" + strings.Join(shown, ", ") + "]"
	}
	if keys, state := v.Keys(); state == Known {
		return fmt.Sprintf("an object with %d keys", len(keys))
	}
	return "a value of another kind"
}

// ShowKey is a key of this map for a person: keys of a secret map are secret too.
func (v Value) ShowKey(key string) string {
	if v.secret {
		return "(secret)"
	}
	return strconv.Quote(key)
}

// URN of the resource that the value belongs to.
func (v Value) URN() string { return v.urn }

// Path of the property, for a message.
func (v Value) Path() string {
	if v.path == "" {
		return "(resource)"
	}
	return v.path
}
