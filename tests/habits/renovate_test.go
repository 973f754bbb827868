package habits

import (
	"encoding/json"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// A rule whose pattern matches nothing raises nothing and says nothing. So each pattern of renovate.json has to match a
// file, and each expression a pin in one of its files. A pin that is written down twice, as a constant and as the
// default that the schema documents, is raised in both or would ship the older one: so all pins of a rule are equal.
// Renovate matches with RE2, as Go does:
// https://docs.renovatebot.com/string-pattern-matching/
func TestEveryPinThatRenovateRaisesIsThere(t *testing.T) {
	const path = root + "/renovate.json"
	var config struct {
		CustomManagers []struct {
			ManagerFilePatterns []string
			MatchStrings        []string
			DepNameTemplate     string
		}
	}
	text, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(text, &config)
	}
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	if len(config.CustomManagers) == 0 {
		t.Fatalf("%s: no customManagers, so nothing raises the pins that are not Go modules", path)
	}
	files := readTree(t)
	for _, m := range config.CustomManagers {
		t.Run(m.DepNameTemplate, func(t *testing.T) {
			matched := map[string]string{}
			for _, p := range m.ManagerFilePatterns {
				pattern, isExpression := strings.CutPrefix(p, "/")
				pattern, isClosed := strings.CutSuffix(pattern, "/")
				if !isExpression || !isClosed {
					t.Fatalf("managerFilePatterns: %q is no expression between slashes; write it as one", p)
				}
				expression, before := regexp.MustCompile(pattern), len(matched)
				for _, f := range files {
					if expression.MatchString(f.path) {
						matched[f.path] = f.text
					}
				}
				if len(matched) == before {
					t.Errorf("managerFilePatterns: no Go file matches %s; name the file that holds the pin now", p)
				}
			}
			var all []string
			for _, s := range m.MatchStrings {
				found := pins(matched, regexp.MustCompile(s))
				if len(found) == 0 {
					t.Errorf("matchStrings: %s matches in none of %s; write it as the pin stands there now",
						s, m.ManagerFilePatterns)
				}
				all = append(all, found...)
			}
			slices.Sort(all)
			if all = slices.Compact(all); len(all) > 1 {
				t.Errorf("the pins differ: %q; write one version in every place", all)
			}
		})
	}
}

// pins are the versions that the expression finds in the files.
func pins(files map[string]string, expression *regexp.Regexp) (found []string) {
	for _, text := range files {
		for _, m := range expression.FindAllStringSubmatch(text, -1) {
			if pin := m[expression.SubexpIndex("currentValue")]; pin != "" {
				found = append(found, pin)
			}
		}
	}
	return found
}
