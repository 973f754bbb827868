package view_test

import (
	"testing"

	"github.com/headroom-eks/headroom/policy/graphtest"
	"github.com/headroom-eks/headroom/policy/view"
)

// In the preview of a new stack an ARN is unknown, but what it was made from is not: dependencies tell which queue a
// target has.
func TestLinksAreReadFromDependenciesInAPreview(t *testing.T) {
	queue := graphtest.Record{Type: view.TypeQueue, Name: "q", Props: map[string]any{"arn": graphtest.Unknown{}}}.View()
	target := graphtest.Record{
		Type:  view.TypeEventTarget,
		Name:  "t",
		Props: map[string]any{"arn": graphtest.Unknown{}},
	}.View()
	if got := view.Refers(target, "arn", queue, "arn"); got != view.Unknown {
		t.Errorf("without dependencies the link is %v, want unknown", got)
	}
	target.PropertyDependencies = map[string][]string{"arn": {queue.URN}}
	if got := view.Refers(target, "arn", queue, "arn"); got != view.Known {
		t.Errorf("with dependencies the link is %v, want known", got)
	}
	target.Props = graphtest.Record{Props: map[string]any{"arn": "arn:other"}}.View().Props
	target.PropertyDependencies = nil
	queue.Props = graphtest.Record{Props: map[string]any{"arn": "arn:own"}}.View().Props
	if got := view.Refers(target, "arn", queue, "arn"); got != view.Absent {
		t.Errorf("two known and different values are linked: %v", got)
	}
}
