package karpenter

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/headroom-eks/headroom/components/iampolicy"
	"github.com/headroom-eks/headroom/pool"
)

func facts() Facts {
	return Facts{
		Partition: "aws", Region: "us-west-2", AccountID: "123456789012", Cluster: "dev",
		NodeRoleArn: "arn:aws:iam::123456789012:role/node", QueueArn: "arn:aws:sqs:us-west-2:123456789012:q",
	}
}

func mustPolicies(t *testing.T, version string, f Facts) map[string]iampolicy.Document {
	t.Helper()
	documents, err := Policies(version, f)
	if err != nil {
		t.Fatal(err)
	}
	return documents
}

// sids of all documents, by policy.
func sids(documents map[string]iampolicy.Document) map[string][]string {
	out := map[string][]string{}
	for key, d := range documents {
		for _, s := range d.Statement {
			out[key] = append(out[key], s.Sid)
		}
	}
	return out
}

func TestControllerHasEveryStatementOfUpstream(t *testing.T) {
	want := map[string][]string{
		nodeLifecycle: {
			"AllowScopedEC2InstanceAccessActions", "AllowScopedEC2LaunchTemplateAccessActions",
			"AllowScopedEC2InstanceActionsWithTags",
			"AllowScopedResourceCreationTagging", "AllowScopedResourceTagging", "AllowScopedDeletion",
		},
		iamIntegration: {
			"AllowPassingInstanceRole", "AllowScopedInstanceProfileCreationActions",
			"AllowScopedInstanceProfileTagActions",
			"AllowScopedInstanceProfileActions",
		},
		eksIntegration: {"AllowAPIServerEndpointDiscovery"},
		interruption:   {"AllowInterruptionQueueActions"},
		zonalShift:     {"AllowZonalShiftStatusReadOnly"},
		resourceDiscovery: {
			"AllowRegionalReadActions", "AllowSSMReadActions", "AllowPricingReadActions",
			"AllowUnscopedInstanceProfileListAction",
			"AllowInstanceProfileReadActions",
		},
	}
	for _, version := range []string{"1.13.0", "1.14.1", "1.15.0"} {
		if diff := cmp.Diff(want, sids(mustPolicies(t, version, facts()))); diff != "" {
			t.Errorf("%s, field fault BR-42:\n%s", version, diff)
		}
	}
}

func TestPermissionToRebootCameWith115(t *testing.T) {
	for version, want := range map[string]bool{"1.14.1": false, "1.15.0": true} {
		text, err := mustPolicies(t, version, facts())[nodeLifecycle].JSON(iampolicy.ManagedLimit)
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Contains(text, "ec2:RebootInstances"); got != want {
			t.Errorf("Karpenter %s may reboot: %v, want %v", version, got, want)
		}
	}
}

func TestNothingIsAllowedOnAQueueWhenInterruptionHandlingIsOff(t *testing.T) {
	f := facts()
	f.QueueArn = ""
	for key, d := range mustPolicies(t, "1.15.0", f) {
		text, err := d.JSON(iampolicy.ManagedLimit)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(text, "sqs:") {
			t.Errorf("field fault BR-30: policy %s: %s", key, text)
		}
	}
}

func TestQueueUnderACustomersKeyCanBeRead(t *testing.T) {
	f := facts()
	f.QueueKeyArn = "arn:aws:kms:us-west-2:123456789012:key/k"
	want := iampolicy.Statement{
		Sid:      "AllowInterruptionQueueKey",
		Action:   iampolicy.Strings{"kms:Decrypt"},
		Resource: iampolicy.Strings{f.QueueKeyArn},
	}
	if diff := cmp.Diff(want, mustPolicies(t, "1.15.0", f)[interruption].Statement[1]); diff != "" {
		t.Error(diff)
	}
}

