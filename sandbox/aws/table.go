package aws

// table holds the row of every resource type.
var table = map[string]*resourceRow{}

// Filled in here and not where it is declared: hooks of rows look into the table, which Go takes for a cycle.
func init() {
	for _, r := range []*resourceRow{
		&vpcRow, &subnetRow, &internetGatewayRow, &routeTableRow, &routeRow, &routeTableAssociationRow,
		&eipRow, &natGatewayRow, &vpcEndpointRow,
		&securityGroupRow, &securityGroupRuleRow, &ingressRuleRow, &egressRuleRow,
		&launchTemplateRow, &tagRow,
		&groupTagRow,
		&roleRow, &policyRow, &rolePolicyRow, &rolePolicyAttachmentRow, &instanceProfileRow,
		&oidcProviderRow, &serviceLinkedRoleRow,
		&keyRow, &aliasRow, &keyPolicyRow,
		&queueRow, &queuePolicyRow,
		&logGroupRow, &eventRuleRow, &eventTargetRow,
		&parameterRow,
		&clusterRow,
		&nodeGroupRow,
		&addonRow, &accessEntryRow, &accessPolicyAssociationRow, &podIdentityAssociationRow,
	} {
		if table[r.typ] != nil {
			panic("two rows for " + r.typ)
		}
		table[r.typ] = r
	}
}
