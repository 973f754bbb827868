package main

import (
	"fmt"
	"strings"
	"testing"
)

// logOf writes an event log; steps are JSON of resourcePreEvent's metadata.
func logOf(t *testing.T, events ...string) Plan {
	t.Helper()
	plan, err := ReadPlan(strings.NewReader(strings.Join(append(events, `{"summaryEvent":{}}`), "\n")))
	if err != nil {
		t.Fatal(err)
	}
	return plan
}

func step(op, typ, name, rest string) string {
	return fmt.Sprintf(
		`{"resourcePreEvent":{"metadata":{"op":%q,"urn":"urn:pulumi:dev::headroom::%s::%s","type":%q%s}}}`, op, typ,
		name, typ, rest)
}

const nodeGroup = "aws:eks/nodeGroup:NodeGroup"

func scaling(low, desired, high int) string {
	return fmt.Sprintf(`{"inputs":{"scalingConfig":{"minSize":%d,"desiredSize":%d,"maxSize":%d}}}`, low, desired, high)
}

func TestRefusals(t *testing.T) {
	for name, c := range map[string]struct {
		step, says string
	}{
		"field fault BR-83: the cluster is replaced": {step("create-replacement", "aws:eks/cluster:Cluster", "c",
			`,"keys":["computeConfig"]`), "replaced because of computeConfig"},
		"the cluster is deleted": {step("delete", "aws:eks/cluster:Cluster", "c", ""),
			"would be deleted"},
		"the cluster is updated": {step("update", "aws:eks/cluster:Cluster", "c", ""), ""},
		"field fault BR-89: the provider is replaced": {step("replace", "pulumi:providers:kubernetes", "k", ""),
			"every object in the cluster"},
		"field fault BR-89: a NodePool is replaced": {step("delete-replaced", "kubernetes:karpenter.sh/v1:NodePool",
			"p", ""), "drained"},
		"a NodePool is removed from config": {step("delete", "kubernetes:karpenter.sh/v1:NodePool", "p", ""), ""},
		"something else is replaced":        {step("replace", "aws:ec2/launchTemplate:LaunchTemplate", "l", ""), ""},
		"field fault BR-15: desired size of a scaled group, named in the diff": {
			step("update", nodeGroup, "g",
				`,"diffs":["scalingConfig"],"detailedDiff":{"scalingConfig.desiredSize":{"kind":"update"}},"new":`+
					scaling(3, 3, 20)), "BR-15"},
		"field fault BR-15: desired size of a scaled group, named by the provider as a whole": {
			step("update", nodeGroup, "g", `,"diffs":["scalingConfig"],"detailedDiff":null,"old":`+scaling(3, 12, 20)+
				`,"new":`+scaling(3, 3, 20)), "BR-15"},
		"maximum of a scaled group": {
			step("update", nodeGroup, "g",
				`,"diffs":["scalingConfig"],"detailedDiff":{"scalingConfig.maxSize":{"kind":"update"}},"new":`+
					scaling(3, 3, 30)), ""},
		"a maximum and the live size beside it": {
			step("update", nodeGroup, "g", `,"diffs":["scalingConfig"],"detailedDiff":null,"old":`+scaling(3, 12, 20)+
				`,"new":`+scaling(3, 5, 30)), ""},
		"field fault BR-15: a size alone, whatever the provider names": {
			step("update", nodeGroup, "g", `,"diffs":["scalingConfig"],"detailedDiff":{"scalingConfig":{}},"old":`+
				scaling(3, 12, 20)+`,"new":`+scaling(3, 3, 20)), "BR-15"},
		"size of a fixed group": {
			step("update", nodeGroup, "g",
				`,"diffs":["scalingConfig"],"detailedDiff":{"scalingConfig.desiredSize":{"kind":"update"}},"new":`+
					scaling(3, 3, 3)), ""},
	} {
		t.Run(name, func(t *testing.T) {
			refused := Refusals(logOf(t, c.step, c.step), nil)
			if c.says == "" && len(refused) != 0 || c.says != "" &&
				(len(refused) != 1 || !strings.Contains(refused[0], c.says)) {
				t.Errorf("refused %q, want one with %q", refused, c.says)
			}
		})
	}
}

