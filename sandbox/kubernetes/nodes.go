package kubernetes

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/headroom-eks/headroom/sandbox/world"
)

const (
	nodePool      = "NodePool"
	ec2NodeClass  = "EC2NodeClass"
	autoNodeClass = "NodeClass"

	// foreground makes the deletion of a NodePool wait for its nodes.
	// https://www.pulumi.com/registry/packages/kubernetes/installation-configuration/
	deletionPolicy = "pulumi.com/deletionPropagationPolicy"
)

// controller reports whether something reconciles the pool or node class: AWS itself in Auto Mode, else a Karpenter
// Deployment in the cluster.
func (c *cluster) controller(o object) bool {
	group := o.text("spec", "template", "spec", "nodeClassRef", "group")
	if c.auto && (group == "eks.amazonaws.com" || strings.HasPrefix(o.apiVersion(), "eks.amazonaws.com/")) {
		return true
	}
	return len(c.all(func(d object) bool {
		return d.kind() == "Deployment" && (d.name() == "karpenter" ||
			d.strings("metadata", "labels")["app.kubernetes.io/name"] == "karpenter")
	})) > 0
}

// deleteNodePool ends the pool's nodes when the deletion waits for them. Without the foreground policy the object goes
// at once and its nodes live on until the controller gets to them: the sandbox leaves them, so that what comes next
// sees them.
func (c *cluster) deleteNodePool(pool object) error {
	nodes := c.state.NodesOfPool(c.name, pool.name())
	if len(nodes) > 0 && !c.controller(pool) {
		return fmt.Errorf("NodePool %q has %d running nodes and no controller left to end them: its finalizers are "+
			"never cleared and the instances run on (%s); delete node pools before their controller",
			pool.name(), len(nodes), nodes[0].ID)
	}
	if pool.strings("metadata", "annotations")[deletionPolicy] == "foreground" {
		c.state.DeleteNodePool(c.name, pool.name())
	}
	c.remove(pool)
	return nil
}

// deleteNodeClass holds to the finalizer of node classes: it waits for the pools that name it, and for a controller to
// clear it.
func (c *cluster) deleteNodeClass(class object) error {
	for _, pool := range c.all(func(o object) bool { return o.kind() == nodePool }) {
		if pool.text("spec", "template", "spec", "nodeClassRef", "name") == class.name() &&
			pool.text("spec", "template", "spec", "nodeClassRef", "kind") == class.kind() {
			return fmt.Errorf("%s %q is still used by NodePool %q; its finalizer waits for the pool to go",
				class.kind(), class.name(), pool.name())
		}
	}
	if !c.controller(class) {
		return fmt.Errorf("%s %q has a finalizer and no controller left to clear it; delete node classes before "+
			"their controller", class.kind(), class.name())
	}
	c.state.RemoveInstanceProfile(c.name, class.name())
	c.remove(class)
	return nil
}

// ScaleNodePool plays pending pods: it makes the node controller bring the pool to n nodes, within its limits, as
// Karpenter and Auto Mode do. The pool is named by its NodePool or by its label headroom/pool; of several NodePools
// those of higher weight are tried first, and what they cannot have the next one makes.
func ScaleNodePool(s *world.State, clusterName, pool string, n int) ([]*world.Instance, error) {
	c, found, err := nodePoolsOf(s, clusterName, pool)
	if err != nil {
		return nil, err
	}
	if !c.controller(found[0]) {
		return nil, fmt.Errorf("NodePool %q has no controller in the cluster: nothing scales it", found[0].name())
	}
	slices.SortStableFunc(found, func(a, b object) int { return cmp.Compare(b.weight(), a.weight()) })
	var all []*world.Instance
	for i, one := range found {
		left := n - len(all)
		if i == len(found)-1 {
			last, err := c.scale(one, left)
			return append(all, last...), err
		}
		made, err := c.scale(one, left)
		for ; err != nil && len(made) == 0 && left > 0; left-- {
			made, err = c.scale(one, left-1)
		}
		all = append(all, made...) // what it cannot make, the next one does
	}
	return all, nil
}

// weight of a NodePool; 0 when it has none.
func (o object) weight() int64 {
	weight, _ := resource.ParseQuantity(fmt.Sprint(o.at("spec", "weight")))
	return weight.Value()
}

// NodePools names the NodePools of a cluster.
func NodePools(s *world.State, clusterName string) []string {
	c, err := clusterNamed(s, clusterName)
	if err != nil {
		return nil
	}
	var names []string
	for _, o := range c.all(func(o object) bool { return o.kind() == nodePool }) {
		names = append(names, o.name())
	}
	return names
}

