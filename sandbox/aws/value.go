package aws

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/pulumi/pulumi/sdk/v3/go/common/resource"
)

// obj is a property map with plain Go values: bool, float64, string, []any, obj and unknown{}. Null is left out.
type obj = map[string]any

// unknown stands for a value that a preview does not know yet.
type unknown struct{}

// defaultsKey lists the inputs that the provider chose itself, as bridged providers record it.
const defaultsKey = "__defaults"

func fromProperties(props resource.PropertyMap) obj {
	out := obj{}
	for k, v := range props {
		if v.IsNull() {
			continue
		}
		out[string(k)] = fromProperty(v)
	}
	return out
}

func fromProperty(v resource.PropertyValue) any {
	switch {
	case v.IsSecret():
		return fromProperty(v.SecretValue().Element)
	case v.IsComputed(), v.IsOutput() && !v.OutputValue().Known:
		return unknown{}
	case v.IsOutput():
		return fromProperty(v.OutputValue().Element)
	case v.IsResourceReference():
		if id, known := v.ResourceReferenceValue().IDString(); known {
			return id
		}
		return unknown{}
	case v.IsArray():
		all := make([]any, 0, len(v.ArrayValue()))
		for _, e := range v.ArrayValue() {
			all = append(all, fromProperty(e))
		}
		return all
	case v.IsObject():
		return fromProperties(v.ObjectValue())
	}
	return v.V
}

func toProperties(o obj) resource.PropertyMap {
	out := resource.PropertyMap{}
	for k, v := range o {
		out[resource.PropertyKey(k)] = toProperty(v)
	}
	return out
}

func toProperty(v any) resource.PropertyValue {
	switch v := v.(type) {
	case unknown:
		return resource.MakeComputed(resource.NewProperty(""))
	case obj:
		return resource.NewProperty(toProperties(v))
	case []any:
		all := make([]resource.PropertyValue, 0, len(v))
		for _, e := range v {
			all = append(all, toProperty(e))
		}
		return resource.NewProperty(all)
	}
	return resource.NewPropertyValue(v)
}

// plain brings values written by hand in Go (ints, typed slices and maps) into the form of obj.
func plain(v any) any {
	switch v := v.(type) {
	case obj:
		out := obj{}
		for k, e := range v {
			out[k] = plain(e)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, e := range v {
			out[i] = plain(e)
		}
		return out
	case map[string]string:
		out := obj{}
		for k, e := range v {
			out[k] = e
		}
		return out
	case []string:
		out := make([]any, len(v))
		for i, e := range v {
			out[i] = e
		}
		return out
	case []obj:
		out := make([]any, len(v))
		for i, e := range v {
			out[i] = plain(e)
		}
		return out
	case int:
		return float64(v)
	}
	return v
}

// at follows a path such as "vpcConfig.subnetIds" or "rules[].id" and returns every value there; nothing where the path
// does not exist.
func at(v any, path string) []any {
	if path == "" {
		if all, ok := v.([]any); ok {
			return all
		}
		if v == nil {
			return nil
		}
		return []any{v}
	}
	head, rest, _ := strings.Cut(path, ".")
	switch v := v.(type) {
	case obj:
		next, ok := v[head]
		if !ok {
			return nil
		}
		return at(next, rest)
	case []any:
		var out []any
		for _, e := range v {
			out = append(out, at(e, path)...)
		}
		return out
	case unknown:
		return []any{unknown{}}
	}
	return nil
}

// one is the single value at a path, or nil. A list is returned whole.
func one(o obj, path string) any {
	head, rest, nested := strings.Cut(path, ".")
	v := o[head]
	if !nested {
		return v
	}
	if inner, ok := v.(obj); ok {
		return one(inner, rest)
	}
	return nil
}

func str(o obj, path string) string { s, _ := one(o, path).(string); return s }
func num(o obj, path string) int    { f, _ := one(o, path).(float64); return int(f) }
func truth(o obj, path string) bool { b, _ := one(o, path).(bool); return b }
func list(o obj, path string) []any { l, _ := one(o, path).([]any); return l }
func has(o obj, path string) bool   { return one(o, path) != nil }
func isUnknown(v any) bool          { _, ok := v.(unknown); return ok }
func sorted(o obj) []string         { return slices.Sorted(maps.Keys(o)) }
func same(a, b any) bool            { return reflect.DeepEqual(a, b) }

// texts are the strings of a list; anything else in it is left out.
func texts(l []any) []string {
	var out []string
	for _, v := range l {
		if s, ok := v.(string); ok {
			out = append(out, s)
		}
	}
	return out
}

// stringMap reads a map of strings, such as tags; unknown values are left out.
func stringMap(v any) map[string]string {
	out := map[string]string{}
	if o, ok := v.(obj); ok {
		for k, e := range o {
			if s, ok := e.(string); ok {
				out[k] = s
			}
		}
	}
	return out
}

// clone copies deeply.
func clone(o obj) obj { return plain(o).(obj) }

// text renders a scalar for an ARN, an id or an error.
func text(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64)
	}
	return fmt.Sprint(v)
}

// fill replaces {key} by the value of key. It is unknown when one of the values is, or is missing.
func fill(template string, values obj) any {
	var b strings.Builder
	for {
		before, rest, found := strings.Cut(template, "{")
		b.WriteString(before)
		if !found {
			return b.String()
		}
		key, after, _ := strings.Cut(rest, "}")
		v, ok := values[key]
		if !ok || isUnknown(v) {
			return unknown{}
		}
		b.WriteString(text(v))
		template = after
	}
}

// hash is n hexadecimal digits that depend on s alone.
func hash(s string, n int) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:])[:n]
}
