package lifecycle

import "testing"

func TestDevFromNothingToNothing(t *testing.T) {
	e := startShipped(t, "dev")
	e.mayOnly() // a preview changes nothing
	preview, err := e.Preview(testContext)
	if err != nil {
		t.Fatal(err)
	}
	if len(preview.Steps) == 0 {
		t.Error("the preview of a new stack plans nothing")
	}
	e.mayOnly(inMode("fixed")...)
	first := e.up()
	if p := e.pool(first.Outputs, "gpu-l4"); p.Nodes.Realized != 1 || p.Nodes.Maximum != 1 ||
		p.BoundBy != "no-autoscaler" {
		t.Errorf("pool gpu-l4: %+v, bound by %s", p.Nodes, p.BoundBy)
	}
	if second := e.up(); second.Changed() {
		t.Errorf("the second up plans %v", second.Ops())
	}
	e.mayOnly() // nor does a refresh
	if refreshed, err := e.Refresh(testContext); err != nil || refreshed.Changed() {
		t.Errorf("refresh: %v, %v", refreshed.Ops(), err)
	}
	e.mayOnly(inMode("fixed")...)
	e.down()
}
