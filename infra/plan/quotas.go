package plan

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	capacityplan "github.com/headroom-eks/headroom/capacity/plan"
	"github.com/headroom-eks/headroom/components/nodegroup"
	"github.com/headroom-eks/headroom/infra/ask"
	"github.com/headroom-eks/headroom/infra/config"
	"github.com/headroom-eks/headroom/pool"
)

// Quota is one from which pools draw.
type Quota struct {
	capacityplan.Quota
	// VCPUs that AWS allows.
	VCPUs ask.Answer[int]
	// Reserved vCPUs are kept for what others may still start.
	Reserved int
}

// limit is the quota as a limit that pools share: less what is kept for others, what capacity reservations hold of it,
// and what others are seen to use.
func (q Quota) limit(held int, others map[string]ask.Answer[int]) capacityplan.SharedLimit {
	vcpus, known := q.VCPUs.Get()
	if !known {
		return q.UnknownLimit(q.VCPUs.Reason())
	}
	used := 0
	if others != nil {
		if used, known = others[q.Code].Get(); !known {
			return q.UnknownLimit("what others in the account use of it: " + others[q.Code].Reason())
		}
	}
	limit := q.Limit(float64(vcpus), q.Reserved)
	limit.Amount = max(0, limit.Amount-held-used)
	if held > 0 {
		limit.Detail += fmt.Sprintf(", %d held by reservations", held)
	}
	if used > 0 {
		limit.Detail += fmt.Sprintf(", %d used now by instances of no pool here", used)
	}
	return limit
}

// quotas collects those from which pools draw.
func (d *decision) quotas() {
	d.reservations()
	given := d.env.Capacity.ReservedVCPUs
	reserved := map[pool.CapacityType]int{pool.OnDemand: given.OnDemand, pool.Spot: given.Spot}
	for _, q := range capacityplan.Quotas {
		if answer, drawn := d.answers.Quotas[q.Code]; drawn {
			d.plan.Quotas = append(d.plan.Quotas, Quota{
				Quota:    q,
				VCPUs:    answer,
				Reserved: reserved[q.CapacityType],
			})
		}
	}
	d.startingNodes()
}

// Reservation is a capacity reservation that pools name. Its instances count once, however many pools name it.
type Reservation struct {
	capacityplan.ReservationFacts
	// Quota is the code of the on-demand quota that the reservation counts against, used or not; may be empty.
	// https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/ec2-capacity-reservations.html
	Quota string
	// VCPUs of one instance.
	VCPUs int
}

// reservations collects the capacity reservations that pools name, each once. Check has refused pools that say
// different things of one.
func (d *decision) reservations() {
	for _, c := range d.env.Pools {
		if c.Reservation == nil || slices.ContainsFunc(d.plan.Reservations,
			func(r Reservation) bool { return r.ID == c.Reservation.ID }) {
			continue
		}
		end, _ := time.Parse(time.RFC3339, c.Reservation.End) // Check has refused anything else than a time or nothing
		r := Reservation{
			ReservationFacts: capacityplan.ReservationFacts{ID: c.Reservation.ID, Count: c.Reservation.Count, End: end},
			VCPUs:            d.answers.Shapes[c.InstanceTypes[0]].Value().VCPUs,
		}
		if q, found := capacityplan.QuotaFor(c.InstanceTypes[0], pool.OnDemand); found {
			r.Quota = q.Code
		}
		d.plan.Reservations = append(d.plan.Reservations, r)
	}
}

// startingNodes refuses nodes that are still to be made at once, without a pod asking, when a quota cannot hold even
// them: the update would fail half-way. Nodes that run already are not counted: a quota that was lowered under them
// removes none, and the contract tells of it.
func (d *decision) startingNodes() {
	needed, by := map[string]int{}, map[string][]string{}
	for _, p := range d.plan.Pools {
		if code, vcpus := d.draws(p); p.starting > 0 && code != "" {
			needed[code] += p.starting * vcpus
			by[code] = append(by[code], p.Name())
		}
	}
	for _, code := range slices.Sorted(maps.Keys(needed)) {
		if vcpus, known := d.answers.Quotas[code].Get(); known && needed[code] > vcpus {
			d.problems().Add("pools",
				fmt.Sprintf("%s start with nodes of %d vCPUs together, and the quota %s allows %d",
					strings.Join(by[code], ", "), needed[code], code, vcpus), nil, "ask AWS for more or lower their "+
					"counts")
		}
	}
}

// draws is the quota that a node of the pool takes from, and how many vCPUs. No quota when it has a choice, since it
// may take what is left elsewhere.
func (d *decision) draws(p Pool) (code string, vcpus int) {
	if p.Name() == config.SystemPool {
		return capacityplan.StandardQuota, p.Facts.PerNode.VCPUs
	}
	for _, use := range p.Facts.Uses {
		if _, isQuota := d.answers.Quotas[use.Limit]; isQuota && code != "" {
			return "", 0
		} else if isQuota {
			code, vcpus = use.Limit, use.CostPerNode
		}
	}
	return code, vcpus
}

// rolled is what the update replaces of nodes in managed groups that draw from one quota.
type rolled struct {
	running, surge int      // vCPUs
	groups         []string // that need the surge
}

// noRoomToRoll warns of quotas that cannot hold the nodes which EKS starts before it takes old ones away (M5). What
// runs is what the live groups of the plan want; nodes of others and of NodePools are not known here, so silence is no
// promise. Neither is a new version of a launch template: a changed disk or tag rolls nodes as well, and is seen by
// Pulumi alone.
func (d *decision) noRoomToRoll() (warning string) {
	quotas := map[string]*rolled{}
	for _, p := range d.plan.Pools {
		code, vcpus := d.draws(p)
		if quotas[code] == nil {
			quotas[code] = &rolled{}
		}
		for _, g := range p.Groups {
			running, surge := d.rolls(g.Args)
			quotas[code].running += running * vcpus
			quotas[code].surge += surge * vcpus
			if surge > 0 {
				quotas[code].groups = append(quotas[code].groups, g.Args.Name())
			}
		}
	}
	var said []string
	for _, code := range slices.Sorted(maps.Keys(quotas)) {
		r := quotas[code]
		allowed, known := d.answers.Quotas[code].Get()
		if known && r.surge > 0 && allowed < r.running+r.surge {
			said = append(said, fmt.Sprintf("quota %s allows %d vCPUs, %d run in managed groups, and up to %d more "+
				"are needed to replace the nodes of %s", code, allowed, r.running, r.surge,
				strings.Join(r.groups, ", ")))
		}
	}
	if len(said) == 0 {
		return ""
	}
	return "this update replaces nodes, and EKS starts the new ones first, up to two for each zone of a group: " +
		strings.Join(said, "; ") + ". Without room the update fails with NodeCreationFailure; ask AWS for more first"
}

// rolls is how many nodes a group has that live, under whichever of its names, and how many the update starts beside
// them to replace them.
func (d *decision) rolls(args nodegroup.Args) (running, surge int) {
	live := d.liveGroup(args)
	lost := d.earlier(args)
	for _, name := range lost {
		running += d.live.Groups[name].Desired
	}
	running += live.Desired
	switch {
	case !live.Exists && len(lost) > 0:
		surge = args.Scaling.Desired
	case live.Desired > 0 && (live.ReleaseVersion != args.ReleaseVersion ||
		live.Version != d.env.Cluster.KubernetesVersion):
		surge = args.SurgeNodes()
	}
	return running, surge
}
