package aws

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Actions are API actions, as IAM names them, with a space between.
type Actions string

// List is the actions one by one.
func (a Actions) List() []string { return strings.Fields(string(a)) }

// Permission is what the caller needs for one resource type, or for one question: a question only reads.
//
// Where the provider makes a call under a condition (a tag, an alias, a limit that is reached), the call is in the
// list.
type Permission struct {
	Read                   Actions
	Create, Update, Delete Actions // beside Read: the provider reads before and after it writes
	// Source is where the actions were read; a Permission without one is a belief.
	Source string
}

// Writes are the actions of creations, updates and deletions together.
func (p Permission) Writes() []string {
	return slices.Concat(p.Create.List(), p.Update.List(), p.Delete.List())
}

// PermissionOf a resource type or a question, by its Pulumi token.
func PermissionOf(token string) (Permission, error) {
	p, known := permissions[token]
	if !known {
		return p, fmt.Errorf("%s: has no row in sandbox/aws; add one to permissions_*.go, with its source", token)
	}
	return p, nil
}

// Beliefs are the tokens of rows without a source.
func Beliefs() (tokens []string) {
	for token, p := range permissions {
		if p.Source == "" && cmp.Or(p.Read, p.Create) != "" {
			tokens = append(tokens, token)
		}
	}
	slices.Sort(tokens)
	return tokens
}

const (
	// Files of the provider that Pulumi's wraps, whose calls were read.
	upstream = "https://github.com/hashicorp/terraform-provider-aws/blob/main/internal/service/"
	// CloudFormation's registry, field handlers: what a service checks of its caller beside the call itself is there
	// alone.
	registry = "https://github.com/pulumi/pulumi-aws-native/blob/master/aws-cloudformation-schema/"
)

// permissions by token. A resource type's row in table and a question's answer ask here.
var permissions = func() map[string]Permission {
	all := maps.Clone(questionPermissions)
	maps.Copy(all, resourcePermissions)
	return all
}()
