package random

import (
	"strings"
	"testing"

	"github.com/pulumi/pulumi/sdk/v3/go/common/resource"

	"github.com/headroom-eks/headroom/sandbox/plugin"
)

func request(inputs map[string]any) plugin.Request {
	return plugin.Request{Type: stringType, Name: "suffix", Inputs: resource.NewPropertyMapFromMap(inputs)}
}

func TestStringHasItsLengthAndOnlyItsSets(t *testing.T) {
	id, outputs, err := backend{}.Create(request(map[string]any{"length": 200, "upper": false, "special": false}))
	if err != nil {
		t.Fatal(err)
	}
	if got := outputs["result"].StringValue(); got != id || len(got) != 200 || strings.Trim(got, lower+numeric) != "" {
		t.Errorf("result %q", got)
	}
}

func TestResultIsUnknownInAPreview(t *testing.T) {
	r := request(map[string]any{"length": 4})
	r.Preview = true
	if _, outputs, err := (backend{}).Create(r); err != nil || !outputs["result"].IsComputed() {
		t.Errorf("result %v, %v", outputs["result"], err)
	}
}

func TestEveryChangeReplaces(t *testing.T) {
	r := request(map[string]any{"length": 5})
	r.OldInputs = request(map[string]any{"length": 4}).Inputs
	if d, err := (backend{}).Diff(r); err != nil || len(d.Replaces) != 1 {
		t.Errorf("diff %+v, %v", d, err)
	}
}

func TestOtherResourcesOfThePackageAreRefused(t *testing.T) {
	r := request(map[string]any{"length": 4})
	r.Type = "random:index/randomPet:RandomPet"
	if _, _, err := (backend{}).Check(r); err == nil || !strings.Contains(err.Error(), "RandomPet") {
		t.Errorf("error %v", err)
	}
}
