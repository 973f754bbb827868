package config

import (
	"strings"
	"testing"
)

func TestADocumentIsBelievedForSixHoursAtMost(t *testing.T) {
	for validFor, says := range map[string]string{"6h": "", "6h1s": "use 6h at most", "8760h": "use 6h at most",
		"0s": "is not a duration of a minute or more", "soon": "is not a duration of a minute or more"} {
		env := Environment{Capacity: Capacity{ValidFor: validFor}}
		env.Network.Zones = []string{"us-west-2a", "us-west-2b"}
		found := strings.Join(env.WithDefaults("dev").Validate().Items(), "\n")
		if strings.Contains(found, "capacity.validFor: ") != (says != "") || !strings.Contains(found, says) {
			t.Errorf("%s: found %q, want %q", validFor, found, says)
		}
	}
}
