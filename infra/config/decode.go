package config

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/headroom-eks/headroom/problem"
)

// Decode reads the configuration object, given as JSON, strictly: unknown keys, wrong types and numbers written as text
// are problems, all of them reported at once. What could be read is in the environment, so that its values can be
// judged in the same message; what could not is as if it were left out. Defaults are not filled in yet.
func Decode(text string) (Environment, problem.List) {
	var env Environment
	unread, problems := DecodeStrict("", text, &env)
	env.Unread = unread
	return env, problems
}

// DecodeStrict reads JSON strictly into a Go value. Path is where the value stands, and the beginning of the paths
// inside of it; empty for the environment itself. Unread are the paths of what could not be read.
func DecodeStrict(path, text string, into any) (Unread, problem.List) {
	var r reading
	want := reflect.TypeOf(into).Elem()
	if want.Kind() == reflect.Pointer {
		want = want.Elem()
	}
	where, write := path, "write "+remedy(path, want)
	if path == "" {
		where, write = "headroom:environment", "write an object, see Pulumi.dev.yaml"
	}
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.UseNumber()
	var raw any
	if err := decoder.Decode(&raw); err != nil {
		r.add(where, path, "is not JSON", err, write)
		return r.unread, r.problems
	}
	if _, err := decoder.Token(); err != io.EOF {
		r.add(where, path, "has text after the value", nil, "remove it")
		return r.unread, r.problems
	}
	if _, isObject := raw.(map[string]any); !isObject && want.Kind() == reflect.Struct {
		r.add(where, path, "is "+describe(raw), nil, write)
		return r.unread, r.problems
	}
	clean, err := json.Marshal(r.check(path, raw, want))
	if err == nil {
		err = json.Unmarshal(clean, into)
	}
	if err != nil { // of what has passed, only a number out of range can fail
		r.add(where, path, "cannot be read", err, "")
	}
	return r.unread, r.problems
}

// reading is a decoded value on its way into a Go type.
type reading struct {
	problems problem.List
	unread   Unread
}

// add reports a value that cannot be read.
func (r *reading) add(where, path, wrong string, found any, remedy string) {
	r.problems.Add(where, wrong, found, remedy)
	r.unread = append(r.unread, path)
}

// check compares a decoded JSON value with the Go type it is meant for, and returns what of it can be read.
func (r *reading) check(path string, value any, want reflect.Type) any {
	if want.Kind() == reflect.Pointer {
		want = want.Elem()
	}
	// an empty key in YAML: as if left out, except that a list item or a required key is then found missing
	if value == nil {
		return nil
	}
	ok := true
	switch want.Kind() {
	case reflect.Struct:
		var object map[string]any
		if object, ok = value.(map[string]any); ok {
			return r.checkObject(path, object, want)
		}
	case reflect.Map:
		var object map[string]any
		if object, ok = value.(map[string]any); ok {
			clean := map[string]any{}
			for _, key := range slices.Sorted(maps.Keys(object)) {
				clean[key] = r.check(fmt.Sprintf("%s[%q]", path, key), object[key], want.Elem())
			}
			return clean
		}
	case reflect.Slice:
		var list []any
		if list, ok = value.([]any); ok {
			return r.checkList(path, list, want.Elem())
		}
	case reflect.String:
		_, ok = value.(string)
	case reflect.Bool:
		_, ok = value.(bool)
	case reflect.Int:
		ok = isWholeNumber(value)
	}
	if ok {
		return value
	}
	found := describe(value)
	if _, number := value.(json.Number); number && want.Kind() == reflect.String {
		found = "a number" // not which: YAML has read 1.30 as 1.3 already
	}
	r.add(path, path, "is "+found, nil, "write "+remedy(path, want))
	return nil
}

// checkList keeps the place of an item that cannot be read, so that those behind it keep their index.
func (r *reading) checkList(path string, list []any, want reflect.Type) []any {
	clean := make([]any, len(list))
	for i, item := range list {
		if item == nil {
			at := fmt.Sprintf("%s[%d]", path, i)
			r.add(at, at, "is empty", nil, "remove it or fill it in")
		}
		clean[i] = r.check(itemPath(path, i, item), item, want)
	}
	return clean
}

func (r *reading) checkObject(path string, object map[string]any, want reflect.Type) map[string]any {
	clean := map[string]any{}
	known := map[string]reflect.StructField{}
	for i := range want.NumField() {
		key, options, _ := strings.Cut(want.Field(i).Tag.Get("json"), ",")
		if key == "" || key == "-" {
			continue
		}
		known[key] = want.Field(i)
		if value, found := object[key]; options == "" && (!found || value == nil) {
			at := join(path, key)
			r.add(at, at, "is required", nil, "")
		}
	}
	for _, key := range slices.Sorted(maps.Keys(object)) {
		field, found := known[key]
		if !found {
			r.problems.Add(join(path, key), "is not a known key", nil,
				"use one of "+strings.Join(slices.Sorted(maps.Keys(known)), ", "))
			continue
		}
		if object[key] == json.Number("0") && zeroIsNoValue(field) {
			r.problems.Add(join(path, key), "is 0, which would be taken for left out", nil,
				"remove it for the default, or give another number")
			continue
		}
		clean[key] = r.check(join(path, key), object[key], field.Type)
	}
	return clean
}

func join(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}

// itemPath names a list item by its index and, where it has one, its name.
func itemPath(path string, i int, item any) string {
	if object, ok := item.(map[string]any); ok {
		if name, ok := object["name"].(string); ok {
			return poolPath(path, i, name)
		}
	}
	return fmt.Sprintf("%s[%d]", path, i)
}

func poolPath(path string, i int, name string) string { return fmt.Sprintf("%s[%d] %q", path, i, name) }

func isWholeNumber(value any) bool {
	number, ok := value.(json.Number)
	if !ok {
		return false
	}
	_, err := number.Int64()
	return err == nil
}

func describe(value any) string {
	switch v := value.(type) {
	case string:
		return fmt.Sprintf("the text %q", v)
	case json.Number:
		return "the number " + v.String()
	case bool:
		return fmt.Sprintf("%v", v)
	case []any:
		return "a list"
	case map[string]any:
		return "an object"
	default:
		return "nothing"
	}
}

func remedy(path string, want reflect.Type) string {
	switch want.Kind() {
	case reflect.Struct, reflect.Map:
		return "an object (keys and values)"
	case reflect.Slice:
		return "a list"
	case reflect.Bool:
		return "true or false, without quotes"
	case reflect.Int:
		return "a whole number, without quotes"
	default:
		if strings.HasSuffix(path, "kubernetesVersion") {
			return fmt.Sprintf("text, in quotes, for example %q", DefaultKubernetesVersion)
		}
		return "text, in quotes"
	}
}
