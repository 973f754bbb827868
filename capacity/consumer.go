package capacity

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/headroom-eks/headroom/pool"
)

// ErrNotFinished says that the output holds Pulumi's mark for "unknown" instead of a document: the last update left out
// what the document hangs on, as with --target or --continue-on-error. Nothing is known of the capacity then.
var ErrNotFinished = errors.New("capacity: the output is unknown, because the last update did not make everything " +
	"(was it run with --target or --continue-on-error?); run pulumi up again")

// unknownMark is what Pulumi stores for an output whose value is not known.
// https://github.com/pulumi/pulumi/blob/master/sdk/go/common/resource/plugin/rpc.go (UnknownStringValue)
const unknownMark = "04da6b54-80e4-46f7-96ec-b56ff0331ba9"

// Decode reads the stack output `capacity`: a map as a stack reference or the Automation API gives it, JSON as text or
// bytes, what Fitted made of that, or anything that becomes such JSON. Whole numbers may come as float, int or text
// (field fault BR-90).
//
// Nil, and the JSON null, is an output that is not there, because the first update failed or has not run: a document
// without pools, which is no capacity, and no error (field fault BR-91). Whatever cannot be read gives an error, and
// also no pools; so does a document that contradicts itself.
func Decode(output any) (Document, error) {
	none := Document{SchemaVersion: SchemaVersion, Pools: []Pool{}}
	raw, err := text(output)
	if err != nil || len(raw) == 0 {
		return none, err
	}
	generic, err := parse(raw)
	if err != nil {
		return none, fmt.Errorf("capacity: %w", err)
	}
	if generic == nil {
		return none, nil
	}
	if generic == unknownMark {
		return none, ErrNotFinished
	}
	// The version first: what another version means by a field is not known.
	top, isObject := generic.(map[string]any)
	if !isObject {
		return none, fmt.Errorf("capacity: the output is no object")
	}
	version, err := wholeNumber(top["schemaVersion"])
	if err != nil {
		return none, fmt.Errorf("capacity: schemaVersion: %w", err)
	}
	if version != SchemaVersion {
		return none, fmt.Errorf("capacity: schemaVersion is %d, this reader knows %d; use a newer one", version,
			SchemaVersion)
	}
	if err := makeWhole(generic, reflect.TypeFor[Document](), "capacity"); err != nil {
		return none, err
	}
	clean, err := json.Marshal(generic)
	if err != nil {
		return none, fmt.Errorf("capacity: %w", err)
	}
	var doc Document
	if err := json.Unmarshal(clean, &doc); err != nil {
		return none, fmt.Errorf("capacity: %w", err)
	}
	if doc.Pools == nil {
		doc.Pools = []Pool{}
	}
	if err := doc.contradiction(); err != nil {
		return none, err
	}
	return doc, nil
}

// text is the JSON of an output; empty for one that is not there.
func text(output any) ([]byte, error) {
	var raw []byte
	switch v := output.(type) {
	case nil:
		return nil, nil
	case []byte:
		raw = v
	case string:
		raw = []byte(v)
		if v == unknownMark {
			return nil, ErrNotFinished
		}
	default:
		var err error
		if raw, err = json.Marshal(v); err != nil {
			return nil, fmt.Errorf("capacity: %w", err)
		}
	}
	if raw = bytes.TrimSpace(raw); len(raw) == 0 {
		return nil, nil
	}
	raw, err := unpacked(raw)
	if err != nil {
		return nil, fmt.Errorf("capacity: compressed document: %w", err)
	}
	return raw, nil
}

// parse reads one JSON value and nothing after it. An object that names a key twice is refused: readers differ in which
// of the two they take.
func parse(raw []byte) (any, error) {
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber()
	value, err := parseValue(decoder, "")
	if err != nil {
		return nil, err
	}
	if _, err := decoder.Token(); err != io.EOF {
		return nil, errors.New("there is text after the document")
	}
	return value, nil
}

func parseValue(decoder *json.Decoder, path string) (any, error) {
	token, err := decoder.Token()
	if err != nil {
		return nil, err
	}
	switch token {
	case json.Delim('{'):
		return parseObject(decoder, path)
	case json.Delim('['):
		list := []any{}
		for decoder.More() {
			item, err := parseValue(decoder, fmt.Sprintf("%s[%d]", path, len(list)))
			if err != nil {
				return nil, err
			}
			list = append(list, item)
		}
		_, err := decoder.Token() // the closing bracket
		return list, err
	default:
		return token, nil
	}
}

func parseObject(decoder *json.Decoder, path string) (any, error) {
	object := map[string]any{}
	for decoder.More() {
		token, err := decoder.Token()
		if err != nil {
			return nil, err
		}
		key, _ := token.(string) // the decoder takes nothing else for a key
		if _, twice := object[key]; twice {
			return nil, fmt.Errorf("%s.%s is given twice", path, key)
		}
		if object[key], err = parseValue(decoder, path+"."+key); err != nil {
			return nil, err
		}
	}
	_, err := decoder.Token() // the closing brace
	return object, err
}

