package provider

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/headroom-eks/headroom/pool"
	"github.com/headroom-eks/headroom/problem"
)

func sorted[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

var accountID = regexp.MustCompile(`^[0-9]{12}$`)

func (s Settings) validate() (problems problem.List) {
	if s.Region == "" {
		problems.Add("aws:region", "is not set", nil, "set it, for example: pulumi config set aws:region us-west-2")
	}
	for key, ids := range map[string][]string{
		"aws:allowedAccountIds":   s.AllowedAccountIds,
		"aws:forbiddenAccountIds": s.ForbiddenAccountIds,
	} {
		for i, id := range ids {
			if !accountID.MatchString(id) {
				problems.Add(fmt.Sprintf("%s[%d]", key, i), "is not an account's id", id,
					"write its 12 digits, in quotes")
			}
		}
	}
	s.validateCredentials(&problems)
	s.validateRoles(&problems)
	for key, files := range map[string][]string{
		"aws:sharedConfigFiles":      s.SharedConfigFiles,
		"aws:sharedCredentialsFiles": s.SharedCredentialsFiles,
	} {
		if len(files) > 1 {
			problems.Add(key, "are several, and the aws command that gets the token for Kubernetes reads one",
				len(files),
				"keep one")
		}
	}
	s.validateEndpoints(&problems)
	return problems
}

// validateCredentials: AWS's provider and the aws command rank several sources of credentials differently, so only one
// may be named.
func (s Settings) validateCredentials(problems *problem.List) {
	var sources []string
	if s.Profile != "" {
		sources = append(sources, "aws:profile")
	}
	if s.AccessKey != "" || s.SecretKey != "" || s.Token != "" {
		sources = append(sources, "aws:accessKey")
		if s.AccessKey == "" || s.SecretKey == "" {
			problems.Add("aws:accessKey", "goes with aws:secretKey", nil, "set both, or neither")
		}
	}
	if s.AssumeRoleWithWebIdentity != nil {
		sources = append(sources, "aws:assumeRoleWithWebIdentity")
	}
	if len(sources) > 1 {
		problems.Add(sources[0], "is not the only source of credentials", sources, "keep one of them")
	}
	for name, value := range map[string]string{"secretKey": s.SecretKey, "token": s.Token} {
		if value != "" && !s.isSecret(name) {
			problems.Add("aws:"+name, "stands readable in the stack file", nil,
				"make it invalid in AWS, and set a new one with pulumi config set --secret aws:"+name)
		}
	}
}

// validateRoles refuses what the provider could say of a role, and the aws command cannot when it gets the token for
// Kubernetes: `aws eks get-token` takes a role's ARN alone and calls the session EKSGetTokenAuth.
// https://github.com/aws/aws-cli/blob/v2/awscli/customizations/eks/get_token.py
// For a web identity it reads role, token file and session name from the environment.
// https://docs.aws.amazon.com/cli/latest/userguide/cli-configure-role.html#cli-configure-role-oidc
func (s Settings) validateRoles(problems *problem.List) {
	refuse := func(path string, given bool) {
		if given {
			problems.Add(path, "cannot reach the token for Kubernetes, which would be another identity's", nil,
				profileRemedy)
		}
	}
	if r := s.AssumeRole; r != nil {
		const at = "aws:assumeRole."
		validateRoleArn(at, r.RoleArn, problems)
		refuse(at+"externalId", r.ExternalID != "")
		refuse(at+"policy", r.Policy != "")
		refuse(at+"policyArns", len(r.PolicyArns) > 0)
		refuse(at+"sessionName", r.SessionName != "")
		refuse(at+"sourceIdentity", r.SourceIdentity != "")
		refuse(at+"tags", len(r.Tags) > 0)
		refuse(at+"transitiveTagKeys", len(r.TransitiveTagKeys) > 0)
	}
	if r := s.AssumeRoleWithWebIdentity; r != nil {
		const at = "aws:assumeRoleWithWebIdentity."
		validateRoleArn(at, r.RoleArn, problems)
		refuse(at+"policy", r.Policy != "")
		refuse(at+"policyArns", len(r.PolicyArns) > 0)
		if r.WebIdentityToken != "" || r.WebIdentityTokenFile == "" {
			problems.Add(at+"webIdentityTokenFile", "is the only way by which the token for Kubernetes takes the "+
				"identity", nil, "set it, and no webIdentityToken")
		}
	}
}

var roleArn = regexp.MustCompile(`^arn:aws[a-z-]*:iam::[0-9]{12}:role/[\w+=,.@/-]+$`)

func validateRoleArn(at, arn string, problems *problem.List) {
	if !roleArn.MatchString(arn) {
		problems.Add(at+"roleArn", "is not the ARN of an IAM role", arn,
			"write one like arn:aws:iam::111122223333:role/deploy")
	}
}

// marks are the tags by which this program and its parts find what is theirs, beside the environment's own.
var marks = []string{
	pool.ClusterTag, pool.PoolTag, pool.StackTag, "Name", "kubernetes.io/role/elb", "kubernetes.io/role/internal-elb",
	"kubernetes.io/cluster/", "k8s.io/cluster-autoscaler/",
}

// CheckTags refuses to ignore a tag that this program sets: the provider would never set it, or plan it in every
// update.
// https://registry.terraform.io/providers/hashicorp/aws/latest/docs/guides/resource-tagging (Ignoring Changes in All
// Resources)
func (s Settings) CheckTags(tags map[string]string) (problems problem.List) {
	if s.IgnoreTags == nil {
		return problems
	}
	set := slices.Concat(marks, sorted(tags))
	report := func(at, found string, hides func(tag string) bool) {
		if i := slices.IndexFunc(set, hides); i >= 0 {
			problems.Add(at, fmt.Sprintf("hides the tag %s, which this program sets and finds things by", set[i]),
				found,
				"remove it")
		}
	}
	for i, key := range s.IgnoreTags.Keys {
		report(fmt.Sprintf("aws:ignoreTags.keys[%d]", i), key, func(tag string) bool {
			return key == tag || strings.HasSuffix(tag, "/") && strings.HasPrefix(key, tag)
		})
	}
	for i, prefix := range s.IgnoreTags.KeyPrefixes {
		report(fmt.Sprintf("aws:ignoreTags.keyPrefixes[%d]", i), prefix, func(tag string) bool {
			return strings.HasPrefix(tag, prefix) || strings.HasSuffix(tag, "/") && strings.HasPrefix(prefix, tag)
		})
	}
	return problems
}

// MergedTags are the default tags and the environment's, which win.
func (s Settings) MergedTags(tags map[string]string) map[string]string {
	if s.DefaultTags == nil || len(s.DefaultTags.Tags) == 0 {
		return tags
	}
	merged := maps.Clone(s.DefaultTags.Tags)
	maps.Copy(merged, tags)
	return merged
}

// taggedBy is the path at which the stack file sets a tag that path finds among the merged ones.
func (s Settings) taggedBy(path string, tags map[string]string) string {
	if s.DefaultTags != nil {
		for key := range s.DefaultTags.Tags {
			if _, own := tags[key]; !own && path == fmt.Sprintf("tags[%q]", key) {
				return "aws:defaultTags." + path
			}
		}
	}
	return path
}

// Located returns complaints about merged tags at the places where the stack file sets them.
func (s Settings) Located(found problem.List, tags map[string]string) problem.List {
	return found.Revised(func(p problem.Problem) (problem.Problem, bool) {
		p.Path = s.taggedBy(p.Path, tags)
		return p, true
	})
}
