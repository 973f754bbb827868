package plan

import (
	"cmp"
	"github.com/headroom-eks/headroom/capacity"
	"slices"

	"github.com/headroom-eks/headroom/pool"
)

// Allocate computes the document. It is a pure function: the same facts give the same document, in whatever order pools
// and limits are listed. It never fails; what is unknown or makes no sense (a use of a limit nobody listed, a cost of
// zero) lowers what is promised and is said in a ceiling.
//
// How shared limits are divided:
//
//  1. Running nodes are charged first, to the limits that count them.
//  2. Then pools are served once, by priority, then by name. Each is promised the smallest of its own ceilings and of
//     what is left to it in each kind of shared limit.
//  3. A pool all of whose numbers are certain is charged what it was promised. Any other pool is charged what its
//     scaler may take, up to the next ceiling of its own that binds the scaler: one with an unknown ceiling, one that
//     promises less than it may make, one that is served after such a pool from the same limit.
//  4. Where a pool may draw from several limits of one kind (zones, on-demand and spot) it is charged in each, because
//     it decides later; and in units, so that what is left over after whole nodes is not given to the next one.
//
// So the maxima of all pools can be reached together, whichever way the uncertain ones go. Losing a fact never raises a
// number of any pool, with one exception: where the lost ceiling was below what is realized, what is realized is
// advertised again.
func Allocate(in Input) capacity.Document {
	claims := make([]*claim, 0, len(in.Pools))
	ledgers := newLedgers(in)
	for i := range in.Pools {
		claims = append(claims, newClaim(&in.Pools[i], ledgers))
	}
	slices.SortStableFunc(claims, func(a, b *claim) int {
		return cmp.Or(cmp.Compare(b.facts.Priority, a.facts.Priority), cmp.Compare(a.facts.Name, b.facts.Name))
	})
	for _, c := range claims {
		c.chargeRealized()
	}
	doc := capacity.Document{
		SchemaVersion: capacity.SchemaVersion,
		Cluster:       in.Cluster,
		Region:        in.Region,
		Pools:         make([]capacity.Pool, 0, len(claims)),
	}
	doc.ObservedAt, doc.ValidUntil = validity(in)
	for _, c := range claims {
		c.serve()
	}
	slices.SortStableFunc(claims, func(a, b *claim) int { return cmp.Compare(a.facts.Name, b.facts.Name) })
	for _, c := range claims {
		doc.Pools = append(doc.Pools, c.pool())
	}
	return doc
}

// noBound stands for "as many nodes as there may be". Small enough that sums of a few do not overflow.
const noBound = 1 << 30

// claim is one pool while shared limits are divided.
type claim struct {
	facts    *PoolFacts
	realized int
	// maximum the pool is promised, once it was served.
	maximum int
	// ceilings found so far.
	ceilings []capacity.Ceiling
	// reach is what the scaler may take, shared limits aside: the smallest known ceiling of its own that binds it.
	reach int
	// unknown: something about this pool could not be determined.
	unknown bool
	// kinds of shared limits that a node needs one each of.
	kinds []kindUse
}

// kindUse holds the alternatives of one kind.
type kindUse struct {
	kind   capacity.Kind
	shares []*share
}

// share is what one pool has of one limit.
type share struct {
	use    Use
	ledger *ledger
	// unknown is why it cannot be determined.
	unknown string
	// running nodes that draw from this limit, and how many of them the limit still covers.
	running, covered int
	// room for more nodes when the pool's turn came.
	room int
}

// has is the number of nodes that the limit gives the pool.
func (s *share) has() int { return s.covered + s.room }