// longest names that AWS allows: clusters 100, queues 80, roles 64 in paths of 512; the regions of each partition are
// the longest of it.
func longest(partition, region string) Facts {
	return Facts{
		Partition: partition,
		Region:    region,
		AccountID: "123456789012",
		Cluster:   strings.Repeat("c", 100),
		NodeRoleArn: "arn:" + partition + ":iam::123456789012:role/" + strings.Repeat("p", 512) + "/" +
			strings.Repeat("r", 64),
		QueueArn:    fmt.Sprintf("arn:%s:sqs:%s:123456789012:%s", partition, region, strings.Repeat("q", 80)),
		QueueKeyArn: fmt.Sprintf("arn:%s:kms:%s:123456789012:key/mrk-%s", partition, region, strings.Repeat("k", 32)),
	}
}

func TestEachPolicyFitsIAMsLimitForTheLongestNames(t *testing.T) {
	for partition, region := range map[string]string{
		"aws":        "ap-southeast-1",
		"aws-cn":     "cn-northwest-1",
		"aws-us-gov": "us-gov-west-1",
	} {
		for version := range releases {
			for key, d := range mustPolicies(t, version+".0", longest(partition, region)) {
				text, err := d.JSON(iampolicy.ManagedLimit)
				if err != nil {
					t.Errorf("field fault BR-38: %s in %s: %v", key, partition, err)
				}
				t.Logf("%s %s %s: %d characters", version, partition, key, len(text))
			}
		}
	}
}

func TestNoPolicyNamesAnotherPartition(t *testing.T) {
	for _, f := range []Facts{longest("aws-us-gov", "us-gov-west-1"), longest("aws-cn", "cn-north-1")} {
		for key, d := range mustPolicies(t, "1.15.0", f) {
			if text, err := d.JSON(iampolicy.ManagedLimit); err != nil || strings.Contains(text, "arn:aws:") {
				t.Errorf("field fault BR-40: %s in %s: %v %s", key, f.Partition, err, text)
			}
		}
	}
}

func TestPassRoleAdmitsBothSpellingsOfEC2InChina(t *testing.T) {
	s := mustPolicies(t, "1.15.0", longest("aws-cn", "cn-north-1"))[iamIntegration].Statement[0]
	want := iampolicy.Strings{"ec2.amazonaws.com", "ec2.amazonaws.com.cn"}
	if diff := cmp.Diff(want, s.Condition["StringEquals"]["iam:PassedToService"]); diff != "" {
		t.Errorf("field fault BR-39:\n%s", diff)
	}
}

func TestVersionsThatCannotWorkAreRefused(t *testing.T) {
	cases := map[string]struct{ version, kubernetes, want string }{
		"known good":            {"1.15.0", "1.36", ""},
		"oldest for 1.36":       {"1.13.0", "1.36", ""},
		"the newest Kubernetes": {"1.15.0", "1.37", ""},
		"too old for Kubernetes": {"1.14.1", "1.37",
			`does not support Kubernetes 1.37 (found "1.14.1"); use 1.15 or later`},
		"no entry, BR-42":         {"1.16.0", "1.36", `needs permissions that are not known here (found "1.16.0")`},
		"older than the table":    {"1.12.3", "1.35", "not known here"},
		"unknown Kubernetes":      {"1.15.0", "1.38", `no Karpenter is known to support Kubernetes "1.38"`},
		"a range":                 {"1.15.x", "1.36", "not an exact version"},
		"with v":                  {"v1.15.0", "1.36", "without v"},
		"nothing":                 {"", "1.36", "not an exact version"},
		"numbers, not characters": {"1.15.0", "1.4", "no Karpenter is known"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			err := ValidateVersion("karpenter.version", c.version, c.kubernetes).Err()
			if c.want == "" && err != nil {
				t.Error(err)
			}
			if c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("%v, want %q", err, c.want)
			}
		})
	}
}

func settings() Settings {
	return Settings{
		SystemPool: "system", SystemNodes: 2,
		SystemTaints: []pool.Taint{{Key: "CriticalAddonsOnly", Value: "true", Effect: pool.NoSchedule}},
	}
}

func wiring() Wiring {
	return Wiring{
		ClusterName:     "dev",
		Region:          "us-west-2",
		ClusterEndpoint: "https://x",
		QueueName:       "q-1",
		RoleArn:         "arn:aws:iam::123456789012:role/karpenter",
	}
}

