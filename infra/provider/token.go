package provider

import (
	"reflect"
	"strconv"

	"github.com/headroom-eks/headroom/components/cluster"
)

// variables of the aws command for the settings that decide whose credentials are found, or how a role is reached.
// https://docs.aws.amazon.com/cli/latest/userguide/cli-configure-envvars.html
var variables = map[string]string{
	"accessKey":                      "AWS_ACCESS_KEY_ID",
	"customCaBundle":                 "AWS_CA_BUNDLE",
	"ec2MetadataServiceEndpoint":     "AWS_EC2_METADATA_SERVICE_ENDPOINT",
	"ec2MetadataServiceEndpointMode": "AWS_EC2_METADATA_SERVICE_ENDPOINT_MODE",
	"httpProxy":                      "HTTP_PROXY",
	"httpsProxy":                     "HTTPS_PROXY",
	"noProxy":                        "NO_PROXY",
	"secretKey":                      "AWS_SECRET_ACCESS_KEY",
	"sharedConfigFiles":              "AWS_CONFIG_FILE",
	"sharedCredentialsFiles":         "AWS_SHARED_CREDENTIALS_FILE",
	"skipMetadataApiCheck":           "AWS_EC2_METADATA_DISABLED",
	"token":                          "AWS_SESSION_TOKEN",
}

// withoutToken are the settings about which the token for Kubernetes has nothing to say: they decide what the provider
// does once it is known who asks.
var withoutToken = []string{
	"allowedAccountIds", "defaultTags", "endpoints", "forbiddenAccountIds", "ignoreTags", "insecure", "maxRetries",
	"region", "retryMode", "s3UsEast1RegionalEndpoint", "s3UsePathStyle", "skipCredentialsValidation",
	"skipRegionValidation", "skipRequestingAccountId", "stsRegion", "tokenBucketRateLimiterCapacity",
	"useDualstackEndpoint", "useFipsEndpoint",
}

// Caller is who asks AWS, for the command that gets the token for Kubernetes. It follows from the stack file alone, so
// that it is the same for everybody who updates the stack.
func (s Settings) Caller() cluster.Caller {
	c := cluster.Caller{Environment: map[string]string{}}
	v := reflect.ValueOf(s)
	for i := range v.NumField() {
		name := v.Type().Field(i).Tag.Get("json")
		variable, known := variables[name]
		if !known {
			continue
		}
		if value := text(v.Field(i)); value != "" {
			c.Environment[variable] = value
			c.Secret = c.Secret || s.isSecret(name)
		}
	}
	// As an argument, and not as AWS_PROFILE: only so it goes before keys in the environment, as it does in the
	// provider. https://github.com/boto/botocore/blob/develop/botocore/credentials.py create_credential_resolver
	// https://github.com/aws/aws-sdk-go-v2/blob/main/config/resolve_credentials.go resolveCredentialChain
	if s.Profile != "" {
		c.Arguments = append(c.Arguments, "--profile", s.Profile)
		c.Secret = c.Secret || s.isSecret("profile")
	}
	if r := s.AssumeRole; r != nil {
		c.Arguments = append(c.Arguments, "--role-arn", r.RoleArn)
		c.Secret = c.Secret || s.isSecret("assumeRole")
	}
	if r := s.AssumeRoleWithWebIdentity; r != nil {
		c.Environment["AWS_ROLE_ARN"] = r.RoleArn
		c.Environment["AWS_WEB_IDENTITY_TOKEN_FILE"] = r.WebIdentityTokenFile
		c.Environment["AWS_ROLE_SESSION_NAME"] = r.SessionName
		c.Environment["AWS_ACCESS_KEY_ID"] = "" // keys in the environment would go before the role
		c.Secret = c.Secret || s.isSecret("assumeRoleWithWebIdentity")
	}
	if s.AccessKey != "" && s.Token == "" {
		c.Environment["AWS_SESSION_TOKEN"] = "" // one in the environment belongs to other keys
	}
	return c
}

// text of a setting as a variable holds it; empty when it was not given, or has no such form.
func text(v reflect.Value) string {
	switch value := v.Interface().(type) {
	case string:
		return value
	case *bool:
		if value != nil {
			return strconv.FormatBool(*value)
		}
	case []string:
		if len(value) == 1 {
			return value[0]
		}
	}
	return ""
}
