package chart_test

import (
	"testing"

	"github.com/headroom-eks/headroom/components/chart"
)

func TestAVersionIsExact(t *testing.T) {
	for version, fine := range map[string]bool{
		"1.15.0":  true,
		"v1.15.0": false,
		"1.15":    false,
		"latest":  false,
		"":        false,
	} {
		if err := chart.ValidateVersion("version", version, "1.15.0").Err(); (err == nil) != fine {
			t.Errorf("%q: %v", version, err)
		}
	}
}

func TestARepositoryHasAScheme(t *testing.T) {
	for address, fine := range map[string]bool{
		"": true, "https://example.com/charts": true, "oci://registry/x": true,
		"registry/x": false, "http://example.com": false, "https://": false, "oci://a b": false,
	} {
		if err := chart.ValidateRepository("repository", address).Err(); (err == nil) != fine {
			t.Errorf("%q: %v", address, err)
		}
	}
}

// Field fault BR-51.
func TestAChartIsNamedOnce(t *testing.T) {
	for repository, want := range map[string][2]string{
		"https://example.com/charts": {"x", "https://example.com/charts"},
		"oci://registry/charts":      {"oci://registry/charts/x", ""},
		"oci://registry/charts/":     {"oci://registry/charts/x", ""},
		"../charts":                  {"../charts/x", ""},
	} {
		if name, from := chart.At(repository, "x"); [2]string{name, from} != want {
			t.Errorf("%s: %q %q", repository, name, from)
		}
	}
}
