package capacity

import (
	"errors"
	"strings"
	"testing"
	"time"
)

// document of one pool, given as JSON members beside its name.
func withPool(members string) string {
	return `{"schemaVersion": 1, "validUntil": "2026-11-30T10:00:00Z", "pools": [{"name": "gpu", "advertised": true, ` +
		members + `}]}`
}

const fourOfFour = `"nodes": {"realized": 1, "maximum": 4, "firm": 4}, "largestGang": 4, "ceilings": []`

var refusedDocuments = []struct{ name, text, says string }{
	{"a largest gang above the maximum", withPool(`"nodes": {"maximum": 4}, "largestGang": 400`), "largest gang above"},
	{"a largest gang without nodes", withPool(`"largestGang": 4`), "largest gang above"},
	{"firm above the maximum", withPool(`"nodes": {"maximum": 4, "firm": 5}`), "firm nodes above"},
	{"more nodes in the zones than in all", withPool(`"nodes": {"realized": 1, "maximum": 1},
		"realizedByZone": {"a": 100}`), "more nodes in its zones"},
	{"two pools of one name", strings.Replace(withPool(fourOfFour), `{"name"`, `{"name": "gpu"}, {"name"`, 1),
		`two pools "gpu"`},
	{"a key in another case", withPool(`"NODES": {"realized": -5}`), "the key is nodes, in this spelling"},
	{"a key in another case of Unicode", withPool(fourOfFour + `, "nodeſ": {"realized": 99}`), "the key is nodes"},
	{"a negative gang in another case", withPool(`"LargestGang": -4`), "the key is largestGang"},
	{"a key twice", withPool(fourOfFour + `, "largestGang": 5`), "largestGang is given twice"},
	{"garbage behind the document", withPool(fourOfFour) + "}}}garbage", "text after the document"},
	{"a second document", withPool(fourOfFour) + withPool(fourOfFour), "text after the document"},
	{"garbage behind null", "null garbage", "text after the document"},
	{"a list", "[]", "is no object"},
	{"cut short", withPool(fourOfFour)[:40], "capacity: "},
}

func TestADocumentThatContradictsItselfIsRefusedWithNoPools(t *testing.T) {
	for _, c := range refusedDocuments {
		t.Run(c.name, func(t *testing.T) {
			doc, err := Decode(c.text)
			if err == nil || !strings.Contains(err.Error(), c.says) || len(doc.Pools) > 0 {
				t.Errorf("want an error that says %q and no pools; found %v and %d pools", c.says, err, len(doc.Pools))
			}
		})
	}
	if _, err := Decode(withPool(fourOfFour)); err != nil {
		t.Errorf("a sound document is refused: %v", err)
	}
}

func TestTheMarkOfAnUnfinishedUpdateIsNamed(t *testing.T) {
	for _, output := range []any{unknownMark, `"` + unknownMark + `"`, []byte(`"` + unknownMark + `"`)} {
		if doc, err := Decode(output); !errors.Is(err, ErrNotFinished) || len(doc.Pools) > 0 {
			t.Errorf("%v: %v", output, err)
		}
	}
}

func TestPastItsTimeNothingIsKnown(t *testing.T) {
	doc, err := Decode(withPool(fourOfFour))
	if err != nil {
		t.Fatal(err)
	}
	late := doc.At(doc.ValidUntil.Add(time.Second))
	for _, nodes := range []int{1, 4, 5} {
		answer := late.Fits(Gang{Nodes: nodes})
		if answer.When != NotKnown || !strings.Contains(answer.Reason, "last seen with 1 nodes") {
			t.Errorf("gang of %d: %s, %s", nodes, answer.When, answer.Reason)
		}
	}
	if answer := late.Fits(Gang{Nodes: 1, Pool: "other"}); answer.When != No {
		t.Errorf("a pool that is not there is %s", answer.When)
	}
}

func TestAGangHasOneNodeAtLeast(t *testing.T) {
	doc, err := Decode(withPool(fourOfFour))
	if err != nil {
		t.Fatal(err)
	}
	for _, nodes := range []int{0, -3} {
		if answer := doc.Fits(Gang{Nodes: nodes}); answer.When != No {
			t.Errorf("gang of %d: %s", nodes, answer.When)
		}
	}
}

func TestAGangNeverPassesAnyOfThePoolsNumbers(t *testing.T) {
	sound := Pool{Name: "gpu", Advertised: true, Nodes: Counts{Realized: 1, Maximum: 4}, LargestGang: 4}
	for name, change := range map[string]func(*Pool){
		"maximum":      func(p *Pool) { p.Nodes.Maximum = 2 },
		"largest gang": func(p *Pool) { p.LargestGang = 2 },
		"a ceiling":    func(p *Pool) { p.Ceilings = []Ceiling{{Kind: ConfiguredKind, Nodes: 2}} },
	} {
		p := sound
		change(&p)
		doc := Document{Pools: []Pool{p}}
		if two, three := doc.Fits(Gang{Nodes: 2}), doc.Fits(Gang{Nodes: 3}); two.When != AfterScaling ||
			three.When != No {
			t.Errorf("%s of 2: a gang of two is %s, one of three is %s", name, two.When, three.When)
		}
	}
}
