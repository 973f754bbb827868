package karpenter_test

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"
	"sigs.k8s.io/yaml"
)

const upstream = "github.com/aws/karpenter-provider-aws"

// moduleDir is where the module with the real charts lies.
func moduleDir(t *testing.T) string {
	t.Helper()
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Version}} {{.Dir}}", upstream).Output()
	if err != nil {
		t.Fatalf("find %s: %v", upstream, err)
	}
	version, dir, _ := strings.Cut(strings.TrimSpace(string(out)), " ")
	if version != "v"+chartVersion {
		t.Fatalf("the module is %s, the tests are for %s", version, chartVersion)
	}
	return dir
}

// render gives the objects that a real chart makes of the values, or the chart's refusal.
func render(t *testing.T, name string, values map[string]any) ([]map[string]any, error) {
	t.Helper()
	chart, err := loader.Load(filepath.Join(moduleDir(t), "charts", name))
	if err != nil {
		t.Fatal(err)
	}
	options := chartutil.ReleaseOptions{Name: name, Namespace: "kube-system", IsInstall: true, Revision: 1}
	capabilities := chartutil.DefaultCapabilities.Copy()
	capabilities.KubeVersion = chartutil.KubeVersion{Version: "v1.36.3", Major: "1", Minor: "36"}
	all, err := chartutil.ToRenderValues(chart, values, options, capabilities)
	if err != nil {
		return nil, err
	}
	files, err := engine.Render(chart, all)
	if err != nil {
		return nil, err
	}
	var objects []map[string]any
	for file, text := range files {
		for _, document := range strings.Split(text, "\n---") {
			var object map[string]any
			if err := yaml.Unmarshal([]byte(document), &object); err != nil {
				return nil, fmt.Errorf("read %s: %w", file, err)
			}
			if object["kind"] != nil {
				objects = append(objects, object)
			}
		}
	}
	return objects, nil
}

// one object of a kind.
func one(t *testing.T, objects []map[string]any, kind string, into any) {
	t.Helper()
	var found []map[string]any
	for _, o := range objects {
		if o["kind"] == kind {
			found = append(found, o)
		}
	}
	if len(found) != 1 {
		t.Fatalf("%d objects of kind %s", len(found), kind)
	}
	text, err := yaml.Marshal(found[0])
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.UnmarshalStrict(text, into); err != nil {
		t.Fatal(err)
	}
}
