package constraints_test

import (
	"strings"
	"testing"

	"github.com/headroom-eks/headroom/sandbox/constraints"
)

type obj = map[string]any

const (
	nodeGroup = "aws:eks/nodeGroup:NodeGroup"
	addon     = "aws:eks/addon:Addon"
	template  = "aws:ec2/launchTemplate:LaunchTemplate"
)

// What the sandbox took although AWS refuses it: tried-2, section 3.
func TestWhatAWSRefusesIsRefusedWithItsPath(t *testing.T) {
	long := strings.Repeat("x", 64)
	for name, c := range map[string]struct {
		typ  string
		in   obj
		want string
	}{
		"an empty label value": {nodeGroup, obj{"labels": obj{"a": ""}},
			`labels["a"]: expected at least 1 characters, got 0`},
		"a long label key": {nodeGroup, obj{"labels": obj{long: "a"}}, `"]: expected at most 63 characters, got 64`},
		"an empty taint key": {nodeGroup, obj{"taints": []any{obj{"key": "", "effect": "NO_EXECUTE"}}},
			`taints[0].key: expected at least 1 characters`},
		"a percentage of nothing": {nodeGroup,
			obj{"nodeRepairConfig": obj{"maxParallelNodesRepairedPercentage": 0.0}},
			`nodeRepairConfig.maxParallelNodesRepairedPercentage: expected at least 1, got 0`},
		"an empty template version": {nodeGroup, obj{"launchTemplate": obj{"version": ""}},
			`launchTemplate.version: expected at least 1 characters`},
		"an empty add-on version": {addon, obj{"addonVersion": ""}, `addonVersion: expected at least 1`},
		"a role that is no ARN": {addon,
			obj{"podIdentityAssociations": []any{obj{"serviceAccount": "a", "roleArn": "role"}}},
			`podIdentityAssociations[0].roleArn: "role" does not match`},
		"a missing member": {addon, obj{"podIdentityAssociations": []any{obj{"serviceAccount": "a"}}},
			`podIdentityAssociations[0]: RoleArn is required and missing`},
		"a word of the registry": {"aws:ssm/parameter:Parameter", obj{"dataType": "nonsense"},
			`dataType: expected dataType to be one of [text aws:ec2:image], got nonsense`},
		"a word inside a template": {template, obj{"placement": obj{"tenancy": "nonsense"}},
			`placement.tenancy: expected`},
		"a long description": {template, obj{"description": strings.Repeat("ä", 256)},
			`description: expected at most 255 characters, got 256`},
		"a path without slashes": {"aws:iam/role:Role", obj{"path": "x"}, `path: "x" does not match`},
		"a short thumbprint": {"aws:iam/openIdConnectProvider:OpenIdConnectProvider",
			obj{"thumbprintLists": []any{"ab"}}, `thumbprintLists[0]: expected at least 40 characters`},
		"an empty tag key in a list of tags": {"aws:iam/role:Role", obj{"tags": obj{"": "a"}},
			`tags[""]: expected at least 1 characters`},
		"a short age of events": {"aws:cloudwatch/eventTarget:EventTarget",
			obj{"retryPolicy": obj{"maximumEventAgeInSeconds": 59.0}}, `expected at least 60, got 59`},
		"a property that no model has": {nodeGroup, obj{"updateConfig": obj{"maxUnavailble": 1.0}},
			`updateConfig.maxUnavailble: has no member in eks.CreateNodegroup and no exception`},
		"a list in place of a structure": {nodeGroup, obj{"updateConfig": []any{obj{}}},
			`updateConfig: is a list, which AWS does not take`},
		"a type without a mapping": {"aws:x/y:Z", obj{}, `has no mapping of aws:x/y:Z`},
	} {
		t.Run(name, func(t *testing.T) {
			var found []string
			for _, v := range constraints.Check(c.typ, c.in) {
				found = append(found, v.Path+": "+v.Reason)
			}
			if !strings.Contains(strings.Join(found, "\n"), c.want) {
				t.Errorf("want %q, found %q", c.want, found)
			}
		})
	}
}

func TestWhatAWSTakesPasses(t *testing.T) {
	for name, c := range map[string]struct {
		typ string
		in  obj
	}{
		"a group": {nodeGroup, obj{
			"labels":        obj{"a/b": "c"},
			"taints":        []any{obj{"key": "a", "value": "", "effect": "NO_SCHEDULE"}},
			"scalingConfig": obj{"minSize": 0.0, "maxSize": 1.0, "desiredSize": 0.0},
		}},
		"a value that a preview does not know": {nodeGroup, obj{"labels": obj{"a": struct{}{}}}},
		"what the provider filled in":          {nodeGroup, obj{"updateConfig": obj{"__defaults": []any{}}}},
		"a tag of 128 characters on an add-on": {addon, obj{"tags": obj{strings.Repeat("x", 128): ""}}},
	} {
		if found := constraints.Check(c.typ, c.in); len(found) > 0 {
			t.Errorf("%s: %v", name, found)
		}
	}
}
