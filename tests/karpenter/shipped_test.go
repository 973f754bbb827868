package karpenter_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	awsv1 "github.com/aws/karpenter-provider-aws/pkg/apis/v1"
	"github.com/headroom-eks/headroom/components/iampolicy"
	"github.com/headroom-eks/headroom/components/nodepool"
	"github.com/headroom-eks/headroom/tests/karpenter/iameval"
	appsv1 "k8s.io/api/apps/v1"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/yaml"
)

// registered is a resource of a golden graph: what the program registers for a shipped environment, kept true by the
// tests of infra.
type registered struct {
	Type, Name string
	Inputs     map[string]any
}

// shipped gives the golden graphs of the environments that use Karpenter, by environment.
func shipped(t *testing.T) map[string][]registered {
	t.Helper()
	files, err := filepath.Glob("../../infra/testdata/*.golden.yaml")
	if err != nil {
		t.Fatal(err)
	}
	out := map[string][]registered{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		list, _, _ := strings.Cut(string(text), "\n---\n") // the outputs follow
		var resources []registered
		if err := yaml.Unmarshal([]byte(list), &resources); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		if len(ofType(resources, "headroom:karpenter:Controller")) > 0 {
			out[strings.TrimSuffix(filepath.Base(file), ".golden.yaml")] = resources
		}
	}
	if len(out) == 0 {
		t.Fatal("no shipped environment uses Karpenter, or the golden graphs have another form")
	}
	return out
}

func ofType(resources []registered, typ string) (found []registered) {
	for _, r := range resources {
		if r.Type == typ {
			found = append(found, r)
		}
	}
	return found
}

func named(t *testing.T, resources []registered, typ, name string) registered {
	t.Helper()
	for _, r := range ofType(resources, typ) {
		if r.Name == name {
			return r
		}
	}
	t.Fatalf("no %s named %s", typ, name)
	return registered{}
}

// manifest of a custom resource as the program registers it.
func (r registered) manifest(t *testing.T) nodepool.Manifest {
	t.Helper()
	text, err := yaml.Marshal(r.Inputs)
	if err != nil {
		t.Fatal(err)
	}
	var m nodepool.Manifest
	if err := yaml.UnmarshalStrict(text, &m); err != nil {
		t.Fatal(err)
	}
	return m
}

func TestManifestsOfShippedEnvironmentsAreKarpentersOwn(t *testing.T) {
	pools, classes := definitionOf(t, "nodepools.karpenter.sh"), definitionOf(t, "ec2nodeclasses.karpenter.k8s.aws")
	for environment, resources := range shipped(t) {
		poolsHere := ofType(resources, "kubernetes:karpenter.sh/v1:NodePool")
		if len(poolsHere) == 0 {
			t.Errorf("%s uses Karpenter and has no NodePool", environment)
		}
		classNames := map[string]bool{}
		for _, r := range ofType(resources, "kubernetes:karpenter.k8s.aws/v1:EC2NodeClass") {
			var got awsv1.EC2NodeClass
			m := r.manifest(t)
			// The mocks' ids have a form of their own.
			for i, term := range m.Spec["subnetSelectorTerms"].([]any) {
				term.(map[string]any)["id"] = fmt.Sprintf("subnet-%d", i)
			}
			if err := classes.admit(strict(t, m, &got)); err != nil {
				t.Errorf("%s: %s: %v", environment, r.Name, err)
			}
			if errs := awsv1.ValidateKubeletConfig(got.Spec.Kubelet); len(errs) > 0 {
				t.Errorf("%s: %s: kubelet: %v", environment, r.Name, errs)
			}
			classNames[got.Name] = true
		}
		for _, r := range poolsHere {
			var got karpv1.NodePool
			object := strict(t, r.manifest(t), &got)
			if err := got.RuntimeValidate(context.Background()); err != nil {
				t.Errorf("%s: %s: RuntimeValidate: %v", environment, r.Name, err)
			}
			if err := pools.admit(object); err != nil {
				t.Errorf("%s: %s: %v", environment, r.Name, err)
			}
			if !classNames[got.Spec.Template.Spec.NodeClassRef.Name] {
				t.Errorf("%s: %s refers to node class %s, which is not there", environment, r.Name,
					got.Spec.Template.Spec.NodeClassRef.Name)
			}
		}
	}
}

func TestChartsOfShippedEnvironmentsRender(t *testing.T) {
	for environment, resources := range shipped(t) {
		chart := named(t, resources, "kubernetes:helm.sh/v4:Chart", "karpenter-chart")
		if chart.Inputs["version"] != chartVersion {
			t.Errorf("%s pins Karpenter %v, these tests are for %s", environment, chart.Inputs["version"], chartVersion)
		}
		objects, err := render(t, "karpenter", chart.Inputs["values"].(map[string]any))
		if err != nil {
			t.Fatalf("%s: %v", environment, err)
		}
		var d appsv1.Deployment
		one(t, objects, "Deployment", &d)
		env := map[string]string{}
		for _, e := range d.Spec.Template.Spec.Containers[0].Env {
			env[e.Name] = e.Value
		}
		for _, name := range []string{"CLUSTER_NAME", "CLUSTER_ENDPOINT", "INTERRUPTION_QUEUE", "AWS_REGION"} {
			if env[name] == "" || strings.HasPrefix(env[name], "arn:") {
				t.Errorf("%s: %s is %q", environment, name, env[name])
			}
		}
		static := false
		for _, r := range ofType(resources, "kubernetes:karpenter.sh/v1:NodePool") {
			_, fixed := r.Inputs["spec"].(map[string]any)["replicas"]
			static = static || fixed
		}
		if on := strings.Contains(env["FEATURE_GATES"], "StaticCapacity=true"); on != static {
			t.Errorf("%s: gate StaticCapacity is %v, static pools are there: %v", environment, on, static)
		}
	}
}

func TestControllersOfShippedEnvironmentsMayDoTheirWorkAndNoMore(t *testing.T) {
	for environment, resources := range shipped(t) {
		var documents []iampolicy.Document
		for _, r := range ofType(resources, "aws:iam/policy:Policy") {
			if !strings.HasPrefix(r.Name, "karpenter-") {
				continue
			}
			d, err := iameval.Parse(r.Inputs["policy"].(string))
			if err != nil {
				t.Fatal(err)
			}
			documents = append(documents, d)
		}
		values := named(t, resources, "kubernetes:helm.sh/v4:Chart",
			"karpenter-chart").Inputs["values"].(map[string]any)
		entry := named(t, resources, "aws:eks/accessEntry:AccessEntry", "karpenter-nodes-entry")
		target := named(t, resources, "aws:cloudwatch/eventTarget:EventTarget", "interruption-rebalance")
		p := place{"aws", "us-west-2", "123456789012", "amazonaws.com"} // the simulated account
		own := names{
			cluster:     values["settings"].(map[string]any)["clusterName"].(string),
			nodeRoleArn: entry.Inputs["principalArn"].(string), // the role that may join
			queueArn:    target.Inputs["arn"].(string),         // the queue that is filled
		}
		for _, requests := range p.calls(t, own) {
			decide(t, documents, requests, true)
		}
		decide(t, documents, p.foreign(t, p.names(own.cluster+"-2")), false)
		if t.Failed() {
			t.Fatalf("in %s", environment)
		}
	}
}
