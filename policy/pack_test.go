package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/headroom-eks/headroom/policy/graphtest"
	"github.com/headroom-eks/headroom/policy/rules"
	"github.com/headroom-eks/headroom/policy/serve"
	"github.com/pulumi/pulumi/sdk/v3/go/common/resource"
	"github.com/pulumi/pulumi/sdk/v3/go/common/resource/plugin"
	pulumirpc "github.com/pulumi/pulumi/sdk/v3/proto/go"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/protobuf/types/known/emptypb"
	"google.golang.org/protobuf/types/known/structpb"
)

// inProcess serves the pack inside the test, once: policyx has no way to stop it but the end of the process. Each call
// of ConfigureStack makes a fresh pack, so tests do not share state.
var inProcess = sync.OnceValues(func() (string, error) {
	reader, writer, err := os.Pipe()
	if err != nil {
		return "", err
	}
	stdout := os.Stdout
	os.Stdout = writer // policyx prints the port there
	go func() { fmt.Fprintln(os.Stderr, pack.Serve()) }()
	port, err := readPort(reader)
	os.Stdout = stdout
	return port, err
})

func readPort(r io.Reader) (string, error) {
	line, err := bufio.NewReader(r).ReadString('\n')
	if err != nil {
		return "", err
	}
	if _, err := strconv.Atoi(strings.TrimSpace(line)); err != nil {
		return "", fmt.Errorf("the first line is no port: %w", err)
	}
	return strings.TrimSpace(line), nil
}

// build compiles the pack as the Makefile does.
func build(t *testing.T) string {
	t.Helper()
	binary := filepath.Join(t.TempDir(), "policy")
	command := exec.Command("go", "build", "-trimpath", "-ldflags", "-w -s", "-o", binary, ".")
	if out, err := command.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return binary
}

// built gives the port of the pack as a person runs it: the compiled binary.
func built(t *testing.T) string {
	t.Helper()
	command := exec.Command(build(t))
	stdout, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = command.Process.Kill(); _ = command.Wait() })
	port, err := readPort(stdout)
	if err != nil {
		t.Fatal(err)
	}
	return port
}

// engine speaks to the pack as the engine does.
type engine struct {
	t testing.TB
	pulumirpc.AnalyzerClient
}

