package permissions_test

import (
	"encoding/json"
	"flag"
	"os"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/headroom-eks/headroom/tests/permissions"
)

var update = flag.Bool("update", false, "write docs/permissions.md anew")

func TestPageIsTheTable(t *testing.T) {
	const file = "../../docs/permissions.md"
	page, err := permissions.Page()
	if err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile(file, []byte(page), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if text, err := os.ReadFile(file); err != nil || string(text) != page {
		t.Errorf("docs/permissions.md is not what the table says (%v): go test ./tests/permissions -run Page -update",
			err)
	}
}

// limit of a managed policy, without white space.
// https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_iam-quotas.html
const limit = 6144

// attachable is how many managed policies a role takes unless its quota was raised; same page.
const attachable = 10

func TestPoliciesFitTheLimitsOfIAM(t *testing.T) {
	if n := 1 + len(permissions.Parts); n > attachable {
		t.Errorf("%d policies, more than a role takes", n)
	}
	for _, name := range names() {
		text, err := permissions.Document(name)
		if err != nil {
			t.Fatal(err)
		}
		tight := strings.Map(func(r rune) rune {
			if unicode.IsSpace(r) {
				return -1
			}
			return r
		}, text)
		if len(tight) > limit || len(tight) < 100 {
			t.Errorf("%s: %d characters, want something of at most %d", name, len(tight), limit)
		}
	}
}

func names() []string {
	names := []string{permissions.Preview}
	for _, p := range permissions.Parts {
		names = append(names, p.Name)
	}
	return names
}

func TestModesNamePartsThatAreThere(t *testing.T) {
	for _, m := range permissions.Modes {
		for _, part := range m.Parts {
			if !slices.Contains(names(), part) {
				t.Errorf("%s: no part %q", m.Name, part)
			}
		}
	}
}

func TestPreviewChangesNothing(t *testing.T) {
	actions, err := permissions.Actions(permissions.Preview)
	if err != nil || len(actions) < 30 {
		t.Fatalf("%d actions: %v", len(actions), err)
	}
	for _, action := range actions {
		_, verb, _ := strings.Cut(action, ":")
		if !strings.HasPrefix(verb, "Get") && !strings.HasPrefix(verb, "List") && !strings.HasPrefix(verb, "Describe") {
			t.Errorf("%s", action)
		}
	}
}

// aws-review m8 names these.
func TestWhatServicesCheckOfTheCallerIsThere(t *testing.T) {
	for part, wanted := range map[string][]string{
		permissions.Preview: {"servicequotas:GetServiceQuota", "servicequotas:GetAWSDefaultServiceQuota"},
		"cluster":           {"iam:PassRole", "iam:CreateServiceLinkedRole", "kms:CreateGrant"},
		"node-groups":       {"iam:PassRole", "iam:CreateServiceLinkedRole", "ec2:RunInstances"},
		"spot-role":         {"iam:CreateServiceLinkedRole"},
	} {
		actions, err := permissions.Actions(part)
		if err != nil {
			t.Fatal(err)
		}
		for _, action := range wanted {
			if !slices.Contains(actions, action) {
				t.Errorf("%s: no %s", part, action)
			}
		}
	}
}

// A parameter of somebody else may hold a secret.
func TestPreviewReadsNoParameterButPublicOnesAndOurs(t *testing.T) {
	text, err := permissions.Document(permissions.Preview)
	if err != nil {
		t.Fatal(err)
	}
	var policy struct {
		Statement []struct {
			Action   []string
			Resource any
		}
	}
	if err := json.Unmarshal([]byte(text), &policy); err != nil {
		t.Fatal(err)
	}
	for _, s := range policy.Statement {
		if slices.Contains(s.Action, "ssm:GetParameter") && s.Resource == "*" {
			t.Error("every parameter of the account")
		}
	}
}

func TestAnUnknownPolicyIsAnError(t *testing.T) {
	if actions, err := permissions.Actions("clutser"); err == nil {
		t.Errorf("it has %q", actions)
	}
}

func TestATypeBelongsToOnePart(t *testing.T) {
	tokens := permissions.Tokens()
	slices.Sort(tokens)
	for i, token := range tokens[1:] {
		if token == tokens[i] {
			t.Errorf("%s stands there twice", token)
		}
	}
}
