package serve

import (
	"strings"
	"testing"
	"time"

	"github.com/headroom-eks/headroom/policy/rules"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi/policyx"
)

func TestSecretsOfTheEnvironmentAreNotInAnError(t *testing.T) {
	if _, err := readEnvironment("", `{"podsSelectPool": "s3cret"}`); err == nil ||
		strings.Contains(err.Error(), "s3cret") {
		t.Errorf("error %v", err)
	}
}

func TestPackNamesAreAccepted(t *testing.T) {
	p, err := Pack{Name: "headroom", Version: "0.1.0", Rules: rules.All}.forStack(rules.Environment{}, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	for _, policy := range p.Policies() {
		if policy.EnforcementLevel() == policyx.EnforcementLevelDisabled {
			t.Errorf("%s ships disabled", policy.Name())
		}
	}
}

func TestAVersionThatIsNotSemanticIsAnError(t *testing.T) {
	if _, err := (Pack{Name: "ours", Version: "1"}).forStack(rules.Environment{}, time.Now); err == nil ||
		!strings.Contains(err.Error(), "version of policy pack ours") {
		t.Errorf("error %v", err)
	}
}
