package plan

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"

	"github.com/headroom-eks/headroom/capacity"
	"github.com/headroom-eks/headroom/pool"
)

const (
	// noBound stands for "as many nodes as there may be".
	noBound = 1 << 30
	// mostNodes is more than any cluster has, mostCost more than any node takes. A pool that may take more nodes is
	// taken to have no bound, and a higher cost to be unknown, so that no product of them overflows.
	mostNodes = 1 << 20
	mostCost  = 1 << 18
)

// limit is a shared limit as all its pools see it (steps 2 to 4 of the rule, see Allocate).
type limit struct {
	SharedLimit
	// total of what all nodes together may take, those that run included.
	total int
	// unit is the greatest common divisor of what the nodes of its pools take: whatever runs takes a multiple of it.
	unit int
	// emptied is why nobody can count on the limit, though it is known itself: a pool of unknown size may take all.
	emptied string
	// seen lists where and how the nodes are bought that draw from it, as its pools tell.
	seen []Use
}

// empty says why nobody can count on the limit. Of several reasons one is kept that does not hang on the order of
// pools.
func (l *limit) empty(why string) {
	if l.emptied == "" || why < l.emptied {
		l.emptied = why
	}
}

// unsure is why nothing can be promised on the limit.
func (l *limit) unsure() string { return cmp.Or(l.Unknown, l.emptied) }

// demand is the least that nodes have to take of the limit before one more node of this cost finds no room.
func (l *limit) demand(cost int) int {
	if l.total < cost {
		return 0
	}
	return (l.total/l.unit+1)*l.unit - cost
}

// newLimits merges limits of one key. The same one twice is one; two different ones under one key are not known.
func newLimits(in Input) (limits []limit, byKey map[string]int) {
	byKey = map[string]int{}
	add := func(l SharedLimit) {
		at, again := byKey[l.Key]
		if !again {
			byKey[l.Key] = len(limits)
			l.Amount, l.Taken = min(max(l.Amount, 0), noBound), min(max(l.Taken, 0), noBound)
			total := l.Amount
			if l.Free {
				total += l.Taken
			}
			limits = append(limits, limit{SharedLimit: l, total: total})
		} else if old := &limits[at]; old.Unknown == "" && old.SharedLimit != l {
			old.Unknown = "it is listed twice, with different values"
		}
	}
	for _, l := range in.Limits {
		add(l)
	}
	for _, p := range in.Pools {
		for _, use := range p.Uses {
			if _, listed := byKey[use.Limit]; !listed {
				why := "limit " + use.Limit + " was not observed"
				add(SharedLimit{Key: use.Limit, Kind: capacity.Unknown, Unknown: why})
			}
			l := &limits[byKey[use.Limit]]
			if len(use.CapacityTypes) > 0 {
				use.Zone = "" // where that pool can buy so; nodes of others may be bought so elsewhere
			}
			if !slices.ContainsFunc(l.seen, func(u Use) bool {
				return u.Zone == use.Zone && slices.Equal(u.CapacityTypes, use.CapacityTypes)
			}) {
				l.seen = append(l.seen, use)
			}
		}
	}
	return limits, byKey
}

// draw is what one node takes of one limit; a cost of 0 is not known.
type draw struct{ limit, cost int }

// place is one alternative of a need: a subnet, a zone, a way of buying. A node there takes its part of all its draws.
type place struct {
	draws []draw
	// share is the number of nodes that the configuration gives the pool here, by limit shareOf; noBound and -1 if
	// there is none.
	share, shareOf int
	zone           string
	types          []pool.CapacityType
	// zones in which a way of buying can be had; nil means all.
	zones []string
}

// need is a set of alternatives of which each node takes exactly one: a zone, a way of buying, or a limit of its own.
type need struct {
	name   string
	kind   capacity.Kind
	places []place
	sets   []set
	spent  []spent
	// detail explains the need in a ceiling.
	detail string
}

const (
	zoneNeed = "zone"
	wayNeed  = "way"
)

// class is what pools have in common that need the same of the same limits.
type class struct {
	needs []need
	// shareless: no place has a share. costless: what a node takes somewhere is not known.
	shareless, costless bool
	// supplies of the pools of the class that have no shares, and no nodes outside their places.
	supplies []supply
}

func (c *class) notice(n need) {
	for _, p := range n.places {
		c.shareless = c.shareless && p.shareOf < 0
		c.costless = c.costless || slices.ContainsFunc(p.draws, func(d draw) bool { return d.cost == 0 })
	}
}

// usesKey is the same for pools that need the same of the same limits.
func usesKey(uses []Use, byKey map[string]int) string {
	var k []byte
	for _, u := range uses {
		k = strconv.AppendInt(append(append(k, u.Zone...), '@'), int64(byKey[u.Limit]), 10)
		k = strconv.AppendInt(append(k, '*'), int64(u.CostPerNode), 10)
		for _, t := range u.CapacityTypes {
			k = append(append(k, '/'), t...)
		}
		k = append(k, ';')
	}
	return string(k)
}

