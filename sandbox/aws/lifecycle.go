package aws

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/headroom-eks/headroom/sandbox/world"
	"github.com/pulumi/pulumi/sdk/v3/go/common/resource"
	sdk "github.com/pulumi/pulumi/sdk/v3/go/common/resource/plugin"
	"github.com/pulumi/pulumi/sdk/v3/go/common/util/rpcutil/rpcerror"
	pulumirpc "github.com/pulumi/pulumi/sdk/v3/proto/go"
	"google.golang.org/grpc/codes"
)

// unfinished is the failure of something that exists now and does not work, such as a node group that AWS calls
// CREATE_FAILED.
type unfinished struct{ reason string }

func (u *unfinished) Error() string { return u.reason }

// initFailed tells the engine that the resource is there although its creation failed, so that it stays in state.
func initFailed(id string, inputs, outputs resource.PropertyMap, reason string) error {
	options := sdk.MarshalOptions{KeepUnknowns: true}
	in, err := sdk.MarshalProperties(inputs, options)
	if err != nil {
		return err
	}
	out, err := sdk.MarshalProperties(outputs, options)
	if err != nil {
		return err
	}
	return rpcerror.WithDetails(rpcerror.New(codes.Unknown, reason), &pulumirpc.ErrorResourceInitFailed{
		Id:         id,
		Properties: out,
		Reasons:    []string{reason},
		Inputs:     in,
	})
}

// foreseen are the outputs of an update in a preview: what is asked for now, and what AWS had filled in without being
// asked, in nested blocks too, a cluster's own security group in vpcConfig for example.
func foreseen(in, oldIn, oldOut obj) obj {
	out := obj{}
	for k, v := range oldOut {
		if _, was := oldIn[k]; !was {
			out[k] = v
		}
	}
	for k, v := range in {
		block, isBlock := v.(obj)
		had, hadBlock := oldOut[k].(obj)
		if out[k] = v; isBlock && hadBlock {
			asked, _ := oldIn[k].(obj)
			out[k] = foreseen(block, asked, had)
		}
	}
	return out
}

// planned are the outputs a preview knows: what was asked for. What AWS would fill in is unknown.
func (row *resourceRow) planned(s *world.State, in obj) obj {
	out := obj{}
	for k, v := range in {
		out[k] = v
	}
	delete(out, defaultsKey)
	for k := range row.defaults {
		if _, given := out[k]; !given {
			out[k] = unknown{}
		}
	}
	for k := range row.computed {
		out[k] = unknown{}
	}
	for block, keys := range row.filled {
		given, ok := out[block].(obj)
		if !ok {
			continue
		}
		out[block] = maps.Clone(given)
		for _, key := range keys {
			out[block].(obj)[key] = unknown{}
		}
	}
	if row.arn != "" {
		out["arn"] = unknown{}
	}
	if row.tagged {
		out["tagsAll"] = tagsOrEmpty(in)
	}
	return out
}

func tagsOrEmpty(in obj) any {
	if tags, given := in["tags"]; given {
		return tags
	}
	return obj{}
}

// create makes the resource in the world.
func (c *call) create() error {
	r := c.row
	if err := r.denied(c.s, permissions[r.typ].Create); err != nil {
		return err
	}
	if err := r.refused(c.in); err != nil {
		return err
	}
	if r.plan != nil {
		if err := r.plan(nil, c.in); err != nil {
			return err
		}
	}
	refs, err := c.resolve()
	if err != nil {
		return err
	}
	c.out = outputsOf(c.in)
	for k, v := range r.defaults {
		if !has(c.out, k) {
			c.out[k] = plain(v)
		}
	}
	values, err := c.identify()
	if err != nil {
		return err
	}
	if err := c.fillIn(values); err != nil {
		return err
	}
	c.res.Refs = refs
	return c.finish(r.onCreate)
}

// identify gives the resource its id, and returns the values for templates. The error says that the id is taken.
func (c *call) identify() (values obj, err error) {
	r := c.row
	values = env(c.s, c.out)
	if strings.Contains(r.id, "{hex}") {
		values["hex"] = c.s.Hex(c.res.URN, 17)
	}
	if strings.Contains(r.id, "{uuid}") {
		h := c.s.Hex(c.res.URN, 32)
		values["uuid"] = strings.Join([]string{h[:8], h[8:12], h[12:16], h[16:20], h[20:]}, "-")
	}
	if r.derive != nil {
		more, err := r.derive(c.s, c.in)
		if err != nil {
			return nil, err
		}
		values = env(c.s, values, more)
	}
	id, known := fill(r.id, values).(string)
	if !known {
		return nil, fmt.Errorf("the row of %s makes no id of %q", c.res.Type, r.id)
	}
	c.res.ID = id
	values["id"] = id
	if c.s.Resources[c.key()] != nil && !r.upsert {
		exists, _ := fill(r.exists, values).(string)
		if exists == "" {
			exists = "AlreadyExists: " + id + " already exists"
		}
		return nil, fmt.Errorf("%s", exists)
	}
	return values, nil
}

