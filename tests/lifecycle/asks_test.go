package lifecycle

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/headroom-eks/headroom/infra/config"
	"github.com/headroom-eks/headroom/sandbox/run"
	"github.com/headroom-eks/headroom/sandbox/world"
)

// aws writes settings of the provider into the stack file, beside the environment.
func (e *environment) aws(lines ...string) {
	e.t.Helper()
	e.write(e.file, stackFile(e.t, object(e.t, e.config))+"  "+strings.Join(lines, "\n  ")+"\n")
}

// as lets somebody else run the next operations.
func (e *environment) as(person string) {
	e.t.Helper()
	if err := e.As(testContext, person); err != nil {
		e.t.Fatal(err)
	}
}

// inputsOf a resource in the state, by its type and name.
func (e *environment) inputsOf(token, name string) map[string]any {
	e.t.Helper()
	state, err := e.Export(testContext)
	if err != nil {
		e.t.Fatal(err)
	}
	var deployment struct {
		Resources []struct {
			URN    string
			Inputs map[string]any
		}
	}
	if err := json.Unmarshal(state.Deployment, &deployment); err != nil {
		e.t.Fatal(err)
	}
	for _, r := range deployment.Resources {
		if strings.HasSuffix(r.URN, token+"::"+name) {
			return r.Inputs
		}
	}
	e.t.Fatalf("the state has no %s %s", token, name)
	return nil
}

// FR-05, and findings 5, D5 and H1 of the second trial: the sandbox refuses the objects of another identity than the
// one that asks AWS, so the update alone is most of the proof.
func TestOneIdentityAsksAndTheNextPersonPlansNothing(t *testing.T) {
	e := start(t, config.Environment{Pools: []config.Pool{fixed("gpu-l4", "g6.xlarge", 1)}})
	e.step("the account guard names both accounts before anything is made", func() {
		e.aws(`aws:allowedAccountIds: ["111122223333"]`)
		e.untouched(e.Up, `aws:allowedAccountIds: is [111122223333], and the credentials are of another account `+
			`(found "123456789012")`)
	})
	e.step("the next person plans nothing", func() {
		e.aws()
		e.as("alice")
		e.up()
		e.as("bob")
		e.settled()
	})
	e.step("a profile and a role get the token of Kubernetes too", func() {
		e.aws("aws:profile: deploy", "aws:allowedAccountIds: ['123456789012']",
			"aws:assumeRole: {roleArn: 'arn:aws:iam::123456789012:role/deploy'}")
		outputs := e.up().Outputs
		asks, _ := e.inputsOf("pulumi:providers:kubernetes", "kubernetes")["kubeconfig"].(string)
		if !strings.Contains(asks, `"--profile","deploy","--role-arn","arn:aws:iam::123456789012:role/deploy"`) {
			e.t.Errorf("the provider of Kubernetes asks by %s", asks)
		}
		if given, _ := outputs["kubeconfig"].(string); strings.Contains(given, "deploy") {
			e.t.Errorf("the output is not for everybody: %s", given)
		}
	})
	e.step("the guard holds where no program runs", func() {
		e.act(func(s *world.State) error { s.Account = "111122223333"; return nil })
		e.fails(e.Refresh, "AWS account ID not allowed: 111122223333")
		e.act(func(s *world.State) error { s.Account = "123456789012"; return nil })
	})
	e.step("other credentials for both replace no object", func() {
		e.aws("aws:profile: other", "aws:allowedAccountIds: ['123456789012']")
		result := e.up()
		for key, op := range changes(result) {
			if strings.Contains(op, "replace") || strings.Contains(op, "delete") {
				e.t.Errorf("%s: %s", key, op)
			}
		}
	})
}

// Outside finding 8: the engine says of the whole object that it holds a secret, wherever that is.
func TestASecretAnywhereInTheEnvironmentIsRefused(t *testing.T) {
	e := start(t, config.Environment{}, func(o *run.Options) {
		o.Secrets = map[string]string{"headroom:environment.tags.team": "readable-otherwise"}
	})
	e.untouched(e.Up, "headroom:environment: holds a secret", "look for `secure:`")
}

// Keys that the stack file keeps secret are nowhere readable: not in the state, not on the screen, not in an output.
func TestKeysOfTheProviderStaySecretInTheState(t *testing.T) {
	const key = "wJalrXUtnFEMI"
	e := start(t, config.Environment{}, func(o *run.Options) { o.Secrets = map[string]string{"aws:secretKey": key} })
	e.aws("aws:accessKey: AKIAEXAMPLE")
	result := e.up()
	if strings.Contains(result.Screen, key) {
		t.Error("the key is on the screen")
	}
	found := false
	err := filepath.WalkDir(filepath.Join(e.Home(), "state"), func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		found = found || strings.Contains(string(text), "AKIAEXAMPLE")
		if strings.Contains(string(text), key) {
			t.Errorf("%s holds the key", path)
		}
		return err
	})
	if err != nil || !found {
		t.Errorf("the state was not looked into: %v", err)
	}
	e.settled()
}

// Fault F21 of the second trial, last row, with findings 9 and 11: one message for the whole stack file.
func TestEveryKeyOfTheStackFileIsReadOrRefused(t *testing.T) {
	e := start(t, config.Environment{})
	e.aws("headroom:nodes: 3", "aws:profil: x", "aws:useFipsEndpoint: perhaps", "kubernetes:context: y",
		"aws:assumeRole: {roleArn: 'arn:aws:iam::123456789012:role/deploy', externalId: x}")
	e.untouched(e.Up, "5 problem(s)", "headroom:nodes: is not read", "aws:profil: is not a setting",
		`aws:useFipsEndpoint: is neither true nor false (found "perhaps")`, "kubernetes:context: is not read",
		"aws:assumeRole.externalId: cannot reach the token")
}
