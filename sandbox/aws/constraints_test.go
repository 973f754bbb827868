package aws

import (
	"slices"
	"testing"

	"github.com/headroom-eks/headroom/sandbox/constraints"
)

// properties are all that a row takes.
func (row *resourceRow) properties() []string {
	if row.tagged {
		return append(slices.Clone(row.inputs), "tags")
	}
	return row.inputs
}

func TestEveryPropertyOfEveryRowHasAWSsConstraintsOrAReason(t *testing.T) {
	for typ, row := range table {
		for _, property := range row.properties() {
			if !constraints.Maps(typ, property) {
				t.Errorf("%s: %s is neither mapped nor excepted in sandbox/constraints", typ, property)
			}
		}
	}
	for _, typ := range constraints.Types() {
		if table[typ] == nil {
			t.Errorf("sandbox/constraints maps %s, which has no row", typ)
		}
	}
}

func TestEveryRowRequiresWhatAWSRequires(t *testing.T) {
	for typ, row := range table {
		if typ == tParameter {
			continue // one of value and insecureValue, which its check looks at
		}
		for _, property := range constraints.Requires(typ, row.properties()) {
			if !slices.Contains(row.required, property) && row.name.property != property &&
				!has(row.defaults, property) {
				t.Errorf("%s: AWS requires %s, the row does not", typ, property)
			}
		}
	}
}
