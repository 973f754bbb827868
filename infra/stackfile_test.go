package infra

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// with is the environment of every scaler with further lines of the stack file.
func with(lines ...string) string {
	return everyScaler + "  " + strings.Join(lines, "\n  ") + "\n"
}

// refusedWith runs the stack file, which must be refused before anything is made, with all that is wanted in the
// message.
func refusedWith(t *testing.T, stackFile string, secrets []string, want ...string) {
	t.Helper()
	g, err := runWithSecrets(t, "blue", stackFile, secrets)
	if err == nil {
		t.Fatal("accepted")
	}
	for _, w := range want {
		if !strings.Contains(err.Error(), w) {
			t.Errorf("want %s in %v", w, err)
		}
	}
	for _, r := range g.resources {
		if !strings.HasPrefix(r.Type, "pulumi:providers:") {
			t.Errorf("made before the refusal: %s %s", r.Type, r.Name)
		}
	}
}

// command that gets the token of a kubeconfig.
func command(t *testing.T, kubeconfig any) string {
	t.Helper()
	text, _ := kubeconfig.(string)
	var read struct {
		Users []struct {
			User struct {
				Exec struct {
					Args []string
					Env  []struct{ Name, Value string }
				}
			}
		}
	}
	if err := json.Unmarshal([]byte(text), &read); err != nil || len(read.Users) != 1 {
		t.Fatalf("%v: %v", kubeconfig, err)
	}
	exec := read.Users[0].User.Exec
	return fmt.Sprint(exec.Args, exec.Env)
}

// FR-05, and findings 5 and H1 of the second trial. The output is for every reader, with credentials of their own.
func TestTheProfileOfAWSGetsTheTokenOfKubernetes(t *testing.T) {
	g := registers(t, "blue", with("aws:profile: deploy",
		`aws:assumeRole: {roleArn: "arn:aws:iam::111122223333:role/deploy"}`))
	provider := g.of(t, "aws")[0]
	if provider.Inputs["profile"] != "deploy" {
		t.Errorf("the provider of AWS has profile %v", provider.Inputs["profile"])
	}
	const asked = "--profile deploy --role-arn arn:aws:iam::111122223333:role/deploy"
	if got := command(t, g.of(t, "kubernetes")[0].Inputs["kubeconfig"]); !strings.Contains(got, asked) {
		t.Errorf("the provider of Kubernetes asks by %s", got)
	}
	if got := command(t, g.outputs["kubeconfig"]); strings.Contains(got, "--profile") ||
		strings.Contains(got, "--role") {
		t.Errorf("the output asks by %s", got)
	}
}

// Outside finding 9: default tags reach what no provider tags, nodes among them.
func TestDefaultTagsOfTheProviderAreTheEnvironments(t *testing.T) {
	g := registers(t, "blue", with("aws:defaultTags: {tags: {costs: research}}"))
	for _, template := range g.of(t, "LaunchTemplate") {
		if got := at(template.Inputs, "tagSpecifications", 0, "tags", "costs"); got != "research" {
			t.Errorf("nodes of %s have %v", template.Name, got)
		}
	}
	for _, class := range g.of(t, "EC2NodeClass") {
		if got := at(class.Inputs, "spec", "tags", "costs"); got != "research" {
			t.Errorf("nodes of %s have %v", class.Name, got)
		}
	}
	if got := g.of(t, "aws")[0].Inputs["defaultTags"]; got != nil {
		t.Errorf("the provider would set them again: %v", got)
	}
	refusedWith(t, with(`aws:defaultTags: {tags: {"aws:x": y}}`), nil, `aws:defaultTags.tags["aws:x"]: `)
}

// Outside finding 9: an ignored mark is a pool that counts none of its nodes. No tag that the program sets is missing
// in the list of marks.
func TestNoTagThatTheProgramSetsMayBeIgnored(t *testing.T) {
	tags := map[string]bool{}
	for _, r := range registers(t, "blue", with()).resources {
		collectTags(r.Inputs, tags)
	}
	if len(tags) < 5 {
		t.Errorf("only the tags %v were seen", tags)
	}
	for tag := range tags {
		refusedWith(t, with(fmt.Sprintf("aws:ignoreTags: {keys: [%q]}", tag)), nil, "aws:ignoreTags.keys[0]: hides "+
			"the tag")
	}
}

