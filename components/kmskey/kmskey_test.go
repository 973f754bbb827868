package kmskey_test

import (
	"testing"

	"github.com/headroom-eks/headroom/components/kmskey"
)

func TestOnlyTheArnOfAKeyIsTaken(t *testing.T) {
	for arn, fine := range map[string]bool{
		"arn:aws:kms:us-west-2:123456789012:key/1234abcd-12ab-34cd-56ef-1234567890ab":            true,
		"arn:aws-us-gov:kms:us-gov-west-1:123456789012:key/mrk-1234abcd12ab34cd56ef1234567890ab": true,
		"arn:aws:kms:us-west-2:123456789012:alias/secrets":                                       false,
		"1234abcd-12ab-34cd-56ef-1234567890ab":                                                   false,
		"":                                                                                       false,
	} {
		if err := kmskey.ValidateArn("key", arn).Err(); (err == nil) != fine {
			t.Errorf("%q: %v", arn, err)
		}
	}
}
