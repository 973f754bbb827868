package aws

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestEveryReferencePointsAtARowThatIsThere(t *testing.T) {
	for typ, row := range table {
		for _, r := range row.refs {
			if table[r.typ] == nil {
				t.Errorf("%s: %s names %s, which has no row", typ, r.path, r.typ)
			}
			if head, _, _ := strings.Cut(r.path, "."); !row.takes(head) {
				t.Errorf("%s: the reference %s is not an input", typ, r.path)
			}
		}
	}
}

func TestEveryRowNamesOnlyItsOwnInputs(t *testing.T) {
	for typ, row := range table {
		named := slices.Concat(row.required, row.lists, row.json,
			row.replaces, row.replacesOnceSet, row.replacesOnRemoval,
			sorted(anyKeys(row.enums)), sorted(anyKeys(row.ranges)))
		for _, path := range named {
			if head, _, _ := strings.Cut(path, "."); !row.takes(head) {
				t.Errorf("%s: %s is not an input", typ, path)
			}
		}
		for path := range row.defaults {
			if !row.takes(path) {
				t.Errorf("%s: default of %s, which is not an input", typ, path)
			}
		}
		if n := row.name; n.property != "" &&
			(!row.takes(n.property) || n.prefix != "" && !row.takes(n.prefix)) {
			t.Errorf("%s: the name %s or its prefix is not an input", typ, n.property)
		}
		if row.id == "" {
			t.Errorf("%s: a row needs an id", typ)
		}
	}
}

func anyKeys[V any](m map[string]V) obj {
	out := obj{}
	for k := range m {
		out[k] = true
	}
	return out
}

// The recordings hold every call that the real eks.Cluster component makes.
func TestTheRowsTakeWhatTheRealComponentSends(t *testing.T) {
	files, err := filepath.Glob("../eks/testdata/*.json")
	if err != nil || len(files) == 0 {
		t.Fatalf("no recordings: %v", err)
	}
	a := newAccount(t)
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var recording struct {
			Calls []struct {
				Kind, Token, Name string
				Inputs            obj
			}
		}
		if err := json.Unmarshal(data, &recording); err != nil {
			t.Fatal(err)
		}
		for _, c := range recording.Calls {
			switch {
			case !strings.HasPrefix(c.Token, "aws:"):
			case c.Kind == "invoke":
				if _, known := answers[c.Token]; !known {
					t.Errorf("%s: no answer to %s", filepath.Base(file), c.Token)
				}
			case table[c.Token] == nil:
				t.Errorf("%s: no row for %s", filepath.Base(file), c.Token)
			default:
				if _, failures := a.check(c.Token, c.Name, withoutReferences(c.Inputs)); len(failures) > 0 {
					t.Errorf("%s: %s %s: %v", filepath.Base(file), c.Token, c.Name, failures)
				}
			}
		}
	}
}

// withoutReferences turns the recordings' {"$resource": name} into the name, as the engine does for a provider that
// takes none.
func withoutReferences(in obj) obj {
	out := obj{}
	for k, v := range in {
		if o, ok := v.(obj); ok && o["$resource"] != nil {
			v = o["$resource"]
		}
		out[k] = v
	}
	return out
}
