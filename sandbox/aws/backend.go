// Package aws is the sandbox's AWS: a backend for the provider plugin that keeps resources in a world file and refuses
// what AWS refuses.
//
// It owns the rules of each resource type (one table row per type, in files named after services) and the answers to
// data-source calls. It does not own the state itself (sandbox/world), nor the protocol (sandbox/plugin). It is a test
// double: it knows the types this project uses and fails loudly on any other.
package aws

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/headroom-eks/headroom/sandbox/plugin"
	"github.com/headroom-eks/headroom/sandbox/world"
	"github.com/pulumi/pulumi/sdk/v3/go/common/resource"
)

// Backend implements plugin.Backend and plugin.Configurer.
type Backend struct {
	world *world.World
	err   error
}

// New returns the AWS of the world in the file at path. A path that cannot be used makes every call fail with the
// reason.
func New(path string) plugin.Backend {
	w, err := world.Open(path)
	return &Backend{world: w, err: err}
}

func (b *Backend) view(f func(*world.State) error) error {
	if b.err != nil {
		return b.err
	}
	return b.world.View(f)
}

func (b *Backend) update(f func(*world.State) error) error {
	if b.err != nil {
		return b.err
	}
	return b.world.Update(f)
}

func (b *Backend) note(token string) error {
	if b.err != nil {
		return b.err
	}
	return b.world.Note(token)
}

// CheckConfig refuses a region the sandbox has no zones for.
func (b *Backend) CheckConfig(config resource.PropertyMap) []plugin.CheckFailure {
	region := str(fromProperties(config), "region")
	if region != "" && !world.KnownRegion(region) {
		return []plugin.CheckFailure{{
			Property: "region",
			Reason:   fmt.Sprintf("the sandbox has no region %q; add its zones in sandbox/world/types.go", region),
		}}
	}
	return nil
}

// Configure moves an account in which nothing was made yet to the provider's region. The sandbox's account has one
// region.
func (b *Backend) Configure(config resource.PropertyMap) error {
	settings := fromProperties(config)
	if err := b.admit(settings); err != nil {
		return err
	}
	region := str(settings, "region")
	if region == "" {
		return nil
	}
	moved := false
	if err := b.view(func(s *world.State) error { moved = s.Region == region; return nil }); err != nil || moved {
		return err
	}
	return b.update(func(s *world.State) error {
		if s.Region == region {
			return nil
		}
		if left := s.Leftovers(); len(left) > 0 {
			return fmt.Errorf("this sandbox's account is in %s and holds %d things; use another sandbox for %s",
				s.Region, len(left), region)
		}
		fresh := world.Fresh(region)
		s.Region, s.Partition = fresh.Region, fresh.Partition
		return nil
	})
}

// DiffConfig replaces the provider when the region changes, as the real one does.
func (b *Backend) DiffConfig(old, wanted resource.PropertyMap) plugin.Diff {
	o, n := fromProperties(old), fromProperties(wanted)
	var diff plugin.Diff
	for _, key := range slices.Compact(slices.Sorted(slices.Values(append(sorted(o), sorted(n)...)))) {
		if !same(o[key], n[key]) {
			diff.Changed = append(diff.Changed, key)
			if key == "region" {
				diff.Replaces = append(diff.Replaces, key)
			}
		}
	}
	return diff
}

// Create makes the resource.
func (b *Backend) Create(r plugin.Request) (string, resource.PropertyMap, error) {
	row, err := rowOf(string(r.Type))
	if err != nil {
		return "", nil, err
	}
	in := fromProperties(r.Inputs)
	if r.Preview {
		var out obj
		err := b.view(func(s *world.State) error {
			out = row.planned(s, in)
			if row.plan != nil {
				return row.plan(nil, in)
			}
			return nil
		})
		return "", toProperties(out), err
	}
	c := &call{row: row, res: &world.Resource{Type: string(r.Type), URN: string(r.URN)}, in: in}
	var failed error
	if err := b.note(row.typ); err != nil {
		return "", nil, err
	}
	err = b.update(func(s *world.State) error {
		c.s = s
		err := c.create()
		if halfMade, ok := err.(*unfinished); ok {
			failed = halfMade // the thing exists, though it does not work
			return nil
		}
		return err
	})
	if err != nil {
		return "", nil, fmt.Errorf("creating %s (%s): %w", r.Type, r.Name, err)
	}
	outputs := toProperties(c.out)
	if failed != nil {
		return c.res.ID, outputs, initFailed(c.res.ID, r.Inputs, outputs, failed.Error())
	}
	return c.res.ID, outputs, nil
}

