// Package plugin serves a Backend to the Pulumi engine as a provider plugin.
//
// It owns the protocol: gRPC, property marshalling, unknowns, secrets, the handshake. It knows nothing of any service;
// that is the backend's.
package plugin

import (
	"github.com/pulumi/pulumi/sdk/v3/go/common/resource"
	"github.com/pulumi/pulumi/sdk/v3/go/common/tokens"
)

// Backend answers for one provider package.
type Backend interface {
	// Check validates the inputs of a resource and fills what the provider fills itself (auto-names). Inputs may hold
	// unknowns in a preview.
	Check(Request) (resource.PropertyMap, []CheckFailure, error)
	// Diff compares what is in state with the new inputs.
	Diff(Request) (Diff, error)
	// Create makes the resource. With Request.Preview it makes nothing and returns what is known already, unknown
	// outputs as computed values.
	Create(Request) (id string, outputs resource.PropertyMap, err error)
	// Read returns what the service holds now; found is false when the resource is gone.
	Read(Request) (inputs, outputs resource.PropertyMap, found bool, err error)
	// Update changes the resource in place; with Request.Preview it changes nothing.
	Update(Request) (outputs resource.PropertyMap, err error)
	// Delete removes the resource, or refuses while something still uses it.
	Delete(Request) error
	// Invoke answers a data-source call. A call the backend does not know is an error.
	Invoke(token string, args resource.PropertyMap) (resource.PropertyMap, error)
}

// Request is one question about one resource.
type Request struct {
	URN  resource.URN
	Type tokens.Type
	Name string // logical name
	ID   string // empty before Create

	Inputs     resource.PropertyMap // new inputs, as checked where there was a check
	OldInputs  resource.PropertyMap
	OldOutputs resource.PropertyMap

	IgnoreChanges []string
	RandomSeed    []byte
	Preview       bool
}

// CheckFailure says which property is refused and why.
type CheckFailure struct{ Property, Reason string }

// Diff of one resource: the changed property paths, and those that force a replacement.
type Diff struct {
	Changed, Replaces   []string
	DeleteBeforeReplace bool
}
