package world

import (
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"slices"
)

// SubnetType is the token of the resource that subnets are.
const SubnetType = "aws:ec2/subnet:Subnet"

// Launch describes an instance to be started.
type Launch struct {
	Types          []string // tried in order
	Subnets        []string // tried from the one with the fewest instances of this owner
	Spot           bool
	SecurityGroups []string
	Tags           map[string]string
	Cluster        string
	Group, Pool    string
}

// Launch starts one instance, or says why EC2 would not, in EC2's words.
func (s *State) Launch(l Launch) (*Instance, error) {
	subnets := slices.Clone(l.Subnets)
	count := map[string]int{}
	for _, i := range s.Instances {
		if i.Running() && i.Cluster == l.Cluster && i.Group == l.Group && i.Pool == l.Pool {
			count[i.Subnet]++
		}
	}
	slices.SortStableFunc(subnets, func(a, b string) int { return count[a] - count[b] })
	var refusal error
	for _, subnet := range subnets {
		for _, typ := range l.Types {
			if err := s.launchable(typ, subnet, l.Spot); err != nil {
				refusal = err
				continue
			}
			return s.start(l, typ, subnet), nil
		}
	}
	if refusal == nil {
		refusal = fmt.Errorf("InvalidParameterValue: no subnet or no instance type to launch in")
	}
	return nil, refusal
}

func (s *State) start(l Launch, typ, subnet string) *Instance {
	zone, _ := s.Get(SubnetType, subnet).Outputs["availabilityZone"].(string)
	i := &Instance{
		ID:             "i-" + s.Hex("instance/"+l.Cluster+l.Group+l.Pool, 17),
		Type:           typ,
		Zone:           zone,
		Subnet:         subnet,
		Spot:           l.Spot,
		SecurityGroups: slices.Clone(l.SecurityGroups),
		State:          "running",
		Tags:           maps.Clone(l.Tags),
		Launched:       Now(),
		Cluster:        l.Cluster,
		Group:          l.Group,
		Pool:           l.Pool,
	}
	if i.Tags == nil {
		i.Tags = map[string]string{}
	}
	s.Instances[i.ID] = i
	return i
}

func (s *State) launchable(typ, subnet string, spot bool) error {
	t, known := Types[typ]
	if !known {
		return fmt.Errorf("InvalidInstanceType: The instance type %s does not exist (add it to "+
			"sandbox/world/types.go if AWS has it)", typ)
	}
	net := s.Get(SubnetType, subnet)
	if net == nil {
		return fmt.Errorf("InvalidSubnetID.NotFound: The subnet ID '%s' does not exist", subnet)
	}
	zone, _ := net.Outputs["availabilityZone"].(string)
	if !s.Offered(typ, zone) {
		return fmt.Errorf("Unsupported: Your requested instance type (%s) is not supported in your requested "+
			"Availability Zone (%s)", typ, zone)
	}
	if slices.Contains(s.NoCapacity[typ], zone) || slices.Contains(s.NoCapacity["*"], zone) {
		return fmt.Errorf("InsufficientInstanceCapacity: We currently do not have sufficient %s capacity in the "+
			"Availability Zone you requested (%s)",
			typ, zone)
	}
	code := vcpuQuota(typ, spot)
	if used := s.UsedVCPUs(code); float64(used+t.VCPUs) > s.Quotas[code] {
		if spot {
			return fmt.Errorf("MaxSpotInstanceCountExceeded: Max spot instance count exceeded (quota %s is %g vCPUs, "+
				"%d in use)",
				code, s.Quotas[code], used)
		}
		return fmt.Errorf("VcpuLimitExceeded: You have requested more vCPU capacity than your current vCPU limit of "+
			"%g allows for the instance bucket that the specified instance type belongs to (quota %s, %d in use)",
			s.Quotas[code], code, used)
	}
	if s.FreeAddresses(subnet) < 1 {
		return fmt.Errorf("InsufficientFreeAddressesInSubnet: There are not enough free addresses in subnet '%s' to "+
			"satisfy the requested number of instances",
			subnet)
	}
	return nil
}

// UsedVCPUs counts what running instances take of a vCPU quota.
func (s *State) UsedVCPUs(code string) (sum int) {
	for _, i := range s.Instances {
		if i.Running() && vcpuQuota(i.Type, i.Spot) == code {
			sum += Types[i.Type].VCPUs
		}
	}
	return sum
}

// Terminate ends an instance. EC2 shows it as terminated for a while, and so does the world.
func (s *State) Terminate(id, reason string) {
	if i := s.Instances[id]; i != nil && i.Running() {
		i.State, i.Reason = "terminated", reason
	}
}

