package plan

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"

	"github.com/headroom-eks/headroom/components/cluster"
	"github.com/headroom-eks/headroom/components/kmskey"
)

// cluster compares what is asked of the control plane with what EKS serves and with what lives.
func (d *decision) cluster() {
	wanted, region := d.env.Cluster.KubernetesVersion, d.answers.Account.Region
	if served := d.answers.KubernetesVersions.Value(); len(served) > 0 && !slices.Contains(served, wanted) {
		d.problems().Add("cluster.kubernetesVersion", fmt.Sprintf("EKS serves no %q in %s", wanted, region), nil,
			"it serves "+strings.Join(served, ", "))
	}
	for _, image := range d.answers.Images {
		if exists, known := image.Exists.Get(); known && !exists {
			d.problems().Add("system.amiRelease", fmt.Sprintf("%s (%s) does not exist in %s", image.Release,
				image.Description, region), nil, "pin another release")
		}
		if release, known := image.OfDate.Get(); known && release != image.Release {
			d.problems().Add("system.amiRelease", fmt.Sprintf("is not the release of its date (%s), which EKS wants",
				image.Description), image.Release, "pin "+release)
		}
	}
	if exists, asked := d.answers.SpotRole.Get(); asked && !exists && !d.env.Spot.CreateServiceLinkedRole {
		d.problems().Add("spot", "this account has no service-linked role AWSServiceRoleForEC2Spot, without which no "+
			"spot instance starts", nil, "create it once (aws iam create-service-linked-role --aws-service-name "+
			"spot.amazonaws.com) or set spot.createServiceLinkedRole: true in one stack of the account")
	}
	d.spotRoleIsThere()
	d.places()
	d.access()
	d.privateAccess()
	d.plan.Cluster.ControlPlaneZones = d.plan.Network.Private.ForControlPlane().Zones()
	if own := d.answers.Renamed; own == d.env.Cluster.Name && own != "" {
		d.problems().Add("cluster.uniqueSuffix", "would give the live cluster "+own+" of this stack another name; EKS "+
			"renames none, so it would be deleted with everything in it", nil, "set it to false, or run pulumi "+
			"destroy first")
	} else if own != "" {
		d.problems().Add("cluster.name", "is another than "+own+", the live cluster of this stack; EKS "+
			"renames none, so it would be deleted with everything in it", d.env.Cluster.Name,
			"set it back, or run pulumi destroy first")
	}
	if d.live != nil {
		d.anotherStack()
		d.profileStays()
		d.controlPlaneZones()
		d.secretsKey()
		d.problems().Join(cluster.CheckVersion("cluster.kubernetesVersion", d.live.Version, wanted))
		d.autoModeSwitch()
	}
}

// access refuses principals for which EKS has an entry already, or can have none (FR-04). EKS keeps one for each
// principal. https://docs.aws.amazon.com/eks/latest/userguide/creating-access-entries.html
func (d *decision) access() {
	principals, live := d.env.Cluster.Principals(), d.live
	for _, name := range slices.Sorted(maps.Keys(principals)) {
		path, arn := fmt.Sprintf("cluster.access[%q].principalArn", name), principals[name].PrincipalArn
		switch {
		case !strings.Contains(arn, ":"+d.answers.Account.ID+":"):
			d.problems().Add(path, "is of another account than the cluster's, "+d.answers.Account.ID, arn,
				"name a role of this account that the other may assume")
		case live == nil && cluster.CreatorIsAdmin(principals) && d.isCaller(arn):
			d.problems().Add(path, "runs this update, and EKS makes its own entry for it, as "+
				"cluster-admin, when no cluster-admin is named", arn, "remove it, or give it the policy cluster-admin")
		case slices.Contains(d.answers.Entries, arn):
			wrong := fmt.Sprintf("has an access entry in cluster %s that this stack did not make, as the creator of a "+
				"cluster has", live.Name)
			d.problems().Add(path, wrong, arn, fmt.Sprintf("remove it here, or delete that entry first: "+
				"aws eks delete-access-entry --cluster-name %s --principal-arn %s", live.Name, arn))
		}
	}
}

