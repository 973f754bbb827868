package capacity

import _ "embed"

// Schema is the JSON Schema (2020-12) of Document.
//
//go:embed schema.json
var Schema []byte