// Roll replaces the nodes of a group as EKS does: new ones first, twice as many as the group has zones, then the old
// ones go. The error says what EC2 refused; then the old nodes stay and the new ones go. AWS says "up to" that many, so
// fewer may do; and nothing is known here of a group without nodes, for which nothing is started.
// https://docs.aws.amazon.com/eks/latest/userguide/managed-node-update-behavior.html
func (s *State) Roll(g *Group) error {
	old := s.SortedInstances(func(i *Instance) bool { return i.Group == g.Name && i.Running() })
	if len(old) == 0 {
		return nil
	}
	zones := map[any]bool{}
	for _, id := range g.Subnets {
		zones[s.Get(SubnetType, id).Outputs["availabilityZone"]] = true
	}
	surge := *g
	surge.Desired = len(old) + 2*len(zones)
	if err := s.Settle(&surge); err != nil {
		surge.Desired = len(old)
		return errors.Join(err, s.Settle(&surge))
	}
	for _, i := range old {
		s.Terminate(i.ID, "replaced by the node group's update")
	}
	return s.Settle(g)
}

// Settle starts and ends instances until the group has as many as it desires. The error says why it could not; what
// could be launched stays.
func (s *State) Settle(g *Group) error {
	mine := s.SortedInstances(func(i *Instance) bool { return i.Group == g.Name && i.Running() })
	for n := len(mine); n > g.Desired; n-- {
		s.Terminate(mine[n-1].ID, "scale-in")
	}
	for n := len(mine); n < g.Desired; n++ {
		_, err := s.Launch(Launch{
			Types:          g.InstanceTypes,
			Subnets:        g.Subnets,
			Spot:           g.Spot,
			SecurityGroups: g.SecurityGroups,
			Tags:           g.instanceTags(),
			Cluster:        g.Cluster,
			Group:          g.Name,
		})
		if err != nil {
			return fmt.Errorf("could not launch instance %d of %d: %w", n+1, g.Desired, err)
		}
	}
	return nil
}

// instanceTags are those EKS puts on the nodes of a managed group, and those of the launch template.
func (g *Group) instanceTags() map[string]string {
	tags := maps.Clone(g.InstanceTags)
	if tags == nil {
		tags = map[string]string{}
	}
	for k, v := range map[string]string{
		"eks:cluster-name":                       g.Cluster,
		"eks:nodegroup-name":                     g.NodeGroup,
		"kubernetes.io/cluster/" + g.Cluster:     "owned",
		"aws:autoscaling:groupName":              g.Name,
		"k8s.io/cluster-autoscaler/enabled":      "true",
		"k8s.io/cluster-autoscaler/" + g.Cluster: "owned",
	} {
		tags[k] = v
	}
	return tags
}

// addressesPerNode is what one node takes of its subnet with the VPC CNI's defaults: its first interface filled, and a
// warm one.
func addressesPerNode(t InstanceType) int { return min(2, t.ENIs) * t.IPv4PerENI }

// FreeAddresses is the number of IPv4 addresses left in a subnet. AWS keeps five of each subnet.
func (s *State) FreeAddresses(subnet string) int {
	r := s.Get(SubnetType, subnet)
	if r == nil {
		return 0
	}
	block, _ := r.Outputs["cidrBlock"].(string)
	prefix, err := netip.ParsePrefix(block)
	if err != nil {
		return 0
	}
	free := 1<<(32-prefix.Bits()) - 5 - s.TakenAddresses[subnet]
	for _, i := range s.Instances {
		if i.Running() && i.Subnet == subnet {
			free -= addressesPerNode(Types[i.Type])
		}
	}
	free -= len(s.Users(Key(SubnetType, subnet))) // gateways, endpoints and control planes take one each
	return max(free, 0)
}

// address is the n-th usable address of a subnet, for outputs that want one.
func address(block string, n int) string {
	prefix, err := netip.ParsePrefix(block)
	if err != nil || !prefix.Addr().Is4() {
		return ""
	}
	b := prefix.Masked().Addr().As4()
	binary.BigEndian.PutUint32(b[:], binary.BigEndian.Uint32(b[:])+4+uint32(n))
	return netip.AddrFrom4(b).String()
}

// PrivateIP is the address of an instance, made up but stable.
func (s *State) PrivateIP(i *Instance) string {
	r := s.Get(SubnetType, i.Subnet)
	if r == nil {
		return ""
	}
	block, _ := r.Outputs["cidrBlock"].(string)
	n := slices.IndexFunc(s.SortedInstances(func(o *Instance) bool { return o.Subnet == i.Subnet }),
		func(o *Instance) bool { return o == i })
	return address(block, n)
}
