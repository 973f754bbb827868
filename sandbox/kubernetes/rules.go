package kubernetes

import (
	"fmt"
	"slices"
	"strings"
)

// create stores a new object and lets the controllers of the cluster act on it.
func (c *cluster) create(o object) error {
	namespaced, err := c.scope(o.apiVersion(), o.kind())
	if err != nil {
		return err
	}
	metadata, _ := o["metadata"].(map[string]any)
	if metadata == nil || o.name() == "" {
		return fmt.Errorf("%s: metadata.name is missing", o.kind())
	}
	if !namespaced && o.namespace() != "" {
		return fmt.Errorf("%s %q: namespace %q given, but the kind is cluster-wide", o.kind(), o.name(), o.namespace())
	}
	if namespaced {
		if o.namespace() == "" {
			metadata["namespace"] = "default"
		}
		if _, found := c.get("v1", "Namespace", "", o.namespace()); !found &&
			!slices.Contains(namespaces, o.namespace()) {
			return fmt.Errorf("namespaces %q not found", o.namespace())
		}
	}
	if _, found := c.get(o.apiVersion(), o.kind(), o.namespace(), o.name()); found {
		return fmt.Errorf("%s %q already exists", plural(o.kind()), o.name())
	}
	if o.kind() == "Namespace" && slices.Contains(namespaces, o.name()) {
		return fmt.Errorf("namespaces %q already exists", o.name())
	}
	if err := c.put(o); err != nil {
		return err
	}
	return c.reconcile(o)
}

func (c *cluster) update(o object) error {
	namespaced, err := c.scope(o.apiVersion(), o.kind())
	if err != nil {
		return err
	}
	if metadata, _ := o["metadata"].(map[string]any); namespaced && metadata != nil && o.namespace() == "" {
		metadata["namespace"] = "default"
	}
	if _, found := c.get(o.apiVersion(), o.kind(), o.namespace(), o.name()); !found {
		return fmt.Errorf("%s %q not found", plural(o.kind()), o.name())
	}
	if err := c.put(o); err != nil {
		return err
	}
	return c.reconcile(o)
}

// reconcile is what the node controllers do at once: the instance profile of a node class, the nodes of a static pool.
func (c *cluster) reconcile(o object) error {
	switch o.kind() {
	case ec2NodeClass:
		if role := o.text("spec", "role"); role != "" && c.controller(o) {
			if err := c.state.EnsureInstanceProfile(c.name, o.name(), role); err != nil {
				return fmt.Errorf("EC2NodeClass %q is not ready: %w", o.name(), err)
			}
		}
	case nodePool:
		if replicas, ok := o.at("spec", "replicas").(float64); ok && c.controller(o) {
			_, err := c.scale(o, int(replicas))
			return err
		}
	}
	return nil
}

// delete removes an object, or says what would make the deletion hang: here nothing waits.
func (c *cluster) delete(o object) error {
	switch o.kind() {
	case nodePool:
		return c.deleteNodePool(o)
	case ec2NodeClass, autoNodeClass:
		return c.deleteNodeClass(o)
	case crdKind:
		return c.deleteDefinition(o)
	case "Namespace":
		for _, inside := range c.all(func(x object) bool { return x.namespace() == o.name() }) {
			c.remove(inside)
		}
	}
	c.remove(o)
	return nil
}

// deleteDefinition refuses while objects of the kind exist: Kubernetes would delete them all, nodes included.
func (c *cluster) deleteDefinition(crd object) error {
	var left []string
	for _, o := range c.all(func(o object) bool {
		group, _, _ := strings.Cut(o.apiVersion(), "/")
		return group == crd.text("spec", "group") && o.kind() == crd.text("spec", "names", "kind")
	}) {
		left = append(left, o.name())
	}
	if len(left) > 0 {
		return fmt.Errorf("deleting the definition %s would delete every %s with it: %s; delete these first, with "+
			"their controller still running",
			crd.name(), crd.text("spec", "names", "kind"), strings.Join(left, ", "))
	}
	c.remove(crd)
	return nil
}

func plural(kind string) string {
	kind = strings.ToLower(kind)
	if strings.HasSuffix(kind, "s") {
		return kind + "es"
	}
	return kind + "s"
}