// connect shakes hands and configures the pack; policies holds levels and settings by rule, as the engine has
// reconciled them.
func connect(t testing.TB, port string, stack map[string]string, policies map[string]*pulumirpc.PolicyConfig) engine {
	t.Helper()
	conn, err := grpc.NewClient("127.0.0.1:"+port, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	e := engine{t, pulumirpc.NewAnalyzerClient(conn)}
	ctx := context.Background()
	if _, err := e.Handshake(ctx, &pulumirpc.AnalyzerHandshakeRequest{}); err != nil {
		t.Fatal(err)
	}
	if stack == nil {
		stack = map[string]string{"aws:region": "us-west-2"}
	}
	if _, err := e.ConfigureStack(ctx, &pulumirpc.AnalyzerStackConfigureRequest{
		Project: "headroom",
		Stack:   "dev",
		Config:  stack,
	}); err != nil {
		t.Fatal(err)
	}
	if _, err := e.Configure(ctx, &pulumirpc.ConfigureAnalyzerRequest{PolicyConfig: policies}); err != nil {
		t.Fatal(err)
	}
	return e
}

func marshal(t testing.TB, r graphtest.Record) *structpb.Struct {
	t.Helper()
	out, err := plugin.MarshalProperties(resource.ToResourcePropertyMap(r.Properties()), plugin.MarshalOptions{
		KeepUnknowns:     true,
		KeepSecrets:      true,
		KeepResources:    true,
		KeepOutputValues: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// analyze shows every graphtest.Record to resource policies and then all of them to stack policies.
func (e engine) analyze(records []graphtest.Record) []*pulumirpc.AnalyzeDiagnostic {
	return e.analyzeBoth(records, records)
}

// analyzeBoth has inputs for resource policies and outputs for stack policies, of the same resources.
func (e engine) analyzeBoth(records, outputs []graphtest.Record) (found []*pulumirpc.AnalyzeDiagnostic) {
	e.t.Helper()
	ctx := context.Background()
	var all []*pulumirpc.AnalyzerResource
	for i, r := range records {
		seen := r.View()
		options := &pulumirpc.AnalyzerResourceOptions{Protect: r.Protect, IgnoreChanges: r.IgnoreChanges}
		properties := marshal(e.t, r)
		response, err := e.Analyze(ctx, &pulumirpc.AnalyzeRequest{
			Type:       seen.Type,
			Name:       seen.Name,
			Urn:        seen.URN,
			Properties: properties,
			Options:    options,
		})
		if err != nil {
			e.t.Fatal(err)
		}
		found = append(found, response.Diagnostics...)
		after := marshal(e.t, outputs[i])
		all = append(all, &pulumirpc.AnalyzerResource{
			Type:       seen.Type,
			Name:       seen.Name,
			Urn:        seen.URN,
			Properties: after,
			Options:    options,
		})
	}
	response, err := e.AnalyzeStack(ctx, &pulumirpc.AnalyzeStackRequest{Resources: all})
	if err != nil {
		e.t.Fatal(err)
	}
	return append(found, response.Diagnostics...)
}

func inProcessPort(t testing.TB) string {
	t.Helper()
	port, err := inProcess()
	if err != nil {
		t.Fatal(err)
	}
	return port
}

func TestServedPackTellsLevelsAndSettings(t *testing.T) {
	e := connect(t, inProcessPort(t), nil, nil)
	info, err := e.GetAnalyzerInfo(context.Background(), &emptypb.Empty{})
	if err != nil {
		t.Fatal(err)
	}
	manifest, err := os.ReadFile("PulumiPolicy.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if info.Name != pack.Name || !strings.Contains(string(manifest), "version: "+info.Version+"\n") {
		t.Errorf("pack %s %s does not match PulumiPolicy.yaml", info.Name, info.Version)
	}
	levels := map[string]pulumirpc.EnforcementLevel{serve.UnknownNote: pulumirpc.EnforcementLevel_ADVISORY}
	for _, rule := range pack.Rules {
		levels[rule.Name] = pulumirpc.EnforcementLevel_ADVISORY
		if rule.Level == rules.Mandatory {
			levels[rule.Name] = pulumirpc.EnforcementLevel_MANDATORY
		}
	}
	defaults := map[string]any{}
	told := map[string]bool{}
	for _, policy := range info.Policies {
		told[policy.Name] = true
		if want, known := levels[policy.Name]; !known || policy.EnforcementLevel != want {
			t.Errorf("%s has level %s, want %s", policy.Name, policy.EnforcementLevel, want)
		}
		for name, property := range policy.GetConfigSchema().GetProperties().GetFields() {
			defaults[policy.Name+"."+name] = property.GetStructValue().AsMap()["default"]
		}
	}
	if len(told) != len(levels) {
		t.Errorf("%d policies told, %d in the table", len(told), len(levels))
	}
	for _, rule := range pack.Rules {
		for _, s := range rule.Settings {
			if got := defaults[rule.Name+"."+s.Name]; got == nil || fmt.Sprint(got) != fmt.Sprint(s.Default) {
				t.Errorf("%s.%s has default %v in the schema, %v in the table", rule.Name, s.Name, got, s.Default)
			}
		}
	}
}

// served holds the pack, as somebody runs it, to what it must answer.
var served = []struct {
	about string
	test  func(t *testing.T, port string)
}{
	{"finds nothing in the golden graph", findsNothing},
	{"says what is wrong, where, and the remedy", saysWhatWhereAndRemedy},
	{"unknown values are one advisory note", notesUnknownOnce},
	{"what outputs do not say yet, a stack rule takes from inputs", takesFromInputs},
	{"a stack rule takes its settings from the pack's config", takesSettings},
	{"a disabled rule is silent", silentWhenDisabled},
	{"what the environment declares is read from the stack's configuration", readsTheEnvironment},
}

func TestServedPack(t *testing.T) {
	for name, port := range map[string]func(*testing.T) string{
		"in process":   func(t *testing.T) string { return inProcessPort(t) },
		"built binary": built,
	} {
		t.Run(name, func(t *testing.T) {
			address := port(t)
			for _, s := range served {
				t.Run(s.about, func(t *testing.T) { s.test(t, address) })
			}
		})
	}
}

func findsNothing(t *testing.T, port string) {
	for _, d := range connect(t, port, nil, nil).analyze(graphtest.Golden(t)) {
		t.Errorf("%s: %s", d.PolicyName, d.Message)
	}
}

func saysWhatWhereAndRemedy(t *testing.T, port string) {
	records := graphtest.Golden(t)
	graphtest.Find(t, records, "gpu-l4-class").Set(t, "al2023@latest", "spec", "amiSelectorTerms", 0, "alias")
	found := connect(t, port, nil, nil).analyze(records)
	if len(found) != 1 {
		t.Fatalf("%d findings, want 1", len(found))
	}
	d := found[0]
	if d.PolicyName != "nodes-image-pinned" || d.EnforcementLevel != pulumirpc.EnforcementLevel_MANDATORY ||
		!strings.HasSuffix(d.Urn, "::gpu-l4-class") {
		t.Errorf("found %s at level %s on %s", d.PolicyName, d.EnforcementLevel, d.Urn)
	}
	for _, part := range []string{"rolls the fleet", "spec.amiSelectorTerms[0].alias", `"al2023@latest"`,
		"Remedy: "} {
		if !strings.Contains(d.Message, part) {
			t.Errorf("no %q in %s", part, d.Message)
		}
	}
}

func notesUnknownOnce(t *testing.T, port string) {
	records := graphtest.Golden(t)
	graphtest.Find(t, records, "karpenter-role-role").Set(t, graphtest.Unknown{}, "assumeRolePolicy")
	graphtest.Find(t, records, "cluster-eks-eksCluster").Set(t, graphtest.Unknown{}, "version")
	found := connect(t, port, nil, nil).analyze(records)
	if len(found) != 1 || found[0].PolicyName != serve.UnknownNote ||
		found[0].EnforcementLevel != pulumirpc.EnforcementLevel_ADVISORY ||
		!strings.HasSuffix(found[0].Urn, "::headroom-dev") ||
		!strings.Contains(found[0].Message, "iam-trust-exact cannot be checked in preview: "+
			"karpenter-role-role assumeRolePolicy") ||
		!strings.Contains(found[0].Message, "cluster-version-supported cannot be checked in preview: "+
			"cluster-eks-eksCluster version") {
		t.Errorf("found %v", found)
	}
}

func takesFromInputs(t *testing.T, port string) {
	records := graphtest.Golden(t)
	graphtest.Find(t, records, "gpu-ca-group").Set(t, "serving", "taints", 1, "key")
	outputs := graphtest.Golden(t)
	for _, name := range []string{"gpu-ca-group", "gpu-l4-pool"} {
		graphtest.Find(t, outputs, name).Props = map[string]any{"spec": graphtest.Unknown{}}
	}
	var names []string
	for _, d := range connect(t, port, nil, nil).analyzeBoth(records, outputs) {
		names = append(names, d.PolicyName)
	}
	if len(names) == 0 || names[0] != "scalers-disjoint" {
		t.Errorf("found %v", names)
	}
}

func takesSettings(t *testing.T, port string) {
	settings, err := structpb.NewStruct(map[string]any{"maxGpus": 14})
	if err != nil {
		t.Fatal(err)
	}
	found := connect(t, port, nil, map[string]*pulumirpc.PolicyConfig{
		"gpu-budget": {EnforcementLevel: pulumirpc.EnforcementLevel_MANDATORY, Properties: settings},
	}).analyze(graphtest.Golden(t))
	if len(found) != 1 || found[0].PolicyName != "gpu-budget" ||
		!strings.Contains(found[0].Message, "budget is 14") {
		t.Errorf("found %v", found)
	}
}

func silentWhenDisabled(t *testing.T, port string) {
	records := graphtest.Golden(t)
	graphtest.Find(t, records, "cluster-eks-eksCluster").Protect = false
	found := connect(t, port, nil, map[string]*pulumirpc.PolicyConfig{
		"cluster-protected": {EnforcementLevel: pulumirpc.EnforcementLevel_DISABLED},
	}).analyze(records)
	if len(found) != 0 {
		t.Errorf("found %v", found)
	}
}

func readsTheEnvironment(t *testing.T, port string) {
	records := graphtest.Golden(t)
	graphtest.Find(t, records, "gpu-ca-group").Set(t, "serving", "taints", 1, "key")
	stack := map[string]string{"aws:region": "us-west-2",
		"headroom:environment": `{"podsSelectPool": true}`}
	if found := connect(t, port, stack, nil).analyze(records); len(found) != 0 {
		t.Errorf("found %v", found)
	}
}

// What the pack adds to a preview: every resource of the golden graph shown once, then all of them together, over gRPC.
func BenchmarkPreview(b *testing.B) {
	e := connect(b, inProcessPort(b), nil, nil)
	records := graphtest.Golden(b)
	for b.Loop() {
		e.analyze(records)
	}
}