func newClaim(f *PoolFacts, ledgers map[string]*ledger) *claim {
	c := &claim{facts: f, realized: f.Realized.Total(), reach: noBound, unknown: f.Realized.Unknown != ""}
	c.addOwnCeilings()
	byKind := map[capacity.Kind][]*share{}
	for _, use := range f.Uses {
		s := &share{use: use, ledger: ledgers[use.Limit]}
		s.running = f.Realized.count(use.matches)
		switch {
		case s.ledger == nil:
			s.unknown, s.ledger = "limit "+use.Limit+" was not observed", &ledger{SharedLimit: SharedLimit{
				Key:  use.Limit,
				Kind: capacity.Unknown,
			}}
		case s.ledger.unknown != "":
			s.unknown = s.ledger.unknown
		case use.CostPerNode <= 0:
			s.unknown = "what a node takes of it is not known"
		}
		c.unknown = c.unknown || s.unknown != ""
		byKind[s.ledger.Kind] = append(byKind[s.ledger.Kind], s)
	}
	for kind, shares := range byKind {
		slices.SortStableFunc(shares, func(a, b *share) int { return cmp.Compare(a.use.Limit, b.use.Limit) })
		c.kinds = append(c.kinds, kindUse{kind, shares})
	}
	slices.SortFunc(c.kinds, func(a, b kindUse) int { return cmp.Compare(a.kind, b.kind) })
	return c
}

// addOwnCeilings adds the ceilings that concern this pool alone.
func (c *claim) addOwnCeilings() {
	f := c.facts
	bounds := slices.Clone(f.Ceilings)
	if f.Realized.Unknown != "" {
		bounds = append(bounds, Bound{Kind: capacity.RealizedCount, Unknown: f.Realized.Unknown, PromiseOnly: true})
	} else {
		if f.Scaler == pool.Fixed {
			bounds = append(bounds, Bound{Kind: capacity.NoAutoscaler, Nodes: c.realized, PromiseOnly: true,
				Detail: "nothing scales this pool; what runs is all it has"})
		}
		if !f.Advertised {
			bounds = append(bounds, Bound{Kind: capacity.NotAdvertised, Nodes: c.realized, PromiseOnly: true,
				Detail: "the pool promises no nodes beyond those that run"})
		}
	}
	if len(bounds) == 0 && len(f.Uses) == 0 {
		bounds = append(bounds, Bound{Kind: capacity.ConfiguredKind, Unknown: "no ceiling of this pool is known"})
	}
	for _, b := range bounds {
		if b.Unknown != "" {
			c.unknown = true
			c.ceilings = append(c.ceilings, capacity.Ceiling{
				Kind:   capacity.Unknown,
				Of:     b.Kind,
				Nodes:  c.realized,
				Code:   b.Code,
				Detail: unknownDetail(b.Kind, b.Unknown),
			})
			continue
		}
		nodes := min(max(b.Nodes, 0), noBound)
		c.ceilings = append(c.ceilings, capacity.Ceiling{Kind: b.Kind, Nodes: nodes, Code: b.Code, Detail: b.Detail})
		if b.PromiseOnly {
			continue
		}
		if b.Kind == capacity.ConfiguredKind {
			nodes += min(max(f.SurgeNodes, 0), noBound)
		}
		c.reach = min(c.reach, nodes)
	}
}

// chargeRealized takes the running nodes out of the limits that count them.
func (c *claim) chargeRealized() {
	for _, k := range c.kinds {
		for _, s := range k.shares {
			s.covered = s.running
			if s.unknown != "" || s.ledger.Free {
				continue
			}
			s.covered = min(s.running, s.ledger.left/s.use.CostPerNode)
			s.ledger.charge(c.facts.Name, s.running, s.use.CostPerNode)
		}
	}
}

// serve finds what is left to the pool and charges what it may take.
func (c *claim) serve() {
	uncertain := c.unknown
	for _, k := range c.kinds {
		for _, s := range k.shares {
			uncertain = uncertain || s.ledger.uncertain
			if s.unknown == "" {
				s.room = min(s.ledger.left/s.use.CostPerNode, noBound)
			}
		}
	}
	own := c.smallest()
	for _, k := range c.kinds {
		c.ceilings = append(c.ceilings, c.sharedCeiling(k))
	}
	capacity.SortCeilings(c.ceilings)
	c.maximum = c.smallest()
	c.chargeGrowth(own, uncertain)
}

