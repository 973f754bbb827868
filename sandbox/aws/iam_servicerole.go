package aws

import (
	"fmt"
	"slices"
	"strings"

	"github.com/headroom-eks/headroom/sandbox/world"
)

var serviceLinkedRoleRow = resourceRow{
	typ:      "aws:iam/serviceLinkedRole:ServiceLinkedRole",
	inputs:   []string{"awsServiceName", "customSuffix", "description"},
	required: []string{"awsServiceName"},
	replaces: []string{"awsServiceName", "customSuffix"},
	tagged:   true,
	id:       "arn:{partition}:iam::{account}:role/aws-service-role/{awsServiceName}/{roleName}",
	arn:      "{id}",
	exists: "InvalidInput: Service role name {roleName} has been taken in this account, please try a different " +
		"suffix.",
	computed: map[string]string{
		"name":       "{roleName}",
		"path":       "/aws-service-role/{awsServiceName}/",
		"uniqueId":   "AROA{random}",
		"createDate": "2026-01-01T00:00:00Z",
	},
	derive:   deriveServiceLinkedRole,
	check:    checkServiceLinkedRole,
	onCreate: createServiceLinkedRole,
	onDelete: deleteServiceLinkedRole,
}

func deriveServiceLinkedRole(_ *world.State, in obj) (obj, error) {
	name, known := serviceRoles[str(in, "awsServiceName")]
	if !known {
		return nil, fmt.Errorf("InvalidInput: the sandbox does not know the service-linked role of %s; add "+
			"it to serviceRoles in sandbox/aws/iam_servicerole.go",
			str(in, "awsServiceName"))
	}
	return obj{"roleName": name}, nil
}

func checkServiceLinkedRole(in obj, fail func(string, string)) {
	if name := str(in, "awsServiceName"); name != "" && !strings.Contains(name, ".amazonaws.com") {
		fail("awsServiceName", "must be a service principal such as spot.amazonaws.com")
	}
}

func createServiceLinkedRole(c *call) error {
	name := str(c.out, "name")
	if slices.Contains(c.s.ServiceLinkedRoles, name) {
		return fmt.Errorf("InvalidInput: Service role name %s has been taken in this account, please try a "+
			"different suffix.", name)
	}
	c.s.LinkRole(name)
	return nil
}

func deleteServiceLinkedRole(c *call) error {
	name := str(c.out, "name")
	if name == world.SpotRole && len(c.s.SortedInstances(func(i *world.Instance) bool {
		return i.Running() && i.Spot
	})) > 0 {
		return fmt.Errorf("DeletionTaskFailed: %s is in use by running spot instances", name)
	}
	c.s.ServiceLinkedRoles = slices.DeleteFunc(c.s.ServiceLinkedRoles, func(n string) bool { return n == name })
	return nil
}

// serviceRoles are the names of service-linked roles by service.
var serviceRoles = map[string]string{
	"spot.amazonaws.com":          world.SpotRole,
	"eks.amazonaws.com":           "AWSServiceRoleForAmazonEKS",
	"eks-nodegroup.amazonaws.com": "AWSServiceRoleForAmazonEKSNodegroup",
	"autoscaling.amazonaws.com":   "AWSServiceRoleForAutoScaling",
}
