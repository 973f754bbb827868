package provider

import (
	"maps"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/pulumi/pulumi-aws/sdk/v6/go/aws"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
)

const role = "arn:aws:iam::111122223333:role/deploy"

// every setting, as the engine hands it to a program.
var every = map[string]string{
	"accessKey":                      "AKIAEXAMPLE",
	"allowedAccountIds":              `["111122223333"]`,
	"assumeRole":                     `{"roleArn": "` + role + `", "duration": "1h"}`,
	"assumeRoleWithWebIdentity":      `{"roleArn": "` + role + `", "webIdentityTokenFile": "/token"}`,
	"customCaBundle":                 "/ca.pem",
	"defaultTags":                    `{"tags": {"team": "ml"}}`,
	"ec2MetadataServiceEndpoint":     "http://metadata.example",
	"ec2MetadataServiceEndpointMode": "IPv4",
	"endpoints":                      `[{"eks": "https://eks.example", "sts": "https://sts.example"}]`,
	"forbiddenAccountIds":            `["444455556666"]`,
	"httpProxy":                      "http://proxy.example",
	"httpsProxy":                     "http://proxy.example",
	"ignoreTags":                     `{"keys": ["costs"], "keyPrefixes": ["scanner/"]}`,
	"insecure":                       "false",
	"maxRetries":                     "5",
	"noProxy":                        "example",
	"profile":                        "deploy",
	"region":                         "us-west-2",
	"retryMode":                      "standard",
	"s3UsEast1RegionalEndpoint":      "regional",
	"s3UsePathStyle":                 "true",
	"secretKey":                      "wJalr",
	"sharedConfigFiles":              `["/config"]`,
	"sharedCredentialsFiles":         `["/credentials"]`,
	"skipCredentialsValidation":      "true",
	"skipMetadataApiCheck":           "true",
	"skipRegionValidation":           "false",
	"skipRequestingAccountId":        "false",
	"stsRegion":                      "us-west-2",
	"token":                          "FwoG",
	"tokenBucketRateLimiterCapacity": "500",
	"useDualstackEndpoint":           "false",
	"useFipsEndpoint":                "true",
}

// read takes settings without their prefix, beside a region; those with a secret name are secret.
func read(settings map[string]string, secret ...string) (Settings, []string) {
	stack := map[string]string{"aws:region": "us-west-2"}
	for name, value := range settings {
		stack[Prefix+name] = value
	}
	s, problems := Read(stack, func(key string) bool {
		return slices.Contains(secret,
			strings.TrimPrefix(key, Prefix))
	})
	return s, problems.Items()
}

func names(of reflect.Type) (list []string) {
	for i := range of.NumField() {
		if of.Field(i).IsExported() {
			list = append(list, of.Field(i).Name)
		}
	}
	return list
}

// Outside finding 9 of the second trial: a setting that the provider takes and the program does not know would be
// ignored.
func TestSettingsAreTheArgumentsOfThePinnedProvider(t *testing.T) {
	if diff := cmp.Diff(names(reflect.TypeFor[aws.ProviderArgs]()), names(reflect.TypeFor[Settings]())); diff != "" {
		t.Error(diff)
	}
	for of, ours := range map[reflect.Type]reflect.Type{
		reflect.TypeFor[aws.ProviderAssumeRole]():                reflect.TypeFor[AssumeRole](),
		reflect.TypeFor[aws.ProviderAssumeRoleWithWebIdentity](): reflect.TypeFor[AssumeRoleWithWebIdentity](),
		reflect.TypeFor[aws.ProviderDefaultTags]():               reflect.TypeFor[DefaultTags](),
		reflect.TypeFor[aws.ProviderIgnoreTags]():                reflect.TypeFor[IgnoreTags](),
	} {
		var theirs, known []string
		for i := range of.NumField() {
			theirs = append(theirs, of.Field(i).Tag.Get("pulumi"))
		}
		for i := range ours.NumField() {
			key, _, _ := strings.Cut(ours.Field(i).Tag.Get("json"), ",")
			known = append(known, key)
		}
		slices.Sort(theirs)
		slices.Sort(known)
		if diff := cmp.Diff(theirs, known); diff != "" {
			t.Errorf("%s: %s", of, diff)
		}
	}
}

