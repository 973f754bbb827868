package plan

import (
	"fmt"
	"github.com/headroom-eks/headroom/capacity"
	"slices"
	"strings"
	"time"

	"github.com/headroom-eks/headroom/pool"
)

// pool writes down what the division found.
func (c *claim) pool() capacity.Pool {
	f := c.facts
	p := capacity.Pool{
		Name: f.Name, Scaler: f.Scaler, Advertised: f.Advertised, DeviceMode: f.DeviceMode,
		InstanceTypes: list(f.InstanceTypes), CapacityTypes: list(f.CapacityTypes), Zones: list(f.Zones),
		PerNode: f.PerNode, Configured: f.Configured,
		Nodes:          capacity.Counts{Realized: c.realized, Maximum: c.maximum, Firm: c.firm()},
		BoundBy:        c.ceilings[0].Kind,
		ScalesFromZero: f.ScalesFromZero, MaximumIsSoft: f.MaximumIsSoft, TiedToZone: f.TiedToZone,
		LargestGang: c.largestGang(), RealizedByZone: byZone(f.Realized),
		Ceilings: c.ceilings, Labels: map[string]string{}, Taints: list(f.Taints), Notes: slices.Clone(f.Notes),
	}
	for k, v := range f.Labels {
		p.Labels[k] = v
	}
	gpus := max(f.PerNode.GPUs, 0)
	p.GPUs = capacity.Counts{Realized: p.Nodes.Realized * gpus, Maximum: p.Nodes.Maximum * gpus, Firm: p.Nodes.Firm * gpus}
	if c.maximum < c.realized {
		p.Notes = append(p.Notes, fmt.Sprintf("%d nodes are realized, more than the maximum of %d: ceiling %s is "+
			"below what runs; a lowered limit removes nothing, and a node runs beside its successor while it is "+
			"replaced",
			c.realized, c.maximum, p.BoundBy))
	}
	var errs []string
	if f.Realized.Unknown != "" {
		errs = append(errs, "realized nodes could not be counted: "+f.Realized.Unknown)
	}
	if f.Error != "" {
		errs = append(errs, f.Error)
	}
	p.Error = strings.Join(errs, "; ")
	return p
}

// list is a copy that is never nil, so that the document holds [] and not null.
func list[T any](in []T) []T { return append([]T{}, in...) }

func byZone(r Realized) map[string]int {
	out := map[string]int{}
	if r.Unknown != "" {
		return out
	}
	for place, nodes := range r.Nodes {
		if nodes > 0 {
			out[place.Zone] += nodes
		}
	}
	return out
}

// validity of the document: as long as asked for, but not past the end of anything it rests on.
func validity(in Input) (observed, until time.Time) {
	until = in.Now.Add(max(in.ValidFor, 0))
	for _, p := range in.Pools {
		for _, b := range p.Ceilings {
			if b.Until.After(in.Now) && b.Until.Before(until) {
				until = b.Until
			}
		}
	}
	return in.Now.UTC().Truncate(time.Second), until.UTC().Truncate(time.Second)
}

func unknownDetail(kind capacity.Kind, reason string) string {
	return fmt.Sprintf("%s could not be determined, so only what is certain is advertised: %s", kind, reason)
}

func codes(shares []*share) string {
	var out []string
	for _, s := range shares {
		if s.ledger.Code != "" && !slices.Contains(out, s.ledger.Code) {
			out = append(out, s.ledger.Code)
		}
	}
	return strings.Join(out, ", ")
}

// sharesDetail explains a shared ceiling: one clause for each alternative.
func (c *claim) sharesDetail(k kindUse) string {
	clauses := make([]string, 0, len(k.shares))
	for _, s := range k.shares {
		clauses = append(clauses, s.detail(c.facts.Name))
	}
	return strings.Join(clauses, "; and ")
}

// othersNamed is how many of the pools that hold the rest of a limit are named. Enough to see who, short enough for a
// table.
const othersNamed = 3

func (s *share) detail(name string) string {
	l := s.ledger
	var b strings.Builder
	switch types, zone := capacityNames(s.use.CapacityTypes), s.use.Zone; {
	case zone != "" && types != "":
		b.WriteString(types + " in " + zone + ": ")
	case zone != "" || types != "":
		b.WriteString(types + zone + ": ")
	}
	if s.unknown != "" {
		b.WriteString(unknownDetail(l.Kind, s.unknown))
		return b.String()
	}
	mine := l.charged[name]
	switch available := l.left + mine; {
	case l.Free:
		fmt.Fprintf(&b, "%d nodes run and %d more fit in %d of %d free %s at %d each", s.running, s.room, available,
			max(l.Amount, 0), l.Unit, s.use.CostPerNode)
	default:
		fmt.Fprintf(&b, "%d nodes fit in %d of %d %s at %d each", s.has(), available, max(l.Amount, 0), l.Unit,
			s.use.CostPerNode)
	}
	others := 0
	for _, other := range l.order {
		if other == name {
			continue
		}
		if others == othersNamed {
			break
		}
		if others++; others == 1 {
			b.WriteString(", the rest is kept for ")
		} else {
			b.WriteString(", ")
		}
		fmt.Fprintf(&b, "%s (%d)", other, l.charged[other])
	}
	count := len(l.order)
	if mine > 0 {
		count--
	}
	if count > others {
		fmt.Fprintf(&b, " and %d more", count-others)
	}
	if l.Detail != "" {
		b.WriteString(" (" + l.Detail + ")")
	}
	return b.String()
}

func capacityNames(types []pool.CapacityType) string {
	names := make([]string, len(types))
	for i, t := range types {
		names[i] = string(t)
	}
	return strings.Join(names, " and ")
}
