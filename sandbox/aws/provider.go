package aws

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/headroom-eks/headroom/sandbox/asker"
	"github.com/headroom-eks/headroom/sandbox/world"
)

// admit refuses an account that the settings forbid, before the provider answers anything, and keeps who asks.
// https://github.com/hashicorp/terraform-provider-aws/blob/main/internal/conns/config.go
func (b *Backend) admit(settings obj) error {
	caller := asker.OfProvider(func(key string) string { return settingText(settings, key) })
	var account, before string
	if err := b.view(func(s *world.State) error { account, before = s.Account, s.Caller; return nil }); err != nil {
		return err
	}
	allowed, forbidden := settingList(settings, "allowedAccountIds"), settingList(settings, "forbiddenAccountIds")
	if len(allowed) > 0 && !slices.Contains(allowed, account) || slices.Contains(forbidden, account) {
		return fmt.Errorf("AWS account ID not allowed: %s", account)
	}
	if caller == before {
		return nil
	}
	return b.update(func(s *world.State) error { s.Caller = caller; return nil })
}

// settingText is a setting as JSON text, which is how the engine hands on what is no text itself.
func settingText(settings obj, key string) string {
	switch value := settings[key].(type) {
	case nil:
		return ""
	case string:
		return value
	default:
		text, err := json.Marshal(value)
		if err != nil {
			return ""
		}
		return string(text)
	}
}

func settingList(settings obj, key string) (list []string) {
	if json.Unmarshal([]byte(settingText(settings, key)), &list) != nil {
		return nil // not set, or no list, which the real provider refuses
	}
	return list
}
