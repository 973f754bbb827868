package world

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
)

// Tokens and tags the acts need to know.
const (
	NodeGroupType    = "aws:eks/nodeGroup:NodeGroup"
	LogGroupType     = "aws:cloudwatch/logGroup:LogGroup"
	InstanceProfile  = "aws:iam/instanceProfile:InstanceProfile"
	SpotRole         = "AWSServiceRoleForEC2Spot"
	ByService        = "service"
	poolTag          = "headroom/pool"
	nodePoolTag      = "karpenter.sh/nodepool"
	clusterNameTag   = "eks:eks-cluster-name"
	karpenterManager = "karpenter.sh/managed-by"
)

// GroupOfPool finds the one Auto Scaling group whose instances carry the pool's tag, or whose node group or own name is
// pool.
func (s *State) GroupOfPool(cluster, pool string) (*Group, error) {
	var found []*Group
	for _, name := range slices.Sorted(maps.Keys(s.Groups)) {
		g := s.Groups[name]
		if cluster != "" && g.Cluster != cluster {
			continue
		}
		if g.InstanceTags[poolTag] == pool || g.NodeGroup == pool || g.Name == pool {
			found = append(found, g)
		}
	}
	switch len(found) {
	case 0:
		return nil, fmt.Errorf("no managed node group for pool %q; groups: %s", pool,
			strings.Join(slices.Sorted(maps.Keys(s.Groups)), ", "))
	case 1:
		return found[0], nil
	}
	return nil, fmt.Errorf("pool %q has %d node groups (one per zone?); name one of them: %s, %s",
		pool, len(found), found[0].NodeGroup, found[1].NodeGroup)
}

// ScaleGroup sets the desired size of a managed group, as an autoscaler does. Outside the group's bounds AWS refuses,
// unless force says that somebody moved the bounds too.
func (s *State) ScaleGroup(g *Group, nodes int, force bool) error {
	if nodes < 0 {
		return fmt.Errorf("a pool cannot have %d nodes", nodes)
	}
	if !force && (nodes < g.Min || nodes > g.Max) {
		return fmt.Errorf("ValidationError: New SetDesiredCapacity value %d is outside of the limits %d..%d of the "+
			"AutoScalingGroup %s",
			nodes, g.Min, g.Max, g.Name)
	}
	g.Min, g.Max, g.Desired = min(g.Min, nodes), max(g.Max, nodes), nodes
	return s.Settle(g)
}

// SetGroupBounds changes the bounds of a group behind the program's back: AWS widens a group while it updates it and
// sometimes leaves it so.
func (s *State) SetGroupBounds(g *Group, low, high int) error {
	if low < 0 || high < max(low, 1) {
		return fmt.Errorf("bounds %d..%d contradict each other", low, high)
	}
	g.Min, g.Max = low, high
	g.Desired = min(max(g.Desired, low), high)
	return s.Settle(g)
}

// SetGroupStatus makes EKS give a managed group another status, as it does by itself when a group has issues.
func (s *State) SetGroupStatus(g *Group, status string) error {
	if known := []string{"ACTIVE", "DEGRADED", "CREATE_FAILED", "DELETE_FAILED"}; !slices.Contains(known, status) {
		return fmt.Errorf("%q is no status that a group can be given; known: %s", status, strings.Join(known, ", "))
	}
	r := s.Get(NodeGroupType, g.Cluster+":"+g.NodeGroup)
	if r == nil {
		return fmt.Errorf("ResourceNotFoundException: No node group found for name: %s.", g.NodeGroup)
	}
	r.Outputs["status"] = status
	return nil
}

// NodePool describes a Karpenter or Auto Mode pool to ScaleNodePool: what its node class and requirements say.
type NodePool struct {
	Cluster, Name  string
	InstanceTypes  []string
	Subnets        []string
	SecurityGroups []string
	Spot           bool
	Tags           map[string]string // of the node class
}

