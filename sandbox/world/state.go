package world

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"time"
)

// State is everything that exists. Maps are never nil.
type State struct {
	Account   string `json:"account"`
	Region    string `json:"region"`
	Partition string `json:"partition"`
	// Caller is who asks AWS, in the words of sandbox/asker; empty for the person who runs the command.
	Caller string `json:"caller,omitempty"`

	Resources map[string]*Resource `json:"resources"` // by Key(type, id)
	Instances map[string]*Instance `json:"instances"` // by id, terminated ones for a while too
	Groups    map[string]*Group    `json:"groups"`    // Auto Scaling groups by name

	Quotas             map[string]float64  `json:"quotas"`             // by quota code
	NotOffered         map[string][]string `json:"notOffered"`         // zones by instance type, on top of the table's
	NoCapacity         map[string][]string `json:"noCapacity"`         // zones by instance type or "*": launches fail
	TakenAddresses     map[string]int      `json:"takenAddresses"`     // by subnet id, taken by somebody else
	ServiceLinkedRoles []string            `json:"serviceLinkedRoles"` // role names
	Denied             []string            `json:"denied"`             // API actions refused, with * as wildcard
	// AWS actions the caller has; all when empty
	Granted     []string       `json:"granted,omitempty"`
	Generations map[string]int `json:"generations"` // how often a thing of this name was made

	// Objects are the Kubernetes objects, by ObjectKey. sandbox/kubernetes owns their shape.
	Objects map[string]json.RawMessage `json:"objects"`
}

// Resource is one thing that the AWS API made.
type Resource struct {
	Type    string         `json:"type"` // Pulumi token
	ID      string         `json:"id"`
	URN     string         `json:"urn,omitempty"`
	Inputs  map[string]any `json:"inputs"`
	Outputs map[string]any `json:"outputs"`
	// Refs are the keys of the resources it names; those cannot be deleted before it, unless its row says otherwise.
	Refs []string `json:"refs,omitempty"`
	// Owner is the key of the resource that made this one by itself and takes it along when it goes; "service" when AWS
	// made it and leaves it.
	Owner string `json:"owner,omitempty"`
	// Versions are the inputs of every version of a launch template, the first at index 0.
	Versions []map[string]any `json:"versions,omitempty"`
}

// Instance is one EC2 instance.
type Instance struct {
	ID             string            `json:"id"`
	Type           string            `json:"type"`
	Zone           string            `json:"zone"`
	Subnet         string            `json:"subnet"`
	SecurityGroups []string          `json:"securityGroups"`
	Spot           bool              `json:"spot,omitempty"`
	State          string            `json:"state"` // "running" or "terminated"
	Tags           map[string]string `json:"tags"`
	Launched       time.Time         `json:"launched"`
	Reason         string            `json:"reason,omitempty"` // why it was terminated

	Cluster string `json:"cluster"`
	Group   string `json:"group,omitempty"`    // Auto Scaling group that owns it
	Pool    string `json:"nodePool,omitempty"` // NodePool that owns it
}

// Running reports whether EC2 would count the instance as running.
func (i *Instance) Running() bool { return i.State == "running" }

// Group is the Auto Scaling group behind a managed node group.
type Group struct {
	Name           string            `json:"name"`
	Cluster        string            `json:"cluster"`
	NodeGroup      string            `json:"nodeGroup"`
	Min            int               `json:"min"`
	Max            int               `json:"max"`
	Desired        int               `json:"desired"`
	Subnets        []string          `json:"subnets"`
	InstanceTypes  []string          `json:"instanceTypes"`
	Spot           bool              `json:"spot,omitempty"`
	SecurityGroups []string          `json:"securityGroups"`
	InstanceTags   map[string]string `json:"instanceTags"`
	Tags           map[string]string `json:"tags"`
}

