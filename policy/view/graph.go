package view

import (
	"slices"
	"strings"
)

// Type tokens the rules rely on, as the SDKs register them.
const (
	TypeStack          = "pulumi:pulumi:Stack"
	TypeLaunchTemplate = "aws:ec2/launchTemplate:LaunchTemplate"
	TypeNodeGroup      = "aws:eks/nodeGroup:NodeGroup"
	TypePoolGroup      = "headroom:nodegroup:NodeGroup" // the component around it
	TypeCluster        = "aws:eks/cluster:Cluster"
	TypeAddon          = "aws:eks/addon:Addon"
	TypeRole           = "aws:iam/role:Role"
	TypePolicy         = "aws:iam/policy:Policy"
	TypeRolePolicy     = "aws:iam/rolePolicy:RolePolicy"
	TypeProfile        = "aws:iam/instanceProfile:InstanceProfile"
	TypeQueue          = "aws:sqs/queue:Queue"
	TypeQueuePolicy    = "aws:sqs/queuePolicy:QueuePolicy"
	TypeEventRule      = "aws:cloudwatch/eventRule:EventRule"
	TypeEventTarget    = "aws:cloudwatch/eventTarget:EventTarget"
	TypeLogGroup       = "aws:cloudwatch/logGroup:LogGroup"
	TypeKey            = "aws:kms/key:Key"
	TypeAlias          = "aws:kms/alias:Alias"
	TypeNodePool       = "kubernetes:karpenter.sh/v1:NodePool"
	TypeEC2NodeClass   = "kubernetes:karpenter.k8s.aws/v1:EC2NodeClass"
	TypeAutoNodeClass  = "kubernetes:eks.amazonaws.com/v1:NodeClass"
	TypeChart          = "kubernetes:helm.sh/v4:Chart"
	TypeDeployment     = "kubernetes:apps/v1:Deployment"
	TypeDaemonSet      = "kubernetes:apps/v1:DaemonSet"
	TypeStatefulSet    = "kubernetes:apps/v1:StatefulSet"
)

// Graph is every resource of a stack, as stack rules see it.
type Graph struct{ Resources []Resource }

// OfType gives the resources of the types, in the graph's order.
func (g Graph) OfType(types ...string) []Resource {
	var out []Resource
	for _, r := range g.Resources {
		if slices.Contains(types, r.Type) {
			out = append(out, r)
		}
	}
	return out
}

// Output of the stack by name; absent when the graph has no stack resource.
func (g Graph) Output(name string) Value {
	for _, r := range g.OfType(TypeStack) {
		return r.Props.Key(name)
	}
	return Value{path: name}
}

// StackURN is where findings about the whole stack are reported; empty when the graph has no stack resource.
func (g Graph) StackURN() string {
	for _, r := range g.OfType(TypeStack) {
		return r.URN
	}
	return ""
}

// Controller finds what runs a controller: its chart, the chart's Deployment once it is rendered, or the component that
// wraps both. A chart (helm/v4) shows policies nothing of its own, neither version nor values: only its name and, after
// rendering, its objects.
func (g Graph) Controller(name string) (Resource, bool) {
	for _, r := range g.Resources {
		wrapper := r.Type == "headroom:"+strings.ReplaceAll(name, "-", "")+":Controller"
		object := (r.Type == TypeChart || r.Type == TypeDeployment) && strings.Contains(r.Name, name) &&
			!strings.Contains(r.Name, name+"-crd")
		if wrapper || object {
			return r, true
		}
	}
	return Resource{}, false
}

// Refers says whether a property of one resource holds an output of another: by value where both are known, and
// otherwise by what the property was made from, which a preview knows too.
func Refers(from Resource, prop string, to Resource, output string) State {
	held, s1 := from.Props.Key(prop).Text()
	given, s2 := to.Props.Key(output).Text()
	switch {
	case s1 == Known && s2 == Known && held == given:
		return Known
	case slices.Contains(from.PropertyDependencies[prop], to.URN):
		return Known
	case s1 == Unknown || s1 == Known && s2 == Unknown:
		return Unknown
	}
	return Absent
}
