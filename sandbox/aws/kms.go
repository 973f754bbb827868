package aws

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/headroom-eks/headroom/sandbox/world"
)

const tKey = "aws:kms/key:Key"

var keyRow = resourceRow{
	typ: tKey,
	inputs: []string{
		"bypassPolicyLockoutSafetyCheck", "customerMasterKeySpec", "deletionWindowInDays", "description",
		"enableKeyRotation", "isEnabled", "keyUsage", "multiRegion", "policy", "rotationPeriodInDays",
	},
	replaces: []string{"customerMasterKeySpec", "keyUsage", "multiRegion"},
	json:     []string{"policy"},
	tagged:   true,
	enums: map[string][]string{
		"keyUsage": {"ENCRYPT_DECRYPT", "SIGN_VERIFY", "GENERATE_VERIFY_MAC", "KEY_AGREEMENT"},
	},
	ranges: map[string]span{
		"deletionWindowInDays": {7, 30},
		"rotationPeriodInDays": {90, 2560},
	},
	defaults: obj{
		"enableKeyRotation":              false,
		"isEnabled":                      true,
		"keyUsage":                       "ENCRYPT_DECRYPT",
		"customerMasterKeySpec":          "SYMMETRIC_DEFAULT",
		"multiRegion":                    false,
		"bypassPolicyLockoutSafetyCheck": false,
		"description":                    "",
	},
	id:       "{uuid}",
	arn:      "arn:{partition}:kms:{region}:{account}:key/{id}",
	computed: map[string]string{"keyId": "{id}"},
	check:    checkKey,
	onCreate: createKey,
	onUpdate: updateKey,
}

// defaultKeyPolicy is what KMS writes where none is given: the account decides by its own policies.
const defaultKeyPolicy = `{"Version":"2012-10-17","Statement":[{"Sid":"Enable IAM User Permissions","Effect":"Allow",` +
	`"Principal":{"AWS":"arn:%s:iam::%s:root"},"Action":"kms:*","Resource":"*"}]}`

func checkKey(in obj, fail func(string, string)) {
	if has(in, "rotationPeriodInDays") && !truth(in, "enableKeyRotation") && !isUnknown(in["enableKeyRotation"]) {
		fail("rotationPeriodInDays", "needs enableKeyRotation")
	}
}

func createKey(c *call) error {
	if !has(c.in, "policy") {
		c.set("policy", fmt.Sprintf(defaultKeyPolicy, c.s.Partition, c.s.Account))
	}
	return checkKeyPolicy(c)
}

func updateKey(c *call) error {
	if !has(c.in, "policy") {
		c.set("policy", c.res.Outputs["policy"])
	}
	return checkKeyPolicy(c)
}

var aliasRow = resourceRow{
	typ:      "aws:kms/alias:Alias",
	inputs:   []string{"name", "namePrefix", "targetKeyId"},
	required: []string{"targetKeyId"},
	replaces: []string{"name", "namePrefix"},
	name: naming{
		property: "name",
		prefix:   "namePrefix",
		auto:     true,
		begin:    "alias/",
		min:      7,
		max:      256,
		pattern:  regexp.MustCompile(`^alias/[a-zA-Z0-9/_-]+$`),
		says:     "must begin with alias/ and hold letters, digits and /_-",
	},
	id: "{name}",
	exists: "AlreadyExistsException: An alias with the name arn:{partition}:kms:{region}:{account}:{name} " +
		"already exists",
	arn: "arn:{partition}:kms:{region}:{account}:{name}",
	refs: []reference{
		{
			path:   "targetKeyId",
			typ:    tKey,
			onGone: cascades,
		}, {path: "targetKeyId", typ: tKey, by: "arn", onGone: cascades},
	},
	check:    checkAlias,
	onCreate: aliasTarget,
	onUpdate: aliasTarget,
}

func checkAlias(in obj, fail func(string, string)) {
	if strings.HasPrefix(str(in, "name"), "alias/aws/") {
		fail("name", "the name must not begin with alias/aws/, which is reserved for AWS managed keys")
	}
}

var keyPolicyRow = resourceRow{
	typ:      "aws:kms/keyPolicy:KeyPolicy",
	inputs:   []string{"bypassPolicyLockoutSafetyCheck", "keyId", "policy"},
	required: []string{"keyId", "policy"},
	replaces: []string{"keyId"},
	json:     []string{"policy"},
	id:       "{keyId}",
	upsert:   true,
	refs: []reference{{
		path:   "keyId",
		typ:    tKey,
		gone:   "NotFoundException: Key '{value}' does not exist",
		onGone: cascades,
	}},
	onCreate: putKeyPolicy,
	onUpdate: putKeyPolicy,
}

func aliasTarget(c *call) error {
	if len(c.res.Refs) == 0 {
		return fmt.Errorf("NotFoundException: Key '%s' does not exist", str(c.in, "targetKeyId"))
	}
	c.set("targetKeyArn", c.s.Resources[c.res.Refs[0]].Outputs["arn"])
	return nil
}

func putKeyPolicy(c *call) error {
	if err := checkKeyPolicy(c); err != nil {
		return err
	}
	c.s.Get(tKey, str(c.in, "keyId")).Outputs["policy"] = c.in["policy"]
	return nil
}

// checkKeyPolicy reads the document and keeps the caller from locking itself out, as KMS does.
func checkKeyPolicy(c *call) error {
	statements, err := parsePolicy(str(c.out, "policy"), resourcePolicy, c.s.Partition)
	if err != nil {
		return fmt.Errorf("MalformedPolicyDocumentException: %w", err)
	}
	if err := principalsExist(c.s, statements); err != nil {
		return err
	}
	admins := []string{fmt.Sprintf("arn:%s:iam::%s:root", c.s.Partition, c.s.Account), c.s.Account,
		c.s.CallerPrincipal()}
	safe := truth(c.in, "bypassPolicyLockoutSafetyCheck") || slices.ContainsFunc(statements, func(st statement) bool {
		return st.effect == "Allow" && len(st.condition) == 0 &&
			slices.ContainsFunc(st.principals["AWS"], func(p string) bool { return slices.Contains(admins, p) }) &&
			slices.ContainsFunc(st.actions, func(a string) bool {
				return slices.Contains([]string{"kms:*", "*", "kms:Put*", "kms:PutKeyPolicy"}, a)
			})
	})
	if !safe {
		return fmt.Errorf("MalformedPolicyDocumentException: The new key policy will not allow you to update the key " +
			"policy in the future.")
	}
	return nil
}

// keyOf returns the KMS key an ARN, id or alias names, or nil.
func keyOf(s *world.State, name string) *world.Resource {
	if r := s.Get(tKey, name); r != nil {
		return r
	}
	if r := s.Find(tKey, "arn", name); r != nil {
		return r
	}
	if alias := s.Get("aws:kms/alias:Alias", name[strings.LastIndex(name, ":")+1:]); alias != nil {
		return s.Resources[alias.Refs[0]]
	}
	return nil
}

// usableBy reports whether the key's policy lets a service use it.
func usableBy(key *world.Resource, partition, action string, services ...string) bool {
	statements, err := parsePolicy(str(key.Outputs, "policy"), resourcePolicy, partition)
	return err == nil && slices.ContainsFunc(statements, func(st statement) bool {
		return slices.ContainsFunc(services, func(service string) bool { return st.allowsService(service, action) })
	})
}