// contradiction is an error when the numbers of a document cannot all be true. A reader that believed one of them would
// place a gang that cannot run.
func (d Document) contradiction() error {
	seen := map[string]bool{}
	for _, p := range d.Pools {
		if seen[p.Name] {
			return fmt.Errorf("capacity: there are two pools %q", p.Name)
		}
		seen[p.Name] = true
		zones := 0
		for _, nodes := range p.RealizedByZone {
			zones += nodes
		}
		for _, rule := range []struct {
			what        string
			least, most int
		}{
			{"firm nodes above the maximum", p.Nodes.Firm, p.Nodes.Maximum},
			{"a largest gang above its nodes", p.LargestGang, max(p.Nodes.Maximum, p.Nodes.Realized)},
			{"more nodes in its zones than in all", zones, p.Nodes.Realized},
		} {
			if rule.least > rule.most {
				return fmt.Errorf("capacity: pool %q has %s (%d, %d); the document contradicts itself", p.Name,
					rule.what, rule.least, rule.most)
			}
		}
	}
	return nil
}

// makeWhole replaces, in a decoded JSON value, every number that the type has as an int by a whole one.
func makeWhole(value any, typ reflect.Type, path string) error {
	if typ.Kind() == reflect.Pointer {
		typ = typ.Elem()
	}
	replace := func(old any, typ reflect.Type, path string, put func(any)) error {
		if typ.Kind() == reflect.Pointer {
			typ = typ.Elem()
		}
		if typ.Kind() != reflect.Int || old == nil {
			return makeWhole(old, typ, path)
		}
		n, err := wholeNumber(old)
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		put(n)
		return nil
	}
	switch v := value.(type) {
	case map[string]any:
		for key, item := range v {
			of, known := fieldType(typ, key)
			if !known {
				if like := inAnotherCase(typ, key); like != "" {
					return fmt.Errorf("%s.%s: the key is %s, in this spelling", path, key, like)
				}
				continue // fields may be added within a version
			}
			if err := replace(item, of, path+"."+key, func(n any) { v[key] = n }); err != nil {
				return err
			}
		}
	case []any:
		if typ.Kind() != reflect.Slice {
			return nil // json.Unmarshal says it better
		}
		for i, item := range v {
			if err := replace(item, typ.Elem(), fmt.Sprintf("%s[%d]", path, i), func(n any) { v[i] = n }); err != nil {
				return err
			}
		}
	}
	return nil
}

// fieldType is the type of what a JSON object of this Go type holds under a key.
func fieldType(typ reflect.Type, key string) (reflect.Type, bool) {
	switch typ.Kind() {
	case reflect.Map:
		return typ.Elem(), true
	case reflect.Struct:
		for i := range typ.NumField() {
			if name, _, _ := strings.Cut(typ.Field(i).Tag.Get("json"), ","); name == key {
				return typ.Field(i).Type, true
			}
		}
	}
	return nil, false
}

// inAnotherCase is the key of a struct that differs from this one in case alone, if any. Go's decoder would take the
// one for the other, past all checks.
func inAnotherCase(typ reflect.Type, key string) string {
	if typ.Kind() != reflect.Struct {
		return ""
	}
	for i := range typ.NumField() {
		name, _, _ := strings.Cut(typ.Field(i).Tag.Get("json"), ",")
		if name != key && strings.EqualFold(name, key) {
			return name
		}
	}
	return ""
}

// mostNodes is the largest count a reader takes. Sums of a few do not overflow.
const mostNodes = 1 << 30

// wholeNumber reads a count that may have become a float or text on its way. It is never negative.
func wholeNumber(v any) (int, error) {
	var text string
	switch v := v.(type) {
	case json.Number:
		text = v.String()
	case string:
		text = strings.TrimSpace(v)
	default:
		return 0, fmt.Errorf("%v is no number", v)
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsNaN(f) || f != math.Trunc(f) || f < 0 || f > mostNodes {
		return 0, fmt.Errorf("%q is not a whole number from 0 to %d", text, mostNodes)
	}
	return int(f), nil
}

// At is the document as it holds at a time. Until ValidUntil it is the document itself. Past it nothing is known:
// Realized is what was last seen, Maximum falls to it, and Firm to 0 in a pool that may buy spot, because the document
// does not say which of its nodes are. Fits answers NotKnown then. Nodes that were seen may be gone; only a new
// observation says.
func (d Document) At(now time.Time) Document {
	if !now.After(d.ValidUntil) {
		return d
	}
	pools := make([]Pool, 0, len(d.Pools))
	for _, p := range d.Pools {
		maximum := min(p.Nodes.Maximum, p.Nodes.Realized)
		firm := min(p.Nodes.Firm, maximum)
		if slices.Contains(p.CapacityTypes, pool.Spot) {
			firm = 0
		}
		p.Nodes = Counts{Realized: p.Nodes.Realized, Maximum: maximum, Firm: firm}
		p.GPUs = Counts{
			Realized: p.GPUs.Realized,
			Maximum:  min(p.GPUs.Maximum, p.GPUs.Realized),
			Firm:     firm * max(p.PerNode.GPUs, 0),
		}
		p.LargestGang = min(p.LargestGang, maximum, p.gangNow())
		p.ScalesFromZero = false
		expired := Ceiling{
			Kind:   Expired,
			Nodes:  p.Nodes.Realized,
			Detail: "the document was valid until " + d.ValidUntil.UTC().Format(time.RFC3339),
		}
		p.Ceilings = append(slices.Clone(p.Ceilings), expired)
		SortCeilings(p.Ceilings)
		p.BoundBy = p.Ceilings[0].Kind
		pools = append(pools, p)
	}
	d.Pools = pools
	return d
}

// gangNow is the largest gang that the realized nodes could take if they were all free.
func (p Pool) gangNow() int {
	if !p.TiedToZone {
		return p.Nodes.Realized
	}
	best := 0
	for _, nodes := range p.RealizedByZone {
		best = max(best, nodes)
	}
	return best
}
