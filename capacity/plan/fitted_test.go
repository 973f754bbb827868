package plan_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/headroom-eks/headroom/capacity"
	"github.com/headroom-eks/headroom/capacity/plan"
)

func TestFittedDocumentIsReadBackTheSame(t *testing.T) {
	in := plan.Input{Cluster: "c", Region: "us-west-2"}
	for _, name := range strings.Fields("a b c d e f g h") {
		in.Pools = append(in.Pools, plan.PoolFacts{
			Name:          name,
			Scaler:        "karpenter",
			Advertised:    true,
			InstanceTypes: []string{"g6.xlarge"},
		})
	}
	doc := plan.Allocate(in)
	text, err := json.Marshal(doc)
	if err != nil {
		t.Fatal(err)
	}
	for _, most := range []int{len(text), len(text) - 1} {
		fitted, err := capacity.Fitted(string(text), most)
		if err != nil || len(fitted) > most {
			t.Fatalf("for %d bytes: %d, %v", most, len(fitted), err)
		}
		if plain := strings.HasPrefix(fitted, "{"); plain != (most == len(text)) {
			t.Errorf("for %d bytes the text begins %q", most, fitted[:8])
		}
		back, err := capacity.Decode(fitted)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(doc, back); diff != "" {
			t.Errorf("for %d bytes: %s", most, diff)
		}
	}
	if _, err := capacity.Fitted(string(text), 100); err == nil {
		t.Error("a document is put where it does not fit")
	}
}

func TestTextThatOnlyLooksCompressedIsRefused(t *testing.T) {
	for _, text := range []string{"H4sI", "H4sI!", "H4sIAAAAAAAA/w==", "H4sIAAAAAAAAA"} {
		if doc, err := capacity.Decode(text); err == nil || len(doc.Pools) > 0 {
			t.Errorf("%q: %+v, %v", text, doc, err)
		}
	}
}
