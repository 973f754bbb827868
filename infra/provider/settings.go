// Package provider is what the stack file says of the AWS provider: the settings `aws:…`.
//
// It owns which settings there are, what each may be, and what they say of who asks: the provider's arguments for AWS,
// and the arguments and environment of the command that gets a token for Kubernetes, so that one identity asks both. It
// owns no credentials: it hands on what it is given, and what is secret stays so.
package provider

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/headroom-eks/headroom/infra/config"
	"github.com/headroom-eks/headroom/problem"
)

// Settings are the arguments of the pinned provider, under the names of its ProviderArgs; a test compares both. An
// empty value was not given.
type Settings struct {
	AccessKey                      string                     `json:"accessKey"`
	AllowedAccountIds              []string                   `json:"allowedAccountIds"`
	AssumeRole                     *AssumeRole                `json:"assumeRole"`
	AssumeRoleWithWebIdentity      *AssumeRoleWithWebIdentity `json:"assumeRoleWithWebIdentity"`
	CustomCaBundle                 string                     `json:"customCaBundle"`
	DefaultTags                    *DefaultTags               `json:"defaultTags"`
	Ec2MetadataServiceEndpoint     string                     `json:"ec2MetadataServiceEndpoint"`
	Ec2MetadataServiceEndpointMode string                     `json:"ec2MetadataServiceEndpointMode"`
	Endpoints                      []map[string]string        `json:"endpoints"`
	ForbiddenAccountIds            []string                   `json:"forbiddenAccountIds"`
	HttpProxy                      string                     `json:"httpProxy"`
	HttpsProxy                     string                     `json:"httpsProxy"`
	IgnoreTags                     *IgnoreTags                `json:"ignoreTags"`
	Insecure                       *bool                      `json:"insecure"`
	MaxRetries                     *int                       `json:"maxRetries"`
	NoProxy                        string                     `json:"noProxy"`
	Profile                        string                     `json:"profile"`
	Region                         string                     `json:"region"`
	RetryMode                      string                     `json:"retryMode"`
	S3UsEast1RegionalEndpoint      string                     `json:"s3UsEast1RegionalEndpoint"`
	S3UsePathStyle                 *bool                      `json:"s3UsePathStyle"`
	SecretKey                      string                     `json:"secretKey"`
	SharedConfigFiles              []string                   `json:"sharedConfigFiles"`
	SharedCredentialsFiles         []string                   `json:"sharedCredentialsFiles"`
	SkipCredentialsValidation      *bool                      `json:"skipCredentialsValidation"`
	SkipMetadataApiCheck           *bool                      `json:"skipMetadataApiCheck"`
	SkipRegionValidation           *bool                      `json:"skipRegionValidation"`
	SkipRequestingAccountId        *bool                      `json:"skipRequestingAccountId"`
	StsRegion                      string                     `json:"stsRegion"`
	Token                          string                     `json:"token"`
	TokenBucketRateLimiterCapacity *int                       `json:"tokenBucketRateLimiterCapacity"`
	UseDualstackEndpoint           *bool                      `json:"useDualstackEndpoint"`
	UseFipsEndpoint                *bool                      `json:"useFipsEndpoint"`

	// secret are the names of the settings that the stack file keeps encrypted.
	secret []string
}

// AssumeRole is a role to ask as. What the aws command cannot say of it when it gets a token is refused.
type AssumeRole struct {
	RoleArn           string            `json:"roleArn"`
	Duration          string            `json:"duration,omitempty"`
	ExternalID        string            `json:"externalId,omitempty"`
	Policy            string            `json:"policy,omitempty"`
	PolicyArns        []string          `json:"policyArns,omitempty"`
	SessionName       string            `json:"sessionName,omitempty"`
	SourceIdentity    string            `json:"sourceIdentity,omitempty"`
	Tags              map[string]string `json:"tags,omitempty"`
	TransitiveTagKeys []string          `json:"transitiveTagKeys,omitempty"`
}

// AssumeRoleWithWebIdentity is a role to ask as with the token of an OIDC provider.
type AssumeRoleWithWebIdentity struct {
	RoleArn              string   `json:"roleArn"`
	Duration             string   `json:"duration,omitempty"`
	Policy               string   `json:"policy,omitempty"`
	PolicyArns           []string `json:"policyArns,omitempty"`
	SessionName          string   `json:"sessionName,omitempty"`
	WebIdentityToken     string   `json:"webIdentityToken,omitempty"`
	WebIdentityTokenFile string   `json:"webIdentityTokenFile,omitempty"`
}

// DefaultTags are merged into the environment's own, so that they reach what no provider tags: nodes and their disks.
type DefaultTags struct {
	Tags map[string]string `json:"tags,omitempty"`
}