// ScaleNodePool makes or ends instances until the NodePool has n, and returns those it has. Limits are the caller's
// business.
func (s *State) ScaleNodePool(p NodePool, n int) ([]*Instance, error) {
	if p.Spot && !slices.Contains(s.ServiceLinkedRoles, SpotRole) {
		return nil, fmt.Errorf("AuthFailure.ServiceLinkedRoleCreationNotPermitted: The provided credentials do not "+
			"have permission to create the service-linked role for EC2 Spot Instances (%s)",
			SpotRole)
	}
	mine := s.NodesOfPool(p.Cluster, p.Name)
	for len(mine) > n {
		s.Terminate(mine[len(mine)-1].ID, "consolidated")
		mine = mine[:len(mine)-1]
	}
	tags := maps.Clone(p.Tags)
	if tags == nil {
		tags = map[string]string{}
	}
	tags[nodePoolTag], tags[clusterNameTag], tags[karpenterManager] = p.Name, p.Cluster, p.Cluster
	tags["kubernetes.io/cluster/"+p.Cluster] = "owned"
	for len(mine) < n {
		i, err := s.Launch(Launch{
			Types:          p.InstanceTypes,
			Subnets:        p.Subnets,
			Spot:           p.Spot,
			SecurityGroups: p.SecurityGroups,
			Tags:           tags,
			Cluster:        p.Cluster,
			Pool:           p.Name,
		})
		if err != nil {
			return mine, fmt.Errorf("nodepool %s: launching node %d of %d: %w", p.Name, len(mine)+1, n, err)
		}
		mine = append(mine, i)
	}
	return mine, nil
}

// NodesOfPool lists the running instances of a NodePool, the oldest first.
func (s *State) NodesOfPool(cluster, pool string) []*Instance {
	return s.SortedInstances(func(i *Instance) bool {
		return i.Running() && i.Cluster == cluster && i.Pool == pool && pool != ""
	})
}

// DeleteNodePool ends every instance of a NodePool, as its controller does while it lives.
func (s *State) DeleteNodePool(cluster, pool string) {
	for _, i := range s.NodesOfPool(cluster, pool) {
		s.Terminate(i.ID, "nodepool deleted")
	}
}

// EnsureInstanceProfile makes the profile Karpenter makes for a node class that names a role. The role cannot be
// deleted while it is there.
func (s *State) EnsureInstanceProfile(cluster, nodeClass, role string) error {
	if s.Get("aws:iam/role:Role", role) == nil {
		return fmt.Errorf("NoSuchEntity: The role with name %s cannot be found.", role)
	}
	name := cluster + "_" + nodeClass
	s.Put(&Resource{
		Type:   InstanceProfile,
		ID:     name,
		Owner:  ByService,
		Refs:   []string{Key("aws:iam/role:Role", role)},
		Inputs: map[string]any{"name": name, "role": role},
		Outputs: map[string]any{
			"name": name,
			"role": role,
			"arn":  fmt.Sprintf("arn:%s:iam::%s:instance-profile/%s", s.Partition, s.Account, name),
		},
	})
	return nil
}

// RemoveInstanceProfile undoes EnsureInstanceProfile.
func (s *State) RemoveInstanceProfile(cluster, nodeClass string) {
	delete(s.Resources, Key(InstanceProfile, cluster+"_"+nodeClass))
}

// LinkRole makes a service-linked role, as AWS does at the first use of a service or a person once per account
// (SpotRole). It stays.
func (s *State) LinkRole(name string) {
	if !slices.Contains(s.ServiceLinkedRoles, name) {
		s.ServiceLinkedRoles = append(s.ServiceLinkedRoles, name)
	}
}

// SetQuota changes a service quota.
func (s *State) SetQuota(code string, value float64) error {
	if _, known := QuotaNames[code]; !known {
		return fmt.Errorf("quota %q is not one the sandbox keeps; known: %s", code,
			strings.Join(slices.Sorted(maps.Keys(QuotaNames)), ", "))
	}
	if !(value >= 0) || math.IsInf(value, 1) { // NaN is none either
		return fmt.Errorf("quota %s cannot be %g; give 0 or more", code, value)
	}
	s.Quotas[code] = value
	s.retry()
	return nil
}

// retry lets the groups that are short of nodes try again, as Auto Scaling does by itself. That they still cannot is no
// news.
func (s *State) retry() {
	for _, name := range slices.Sorted(maps.Keys(s.Groups)) {
		_ = s.Settle(s.Groups[name])
	}
}

