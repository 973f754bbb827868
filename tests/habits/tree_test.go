package habits

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"
)

const (
	root   = "../.."
	module = "github.com/headroom-eks/headroom"
)

// file is one Go file, with its path from the root of the tree.
type file struct {
	path string
	text string
	ast  *ast.File
	set  *token.FileSet
}

// product says whether the file is part of what people run or import. Doubles, tests and tools are not.
func (f file) product() bool {
	switch first, _, _ := strings.Cut(f.path, "/"); first {
	case "sandbox", "tests", "tools":
		return false
	}
	return !f.test()
}

func (f file) test() bool { return strings.HasSuffix(f.path, "_test.go") }

func (f file) line(p token.Pos) int { return f.set.Position(p).Line }

func parse(t *testing.T, path, text string) file {
	t.Helper()
	set := token.NewFileSet()
	parsed, err := parser.ParseFile(set, path, text, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	return file{path: path, text: text, ast: parsed, set: set}
}

// readTree reads the Go files of every module, in the order of their paths. It passes over what the go command passes
// over, and over bin, where builds go.
func readTree(t *testing.T) (files []file) {
	t.Helper()
	err := filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if base := d.Name(); name != root && (strings.HasPrefix(base, ".") || base == "testdata" || base == "bin") {
				return filepath.SkipDir
			}
			return nil
		}
		if path.Ext(name) != ".go" {
			return nil
		}
		text, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, name)
		if err != nil {
			return err
		}
		files = append(files, parse(t, filepath.ToSlash(rel), string(text)))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(files) == 0 {
		t.Fatalf("%s: no Go file found", root)
	}
	return files
}