// smallest of the ceilings found so far.
func (c *claim) smallest() int {
	n := noBound
	for _, ceiling := range c.ceilings {
		n = min(n, ceiling.Nodes)
	}
	return n
}

// chargeGrowth takes out of each limit what the pool may still take of it.
//
// What the pool is charged in one limit depends on what another limit gave it only if all of that is certain, and if it
// was promised all that its scaler may take. Otherwise a pool behind it would gain when a fact is lost, or lose when
// quota is added.
func (c *claim) chargeGrowth(own int, uncertain bool) {
	want := c.reach
	if !uncertain && own == c.reach {
		want = c.maximum
	}
	for _, k := range c.kinds {
		for _, s := range k.shares {
			s.ledger.uncertain = s.ledger.uncertain || uncertain
			if s.ledger.unknown == "" {
				s.ledger.charge(c.facts.Name, max(0, want-s.running), s.use.CostPerNode)
			}
		}
	}
}

// sharedCeiling is what the limits of one kind give the pool together.
//
// A limit that could not be determined adds nothing; whatever else, the pool has its realized nodes. Realized nodes
// outside every alternative (a zone the pool has left) still stand beside free addresses, but are no part of what a
// quota gives.
func (c *claim) sharedCeiling(k kindUse) capacity.Ceiling {
	nodes := c.part(k, func(Use) bool { return true }, c.realized)
	out := capacity.Ceiling{Kind: k.kind, Nodes: nodes, Code: codes(k.shares), Detail: c.sharesDetail(k)}
	if slices.ContainsFunc(k.shares, func(s *share) bool { return s.unknown != "" }) {
		out.Kind, out.Of = capacity.Unknown, k.kind
	}
	return out
}

// part of a kind's ceiling that some of its alternatives give, when `running` nodes draw from those.
func (c *claim) part(k kindUse, counts func(Use) bool, running int) int {
	known, room, free, unknown := 0, 0, false, false
	for _, s := range k.shares {
		if !counts(s.use) {
			continue
		}
		free = free || s.ledger.Free
		if s.unknown != "" {
			unknown = true
			continue
		}
		known += s.has()
		room += s.room
	}
	switch {
	case free:
		return min(running+room, noBound)
	case unknown:
		return min(max(known, running), noBound)
	default:
		return min(known, noBound)
	}
}

// firm is the part of the maximum that on-demand or reserved capacity backs.
func (c *claim) firm() int {
	types := Use{CapacityTypes: c.facts.CapacityTypes}
	if !types.firm() {
		return 0
	}
	firm := c.maximum
	for _, k := range c.kinds {
		running := c.realized
		if !slices.ContainsFunc(k.shares, func(s *share) bool { return s.ledger.Free }) {
			running = c.facts.Realized.Firm()
		}
		firm = min(firm, c.part(k, Use.firm, running))
	}
	if c.unknown {
		// Whether a spot node that goes could be replaced by a firm one is not known.
		firm = min(firm, c.facts.Realized.Firm()+max(0, c.maximum-c.realized))
	}
	return firm
}

// largestGang is the maximum, or what the best zone gives where a gang's nodes have to be in one.
func (c *claim) largestGang() int {
	if !c.facts.Advertised {
		return 0
	}
	if !c.facts.TiedToZone {
		return c.maximum
	}
	zones := slices.Clone(c.facts.Zones)
	for place := range c.facts.Realized.Nodes {
		zones = append(zones, place.Zone)
	}
	best := 0
	for _, zone := range zones {
		here := c.facts.Realized.In(zone)
		// Nodes in other zones stay and count against the maximum; those that are here are here, whatever the maximum.
		gang := min(c.maximum, max(here, c.maximum-(c.realized-here)))
		for _, k := range c.kinds {
			if slices.ContainsFunc(k.shares, func(s *share) bool { return s.use.Zone != "" }) {
				gang = min(gang, c.part(k, func(u Use) bool { return u.Zone == "" || u.Zone == zone }, here))
			}
		}
		best = max(best, gang)
	}
	return best
}
