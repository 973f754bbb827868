package clusterautoscaler

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"golang.org/x/mod/semver"
)

func TestEveryReleaseHasAnImageOfItsKubernetesMinor(t *testing.T) {
	for kubernetes, release := range releases {
		if minor(release.Image) != kubernetes {
			t.Errorf("Kubernetes %s has image %s", kubernetes, release.Image)
		}
		if !semver.IsValid("v" + release.Chart) {
			t.Errorf("Kubernetes %s has chart %q, which is no version", kubernetes, release.Chart)
		}
	}
}

func TestPatchVersionOfKubernetesDoesNotMatter(t *testing.T) {
	for _, version := range []string{"1.36", "1.36.3", "v1.36.1"} {
		got, problems := ReleaseFor("ca", version, Release{})
		if err := problems.Err(); err != nil || got != releases["1.36"] {
			t.Errorf("%s: got %v, %v", version, got, err)
		}
	}
}

// Field fault BR-08.
func TestUnknownKubernetesIsRefusedAndFallsBackToNothing(t *testing.T) {
	for _, version := range []string{"1.33", "1.37", "1.3", "", "latest", "2.0"} {
		got, problems := ReleaseFor("ca", version, Release{})
		if problems.Err() == nil || got != (Release{}) {
			t.Errorf("Kubernetes %q: got %v, want a refusal and no release", version, got)
		}
		if err := problems.Err(); err != nil && !strings.Contains(err.Error(), "1.34, 1.35, 1.36") {
			t.Errorf("%v\ndoes not say which versions are known", err)
		}
	}
}

// Field fault BR-08.
func TestReleaseIsReplacedAsAWholeOrNotAtAll(t *testing.T) {
	for name, c := range map[string]struct {
		override Release
		refusal  string // empty: accepted
	}{
		"both":                     {Release{Chart: "9.60.0", Image: "v1.36.2"}, ""},
		"image alone":              {Release{Image: "v1.36.2"}, "give both or neither"},
		"chart alone":              {Release{Chart: "9.60.0"}, "give both or neither"},
		"image of another minor":   {Release{Chart: "9.60.0", Image: "v1.35.2"}, "not of the cluster's minor version"},
		"image without its v":      {Release{Chart: "9.60.0", Image: "1.36.2"}, "not of the cluster's minor version"},
		"image latest":             {Release{Chart: "9.60.0", Image: "latest"}, "not of the cluster's minor version"},
		"chart older than known":   {Release{Chart: "9.35.0", Image: "v1.36.2"}, "is older than"},
		"chart that is no version": {Release{Chart: "latest", Image: "v1.36.2"}, "is not a version"},
	} {
		got, problems := ReleaseFor("ca", "1.36", c.override)
		err := problems.Err()
		switch {
		case c.refusal == "" && (err != nil || got != c.override):
			t.Errorf("%s: got %v, %v", name, got, err)
		case c.refusal != "" && (err == nil || !strings.Contains(err.Error(), c.refusal)):
			t.Errorf("%s: got %v, want a refusal that says %q", name, err, c.refusal)
		}
	}
}

func TestGuideNamesTheReleases(t *testing.T) {
	text, err := os.ReadFile("../../docs/cluster-autoscaler.md")
	if err != nil {
		t.Fatal(err)
	}
	rows := 0
	for _, line := range strings.Split(string(text), "\n") {
		if strings.HasPrefix(line, "| 1.") {
			rows++
		}
	}
	if rows != len(releases) {
		t.Errorf("the guide has %d rows of versions, the table %d", rows, len(releases))
	}
	for kubernetes, release := range releases {
		if row := fmt.Sprintf("| %s | %s | %s |", kubernetes, release.Chart,
			release.Image); !strings.Contains(string(text), row) {
			t.Errorf("the guide lacks %q", row)
		}
	}
}
