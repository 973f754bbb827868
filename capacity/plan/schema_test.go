package plan

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/headroom-eks/headroom/capacity"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"pgregory.net/rapid"
)

func TestEveryDocumentFitsTheSchema(t *testing.T) {
	parsed, err := jsonschema.UnmarshalJSON(bytes.NewReader(capacity.Schema))
	if err != nil {
		t.Fatal(err)
	}
	compiler := jsonschema.NewCompiler()
	compiler.AssertFormat()
	if err := compiler.AddResource("schema.json", parsed); err != nil {
		t.Fatal(err)
	}
	schema, err := compiler.Compile("schema.json")
	if err != nil {
		t.Fatal(err)
	}
	rapid.Check(t, func(t *rapid.T) {
		raw, err := json.Marshal(Allocate(anyInput(t)))
		if err != nil {
			t.Fatal(err)
		}
		value, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
		if err != nil {
			t.Fatal(err)
		}
		if err := schema.Validate(value); err != nil {
			t.Fatalf("%v\n%s", err, raw)
		}
	})
	if schema.Validate(map[string]any{"schemaVersion": 1}) == nil {
		t.Error("a document without pools fits the schema")
	}
}
