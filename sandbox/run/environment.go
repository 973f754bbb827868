package run

import (
	"fmt"
	"os"
	"slices"
	"strings"
)

// realSelectors are environment variables that select a real account or a real stack, with what they select.
var realSelectors = map[string]string{
	"AWS_ACCESS_KEY_ID":                      "AWS credentials",
	"AWS_PROFILE":                            "an AWS profile",
	"AWS_WEB_IDENTITY_TOKEN_FILE":            "an AWS role",
	"AWS_CONTAINER_CREDENTIALS_FULL_URI":     "an AWS role",
	"AWS_CONTAINER_CREDENTIALS_RELATIVE_URI": "an AWS role",
	"PULUMI_STACK":                           "a Pulumi stack",
}

// RefuseReal returns an error when the environment selects something real: the person who set that expects to act on
// it, and the sandbox never does.
func RefuseReal(environ []string) error {
	var found []string
	for _, entry := range environ {
		name, value, _ := strings.Cut(entry, "=")
		if value == "" {
			continue
		}
		if what, ok := realSelectors[name]; ok {
			found = append(found, fmt.Sprintf("%s selects %s", name, what))
		}
		if name == "PULUMI_BACKEND_URL" && !strings.HasPrefix(value, "file://") {
			found = append(found, name+" selects a backend that is not a local file")
		}
	}
	if len(found) == 0 {
		return nil
	}
	slices.Sort(found)
	return fmt.Errorf("a real environment is selected: %s.\nThis command only simulates an AWS account on this "+
		"machine and would change nothing there.\n"+
		"To simulate, unset these variables; to act on the real environment, use plain `pulumi up`",
		strings.Join(found, "; "))
}

// usePath puts a folder before all others of this process's PATH. The inline program runs in this process.
func usePath(folder string) {
	now := os.Getenv("PATH")
	if first, _, _ := strings.Cut(now, string(os.PathListSeparator)); folder != "" && first != folder {
		os.Setenv("PATH", folder+string(os.PathListSeparator)+now)
	}
}

// cleanProcess removes from this process what would reach the program, the engine or a provider behind the sandbox's
// back: the user's Pulumi settings, AWS settings and kubeconfig. The inline program runs in this process, so it is not
// enough to clean what is started.
func cleanProcess() {
	for _, entry := range os.Environ() {
		name, _, _ := strings.Cut(entry, "=")
		if strings.HasPrefix(name, "PULUMI_") || strings.HasPrefix(name, "AWS_") || name == "KUBECONFIG" {
			os.Unsetenv(name)
		}
	}
}
