package capacity

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
)

// recordedSchemas holds the hash of the schema of each version.
var recordedSchemas = map[int]string{
	1: "b90ee38b1ac87ce67070a8e6c695e183db517fd1c6a0bb4a600f98c5d2c43541",
}

func TestTheSchemaChangesOnlyOnPurpose(t *testing.T) {
	var compact bytes.Buffer
	if err := json.Compact(&compact, Schema); err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(compact.Bytes())
	if got := hex.EncodeToString(sum[:]); got != recordedSchemas[SchemaVersion] {
		t.Errorf("the schema of version %d changed. If fields were removed or renamed, or changed their type or "+
			"meaning, or became required: "+
			"raise SchemaVersion. If fields were only added: record the new hash %s for this version", SchemaVersion,
			got)
	}
}

func schemaOf(t *testing.T) map[string]any {
	t.Helper()
	var s map[string]any
	if err := json.Unmarshal(Schema, &s); err != nil {
		t.Fatal(err)
	}
	return s
}

func TestTheSchemaHasTheFieldsOfTheTypesAndNoOthers(t *testing.T) {
	root := schemaOf(t)
	version := root["properties"].(map[string]any)["schemaVersion"].(map[string]any)
	if got := version["const"]; got != float64(SchemaVersion) {
		t.Errorf("the schema is for version %v, the types are version %d", got, SchemaVersion)
	}
	compareSchema(t, root, root, reflect.TypeFor[Document](), "")
}

// compareSchema holds one schema node to one Go type, both ways.
func compareSchema(t *testing.T, root, node map[string]any, typ reflect.Type, path string) {
	t.Helper()
	if ref, is := node["$ref"].(string); is {
		node = root["$defs"].(map[string]any)[strings.TrimPrefix(ref, "#/$defs/")].(map[string]any)
	}
	if typ.Kind() == reflect.Pointer {
		typ = typ.Elem()
	}
	want := map[reflect.Kind]string{
		reflect.Struct: "object",
		reflect.Map:    "object",
		reflect.Slice:  "array",
		reflect.String: "string",
		reflect.Int:    "integer",
		reflect.Bool:   "boolean",
	}[typ.Kind()]
	if typ == reflect.TypeFor[time.Time]() {
		want = "string"
	}
	if node["type"] != want {
		t.Errorf("%s: the schema says %v, the type is %s", path, node["type"], typ)
		return
	}
	switch {
	case typ == reflect.TypeFor[time.Time]():
	case typ.Kind() == reflect.Slice:
		compareSchema(t, root, node["items"].(map[string]any), typ.Elem(), path+"[]")
	case typ.Kind() == reflect.Map:
		compareSchema(t, root, node["additionalProperties"].(map[string]any), typ.Elem(), path+"{}")
	case typ.Kind() == reflect.Struct:
		properties, _ := node["properties"].(map[string]any)
		required, _ := node["required"].([]any)
		seen := map[string]bool{}
		for i := range typ.NumField() {
			name, options, _ := strings.Cut(typ.Field(i).Tag.Get("json"), ",")
			seen[name] = true
			property, found := properties[name].(map[string]any)
			if !found {
				t.Errorf("%s.%s: in the type, not in the schema", path, name)
				continue
			}
			if optional := options == "omitempty"; optional == slices.Contains(required, any(name)) {
				t.Errorf("%s.%s: omitempty and required contradict each other", path, name)
			}
			compareSchema(t, root, property, typ.Field(i).Type, path+"."+name)
		}
		for name := range properties {
			if !seen[name] {
				t.Errorf("%s.%s: in the schema, not in the type", path, name)
			}
		}
	}
}
