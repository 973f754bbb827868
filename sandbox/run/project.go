package run

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// copyProject copies Pulumi.yaml and the environment's stack file into the run's folder, afresh for every operation.
// What belongs to the real stack's secrets is left behind, and the salt that the sandbox's own passphrase needed before
// is kept.
func copyProject(from, to, environment string) error {
	project, source, err := readProject(from, environment)
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(to, "Pulumi.yaml"), project, 0o644); err != nil {
		return err
	}
	name := filepath.Join(to, stackName(environment))
	before, err := os.ReadFile(name)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return os.WriteFile(name, []byte(stackFile(string(source), string(before))), 0o644)
}

func stackName(environment string) string { return "Pulumi." + environment + ".yaml" }

// readProject reads the two files, or says which is missing or cannot be used.
func readProject(from, environment string) (project, stack []byte, err error) {
	if project, err = os.ReadFile(filepath.Join(from, "Pulumi.yaml")); err != nil {
		return nil, nil, fmt.Errorf("%s is no project folder: %w", from, err)
	}
	name := stackName(environment)
	stack, err = os.ReadFile(filepath.Join(from, name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, fmt.Errorf("there is no environment %q: the project folder has no %s", environment, name)
	}
	if err == nil && strings.Contains(string(stack), "secure:") {
		err = fmt.Errorf("%s holds encrypted values, which the sandbox cannot read: it has its own passphrase. Use "+
			"an environment without secrets", name)
	}
	return project, stack, err
}

// secretKeys are the top-level keys of a stack file that say how its secrets are kept.
var secretKeys = []string{"encryptionsalt:", "secretsprovider:", "encryptedkey:"}

// stackFile is the source without its secret keys, with the salt of the copy made before.
func stackFile(source, before string) string {
	var lines []string
	for line := range strings.Lines(source) {
		if !hasAnyPrefix(line, secretKeys) {
			lines = append(lines, strings.TrimSuffix(line, "\n"))
		}
	}
	for line := range strings.Lines(before) {
		if strings.HasPrefix(line, "encryptionsalt:") {
			lines = append(lines, strings.TrimSuffix(line, "\n"))
		}
	}
	return strings.Join(lines, "\n") + "\n"
}

func hasAnyPrefix(s string, prefixes []string) bool {
	for _, p := range prefixes {
		if strings.HasPrefix(s, p) {
			return true
		}
	}
	return false
}
