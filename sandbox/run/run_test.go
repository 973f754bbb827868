package run

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestRealEnvironmentIsRefused(t *testing.T) {
	for _, entry := range []string{"AWS_PROFILE=prod", "AWS_ACCESS_KEY_ID=AKIA", "PULUMI_STACK=prod",
		"PULUMI_BACKEND_URL=s3://bucket"} {
		err := RefuseReal([]string{"HOME=/root", entry})
		name, _, _ := strings.Cut(entry, "=")
		if err == nil || !strings.Contains(err.Error(), name) || !strings.Contains(err.Error(), "simulates") {
			t.Errorf("%s: %v", entry, err)
		}
	}
	if err := RefuseReal([]string{"HOME=/root", "AWS_PROFILE=", "PULUMI_BACKEND_URL=file:///tmp/state",
		"PULUMI_HOME=/x"}); err != nil {
		t.Errorf("nothing real is selected, yet: %v", err)
	}
}

func TestStackFileLeavesTheRealSecretsBehindAndKeepsItsOwnSalt(t *testing.T) {
	source := "encryptionsalt: real\nsecretsprovider: awskms://x\nconfig:\n  aws:region: us-west-2 # a comment\n"
	got := stackFile(source, "config: {}\nencryptionsalt: own\n")
	want := "config:\n  aws:region: us-west-2 # a comment\nencryptionsalt: own\n"
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestProjectFilesAreOnlyRead(t *testing.T) {
	from, to := t.TempDir(), t.TempDir()
	for name, text := range map[string]string{"Pulumi.yaml": "name: x\n", "Pulumi.dev.yaml": "config: {}\n"} {
		if err := os.WriteFile(filepath.Join(from, name), []byte(text), 0o444); err != nil {
			t.Fatal(err)
		}
	}
	if err := copyProject(from, to, "dev"); err != nil {
		t.Error(err)
	}
	if err := copyProject(from, to, "prod"); err == nil || !strings.Contains(err.Error(), "Pulumi.prod.yaml") {
		t.Errorf("missing environment: %v", err)
	}
}

func TestEncryptedConfigurationIsRefused(t *testing.T) {
	from := t.TempDir()
	_ = os.WriteFile(filepath.Join(from, "Pulumi.yaml"), []byte("name: x\n"), 0o644)
	_ = os.WriteFile(filepath.Join(from, "Pulumi.dev.yaml"), []byte("config:\n  x:y:\n    secure: v1:abc\n"), 0o644)
	if err := copyProject(from, t.TempDir(), "dev"); err == nil || !strings.Contains(err.Error(), "passphrase") {
		t.Errorf("got %v", err)
	}
}

func TestScreenLeavesOutWhatWouldLeadToARealStack(t *testing.T) {
	var out strings.Builder
	l := &lineWriter{w: &out}
	for _, part := range []string{"Reso", "urces:\n    - 1 deleted\nThe resources in the stack have been deleted, " +
		"but\nIf you want to remove the ", "stack completely, run `pulumi stack rm dev`.\nend"} {
		if _, err := l.Write([]byte(part)); err != nil {
			t.Fatal(err)
		}
	}
	l.flush()
	if got := out.String(); got != "Resources:\n    - 1 deleted\nend\n" {
		t.Errorf("got %q", got)
	}
}

func TestOnlyACLIAsNewAsThePinnedOneIsUsed(t *testing.T) {
	for found, want := range map[string]bool{
		"v3.274.1": true,
		"v3.280.0": true,
		"v3.274.0": false,
		"v4.0.0":   false,
		"":         false,
		"dev":      false,
	} {
		if usable(found, "v3.274.1") != want {
			t.Errorf("%q: %v", found, !want)
		}
	}
}