func (c *cluster) scale(pool object, n int) ([]*world.Instance, error) {
	ref := pool.text("spec", "template", "spec", "nodeClassRef", "name")
	kind := pool.text("spec", "template", "spec", "nodeClassRef", "kind")
	classes := c.all(func(o object) bool { return o.kind() == kind && o.name() == ref })
	if len(classes) == 0 {
		return nil, fmt.Errorf("NodePool %q names the %s %q, which does not exist", pool.name(), kind, ref)
	}
	class := classes[0]
	wants := requirements(pool)
	types := instanceTypes(wants)
	if len(types) == 0 {
		return nil, fmt.Errorf("NodePool %q: no instance type of the sandbox's catalogue meets its requirements",
			pool.name())
	}
	if err := withinLimits(pool, types[0], n); err != nil {
		return nil, err
	}
	subnets := c.selected(world.SubnetType, class.list("spec", "subnetSelectorTerms"),
		wants["topology.kubernetes.io/zone"])
	if len(subnets) == 0 {
		return nil, fmt.Errorf("%s %q: its subnetSelectorTerms select no subnet in the zones of NodePool %q", kind, ref,
			pool.name())
	}
	groups := c.selected("aws:ec2/securityGroup:SecurityGroup", class.list("spec", "securityGroupSelectorTerms"), nil)
	capacity := wants["karpenter.sh/capacity-type"]
	tags := maps.Clone(class.strings("spec", "tags"))
	if kind == autoNodeClass {
		tags["eks:kubernetes-node-pool-name"] = pool.name()
	}
	return c.state.ScaleNodePool(world.NodePool{
		Cluster:        c.name,
		Name:           pool.name(),
		InstanceTypes:  types,
		Subnets:        subnets,
		SecurityGroups: groups,
		Spot:           capacity.has("spot"),
		Tags:           tags,
	}, n)
}

// values of a requirement; nil when there is none, which allows everything.
type values []string

func (v values) has(want string) bool { return slices.Contains(v, want) }

// requirements are the In requirements of a pool, by key. Other operators are ignored: the sandbox picks one instance,
// not the best.
func requirements(pool object) map[string]values {
	out := map[string]values{}
	for _, r := range pool.list("spec", "template", "spec", "requirements") {
		m, _ := r.(map[string]any)
		key, _ := m["key"].(string)
		if m["operator"] != "In" {
			continue
		}
		list, _ := m["values"].([]any)
		for _, v := range list {
			out[key] = append(out[key], fmt.Sprint(v))
		}
	}
	return out
}

// instanceTypes are the catalogue's types that meet the requirements, the smallest first.
func instanceTypes(wants map[string]values) []string {
	var out []string
	for name, t := range world.Types {
		family, size, _ := strings.Cut(name, ".")
		facts := map[string]string{
			"instance-type":   name,
			"instance-family": family,
			"instance-size":   size,
			"arch":            arch(t.Arch),
		}
		if fits(wants, facts, t) {
			out = append(out, name)
		}
	}
	slices.SortFunc(out, func(a, b string) int {
		return cmp.Or(cmp.Compare(world.Types[a].VCPUs, world.Types[b].VCPUs), cmp.Compare(a, b))
	})
	return out
}

func fits(wants map[string]values, facts map[string]string, t world.InstanceType) bool {
	explicit := len(wants["node.kubernetes.io/instance-type"]) > 0
	for key, allowed := range wants {
		_, short, _ := strings.Cut(key, "/")
		if fact, found := facts[short]; found && !allowed.has(fact) {
			return false
		}
		if short == "instance-gpu-count" && !allowed.has(strconv.Itoa(t.GPUs)) {
			return false
		}
		explicit = explicit || short == "instance-gpu-count"
	}
	return explicit || t.GPUs == 0 // a pool that does not ask for GPUs gets none
}

func arch(ec2 string) string {
	if ec2 == "x86_64" {
		return "amd64"
	}
	return ec2
}

// withinLimits refuses what the controller would not launch: it stops before its limits are passed.
func withinLimits(pool object, instanceType string, n int) error {
	t := world.Types[instanceType]
	each := map[string]int64{
		"cpu":            int64(t.VCPUs),
		"memory":         int64(t.MemoryMiB) << 20,
		"nvidia.com/gpu": int64(t.GPUs),
		"nodes":          1,
	}
	limits, _ := pool.at("spec", "limits").(map[string]any)
	for _, name := range slices.Sorted(maps.Keys(limits)) {
		limit, err := resource.ParseQuantity(fmt.Sprint(limits[name]))
		if err != nil {
			return fmt.Errorf("NodePool %q: limit %s %v is not a quantity", pool.name(), name, limits[name])
		}
		if need := each[name] * int64(n); need > limit.Value() {
			return fmt.Errorf("NodePool %q: %d nodes of %s need %d %s, its limit is %s", pool.name(), n, instanceType,
				need, name, limit.String())
		}
	}
	return nil
}

// selected are the ids of AWS resources that a node class selects by id or tags; any term suffices. Zones narrow
// subnets.
func (c *cluster) selected(typ string, terms []any, zones values) []string {
	var ids []string
	for _, r := range c.state.OfType(typ) {
		zone, _ := r.Outputs["availabilityZone"].(string)
		if zones != nil && !zones.has(zone) {
			continue
		}
		tags := object(r.Outputs).strings("tags")
		for _, term := range terms {
			m, _ := term.(map[string]any)
			t := object(m)
			if id := t.text("id"); id != "" && id != r.ID {
				continue
			}
			matches := true
			for key, value := range t.strings("tags") {
				got, has := tags[key]
				matches = matches && has && (value == "*" || value == got)
			}
			if matches {
				ids = append(ids, r.ID)
				break
			}
		}
	}
	return ids
}