// Default tags are the one exception: the program merges them into its own.
func TestEverySettingReachesTheProviderSecretOrNot(t *testing.T) {
	for _, secrets := range [][]string{nil, slices.Collect(maps.Keys(every))} {
		s, _ := read(every, secrets...)
		args := reflect.ValueOf(*s.Args())
		for i := range args.NumField() {
			name := args.Type().Field(i).Name
			if args.Field(i).IsNil() == (name != "DefaultTags") {
				t.Errorf("%s: %v", name, args.Field(i))
				continue
			}
			if _, wrapped := args.Field(i).Interface().(pulumi.Output); name != "DefaultTags" &&
				wrapped != (secrets != nil) {
				t.Errorf("%s: secret is %v", name, wrapped)
			}
		}
	}
}

// FR-05, its kind: each setting either reaches the token for Kubernetes too, or is known to have nothing to say there.
func TestEverySettingIsWeighedForTheTokenOfKubernetes(t *testing.T) {
	inArguments := []string{"assumeRole", "assumeRoleWithWebIdentity", "profile"}
	weighed := slices.Concat(inArguments, withoutToken, sorted(variables))
	slices.Sort(weighed)
	if diff := cmp.Diff(sorted(every), weighed); diff != "" {
		t.Error(diff)
	}
	for name := range every {
		s, _ := read(map[string]string{name: every[name]})
		caller := s.Caller()
		reaches := len(caller.Arguments)+len(caller.Environment) > 0
		if reaches == slices.Contains(withoutToken, name) {
			t.Errorf("%s: arguments %v, environment %v", name, caller.Arguments, caller.Environment)
		}
	}
}

// FR-05.
func TestWhoAsksAWSAsksKubernetes(t *testing.T) {
	for name, c := range map[string]struct {
		settings    map[string]string
		secret      []string
		arguments   []string
		environment map[string]string
		isSecret    bool
	}{
		"nobody named": {environment: map[string]string{}},
		"a profile": {
			settings:    map[string]string{"profile": "deploy"},
			arguments:   []string{"--profile", "deploy"},
			environment: map[string]string{},
		},
		"a role of a profile": {
			settings:    map[string]string{"profile": "deploy", "assumeRole": every["assumeRole"]},
			arguments:   []string{"--profile", "deploy", "--role-arn", role},
			environment: map[string]string{},
		},
		"keys": {
			settings:  map[string]string{"accessKey": "AKIA", "secretKey": "wJalr"},
			secret:    []string{"secretKey"},
			arguments: nil,
			environment: map[string]string{"AWS_ACCESS_KEY_ID": "AKIA", "AWS_SECRET_ACCESS_KEY": "wJalr",
				"AWS_SESSION_TOKEN": ""},
			isSecret: true,
		},
		"a web identity": {
			settings: map[string]string{"assumeRoleWithWebIdentity": every["assumeRoleWithWebIdentity"]},
			environment: map[string]string{"AWS_ROLE_ARN": role, "AWS_WEB_IDENTITY_TOKEN_FILE": "/token",
				"AWS_ROLE_SESSION_NAME": "", "AWS_ACCESS_KEY_ID": ""},
		},
		"no instance role": {
			settings:    map[string]string{"skipMetadataApiCheck": "true"},
			environment: map[string]string{"AWS_EC2_METADATA_DISABLED": "true"},
		},
	} {
		s, problems := read(c.settings, c.secret...)
		if len(problems) > 0 {
			t.Errorf("%s: %q", name, problems)
		}
		got := s.Caller()
		if diff := cmp.Diff(c.arguments, got.Arguments); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		if diff := cmp.Diff(c.environment, got.Environment); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		if got.Secret != c.isSecret {
			t.Errorf("%s: secret is %v", name, got.Secret)
		}
	}
}