// EmptyZone makes every launch of the type ("*" for all) in the zone fail; with offering false EC2 does not even offer
// it any more.
func (s *State) EmptyZone(zone, instanceType string, offering bool) error {
	if _, known := s.ZoneNamed(zone); !known {
		return fmt.Errorf("region %s has no zone %q", s.Region, zone)
	}
	if _, known := Types[instanceType]; !known && instanceType != "*" {
		return fmt.Errorf("instance type %q is not in the sandbox's catalogue", instanceType)
	}
	target := s.NoCapacity
	if !offering {
		target = s.NotOffered
	}
	if !slices.Contains(target[instanceType], zone) {
		target[instanceType] = append(target[instanceType], zone)
	}
	return nil
}

// FillZone undoes EmptyZone for the type.
func (s *State) FillZone(zone, instanceType string) {
	for _, m := range []map[string][]string{s.NoCapacity, s.NotOffered} {
		if m[instanceType] = slices.DeleteFunc(m[instanceType],
			func(z string) bool { return z == zone }); len(m[instanceType]) == 0 {
			delete(m, instanceType)
		}
	}
	s.retry()
}

// Interrupt takes a spot instance away. Its group starts another if it can; a NodePool's nodes come back only with
// pods.
func (s *State) Interrupt(id string) error {
	i := s.Instances[id]
	if i == nil || !i.Running() {
		return fmt.Errorf("InvalidInstanceID.NotFound: The instance ID '%s' does not exist or does not run", id)
	}
	if !i.Spot {
		return fmt.Errorf("instance %s is on-demand; EC2 interrupts spot instances only", id)
	}
	s.Terminate(id, "Server.SpotInstanceTermination")
	if g := s.Groups[i.Group]; g != nil {
		_ = s.Settle(g) // no replacement is what happens too when there is no capacity
	}
	return nil
}

// Deny refuses an API action from now on, for example "servicequotas:GetServiceQuota"; * is a wildcard.
func (s *State) Deny(action string) error {
	if service, name, ok := strings.Cut(action, ":"); !ok || service == "" || name == "" {
		return fmt.Errorf("%q is not an API action like servicequotas:GetServiceQuota", action)
	}
	if !slices.Contains(s.Denied, action) {
		s.Denied = append(s.Denied, action)
	}
	return nil
}

// Allow undoes Deny of the same action or pattern.
func (s *State) Allow(action string) error {
	if !slices.Contains(s.Denied, action) {
		return fmt.Errorf("%q is not denied; denied: %s", action, strings.Join(s.Denied, ", "))
	}
	s.Denied = slices.DeleteFunc(s.Denied, func(a string) bool { return a == action })
	return nil
}

// TakeAddresses says how many addresses of a subnet somebody else uses.
func (s *State) TakeAddresses(subnet string, n int) error {
	if s.Get(SubnetType, subnet) == nil {
		return fmt.Errorf("InvalidSubnetID.NotFound: The subnet ID '%s' does not exist", subnet)
	}
	s.TakenAddresses[subnet] = max(n, 0)
	return nil
}

// Remove deletes something left behind, by the key that Leftovers names, as a person would clean up by hand.
func (s *State) Remove(key string) error {
	if i := s.Instances[key]; i != nil {
		s.Terminate(key, "terminated by hand")
		return nil
	}
	if s.Resources[key] == nil {
		return fmt.Errorf("nothing is called %q; see the leftovers", key)
	}
	if users := s.Users(key); len(users) > 0 {
		return fmt.Errorf("DependencyViolation: %s is used by %s", key, Key(users[0].Type, users[0].ID))
	}
	delete(s.Resources, key)
	return nil
}

// Leftovers lists, by key, what a fresh account would not have. Empty after everything was destroyed.
func (s *State) Leftovers() []string {
	left := slices.Collect(maps.Keys(s.Resources))
	for id, i := range s.Instances {
		if i.Running() {
			left = append(left, id)
		}
	}
	for name := range s.Groups {
		left = append(left, "autoscaling group "+name)
	}
	for key := range s.Objects {
		left = append(left, "kubernetes object "+key)
	}
	slices.Sort(left)
	return left
}
