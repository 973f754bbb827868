package eks

import (
	"fmt"
	"maps"
	"slices"

	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
)

// serviceRole is an IAM role with managed policies, as the component's own sub-component.
type serviceRole struct {
	role        *roleResource
	attachments []pulumi.Resource
}

// ready are the role and its attachments: a role without its policies is of no use to what assumes it.
func (s *serviceRole) ready() []pulumi.Resource {
	if s == nil {
		return nil
	}
	return append([]pulumi.Resource{s.role}, s.attachments...)
}

func (e *expansion) serviceRole(suffix, service, description string, policies []string,
	actions ...string) (*serviceRole, error) {
	name := e.name + "-" + suffix
	c := &component{}
	inputs := pulumi.Map{"service": pulumi.String(service), "tags": e.args.Tags}
	if err := e.ctx.RegisterComponentResourceV2("eks:index:ServiceRole", name, present(inputs), c,
		pulumi.Parent(e.parent)); err != nil {
		return nil, err
	}
	s := &serviceRole{role: &roleResource{}}
	roleInputs := pulumi.Map{
		"assumeRolePolicy": pulumi.String(assumeRolePolicy(service, actions...)),
		"tags":             e.args.Tags,
	}
	if description != "" {
		roleInputs["description"] = pulumi.String(description)
	}
	if err := e.ctx.RegisterResource("aws:iam/role:Role", name+"-role", present(roleInputs), s.role,
		pulumi.Parent(c)); err != nil {
		return nil, err
	}
	for _, policy := range policies {
		attachment := &plainResource{}
		if err := e.ctx.RegisterResource("aws:iam/rolePolicyAttachment:RolePolicyAttachment",
			attachmentName(name, policy), pulumi.Map{
				"policyArn": pulumi.String(fmt.Sprintf("arn:%s:iam::aws:policy/%s", e.partition, policy)),
				"role":      ref(s.role),
			}, attachment, pulumi.Parent(c)); err != nil {
			return nil, err
		}
		s.attachments = append(s.attachments, attachment)
	}
	return s, e.ctx.RegisterResourceOutputs(c, pulumi.Map{"role": ref(s.role)})
}

// instanceRole is the role the component makes for nodes, with its instance profile.
func (e *expansion) instanceRole() (*serviceRole, error) {
	s, err := e.serviceRole("instanceRole", "ec2."+e.dnsSuffix, "", instancePolicies, "sts:AssumeRole")
	if err != nil {
		return nil, err
	}
	return s, e.register("aws:iam/instanceProfile:InstanceProfile", e.name+"-instanceProfile",
		pulumi.Map{"role": ref(s.role)}, &plainResource{}, pulumi.DependsOn(s.ready()))
}

// accessEntries makes the entries of the arguments, and one for the component's own node role.
func (e *expansion) accessEntries(nodes *serviceRole) error {
	entries := maps.Clone(e.args.AccessEntries)
	if nodes != nil {
		if entries == nil {
			entries = map[string]*accessEntry{}
		}
		entries["defaultNodeGroupInstanceRole"] = &accessEntry{
			PrincipalArn: nodes.role.Arn,
			Type:         pulumi.String("EC2_LINUX"),
		}
	}
	for _, key := range slices.Sorted(maps.Keys(entries)) {
		entry, r, name := entries[key], &plainResource{}, e.name+"-"+key
		if err := e.register("aws:eks/accessEntry:AccessEntry", name, pulumi.Map{
			"clusterName":      e.cluster.Name,
			"principalArn":     entry.PrincipalArn,
			"kubernetesGroups": entry.KubernetesGroups,
			"type":             entry.Type,
			"userName":         entry.Username,
			"tags":             entry.Tags,
		}, r, pulumi.DependsOn([]pulumi.Resource{e.cluster})); err != nil {
			return err
		}
		e.authorised = append(e.authorised, r)
		for _, policy := range slices.Sorted(maps.Keys(entry.AccessPolicies)) {
			p := entry.AccessPolicies[policy]
			if err := e.ctx.RegisterResource("aws:eks/accessPolicyAssociation:AccessPolicyAssociation", name+"-"+policy,
				present(pulumi.Map{
					"clusterName":  e.cluster.Name,
					"principalArn": entry.PrincipalArn,
					"policyArn":    p.PolicyArn,
					"accessScope":  p.AccessScope,
				}), &plainResource{}, pulumi.Parent(r), pulumi.DependsOn([]pulumi.Resource{r})); err != nil {
				return err
			}
		}
	}
	return nil
}
