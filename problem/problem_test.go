package problem_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/headroom-eks/headroom/problem"
)

type mode string

func TestAProblemReadsPathWhatFoundAndRemedy(t *testing.T) {
	for _, c := range []struct {
		path, wrong string
		found       any
		remedy      string
		want        string
	}{
		{"a.b", "is below 1", 0, "raise it", `a.b: is below 1 (found 0); raise it`},
		{"a.b", "is unknown", "x y", "use one of a, b", `a.b: is unknown (found "x y"); use one of a, b`},
		{"a.b", "is unknown", mode("x"), "", `a.b: is unknown (found "x")`},
		{"a", "are two", []string{"x", "y"}, "keep one", `a: are two (found [x, y]); keep one`},
		{"a", "is required", nil, "", `a: is required`},
		{"", "is not an object", errors.New("end"), "", `is not an object (found "end")`},
	} {
		var problems problem.List
		problems.Add(c.path, c.wrong, c.found, c.remedy)
		if got := problems.Items(); !slices.Equal(got, []string{c.want}) {
			t.Errorf("got %q, want %q", got, c.want)
		}
	}
}

func TestAValueThatWasNotGivenIsNamed(t *testing.T) {
	var problems problem.List
	problems.Require("a", true)
	problems.Require("b", false)
	if got := problems.Items(); !slices.Equal(got, []string{"b: is missing; give it"}) {
		t.Errorf("got %q", got)
	}
}

func TestAListOfWordsIsHeldToTheAllowedOnesAndToEachOnce(t *testing.T) {
	var problems problem.List
	for _, m := range []mode{"a", "c"} {
		problem.OneOf(&problems, "mode", m, []mode{"a", "b"})
	}
	problem.Unique(&problems, "modes", []mode{"a", "b", "a"})
	want := []string{`mode: is unknown (found "c"); use one of a, b`, `modes[2]: is given twice (found "a"); keep one`}
	if got := problems.Items(); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
