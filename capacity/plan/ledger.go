package plan

// ledger is a shared limit while it is divided.
type ledger struct {
	SharedLimit
	// left in the limit's unit.
	left int
	// unknown is why the limit cannot be divided at all.
	unknown string
	// uncertain: a pool served before may have taken less than it was charged.
	uncertain bool
	// charged units by pool, and the pools in the order in which they were charged.
	charged map[string]int
	order   []string
}

// newLedgers opens one ledger for each limit. A limit that counts running nodes cannot be divided when the running
// nodes of a pool that uses it, or what they take, are not known: that pool may hold any part of it.
func newLedgers(in Input) map[string]*ledger {
	ledgers := make(map[string]*ledger, len(in.Limits))
	for _, limit := range in.Limits {
		ledgers[limit.Key] = &ledger{
			SharedLimit: limit,
			left:        max(limit.Amount, 0),
			unknown:     limit.Unknown,
			charged:     map[string]int{},
		}
	}
	for i := range in.Pools {
		p := &in.Pools[i]
		for _, use := range p.Uses {
			l := ledgers[use.Limit]
			if l == nil || l.Free || l.unknown != "" {
				continue
			}
			// The reason names no pool: with several of them it would depend on the order in which they are listed.
			if p.Realized.Unknown != "" {
				l.unknown = "the running nodes of a pool that draws from it could not be counted"
			} else if use.CostPerNode <= 0 && p.Realized.count(use.matches) > 0 {
				l.unknown = "the running nodes of a pool that draws from it could not be counted"
			}
		}
	}
	return ledgers
}

// charge takes a number of nodes out of the ledger, as far as it goes. A cost that is not known takes all that is left.
func (l *ledger) charge(name string, nodes, cost int) {
	units := l.left
	switch {
	case nodes <= 0:
		return
	case cost > 0 && nodes <= l.left/cost:
		units = nodes * cost
	}
	if units <= 0 {
		return
	}
	l.left -= units
	if _, again := l.charged[name]; !again {
		l.order = append(l.order, name)
	}
	l.charged[name] += units
}
