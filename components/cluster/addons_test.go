package cluster_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/headroom-eks/headroom/components/cluster"
	"github.com/headroom-eks/headroom/components/handle"
	"github.com/headroom-eks/headroom/internal/recorder"
	"github.com/headroom-eks/headroom/pool"
	"github.com/pulumi/pulumi-aws/sdk/v6/go/aws/cloudwatch"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
)

const storageClass = "kubernetes:storage.k8s.io/v1:StorageClass"

func addonsArgs() *cluster.AddonsArgs {
	issuer := "oidc.eks.us-gov-west-1.amazonaws.com/id/ABC"
	return &cluster.AddonsArgs{
		Cluster: handle.Cluster{
			Account:         handle.Account{Partition: "aws-us-gov", Tags: map[string]string{"team": "ml"}},
			Name:            pulumi.String("headroom-dev"),
			OIDCProviderArn: pulumi.String("arn:aws-us-gov:iam::123456789012:oidc-provider/" + issuer),
			Issuer:          pulumi.String(issuer),
		},
		CoreDNSVersion: "v1.14.3-eksbuild.3",
		EBSCSIVersion:  "v1.62.0-eksbuild.1",
		SystemTaints: []pool.Taint{{
			Key:    "CriticalAddonsOnly",
			Value:  "true",
			Effect: pool.NoSchedule,
		}, {Key: "boot", Effect: pool.NoExecute}},
	}
}

// runAddons makes the add-ons after a stand-in for the system group.
func runAddons(t *testing.T, change func(*cluster.AddonsArgs)) (*recorder.Recorder, error) {
	t.Helper()
	return recorder.Run(nil, func(ctx *pulumi.Context) error {
		nodes, err := cloudwatch.NewLogGroup(ctx, "system-group", nil)
		if err != nil {
			return err
		}
		a := addonsArgs()
		a.Needs = []pulumi.Resource{nodes}
		change(a)
		_, err = cluster.NewAddons(ctx, "addons", a)
		return err
	})
}

// Field fault BR-58.
func TestAddonsWaitForTheirNodes(t *testing.T) {
	r, err := runAddons(t, func(*cluster.AddonsArgs) {})
	if err != nil {
		t.Fatal(err)
	}
	for name, version := range map[string]string{
		"addons-coredns":            "v1.14.3-eksbuild.3",
		"addons-aws-ebs-csi-driver": "v1.62.0-eksbuild.1",
	} {
		a := r.Get(t, addon, name)
		if a.Inputs["addonVersion"] != version {
			t.Errorf("%s has version %v", name, a.Inputs["addonVersion"])
		}
		if deps := strings.Join(a.RPC.Dependencies, " "); !strings.Contains(deps, "::system-group") {
			t.Errorf("%s depends on %s, not on nodes", name, deps)
		}
	}
}

// Field fault BR-59: for each workload and each system taint, a toleration matches.
func TestAddonsTolerateEverySystemTaint(t *testing.T) {
	r, err := runAddons(t, func(*cluster.AddonsArgs) {})
	if err != nil {
		t.Fatal(err)
	}
	var dns struct{ Tolerations []pool.Toleration }
	var ebs struct {
		Controller struct{ Tolerations []pool.Toleration }
	}
	for name, into := range map[string]any{"addons-coredns": &dns, "addons-aws-ebs-csi-driver": &ebs} {
		if err := json.Unmarshal([]byte(r.Get(t, addon, name).Inputs["configurationValues"].(string)),
			into); err != nil {
			t.Fatal(err)
		}
	}
	for name, tolerations := range map[string][]pool.Toleration{
		"coredns": dns.Tolerations,
		"ebs":     ebs.Controller.Tolerations,
	} {
		for _, taint := range addonsArgs().SystemTaints {
			if !tolerated(tolerations, taint) {
				t.Errorf("%s does not tolerate %s", name, taint)
			}
		}
	}
}

