package aws

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/headroom-eks/headroom/sandbox/plugin"
)

// diff lists the paths at which the new inputs differ from the old ones, as the bridged provider sees it: documents by
// meaning, sets without order, and what AWS filled in itself is no difference.
func (row *resourceRow) diff(old, outputs, wanted obj, ignored []string) (diff plugin.Diff) {
	d := differ{row: row}
	for _, key := range union(old, wanted) {
		if key == defaultsKey {
			continue
		}
		before, was := old[key]
		after, is := wanted[key]
		switch {
		case !was && is && has(outputs, key) && same(outputs[key], after):
			continue // AWS chose the same
		case was && !is && row.defaults[key] != nil && same(plain(row.defaults[key]), before):
			continue // and so does leaving it out
		}
		d.compare(key, key, before, after)
	}
	for _, path := range d.paths {
		if slices.ContainsFunc(ignored, func(i string) bool { return within(path, i) }) {
			continue
		}
		if row.replacing(path, old, wanted) {
			diff.Replaces = append(diff.Replaces, path)
		}
		diff.Changed = append(diff.Changed, path)
	}
	// A physical name that the program chose and keeps cannot exist twice, so the old one goes first.
	name := row.name.property
	if len(diff.Replaces) > 0 && name != "" && has(wanted, name) && same(old[name], wanted[name]) &&
		!slices.Contains(texts(list(wanted, defaultsKey)), name) {
		diff.DeleteBeforeReplace = true
	}
	return diff
}

// replacing says whether a change at the path forces a replacement.
func (row *resourceRow) replacing(path string, old, wanted obj) bool {
	changes := func(ruled string) bool {
		return (within(path, ruled) || within(ruled, path)) && !same(at(old, ruled), at(wanted, ruled))
	}
	wasSet := func(ruled string) bool { return len(at(old, ruled)) > 0 }
	return slices.ContainsFunc(row.replaces, changes) ||
		slices.ContainsFunc(row.replacesOnceSet, func(ruled string) bool {
			block, _, nested := strings.Cut(ruled, ".")
			return changes(ruled) && wasSet(ruled) && (!nested || has(wanted, block))
		}) ||
		slices.ContainsFunc(row.replacesOnRemoval, func(ruled string) bool {
			return changes(ruled) && wasSet(ruled) && len(at(wanted, ruled)) == 0
		})
}

// within reports whether path is prefix, or below it.
func within(path, prefix string) bool {
	rest, found := strings.CutPrefix(path, prefix)
	return found && (rest == "" || rest[0] == '.' || rest[0] == '[')
}

func union(a, b obj) []string {
	keys := append(sorted(a), sorted(b)...)
	slices.Sort(keys)
	return slices.Compact(keys)
}

type differ struct {
	row   *resourceRow
	paths []string
}

// compare walks two values. Shape is the path without indices, which is how rows name properties.
func (d *differ) compare(path, shape string, before, after any) {
	if same(before, after) && !isUnknown(after) {
		return
	}
	switch b := before.(type) {
	case obj:
		if a, ok := after.(obj); ok {
			for _, key := range union(b, a) {
				step := path + "." + key
				if strings.ContainsAny(key, ".[]/") {
					step = fmt.Sprintf("%s[%q]", path, key)
				}
				d.compare(step, shape+"."+key, b[key], a[key])
			}
			return
		}
	case []any:
		if a, ok := after.([]any); ok {
			if slices.Contains(d.row.lists, shape) && len(a) == len(b) {
				for i := range a {
					d.compare(fmt.Sprintf("%s[%d]", path, i), shape, b[i], a[i])
				}
				return
			}
			if !slices.Contains(d.row.lists, shape) && sameSet(a, b) {
				return
			}
		}
	case string:
		if a, ok := after.(string); ok && slices.Contains(d.row.json, shape) && sameDocument(a, b) {
			return
		}
	}
	if len(asList(before)) == 0 && len(asList(after)) == 0 && isEmpty(before) && isEmpty(after) {
		return
	}
	d.paths = append(d.paths, path)
}

func asList(v any) []any { l, _ := v.([]any); return l }

// isEmpty is true of nothing, an empty list and an empty map: the API does not tell them apart.
func isEmpty(v any) bool {
	switch v := v.(type) {
	case nil:
		return true
	case []any:
		return len(v) == 0
	case obj:
		return len(v) == 0
	}
	return false
}

func sameSet(a, b []any) bool {
	if len(a) != len(b) || slices.ContainsFunc(a, isUnknown) || slices.ContainsFunc(b, isUnknown) {
		return false
	}
	rest := slices.Clone(b)
	for _, v := range a {
		i := slices.IndexFunc(rest, func(o any) bool { return same(v, o) })
		if i < 0 {
			return false
		}
		rest = slices.Delete(rest, i, i+1)
	}
	return true
}

func sameDocument(a, b string) bool {
	var x, y any
	return json.Unmarshal([]byte(a), &x) == nil && json.Unmarshal([]byte(b), &y) == nil && same(x, y)
}
