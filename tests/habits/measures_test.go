package habits

import (
	"fmt"
	"go/ast"
	"go/token"
	"path"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

const (
	maxColumns = 120
	tabWidth   = 4
	maxLines   = 60
)

// wideLines finds lines of more than 120 columns. Left out are generated files, whose generator sets their width, and
// a struct field's line with a tag: the grammar allows no break before or in a tag.
func wideLines(files []file) (found []string) {
	for _, f := range files {
		if ast.IsGenerated(f.ast) {
			continue
		}
		tagged := map[int]bool{}
		ast.Inspect(f.ast, func(n ast.Node) bool {
			if field, ok := n.(*ast.Field); ok && field.Tag != nil {
				tagged[f.line(field.Tag.Pos())] = true
			}
			return true
		})
		for i, line := range strings.Split(f.text, "\n") {
			width := utf8.RuneCountInString(line) + (tabWidth-1)*strings.Count(line, "\t")
			if width > maxColumns && !tagged[i+1] {
				found = append(found, fmt.Sprintf("%s:%d: %d columns", f.path, i+1, width))
			}
		}
	}
	return found
}

// function is a declared function, or a literal that stands outside one.
type function struct {
	place string
	lines int
}

// functions lists every function from its first line to its closing brace. A literal inside a function is part of it;
// a table of the package is none, but each literal in it is one.
func functions(files []file) (all []function) {
	for _, f := range files {
		ast.Inspect(f.ast, func(n ast.Node) bool {
			name := "function literal"
			switch n := n.(type) {
			case *ast.FuncDecl:
				name = n.Name.Name
			case *ast.FuncLit:
			default:
				return true
			}
			first := f.line(n.Pos())
			if d, ok := n.(*ast.FuncDecl); ok {
				first = f.line(d.Type.Func) // not the comment above it
			}
			all = append(all, function{
				place: fmt.Sprintf("%s:%d: %s", f.path, first, name),
				lines: f.line(n.End()-1) - first + 1,
			})
			return false
		})
	}
	return all
}

func longFunctions(files []file) (found []string) {
	for _, f := range functions(files) {
		if f.lines > maxLines {
			found = append(found, fmt.Sprintf("%s has %d lines", f.place, f.lines))
		}
	}
	return found
}

// scalerConstants are the constants of type Scaler that package pool declares.
func scalerConstants(files []file) (names []string) {
	for _, f := range files {
		if path.Dir(f.path) != "pool" || !f.product() {
			continue
		}
		for _, d := range f.ast.Decls {
			g, ok := d.(*ast.GenDecl)
			if !ok || g.Tok != token.CONST {
				continue
			}
			for _, s := range g.Specs {
				s := s.(*ast.ValueSpec)
				if t, ok := s.Type.(*ast.Ident); ok && t.Name == "Scaler" {
					for _, n := range s.Names {
						names = append(names, n.Name)
					}
				}
			}
		}
	}
	return names
}

// scalerFiles finds product files that name a scaler constant: each is a place that adding a scaler may have to change.
// Inside package pool a constant is named without its package.
func scalerFiles(files []file) (found []string) {
	names := scalerConstants(files)
	for _, f := range files {
		if !f.product() {
			continue
		}
		pkg := importedAs(f.ast, module+"/pool")
		inPool := path.Dir(f.path) == "pool"
		var named []string
		ast.Inspect(f.ast, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.SelectorExpr:
				if x, ok := n.X.(*ast.Ident); ok && pkg != "" && x.Name == pkg && slices.Contains(names, n.Sel.Name) {
					named = append(named, n.Sel.Name)
				}
			case *ast.Ident:
				if inPool && slices.Contains(names, n.Name) {
					named = append(named, n.Name)
				}
			}
			return true
		})
		if len(named) > 0 {
			slices.Sort(named)
			found = append(found, fmt.Sprintf("%s: %s", f.path, strings.Join(slices.Compact(named), ", ")))
		}
	}
	return found
}

// importedAs is the name by which a file calls an imported package, or nothing where it does not import it.
func importedAs(f *ast.File, importPath string) string {
	for _, i := range f.Imports {
		if p, err := strconv.Unquote(i.Path.Value); err == nil && p == importPath {
			if i.Name != nil {
				return i.Name.Name
			}
			return path.Base(importPath)
		}
	}
	return ""
}

// poolTypes finds types called a pool: struct types of the product, exported or not, whose name is Pool or ends in
// Pool. A reader who meets `p` has to know which of them it is. Not counted: aliases, since they are another name of
// one type; slices and maps of pools; types about a pool that are named for what they say (PoolFacts, PoolArgs).
func poolTypes(files []file) (found []string) {
	for _, f := range files {
		if !f.product() {
			continue
		}
		ast.Inspect(f.ast, func(n ast.Node) bool {
			s, ok := n.(*ast.TypeSpec)
			if !ok || s.Assign.IsValid() {
				return true
			}
			if _, ok := s.Type.(*ast.StructType); ok && strings.HasSuffix(strings.ToLower(s.Name.Name), "pool") {
				found = append(found, fmt.Sprintf("%s:%d: %s", f.path, f.line(s.Pos()), s.Name.Name))
			}
			return true
		})
	}
	return found
}

// uncommented finds packages without a package comment. An external test package shares the comment of the one it
// tests.
func uncommented(files []file) (found []string) {
	commented := map[string]bool{}
	var order []string
	for _, f := range files {
		name := path.Dir(f.path) + ": package " + strings.TrimSuffix(f.ast.Name.Name, "_test")
		if _, met := commented[name]; !met {
			order = append(order, name)
		}
		commented[name] = commented[name] || strings.TrimSpace(f.ast.Doc.Text()) != ""
	}
	for _, name := range order {
		if !commented[name] {
			found = append(found, name)
		}
	}
	return found
}
