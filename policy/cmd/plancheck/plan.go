package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
)

// Step is what an update would do to one resource.
type Step struct {
	Op           string              `json:"op"`
	URN          string              `json:"urn"`
	Type         string              `json:"type"`
	Keys         []string            `json:"keys"` // what forces a replacement
	Diffs        []string            `json:"diffs"`
	DetailedDiff map[string]struct{} `json:"detailedDiff"`
	Old          *StepState          `json:"old"`
	New          *StepState          `json:"new"`
}

// StepState is a resource before or after; secrets are masked by the engine.
type StepState struct {
	Inputs  map[string]any             `json:"inputs"`
	Outputs map[string]json.RawMessage `json:"outputs"`
}

// PolicyFinding of a pack.
type PolicyFinding struct {
	Policy string `json:"policyName"`
	Level  string `json:"enforcementLevel"`
	URN    string `json:"resourceUrn"`
	Text   string `json:"message"`
}

// Plan is what an event log says.
type Plan struct {
	Steps    []Step
	Findings []PolicyFinding
	// Before and After are the stack's output capacity, nil where there is none.
	Before, After json.RawMessage
	// Errors are the engine's messages of severity error.
	Errors []string
	ended  bool
}

// ReadPlan reads an event log: one JSON event after another.
// https://pkg.go.dev/github.com/pulumi/pulumi/sdk/v3/go/common/apitype#EngineEvent
func ReadPlan(r io.Reader) (Plan, error) {
	var plan Plan
	for decoder := json.NewDecoder(r); ; {
		var event struct {
			Pre *struct {
				Metadata Step `json:"metadata"`
			} `json:"resourcePreEvent"`
			Outputs *struct {
				Metadata Step `json:"metadata"`
			} `json:"resOutputsEvent"`
			Policy     *PolicyFinding `json:"policyEvent"`
			Diagnostic *struct {
				Severity string `json:"severity"`
				Message  string `json:"message"`
			} `json:"diagnosticEvent"`
			Summary *struct{} `json:"summaryEvent"`
		}
		err := decoder.Decode(&event)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return plan, err
		}
		switch {
		case event.Pre != nil:
			plan.Steps = append(plan.Steps, event.Pre.Metadata)
		case event.Policy != nil:
			plan.Findings = append(plan.Findings, *event.Policy)
		case event.Outputs != nil && event.Outputs.Metadata.Type == "pulumi:pulumi:Stack":
			if old := event.Outputs.Metadata.Old; old != nil && old.Outputs["capacity"] != nil {
				plan.Before = old.Outputs["capacity"]
			}
			if after := event.Outputs.Metadata.New; after != nil && after.Outputs["capacity"] != nil {
				plan.After = after.Outputs["capacity"]
			}
		case event.Diagnostic != nil && event.Diagnostic.Severity == "error":
			plan.Errors = append(plan.Errors, strings.TrimSpace(event.Diagnostic.Message))
		case event.Summary != nil:
			plan.ended = true
		}
	}
	if !plan.ended {
		return plan, errors.New("the log has no summary: the run was cut short, or this is no event log")
	}
	return plan, nil
}

// keep are the types whose replacement takes running work with it (field faults BR-83 and BR-89), and why.
var keep = map[string]string{
	"aws:eks/cluster:Cluster":             "everything in the cluster goes with it",
	"pulumi:providers:kubernetes":         "every object in the cluster is replaced with it",
	"pulumi:providers:aws":                "every resource in AWS is replaced with it",
	"kubernetes:karpenter.sh/v1:NodePool": "its nodes are drained, whatever runs on them",
}

// Refusals says which steps must not happen unnoticed. A replacement comes in several steps; each resource is named
// once.
func Refusals(plan Plan, allowed []string) (refused []string) {
	named := map[string]bool{}
	refuse := func(s Step, format string, args ...any) {
		if !named[s.URN] && !slices.Contains(allowed, s.URN) {
			named[s.URN] = true
			refused = append(refused, fmt.Sprintf("%s: %s; if it is meant, pass -allow with this URN", s.URN,
				fmt.Sprintf(format, args...)))
		}
	}
	for _, s := range plan.Steps {
		why, kept := keep[s.Type]
		replaced := s.Op == "replace" || s.Op == "create-replacement" || s.Op == "delete-replaced"
		switch {
		case kept && replaced:
			refuse(s, "would be replaced because of %s: %s", cmp.Or(strings.Join(s.Keys, ", "), "an unnamed change"),
				why)
		case s.Op == "delete" && s.Type == "aws:eks/cluster:Cluster":
			refuse(s, "would be deleted: %s", why)
		case s.Op == "update" && s.Type == "aws:eks/nodeGroup:NodeGroup" && movesDesiredSize(s):
			refuse(s, "scalingConfig.desiredSize would change on a group that its scaler moves (field fault BR-15): "+
				"busy nodes would be drained")
		}
	}
	return refused
}

// movesDesiredSize holds for an update that touches the desired size of a group with room to scale, and none of its
// bounds. With a bound EKS takes all three numbers at once, and the program sends the size that the group has, which
// may be another than the state remembers. Where both inputs are known they decide; providers name the change in
// several ways.
func movesDesiredSize(s Step) bool {
	if low := size(s.New, "minSize"); low != nil && low == size(s.New, "maxSize") {
		return false
	}
	if s.Old == nil || s.New == nil {
		return slices.ContainsFunc(slices.Collect(maps.Keys(s.DetailedDiff)),
			func(path string) bool { return strings.Contains(path, "desiredSize") })
	}
	moved := func(key string) bool { return size(s.Old, key) != size(s.New, key) }
	return moved("desiredSize") && !moved("minSize") && !moved("maxSize")
}

func size(state *StepState, key string) any {
	if state == nil {
		return nil
	}
	scaling, _ := state.Inputs["scalingConfig"].(map[string]any)
	return scaling[key]
}

// Surprises are resources that the update had and the preview did not, or the other way round: made inside a callback,
// they escape the preview and every policy on it (field fault BR-92). What charts render is left out: before the
// cluster exists, previews cannot know it.
func Surprises(preview, update Plan) (out []string) {
	planned, done := urns(preview), urns(update)
	for _, urn := range done {
		if !slices.Contains(planned, urn) {
			out = append(out, urn+": made by the update, missing from the preview")
		}
	}
	for _, urn := range planned {
		if !slices.Contains(done, urn) {
			out = append(out, urn+": in the preview, not touched by the update")
		}
	}
	return out
}

func urns(plan Plan) (out []string) {
	for _, s := range plan.Steps {
		if !strings.Contains(s.URN, "kubernetes:helm.sh/v4:Chart$") && !slices.Contains(out, s.URN) {
			out = append(out, s.URN)
		}
	}
	slices.Sort(out)
	return out
}