// Fresh is the state of a new account in the region; us-west-2 when empty.
func Fresh(region string) *State {
	region = cmp.Or(region, "us-west-2")
	partition := "aws"
	switch {
	case strings.HasPrefix(region, "cn-"):
		partition = "aws-cn"
	case strings.HasPrefix(region, "us-gov-"):
		partition = "aws-us-gov"
	}
	return &State{
		Account:            "123456789012",
		Region:             region,
		Partition:          partition,
		Resources:          map[string]*Resource{},
		Instances:          map[string]*Instance{},
		Groups:             map[string]*Group{},
		Quotas:             maps.Clone(DefaultQuotas),
		NotOffered:         map[string][]string{},
		NoCapacity:         map[string][]string{},
		TakenAddresses:     map[string]int{},
		Generations:        map[string]int{},
		Objects:            map[string]json.RawMessage{},
		ServiceLinkedRoles: []string{"AWSServiceRoleForSupport", "AWSServiceRoleForTrustedAdvisor"},
	}
}

// Key of a resource in State.Resources.
func Key(typ, id string) string { return typ + "|" + id }

// ObjectKey of a Kubernetes object; namespace is empty for cluster-wide kinds.
func ObjectKey(cluster, apiVersion, kind, namespace, name string) string {
	return strings.Join([]string{cluster, apiVersion, kind, namespace, name}, "|")
}

// Get returns the resource, or nil.
func (s *State) Get(typ, id string) *Resource { return s.Resources[Key(typ, id)] }

// Put adds or replaces a resource.
func (s *State) Put(r *Resource) { s.Resources[Key(r.Type, r.ID)] = r }

// OfType lists the resources of a type, ordered by id.
func (s *State) OfType(typ string) []*Resource {
	var out []*Resource
	for _, r := range s.Resources {
		if r.Type == typ {
			out = append(out, r)
		}
	}
	slices.SortFunc(out, func(a, b *Resource) int { return cmp.Compare(a.ID, b.ID) })
	return out
}

// Find returns the resource of a type whose output has the value, or nil.
func (s *State) Find(typ, output string, value any) *Resource {
	for _, r := range s.OfType(typ) {
		if r.Outputs[output] == value {
			return r
		}
	}
	return nil
}

// Users lists the resources that name the one with this key, ordered.
func (s *State) Users(key string) []*Resource {
	var out []*Resource
	for k, r := range s.Resources {
		if k != key && slices.Contains(r.Refs, key) {
			out = append(out, r)
		}
	}
	slices.SortFunc(out, func(a, b *Resource) int {
		return cmp.Or(cmp.Compare(a.Type, b.Type),
			cmp.Compare(a.ID, b.ID))
	})
	return out
}

// Hex is a string of n hexadecimal digits that is new for this seed every time, and the same in every world with the
// same history.
func (s *State) Hex(seed string, n int) string {
	s.Generations[seed]++
	sum := sha256.Sum256(fmt.Appendf(nil, "%s#%d", seed, s.Generations[seed]))
	return hex.EncodeToString(sum[:])[:n]
}

// Allowed reports whether the caller may perform an API action, for example "ec2:DescribeInstances".
func (s *State) Allowed(action string) bool {
	return !covered(s.Denied, action)
}

// Grants reports whether the caller's policy has an AWS action. Rights in a cluster are none of its matter.
func (s *State) Grants(action string) bool { return len(s.Granted) == 0 || covered(s.Granted, action) }

func covered(patterns []string, action string) bool {
	return slices.ContainsFunc(patterns, func(pattern string) bool {
		matched, err := path.Match(strings.ToLower(pattern), strings.ToLower(action))
		return err == nil && matched
	})
}

// Now is the clock of the world; a variable so that tests can stop it.
var Now = func() time.Time { return time.Now().UTC().Truncate(time.Second) }

// SortedInstances lists the instances that keep accepts, the oldest first.
func (s *State) SortedInstances(keep func(*Instance) bool) []*Instance {
	var out []*Instance
	for _, i := range s.Instances {
		if keep(i) {
			out = append(out, i)
		}
	}
	slices.SortFunc(out, func(a, b *Instance) int {
		return cmp.Or(a.Launched.Compare(b.Launched), cmp.Compare(a.ID, b.ID))
	})
	return out
}

// CallerARN is whose credentials the sandbox plays: a role, assumed.
func (s *State) CallerARN() string {
	return fmt.Sprintf("arn:%s:sts::%s:assumed-role/headroom-sandbox/session", s.Partition, s.Account)
}

// CallerPrincipal is the role behind CallerARN: what EKS makes cluster admin.
func (s *State) CallerPrincipal() string {
	return fmt.Sprintf("arn:%s:iam::%s:role/headroom-sandbox", s.Partition, s.Account)
}
