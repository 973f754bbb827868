package iampolicy_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/headroom-eks/headroom/components/iampolicy"
	"pgregory.net/rapid"
)

func TestDocumentRendersCanonically(t *testing.T) {
	got, err := iampolicy.New(iampolicy.Statement{
		Sid:      "Read",
		Action:   iampolicy.Strings{"ec2:DescribeSubnets", "ec2:DescribeImages", "ec2:DescribeImages"},
		Resource: iampolicy.Strings{"*"},
		Condition: iampolicy.Conditions{
			"StringEquals": {"b": {"<&>"}, "a": {"2", "1"}},
		},
	}).JSON(iampolicy.ManagedLimit)
	if err != nil {
		t.Fatal(err)
	}
	want := `{"Version":"2012-10-17","Statement":[{"Sid":"Read","Effect":"Allow",` +
		`"Action":["ec2:DescribeImages","ec2:DescribeSubnets"],"Resource":"*",` +
		`"Condition":{"StringEquals":{"a":["1","2"],"b":"<&>"}}}]}`
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestDocumentIsReadBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		word := rapid.StringMatching(`[a-z:*/&<]{1,12}`)
		doc := iampolicy.New(iampolicy.Statement{
			Effect:    iampolicy.Deny,
			Principal: iampolicy.Principal{"Service": {word.Draw(t, "service")}},
			Action:    rapid.SliceOfNDistinct(word, 1, 5, rapid.ID).Draw(t, "actions"),
		})
		text, err := doc.JSON(iampolicy.ManagedLimit)
		if err != nil {
			t.Fatal(err)
		}
		var read iampolicy.Document
		if err := json.Unmarshal([]byte(text), &read); err != nil {
			t.Fatal(err)
		}
		again, err := read.JSON(iampolicy.ManagedLimit)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(text, again); diff != "" {
			t.Fatal(diff)
		}
	})
}

func TestLimitCountsEveryCharacter(t *testing.T) {
	document := func(resource string) iampolicy.Document {
		return iampolicy.New(iampolicy.Statement{Action: iampolicy.Strings{"a:B"},
			Resource: iampolicy.Strings{resource}})
	}
	shortest, err := document("x").JSON(iampolicy.ManagedLimit)
	if err != nil {
		t.Fatal(err)
	}
	fits := strings.Repeat("x", iampolicy.ManagedLimit-len(shortest)+1)
	if _, err := document(fits).JSON(iampolicy.ManagedLimit); err != nil {
		t.Errorf("a document of exactly the limit is refused: %v", err)
	}
	if _, err := document(fits + "x").JSON(iampolicy.ManagedLimit); err == nil {
		t.Error("a document one character over the limit is accepted")
	}
}

func TestMalformedDocumentIsRefused(t *testing.T) {
	good := iampolicy.Statement{Sid: "A", Action: iampolicy.Strings{"a:B"}, Resource: iampolicy.Strings{"*"}}
	for name, doc := range map[string]iampolicy.Document{
		"no statement": iampolicy.New(),
		"sid twice":    iampolicy.New(good, good),
		"sid with a dash": iampolicy.New(iampolicy.Statement{
			Sid:      "a-b",
			Action:   good.Action,
			Resource: good.Resource,
		}),
		"unknown effect": iampolicy.New(iampolicy.Statement{
			Effect:   "allow",
			Action:   good.Action,
			Resource: good.Resource,
		}),
		"no action":      iampolicy.New(iampolicy.Statement{Resource: good.Resource}),
		"no target":      iampolicy.New(iampolicy.Statement{Action: good.Action}),
		"empty resource": iampolicy.New(iampolicy.Statement{Action: good.Action, Resource: iampolicy.Strings{""}}),
		"empty principal": iampolicy.New(iampolicy.Statement{
			Action:    good.Action,
			Principal: iampolicy.Principal{"AWS": {""}},
		}),
		"condition no list": iampolicy.New(iampolicy.Statement{
			Action:    good.Action,
			Resource:  good.Resource,
			Condition: iampolicy.Conditions{"Null": {"a": nil}},
		}),
	} {
		if text, err := doc.JSON(iampolicy.ManagedLimit); err == nil {
			t.Errorf("%s: accepted as %s", name, text)
		}
	}
}
