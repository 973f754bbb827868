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
// are problems, all of them reported at once. Defaults are not filled in yet.
func Decode(text string) (Environment, problem.List) {
	var env Environment
	var problems problem.List
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.UseNumber()
	var raw any
	if err := decoder.Decode(&raw); err != nil {
		problems.Add("headroom:environment", "is not JSON", err, "write an object, see Pulumi.dev.yaml")
		return env, problems
	}
	if _, err := decoder.Token(); err != io.EOF {
		problems.Add("headroom:environment", "has text after the object", nil, "remove it")
		return env, problems
	}
	if _, isObject := raw.(map[string]any); !isObject {
		problems.Add("headroom:environment", "is "+describe(raw), nil, "write an object, see Pulumi.dev.yaml")
		return env, problems
	}
	check("", raw, reflect.TypeOf(env), &problems)
	if problems.Err() != nil {
		return env, problems
	}
	if err := json.Unmarshal([]byte(text), &env); err != nil { // check has passed: only a number out of range is left
		problems.Add("headroom:environment", "cannot be read", err, "")
	}
	return env, problems
}

// check compares a decoded JSON value with the Go type it is meant for.
func check(path string, value any, want reflect.Type, problems *problem.List) {
	if want.Kind() == reflect.Pointer {
		want = want.Elem()
	}
	// an empty key in YAML: as if left out, except that a list item or a required key is then found missing
	if value == nil {
		return
	}
	ok := true
	switch want.Kind() {
	case reflect.Struct:
		var object map[string]any
		if object, ok = value.(map[string]any); ok {
			checkObject(path, object, want, problems)
		}
	case reflect.Map:
		var object map[string]any
		if object, ok = value.(map[string]any); ok {
			for _, key := range slices.Sorted(maps.Keys(object)) {
				check(fmt.Sprintf("%s[%q]", path, key), object[key], want.Elem(), problems)
			}
		}
	case reflect.Slice:
		var list []any
		if list, ok = value.([]any); ok {
			for i, item := range list {
				if item == nil {
					problems.Add(fmt.Sprintf("%s[%d]", path, i), "is empty", nil, "remove it or fill it in")
				}
				check(itemPath(path, i, item), item, want.Elem(), problems)
			}
		}
	case reflect.String:
		_, ok = value.(string)
	case reflect.Bool:
		_, ok = value.(bool)
	case reflect.Int:
		ok = isWholeNumber(value)
	}
	if !ok {
		found := describe(value)
		if _, number := value.(json.Number); number && want.Kind() == reflect.String {
			found = "a number" // not which: YAML has read 1.30 as 1.3 already
		}
		problems.Add(path, "is "+found, nil, "write "+remedy(path, want))
	}
}

func checkObject(path string, object map[string]any, want reflect.Type, problems *problem.List) {
	known := map[string]reflect.StructField{}
	for i := range want.NumField() {
		key, options, _ := strings.Cut(want.Field(i).Tag.Get("json"), ",")
		known[key] = want.Field(i)
		if value, found := object[key]; options == "" && (!found || value == nil) {
			problems.Add(join(path, key), "is required", nil, "")
		}
	}
	for _, key := range slices.Sorted(maps.Keys(object)) {
		field, found := known[key]
		if !found {
			problems.Add(join(path, key), "is not a known key", nil,
				"use one of "+strings.Join(slices.Sorted(maps.Keys(known)), ", "))
			continue
		}
		check(join(path, key), object[key], field.Type, problems)
	}
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