func TestAnAllowedResourcePasses(t *testing.T) {
	plan := logOf(t, step("replace", "aws:eks/cluster:Cluster", "c", ""))
	if refused := Refusals(plan, []string{"urn:pulumi:dev::headroom::aws:eks/cluster:Cluster::c"}); len(refused) != 0 {
		t.Errorf("refused %q", refused)
	}
}

// Field fault BR-92.
func TestSurprisesAreResourcesThatOnlyOneRunHas(t *testing.T) {
	preview := logOf(t, step("create", "aws:iam/role:Role", "a", ""), step("create", "aws:iam/role:Role", "b", ""))
	update := logOf(t, step("create", "aws:iam/role:Role", "b", ""), step("create", "aws:iam/role:Role", "c", ""),
		step("create", "kubernetes:helm.sh/v4:Chart$kubernetes:apps/v1:Deployment", "d", ""))
	got := strings.Join(Surprises(preview, update), "\n")
	if want := "urn:pulumi:dev::headroom::aws:iam/role:Role::c: made by the update, missing from the preview\n" +
		"urn:pulumi:dev::headroom::aws:iam/role:Role::a: in the preview, not touched by the update"; got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func stackOutputs(old, after string) string {
	return `{"resOutputsEvent":{"metadata":{"type":"pulumi:pulumi:Stack","old":` + old + `,"new":` + after + `}}}`
}

func document(maximum int, boundBy string) string {
	return fmt.Sprintf(
		`{"outputs":{"capacity":{"schemaVersion":1,"pools":[`+
			`{"name":"gpu-l4","nodes":{"realized":1,"maximum":%d,"firm":1},"boundBy":%q}]}}}`,
		maximum, boundBy)
}

func TestSummaryComparesCapacity(t *testing.T) {
	for name, c := range map[string]struct{ event, want string }{
		"changed": {stackOutputs(document(4, "configured"), document(3, "vcpu-quota")),
			"| gpu-l4 | 1 | 4 → 3 | 1 | configured → vcpu-quota |"},
		"unchanged": {stackOutputs(document(4, "configured"), document(4, "configured")), "unchanged"},
		"new":       {stackOutputs("null", document(4, "configured")), "| gpu-l4 | → 1 | → 4 | → 1 | → configured |"},
		"unknown": {stackOutputs(document(4, "configured"),
			`{"outputs":{"capacity":"04da6b54-80e4-46f7-96ec-b56ff0331ba9"}}`), "known after the update"},
		"none": {`{}`, "not advertised"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := Summary(logOf(t, c.event), nil); !strings.Contains(got, c.want) {
				t.Errorf("no %q in\n%s", c.want, got)
			}
		})
	}
}

func TestSummaryListsFindingsOnOneLineEach(t *testing.T) {
	plan := logOf(t, `{"policyEvent":{"policyName":"nodes-imds-v2","enforcementLevel":"mandatory",`+
		`"resourceUrn":"urn:pulumi:dev::h::t::name","message":"a\nb `+"`c`"+` <img>"}}`)
	if got, want := Summary(plan, []string{"x|y"}),
		"- mandatory `nodes-imds-v2` on `name`: a b 'c' &lt;img>\n"; !strings.Contains(got, want) ||
		!strings.Contains(got, `- x\|y`) {
		t.Errorf("no %q in\n%s", want, got)
	}
}

// A log that was cut short must not read as a plan without faults.
func TestACutLogIsAnError(t *testing.T) {
	for _, text := range []string{"", step("create", "t", "n", ""), `{"resourcePreEvent":`, `[]`} {
		if _, err := ReadPlan(strings.NewReader(text)); err == nil {
			t.Errorf("no error on %q", text)
		}
	}
}
