package infra

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/headroom-eks/headroom/infra/config"
	"github.com/headroom-eks/headroom/sandbox/world"
)

// What other people met in public, and only the program as a whole can show. docs/field-faults.md lists all of it.

// everyScaler is an environment with a pool of each scaler that can share a cluster.
const everyScaler = `
config:
  aws:region: us-west-2
  headroom:environment:
    network: {zones: [us-west-2a, us-west-2b]}
    cluster: {publicAccessCidrs: [203.0.113.0/24]}
    podsSelectPool: true
    general: {scaler: karpenter, capacityTypes: [on-demand], limits: {vcpus: 64, memoryGiB: 256}}
    pools:
      - {name: gpu-fixed, scaler: fixed, instanceTypes: [g6.xlarge], nodeCount: 1}
      - {name: gpu-managed, scaler: cluster-autoscaler, instanceTypes: [g6.xlarge], minNodeCount: 0, maxNodeCount: 2}
      - name: gpu-karpenter
        scaler: karpenter
        instanceTypes: [g6.xlarge]
        capacityTypes: [on-demand]
        maxNodeCount: 2
`

func registers(t *testing.T, stack, stackFile string, change ...func(*world.State) error) *graph {
	t.Helper()
	g, err := run(t, stack, stackFile, change...)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// of lists the resources whose type ends with a name, sorted by their own.
func (g *graph) of(t *testing.T, typeName string) (found []registered) {
	t.Helper()
	for _, r := range g.resources {
		if strings.HasSuffix(r.Type, ":"+typeName) {
			found = append(found, r)
		}
	}
	if len(found) == 0 {
		t.Fatalf("the program registers no %s", typeName)
	}
	slices.SortFunc(found, func(a, b registered) int { return strings.Compare(a.Name, b.Name) })
	return found
}

// at is a value inside of nested objects and lists of a resource's inputs; nil where there is none.
func at(value any, path ...any) any {
	for _, step := range path {
		switch key := step.(type) {
		case string:
			object, _ := value.(map[string]any)
			value = object[key]
		case int:
			list, _ := value.([]any)
			if key >= len(list) {
				return nil
			}
			value = list[key]
		}
	}
	return value
}

// Field fault BR-31. A name inside a cluster may repeat, since the clusters differ; so may an add-on's and a service's.
func TestTwoStacksOfOneAccountShareNoName(t *testing.T) {
	taken := map[string]string{}
	for _, stack := range []string{"blue", "green"} {
		for _, r := range registers(t, stack, everyScaler).resources {
			if !strings.HasPrefix(r.Type, "aws:") || r.Inputs["clusterName"] != nil {
				continue
			}
			for _, key := range []string{"name", "namePrefix", "roleName", "policyName", "keyPairName", "groupName",
				"dbName", "bucket"} {
				name, given := r.Inputs[key]
				if !given {
					continue
				}
				physical := fmt.Sprintf("%s %s %v", r.Type, key, name)
				if by, repeated := taken[physical]; repeated {
					t.Errorf("field fault BR-31: stacks %s and %s both make %s", by, stack, physical)
				}
				taken[physical] = stack
			}
		}
	}
	if len(taken) < 2 {
		t.Errorf("only %d names were compared", len(taken))
	}
}

// Field fault BR-32: nobody can point the controller at a queue that another cluster reads.
func TestAQueueOfAnotherClusterCannotBeGiven(t *testing.T) {
	_,
		problems := config.Decode(
		`{"network": {"zones": ["us-west-2a", "us-west-2b"]}, "karpenter": {"interruptionQueueName": "shared"}}`)
	if err := problems.Err(); err == nil || !strings.Contains(err.Error(), "interruptionQueueName") {
		t.Errorf("field fault BR-32: %v", err)
	}
	if queues := registers(t, "blue", everyScaler).of(t, "Queue"); slices.ContainsFunc(queues,
		func(r registered) bool { return r.Inputs["name"] != nil }) {
		t.Errorf("field fault BR-32: a queue has a name of its own choosing: %v", queues)
	}
}

// inRegion moves an environment and its account to another region.
func inRegion(region, stackFile string) (string, func(*world.State) error) {
	return strings.ReplaceAll(stackFile, "us-west-2", region), func(s *world.State) error {
		fresh := world.Fresh(region)
		s.Region, s.Partition = fresh.Region, fresh.Partition
		return nil
	}
}

// Field fault BR-40, in every place: managed policies, resource patterns, trust, keys, providers.
func TestNothingNamesTheCommercialPartitionInAnother(t *testing.T) {
	for region, partition := range map[string]string{"us-gov-west-1": "aws-us-gov", "cn-north-1": "aws-cn"} {
		stackFile, moved := inRegion(region, everyScaler)
		arns := 0
		for _, r := range registers(t, "elsewhere", stackFile, moved).resources {
			text, err := json.Marshal(r.Inputs)
			if err != nil {
				t.Fatal(err)
			}
			if strings.Contains(string(text), "arn:aws:") {
				t.Errorf("field fault BR-40: %s: %s %s: %s", region, r.Type, r.Name, text)
			}
			arns += strings.Count(string(text), "arn:"+partition+":")
		}
		if arns < 20 {
			t.Errorf("%s: only %d ARNs of the partition were seen", region, arns)
		}
	}
}

// Field fault BR-39: in China EC2 goes by two names, and the role of every node trusts both; nowhere else is there a
// name of China's.
func TestNodesRolesTrustEC2UnderTheNamesOfThePartition(t *testing.T) {
	for region, chinese := range map[string]bool{"us-gov-west-1": false, "cn-north-1": true} {
		stackFile, moved := inRegion(region, everyScaler)
		trusting := 0
		for _, r := range registers(t, "elsewhere", stackFile, moved).of(t, "Role") {
			trust, _ := r.Inputs["assumeRolePolicy"].(string)
			if !strings.Contains(trust, `"ec2.amazonaws.com"`) {
				continue
			}
			trusting++
			if strings.Contains(trust, `"ec2.amazonaws.com.cn"`) != chinese {
				t.Errorf("%s: %s trusts %s", region, r.Name, trust)
			}
		}
		if trusting < 2 { // managed groups, Karpenter
			t.Errorf("%s: %d roles trust EC2", region, trusting)
		}
	}
}

// Field fault BR-43: what the node class runs as, what the controller may pass, and what may join are one role.
func TestNodesControllerAndAccessEntryMeanOneRole(t *testing.T) {
	g := registers(t, "blue", everyScaler)
	const role, arn = "karpenter-nodes-role", "arn:aws:mock:us-west-2:000000000000:karpenter-nodes-role"
	for _, class := range g.of(t, "EC2NodeClass") {
		if got := at(class.Inputs, "spec", "role"); got != role {
			t.Errorf("field fault BR-43: %s runs as %v, want %s", class.Name, got, role)
		}
	}
	entry := g.of(t, "AccessEntry")
	if len(entry) != 1 || entry[0].Inputs["principalArn"] != arn {
		t.Errorf("field fault BR-43: the entries are %v, want one for %s", entry, arn)
	}
	passed := 0
	for _, policy := range g.of(t, "Policy") {
		text, _ := policy.Inputs["policy"].(string)
		var document struct{ Statement []map[string]any }
		if err := json.Unmarshal([]byte(text), &document); err != nil {
			t.Fatalf("%s: %v", policy.Name, err)
		}
		for _, s := range document.Statement {
			if s["Action"] == "iam:PassRole" {
				passed++
				if s["Resource"] != arn {
					t.Errorf("field fault BR-43: %s may pass %v, want %s", policy.Name, s["Resource"], arn)
				}
			}
		}
	}
	if passed != 1 {
		t.Errorf("%d statements pass a role", passed)
	}
}

// Field faults BR-52 and BR-53: charts carry no login, are no Helm releases whose half-made state blocks the next
// update, and what has to become ready comes after the nodes it runs on.
func TestChartsCarryNoLoginAndComeAfterTheirNodes(t *testing.T) {
	g := registers(t, "blue", everyScaler)
	for _, chart := range g.of(t, "Chart") {
		if chart.Type != "kubernetes:helm.sh/v4:Chart" {
			t.Errorf("field fault BR-53: %s is a %s", chart.Name, chart.Type)
		}
		options, _ := chart.Inputs["repositoryOpts"].(map[string]any)
		if others := slices.DeleteFunc(slices.Sorted(maps.Keys(options)),
			func(key string) bool { return key == "repo" }); len(others) > 0 {
			t.Errorf("field fault BR-52: %s has %v", chart.Name, others)
		}
		if definitionsOnly := strings.HasSuffix(chart.Name, "-crd"); !definitionsOnly &&
			!slices.Contains(chart.DependsOn, "system-group") {
			t.Errorf("field fault BR-53: %s does not come after the system group: %v", chart.Name, chart.DependsOn)
		}
	}
	if slices.ContainsFunc(g.resources, func(r registered) bool { return strings.HasSuffix(r.Type, ":Release") }) {
		t.Error("field fault BR-53: there is a Helm release")
	}
}

// Field fault BR-71: the images bring the driver, so the device plugin is all that is installed.
func TestNoOperatorInstallsASecondDriver(t *testing.T) {
	for _, chart := range registers(t, "blue", everyScaler).of(t, "Chart") {
		if strings.Contains(fmt.Sprint(chart.Inputs["chart"]), "gpu-operator") {
			t.Errorf("field fault BR-71: %v", chart.Inputs)
		}
	}
}

// Field fault BR-73.
func TestAGPUPoolBringsItsDevicePluginUnlessSomeoneElseDoes(t *testing.T) {
	charts := func(stackFile string) (names []string) {
		for _, chart := range registers(t, "blue", stackFile).of(t, "Chart") {
			names = append(names, chart.Name)
		}
		return names
	}
	if got := charts(everyScaler); !slices.Contains(got, "gpu-device-plugin") {
		t.Errorf("field fault BR-73: GPU pools, and the charts are %v", got)
	}
	if got := charts(everyScaler + "    gpu: {providedElsewhere: true}\n"); slices.Contains(got, "gpu-device-plugin") {
		t.Errorf("provided elsewhere, and the charts are %v", got)
	}
	env,
		problems := config.Decode(
		`{"network": {"zones": ["us-west-2a", "us-west-2b"]}, "gpu": {"providedElsewhere": true},
		"pools": [{"name": "a", "scaler": "karpenter", "instanceTypes": ["g6.xlarge"], "maxNodeCount": 1}]}`)
	if err := problems.Err(); err != nil {
		t.Fatal(err)
	}
	if said := strings.Join(env.WithDefaults("blue").Warnings(), "\n"); !strings.Contains(said,
		"gpu.providedElsewhere") {
		t.Errorf("field fault BR-73: switched off without a word: %q", said)
	}
}

// Field faults BR-74 and BR-75: managed nodes get the cluster's security group from EKS, since their templates name
// none; Karpenter's get the same one, by id.
func TestNodesOfAllPoolsAreInOneSecurityGroup(t *testing.T) {
	g := registers(t, "blue", everyScaler)
	if n := len(g.of(t, "LaunchTemplate")); n != 3 {
		t.Errorf("%d templates, want those of the system group and of two pools", n)
	}
	for _, template := range g.of(t, "LaunchTemplate") {
		for _, key := range []string{"vpcSecurityGroupIds", "securityGroupNames", "networkInterfaces"} {
			if got, given := template.Inputs[key]; given {
				t.Errorf("field fault BR-75: %s has %s %v", template.Name, key, got)
			}
		}
	}
	want := []any{map[string]any{"id": "sg-cluster"}}
	for _, class := range g.of(t, "EC2NodeClass") {
		if diff := cmp.Diff(want, at(class.Inputs, "spec", "securityGroupSelectorTerms")); diff != "" {
			t.Errorf("field faults BR-74 and BR-75: %s:\n%s", class.Name, diff)
		}
	}
	for _, made := range g.resources {
		if strings.HasPrefix(made.Type, "aws:") &&
			regexp.MustCompile(`SecurityGroup|securityGroup`).MatchString(made.Type) {
			t.Errorf("field faults BR-75 and BR-87: the program makes a group of its own, %s", made.Name)
		}
	}
}

// Field fault BR-76: a network of somebody else gets no resource and no tag, and node classes list its subnets by id.
func TestNodeClassesNameSubnetsById(t *testing.T) {
	for _, class := range registers(t, "blue", everyScaler).of(t, "EC2NodeClass") {
		terms, _ := at(class.Inputs, "spec", "subnetSelectorTerms").([]any)
		if len(terms) == 0 {
			t.Errorf("%s selects no subnet", class.Name)
		}
		for _, term := range terms {
			if keys := slices.Collect(maps.Keys(term.(map[string]any))); !slices.Equal(keys, []string{"id"}) {
				t.Errorf("field fault BR-76: %s selects by %v", class.Name, keys)
			}
		}
	}
}

// Field fault BR-41.
func TestSpotWithoutItsRoleIsRefusedBeforeAnythingIsMade(t *testing.T) {
	g, err := run(t, "staging", shipped(t, "staging"))
	if err == nil || !strings.Contains(err.Error(), "AWSServiceRoleForEC2Spot") ||
		!strings.Contains(err.Error(), "create-service-linked-role") {
		t.Errorf("field fault BR-41: %v", err)
	}
	for _, r := range g.resources {
		if !strings.HasPrefix(r.Type, "pulumi:providers:") {
			t.Errorf("field fault BR-41: made before the refusal: %s %s", r.Type, r.Name)
		}
	}
}

// Field fault BR-68.
func TestAPoolStaysInTheZonesThatOfferItsType(t *testing.T) {
	notIn := func(zones ...string) func(*world.State) error {
		return func(s *world.State) error {
			for _, zone := range zones {
				if err := s.EmptyZone(zone, "g6.xlarge", false); err != nil {
					return err
				}
			}
			return nil
		}
	}
	g := registers(t, "blue", everyScaler, notIn("us-west-2a"))
	want := []any{"network-private-us-west-2b-id"}
	for _, group := range g.of(t, "NodeGroup") {
		if group.Name == "system-group" || strings.HasPrefix(group.Type, "headroom:") {
			continue
		}
		if diff := cmp.Diff(want, group.Inputs["subnetIds"]); diff != "" {
			t.Errorf("field fault BR-68: %s:\n%s", group.Name, diff)
		}
	}
	class := g.of(t, "EC2NodeClass")
	for _, c := range class {
		if c.Name == "pool-gpu-karpenter-class" {
			if got := at(c.Inputs, "spec", "subnetSelectorTerms"); !cmp.Equal([]any{map[string]any{"id": want[0]}},
				got) {
				t.Errorf("field fault BR-68: %s: %v", c.Name, got)
			}
		}
	}
	_, err := run(t, "blue", everyScaler, notIn("us-west-2a", "us-west-2b"))
	if err == nil || !strings.Contains(err.Error(), "no zone is left for g6.xlarge") ||
		!strings.Contains(err.Error(), "[us-west-2a us-west-2b]") {
		t.Errorf("field fault BR-68: %v", err)
	}
}

// Field fault BR-85: the engine deletes a resource before all that it needs. So whatever lives in the cluster must
// need, at some remove, the cluster, the access entries, and the provider.
func TestNothingInTheClusterOutlivesTheWayToIt(t *testing.T) {
	g := registers(t, "prod", shipped(t, "prod"))
	byKey := map[string]registered{}
	for _, r := range g.resources {
		byKey[r.Type+" "+r.Name] = r
	}
	var outlive func(key string, seen map[string]bool)
	outlive = func(key string, seen map[string]bool) {
		for _, need := range byKey[key].needs {
			if !seen[need] {
				seen[need] = true
				outlive(need, seen)
			}
		}
	}
	must := []string{"eks:index:Cluster cluster-eks", "pulumi:providers:kubernetes kubernetes"}
	for _, a := range g.of(t, "AccessPolicyAssociation") {
		must = append(must, a.Type+" "+a.Name)
	}
	inCluster := 0
	for key, r := range byKey {
		needed := map[string]bool{}
		outlive(key, needed)
		if needed[key] {
			t.Errorf("%s needs itself", key)
		}
		if !strings.HasPrefix(r.Type, "kubernetes:") {
			continue
		}
		inCluster++
		for _, m := range must {
			if !needed[m] {
				t.Errorf("field fault BR-85: %s may outlive %s", key, m)
			}
		}
	}
	if inCluster < 8 {
		t.Errorf("only %d objects in the cluster were seen", inCluster)
	}
}

// Field faults BR-86 and BR-87: nodes go while the controller, their permissions, the network add-on and every way out
// are still there.
func TestNodesGoBeforeWhatTheyNeed(t *testing.T) {
	g := registers(t, "prod", shipped(t, "prod"))
	var must []string
	for _, name := range []string{"Route", "AccessEntry", "QueuePolicy"} {
		for _, r := range g.of(t, name) {
			must = append(must, r.Name)
		}
	}
	must = append(must, "karpenter-chart", "karpenter-crd", "karpenter-nodes-AmazonEKSWorkerNodePolicy",
		"karpenter-eks-integration", "system-group", "cluster-eks")
	for _, pool := range g.of(t, "NodePool") {
		if strings.HasPrefix(pool.Type, "headroom:") {
			continue
		}
		for _, m := range must {
			if !slices.Contains(pool.DependsOn, m) {
				t.Errorf("field faults BR-86 and BR-87: %s may outlive %s", pool.Name, m)
			}
		}
	}
}