func collectTags(value any, into map[string]bool) {
	switch v := value.(type) {
	case map[string]any:
		for key, inner := range v {
			if tags, are := inner.(map[string]any); are && key == "tags" {
				for tag := range tags {
					into[tag] = true
				}
			}
			collectTags(inner, into)
		}
	case []any:
		for _, inner := range v {
			collectTags(inner, into)
		}
	}
}

// Outside finding 9.
func TestTheWrongAccountIsRefusedBeforeAnythingIsMade(t *testing.T) {
	refusedWith(t, with(`aws:allowedAccountIds: ["111122223333"]`), nil,
		`aws:allowedAccountIds: is [111122223333], and the credentials are of another account (found "123456789012")`)
	refusedWith(t, with(`aws:forbiddenAccountIds: ["123456789012"]`), nil,
		`aws:forbiddenAccountIds: names the account of the credentials (found "123456789012")`)
	registers(t, "blue", with(`aws:allowedAccountIds: ["123456789012"]`))
}

// Outside finding 8.
func TestASecretInTheEnvironmentIsRefused(t *testing.T) {
	refusedWith(t, with(), []string{"headroom:environment"},
		"headroom:environment: holds a secret, which would be readable", "without --secret")
}

// Keys and session token stay secret wherever they go; what is exported has none.
func TestASecretSettingOfTheProviderStaysSecret(t *testing.T) {
	stackFile := with("aws:accessKey: AKIAEXAMPLE", "aws:secretKey: wJalrEXAMPLE")
	g, err := runWithSecrets(t, "blue", stackFile, []string{"aws:secretKey"})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range g.resources {
		text := fmt.Sprint(r.Inputs)
		if strings.Contains(text, "wJalrEXAMPLE") && !strings.HasPrefix(r.Type, "pulumi:providers:") {
			t.Errorf("%s %s holds the key", r.Type, r.Name)
		}
	}
	if text := fmt.Sprint(g.outputs); strings.Contains(text, "wJalrEXAMPLE") {
		t.Errorf("an output holds the key: %s", text)
	}
	for provider, key := range map[string]string{"aws": "secretKey", "kubernetes": "kubeconfig"} {
		if !slices.Contains(g.of(t, provider)[0].secret, key) {
			t.Errorf("%s of provider %s is readable", key, provider)
		}
	}
}

// Fault F21 of the second trial, last row, and its siblings.
func TestKeysThatNothingReadsAreRefusedTogether(t *testing.T) {
	refusedWith(t, with("headroom:nodes: 3", "aws:profil: x", "kubernetes:context: y"), nil,
		"headroom:nodes: is not read; write nodes inside of headroom:environment, or remove it",
		"aws:profil: is not a setting of the aws provider",
		"kubernetes:context: is not read",
	)
}

func TestAllOfTheStackFileIsJudgedInOneMessage(t *testing.T) {
	refusedWith(t, `
config:
  aws:insecure: perhaps
  headroom:environment:
    network: {zones: [us-west-2a, us-west-2b]}
    system: {nodeCount: two}
    capacity: {validFor: 7h}
`, nil, "4 problem(s)", "aws:region: is not set", "aws:insecure: is neither", "system.nodeCount: is the text",
		"capacity.validFor: is longer")
	refusedWith(t, "config: {aws:region: us-west-2}", nil, "headroom:environment: is not set; start from a copy")
}

// Finding D5 of the second trial: what is registered follows from the stack file, not from who runs the update.
func TestTheNextPersonOfATeamRegistersTheSame(t *testing.T) {
	graphOf := func(profile string) string {
		t.Setenv("AWS_PROFILE", profile)
		t.Setenv("AWS_REGION", profile+"-region")
		t.Setenv("AWS_ACCESS_KEY_ID", "AKIA"+profile)
		return string(registers(t, "blue", with("aws:profile: deploy")).golden(t))
	}
	if diff := cmp.Diff(graphOf("alice"), graphOf("bob")); diff != "" {
		t.Error(diff)
	}
}
