package plugin

import (
	"github.com/pulumi/pulumi/sdk/v3/go/common/resource"
)

// OnlyComponents is the Backend of a package that has components and no resources of its own.
type OnlyComponents struct{ Package string }

func (b OnlyComponents) Check(r Request) (resource.PropertyMap, []CheckFailure, error) {
	return nil, nil, unknown(b.Package, "resource", string(r.Type))
}
func (b OnlyComponents) Diff(r Request) (Diff, error) {
	return Diff{}, unknown(b.Package, "resource", string(r.Type))
}
func (b OnlyComponents) Create(r Request) (string, resource.PropertyMap, error) {
	return "", nil, unknown(b.Package, "resource", string(r.Type))
}
func (b OnlyComponents) Read(r Request) (resource.PropertyMap, resource.PropertyMap, bool, error) {
	return nil, nil, false, unknown(b.Package, "resource", string(r.Type))
}
func (b OnlyComponents) Update(r Request) (resource.PropertyMap, error) {
	return nil, unknown(b.Package, "resource", string(r.Type))
}
func (b OnlyComponents) Delete(r Request) error {
	return unknown(b.Package, "resource", string(r.Type))
}
func (b OnlyComponents) Invoke(token string, _ resource.PropertyMap) (resource.PropertyMap, error) {
	return nil, unknown(b.Package, "call", token)
}
