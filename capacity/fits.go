package capacity

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/headroom-eks/headroom/pool"
)

// Gang is a job whose pods must all run, one on each node, on one pool. Empty fields ask for nothing.
type Gang struct {
	// Nodes it needs, all at once.
	Nodes int
	// GPUsPerNode that each of its pods uses.
	GPUsPerNode int
	// GPUModel as EC2 names it, for example "L4".
	GPUModel string
	// DeviceMode in which its pods claim GPUs.
	DeviceMode pool.DeviceMode
	// Pool it is bound to.
	Pool string
	// Firm: it must not run on spot capacity.
	Firm bool
}

// When a gang fits.
type When string

const (
	// Now: that many nodes are realized. They may be in use by others: the document does not say what is free.
	Now When = "now"
	// AfterScaling: the pool can be scaled to that many nodes.
	AfterScaling When = "after scaling"
	// NotKnown: the document is past its time. The reason says what was last seen.
	NotKnown When = "not-known"
	// No: it would never run.
	No When = "no"
)

// Answer to whether a gang fits.
type Answer struct {
	When When
	// Pool that takes the gang; in a No, the pool that comes closest. Empty when no pool is of the right kind.
	Pool string
	// Ceiling that says No. Zero when no pool is of the right kind.
	Ceiling Ceiling
	// Reason in words.
	Reason string
}

// Fits answers whether a gang fits, on the pool where it fits soonest, then with the fewest GPUs left over, then by
// name. Ask it of At(now): of a document past its time nothing is answered with Now.
func (d Document) Fits(g Gang) Answer {
	if g.Nodes < 1 {
		return Answer{When: No, Reason: fmt.Sprintf("a gang has one node at least, not %d", g.Nodes)}
	}
	var answers []fit
	var refused []string
	for _, p := range d.Pools {
		if why := p.mismatch(g); why != "" {
			refused = append(refused, p.Name+": "+why)
			continue
		}
		answers = append(answers, p.fit(g))
	}
	if len(answers) == 0 {
		reason := "the document has no pools"
		if len(refused) > 0 {
			reason = "no pool is of the kind asked for: " + strings.Join(refused, "; ")
		}
		return Answer{When: No, Reason: reason}
	}
	order := []When{Now, AfterScaling, NotKnown, No}
	best := slices.MinFunc(answers, func(a, b fit) int {
		return cmp.Or(cmp.Compare(slices.Index(order, a.When), slices.Index(order, b.When)),
			cmp.Compare(b.reach, a.reach),
			cmp.Compare(a.spare, b.spare), cmp.Compare(a.Pool, b.Pool))
	})
	return best.Answer
}

// fit is an answer for one pool, with what decides between pools.
type fit struct {
	Answer
	reach int // nodes, only where the answer is No
	spare int // GPUs of each node that stay idle
}

// mismatch says why a pool cannot take a gang whatever its numbers, or nothing.
func (p Pool) mismatch(g Gang) string {
	switch {
	case g.Pool != "" && g.Pool != p.Name:
		return "another pool is asked for"
	case !p.Advertised:
		return "it promises no nodes"
	case g.GPUModel != "" && !strings.EqualFold(g.GPUModel, p.PerNode.GPUModel):
		return fmt.Sprintf("its GPUs are %q", p.PerNode.GPUModel)
	case g.DeviceMode != "" && g.DeviceMode != p.DeviceMode:
		return fmt.Sprintf("its device mode is %q", p.DeviceMode)
	case g.GPUsPerNode > p.PerNode.GPUs:
		return fmt.Sprintf("a node has %d GPUs", p.PerNode.GPUs)
	default:
		return ""
	}
}

func (p Pool) fit(g Gang) fit {
	reach, now := min(p.LargestGang, p.Nodes.Maximum), min(p.gangNow(), p.Nodes.Realized)
	for _, c := range p.Ceilings {
		reach = min(reach, c.Nodes)
	}
	if g.Firm {
		reach = min(reach, p.Nodes.Firm)
		if slices.Contains(p.CapacityTypes, pool.Spot) {
			now = 0 // which of the realized nodes are firm is not said
		}
	}
	f := fit{Answer: Answer{Pool: p.Name}, spare: p.PerNode.GPUs - g.GPUsPerNode}
	switch {
	case p.expired() != "":
		f.When = NotKnown
		f.Reason = fmt.Sprintf("%s; pool %s was last seen with %d nodes", p.expired(), p.Name, p.Nodes.Realized)
	case g.Nodes <= now:
		f.When, f.Reason = Now, fmt.Sprintf("pool %s has %d nodes", p.Name, p.Nodes.Realized)
	case g.Nodes <= reach:
		f.When, f.Reason = AfterScaling, fmt.Sprintf("pool %s has %d nodes and can reach %d", p.Name, p.Nodes.Realized,
			p.Nodes.Maximum)
	default:
		f.When, f.reach = No, reach
		f.Reason = fmt.Sprintf("pool %s can give one gang %d nodes, not %d", p.Name, reach, g.Nodes)
		if g.Firm && p.Nodes.Firm < p.Nodes.Maximum && p.Nodes.Firm == reach {
			f.Reason += ", because the rest is spot"
		}
		if p.LargestGang < p.Nodes.Maximum && p.LargestGang == reach {
			f.Reason += ", because a gang's nodes have to be in one zone"
		}
		if len(p.Ceilings) > 0 {
			f.Ceiling = p.Ceilings[0]
			f.Reason += fmt.Sprintf("; bound by %s", p.Ceilings[0])
		}
	}
	return f
}

// expired says until when the document was valid, in a pool of one that is read past its time.
func (p Pool) expired() string {
	for _, c := range p.Ceilings {
		if c.Kind == Expired {
			return c.Detail
		}
	}
	return ""
}

// String is the ceiling in one line: kind, code and detail.
func (c Ceiling) String() string {
	text := string(c.Kind)
	if c.Of != "" {
		text += " " + string(c.Of)
	}
	if c.Code != "" {
		text += " " + c.Code
	}
	if c.Detail != "" {
		text += ": " + c.Detail
	}
	return text
}
