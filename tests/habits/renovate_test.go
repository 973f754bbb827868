package habits

import (
	"encoding/json"
	"os"
	"regexp"
	"strings"
	"testing"
)

// A rule whose pattern matches nothing raises nothing and says nothing. So each pattern of renovate.json has to match a
// file, and each expression a pin in one of its files. Renovate matches with RE2, as Go does:
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
			for _, s := range m.MatchStrings {
				if !holdsPin(matched, regexp.MustCompile(s)) {
					t.Errorf("matchStrings: %s matches in none of %s; write it as the pin stands there now",
						s, m.ManagerFilePatterns)
				}
			}
		})
	}
}

func holdsPin(files map[string]string, expression *regexp.Regexp) bool {
	for _, text := range files {
		if m := expression.FindStringSubmatch(text); m != nil && m[expression.SubexpIndex("currentValue")] != "" {
			return true
		}
	}
	return false
}