// isCaller says that the principal is, by its name, the one that runs the program.
func (d *decision) isCaller(arn string) bool {
	// arn:aws:sts::123456789012:assumed-role/<role>/<session> is the caller that has assumed <role>.
	caller := strings.Split(d.answers.Account.CallerArn, "/")
	return arn == d.answers.Account.CallerArn || len(caller) > 1 && strings.HasSuffix(arn, "/"+caller[1])
}

// privateAccess opens a cluster without a public endpoint to its VPC, when nobody else is named: the update itself has
// to reach it, and EKS lets in nothing but nodes.
func (d *decision) privateAccess() {
	given := d.env.Cluster.PrivateAccess
	if len(given.CIDRs) == 0 && len(given.SecurityGroupIDs) == 0 && len(d.env.Cluster.PublicAccessCIDRs) == 0 {
		if n := d.plan.Network; n.New != nil {
			given.CIDRs = []string{n.New.CIDR}
		} else if n.Existing != nil && n.Existing.CIDR != "" {
			given.CIDRs = []string{n.Existing.CIDR}
		}
	}
	d.plan.Cluster.PrivateAccess = given
}

// spotRoleIsThere refuses to make a role that the account has. Once this stack's cluster lives, the role is taken for
// the one that the stack made; it stays when the stack goes (F21).
func (d *decision) spotRoleIsThere() {
	live, asked := d.answers.Live.Get()
	if d.answers.SpotRole.Value() && d.env.Spot.CreateServiceLinkedRole && asked && live == nil {
		d.problems().Add("spot.createServiceLinkedRole", "the account has the role AWSServiceRoleForEC2Spot already, "+
			"and takes no second one", nil, "remove it")
	}
}

// places refuses principals and keys that EKS cannot find from where the cluster is (F21).
func (d *decision) places() {
	account := d.answers.Account
	d.problems().Join(cluster.ValidateAccessPartition("cluster.access", d.env.Cluster.Principals(), account.Partition))
	for _, key := range []struct{ path, arn string }{
		{"cluster.secretsKeyArn", d.env.Cluster.SecretsKeyArn},
		{"karpenter.interruptionQueueKeyArn", d.env.Karpenter.InterruptionQueueKeyArn},
	} {
		if key.arn != "" {
			d.problems().Join(kmskey.ValidatePlace(key.path, key.arn, account.Partition, account.Region))
		}
	}
}

// anotherStack refuses the name of a cluster that another stack has made: everything before the cluster would be made,
// and then EKS would refuse it (tried-2, F20).
func (d *decision) anotherStack() {
	made, own := d.live.Stack, d.answers.Former.Value().Cluster == d.live.Name // own, also when the stack was renamed
	if made != "" && made != d.answers.Account.Stack && !own {
		d.problems().Add("cluster.name", fmt.Sprintf("is that of a cluster in %s which stack %s made",
			d.answers.Account.Region, made), d.live.Name, "choose another")
	}
}

// profileStays refuses to delete the instance profile that nodes run with: they would lose their credentials (FR-14).
func (d *decision) profileStays() {
	profile := d.answers.Former.Value().KarpenterInstanceProfile
	if profile == "" || d.env.Karpenter.InstanceProfile {
		return
	}
	nodes := 0
	for _, count := range d.answers.RunningNodes {
		nodes += count.Value()
	}
	if nodes > 0 {
		d.problems().Add("karpenter.instanceProfile", fmt.Sprintf("is off, and %d node(s) of Karpenter run with the "+
			"profile %s, which this update would delete", nodes, profile), nil, "keep it on until they are gone")
	}
}

