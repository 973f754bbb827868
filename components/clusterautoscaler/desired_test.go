package clusterautoscaler

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

var situations = map[string]struct {
	live   Live
	want   Sizes
	size   int
	ignore bool
	say    string // empty: nothing is said
}{
	"a new group is seeded": {Live{}, Sizes{Min: 1, Max: 4, Seed: 2}, 2, true, ""},
	"a group that grew is left alone": {Live{
		Exists:  true,
		Min:     3,
		Max:     20,
		Desired: 12,
	}, Sizes{Min: 3, Max: 20, Seed: 3}, 3, true, ""},
	"a changed nodeCount changes nothing": {Live{
		Exists:  true,
		Min:     3,
		Max:     20,
		Desired: 12,
	}, Sizes{Min: 3, Max: 20, Seed: 9}, 9, true, ""},
	"a minimum above the live size raises it": {Live{
		Exists:  true,
		Min:     0,
		Max:     4,
		Desired: 1,
	}, Sizes{Min: 3, Max: 4, Seed: 3}, 3, false, "from 1 to 3, because minNodeCount is now 3"},
	"a minimum below the live size keeps it": {Live{
		Exists:  true,
		Min:     0,
		Max:     9,
		Desired: 7,
	}, Sizes{Min: 3, Max: 9, Seed: 3}, 7, false, "stays at 7"},
	"a raised maximum keeps the live size": {Live{
		Exists:  true,
		Min:     0,
		Max:     4,
		Desired: 4,
	}, Sizes{Min: 0, Max: 8}, 4, false, "stays at 4"},
	"a lowered maximum keeps a live size below it": {Live{
		Exists:  true,
		Min:     0,
		Max:     8,
		Desired: 4,
	}, Sizes{Min: 0, Max: 4}, 4, false, "stays at 4"},
	"a group that EKS is updating is left alone": {Live{
		Exists:  true,
		Status:  "UPDATING",
		Min:     1,
		Max:     7,
		Desired: 6,
	}, Sizes{Min: 1, Max: 1, Seed: 1}, 1, true, "EKS is updating it"},
	"an inflated maximum is planned back when it can": {Live{
		Exists:  true,
		Min:     1,
		Max:     7,
		Desired: 1,
	}, Sizes{Min: 1, Max: 1, Seed: 1}, 1, false, "from 1..7 to 1..1"},
}

func TestDesiredSizeOfEachSituation(t *testing.T) {
	for name, c := range situations {
		got, problems := DesiredSize("gpu-l4", c.live, c.want)
		if err := problems.Err(); err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if got.Size != c.size || got.Ignore != c.ignore {
			t.Errorf("%s: size %d, ignore %v; want %d, %v", name, got.Size, got.Ignore, c.size, c.ignore)
		}
		if (c.say == "") != (got.Say == "") || !strings.Contains(got.Say, c.say) {
			t.Errorf("%s: it says %q, want %q", name, got.Say, c.say)
		}
	}
}

func TestAMaximumBelowTheLiveSizeIsRefusedBeforeAnythingIsMade(t *testing.T) {
	_, problems := DesiredSize("gpu-l4", Live{Exists: true, Min: 0, Max: 8, Desired: 6}, Sizes{Min: 0, Max: 4})
	if err := problems.Err(); err == nil || !strings.Contains(err.Error(), "is below the 6 nodes that the group has "+
		"(found 4); drain it to 4 first") {
		t.Errorf("got %v", err)
	}
}

// sizes of a group as the engine, the provider and AWS each keep them.
type sizes struct{ min, max, desired int }

// world is one node group under Pulumi and AWS. The engine resets an ignored input to the old input; the provider then
// plans from its last known outputs, ignored paths left as they are there, and sends all three sizes when one differs;
// EKS refuses sizes out of order.
type world struct {
	exists          bool
	inputs, outputs sizes // Pulumi's state
	live            sizes // AWS
}

// plan of an update: what would be sent, and whether anything would.
func (w *world) plan(want Sizes, d Desired) (inputs, request sizes, change bool) {
	inputs = sizes{want.Min, want.Max, d.Size}
	if w.exists && d.Ignore {
		inputs.desired = w.inputs.desired
	}
	request = inputs
	if w.exists && d.Ignore {
		request.desired = w.outputs.desired
	}
	return inputs, request, !w.exists || request != w.outputs
}

