package aws

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
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
			if head, _, _ := strings.Cut(r.path, "."); !member(row.inputs, head) {
				t.Errorf("%s: the reference %s is not an input", typ, r.path)
			}
		}
	}
}

func TestEveryRowNamesOnlyItsOwnInputs(t *testing.T) {
	action := regexp.MustCompile(`^[a-z0-9]+:[A-Z][A-Za-z]+$`)
	for typ, row := range table {
		named := slices.Concat(words(row.required), words(row.lists), words(row.json), words(row.replaces),
			sorted(anyKeys(row.enums)), sorted(anyKeys(row.ranges)))
		for _, path := range named {
			if head, _, _ := strings.Cut(strings.TrimLeft(path, "?-"), "."); !member(row.inputs, head) {
				t.Errorf("%s: %s is not an input", typ, path)
			}
		}
		for path := range row.defaults {
			if !member(row.inputs, path) {
				t.Errorf("%s: default of %s, which is not an input", typ, path)
			}
		}
		if n := row.name; n.property != "" &&
			(!member(row.inputs, n.property) || n.prefix != "" && !member(row.inputs, n.prefix)) {
			t.Errorf("%s: the name %s or its prefix is not an input", typ, n.property)
		}
		for _, a := range slices.Concat(words(row.create), words(row.read), words(row.update), words(row.delete)) {
			if !action.MatchString(a) {
				t.Errorf("%s: %q is not an API action", typ, a)
			}
		}
		if row.create == "" || row.read == "" || row.delete == "" || row.id == "" {
			t.Errorf("%s: a row needs create, read, delete and id", typ)
		}
		if row.update == "" && row.onUpdate != nil {
			t.Errorf("%s: an update without an API action", typ)
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