func tolerated(tolerations []pool.Toleration, taint pool.Taint) bool {
	for _, tol := range tolerations {
		if tol.Tolerates(taint) {
			return true
		}
	}
	return false
}

func TestEBSDriverHasItsOwnRole(t *testing.T) {
	r, err := runAddons(t, func(*cluster.AddonsArgs) {})
	if err != nil {
		t.Fatal(err)
	}
	driver := r.Get(t, addon, "addons-aws-ebs-csi-driver")
	if driver.Inputs["serviceAccountRoleArn"] != "arn:aws:mock:us-west-2:123456789012:addons-ebs-csi-role" {
		t.Errorf("role %v", driver.Inputs["serviceAccountRoleArn"])
	}
	trust := r.Get(t, "aws:iam/role:Role", "addons-ebs-csi-role").Inputs["assumeRolePolicy"].(string)
	if !strings.Contains(trust, `"system:serviceaccount:kube-system:ebs-csi-controller-sa"`) {
		t.Errorf("trust %s", trust)
	}
	attached := r.Get(t, "aws:iam/rolePolicyAttachment:RolePolicyAttachment",
		"addons-ebs-csi-driver").Inputs["policyArn"]
	if attached != "arn:aws-us-gov:iam::aws:policy/service-role/AmazonEBSCSIDriverPolicy" {
		t.Errorf("policy %v", attached)
	}
}

func TestDefaultStorageClassIsEncryptedAndWaitsForThePod(t *testing.T) {
	r, err := runAddons(t, func(*cluster.AddonsArgs) {})
	if err != nil {
		t.Fatal(err)
	}
	class := r.Get(t, storageClass, "addons-gp3")
	got := map[string]any{}
	for _, key := range []string{"provisioner", "parameters", "volumeBindingMode", "metadata"} {
		got[key] = class.Inputs[key]
	}
	want := map[string]any{
		"provisioner":       "ebs.csi.aws.com",
		"parameters":        map[string]any{"type": "gp3", "encrypted": "true"},
		"volumeBindingMode": "WaitForFirstConsumer",
		"metadata": map[string]any{
			"name":        "gp3",
			"annotations": map[string]any{"storageclass.kubernetes.io/is-default-class": "true"},
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if !class.RPC.DeleteBeforeReplace {
		t.Error("a second class of the same name would be made before the first is gone")
	}
	if deps := strings.Join(class.RPC.Dependencies, " "); !strings.Contains(deps, "::addons-aws-ebs-csi-driver") {
		t.Errorf("the class depends on %s, not on its driver", deps)
	}
}

// Field fault BR-82: Auto Mode brings DNS and driver.
func TestAutoModeGetsOnlyTheStorageClass(t *testing.T) {
	r, err := runAddons(t, func(a *cluster.AddonsArgs) { *a = cluster.AddonsArgs{AutoMode: true} })
	if err != nil {
		t.Fatal(err)
	}
	if found := r.Of(addon); len(found) != 0 {
		t.Errorf("%d add-ons", len(found))
	}
	if got := r.Get(t, storageClass, "addons-gp3").Inputs["provisioner"]; got != "ebs.csi.eks.amazonaws.com" {
		t.Errorf("provisioner %v", got)
	}
}

func TestIncompleteAddonsArgsAreRefused(t *testing.T) {
	for name, change := range map[string]func(*cluster.AddonsArgs){
		"no nodes":     func(a *cluster.AddonsArgs) { a.Needs = nil },
		"no pin":       func(a *cluster.AddonsArgs) { a.EBSCSIVersion = "" },
		"no cluster":   func(a *cluster.AddonsArgs) { a.Cluster.Name = nil },
		"no partition": func(a *cluster.AddonsArgs) { a.Cluster.Partition = "" },
		"bad taint":    func(a *cluster.AddonsArgs) { a.SystemTaints[0].Effect = "NO_SCHEDULE" },
	} {
		if _, err := runAddons(t, change); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}