// need by name, or nil.
func (c *class) need(name string) *need {
	for i := range c.needs {
		if c.needs[i].name == name {
			return &c.needs[i]
		}
	}
	return nil
}

// product: every zone goes with every way of buying.
func (c *class) product() bool {
	way := c.need(wayNeed)
	return way == nil || !slices.ContainsFunc(way.places, func(p place) bool { return p.zones != nil })
}

// needsOf sorts what the nodes of a pool use into needs and places (step 1). What is bought in some way is one need,
// what lies in a zone another. Within a place a node takes its part of one limit of each kind.
func needsOf(uses []Use, limits []limit, byKey map[string]int, share func(int) bool) []need {
	var needs []need
	grouped := map[[2]string][]Use{} // by need and place
	var order [][2]string
	for _, u := range uses {
		id := [2]string{string(limits[byKey[u.Limit]].Kind), u.Limit}
		if len(u.CapacityTypes) > 0 {
			id = [2]string{wayNeed, fmt.Sprint(u.CapacityTypes)}
		} else if u.Zone != "" {
			id = [2]string{zoneNeed, u.Zone}
		}
		if _, again := grouped[id]; !again {
			order = append(order, id)
		}
		grouped[id] = append(grouped[id], u)
	}
	slices.SortFunc(order, func(a, b [2]string) int { return cmp.Or(cmp.Compare(a[0], b[0]), cmp.Compare(a[1], b[1])) })
	for _, id := range order {
		if len(needs) == 0 || needs[len(needs)-1].name != id[0] {
			needs = append(needs, need{name: id[0]})
		}
		n := &needs[len(needs)-1]
		n.places = append(n.places, placesOf(grouped[id], id[0] == wayNeed, limits, byKey, share)...)
	}
	for i := range needs {
		needs[i].kind = kindOf(needs[i].places, limits)
	}
	return needs
}

// kindOf a need's ceiling: the kind of the first limit that is shared, else that of the shares.
func kindOf(places []place, limits []limit) capacity.Kind {
	for _, p := range places {
		for _, d := range p.draws {
			return limits[d.limit].Kind
		}
	}
	return capacity.ConfiguredKind
}

// placesOf makes one place for each choice of one limit of every kind.
func placesOf(uses []Use, way bool, limits []limit, byKey map[string]int, share func(int) bool) []place {
	slices.SortStableFunc(uses, func(a, b Use) int {
		return cmp.Or(cmp.Compare(limits[byKey[a.Limit]].Kind, limits[byKey[b.Limit]].Kind),
			cmp.Compare(a.Limit, b.Limit), cmp.Compare(a.Zone, b.Zone))
	})
	places := []place{{share: noBound, shareOf: -1, zone: uses[0].Zone, types: uses[0].CapacityTypes}}
	for len(uses) > 0 {
		kind := limits[byKey[uses[0].Limit]].Kind
		var grown []place
		for len(uses) > 0 && limits[byKey[uses[0].Limit]].Kind == kind {
			u := uses[0]
			var zones []string
			for anywhere := false; len(uses) > 0 && uses[0].Limit == u.Limit; uses = uses[1:] {
				u.CostPerNode = merged(u.CostPerNode, uses[0].CostPerNode)
				if anywhere = anywhere || uses[0].Zone == ""; anywhere {
					zones = nil
				} else if way {
					zones = append(zones, uses[0].Zone)
				}
			}
			for _, p := range places {
				grown = append(grown, p.with(draw{byKey[u.Limit], u.CostPerNode}, zones, limits, share))
			}
		}
		places = grown
	}
	if way {
		for i := range places {
			places[i].zone = ""
		}
	}
	return places
}

// merged cost of two uses of one limit by one pool: the larger, and not known if one of them is not.
func merged(a, b int) int {
	if a <= 0 || b <= 0 || max(a, b) > mostCost {
		return 0
	}
	return max(a, b)
}

// with adds what a node takes of one more limit.
func (p place) with(d draw, zones []string, limits []limit, share func(int) bool) place {
	if zones != nil {
		zones = slices.Compact(zones)
		if p.zones != nil {
			zones = slices.DeleteFunc(zones, func(z string) bool { return !slices.Contains(p.zones, z) })
		}
		p.zones = zones
	}
	if share(d.limit) && d.cost > 0 && limits[d.limit].Unknown == "" && p.shareOf < 0 {
		p.share, p.shareOf = min(limits[d.limit].total/d.cost, mostNodes), d.limit
		return p
	}
	p.draws = append(slices.Clone(p.draws), d)
	return p
}

// matches: a node that runs there may be at this place.
func (p place) matches(at Place) bool { return Use{Zone: p.zone, CapacityTypes: p.types}.mayMatch(at) }

func gcd(a, b int) int {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}
