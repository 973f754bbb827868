package aws

import (
	"fmt"
	"slices"
)

// autoMode reports whether the cluster's outputs have Auto Mode on.
func autoMode(out obj) bool { return truth(out, "computeConfig.enabled") }

// planAutoMode: the three capabilities move together (field fault BR-82). Block kubernetesNetworkConfig left out keeps
// what the state has, so leaving all three out does not switch Auto Mode off: the provider refuses it.
// https://github.com/hashicorp/terraform-provider-aws/issues/40582
func planAutoMode(outputs, in obj) error {
	balanced := in
	if !has(in, "kubernetesNetworkConfig.elasticLoadBalancing") {
		balanced = outputs
	}
	compute, storage, balancing := one(in, "computeConfig.enabled"), one(in, "storageConfig.blockStorage.enabled"),
		one(balanced, "kubernetesNetworkConfig.elasticLoadBalancing.enabled")
	if isUnknown(compute) || isUnknown(storage) || isUnknown(balancing) {
		return nil
	}
	if (compute == true) != (storage == true) || (compute == true) != (balancing == true) {
		return fmt.Errorf("compute_config.enabled, kubernetes_networking_config.elastic_load_balancing.enabled, and " +
			"storage_config.block_storage.enabled must all be set to either true or false")
	}
	return nil
}

// checkAutoMode refuses what EKS refuses of a cluster with Auto Mode. Node role and pools of one that is switched off
// do not matter.
func (c *call) checkAutoMode() error {
	if !autoMode(c.out) {
		return nil
	}
	roleARN := str(c.out, "computeConfig.nodeRoleArn")
	pools := list(c.out, "computeConfig.nodePools")
	switch {
	case c.old == nil && truth(c.out, "bootstrapSelfManagedAddons"):
		return fmt.Errorf("InvalidParameterException: bootstrapSelfManagedAddons must be false if EKS Auto Mode is " +
			"enabled")
	case roleARN != "" && len(pools) == 0:
		return fmt.Errorf("InvalidParameterException: When Compute Config nodeRoleArn is not null or empty, nodePool " +
			"value(s) must be provided.")
	case len(pools) > 0 && roleARN == "":
		return fmt.Errorf("InvalidParameterException: When Compute Config nodeRoleArn is null or empty, nodePool " +
			"list cannot be populated.")
	case len(slices.Compact(slices.Sorted(slices.Values(texts(pools))))) != len(pools):
		return fmt.Errorf("InvalidParameterException: duplicate values in Compute Config nodePools")
	case str(c.out, "accessConfig.authenticationMode") == "CONFIG_MAP":
		return fmt.Errorf("InvalidParameterException: EKS Auto Mode requires the cluster's authentication mode to be " +
			"API or API_AND_CONFIG_MAP")
	}
	if roleARN != "" {
		if c.s.Find(tRole, "arn", roleARN) == nil {
			return fmt.Errorf("InvalidParameterException: The node role %s does not exist", roleARN)
		}
		serviceEntry(c, c.res.ID, roleARN, "EC2")
	}
	return nil
}