// controlPlaneZones keeps the control plane in the zones with which the live cluster was made: EKS moves it between
// subnets of these and into no other. A zone that the network has since gained has nodes alone (FR-03).
// https://docs.aws.amazon.com/eks/latest/userguide/network-reqs.html
//
// In a network of ours the addresses of a zone follow from its place in the list, and two subnets cannot swap theirs.
func (d *decision) controlPlaneZones() {
	zones, live := d.plan.Cluster.ControlPlaneZones, slices.Sorted(maps.Keys(d.live.Subnets))
	for _, zone := range live {
		if !slices.Contains(zones, zone) {
			d.problems().Add("network", fmt.Sprintf("has no private subnet in %s, in which the control plane of the "+
				"live cluster has one, and EKS takes it out of no zone (it lies in %s)", zone,
				strings.Join(live, ", ")), nil,
				"keep the zone, also when no pool uses it")
		}
		for _, planned := range d.plan.Network.Private.In(zone) {
			switch {
			case d.plan.Network.New == nil || planned.CIDR == d.live.Subnets[zone]:
			case !within(d.live.Subnets[zone], d.env.Network.CIDR):
				d.problems().Add("network.cidr",
					fmt.Sprintf("does not hold %s, where the control plane of the live cluster "+
						"is, and a VPC keeps its range", d.live.Subnets[zone]), d.env.Network.CIDR, "set it back")
				return
			default:
				d.problems().Add("network.zones", fmt.Sprintf("would move %s from %s to %s", zone, d.live.Subnets[zone],
					planned.CIDR), d.env.Network.Zones, "keep the order of the zones, and add new ones at the end")
			}
		}
	}
	if len(live) > 0 {
		d.plan.Cluster.ControlPlaneZones = slices.DeleteFunc(zones,
			func(zone string) bool { return !slices.Contains(live, zone) })
	}
}

// within says that one IPv4 block lies in another. What cannot be read lies in none.
func within(inner, outer string) bool {
	i, errInner := netip.ParsePrefix(inner)
	o, errOuter := netip.ParsePrefix(outer)
	return errInner == nil && errOuter == nil && o.Bits() <= i.Bits() && o.Contains(i.Addr())
}

// secretsKey refuses another key for the secrets of a live cluster. EKS takes one once; the former key would go on
// being used, and a key of this stack's own would leave the program and be deleted, which nothing can repair (FR-01).
// https://docs.aws.amazon.com/eks/latest/userguide/enable-kms.html
func (d *decision) secretsKey() {
	const path = "cluster.secretsKeyArn"
	wanted, key := d.env.Cluster.SecretsKeyArn, d.answers.Former.Value().SecretsKey
	switch used := key.Arn; {
	case used == "" || wanted == used || wanted == "" && key.Made:
	case wanted == "":
		d.problems().Add(path, "is not set, and the live cluster encrypts its secrets with "+used+
			", which EKS cannot change", nil, "set it to that key")
	case key.Made:
		d.problems().Add(path, "is another key than "+used+", which this stack made and the live cluster encrypts its "+
			"secrets with; EKS cannot change it", wanted, "remove it; a new cluster can have it")
	default:
		d.problems().Add(path, "is another key than "+used+", with which the live cluster encrypts its secrets; EKS "+
			"cannot change it", wanted, "set it back; a new cluster can have it")
	}
}

// autoModeSwitch refuses a switch that nobody allowed, and those that would replace the cluster: its settings take a
// node role once, and neither another nor none after it (docs/auto-mode.md).
func (d *decision) autoModeSwitch() {
	wanted, builtIn := d.plan.Cluster.AutoMode, d.env.AutoMode.BuiltInPools
	if d.live.AutoMode != wanted && !d.env.AutoMode.AllowSwitch {
		d.problems().Add("autoMode", fmt.Sprintf("the live cluster has Auto Mode %s and this configuration would "+
			"switch it %s, which moves every node", onOff(d.live.AutoMode), onOff(wanted)), nil,
			"set autoMode.allowSwitch: true to do it")
	}
	const path = "autoMode.builtInPools"
	role := d.live.NodeRoleArn
	switch {
	case !wanted:
	case role != "" && len(builtIn) == 0:
		d.problems().Add(path, fmt.Sprintf("is empty, and the live cluster's settings hold the node role %s of a "+
			"built-in pool; taking it out would replace the cluster", role), nil, "keep one")
	case role != "" && !d.live.AutoMode:
		d.problems().Add(path,
			fmt.Sprintf("the live cluster's settings still hold the node role %s of an earlier Auto "+
				"Mode; a new one would replace the cluster", role), nil, "use another scaler, or a new cluster")
	case role == "" && len(builtIn) > 0 && d.live.AutoMode:
		d.problems().Add(path, fmt.Sprintf("is %s, and the live cluster runs Auto Mode without any; no order is known "+
			"in which the nodes' access entry goes from this program to EKS", strings.Join(builtIn, ", ")), nil,
			"leave it empty, or switch Auto Mode off first")
	}
}

func onOff(b bool) string {
	if b {
		return "on"
	}
	return "off"
}
