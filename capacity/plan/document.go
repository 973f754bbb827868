package plan

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/headroom-eks/headroom/capacity"
	"github.com/headroom-eks/headroom/pool"
)

// document writes down what was found, pools by name.
func (w *world) document(in Input) capacity.Document {
	doc := capacity.Document{
		SchemaVersion: capacity.SchemaVersion,
		Cluster:       in.Cluster,
		Region:        in.Region,
		Pools:         make([]capacity.Pool, 0, len(w.members)),
	}
	doc.ObservedAt, doc.ValidUntil = validity(in)
	for _, m := range w.members {
		capacity.SortCeilings(m.ceilings)
	}
	for _, m := range w.members {
		doc.Pools = append(doc.Pools, w.pool(m))
	}
	slices.SortStableFunc(doc.Pools, func(a, b capacity.Pool) int { return cmp.Compare(a.Name, b.Name) })
	return doc
}

func (w *world) pool(m *member) capacity.Pool {
	f := m.facts
	p := capacity.Pool{
		Name: f.Name, Scaler: f.Scaler, Advertised: f.Advertised, DeviceMode: f.DeviceMode,
		InstanceTypes: list(f.InstanceTypes), CapacityTypes: list(f.CapacityTypes), Zones: list(f.Zones),
		PerNode: f.PerNode, Configured: f.Configured,
		Nodes:          capacity.Counts{Realized: m.realized, Maximum: m.shown(), Firm: w.firm(m)},
		BoundBy:        m.ceilings[0].Kind,
		ScalesFromZero: f.ScalesFromZero, MaximumIsSoft: f.MaximumIsSoft, TiedToZone: f.TiedToZone,
		LargestGang: w.largestGang(m), RealizedByZone: byZone(f.Realized),
		Ceilings: m.ceilings, Labels: map[string]string{}, Taints: list(f.Taints), Notes: slices.Clone(f.Notes),
	}
	for k, v := range f.Labels {
		p.Labels[k] = v
	}
	gpus := min(max(f.PerNode.GPUs, 0), noBound)
	n := p.Nodes
	p.GPUs = capacity.Counts{Realized: n.Realized * gpus, Maximum: n.Maximum * gpus, Firm: n.Firm * gpus}
	p.Notes = append(p.Notes, m.notes(p)...)
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

func (m *member) notes(p capacity.Pool) (notes []string) {
	if p.Nodes.Maximum < m.realized {
		notes = append(notes, fmt.Sprintf("%d nodes are realized, more than the maximum of %d: ceiling %s is "+
			"below what runs; a lowered limit removes nothing, and a node runs beside its successor while it is "+
			"replaced", m.realized, p.Nodes.Maximum, p.BoundBy))
	}
	unknown := slices.ContainsFunc(m.ceilings, func(c capacity.Ceiling) bool { return c.Kind == capacity.Unknown })
	if m.facts.Advertised && !unknown && m.promise < p.Nodes.Maximum {
		notes = append(notes, fmt.Sprintf("%d nodes run now, and %d of them are sure to come back if they go: the "+
			"limits do not hold more whatever other pools do", m.realized, m.promise))
	}
	return notes
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
	for _, l := range in.Limits {
		if !l.Until.After(in.Now) || !l.Until.Before(until) {
			continue
		}
		if slices.ContainsFunc(in.Pools, func(p PoolFacts) bool {
			return slices.ContainsFunc(p.Uses, func(u Use) bool { return u.Limit == l.Key })
		}) {
			until = l.Until
		}
	}
	return in.Now.UTC().Truncate(time.Second), until.UTC().Truncate(time.Second)
}

// addSharedCeilings writes down what the limits of each need give the pool. What runs is there, whatever they give.
func (m *member) addSharedCeilings(w *world, granted []grant) {
	own := m.low
	for _, g := range granted {
		c := capacity.Ceiling{Kind: g.need.kind, Nodes: max(g.nodes(), m.realized), Code: w.codes(g.need)}
		switch {
		case g.need.unsure(w):
			c.Kind, c.Of = capacity.Unknown, g.need.kind
		case g.nodes() == g.need.shares(): // the limits hold all that the configuration gives the pool there
			c.Kind, c.Code = capacity.ConfiguredKind, ""
		}
		if g.need.detail == "" {
			g.need.detail = w.needDetail(g.need)
		}
		c.Detail = g.need.detail
		if m.facts.Advertised && g.nodes() < own {
			if r := w.careful.rivals(m, g); len(r.most) > 0 {
				c.Rival = r.most[0].facts.Name
				c.Detail += "; " + r.detail(g)
			}
		}
		m.ceilings = append(m.ceilings, c)
	}
}

// shares of all places together; below 0 when one has none.
func (n *need) shares() (nodes int) {
	for i, p := range n.places {
		if p.shareOf < 0 {
			return -1
		}
		if !slices.ContainsFunc(n.places[:i], func(q place) bool { return q.shareOf == p.shareOf }) {
			nodes += p.share
		}
	}
	return nodes
}

func (n *need) unsure(w *world) bool {
	return slices.ContainsFunc(n.places, func(p place) bool {
		return slices.ContainsFunc(p.draws, func(d draw) bool {
			return d.cost == 0 || w.limits[d.limit].unsure() != ""
		})
	})
}

// rivals are the pools that lower what one need gives a pool.
type rivals struct {
	// most of them, in order of what they may take of the set of places that gives the pool its number, and the nodes
	// that they may have there. Count is of all.
	most         []*member
	takes, nodes []int
	count        int
}

// rivalsNamed is how many of the pools that lower a ceiling are named: enough to see who, short enough for a table.
const rivalsNamed = 3

// rivals finds who lowers a grant: the pool that would be blocked by more, else those that may take of the set.
func (b *book) rivals(m *member, g grant) (r rivals) {
	if g.kept < g.own {
		return rivals{most: []*member{g.keeps}}
	}
	var by *set
	best := -1
	g.need.stands(everywhere, b.hopeful, func(int) int { return 0 }, func(nodes int, t *set) int {
		if n := b.ownIn(m, nodes, t); nodes == 0 && n > best && t.id >= 0 {
			best, by = n, t
		}
		return 0
	})
	if by == nil {
		return r
	}
	for _, other := range b.w.members {
		s := other.supplies[by.id]
		takes, nodes := s.of(b.held[other.index]), min(b.held[other.index], s.most)
		if other == m || takes == 0 {
			continue
		}
		r.count++
		at := len(r.most)
		for at > 0 && r.takes[at-1] < takes {
			at--
		}
		if at < rivalsNamed {
			r.most, r.takes = slices.Insert(r.most, at, other), slices.Insert(r.takes, at, takes)
			r.nodes = slices.Insert(r.nodes, at, nodes)
			named := min(len(r.most), rivalsNamed)
			r.most, r.takes, r.nodes = r.most[:named], r.takes[:named], r.nodes[:named]
		}
	}
	return r
}

func (r rivals) detail(g grant) string {
	if len(r.takes) == 0 {
		return fmt.Sprintf("more than %d could leave %s, which is served first, without room", g.kept,
			r.most[0].facts.Name)
	}
	names := make([]string, 0, rivalsNamed)
	for i, other := range r.most {
		names = append(names, fmt.Sprintf("%s %d", other.facts.Name, r.nodes[i]))
	}
	text := "others may have nodes there: " + strings.Join(names, ", ")
	if more := r.count - len(names); more > 0 {
		text += fmt.Sprintf(" and %d more pools", more)
	}
	return text
}

// codes of the limits of a need, each once.
func (w *world) codes(n *need) string {
	var out []string
	for _, p := range n.places {
		for _, d := range p.draws {
			if code := w.limits[d.limit].Code; code != "" && !slices.Contains(out, code) {
				out = append(out, code)
			}
		}
	}
	return strings.Join(out, ", ")
}

// needDetail explains a shared ceiling: one clause for each alternative.
func (w *world) needDetail(n *need) string {
	clauses := make([]string, 0, len(n.places))
	for _, p := range n.places {
		clauses = append(clauses, w.placeDetail(p))
	}
	return strings.Join(clauses, "; and ")
}

func (w *world) placeDetail(p place) string {
	where := capacityNames(p.types)
	if p.zone != "" {
		where = p.zone
	}
	var parts []string
	if p.shareOf >= 0 {
		parts = append(parts, fmt.Sprintf("at most %d %s", p.share, w.limits[p.shareOf].Unit))
	}
	for _, d := range p.draws {
		parts = append(parts, w.limits[d.limit].detail(d.cost))
	}
	text := strings.Join(parts, ", ")
	if where != "" {
		text = where + ": " + text
	}
	return text
}

func (l *limit) detail(cost int) string {
	switch why := l.unsure(); {
	case why != "":
		return unknownDetail(l.Kind, why)
	case cost == 0:
		return unknownDetail(l.Kind, "what a node takes of it is not known")
	}
	text := fmt.Sprintf("%d %s at %d a node", l.Amount, l.Unit, cost)
	if l.Free {
		text = fmt.Sprintf("%d free %s at %d a node", l.Amount, l.Unit, cost)
		if l.Taken > 0 {
			text += fmt.Sprintf(", and %d that running nodes hold", l.Taken)
		}
	}
	if l.Detail != "" {
		text += " (" + l.Detail + ")"
	}
	return text
}

func capacityNames(types []pool.CapacityType) string {
	names := make([]string, len(types))
	for i, t := range types {
		names[i] = string(t)
	}
	return strings.Join(names, " and ")
}
