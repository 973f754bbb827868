package irsa_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/headroom-eks/headroom/components/handle"
	"github.com/headroom-eks/headroom/components/iampolicy"
	"github.com/headroom-eks/headroom/components/irsa"
	"github.com/headroom-eks/headroom/internal/recorder"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
)

const (
	issuer   = "oidc.eks.us-gov-west-1.amazonaws.com/id/ABC"
	provider = "arn:aws-us-gov:iam::123456789012:oidc-provider/" + issuer
)

func subject() irsa.Subject {
	return irsa.Subject{ProviderArn: provider, Issuer: issuer, Namespace: "kube-system", ServiceAccount: "karpenter"}
}

// Field fault BR-35.
func TestTrustIsExactForOneServiceAccount(t *testing.T) {
	want := iampolicy.New(iampolicy.Statement{
		Effect:    iampolicy.Allow,
		Principal: iampolicy.Principal{"Federated": {provider}},
		Action:    iampolicy.Strings{"sts:AssumeRoleWithWebIdentity"},
		Condition: iampolicy.Conditions{"StringEquals": {
			issuer + ":aud": {"sts.amazonaws.com"},
			issuer + ":sub": {"system:serviceaccount:kube-system:karpenter"},
		}},
	})
	if diff := cmp.Diff(want, irsa.Trust(subject())); diff != "" {
		t.Error(diff)
	}
}

// Field fault BR-35.
func TestTrustIsTheSameWithAndWithoutScheme(t *testing.T) {
	schemed := subject()
	schemed.Issuer = "https://" + issuer
	if diff := cmp.Diff(irsa.Trust(subject()), irsa.Trust(schemed)); diff != "" {
		t.Error(diff)
	}
}

// Field fault BR-37.
func TestTrustOfTwoIssuersHasAStatementEach(t *testing.T) {
	other := subject()
	other.Issuer, other.ProviderArn = "oidc.example/id/2", "arn:aws:iam::123456789012:oidc-provider/oidc.example/id/2"
	doc := irsa.Trust(subject(), other)
	if len(doc.Statement) != 2 {
		t.Fatalf("%d statements, want 2", len(doc.Statement))
	}
	for i, host := range []string{issuer, "oidc.example/id/2"} {
		for key := range doc.Statement[i].Condition["StringEquals"] {
			if !strings.HasPrefix(key, host+":") {
				t.Errorf("statement %d has a condition on %s, want only keys of %s", i, key, host)
			}
		}
	}
}

func args() *irsa.Args {
	return &irsa.Args{
		Cluster: handle.Cluster{
			Account:         handle.Account{Tags: map[string]string{"team": "ml"}},
			OIDCProviderArn: pulumi.String(provider),
			Issuer:          pulumi.String("https://" + issuer),
		},
		Namespace:      "kube-system",
		ServiceAccount: "karpenter",
		Policies:       map[string]pulumi.StringInput{"controller": pulumi.String("{}")},
		ManagedPolicyArns: map[string]string{
			"csi": "arn:aws-us-gov:iam::aws:policy/service-role/AmazonEBSCSIDriverPolicy",
		},
	}
}

func run(t *testing.T, a *irsa.Args) (*recorder.Recorder, *irsa.Role, error) {
	t.Helper()
	var role *irsa.Role
	r, err := recorder.Run(nil, func(ctx *pulumi.Context) (err error) {
		role, err = irsa.New(ctx, "karpenter", a)
		return err
	})
	return r, role, err
}

func TestRoleTrustsTheServiceAccount(t *testing.T) {
	r, _, err := run(t, args())
	if err != nil {
		t.Fatal(err)
	}
	role := r.Get(t, "aws:iam/role:Role", "karpenter-role")
	var trust iampolicy.Document
	if err := json.Unmarshal([]byte(role.Inputs["assumeRolePolicy"].(string)), &trust); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(irsa.Trust(subject()), trust); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(map[string]any{"team": "ml"}, role.Inputs["tags"]); diff != "" {
		t.Error(diff)
	}
}

// Field fault BR-47.
func TestAttachmentsAreDeletedBeforeTheyAreReplaced(t *testing.T) {
	r, role, err := run(t, args())
	if err != nil {
		t.Fatal(err)
	}
	attachments := r.Of("aws:iam/rolePolicyAttachment:RolePolicyAttachment")
	if len(attachments) != 2 || len(role.Ready) != 2 {
		t.Fatalf("%d attachments, %d exposed, want 2", len(attachments), len(role.Ready))
	}
	for _, a := range attachments {
		if !a.RPC.DeleteBeforeReplace {
			t.Errorf("%s is not deleted before it is replaced", a.Name)
		}
	}
	own := r.Get(t, "aws:iam/rolePolicyAttachment:RolePolicyAttachment", "karpenter-controller")
	if got, want := own.Inputs["policyArn"], "arn:aws:mock:us-west-2:123456789012:karpenter-controller"; got != want {
		t.Errorf("the attachment names policy %v, want %s", got, want)
	}
}

// Field faults BR-35 and BR-93: an answer that is empty or belongs to another cluster never becomes a trust policy.
func TestMismatchedIssuerFailsTheRole(t *testing.T) {
	for name, change := range map[string]func(*irsa.Args){
		"empty issuer":   func(a *irsa.Args) { a.Cluster.Issuer = pulumi.String("") },
		"empty provider": func(a *irsa.Args) { a.Cluster.OIDCProviderArn = pulumi.String("") },
		"other issuer":   func(a *irsa.Args) { a.Cluster.Issuer = pulumi.String("https://oidc.example/id/2") },
	} {
		a := args()
		change(a)
		r, _, err := run(t, a)
		if err == nil || !strings.Contains(err.Error(), "is not the provider of issuer") {
			t.Errorf("%s: error %v, want one about the issuer", name, err)
		}
		if len(r.Of("aws:iam/role:Role")) != 0 {
			t.Errorf("%s: the role is registered all the same", name)
		}
	}
}

func TestInvalidArgsAreRefusedBeforeAnyResource(t *testing.T) {
	for name, change := range map[string]func(*irsa.Args) *irsa.Args{
		"nil": func(*irsa.Args) *irsa.Args { return nil },
		// field fault BR-36
		"wildcard account": func(a *irsa.Args) *irsa.Args { a.ServiceAccount = "name-*"; return a },
		"no namespace":     func(a *irsa.Args) *irsa.Args { a.Namespace = ""; return a },
		"no policy":        func(a *irsa.Args) *irsa.Args { a.Policies, a.ManagedPolicyArns = nil, nil; return a },
		"no provider":      func(a *irsa.Args) *irsa.Args { a.Cluster.OIDCProviderArn = nil; return a },
		"not an arn": func(a *irsa.Args) *irsa.Args {
			a.ManagedPolicyArns["csi"] = "AmazonEBSCSIDriverPolicy"
			return a
		},
	} {
		r, _, err := run(t, change(args()))
		if err == nil {
			t.Errorf("%s: accepted", name)
		}
		if len(r.All()) != 0 {
			t.Errorf("%s: %d resources are registered", name, len(r.All()))
		}
	}
}