func TestValuesOfTheChart(t *testing.T) {
	want := map[string]any{
		"settings": map[string]any{"clusterName": "dev", "clusterEndpoint": "https://x", "interruptionQueue": "q-1"},
		"controller": map[string]any{
			"env": []any{map[string]any{"name": "AWS_REGION", "value": "us-west-2"}},
			"resources": map[string]any{
				"requests": map[string]any{"cpu": "500m", "memory": "1Gi"},
				"limits":   map[string]any{"memory": "1Gi"},
			},
		},
		"serviceAccount": map[string]any{
			"create": true, "name": "karpenter",
			"annotations": map[string]any{"eks.amazonaws.com/role-arn": "arn:aws:iam::123456789012:role/karpenter"},
		},
		"replicas": 2, "priorityClassName": "system-cluster-critical", "dnsPolicy": "Default",
		"nodeSelector": map[string]any{"kubernetes.io/os": "linux", "headroom/pool": "system"},
		"tolerations": []any{
			map[string]any{"key": "CriticalAddonsOnly", "operator": "Exists"},
			map[string]any{"key": "CriticalAddonsOnly", "operator": "Equal", "value": "true", "effect": "NoSchedule"},
		},
	}
	if diff := cmp.Diff(want, Values(settings(), wiring())); diff != "" {
		t.Error(diff)
	}
}

func TestQueueIsAbsentWhenInterruptionHandlingIsOff(t *testing.T) {
	w := wiring()
	w.QueueName = ""
	if got, found := Values(settings(), w)["settings"].(map[string]any)["interruptionQueue"]; found {
		t.Errorf("field fault BR-30: %q", got)
	}
}

func TestAlphaSwitchesAreSetOnlyWhenAsked(t *testing.T) {
	off := Values(settings(), wiring())["settings"].(map[string]any)
	for _, key := range []string{"featureGates", "enableDRA", "ignoreDRARequests", "isolatedVPC"} {
		if got, found := off[key]; found {
			t.Errorf("%s is %v", key, got)
		}
	}
	s := settings()
	s.StaticCapacity, s.EnableDRA, s.IsolatedVpc = true, true, true
	on := Values(s, wiring())["settings"].(map[string]any)
	if diff := cmp.Diff(map[string]any{"staticCapacity": true}, on["featureGates"]); diff != "" {
		t.Error(diff)
	}
	if on["enableDRA"] != true || on["isolatedVPC"] != true {
		t.Errorf("settings %v", on)
	}
}

func TestOneReplicaOnOneSystemNode(t *testing.T) {
	for nodes, want := range map[int]int{0: 1, 1: 1, 2: 2, 5: 2} {
		if got := Replicas(nodes); got != want {
			t.Errorf("field fault BR-56: %d replicas on %d nodes, want %d", got, nodes, want)
		}
	}
}

func TestControllerToleratesEverySystemTaint(t *testing.T) {
	s := settings()
	s.SystemTaints = append(s.SystemTaints, pool.Taint{Key: "dedicated", Effect: pool.NoExecute}, pool.Taint{
		Key:    "a/b",
		Value:  "c",
		Effect: pool.NoSchedule,
	})
	text, err := json.Marshal(Values(s, wiring())["tolerations"])
	if err != nil {
		t.Fatal(err)
	}
	var tolerations []pool.Toleration
	if err := json.Unmarshal(text, &tolerations); err != nil {
		t.Fatal(err)
	}
	for _, taint := range s.SystemTaints {
		if !slices.ContainsFunc(tolerations, func(tol pool.Toleration) bool { return tol.Tolerates(taint) }) {
			t.Errorf("field fault BR-56: %s is not tolerated", taint)
		}
	}
}

func TestPolicyKeysAreThoseOfTheDocuments(t *testing.T) {
	for _, queue := range []string{"", "arn:aws:sqs:us-west-2:123456789012:q"} {
		f := facts()
		f.QueueArn = queue
		got := slices.Sorted(maps.Keys(mustPolicies(t, "1.15.0", f)))
		want := policyKeys(queue != "")
		slices.Sort(want)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
	}
}
