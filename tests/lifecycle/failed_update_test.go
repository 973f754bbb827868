package lifecycle

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/headroom-eks/headroom/infra/config"
	"github.com/headroom-eks/headroom/sandbox/world"
)

// Field faults BR-18 and BR-91: what readers find after an update that failed.
func TestAFailedUpdatePromisesNothingNew(t *testing.T) {
	e := start(t, config.Environment{
		Pools: []config.Pool{fixed("well", "g6.xlarge", 1), fixed("scarce", "g6.2xlarge", 1)},
	})
	outOfStock := func(s *world.State) error {
		for _, zone := range []string{"us-west-2a", "us-west-2b"} {
			if err := s.EmptyZone(zone, "g6.2xlarge", true); err != nil {
				return err
			}
		}
		return nil
	}
	published := func() any {
		outputs, err := e.Outputs(testContext)
		if err != nil {
			e.t.Fatal(err)
		}
		return outputs["capacity"]
	}
	e.act(outOfStock)
	e.step("a first update that fails leaves no document, which reads as no capacity", func() {
		e.fails(e.Up, "InsufficientInstanceCapacity")
		outputs, err := e.Outputs(testContext)
		if err != nil {
			e.t.Fatal(err)
		}
		if outputs["capacity"] != nil || len(e.document(outputs).Pools) != 0 {
			e.t.Errorf("promised: %v", outputs["capacity"])
		}
	})
	e.step("the other pool was made all the same", func() {
		if g := e.group("well"); g.Desired != 1 {
			e.t.Errorf("%+v", g)
		}
	})
	e.step("with stock the same update completes", func() {
		e.act(func(s *world.State) error { s.FillZone("us-west-2a", "g6.2xlarge"); return nil })
		if p := e.pool(e.up().Outputs, "scarce"); p.Nodes.Maximum != 1 {
			e.t.Errorf("%+v", p.Nodes)
		}
	})
	e.step("a later update that fails leaves the document of the last one that did not, with its end", func() {
		before := published()
		e.act(func(s *world.State) error { return s.Deny("eks:UpdateNodegroupConfig") })
		e.now = e.now.Add(30 * time.Minute)
		e.changePool("well", func(p *config.Pool) { p.NodeCount = new(2) })
		e.fails(e.Up, "eks:UpdateNodegroupConfig")
		if diff := cmp.Diff(before, published()); diff != "" {
			e.t.Errorf("before (-) and after (+) the failed update:\n%s", diff)
		}
	})
}
