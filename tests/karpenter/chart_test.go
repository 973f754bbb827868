package karpenter_test

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/headroom-eks/headroom/components/karpenter"
	"github.com/headroom-eks/headroom/pool"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
)

const chartVersion = "1.15.0"

var systemTaints = []pool.Taint{{
	Key:    "CriticalAddonsOnly",
	Value:  "true",
	Effect: pool.NoSchedule,
}, {Key: "headroom/system", Effect: pool.NoExecute}}

func settings() karpenter.Settings {
	return karpenter.Settings{SystemPool: "system", SystemNodes: 2, SystemTaints: systemTaints}
}

func wiring() karpenter.Wiring {
	return karpenter.Wiring{
		ClusterName:     "gpu-west",
		Region:          "us-west-2",
		ClusterEndpoint: "https://x.eks.amazonaws.com",
		QueueName:       "queue-1a2b",
		RoleArn:         "arn:aws:iam::123456789012:role/karpenter-role-3c4d",
	}
}

func deployment(t *testing.T, s karpenter.Settings, w karpenter.Wiring) (corev1.PodSpec, int32, map[string]string) {
	t.Helper()
	objects, err := render(t, "karpenter", karpenter.Values(s, w))
	if err != nil {
		t.Fatal(err)
	}
	var d appsv1.Deployment
	one(t, objects, "Deployment", &d)
	env := map[string]string{}
	for _, e := range d.Spec.Template.Spec.Containers[0].Env {
		env[e.Name] = e.Value
	}
	return d.Spec.Template.Spec, *d.Spec.Replicas, env
}

func TestControllerIsToldItsClusterQueueAndRegion(t *testing.T) {
	_, _, env := deployment(t, settings(), wiring())
	for name, want := range map[string]string{
		"CLUSTER_NAME":       "gpu-west",
		"CLUSTER_ENDPOINT":   "https://x.eks.amazonaws.com",
		"INTERRUPTION_QUEUE": "queue-1a2b",
		"AWS_REGION":         "us-west-2",
	} {
		if env[name] != want {
			t.Errorf("field faults BR-28, BR-29, BR-78: %s is %q, want %q", name, env[name], want)
		}
	}
}

func TestControllerHasNoQueueWhenInterruptionHandlingIsOff(t *testing.T) {
	w := wiring()
	w.QueueName = ""
	if _, _, env := deployment(t, settings(), w); env["INTERRUPTION_QUEUE"] != "" {
		t.Errorf("field fault BR-30: queue %q", env["INTERRUPTION_QUEUE"])
	}
}

func TestServiceAccountCarriesTheRoleThatTrustsIt(t *testing.T) {
	objects, err := render(t, "karpenter", karpenter.Values(settings(), wiring()))
	if err != nil {
		t.Fatal(err)
	}
	var account corev1.ServiceAccount
	one(t, objects, "ServiceAccount", &account)
	if account.Name != karpenter.ServiceAccount || account.Namespace != karpenter.Namespace {
		t.Errorf("field fault BR-54: service account %s/%s", account.Namespace, account.Name)
	}
	if got := account.Annotations["eks.amazonaws.com/role-arn"]; got != wiring().RoleArn {
		t.Errorf("role annotation %q", got)
	}
	if pod, _, _ := deployment(t, settings(), wiring()); pod.ServiceAccountName != karpenter.ServiceAccount {
		t.Errorf("field fault BR-54: the pods run as %s", pod.ServiceAccountName)
	}
}

func TestControllerRunsOnTheSystemPoolAndNowhereElse(t *testing.T) {
	pod, _, _ := deployment(t, settings(), wiring())
	if diff := cmp.Diff(map[string]string{"headroom/pool": "system", "kubernetes.io/os": "linux"},
		pod.NodeSelector); diff != "" {
		t.Errorf("field fault BR-56:\n%s", diff)
	}
	for _, taint := range systemTaints {
		tolerated := slices.ContainsFunc(pod.Tolerations, func(tol corev1.Toleration) bool {
			return pool.Toleration{
				Key:      tol.Key,
				Operator: string(tol.Operator),
				Value:    tol.Value,
				Effect:   pool.Effect(tol.Effect),
			}.Tolerates(taint)
		})
		if !tolerated {
			t.Errorf("field fault BR-56: %s is not tolerated by %v", taint, pod.Tolerations)
		}
	}
	if pod.PriorityClassName != "system-cluster-critical" || pod.DNSPolicy != corev1.DNSDefault {
		t.Errorf("field faults BR-56, BR-57: priority %s, DNS %s", pod.PriorityClassName, pod.DNSPolicy)
	}
	requests := pod.Containers[0].Resources.Requests
	if requests.Cpu().IsZero() || requests.Memory().IsZero() {
		t.Errorf("requests %v", requests)
	}
}

func TestReplicasFitTheSystemPool(t *testing.T) {
	for nodes, want := range map[int]int32{1: 1, 2: 2, 3: 2} {
		s := settings()
		s.SystemNodes = nodes
		pod, replicas, _ := deployment(t, s, wiring())
		if replicas != want {
			t.Errorf("field fault BR-56: %d replicas on %d nodes, want %d", replicas, nodes, want)
		}
		if pod.Affinity.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution == nil {
			t.Error("the chart no longer keeps replicas apart: look at Replicas again")
		}
	}
}

func TestAlphaGatesFollowTheSettings(t *testing.T) {
	_, _, off := deployment(t, settings(), wiring())
	s := settings()
	s.StaticCapacity, s.EnableDRA, s.IsolatedVpc = true, true, true
	_, _, on := deployment(t, s, wiring())
	for _, c := range []struct{ name, off, on string }{
		{"FEATURE_GATES", "StaticCapacity=false", "StaticCapacity=true"},
		{"AWS_FEATURE_GATES", "DRANVIDIAGPU=false", "DRANVIDIAGPU=true"},
		{"IGNORE_DRA_REQUESTS", "true", "false"},
		{"ISOLATED_VPC", "", "true"},
	} {
		if !strings.Contains(off[c.name], c.off) || !strings.Contains(on[c.name], c.on) {
			t.Errorf("%s is %q off and %q on", c.name, off[c.name], on[c.name])
		}
	}
}

func TestImageComesFromTheMirror(t *testing.T) {
	s := settings()
	s.ImageRepository = "mirror.example/karpenter/controller"
	if pod, _, _ := deployment(t, s, wiring()); !strings.HasPrefix(pod.Containers[0].Image, s.ImageRepository+":") {
		t.Errorf("image %s", pod.Containers[0].Image)
	}
}

// Field fault BR-50: adopting the definitions takes the names of all of them.
func TestMigrationNoteNamesEveryDefinitionOfTheChart(t *testing.T) {
	objects, err := render(t, "karpenter-crd", nil)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, o := range objects {
		got = append(got, o["metadata"].(map[string]any)["name"].(string))
	}
	slices.Sort(got)
	if diff := cmp.Diff(karpenter.CRDs, got); diff != "" {
		t.Errorf("field fault BR-50:\n%s", diff)
	}
	note, err := os.ReadFile("../../docs/karpenter.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range got {
		if !strings.Contains(string(note), name) {
			t.Errorf("field fault BR-50: the note lacks %s", name)
		}
	}
}
