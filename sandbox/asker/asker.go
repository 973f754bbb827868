// Package asker is who asks, in one form for the two doubles that are asked: AWS by the settings of its provider,
// and Kubernetes by the command in a kubeconfig.
//
// It owns that form. Which identity may do what is the doubles' business.
package asker

import (
	"encoding/json"
	"slices"
	"strings"
)

// Of is the identity with these parts; an empty part is that of the person who runs the command.
func Of(profile, accessKey, role, webRole string) string {
	var parts []string
	for _, part := range []struct{ name, value string }{
		{"profile", profile}, {"access key", accessKey}, {"web identity", webRole}, {"role", role},
	} {
		if part.value != "" {
			parts = append(parts, part.name+" "+part.value)
		}
	}
	return strings.Join(parts, ", ")
}

// OfProvider is who asks by the settings of the AWS provider, in which objects are JSON text.
func OfProvider(text func(key string) string) string {
	role := func(key string) string {
		var object struct{ RoleArn string }
		if json.Unmarshal([]byte(text(key)), &object) != nil {
			return "" // not set
		}
		return object.RoleArn
	}
	return Of(text("profile"), text("accessKey"), role("assumeRole"), role("assumeRoleWithWebIdentity"))
}

// OfCommand is who asks by `aws eks get-token` with these arguments and variables.
func OfCommand(arguments []string, variables map[string]string) string {
	after := func(flag string) string {
		if i := slices.Index(arguments, flag); i >= 0 && i+1 < len(arguments) {
			return arguments[i+1]
		}
		return ""
	}
	return Of(after("--profile"), variables["AWS_ACCESS_KEY_ID"], after("--role-arn"), variables["AWS_ROLE_ARN"])
}
