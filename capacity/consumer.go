package capacity

import (
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/headroom-eks/headroom/pool"
)

// Decode reads the stack output `capacity`: a map as a stack reference or the Automation API gives it, JSON as text or
// bytes, what Fitted made of that, or anything that becomes such JSON. Whole numbers may come as float, int or text
// (field fault BR-90).
//
// Nil, and the JSON null, is an output that is not there, because the first update failed or has not run: a document
// without pools, which is no capacity, and no error (field fault BR-91). Whatever cannot be read gives an error, and
// also no pools.
func Decode(output any) (Document, error) {
	none := Document{SchemaVersion: SchemaVersion, Pools: []Pool{}}
	var raw []byte
	switch v := output.(type) {
	case nil:
		return none, nil
	case []byte:
		raw = v
	case string:
		raw = []byte(v)
	default:
		var err error
		if raw, err = json.Marshal(v); err != nil {
			return none, fmt.Errorf("capacity: %w", err)
		}
	}
	if strings.TrimSpace(string(raw)) == "" {
		return none, nil
	}
	raw, err := unpacked(raw)
	if err != nil {
		return none, fmt.Errorf("capacity: compressed document: %w", err)
	}
	var generic any
	decoder := json.NewDecoder(strings.NewReader(string(raw)))
	decoder.UseNumber()
	if err := decoder.Decode(&generic); err != nil {
		return none, fmt.Errorf("capacity: %w", err)
	}
	if generic == nil {
		return none, nil
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
	return doc, nil
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

// At is the document as it holds at a time. Past ValidUntil only realized nodes count: Maximum falls to Realized, and
// Firm to 0 in a pool that may buy spot, because the document does not say which of its nodes are. Before it, the
// document itself.
//
// Realized nodes of a document past its time may be gone as well. What is certain then only a new observation says.
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
