package rules

import (
	"strings"
	"testing"

	"github.com/headroom-eks/headroom/policy/view"
	"github.com/pulumi/pulumi/sdk/v3/go/property"
)

func TestARuleThatPanicsIsAViolationWithoutItsText(t *testing.T) {
	queue := view.NewResource(view.TypeQueue, "q", "urn:q", property.Map{})
	onResource := Rule{
		Name:     "x",
		Types:    []string{view.TypeQueue},
		Resource: func(*Check, view.Resource) { panic("s3cret") },
	}
	onStack := Rule{Name: "x", Types: []string{view.TypeQueue}, Stack: func(*Check, view.Graph) { panic("s3cret") }}
	for about, found := range map[string][]Finding{
		"a resource": onResource.OnResource(Check{}, queue),
		"a stack":    onStack.OnStack(Check{}, view.Graph{}),
	} {
		if len(found) != 1 || found[0].Unknown || strings.Contains(found[0].Text, "s3cret") {
			t.Errorf("on %s: found %v", about, found)
		}
	}
}
