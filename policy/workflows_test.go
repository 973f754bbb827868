package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

type workflow struct {
	Permissions *map[string]string `json:"permissions"`
	Jobs        map[string]struct {
		Permissions    map[string]string `json:"permissions"`
		TimeoutMinutes int               `json:"timeout-minutes"`
		Strategy       struct {
			Matrix struct {
				Environment []string `json:"environment"`
			} `json:"matrix"`
		} `json:"strategy"`
		Steps []struct {
			Uses string `json:"uses"`
			Run  string `json:"run"`
		} `json:"steps"`
	} `json:"jobs"`
}

var pinned = regexp.MustCompile(`^[\w-]+/[\w-]+@(v\d+|[0-9a-f]{40})$`)

func TestWorkflowsArePinnedAndGrantLittle(t *testing.T) {
	files, err := filepath.Glob("../.github/workflows/*.yml")
	if err != nil || len(files) < 2 {
		t.Fatalf("%d workflows: %v", len(files), err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var w workflow
		if err := yaml.Unmarshal(text, &w); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		if w.Permissions == nil {
			t.Errorf("%s: without permissions of its own it gets the repository's", file)
		}
		for name, job := range w.Jobs {
			if job.TimeoutMinutes == 0 {
				t.Errorf("%s: job %s has no time limit", file, name)
			}
			runsProgram := false
			for _, step := range job.Steps {
				if step.Uses != "" && !pinned.MatchString(step.Uses) {
					t.Errorf("%s: %q is not pinned", file, step.Uses)
				}
				// An expression in a script is text that somebody outside may have written: it goes through env.
				if strings.Contains(step.Run, "${{") {
					t.Errorf("%s: job %s puts an expression into a script", file, name)
				}
				runsProgram = runsProgram || strings.Contains(step.Run, "pulumi preview")
			}
			for scope, grant := range job.Permissions {
				if grant == "write" && scope != "id-token" && runsProgram {
					t.Errorf("%s: job %s runs the program and may write %s", file, name, scope)
				}
			}
			if !runsProgram {
				continue
			}
			for _, environment := range job.Strategy.Matrix.Environment {
				if _, err := os.Stat("config/" + environment + ".json"); err != nil {
					t.Errorf("%s: environment %s has no pack config: %v", file, environment, err)
				}
			}
			if configs, _ := filepath.Glob("config/*.json"); len(configs) != len(job.Strategy.Matrix.Environment) {
				t.Errorf("%s: previews %v, the pack has %d configs", file, job.Strategy.Matrix.Environment,
					len(configs))
			}
		}
	}
}