// Each row is one setting, or a pair, that is refused, and how the complaint begins.
var refused = map[string]struct {
	settings map[string]string
	want     string
}{
	"no such setting":     {map[string]string{"profil": "x"}, "aws:profil: is not a setting of the aws provider"},
	"of a later provider": {map[string]string{"assumeRoles": "[]"}, "aws:assumeRoles: is not a setting"},
	"an object for text": {map[string]string{"profile": `{"a": 1}`}, "aws:profile: is an object or a list; write " +
		"text"},
	"no flag": {map[string]string{"insecure": "yes"},
		`aws:insecure: is neither true nor false (found "yes")`},
	"no number": {map[string]string{"maxRetries": "many"},
		`aws:maxRetries: is not a whole number (found "many")`},
	"text for a list": {map[string]string{"allowedAccountIds": "1"},
		`aws:allowedAccountIds: is the number 1; write a list`},
	"text for an object": {map[string]string{"assumeRole": role}, "aws:assumeRole: is not JSON"},
	"no id": {map[string]string{"allowedAccountIds": `["1"]`}, "aws:allowedAccountIds[0]: is not an " +
		"account's id"},
	"unknown key inside": {map[string]string{"ignoreTags": `{"key": []}`}, "aws:ignoreTags.key: is not a known key"},
	"no role":            {map[string]string{"assumeRole": `{}`}, "aws:assumeRole.roleArn: is required"},
	"no ARN": {map[string]string{"assumeRole": `{"roleArn": "deploy"}`},
		"aws:assumeRole.roleArn: is not the ARN"},
	"no service": {map[string]string{"endpoints": `[{"k8s": "x"}]`},
		`aws:endpoints[0]["k8s"]: is not a service`},
	"several files": {map[string]string{"sharedConfigFiles": `["a", "b"]`},
		"aws:sharedConfigFiles: are several"},
	"half a key":            {map[string]string{"accessKey": "AKIA"}, "aws:accessKey: goes with aws:secretKey"},
	"a readable secret key": {map[string]string{"accessKey": "a", "secretKey": "b"}, "aws:secretKey: stands readable"},
	"a readable token":      {map[string]string{"token": "b"}, "aws:token: stands readable in the stack file"},
	"two sources": {map[string]string{"profile": "a", "accessKey": "b", "secretKey": "c"},
		"aws:profile: is not the only source of credentials (found [aws:profile, aws:accessKey])"},
	"a token in the stack file": {map[string]string{"assumeRoleWithWebIdentity": `{"roleArn": "` + role +
		`", "webIdentityToken": "ey"}`}, "aws:assumeRoleWithWebIdentity.webIdentityTokenFile: is the only way"},
}

func TestSettingsThatWouldBeIgnoredOrRefusedLaterAreRefused(t *testing.T) {
	for name, c := range refused {
		_, problems := read(c.settings)
		if !slices.ContainsFunc(problems, func(p string) bool { return strings.HasPrefix(p, c.want) }) {
			t.Errorf("%s: no problem begins with %s: %q", name, c.want, problems)
		}
	}
}

// What the aws command cannot say of a role is refused with the way that both can go.
func TestWhatCannotReachTheTokenIsRefusedWithAProfileForRemedy(t *testing.T) {
	for key, value := range map[string]string{
		"externalId": `"x"`, "policy": `"{}"`, "policyArns": `["x"]`, "sessionName": `"x"`, "sourceIdentity": `"x"`,
		"tags": `{"a": "b"}`, "transitiveTagKeys": `["a"]`,
	} {
		_, problems := read(map[string]string{"assumeRole": `{"roleArn": "` + role + `", "` + key + `": ` + value +
			`}`})
		if len(problems) != 1 || !strings.HasPrefix(problems[0], "aws:assumeRole."+key+": cannot reach the token") ||
			!strings.HasSuffix(problems[0], "set aws:profile") {
			t.Errorf("%s: %q", key, problems)
		}
	}
}

