// Package ask puts questions to AWS: those that depend on the configuration alone, before anything is made.
//
// It owns the questions and the type of their answers, each a value or the reason why there is none. It judges nothing
// and decides nothing; that is package plan. What must be seen after the pools exist is asked by package publish.
package ask

import (
	"github.com/headroom-eks/headroom/components/clusterautoscaler"
	"github.com/headroom-eks/headroom/pool"
)

// Answers to everything that the configuration makes the program ask.
type Answers struct {
	Account Account
	// KubernetesVersions that EKS serves in the region.
	KubernetesVersions Answer[[]string]
	// ZoneIDs of the account's availability zones, by name.
	ZoneIDs Answer[map[string]string]
	// Shapes by instance type.
	Shapes map[string]Answer[pool.Shape]
	// Offerings are the zones that offer an instance type, sorted, by instance type.
	Offerings map[string]Answer[[]string]
	// Quotas in vCPUs, by quota code; those from which pools draw.
	Quotas map[string]Answer[int]
	// Endpoints are the zones in which a service has interface endpoints, by full name; nil when there is no such
	// service, empty when the zones are not said. Asked for those that a new network gets.
	Endpoints map[string]Answer[[]string]
	// Network is an existing network; not asked about a new one.
	Network Network
	// Live is this stack's cluster as it lives, nil when there is none.
	Live Answer[*Live]
	// Renamed is this stack's cluster as it lives, when the configuration gives it another name; else empty.
	Renamed string
	// Former is what the last update left.
	Former Answer[Former]
	// Entries are the principals of the configuration that have an access entry in the live cluster which no update of
	// this stack made. An entry of a version that marked none counts as ours.
	Entries []string
	// RunningNodes by pool; asked only when pools are handed over or an instance profile goes.
	RunningNodes map[string]Answer[int]
	// Displaced are nodes, by pool, that run where the update leaves no place for them: spot nodes in the NodePool of
	// the pool's name when the pool is divided, all nodes in its NodePool for spot when it is not. Only pools that have
	// some, and those that could not be asked about.
	Displaced map[string]Answer[int]
	// Images are the pinned images that nodes start from, and whether the region has each.
	Images []Image
	// SpotRole is whether the account has the service-linked role for spot; asked only when a pool may buy spot.
	SpotRole Answer[bool]
	// Missing are the questions that AWS did not answer, in the order in which they were asked.
	Missing []Missing
}

// Account is whose credentials the program runs with, and where. Without it the program cannot go on.
type Account struct {
	Partition string // aws, aws-cn, aws-us-gov
	DNSSuffix string // amazonaws.com or amazonaws.com.cn
	Region    string
	ID        string
	CallerArn string
	Stack     string // that runs, as project/stack
}

// Network is an existing network.
type Network struct {
	CIDR Answer[string]
	// Off are attributes of the VPC that its nodes need and that are off; not known with an unknown CIDR.
	Off     []string
	Subnets []Subnet
}

// Subnet is one that the configuration names.
type Subnet struct {
	ID     string
	Public bool
	Found  Answer[SubnetDescription]
}

// SubnetDescription is what EC2 says of a subnet.
type SubnetDescription struct {
	VpcID, Zone, CIDR string
	FreeAddresses     int
}

// Private subnets that could be read, in the order of the configuration.
func (n Network) Private() (found []SubnetDescription) {
	for _, s := range n.Subnets {
		if description, known := s.Found.Get(); known && !s.Public {
			found = append(found, description)
		}
	}
	return found
}

// Live is this stack's cluster as it lives.
type Live struct {
	// Stack that made it, as project/stack; empty when it was made by an earlier version, or by somebody else.
	Stack    string
	Name     string
	Version  string // of Kubernetes
	AutoMode bool
	// Subnets of the control plane, by zone: their addresses. Empty when they could not be read. EKS fixes the zones
	// when it makes the cluster.
	Subnets map[string]string
	// NodeRoleArn is the node role in the cluster's settings; it stays there when Auto Mode goes off.
	NodeRoleArn string
	// Groups are its managed groups by name; asked only when the configuration has some.
	Groups map[string]clusterautoscaler.Live
}

// Image is one pinned image.
type Image struct {
	Release string // as the configuration pins it
	// Description for a person: architecture, variant and Kubernetes version.
	Description string
	Exists      Answer[bool]
	// OfDate is the release of that date; asked for images of managed groups, whose pin holds more than the date.
	OfDate Answer[string]
}

// Missing is a question without an answer.
type Missing struct {
	Question, Reason string
	// Guards: the answer keeps what runs from being replaced or deleted. Without it nothing may be changed; without any
	// other answer less is promised.
	Guards bool
}

// missing records that a question has no answer, and returns that.
func missing[T any](a *Answers, question string, err error) Answer[T] {
	reason := FirstLine(err)
	a.Missing = append(a.Missing, Missing{Question: question, Reason: reason})
	return Unknown[T](reason)
}

// unguarded records the same of a question whose answer protects what runs.
func unguarded[T any](a *Answers, question string, err error) Answer[T] {
	reason := FirstLine(err)
	a.Missing = append(a.Missing, Missing{Question: question, Reason: reason, Guards: true})
	return Unknown[T](reason)
}
