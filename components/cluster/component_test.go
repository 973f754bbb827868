package cluster_test

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/headroom-eks/headroom/components/automode"
	"github.com/headroom-eks/headroom/components/cluster"
	"github.com/headroom-eks/headroom/components/handle"
	"github.com/headroom-eks/headroom/internal/recorder"
	awseks "github.com/pulumi/pulumi-aws/sdk/v6/go/aws/eks"
	"github.com/pulumi/pulumi/sdk/v3/go/common/resource"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
)

const (
	component = "eks:index:Cluster"
	inner     = "aws:eks/cluster:Cluster"
	addon     = "aws:eks/addon:Addon"
	entry     = "aws:eks/accessEntry:AccessEntry"
)

// answers of the component, which names the inner cluster by reference, and of that cluster.
func answers() recorder.Answers {
	return recorder.Answers{
		component: {
			"eksCluster": resource.MakeCustomResourceReference(
				"urn:pulumi:test::headroom::aws:eks/cluster:Cluster::inner", "inner-id", ""),
			"oidcIssuer":             "oidc.eks.us-gov-west-1.amazonaws.com/id/ABC",
			"clusterSecurityGroupId": "sg-cluster",
			"autoModeNodeRoleName":   "",
		},
		inner: {
			"name": "headroom-dev", "endpoint": "https://ABC.eks.example", "version": "1.36",
			"certificateAuthority": map[string]any{"data": "Q0E="},
			"roleArn":              "arn:aws-us-gov:iam::123456789012:role/path/eks-role",
		},
	}
}

func args() *cluster.Args {
	return &cluster.Args{
		Name:      pulumi.String("headroom-dev"),
		Version:   "1.36",
		VpcID:     pulumi.String("vpc-1"),
		SubnetIDs: pulumi.StringArray{pulumi.String("subnet-a"), pulumi.String("subnet-b")},
		Access: map[string]cluster.Access{
			"admins": {PrincipalArn: "arn:aws-us-gov:iam::123456789012:role/admins", Policy: "cluster-admin"},
			"ci":     {PrincipalArn: "arn:aws-us-gov:iam::123456789012:role/ci", Policy: "cluster-admin"},
			"devs":   {PrincipalArn: "arn:aws-us-gov:iam::123456789012:role/devs", Policy: "view"},
		},
		VpcCNIVersion:    "v1.22.3-eksbuild.1",
		KubeProxyVersion: "v1.36.0-eksbuild.9",
		Account: handle.Account{
			Region:    "us-gov-west-1",
			Partition: "aws-us-gov",
			AccountID: "123456789012",
			Tags:      map[string]string{"team": "ml"},
		},
	}
}

type result struct {
	*recorder.Recorder
	outputs map[string]string
}

func run(t *testing.T, a *cluster.Args, with recorder.Answers) (result, error) {
	t.Helper()
	outputs := map[string]string{}
	r, err := recorder.Run(with, func(ctx *pulumi.Context) error {
		inner, err := awseks.NewCluster(ctx, "inner", &awseks.ClusterArgs{
			RoleArn: pulumi.String("r"),
			VpcConfig: &awseks.ClusterVpcConfigArgs{
				SubnetIds: pulumi.StringArray{pulumi.String("s")},
			},
		})
		if err != nil {
			return err
		}
		if a != nil && a.VpcID != nil { // the component refers to the inner cluster, which must be registered by then
			after := *a
			after.VpcID = pulumi.All(inner.ID(),
				a.VpcID).ApplyT(func(v []any) string { return v[1].(string) }).(pulumi.StringOutput)
			a = &after
		}
		c, err := cluster.New(ctx, "cluster", a)
		if err != nil {
			return err
		}
		done := pulumi.All(c.Name, c.Kubeconfig, c.SecurityGroupID, c.OIDCProviderArn, c.Issuer,
			c.RoleName).ApplyT(func(v []any) bool {
			for i, key := range []string{"name", "kubeconfig", "sg", "oidc", "issuer", "role"} {
				outputs[key] = v[i].(string)
			}
			return true
		})
		ctx.Export("done", done)
		return nil
	})
	return result{r, outputs}, err
}