func TestAllSettingsTogetherAreJudgedInOneMessage(t *testing.T) {
	_, problems := read(map[string]string{"profil": "x", "insecure": "yes", "allowedAccountIds": `[1]`})
	if len(problems) != 3 {
		t.Errorf("want 3 problems, found %q", problems)
	}
}

// `pulumi config set --path aws:allowedAccountIds[0] 111122223333` stores a number.
func TestAnAccountMayBeWrittenAsANumber(t *testing.T) {
	s, problems := read(map[string]string{"allowedAccountIds": `[111122223333]`})
	if len(problems) > 0 || !slices.Equal(s.AllowedAccountIds, []string{"111122223333"}) {
		t.Errorf("%v, problems %q", s.AllowedAccountIds, problems)
	}
}

// Outside finding 9 of the second trial: nothing kept prod from being updated in the wrong account.
func TestTheAccountGuardNamesBothAccounts(t *testing.T) {
	s, _ := read(map[string]string{"allowedAccountIds": `["111122223333"]`, "forbiddenAccountIds": `["444455556666"]`})
	for id, want := range map[string][]string{
		"111122223333": nil,
		"777788889999": {`aws:allowedAccountIds: is [111122223333], and the credentials are of another account ` +
			`(found "777788889999"); ` + accountRemedy},
		"444455556666": {`aws:allowedAccountIds: is [111122223333], and the credentials are of another account ` +
			`(found "444455556666"); ` + accountRemedy,
			`aws:forbiddenAccountIds: names the account of the credentials (found "444455556666"); ` + accountRemedy},
	} {
		if diff := cmp.Diff(want, s.Account(id).Items()); diff != "" {
			t.Errorf("%s: %s", id, diff)
		}
	}
}

// Outside finding 9: an ignored mark would be set by nobody, and its pool's nodes would count for none.
func TestIgnoringATagThatTheProgramSetsIsRefused(t *testing.T) {
	for ignored, hides := range map[string]bool{
		`{"keys": ["headroom/pool"]}`:                            true,
		`{"keys": ["k8s.io/cluster-autoscaler/enabled"]}`:        true,
		`{"keys": ["team"]}`:                                     true,
		`{"keyPrefixes": ["head"]}`:                              true,
		`{"keyPrefixes": [""]}`:                                  true,
		`{"keyPrefixes": ["k8s.io/cluster-autoscaler/node-te"]}`: true,
		`{"keys": ["headroom"], "keyPrefixes": ["scanner/"]}`:    false,
	} {
		s, problems := read(map[string]string{"ignoreTags": ignored})
		if len(problems) > 0 {
			t.Fatal(problems)
		}
		found := s.CheckTags(map[string]string{"team": "ml"})
		if (found.Err() != nil) != hides {
			t.Errorf("%s: %q", ignored, found.Items())
		}
	}
}

func TestDefaultTagsGiveWayToTheEnvironments(t *testing.T) {
	s, _ := read(map[string]string{"defaultTags": `{"tags": {"team": "ml", "cost": "1"}}`})
	want := map[string]string{"team": "vision", "cost": "1"}
	if diff := cmp.Diff(want, s.MergedTags(map[string]string{"team": "vision"})); diff != "" {
		t.Error(diff)
	}
	s, _ = read(nil)
	if got := s.MergedTags(nil); got != nil {
		t.Errorf("without any: %v", got)
	}
}

func FuzzNoSettingPanics(f *testing.F) {
	for name, value := range every {
		f.Add(name, value)
	}
	f.Fuzz(func(_ *testing.T, name, value string) {
		if s, problems := read(map[string]string{name: value}); len(problems) == 0 {
			s.Args()
			s.Caller()
			s.CheckTags(s.MergedTags(nil))
		}
	})
}

func TestEverySettingIsInTheGuide(t *testing.T) {
	guide, err := os.ReadFile("../../docs/configuration.md")
	if err != nil {
		t.Fatal(err)
	}
	for name := range every {
		if !strings.Contains(string(guide), "`aws:"+name+"`") {
			t.Errorf("docs/configuration.md does not name aws:%s", name)
		}
	}
}
