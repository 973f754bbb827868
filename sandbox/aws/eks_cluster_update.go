package aws

import (
	"fmt"

	"github.com/headroom-eks/headroom/sandbox/world"
)

// updatedBlocks are the blocks of a cluster that its update keeps when they are left out.
var updatedBlocks = []string{
	"computeConfig", "storageConfig", "accessConfig", "upgradePolicy", "kubernetesNetworkConfig", "zonalShiftConfig",
}

func updateCluster(c *call) error {
	// EKS changes only what it is told: blocks that are left out stay as they are.
	for _, k := range updatedBlocks {
		before, was := c.res.Outputs[k].(obj)
		switch {
		case was && !has(c.in, k):
			c.set(k, before)
		case was:
			c.set(k, merged(before, c.in[k]))
		}
	}
	if has(c.old, "computeConfig") && !has(c.in, "computeConfig") {
		return fmt.Errorf("InvalidParameterException: The type for cluster update was not provided.")
	}
	if has(c.old, "encryptionConfig") {
		c.set("encryptionConfig", c.old["encryptionConfig"]) // cannot be changed; the provider does not even try
	}
	if err := c.updateVersion(); err != nil {
		return err
	}
	mode := map[string]int{"CONFIG_MAP": 0, "API_AND_CONFIG_MAP": 1, "API": 2}
	if was, is := str(c.res.Outputs, "accessConfig.authenticationMode"),
		str(c.out, "accessConfig.authenticationMode"); mode[is] < mode[was] {
		return fmt.Errorf("InvalidParameterException: Unsupported authentication mode update from %s to %s", was, is)
	}
	if err := c.checkAutoMode(); err != nil {
		return err
	}
	if err := c.checkClusterRole(); err != nil {
		return err
	}
	if !autoMode(c.out) && autoMode(c.res.Outputs) {
		for _, i := range c.s.SortedInstances(func(i *world.Instance) bool {
			return i.Cluster == c.res.ID && i.Pool != ""
		}) {
			c.s.Terminate(i.ID, "Auto Mode disabled")
		}
	}
	if err := c.placeControlPlane(); err != nil {
		return err
	}
	c.writeLogs()
	return nil
}

// updateVersion goes one minor version up, or none.
func (c *call) updateVersion() error {
	from, to := str(c.res.Outputs, "version"), str(c.out, "version")
	if !has(c.in, "version") {
		c.set("version", from)
		to = from
	}
	_, known := findVersion(to)
	switch {
	case !known:
		return fmt.Errorf("InvalidParameterException: unsupported Kubernetes version update from %s to %s", from, to)
	case minor(to) < minor(from):
		return fmt.Errorf("InvalidParameterException: unsupported Kubernetes version update from %s to %s (EKS does "+
			"not go back)", from, to)
	case minor(to) > minor(from)+1:
		return fmt.Errorf("InvalidParameterException: Unsupported Kubernetes minor version update from %s to %s", from,
			to)
	}
	for _, r := range c.s.OfType(tNodeGroup) {
		if v := str(r.Outputs, "version"); r.Inputs["clusterName"] == c.res.ID && minor(to) > minor(v)+3 {
			return fmt.Errorf("InvalidParameterException: Nodegroup %s is at %s; update it before the control plane "+
				"goes to %s", r.ID, v, to)
		}
	}
	return nil
}
