package irsa

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/headroom-eks/headroom/components/iampolicy"
	"github.com/headroom-eks/headroom/problem"
	"k8s.io/apimachinery/pkg/util/validation"
)

// Audience of the tokens that EKS gives to pods for IAM, the same in every partition.
// https://docs.aws.amazon.com/eks/latest/userguide/iam-roles-for-service-accounts.html
const Audience = "sts.amazonaws.com"

// RoleAnnotation of a service account names the role its pods assume.
const RoleAnnotation = "eks.amazonaws.com/role-arn"

// maxName is what remains of IAM's 64 characters for a role's name after Pulumi's random suffix ("-" and seven
// characters) and the child's own "-role".
const maxName = 64 - 8 - len("-role")

// Subject is one service account of one cluster.
type Subject struct {
	ProviderArn    string // of the cluster's IAM OIDC provider
	Issuer         string // with or without "https://"
	Namespace      string
	ServiceAccount string
}

// Trust lets exactly the given service accounts assume a role. There is one statement for each subject: conditions of
// two issuers in one statement would have to hold at once (field fault BR-37).
func Trust(subjects ...Subject) iampolicy.Document {
	doc := iampolicy.New()
	for _, s := range subjects {
		host := strings.TrimPrefix(s.Issuer, "https://")
		doc.Statement = append(doc.Statement, iampolicy.Statement{
			Effect:    iampolicy.Allow,
			Principal: iampolicy.Principal{"Federated": {s.ProviderArn}},
			Action:    iampolicy.Strings{"sts:AssumeRoleWithWebIdentity"},
			Condition: iampolicy.Conditions{"StringEquals": {
				host + ":aud": {Audience},
				host + ":sub": {"system:serviceaccount:" + s.Namespace + ":" + s.ServiceAccount},
			}},
		})
	}
	return doc
}

var providerArn = regexp.MustCompile(`^arn:[a-z-]+:iam::\d{12}:oidc-provider/(.+)$`)

// trustJSON is Trust for one subject, refused when the cluster's answers are empty or do not belong together: a trust
// policy on the wrong issuer looks right and lets nobody in (field fault BR-35).
func trustJSON(s Subject) (string, error) {
	host := strings.TrimPrefix(s.Issuer, "https://")
	match := providerArn.FindStringSubmatch(s.ProviderArn)
	if host == "" || match == nil || match[1] != host {
		return "", fmt.Errorf("trust of %s/%s: OIDC provider %q is not the provider of issuer %q", s.Namespace,
			s.ServiceAccount, s.ProviderArn, s.Issuer)
	}
	return Trust(s).JSON(iampolicy.TrustLimit)
}

func validate(name string, args *Args) (problems problem.List) {
	at := fmt.Sprintf("irsa %q", name)
	if args == nil {
		problems.Add(at, "has no arguments", nil, "give them")
		return problems
	}
	if len(name) > maxName {
		problems.Add(at, fmt.Sprintf("the name has more than the %d characters that leave room for a unique role name",
			maxName), len(name), "shorten it")
	}
	for _, msg := range validation.IsDNS1123Label(args.Namespace) {
		problems.Add(at+".namespace", "is not the name of a namespace: "+msg, args.Namespace, "")
	}
	for _, msg := range validation.IsDNS1123Subdomain(args.ServiceAccount) {
		problems.Add(at+".serviceAccount", "is not the name of a service account: "+msg, args.ServiceAccount, "")
	}
	problems.Require(at+".cluster.oidcProviderArn", args.Cluster.OIDCProviderArn != nil)
	problems.Require(at+".cluster.issuer", args.Cluster.Issuer != nil)
	if len(args.Policies)+len(args.ManagedPolicyArns) == 0 {
		problems.Add(at, "the role would allow nothing", nil, "give it a policy")
	}
	for _, key := range slices.Sorted(maps.Keys(args.ManagedPolicyArns)) {
		if arn := args.ManagedPolicyArns[key]; !strings.HasPrefix(arn, "arn:") {
			problems.Add(fmt.Sprintf("%s.managedPolicyArns[%q]", at, key), "is not an ARN", arn, "")
		}
	}
	return problems
}