// fillIn sets the outputs that the row computes.
func (c *call) fillIn(values obj) error {
	r := c.row
	if r.tagged {
		c.out["tagsAll"] = tagsOrEmpty(c.in)
	}
	if r.arn != "" {
		if strings.Contains(r.arn, "{random}") {
			values["random"] = c.s.Hex(c.res.URN+"/arn", 17)
		}
		values["arn"] = fill(r.arn, values)
		c.out["arn"] = values["arn"]
	}
	for _, k := range slices.Sorted(maps.Keys(r.computed)) {
		if strings.Contains(r.computed[k], "{random}") {
			values["random"] = c.s.Hex(c.res.URN+"/"+k, 17)
		}
		c.out[k] = fill(r.computed[k], values)
		if isUnknown(c.out[k]) {
			return fmt.Errorf("the row of %s cannot fill %s from %q", c.res.Type, k, r.computed[k])
		}
	}
	return nil
}

// change updates the resource in the world.
func (c *call) change() error {
	row := c.row
	if err := row.denied(c.s, permissions[row.typ].Update); err != nil {
		return err
	}
	if err := row.refused(c.in); err != nil {
		return err
	}
	refs, err := c.resolve()
	if err != nil {
		return err
	}
	c.old, c.out = c.res.Inputs, clone(c.res.Outputs)
	for k := range c.old {
		if _, given := c.in[k]; !given && k != defaultsKey {
			delete(c.out, k)
			if fallback, ok := row.defaults[k]; ok {
				c.out[k] = plain(fallback)
			}
		}
	}
	for k, v := range outputsOf(c.in) {
		c.out[k] = v
	}
	if row.tagged {
		c.out["tagsAll"] = tagsOrEmpty(c.in)
	}
	c.res.Refs = refs
	return c.finish(row.onUpdate)
}

func outputsOf(in obj) obj {
	out := clone(in)
	delete(out, defaultsKey)
	return out
}

func (c *call) finish(hook func(*call) error) error {
	var err error
	if hook != nil {
		err = hook(c)
		if _, exists := err.(*unfinished); err != nil && !exists {
			return err
		}
	}
	c.res.Inputs, c.res.Outputs = c.in, c.out
	c.s.Put(c.res)
	return err
}

// remove deletes the resource from the world, with what goes along.
func (c *call) remove() error {
	row, s := c.row, c.s
	if err := row.denied(s, permissions[row.typ].Delete); err != nil {
		return err
	}
	var along []string
	for _, user := range s.Users(c.key()) {
		if user.Owner == c.key() {
			continue
		}
		switch how := whenGone(user, c.key(), s); how {
		case blocks:
			message, _ := fill(row.inUse, env(s, c.out, obj{"id": c.res.ID, "user": user.ID})).(string)
			if message == "" {
				message = "DependencyViolation: resource " + c.res.ID + " has a dependent object"
			}
			return fmt.Errorf("%s (still used by %s %s)", message, user.Type, user.ID)
		case cascades:
			along = append(along, world.Key(user.Type, user.ID))
		}
	}
	if row.onDelete != nil {
		if err := row.onDelete(c); err != nil {
			return err
		}
	}
	for key, r := range s.Resources {
		if r.Owner == c.key() {
			along = append(along, key)
		}
	}
	for _, key := range append(along, c.key()) {
		delete(s.Resources, key)
	}
	if row.afterDelete != nil {
		row.afterDelete(c)
	}
	return nil
}

// whenGone is what the row of a user says about the reference it has to key. What services made by themselves blocks.
func whenGone(user *world.Resource, key string, s *world.State) onGone {
	r := table[user.Type]
	if r == nil {
		return blocks
	}
	for _, ref := range r.refs {
		for _, v := range at(user.Inputs, ref.path) {
			if found := lookup(s, ref, v); found != nil && world.Key(found.Type, found.ID) == key {
				return ref.onGone
			}
		}
	}
	return blocks
}

// resolve returns the keys of what the inputs name, or the error of the first that does not exist.
func (c *call) resolve() ([]string, error) {
	var keys []string
	for _, ref := range c.row.refs {
		for _, v := range at(c.in, ref.path) {
			found := lookup(c.s, ref, v)
			if found == nil {
				if ref.gone == "" {
					continue
				}
				message, _ := fill(ref.gone, env(c.s, c.in, obj{"value": v})).(string)
				return nil, fmt.Errorf("%s", message)
			}
			if key := world.Key(found.Type, found.ID); !slices.Contains(keys, key) {
				keys = append(keys, key)
			}
		}
	}
	return keys, nil
}

func lookup(s *world.State, r reference, v any) *world.Resource {
	value, ok := v.(string)
	if !ok {
		return nil
	}
	if r.by == "" {
		return s.Get(r.typ, value)
	}
	return s.Find(r.typ, r.by, value)
}
