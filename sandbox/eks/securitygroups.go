package eks

import "github.com/pulumi/pulumi/sdk/v3/go/pulumi"

const (
	groupType = "aws:ec2/securityGroup:SecurityGroup"
	ruleType  = "aws:ec2/securityGroupRule:SecurityGroupRule"
)

// rule is one security group rule of the component; source is a group, itself, or the internet when empty.
type rule struct {
	name, description, direction, protocol string
	from, to                               int
	group, source                          *plainResource
}

func (e *expansion) rule(r rule, out pulumi.CustomResource) error {
	inputs := pulumi.Map{
		"description":     pulumi.String(r.description),
		"type":            pulumi.String(r.direction),
		"protocol":        pulumi.String(r.protocol),
		"fromPort":        pulumi.Int(r.from),
		"toPort":          pulumi.Int(r.to),
		"securityGroupId": r.group.ID(),
	}
	switch r.source {
	case nil:
		inputs["cidrBlocks"] = pulumi.ToStringArray([]string{"0.0.0.0/0"})
	case r.group:
		inputs["self"] = pulumi.Bool(true)
	default:
		inputs["sourceSecurityGroupId"] = r.source.ID()
	}
	return e.register(ruleType, e.name+"-"+r.name, inputs, out)
}

func (e *expansion) clusterSecurityGroup() (*plainResource, error) {
	group := &plainResource{}
	if err := e.group("eksClusterSecurityGroup",
		e.tags(e.name+"-eksClusterSecurityGroup", e.args.ClusterSecurityGroupTags), group); err != nil {
		return nil, err
	}
	return group, e.rule(rule{name: "eksClusterInternetEgressRule", description: "Allow internet access.",
		direction: "egress", protocol: "-1", group: group}, &plainResource{})
}

func (e *expansion) group(suffix string, tags pulumi.StringMapOutput, group *plainResource) error {
	return e.register(groupType, e.name+"-"+suffix, pulumi.Map{
		"vpcId":               e.args.VpcID,
		"revokeRulesOnDelete": pulumi.Bool(true),
		"tags":                tags,
		"description":         pulumi.String("Managed by Pulumi"), // the SDK's own default
	}, group)
}

// nodeSecurityGroup is the group nodes would use, with its rules; it returns the rule that lets nodes reach the API
// server too.
func (e *expansion) nodeSecurityGroup(cluster *plainResource) (*plainResource, *ruleResource, error) {
	nodes := &plainResource{}
	tags := pulumi.All(e.tags(e.name+"-nodeSecurityGroup", e.args.NodeSecurityGroupTags),
		e.cluster.Name).ApplyT(func(v []any) map[string]string {
		tags := v[0].(map[string]string)
		tags["kubernetes.io/cluster/"+v[1].(string)] = "owned"
		return tags
	}).(pulumi.StringMapOutput)
	if err := e.group("nodeSecurityGroup", tags, nodes); err != nil {
		return nil, nil, err
	}
	for _, r := range []rule{
		{"eksNodeIngressRule", "Allow nodes to communicate with each other", "ingress", "-1", 0, 0, nodes, nodes},
		{"eksNodeClusterIngressRule", "Allow worker Kubelets and pods to receive communication from the cluster " +
			"control plane",
			"ingress", "tcp", 1025, 65535, nodes, cluster},
		{"eksExtApiServerClusterIngressRule",
			"Allow pods running extension API servers on port 443 to receive communication from cluster control plane",
			"ingress", "tcp", 443, 443, nodes, cluster},
		{"eksNodeInternetEgressRule", "Allow internet access.", "egress", "-1", 0, 0, nodes, nil},
	} {
		if err := e.rule(r, &plainResource{}); err != nil {
			return nil, nil, err
		}
	}
	ingress := &ruleResource{}
	return nodes, ingress, e.rule(rule{"eksClusterIngressRule", "Allow pods to communicate with the cluster API Server",
		"ingress", "tcp", 443, 443, cluster, nodes}, ingress)
}
