package aws

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/headroom-eks/headroom/sandbox/world"
)

const tKey = "aws:kms/key:Key"

func init() {
	register(tKey, row{
		create: "kms:CreateKey",
		read:   "kms:DescribeKey kms:GetKeyPolicy",
		update: "kms:PutKeyPolicy kms:UpdateKeyDescription",
		delete: "kms:ScheduleKeyDeletion",
		inputs: "bypassPolicyLockoutSafetyCheck customerMasterKeySpec deletionWindowInDays description " +
			"enableKeyRotation isEnabled keyUsage multiRegion policy rotationPeriodInDays",
		replaces: "customerMasterKeySpec keyUsage multiRegion",
		json:     "policy",
		tagged:   true,
		enums:    map[string]string{"keyUsage": "ENCRYPT_DECRYPT SIGN_VERIFY GENERATE_VERIFY_MAC KEY_AGREEMENT"},
		ranges:   map[string][2]int{"deletionWindowInDays": {7, 30}, "rotationPeriodInDays": {90, 2560}},
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
		onCreate: func(c *call) error {
			if !has(c.in, "policy") {
				c.set("policy",
					fmt.Sprintf(
						`{"Version":"2012-10-17","Statement":[{"Sid":"Enable IAM User Permissions","Effect":"Allow","Principal":{"AWS":"arn:%s:iam::%s:root"},"Action":"kms:*","Resource":"*"}]}`, c.s.Partition, c.s.Account))
			}
			return checkKeyPolicy(c)
		},
		onUpdate: func(c *call) error {
			if !has(c.in, "policy") {
				c.set("policy", c.res.Outputs["policy"])
			}
			return checkKeyPolicy(c)
		},
	})
	register("aws:kms/alias:Alias", row{
		create:   "kms:CreateAlias",
		read:     "kms:ListAliases",
		update:   "kms:UpdateAlias",
		delete:   "kms:DeleteAlias",
		inputs:   "name namePrefix targetKeyId",
		required: "targetKeyId",
		replaces: "name namePrefix",
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
		refs: []ref{
			{
				path:   "targetKeyId",
				typ:    tKey,
				onGone: cascades,
			}, {path: "targetKeyId", typ: tKey, by: "arn", onGone: cascades},
		},
		check: func(in obj, fail func(string, string)) {
			if strings.HasPrefix(str(in, "name"), "alias/aws/") {
				fail("name", "the name must not begin with alias/aws/, which is reserved for AWS managed keys")
			}
		},
		onCreate: aliasTarget,
		onUpdate: aliasTarget,
	})
	register("aws:kms/keyPolicy:KeyPolicy", row{
		create:   "kms:PutKeyPolicy",
		read:     "kms:GetKeyPolicy",
		update:   "kms:PutKeyPolicy",
		delete:   "kms:PutKeyPolicy",
		inputs:   "bypassPolicyLockoutSafetyCheck keyId policy",
		required: "keyId policy",
		replaces: "keyId",
		json:     "policy",
		id:       "{keyId}",
		upsert:   true,
		refs: []ref{{
			path:   "keyId",
			typ:    tKey,
			gone:   "NotFoundException: Key '{value}' does not exist",
			onGone: cascades,
		}},
		onCreate: putKeyPolicy,
		onUpdate: putKeyPolicy,
	})
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
		callerPrincipal(c.s)}
	safe := truth(c.in, "bypassPolicyLockoutSafetyCheck") || slices.ContainsFunc(statements, func(st statement) bool {
		return st.effect == "Allow" && len(st.condition) == 0 &&
			slices.ContainsFunc(st.principals["AWS"], func(p string) bool { return slices.Contains(admins, p) }) &&
			slices.ContainsFunc(st.actions, func(a string) bool {
				return member("kms:* * kms:Put* kms:PutKeyPolicy",
					a)
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

// usableBy tells whether the key's policy lets a service use it.
func usableBy(key *world.Resource, partition, action string, services ...string) bool {
	statements, err := parsePolicy(str(key.Outputs, "policy"), resourcePolicy, partition)
	return err == nil && slices.ContainsFunc(statements, func(st statement) bool {
		return slices.ContainsFunc(services, func(service string) bool { return st.allowsService(service, action) })
	})
}
