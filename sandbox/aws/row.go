package aws

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/headroom-eks/headroom/sandbox/world"
)

// resourceRow describes one resource type: what the API takes, fills in, refuses and links. One row is one type; see
// the files named after services.
type resourceRow struct {
	typ string // Pulumi token

	inputs   []string // every input property there is, but for tags
	required []string
	replaces []string // paths whose change forces a replacement
	// The same, but only where a value was there, unless its whole block goes; and only when what was there goes.
	replacesOnceSet, replacesOnRemoval []string

	lists    []string            // paths of lists whose order counts; others are sets
	json     []string            // paths of JSON documents: compared by meaning
	enums    map[string][]string // path -> allowed words
	ranges   map[string]span
	defaults obj // what AWS fills in for inputs left out

	name naming
	// template of the id, over inputs, {region}, ... and {hex} or {uuid}, which are new every time
	id       string
	derive   func(s *world.State, in obj) (obj, error) // more values for templates
	upsert   bool                                      // AWS takes a second creation of the same for an update
	computed map[string]string                         // templates of outputs, over the same and {id}, {arn}
	filled   map[string][]string                       // keys of a given block that AWS fills in
	arn      string                                    // template of output "arn"
	tagged   bool                                      // input tags and output tagsAll

	refs   []reference
	exists string // error when the id is taken; template
	inUse  string // error when a blocking reference is left at deletion; template over outputs and {user}

	check func(in obj, fail func(path, reason string)) // what the provider refuses at plan time
	// the same, for what depends on the outputs in state; nil at creation
	plan        func(outputs, in obj) error
	onCreate    func(*call) error // after the generic part; may set outputs and change the world
	onUpdate    func(*call) error
	onRead      func(*call) error // brings live values into inputs and outputs
	onDelete    func(*call) error
	afterDelete func(*call) // what AWS does once it is gone
	changes     []string    // outputs that any update changes, so unknown in its preview
}

// takes says whether there is such an input property.
func (row *resourceRow) takes(property string) bool {
	return slices.Contains(row.inputs, property) || row.tagged && property == "tags"
}

// span is what a number may be, both ends included.
type span struct{ least, most int }

// naming is how the physical name comes to be.
type naming struct {
	property string // input and output; empty when the type has no name
	prefix   string // input with a prefix, where there is one
	auto     bool   // filled in from the logical name when left out
	begin    string // what auto-names begin with
	min, max int
	pattern  *regexp.Regexp
	says     string // what the pattern means, for the error
}

// reference is a property that names other resources.
type reference struct {
	path   string
	typ    string // Pulumi token of what is named
	by     string // output of it that the value equals; "" is the id
	gone   string // error when there is no such thing; template over {value}; empty when AWS does not look
	onGone onGone
}

// onGone says what happens to the referrer when what it names is deleted.
type onGone int

const (
	blocks   onGone = iota // the deletion is refused
	cascades               // the referrer goes too
	dangles                // nothing
)

// call is one API call on one resource, inside an update of the world.
type call struct {
	s       *world.State
	row     *resourceRow
	res     *world.Resource
	in, out obj
	old     obj // inputs before an update
	// outputs before an update, as the engine knows them: a refresh may have brought in what the inputs never said
	state obj
}

// key of the resource in the world.
func (c *call) key() string { return world.Key(c.res.Type, c.res.ID) }

// set puts a value into an output, in the form of obj.
func (c *call) set(path string, v any) { c.out[path] = plain(v) }

// env are the values a template may use.
func env(s *world.State, more ...obj) obj {
	out := obj{
		"account":   s.Account,
		"region":    s.Region,
		"partition": s.Partition,
		"dns":       dnsSuffix(s.Partition),
	}
	for _, m := range more {
		for k, v := range m {
			out[k] = v
		}
	}
	return out
}

func dnsSuffix(partition string) string {
	if partition == "aws-cn" {
		return "amazonaws.com.cn"
	}
	return "amazonaws.com"
}

func rowOf(typ string) (*resourceRow, error) {
	if r := table[typ]; r != nil {
		return r, nil
	}
	return nil, fmt.Errorf("the sandbox's AWS has no resource type %s; add its row in sandbox/aws", typ)
}

// denied is the error of a caller who may not do the actions, or read the type.
func (row *resourceRow) denied(s *world.State, actions Actions) error {
	return denied(s, append(actions.List(), permissions[row.typ].Read.List()...)...)
}

// denied is the error of a caller without permission, in the service's own spelling.
func denied(s *world.State, actions ...string) error {
	for _, action := range actions {
		if s.Allowed(action) && s.Grants(action) {
			continue
		}
		code := "AccessDeniedException:"
		switch service, _, _ := strings.Cut(action, ":"); service {
		case "ec2":
			code = "UnauthorizedOperation: You are not authorized to perform this operation."
		case "iam", "sts", "sqs", "autoscaling":
			code = "AccessDenied:"
		}
		return fmt.Errorf("%s User: %s is not authorized to perform: %s because no identity-based policy allows the "+
			"%s action", code, s.CallerARN(), action, action)
	}
	return nil
}
