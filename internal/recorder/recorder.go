// Package recorder runs a component under Pulumi's mocks and keeps what it registered, for the tests of components.
//
// Mocks know neither unknown values nor schemas nor transforms; what needs those is proved on the engine.
package recorder

import (
	"sync"
	"testing"

	"github.com/pulumi/pulumi/sdk/v3/go/common/resource"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
	pulumirpc "github.com/pulumi/pulumi/sdk/v3/proto/go"
)

// Resource is one registration.
type Resource struct {
	Type, Name string
	Inputs     map[string]any
	// RPC is the whole request: parent, dependencies, protect, ignoreChanges, deleteBeforeReplace.
	RPC *pulumirpc.RegisterResourceRequest
	// Transforms the resource's options declare. Mocks do not run them.
	Transforms []pulumi.ResourceTransform
}

// Recorder holds the registrations of one run, component resources included.
type Recorder struct {
	mu        sync.Mutex
	resources []Resource
	answers   Answers
}

// Answers are outputs by type token, over the defaults: id "<name>-id", arn, name and the inputs themselves.
type Answers map[string]map[string]any

// Run runs the program and returns what it registered. The error is the program's.
func Run(answers Answers, program pulumi.RunFunc) (*Recorder, error) {
	r := &Recorder{answers: answers}
	return r, pulumi.RunErr(program, pulumi.WithMocks("headroom", "test", r))
}

// NewResource implements pulumi.MockResourceMonitor.
func (r *Recorder) NewResource(args pulumi.MockResourceArgs) (string, resource.PropertyMap, error) {
	r.mu.Lock()
	r.resources = append(r.resources, Resource{args.TypeToken, args.Name, args.Inputs.Mappable(), args.RegisterRPC,
		args.Transforms})
	r.mu.Unlock()
	outputs := resource.PropertyMap{
		"arn":  resource.NewProperty("arn:aws:mock:us-west-2:123456789012:" + args.Name),
		"name": resource.NewProperty(args.Name + "-name"),
	}
	for key, value := range args.Inputs {
		outputs[key] = value
	}
	for key, value := range r.answers[args.TypeToken] {
		outputs[resource.PropertyKey(key)] = resource.NewPropertyValue(value)
	}
	if !args.Custom {
		return "", outputs, nil
	}
	return args.Name + "-id", outputs, nil
}

// Call implements pulumi.MockResourceMonitor. Components make no calls: the program asks and passes the answers in.
func (r *Recorder) Call(args pulumi.MockCallArgs) (resource.PropertyMap, error) {
	panic("a component called " + args.Token)
}

// All registrations, in no particular order.
func (r *Recorder) All() []Resource { return r.resources }

// Of returns the registrations of a type.
func (r *Recorder) Of(typ string) (found []Resource) {
	for _, res := range r.resources {
		if res.Type == typ {
			found = append(found, res)
		}
	}
	return found
}

// Get returns the one registration of a type and name, and fails the test when there is none.
func (r *Recorder) Get(t *testing.T, typ, name string) Resource {
	t.Helper()
	for _, res := range r.Of(typ) {
		if res.Name == name {
			return res
		}
	}
	t.Fatalf("no %s named %s; registered: %v", typ, name, r.names())
	return Resource{}
}

func (r *Recorder) names() (names []string) {
	for _, res := range r.resources {
		names = append(names, res.Type+" "+res.Name)
	}
	return names
}