// IgnoreTags are keys of tags that others set, which the provider then leaves alone.
type IgnoreTags struct {
	KeyPrefixes []string `json:"keyPrefixes,omitempty"`
	Keys        []string `json:"keys,omitempty"`
}

// Prefix of the settings in a stack file.
const Prefix = "aws:"

// Read takes the settings from the configuration of a stack, whose other keys it leaves alone. Secret says which keys
// the stack file keeps encrypted. All that is wrong comes at once, with the settings as far as they could be read.
func Read(stack map[string]string, secret func(key string) bool) (s Settings, problems problem.List) {
	fields := map[string]reflect.Value{}
	v := reflect.ValueOf(&s).Elem()
	for i := range v.NumField() {
		if name := v.Type().Field(i).Tag.Get("json"); name != "" {
			fields[name] = v.Field(i)
		}
	}
	var unread config.Unread
	for _, key := range sorted(stack) {
		name, ours := strings.CutPrefix(key, Prefix)
		field, known := fields[name]
		switch {
		case !ours:
		case !known:
			problems.Add(key, "is not a setting of the aws provider that this program is built with", nil,
				remedyOf(name))
		default:
			missing, wrong := set(field, key, stack[key])
			unread, problems = append(unread, missing...), joined(problems, wrong)
			if secret(key) {
				s.secret = append(s.secret, name)
			}
		}
	}
	return s, joined(problems, unread.Without(s.validate()))
}

// set reads one setting into its field: text as it stands, everything else as JSON, which is how Pulumi hands on what
// is no text.
func set(field reflect.Value, key, text string) (unread config.Unread, problems problem.List) {
	kind := field.Type()
	if kind.Kind() == reflect.Pointer {
		kind = kind.Elem()
	}
	switch kind.Kind() {
	case reflect.String:
		if strings.HasPrefix(text, "{") || strings.HasPrefix(text, "[") {
			problems.Add(key, "is an object or a list", nil, "write text")
			return config.Unread{key}, problems
		}
		field.SetString(text)
		return nil, problems
	case reflect.Bool:
		if text != "true" && text != "false" {
			problems.Add(key, "is neither true nor false", text, "write one of them")
			return config.Unread{key}, problems
		}
	case reflect.Int:
		if _, err := strconv.Atoi(text); err != nil {
			problems.Add(key, "is not a whole number", text, "write one, without quotes")
			return config.Unread{key}, problems
		}
	case reflect.Slice:
		text = numbersAsText(text)
	}
	return config.DecodeStrict(key, text, field.Addr().Interface())
}

// numbersAsText turns the numbers of a list into text: `pulumi config set --path aws:allowedAccountIds[0] 123456789012`
// stores a number.
func numbersAsText(text string) string {
	var list []any
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.UseNumber()
	if decoder.Decode(&list) != nil {
		return text // which DecodeStrict reports
	}
	for i, item := range list {
		if number, is := item.(json.Number); is {
			list[i] = number.String()
		}
	}
	changed, err := json.Marshal(list)
	if err != nil {
		return text
	}
	return string(changed)
}

// isSecret says that the stack file keeps the setting encrypted.
func (s Settings) isSecret(name string) bool { return slices.Contains(s.secret, name) }

func joined(a, b problem.List) problem.List {
	a.Join(b)
	return a
}

const profileRemedy = "make a profile in the AWS configuration file that does it (role_arn, source_profile, " +
	"external_id, " +
	"role_session_name, or credential_process for anything else), and set aws:profile"

// remedyOf a setting that the pinned provider has not.
func remedyOf(name string) string {
	if name == "assumeRoles" { // of later versions: one role after another
		return profileRemedy
	}
	return "remove it; docs/configuration.md lists the settings"
}

// Guarded says that the settings name accounts.
func (s Settings) Guarded() bool { return len(s.AllowedAccountIds)+len(s.ForbiddenAccountIds) > 0 }

// WithoutGuard are the same settings for a provider that answers in any account.
func (s Settings) WithoutGuard() Settings {
	s.AllowedAccountIds, s.ForbiddenAccountIds = nil, nil
	return s
}

// Account checks whose account this is against the settings that guard it.
func (s Settings) Account(id string) (problems problem.List) {
	if len(s.AllowedAccountIds) > 0 && !slices.Contains(s.AllowedAccountIds, id) {
		problems.Add("aws:allowedAccountIds", fmt.Sprintf("is %v, and the credentials are of another account",
			s.AllowedAccountIds), id, accountRemedy)
	}
	if slices.Contains(s.ForbiddenAccountIds, id) {
		problems.Add("aws:forbiddenAccountIds", "names the account of the credentials", id, accountRemedy)
	}
	return problems
}

const accountRemedy = "use the credentials, profile or stack that belong together"
