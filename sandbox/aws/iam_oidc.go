package aws

import (
	"fmt"
	"slices"
	"strings"

	"github.com/headroom-eks/headroom/sandbox/world"
)

var oidcProviderRow = resourceRow{
	typ:      tOIDC,
	inputs:   []string{"clientIdLists", "thumbprintLists", "url"},
	required: []string{"clientIdLists", "url"},
	replaces: []string{"url"},
	tagged:   true,
	defaults: obj{"thumbprintLists": []any{}},
	id:       "arn:{partition}:iam::{account}:oidc-provider/{host}",
	arn:      "{id}",
	exists:   "EntityAlreadyExists: Provider with url https://{host} already exists.",
	derive:   deriveOidcProvider,
	check:    checkOidcProvider,
	onCreate: issuerWithoutScheme,
	onUpdate: issuerWithoutScheme,
}

func deriveOidcProvider(_ *world.State, in obj) (obj, error) {
	host, err := issuerHost(str(in, "url"))
	return obj{"host": host}, err
}

func checkOidcProvider(in obj, fail func(string, string)) {
	url := str(in, "url")
	if _, err := issuerHost(url); url != "" && err != nil {
		fail("url", err.Error())
	}
	if ids, ok := in["clientIdLists"].([]any); ok && len(ids) == 0 {
		fail("clientIdLists", "at least one client id is required")
	}
	if ids := texts(list(in, "clientIdLists")); len(slices.Compact(slices.Sorted(slices.Values(ids)))) < len(ids) {
		fail("clientIdLists", "InvalidInput: the same client id twice")
	}
}

// issuerWithoutScheme is how AWS gives the URL back.
func issuerWithoutScheme(c *call) error {
	host, err := issuerHost(str(c.in, "url"))
	c.set("url", host)
	return err
}

func issuerHost(url string) (string, error) {
	host, found := strings.CutPrefix(url, "https://")
	if !found || host == "" || strings.ContainsAny(host, "?# ") {
		return "", fmt.Errorf("ValidationError: %q must be an https:// URL without a query", url)
	}
	return strings.TrimSuffix(host, "/"), nil
}