// Read returns what there is now.
func (b *Backend) Read(r plugin.Request) (inputs, outputs resource.PropertyMap, found bool, err error) {
	row, err := rowOf(string(r.Type))
	if err != nil {
		return nil, nil, false, err
	}
	err = b.view(func(s *world.State) error {
		if err := row.denied(s, ""); err != nil {
			return err
		}
		res := s.Get(string(r.Type), r.ID)
		if res == nil {
			return nil
		}
		found = true
		c := &call{s: s, row: row, res: res, in: clone(res.Inputs), out: clone(res.Outputs)}
		if row.onRead != nil {
			if err := row.onRead(c); err != nil {
				return err
			}
		}
		inputs, outputs = toProperties(c.in), toProperties(c.out)
		return nil
	})
	return inputs, outputs, found, err
}

// Update changes the resource in place.
func (b *Backend) Update(r plugin.Request) (resource.PropertyMap, error) {
	row, err := rowOf(string(r.Type))
	if err != nil {
		return nil, err
	}
	in := fromProperties(r.Inputs)
	if r.Preview {
		out := fromProperties(r.OldOutputs)
		maps.Copy(out, foreseen(in, fromProperties(r.OldInputs), out))
		delete(out, defaultsKey)
		for _, k := range row.changes {
			out[k] = unknown{}
		}
		return toProperties(out), nil
	}
	c := &call{row: row, in: in, state: fromProperties(r.OldOutputs)}
	var failed error
	err = b.update(func(s *world.State) error {
		c.s, c.res = s, s.Get(string(r.Type), r.ID)
		if c.res == nil {
			return fmt.Errorf("ResourceNotFoundException: %s %s does not exist any more; run a refresh", r.Type, r.ID)
		}
		err := c.change()
		if halfMade, ok := err.(*unfinished); ok {
			failed = halfMade
			return nil
		}
		return err
	})
	if err == nil {
		err = failed
	}
	if err != nil {
		return nil, fmt.Errorf("updating %s (%s): %w", r.Type, r.ID, err)
	}
	return toProperties(c.out), nil
}

// Delete removes the resource, or refuses while something uses it.
func (b *Backend) Delete(r plugin.Request) error {
	row, err := rowOf(string(r.Type))
	if err != nil {
		return err
	}
	err = b.update(func(s *world.State) error {
		res := s.Get(string(r.Type), r.ID)
		if res == nil {
			return nil // deleted behind our back, which is what was asked
		}
		return (&call{s: s, row: row, res: res, in: res.Inputs, out: res.Outputs}).remove()
	})
	if err != nil {
		return fmt.Errorf("deleting %s (%s): %w", r.Type, r.ID, err)
	}
	return nil
}

// Diff compares the inputs in state with the new ones.
func (b *Backend) Diff(r plugin.Request) (plugin.Diff, error) {
	row, err := rowOf(string(r.Type))
	if err != nil {
		return plugin.Diff{}, err
	}
	outputs, in := fromProperties(r.OldOutputs), fromProperties(r.Inputs)
	if row.plan != nil {
		if err := row.plan(outputs, in); err != nil {
			return plugin.Diff{}, fmt.Errorf("planning %s (%s): %w", r.Type, r.ID, err)
		}
	}
	return row.diff(fromProperties(r.OldInputs), outputs, in, r.IgnoreChanges), nil
}

// Check validates what the provider validates before it calls AWS, and gives the thing its physical name.
func (b *Backend) Check(r plugin.Request) (resource.PropertyMap, []plugin.CheckFailure, error) {
	row, err := rowOf(string(r.Type))
	if err != nil {
		return nil, nil, err
	}
	in := fromProperties(r.Inputs)
	delete(in, defaultsKey)
	if err := row.nameIt(in, fromProperties(r.OldInputs), r.Name, r.RandomSeed); err != nil {
		return nil, nil, err
	}
	var failures []plugin.CheckFailure
	row.verify(in, func(path, reason string) {
		failures = append(failures, plugin.CheckFailure{Property: path, Reason: reason})
	})
	return toProperties(in), failures, nil
}

// nameIt fills in the physical name: the old one if there was one, or the logical name with seven random characters.
func (row *resourceRow) nameIt(in, old obj, logical string, seed []byte) error {
	n := row.name
	if !n.auto || has(in, n.property) {
		return nil
	}
	name := str(old, n.property)
	if !slices.Contains(texts(list(old, defaultsKey)), n.property) || n.prefix != "" &&
		!strings.HasPrefix(name, str(in, n.prefix)) {
		name = ""
	}
	if name == "" {
		prefix := n.begin + logical + "-"
		if n.prefix != "" && has(in, n.prefix) {
			prefix = str(in, n.prefix)
		}
		made, err := resource.NewUniqueName(seed, prefix, 7, n.max, []rune("0123456789abcdef"))
		if err != nil {
			return fmt.Errorf("%q is too long a name to add seven characters to (at most %d): %w", logical, n.max, err)
		}
		name = made
	}
	in[n.property] = name
	in[defaultsKey] = []any{n.property}
	return nil
}
