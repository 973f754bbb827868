package aws

import (
	"testing"

	"github.com/headroom-eks/headroom/sandbox/world"
)

// Outside finding 9 of the second trial: the sandbox took any account.
func TestTheProviderRefusesAnAccountThatItsSettingsForbid(t *testing.T) {
	a := newAccount(t)
	for _, c := range []struct {
		settings obj
		refused  bool
	}{
		{obj{"allowedAccountIds": `["123456789012"]`}, false},
		{obj{"allowedAccountIds": []any{"111122223333"}}, true},
		{obj{"forbiddenAccountIds": `["123456789012"]`}, true},
	} {
		err := a.b.Configure(toProperties(c.settings))
		if (err != nil) != c.refused {
			t.Errorf("%v: %v", c.settings, err)
		}
		if err != nil {
			wantError(t, err, "AWS account ID not allowed: 123456789012")
		}
	}
}

func TestTheAccountKnowsWhoAsks(t *testing.T) {
	a := newAccount(t)
	for _, c := range []struct {
		settings obj
		want     string
	}{
		{obj{"profile": "deploy", "assumeRole": `{"roleArn":"arn:r"}`}, "profile deploy, role arn:r"},
		{obj{"assumeRoleWithWebIdentity": obj{"roleArn": "arn:w"}}, "web identity arn:w"},
		{obj{}, ""},
	} {
		if err := a.b.Configure(toProperties(c.settings)); err != nil {
			t.Fatal(err)
		}
		if err := a.b.view(func(s *world.State) error {
			if s.Caller != c.want {
				t.Errorf("%v: %q asks", c.settings, s.Caller)
			}
			return nil
		}); err != nil {
			t.Error(err)
		}
	}
}
