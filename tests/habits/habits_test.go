package habits

import (
	"os/exec"
	"strings"
	"testing"
)

// habits are the numbers. A limit above its goal is today's number, so that it cannot grow while the code on the way
// to the goal is rewritten; lower it with each step.
var habits = []struct {
	name  string
	why   string
	find  func([]file) []string
	limit int
}{
	{
		name:  "Go lines over 120 columns",
		why:   "break the line: one field a line in long literals, a raw string in pieces",
		find:  wideLines,
		limit: 0,
	},
	{
		name:  "functions over 60 lines",
		why:   "give its steps names, or move its data to a table of the package",
		find:  longFunctions,
		limit: 0,
	},
	{
		name:  "product files that name a scaler constant",
		why:   "ask the scaler's own file, or a question of package pool, instead of comparing constants",
		find:  scalerFiles,
		limit: 12,
	},
	{
		name:  "product types called a pool",
		why:   "read the plan's pool, or name the type for what it says about a pool",
		find:  poolTypes,
		limit: 6,
	},
	{
		name:  "packages without a package comment",
		why:   "say in it what the package owns and what it does not",
		find:  uncommented,
		limit: 0,
	},
}

func TestTheTreeKeepsItsHabits(t *testing.T) {
	files := readTree(t)
	for _, h := range habits {
		t.Run(h.name, func(t *testing.T) {
			found := h.find(files)
			t.Logf("%d, and at most %d are allowed:\n%s", len(found), h.limit, strings.Join(found, "\n"))
			if len(found) > h.limit {
				t.Errorf("%s: %d is more than %d; %s", h.name, len(found), h.limit, h.why)
			}
		})
	}
	longest := function{}
	for _, f := range functions(files) {
		if f.lines > longest.lines {
			longest = f
		}
	}
	t.Logf("longest function: %s, %d lines", longest.place, longest.lines)
}

// A consumer reads the contract with what it imports: a scheduler must not get Kubernetes or Pulumi with it.
func TestTheContractImportsTheWordsAndTheStandardLibraryAlone(t *testing.T) {
	list := exec.Command("go", "list", "-deps", "-f", "{{if not .Standard}}{{.ImportPath}}{{end}}", "./capacity")
	list.Dir = root
	var problems strings.Builder
	list.Stderr = &problems
	out, err := list.Output()
	if err != nil {
		t.Fatalf("%s: %v: %s", list, err, problems.String())
	}
	for _, dep := range strings.Fields(string(out)) {
		if dep != module+"/capacity" && dep != module+"/pool" {
			t.Errorf("capacity imports %s; it may import pool and the standard library", dep)
		}
	}
}
