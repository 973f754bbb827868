package ask

import (
	"slices"
	"testing"

	"github.com/headroom-eks/headroom/infra/config"
)

func TestLiveClusterIsFoundByItsNameOrItsNameWithASuffix(t *testing.T) {
	all := []string{"headroom-dev", "headroom-dev-ab12cd", "headroom-dev-staging", "headroom-dev2-ab12cd"}
	for suffix, want := range map[bool]string{false: "headroom-dev", true: "headroom-dev-ab12cd"} {
		got := liveNames(all, config.Cluster{Name: "headroom-dev", UniqueSuffix: suffix})
		if !slices.Equal(got, []string{want}) {
			t.Errorf("with suffix %v: %q", suffix, got)
		}
	}
}

func TestAnAnswerHoldsAValueOrTheReasonWhyThereIsNone(t *testing.T) {
	var notAsked Answer[int]
	for name, c := range map[string]struct {
		answer Answer[int]
		value  int
		known  bool
		reason string
	}{
		"known":     {Known(3), 3, true, ""},
		"zero":      {Known(0), 0, true, ""},
		"unknown":   {Unknown[int]("AccessDenied"), 0, false, "AccessDenied"},
		"not asked": {notAsked, 0, false, "it was not asked"},
	} {
		value, known := c.answer.Get()
		if value != c.value || known != c.known || c.answer.Known() != c.known || c.answer.Reason() != c.reason {
			t.Errorf("%s: %d, %v, %q", name, value, known, c.answer.Reason())
		}
	}
}
