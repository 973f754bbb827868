package config

import (
	"reflect"
	"strings"
)

// zeroIsNoValue says whether a 0 that is written for the key would be taken for a key that was left out: it is a plain
// number, may be left out, and has another default than 0 (F21).
func zeroIsNoValue(field reflect.StructField) bool {
	_, options, _ := strings.Cut(field.Tag.Get("json"), ",")
	return field.Type.Kind() == reflect.Int && options != "" &&
		!strings.Contains(field.Tag.Get("jsonschema"), "default=0")
}