func mustRun(t *testing.T, change func(*cluster.Args)) result {
	t.Helper()
	a := args()
	change(a)
	r, err := run(t, a, answers())
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func same(*cluster.Args) {}

// Field faults BR-58, BR-61, BR-62, BR-75.
func TestComponentMakesNothingButControlPlaneAndNetworkAddons(t *testing.T) {
	in := mustRun(t, same).Get(t, component, "cluster-eks").Inputs
	got := map[string]any{}
	for _, key := range []string{"skipDefaultNodeGroup", "skipDefaultSecurityGroups", "createInstanceRole",
		"createOidcProvider",
		"authenticationMode", "endpointPrivateAccess", "endpointPublicAccess", "publicAccessCidrs",
		"corednsAddonOptions", "accessEntries"} {
		got[key] = in[key]
	}
	want := map[string]any{
		"skipDefaultNodeGroup":      true,
		"skipDefaultSecurityGroups": true,
		"createInstanceRole":        false,
		"createOidcProvider":        false,
		"authenticationMode":        "API",
		"endpointPrivateAccess":     true,
		"endpointPublicAccess":      false,
		"publicAccessCidrs":         nil,
		"accessEntries":             nil,
	}
	coredns, _ := got["corednsAddonOptions"].(map[string]any)
	if coredns["enabled"] != false {
		t.Errorf("coredns options %v, want it off", coredns)
	}
	delete(got, "corednsAddonOptions")
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// On the inner cluster, so that the component does not wait for a public endpoint (tried-2, D3).
func TestPublicEndpointOpensOnlyForListedRanges(t *testing.T) {
	given := func() pulumi.Map {
		return pulumi.Map{"vpcConfig": pulumi.Map{"endpointPublicAccess": pulumi.Bool(false)}}
	}
	opened := mustRun(t, func(a *cluster.Args) { a.PublicAccessCIDRs = []string{"203.0.113.0/24"} })
	if in := opened.Get(t, component, "cluster-eks").Inputs; in["endpointPublicAccess"] != false ||
		in["publicAccessCidrs"] != nil {
		t.Errorf("the component is told %v for %v", in["endpointPublicAccess"], in["publicAccessCidrs"])
	}
	want := pulumi.Map{
		"endpointPublicAccess": pulumi.Bool(true),
		"publicAccessCidrs":    pulumi.StringArray{pulumi.String("203.0.113.0/24")},
	}
	if diff := cmp.Diff(want, transformed(t, opened, given()).Props["vpcConfig"]); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(given()["vpcConfig"],
		transformed(t, mustRun(t, same), given()).Props["vpcConfig"]); diff != "" {
		t.Error(diff)
	}
}

func TestNetworkAddonsArePinnedAndQuiet(t *testing.T) {
	r := mustRun(t, func(a *cluster.Args) { a.PrefixDelegation = true })
	in := r.Get(t, component, "cluster-eks").Inputs
	cni, proxy := in["vpcCniOptions"].(map[string]any), in["kubeProxyAddonOptions"].(map[string]any)
	if cni["addonVersion"] != "v1.22.3-eksbuild.1" || proxy["version"] != "v1.36.0-eksbuild.9" {
		t.Errorf("versions %v and %v", cni["addonVersion"], proxy["version"])
	}
	want := map[string]any{
		"AWS_VPC_K8S_CNI_LOGLEVEL":     "INFO",
		"AWS_VPC_K8S_PLUGIN_LOG_LEVEL": "INFO",
		"ENABLE_PREFIX_DELEGATION":     "true",
		"WARM_PREFIX_TARGET":           "1",
	}
	if diff := cmp.Diff(want, cni["configurationValues"].(map[string]any)["env"]); diff != "" {
		t.Error(diff)
	}
}

// transformed runs the transforms of the component on its inner cluster, as the engine would.
func transformed(t *testing.T, r result, props pulumi.Map) *pulumi.ResourceTransformResult {
	t.Helper()
	transforms := r.Get(t, component, "cluster-eks").Transforms
	if len(transforms) != 1 {
		t.Fatalf("%d transforms, want 1", len(transforms))
	}
	if other := transforms[0](context.Background(), &pulumi.ResourceTransformArgs{Type: addon}); other != nil {
		t.Error("the transform changes an add-on")
	}
	return transforms[0](context.Background(), &pulumi.ResourceTransformArgs{Type: inner, Props: props})
}

// Field fault BR-82: without Auto Mode its three capabilities are off, explicitly.
func TestWithoutAutoModeItsCapabilitiesAreOff(t *testing.T) {
	off := pulumi.Map{"enabled": pulumi.Bool(false)}
	given := pulumi.Map{
		"version":                 pulumi.String("1.36"),
		"kubernetesNetworkConfig": pulumi.Map{"serviceIpv4Cidr": pulumi.String("172.21.0.0/16")},
	}
	got := transformed(t, mustRun(t, same), given)
	want := pulumi.Map{
		"version":                    pulumi.String("1.36"),
		"upgradePolicy":              pulumi.Map{"supportType": pulumi.String("STANDARD")},
		"bootstrapSelfManagedAddons": pulumi.Bool(false),
		"accessConfig": pulumi.Map{
			"authenticationMode": pulumi.String("API"), "bootstrapClusterCreatorAdminPermissions": pulumi.Bool(false),
		},
		"computeConfig": off,
		"storageConfig": pulumi.Map{"blockStorage": off},
		// With Auto Mode on the component names the address family; were it named then only, a switch would replace the
		// cluster.
		"kubernetesNetworkConfig": pulumi.Map{
			"ipFamily":             pulumi.String("ipv4"),
			"serviceIpv4Cidr":      pulumi.String("172.21.0.0/16"),
			"elasticLoadBalancing": off,
		},
	}
	if diff := cmp.Diff(want, got.Props); diff != "" {
		t.Error(diff)
	}
	if _, changed := given["upgradePolicy"]; changed {
		t.Error("the transform changes what it was given")
	}
}

func autoMode(a *cluster.Args) {
	a.AutoMode = automode.Settings{Enabled: true, BuiltInPools: []string{"system"}}
	a.VpcCNIVersion, a.KubeProxyVersion = "", ""
}

// Field fault BR-82.
func TestAutoModeKeepsWhatTheComponentSets(t *testing.T) {
	r := mustRun(t, autoMode)
	on := pulumi.Map{"enabled": pulumi.Bool(true)}
	got := transformed(t, r, pulumi.Map{"computeConfig": on, "storageConfig": on}).Props
	if diff := cmp.Diff(on, got["computeConfig"]); diff != "" {
		t.Error(diff)
	}
	if got["bootstrapSelfManagedAddons"] != pulumi.Bool(false) {
		t.Error("EKS bootstraps add-ons")
	}
	in := r.Get(t, component, "cluster-eks").Inputs
	want := map[string]any{
		"enabled":        true,
		"createNodeRole": true,
		"computeConfig":  map[string]any{"nodePools": []any{"system"}},
	}
	if diff := cmp.Diff(want, in["autoMode"]); diff != "" {
		t.Error(diff)
	}
	if in["vpcCniOptions"] != nil || in["kubeProxyAddonOptions"] != nil {
		t.Error("network add-ons are configured")
	}
}

// Field fault BR-83.
func TestClusterIsProtectedWhenAsked(t *testing.T) {
	if transformed(t, mustRun(t, same), pulumi.Map{}).Opts.Protect {
		t.Error("protected without being asked")
	}
	if !transformed(t, mustRun(t, func(a *cluster.Args) { a.Protect = true }), pulumi.Map{}).Opts.Protect {
		t.Error("not protected")
	}
}

// Field fault BR-45: EKS's own entry for the creator would clash with a named one for the same role.
func TestCreatorIsAdminOnlyWhenNobodyElseIs(t *testing.T) {
	for policy, want := range map[string]bool{"cluster-admin": false, "view": true} {
		r := mustRun(t, func(a *cluster.Args) {
			a.Access = map[string]cluster.Access{
				"x": {PrincipalArn: "arn:aws:iam::123456789012:role/x", Policy: policy},
			}
		})
		got := transformed(t, r, pulumi.Map{})
		config := got.Props["accessConfig"].(pulumi.Map)
		if config["bootstrapClusterCreatorAdminPermissions"] != pulumi.Bool(want) {
			t.Errorf("%s: creator is admin: %v", policy, config)
		}
		if !slices.Contains(got.Opts.IgnoreChanges, "accessConfig.bootstrapClusterCreatorAdminPermissions") {
			t.Error("naming an admin later would replace the cluster")
		}
	}
}

func TestNamedPrincipalsGetTheirAccess(t *testing.T) {
	r := mustRun(t, same)
	got := map[string]string{}
	for _, res := range r.Of("aws:eks/accessPolicyAssociation:AccessPolicyAssociation") {
		got[res.Inputs["principalArn"].(string)] = res.Inputs["policyArn"].(string)
	}
	const policies = "arn:aws-us-gov:eks::aws:cluster-access-policy/"
	want := map[string]string{
		"arn:aws-us-gov:iam::123456789012:role/admins": policies + "AmazonEKSClusterAdminPolicy",
		"arn:aws-us-gov:iam::123456789012:role/ci":     policies + "AmazonEKSClusterAdminPolicy",
		"arn:aws-us-gov:iam::123456789012:role/devs":   policies + "AmazonEKSViewPolicy",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if n := len(r.Of(entry)); n != 3 {
		t.Errorf("%d access entries, want 3", n)
	}
}

func TestLogGroupIsThereFirst(t *testing.T) {
	r := mustRun(t, same)
	logs := r.Get(t, "aws:cloudwatch/logGroup:LogGroup", "cluster-logs")
	if logs.Inputs["name"] != "/aws/eks/headroom-dev/cluster" || logs.Inputs["retentionInDays"] != 90.0 {
		t.Errorf("log group %v kept %v days", logs.Inputs["name"], logs.Inputs["retentionInDays"])
	}
	deps := strings.Join(r.Get(t, component, "cluster-eks").RPC.Dependencies, " ")
	if !strings.Contains(deps, "::cluster-logs") {
		t.Errorf("the cluster depends on %s, not on its log group", deps)
	}
}

func TestSecretsAreEncryptedWithARotatedKey(t *testing.T) {
	r := mustRun(t, same)
	key := r.Get(t, "aws:kms/key:Key", "cluster-secrets")
	if key.Inputs["enableKeyRotation"] != true ||
		!strings.Contains(key.Inputs["policy"].(string), "arn:aws-us-gov:iam::123456789012:root") {
		t.Errorf("key %v", key.Inputs)
	}
	got := r.Get(t, component, "cluster-eks").Inputs["encryptionConfigKeyArn"]
	if got != "arn:aws:mock:us-west-2:123456789012:cluster-secrets" {
		t.Errorf("the cluster uses key %v", got)
	}
}

func TestGivenKeyIsUsed(t *testing.T) {
	const key = "arn:aws:kms:us-west-2:123456789012:key/x"
	r := mustRun(t, func(a *cluster.Args) { a.SecretsKeyArn = key })
	if len(r.Of("aws:kms/key:Key")) != 0 {
		t.Error("a key is made all the same")
	}
	if got := r.Get(t, component, "cluster-eks").Inputs["encryptionConfigKeyArn"]; got != key {
		t.Errorf("the cluster uses key %v", got)
	}
}

func TestOutputsComeFromTheCluster(t *testing.T) {
	r := mustRun(t, same)
	provider := r.Get(t, "aws:iam/openIdConnectProvider:OpenIdConnectProvider", "cluster-oidc")
	if got := provider.Inputs["url"]; got != "https://oidc.eks.us-gov-west-1.amazonaws.com/id/ABC" {
		t.Errorf("OIDC provider of %v", got)
	}
	for key, want := range map[string]string{
		"name":   "headroom-dev",
		"sg":     "sg-cluster",
		"issuer": "oidc.eks.us-gov-west-1.amazonaws.com/id/ABC",
		"role":   "eks-role",
		"oidc":   "arn:aws:mock:us-west-2:123456789012:cluster-oidc",
	} {
		if r.outputs[key] != want {
			t.Errorf("%s is %q, want %q", key, r.outputs[key], want)
		}
	}
	if !json.Valid([]byte(r.outputs["kubeconfig"])) ||
		!strings.Contains(r.outputs["kubeconfig"], "https://ABC.eks.example") {
		t.Errorf("kubeconfig %s", r.outputs["kubeconfig"])
	}
}

// Field fault BR-93.
func TestEmptyAnswerOfTheClusterFailsTheUpdate(t *testing.T) {
	for typ, keys := range map[string][]string{
		component: {"clusterSecurityGroupId", "oidcIssuer"},
		inner:     {"endpoint", "roleArn"},
	} {
		for _, key := range keys {
			with := answers()
			with[typ][key] = ""
			if _, err := run(t, args(), with); err == nil || !strings.Contains(err.Error(), "the cluster has no") {
				t.Errorf("empty %s: error %v", key, err)
			}
		}
	}
}

func TestInvalidArgsNameEveryProblem(t *testing.T) {
	a := args()
	a.Version, a.PublicAccessCIDRs, a.LogTypes, a.LogRetentionDays = "latest", []string{"10.0.0.1"}, []string{"all"}, 10
	a.UpgradePolicy, a.VpcCNIVersion, a.Account.Partition, a.SubnetIDs = "NONE", "", "", nil
	a.SecretsKeyArn = "alias/secrets"
	a.Access["Ops"] = cluster.Access{PrincipalArn: a.Access["ci"].PrincipalArn, Policy: "root"}
	a.Access["broken"] = cluster.Access{PrincipalArn: "ci", Policy: "view"}
	_, err := run(t, a, answers())
	if err == nil {
		t.Fatal("accepted")
	}
	for _, want := range []string{
		`version: is not a minor version of Kubernetes (found "latest")`,
		`publicAccessCidrs[0]: is not an IPv4 block (found "10.0.0.1")`,
		`logTypes[0]: is unknown (found "all")`,
		"logRetentionDays: is not a retention that CloudWatch Logs takes (found 10)",
		`upgradePolicy: is unknown (found "NONE")`,
		`vpcCniVersion: is not a version of add-on vpc-cni (found "")`,
		"account.partition: is missing",
		"subnetIds: is missing",
		`secretsKeyArn: is not the ARN of a KMS key (found "alias/secrets")`,
		`access["Ops"]: the name cannot be part of a resource's`,
		`access["Ops"].policy: is unknown (found "root"); use one of admin, cluster-admin, edit, view`,
		`access["ci"].principalArn: is that of "Ops" too`,
		`access["broken"].principalArn: is not the ARN of an IAM role or user (found "ci")`,
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("error lacks %q:\n%v", want, err)
		}
	}
}

// Field fault BR-84.
func TestOnlyBuiltInPoolsAreAccepted(t *testing.T) {
	for _, pools := range [][]string{{"general-purpose", "sytem"}, {"system", "system"}} {
		a := args()
		autoMode(a)
		a.AutoMode.BuiltInPools = pools
		if _, err := run(t, a, answers()); err == nil || !strings.Contains(err.Error(), "autoMode.builtInPools") {
			t.Errorf("%v: error %v", pools, err)
		}
	}
}

func TestTagsReachEverythingThatCarriesThem(t *testing.T) {
	r := mustRun(t, same)
	untagged := []string{"aws:eks/accessPolicyAssociation:AccessPolicyAssociation", "headroom:cluster:Cluster"}
	for _, res := range r.All() {
		tags, _ := res.Inputs["tags"].(map[string]any)
		if res.Name != "inner" && !slices.Contains(untagged, res.Type) && tags["team"] != "ml" {
			t.Errorf("%s %s has tags %v", res.Type, res.Name, tags)
		}
	}
}

// Review B1: the group that EKS makes lets in nothing but itself.
func TestAPrivateEndpointIsOpenedToThoseWhoAreNamed(t *testing.T) {
	r := mustRun(t, func(a *cluster.Args) {
		a.PrivateAccess = cluster.PrivateAccess{
			CIDRs:            []string{"10.8.0.0/16"},
			SecurityGroupIDs: []string{"sg-0123456789abcdef0"},
		}
	})
	const rule = "aws:vpc/securityGroupIngressRule:SecurityGroupIngressRule"
	for name, want := range map[string]map[string]any{
		"cluster-api-from-10-8-0-0-16":          {"cidrIpv4": "10.8.0.0/16", "referencedSecurityGroupId": nil},
		"cluster-api-from-sg-0123456789abcdef0": {"cidrIpv4": nil, "referencedSecurityGroupId": "sg-0123456789abcdef0"},
	} {
		in := r.Get(t, rule, name).Inputs
		for key, value := range want {
			if in[key] != value {
				t.Errorf("%s: %s is %v, want %v", name, key, in[key], value)
			}
		}
		if in["fromPort"] != 443.0 || in["toPort"] != 443.0 || in["ipProtocol"] != "tcp" ||
			in["securityGroupId"] == nil {
			t.Errorf("%s: %v", name, in)
		}
	}
}
