// Package docs_test holds the guides to the tree they speak of.
package docs_test

import (
	"fmt"
	"io/fs"
	"os"
	"path"
	"regexp"
	"strings"
	"testing"

	"golang.org/x/mod/modfile"
	"golang.org/x/mod/semver"
)

const root = ".."

func read(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(path.Join(root, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// fault is one row of the table of field faults.
type fault struct{ number, held string }

func faults(t *testing.T) (found []fault) {
	t.Helper()
	for _, row := range regexp.MustCompile(`(?m)^\| (BR-\d+) \|(.*)\|$`).FindAllStringSubmatch(read(t,
		"docs/field-faults.md"), -1) {
		cells := strings.Split(row[2], " | ")
		if len(cells) != 3 {
			t.Fatalf("%s has %d cells after its number, want fault, program and tests", row[1], len(cells))
		}
		if !strings.Contains(cells[0], "](https://github.com/") {
			t.Errorf("%s names no public record", row[1])
		}
		found = append(found, fault{row[1], cells[2]})
	}
	return found
}

// lastRecord is the highest number that was given; a new record gets the next.
const lastRecord = 95

func TestEveryFieldFaultIsListedOnceInOrder(t *testing.T) {
	listed := faults(t)
	if len(listed) != lastRecord {
		t.Errorf("%d rows, want %d", len(listed), lastRecord)
	}
	for i, f := range listed {
		if want := fmt.Sprintf("BR-%02d", i+1); f.number != want {
			t.Fatalf("row %d is %s, want %s", i+1, f.number, want)
		}
	}
}

var (
	codeSpan = regexp.MustCompile("`([^`]+)`")
	ruleList = regexp.MustCompile(`\(rule ([a-z0-9, -]+)\)`)
)

// A row names packages, each followed by tests of it.
func TestEveryTestNamedForAFieldFaultExists(t *testing.T) {
	tests := testsOfTheTree(t)
	for _, f := range faults(t) {
		named, folder := 0, ""
		for _, span := range codeSpan.FindAllStringSubmatch(f.held, -1) {
			if !strings.HasPrefix(span[1], "Test") {
				folder = span[1]
				continue
			}
			named++
			if !tests[folder+" "+span[1]] {
				t.Errorf("%s: there is no test %s in %s", f.number, span[1], folder)
			}
		}
		if named == 0 && !strings.Contains(f.held, "not held: ") {
			t.Errorf("%s names no test and does not say why", f.number)
		}
	}
}

func TestEveryRuleNamedForAFieldFaultExists(t *testing.T) {
	rules := read(t, "docs/policies.md")
	for _, f := range faults(t) {
		for _, list := range ruleList.FindAllStringSubmatch(f.held, -1) {
			for _, rule := range strings.Split(list[1], ", ") {
				if !strings.Contains(rules, "| `"+rule+"` |") {
					t.Errorf("%s: there is no rule %s", f.number, rule)
				}
			}
		}
	}
}

// A number in the code that the table does not have would lead a reader nowhere.
func TestFieldFaultsCitedInTheCodeAreListed(t *testing.T) {
	cited := regexp.MustCompile(`\bBR-\d+`)
	listed := map[string]bool{}
	for _, f := range faults(t) {
		listed[f.number] = true
	}
	eachGoFile(t, func(name, text string) {
		for _, number := range cited.FindAllString(text, -1) {
			if !listed[number] {
				t.Errorf("%s cites %s, which is not listed", name, number)
			}
		}
	})
}

// testsOfTheTree are the declared tests, as folder and name.
func testsOfTheTree(t *testing.T) map[string]bool {
	t.Helper()
	declared := regexp.MustCompile(`(?m)^func (Test\w+)\(t \*testing\.T\)`)
	tests := map[string]bool{}
	eachGoFile(t, func(name, text string) {
		if strings.HasSuffix(name, "_test.go") {
			for _, match := range declared.FindAllStringSubmatch(text, -1) {
				tests[path.Dir(name)+" "+match[1]] = true
			}
		}
	})
	return tests
}

func eachGoFile(t *testing.T, do func(name, text string)) {
	t.Helper()
	err := fs.WalkDir(os.DirFS(root), ".", func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && name != "." && strings.HasPrefix(entry.Name(), "."):
			return fs.SkipDir
		case !entry.IsDir() && strings.HasSuffix(name, ".go"):
			do(name, read(t, name))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// Field fault BR-52.
func TestTheCauseOfARefusedPublicChartIsNamed(t *testing.T) {
	if !strings.Contains(read(t, "docs/karpenter.md"), "docker logout public.ecr.aws") {
		t.Error("field fault BR-52: docs/karpenter.md does not say what to do about an expired login")
	}
}

// Field fault BR-62: https://github.com/pulumi/pulumi-eks/pull/1199 was merged in June 2024, before the first release
// of version 3.
func TestTheComponentIsNewerThanTheFixForAccessModeAPI(t *testing.T) {
	file, err := modfile.Parse("go.mod", []byte(read(t, "go.mod")), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, required := range file.Require {
		if strings.HasPrefix(required.Mod.Path, "github.com/pulumi/pulumi-eks/sdk/") {
			if semver.Compare(required.Mod.Version, "v3.0.0") < 0 {
				t.Errorf("field fault BR-62: pulumi-eks is %s", required.Mod.Version)
			}
			return
		}
	}
	t.Error("go.mod requires no pulumi-eks")
}

// Guides link to each other and into the tree.
func TestEveryRelativeLinkLeadsSomewhere(t *testing.T) {
	link := regexp.MustCompile(`\]\(([^)#:\s]+)(#[^)]*)?\)`)
	pages, err := fs.Glob(os.DirFS(root), "docs/*.md")
	if err != nil || len(pages) == 0 {
		t.Fatalf("no guides: %v", err)
	}
	for _, page := range append(pages, "README.md") {
		for _, match := range link.FindAllStringSubmatch(read(t, page), -1) {
			if _, err := os.Stat(path.Join(root, path.Dir(page), match[1])); err != nil {
				t.Errorf("%s links to %s, which is not there", page, match[1])
			}
		}
	}
}

// A guide that names a file or a folder of the tree is wrong when a move leaves it behind.
func TestEveryPathOfTheTreeInAGuideExists(t *testing.T) {
	named := regexp.MustCompile("`((?:capacity|components|infra|policy|pool|sandbox|scripts|tests|tools)/[\\w./-]+)`")
	guides, err := fs.Glob(os.DirFS(root), "docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	checked := 0
	for _, guide := range append(guides, "README.md") {
		for _, match := range named.FindAllStringSubmatch(read(t, guide), -1) {
			checked++
			if _, err := os.Stat(path.Join(root, match[1])); err != nil {
				t.Errorf("%s names %s, which is not there", guide, match[1])
			}
		}
	}
	if checked < 20 {
		t.Errorf("only %d paths were found", checked)
	}
}
