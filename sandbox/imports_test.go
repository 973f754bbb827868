// Package sandbox_test holds the sandbox to its border.
package sandbox_test

import (
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

const (
	module = "github.com/headroom-eks/headroom/"
	// knows is the one file that may import the program.
	knows = "cmd/sandbox/program.go"
)

// A double that shares code with the program shares its faults, and shows none of them.
func TestNothingHereKnowsTheProgramButOneFile(t *testing.T) {
	known := 0
	err := filepath.WalkDir(".", func(path string, _ fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".go" {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		for _, spec := range file.Imports {
			imported, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				return err
			}
			if !strings.HasPrefix(imported, module) || strings.HasPrefix(imported, module+"sandbox/") {
				continue
			}
			if known++; filepath.ToSlash(path) != knows {
				t.Errorf("%s imports %s; only %s may know the program", path, imported, knows)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if known == 0 {
		t.Errorf("nothing imports the program: this test looks for the wrong module, or in the wrong folder")
	}
}
