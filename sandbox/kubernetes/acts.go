package kubernetes

import (
	"fmt"

	"k8s.io/apimachinery/pkg/api/resource"
	"sigs.k8s.io/yaml"

	"github.com/headroom-eks/headroom/sandbox/world"
)

// nodePoolsOf finds the NodePools of a pool, by their own name or by the label headroom/pool.
func nodePoolsOf(s *world.State, clusterName, pool string) (*cluster, []object, error) {
	c, err := clusterNamed(s, clusterName)
	if err != nil {
		return nil, nil, err
	}
	found := c.all(func(o object) bool {
		return o.kind() == nodePool && (o.name() == pool ||
			o.strings("spec", "template", "metadata", "labels")["headroom/pool"] == pool)
	})
	if len(found) == 0 {
		return nil, nil, fmt.Errorf("cluster %s has no NodePool for %q", clusterName, pool)
	}
	return c, found, nil
}

// nodePoolNamed finds one NodePool by its name.
func nodePoolNamed(s *world.State, clusterName, name string) (*cluster, object, error) {
	c, err := clusterNamed(s, clusterName)
	if err != nil {
		return nil, nil, err
	}
	for _, o := range c.all(func(o object) bool { return o.kind() == nodePool && o.name() == name }) {
		return c, o, nil
	}
	return nil, nil, fmt.Errorf("cluster %s has no NodePool %q", clusterName, name)
}

// LimitNodePool sets one limit of a NodePool, as somebody with kubectl would.
func LimitNodePool(s *world.State, clusterName, name, resourceName, limit string) error {
	if _, err := resource.ParseQuantity(limit); err != nil {
		return fmt.Errorf("limit %s: %q is not a quantity", resourceName, limit)
	}
	c, o, err := nodePoolNamed(s, clusterName, name)
	if err != nil {
		return err
	}
	spec, _ := o["spec"].(map[string]any)
	limits, _ := spec["limits"].(map[string]any)
	if limits == nil {
		limits = map[string]any{}
		spec["limits"] = limits
	}
	limits[resourceName] = limit
	return c.put(o)
}

// DeleteNodePool deletes a NodePool, as somebody with kubectl would; its nodes go with it.
func DeleteNodePool(s *world.State, clusterName, name string) error {
	c, o, err := nodePoolNamed(s, clusterName, name)
	if err != nil {
		return err
	}
	return c.deleteNodePool(o)
}

// Apply makes or changes an object from its manifest, as a GitOps tool would.
func Apply(s *world.State, clusterName, manifest string) error {
	c, err := clusterNamed(s, clusterName)
	if err != nil {
		return err
	}
	var o object
	if err := yaml.Unmarshal([]byte(manifest), &o); err != nil {
		return err
	}
	if _, found := c.get(o.apiVersion(), o.kind(), o.namespace(), o.name()); found {
		return c.update(o)
	}
	return c.create(o)
}