func (w *world) up(t *rapid.T, want Sizes) {
	live := Live{Exists: w.exists, Min: w.live.min, Max: w.live.max, Desired: w.live.desired}
	decision, problems := DesiredSize("group", live, want)
	if problems.Err() != nil {
		if w.live.desired <= want.Max {
			t.Fatalf("%+v is refused on %+v: %v", want, w.live, problems.Err())
		}
		return
	}
	inputs, request, change := w.plan(want, decision)
	if change {
		if request.min > request.desired || request.desired > request.max {
			t.Fatalf("AWS refuses %+v half-way through the update of %+v", request, *w)
		}
		if w.exists && request.desired < w.live.desired {
			t.Fatalf("a group of %d nodes is put to %d", w.live.desired, request.desired)
		}
		if w.exists && request.desired > max(w.live.desired, want.Min) {
			t.Fatalf("a group of %d nodes is put to %d, without need", w.live.desired, request.desired)
		}
		w.live = request
	}
	w.exists, w.inputs, w.outputs = true, inputs, request
}

func (w *world) changesOnNextUpdate(want Sizes) bool {
	decision, problems := DesiredSize("group", Live{
		Exists:  true,
		Min:     w.live.min,
		Max:     w.live.max,
		Desired: w.live.desired,
	}, want)
	_, _, change := w.plan(want, decision)
	return change || problems.Err() != nil
}

// Field faults BR-13 and BR-16, over whole lives of a group.
func TestAGroupIsNeverLoweredNeverRefusedAndThenPlansNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := &world{}
		want := genSizes(t, 1)
		w.up(t, want)
		for range rapid.IntRange(1, 12).Draw(t, "steps") {
			switch rapid.SampledFrom([]string{"scale", "bounds", "refresh", "widen", "up"}).Draw(t, "step") {
			case "scale": // cluster-autoscaler
				w.live.desired = rapid.IntRange(w.live.min, w.live.max).Draw(t, "desired")
			case "bounds": // a person
				want = genSizes(t, 1)
				if want.Min == w.live.min && want.Max == w.live.max &&
					(w.outputs.min != w.live.min || w.outputs.max != w.live.max) {
					w.refresh() // the limit that DesiredSize documents
				}
				w.up(t, want)
			case "refresh":
				w.refresh()
			case "widen": // EKS, during its own update
				w.live.max += rapid.IntRange(1, 6).Draw(t, "surge")
			case "up":
				w.up(t, want)
			}
			if w.live.min == want.Min && w.live.max == want.Max && w.changesOnNextUpdate(want) {
				t.Fatalf("the next update of %+v with %+v plans something", *w, want)
			}
		}
	})
}

func (w *world) refresh() { w.inputs, w.outputs = w.live, w.live }

// A later update with another nodeCount plans nothing, whatever the scaler did meanwhile.
func TestAChangedNodeCountOrLiveSizePlansNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := &world{}
		want := genSizes(t, 1)
		w.up(t, want)
		w.live.desired = rapid.IntRange(want.Min, want.Max).Draw(t, "desired")
		want.Seed = rapid.IntRange(want.Min, want.Max).Draw(t, "nodeCount")
		if w.changesOnNextUpdate(want) {
			t.Fatalf("an update of %+v with %+v plans something", *w, want)
		}
	})
}

// Why the ignore must be lifted: with it, EKS is sent the size that Pulumi remembers.
func TestIgnoringAloneWouldBeRefusedOrWouldShrinkTheGroup(t *testing.T) {
	ignore := Desired{Size: 1, Ignore: true}
	born := world{exists: true, inputs: sizes{0, 4, 1}, outputs: sizes{0, 4, 1}, live: sizes{0, 4, 1}}
	if _, request, _ := born.plan(Sizes{Min: 3, Max: 4}, ignore); request != (sizes{3, 4, 1}) {
		t.Errorf("a raised minimum sends %+v, want what EKS refuses", request)
	}
	grown := world{exists: true, inputs: sizes{0, 4, 1}, outputs: sizes{0, 4, 1}, live: sizes{0, 4, 4}}
	if _, request, _ := grown.plan(Sizes{Min: 0, Max: 8}, ignore); request != (sizes{0, 8, 1}) {
		t.Errorf("a raised maximum sends %+v, want what shrinks the group", request)
	}
}
