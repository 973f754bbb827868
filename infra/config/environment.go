// Package config is the configuration of one environment: its keys, defaults and rules.
//
// It owns the object `headroom:environment` of the stack file: its shape, strict decoding, and the rules across its
// keys, reported all at once. Rules and defaults of one value belong to the component that takes the value; here they
// are asked for by their paths. It does not own what a scaler refuses of a pool, nor rules that need an answer from AWS
// (package plan has both). It calls nothing of Pulumi.
package config

import (
	"github.com/headroom-eks/headroom/components/nodepool"
	"github.com/headroom-eks/headroom/pool"
)

// Environment is everything a stack is configured with, apart from the settings of the AWS provider.
type Environment struct {
	// Tags on everything that can carry tags. Two keys must differ in more than case.
	Tags map[string]string `json:"tags,omitempty"`
	// Protect keeps the cluster and the network from being deleted or replaced until it is switched off.
	Protect bool `json:"protect,omitempty" jsonschema:"default=false"`
	// PodsSelectPool declares that every pod selects its pool by the label headroom/pool, so that two scalers cannot
	// both answer one pod.
	PodsSelectPool bool `json:"podsSelectPool,omitempty" jsonschema:"default=false"`

	Network           Network           `json:"network"`
	Cluster           Cluster           `json:"cluster,omitempty"`
	System            System            `json:"system,omitempty"`
	GPU               GPU               `json:"gpu,omitempty"`
	Karpenter         Karpenter         `json:"karpenter,omitempty"`
	ClusterAutoscaler ClusterAutoscaler `json:"clusterAutoscaler,omitempty"`
	AutoMode          AutoMode          `json:"autoMode,omitempty"`
	// General is the pool for everything without a GPU: several families, bounded by vCPUs and memory. Left out, it is
	// not made.
	General *General `json:"general,omitempty"`
	// Pools are the GPU pools.
	Pools []Pool `json:"pools,omitempty"`
	// Spot says what this account needs before it can run spot instances.
	Spot     Spot     `json:"spot,omitempty"`
	Capacity Capacity `json:"capacity,omitempty"`
	GitOps   GitOps   `json:"gitOps,omitempty"`

	// Unread are the paths of the text that this was decoded from which could not be read.
	Unread Unread `json:"-"`
}

// Network is a new VPC, or an existing one by ids.
type Network struct {
	// CIDR of the new VPC: private IPv4 addresses, /16 to /21.
	CIDR string `json:"cidr,omitempty" jsonschema:"default=10.0.0.0/16"`
	// Zones of the new VPC by name, at least two. A zone added at the end leaves the other subnets where they are, and
	// the control plane in the zones it was made with;
	// managed groups of pools without zones of their own are replaced, since EKS cannot give a group another subnet.
	Zones []string `json:"zones,omitempty"`
	// NATGateways is how private subnets reach the internet. Without any, interface endpoints carry what nodes need.
	NATGateways string `json:"natGateways,omitempty" jsonschema:"enum=one-per-vpc,enum=one-per-zone,enum=none,default=one-per-vpc"`
	// InterfaceEndpoints are AWS services reached without leaving the VPC, by short name, for example "ecr.api". With
	// natGateways "none" the services that nodes and controllers need are the default. The region must have each, in
	// every zone of the network.
	InterfaceEndpoints []string `json:"interfaceEndpoints,omitempty"`
	// PrefixDelegation gives nodes addresses in blocks of 16, so that small instance types run more pods: 110, or 250
	// above 30 vCPUs, unless a pool's kubelet.maxPods says otherwise.
	PrefixDelegation bool `json:"prefixDelegation,omitempty" jsonschema:"default=false"`
	// Existing uses a VPC that is there already; nothing in it is changed, tags included.
	Existing *ExistingNetwork `json:"existing,omitempty"`
}

// ExistingNetwork names a VPC that is there already.
type ExistingNetwork struct {
	VpcID            string   `json:"vpcId"`
	PrivateSubnetIDs []string `json:"privateSubnetIds"`
	PublicSubnetIDs  []string `json:"publicSubnetIds,omitempty"`
	// Isolated says that no way leads out of the private subnets. Karpenter then asks nothing of services that have no
	// endpoint; the endpoints, and mirrors of the images, are yours.
	Isolated bool `json:"isolated,omitempty" jsonschema:"default=false"`
}

// Isolated says that no way leads out of the private subnets.
func (n Network) Isolated() bool {
	return n.NATGateways == "none" || n.Existing != nil && n.Existing.Isolated
}

// Cluster is the EKS control plane.
type Cluster struct {
	// Name of the cluster; "headroom-" and the stack's name by default.
	Name string `json:"name,omitempty"`
	// Stack that the name is made of; empty when a name was given.
	Stack string `json:"-"`
	// UniqueSuffix adds a stable random suffix to the name, for short-lived environments.
	UniqueSuffix bool `json:"uniqueSuffix,omitempty" jsonschema:"default=false"`
	// KubernetesVersion, as text ("1.36"). Never below the live cluster's, never more than one minor above.
	KubernetesVersion string `json:"kubernetesVersion,omitempty" jsonschema:"default=1.36"`
	// PublicAccessCIDRs, at most 40 public IPv4 blocks of /8 or smaller (0.0.0.0/0 for everybody), may reach the
	// Kubernetes API from outside the VPC. None by default: then `pulumi up` must run where the VPC can be reached.
	PublicAccessCIDRs []string `json:"publicAccessCidrs,omitempty"`
	// PrivateAccess lets networks and security groups reach the private endpoint, beside the nodes. By default the
	// range of the VPC, where publicAccessCidrs is empty.
	PrivateAccess PrivateAccess `json:"privateAccess,omitzero"`
	// SkipReachabilityCheck goes on without having reached the Kubernetes API first, where only the Kubernetes provider
	// has a way there. With a proxy in the environment, set no_proxy=127.0.0.1,localhost too: the engine is there.
	SkipReachabilityCheck bool `json:"skipReachabilityCheck,omitempty" jsonschema:"default=false"`
	// Access gives IAM roles access to the cluster, by a name of yours in lower-case letters, digits and dashes, for
	// example "admins".
	Access map[string]Access `json:"access,omitempty"`
	// SecretsKeyArn is the KMS key of this region that encrypts secrets. Left out, one is made.
	SecretsKeyArn string `json:"secretsKeyArn,omitempty"`
	// LogTypes of the control plane; api, audit, authenticator, controllerManager, scheduler by default. CloudWatch
	// bills them by volume, and api and scheduler are many times larger than the others.
	LogTypes []string `json:"logTypes,omitempty" jsonschema:"enum=api,enum=audit,enum=authenticator,enum=controllerManager,enum=scheduler"`
	// LogRetentionDays of the control plane's log group.
	LogRetentionDays int `json:"logRetentionDays,omitempty" jsonschema:"default=90"`
	// UpgradePolicy STANDARD lets AWS upgrade at the end of standard support; EXTENDED stays, for an hourly fee.
	UpgradePolicy string `json:"upgradePolicy,omitempty" jsonschema:"enum=STANDARD,enum=EXTENDED,default=STANDARD"`
	// Addons are the pinned versions of the EKS add-ons. Required when kubernetesVersion is not the default one.
	Addons Addons `json:"addons,omitempty"`
}

// Access of one IAM role.
type Access struct {
	PrincipalArn string `json:"principalArn"`
	Policy       string `json:"policy" jsonschema:"enum=cluster-admin,enum=admin,enum=edit,enum=view"`
}

// PrivateAccess is who reaches the private endpoint on port 443: peered networks, a VPN, a runner.
type PrivateAccess struct {
	// CIDRs are IPv4 blocks, as the VPC sees them.
	CIDRs []string `json:"cidrs,omitempty"`
	// SecurityGroupIDs of the VPC or of one peered with it.
	SecurityGroupIDs []string `json:"securityGroupIds,omitempty"`
}

// Addons are the versions of the EKS add-ons.
type Addons struct {
	VpcCNI    string `json:"vpcCni,omitempty" jsonschema:"default=v1.22.3-eksbuild.1"`
	KubeProxy string `json:"kubeProxy,omitempty" jsonschema:"default=v1.36.0-eksbuild.9"`
	CoreDNS   string `json:"coredns,omitempty" jsonschema:"default=v1.14.3-eksbuild.3"`
	EBSCSI    string `json:"ebsCsi,omitempty" jsonschema:"default=v1.62.0-eksbuild.1"`
}

// System is the fixed managed group that carries controllers and DNS. With Auto Mode there is none.
type System struct {
	InstanceType string `json:"instanceType,omitempty" jsonschema:"default=m6i.large"`
	// NodeCount of the group; it is fixed. With fewer than two, controllers run one replica.
	NodeCount *int `json:"nodeCount,omitempty" jsonschema:"default=2"`
	DiskGiB   int  `json:"diskGiB,omitempty" jsonschema:"default=50"`
	// Tainted keeps other pods away with CriticalAddonsOnly. Then something else must carry them.
	Tainted bool `json:"tainted,omitempty" jsonschema:"default=false"`
	// AMIRelease of every managed group, for example "1.36.3-20260911".
	AMIRelease string `json:"amiRelease,omitempty" jsonschema:"default=1.36.3-20260911"`
}

// GPU is what makes the GPUs of a node claimable.
type GPU struct {
	// DevicePluginVersion of the NVIDIA device plugin chart, for pools of device mode plugin.
	DevicePluginVersion string `json:"devicePluginVersion,omitempty" jsonschema:"default=0.17.4"`
	// DRADriverVersion of the NVIDIA DRA driver chart, for pools of device mode dra.
	DRADriverVersion string `json:"draDriverVersion,omitempty" jsonschema:"default=0.4.1"`
	// Repository replaces the repository of both charts.
	Repository string `json:"repository,omitempty"`
	// ProvidedElsewhere says that plugin and driver are installed by someone else; without either, pods never see a
	// GPU.
	ProvidedElsewhere bool `json:"providedElsewhere,omitempty" jsonschema:"default=false"`
}

// Karpenter is installed when a pool uses it.
type Karpenter struct {
	Version string `json:"version,omitempty" jsonschema:"default=1.15.0"`
	// Repository replaces oci://public.ecr.aws/karpenter.
	Repository string `json:"repository,omitempty"`
	// AMIAlias of nodes, pinned: a family and a release, never "latest".
	AMIAlias string `json:"amiAlias,omitempty" jsonschema:"default=al2023@v20260911"`
	// EnableDRA switches on the alpha support for ResourceClaims, which DRA pools need.
	EnableDRA bool `json:"enableDRA,omitempty" jsonschema:"default=false"`
	// InstanceProfile is made by us instead of by the controller, for networks without a way to IAM.
	InstanceProfile bool `json:"instanceProfile,omitempty" jsonschema:"default=false"`
	// InterruptionQueueKeyArn encrypts the interruption queue with a customer key; SQS's own by default.
	InterruptionQueueKeyArn string `json:"interruptionQueueKeyArn,omitempty"`
}

// ClusterAutoscaler is installed when a pool uses it. Chart and image follow the Kubernetes version.
type ClusterAutoscaler struct {
	// Repository replaces https://kubernetes.github.io/autoscaler.
	Repository string `json:"repository,omitempty"`
	// Expander decides which pool grows when several could.
	Expander string `json:"expander,omitempty" jsonschema:"enum=least-nodes,enum=least-waste,enum=most-pods,enum=random,default=least-waste"`
	// StartupTaints, by key, are removed by a daemon once a node is ready; scaling ignores them. Those of the pools are
	// added.
	StartupTaints []string `json:"startupTaints,omitempty"`
}

// AutoMode is EKS Auto Mode, switched on when a pool uses it.
type AutoMode struct {
	// BuiltInPools of Auto Mode; [system] when left out, which carries the system pods. An empty list needs the general
	// pool for them.
	BuiltInPools []string `json:"builtInPools,omitempty" jsonschema:"enum=general-purpose,enum=system"`
	// Keep leaves Auto Mode on without a pool: its pools go in one update, Auto Mode in the next, or nothing would be
	// left to end their nodes.
	Keep bool `json:"keep,omitempty" jsonschema:"default=false"`
	// AllowSwitch permits moving a live cluster into or out of Auto Mode.
	AllowSwitch bool `json:"allowSwitch,omitempty" jsonschema:"default=false"`
}

// General is the pool for everything without a GPU. It is never advertised for gangs.
type General struct {
	Scaler pool.Scaler `json:"scaler" jsonschema:"enum=karpenter,enum=auto-mode"`
	// InstanceCategories by their first letter; c, m, r by default.
	InstanceCategories []string `json:"instanceCategories,omitempty"`
	// CapacityTypes are the ways to buy nodes; spot, on-demand by default. Spot is tried first, whatever the order
	// here.
	CapacityTypes []pool.CapacityType `json:"capacityTypes,omitempty" jsonschema:"enum=on-demand,enum=spot"`
	// Zones by name; every zone of the network by default.
	Zones  []string      `json:"zones,omitempty"`
	Limits GeneralLimits `json:"limits"`
	// ConsolidateAfter an idle node is removed, a duration or "Never".
	ConsolidateAfter string `json:"consolidateAfter,omitempty" jsonschema:"default=1m"`
	// ExpireAfter a node is replaced, a duration or "Never"; 720h with Karpenter, 336h with Auto Mode, which allows 21
	// days at most.
	ExpireAfter string `json:"expireAfter,omitempty"`
	// TerminationGracePeriod bounds how long a node may drain, a duration. Without it a pod that may not be disturbed
	// keeps an expired node, beside its replacement, for as long as it runs.
	TerminationGracePeriod string `json:"terminationGracePeriod,omitempty"`
	// Budgets limit how many nodes are disrupted at once; 10% by default.
	Budgets       []nodepool.Budget `json:"budgets,omitempty"`
	StartupTaints []pool.Taint      `json:"startupTaints,omitempty"`
	DiskGiB       int               `json:"diskGiB,omitempty" jsonschema:"default=100"`
}

// GeneralLimits bound the general pool.
type GeneralLimits struct {
	VCPUs     int `json:"vcpus"`
	MemoryGiB int `json:"memoryGiB"`
}

// Pool is a GPU pool.
type Pool struct {
	// Name of the pool, also the value of the label headroom/pool. At most 40 characters.
	Name   string      `json:"name"`
	Scaler pool.Scaler `json:"scaler" jsonschema:"enum=fixed,enum=cluster-autoscaler,enum=karpenter,enum=auto-mode"`
	// InstanceTypes, exact, of one size: each node of the pool has the same vCPUs and GPUs.
	InstanceTypes []string `json:"instanceTypes"`
	// CapacityTypes are the ways to buy nodes. By default spot, on-demand with Karpenter and Auto Mode, which try spot
	// first, whatever the order here; on-demand in a managed group and a static pool; reserved with a reservation. What
	// only spot can bring is never firm.
	CapacityTypes []pool.CapacityType `json:"capacityTypes,omitempty" jsonschema:"enum=on-demand,enum=spot,enum=reserved"`
	// Zones of the pool by name; every zone of the network that offers the type by default.
	Zones []string `json:"zones,omitempty"`
	// NodeCount: the size of a fixed or static pool; the first size of a cluster-autoscaler pool. A fixed pool of 0 has
	// no node group, since EKS allows none with a maximum of 0; going to 0 deletes it.
	NodeCount *int `json:"nodeCount,omitempty"`
	// MinNodeCount of a cluster-autoscaler pool.
	MinNodeCount *int `json:"minNodeCount,omitempty"`
	// MaxNodeCount of a pool that scales.
	MaxNodeCount *int `json:"maxNodeCount,omitempty"`
	// MaxOnDemandNodeCount of a pool that buys both spot and on-demand makes it two NodePools: so many of maxNodeCount
	// may be on-demand, the rest is spot and is tried first (Karpenter and Auto Mode).
	MaxOnDemandNodeCount *int `json:"maxOnDemandNodeCount,omitempty"`
	// Static keeps exactly nodeCount Karpenter nodes; Karpenter's gate for it is alpha and is switched on with it.
	Static bool `json:"static,omitempty" jsonschema:"default=false"`
	// DeviceMode is how pods claim GPUs.
	DeviceMode pool.DeviceMode `json:"deviceMode,omitempty" jsonschema:"enum=plugin,enum=dra,default=plugin"`
	// Priority when pools share a ceiling: a higher one is served first, equal ones by name.
	Priority int `json:"priority,omitempty" jsonschema:"default=0"`
	// Labels of the nodes. On managed groups EKS takes keys of 63 characters at most, domain included, and no empty
	// value.
	Labels map[string]string `json:"labels,omitempty"`
	// Taints beside nvidia.com/gpu=true:NoSchedule, which every GPU pool has. A managed group has 50 at most, with
	// startup taints, of keys of 63 characters at most.
	Taints []pool.Taint `json:"taints,omitempty"`
	// StartupTaints are removed by a daemon once the node is ready, for example Cilium's.
	StartupTaints []pool.Taint `json:"startupTaints,omitempty"`
	// DiskGiB of the encrypted root volume, which holds images and models.
	DiskGiB int `json:"diskGiB,omitempty" jsonschema:"default=200"`
	// LocalDisks "raid0" joins the instance store for pods' ephemeral storage (Karpenter only).
	LocalDisks string `json:"localDisks,omitempty" jsonschema:"enum=raid0"`
	// Spread "per-zone" makes one managed group a zone (cluster-autoscaler only); maxNodeCount stays the total.
	Spread string `json:"spread,omitempty" jsonschema:"enum=per-zone"`
	// NodeRepair lets EKS replace nodes of a managed group that the kubelet reports unhealthy. Faults of a GPU are seen
	// only with the add-on eks-node-monitoring-agent, which this program does not install.
	NodeRepair bool `json:"nodeRepair,omitempty" jsonschema:"default=false"`
	// AcceptNoWakeFromZero allows a DRA pool of cluster-autoscaler to start at zero; it then advertises what is
	// realized.
	AcceptNoWakeFromZero bool `json:"acceptNoWakeFromZero,omitempty" jsonschema:"default=false"`
	// Reservation backs the pool; only with capacity type "reserved".
	Reservation *Reservation `json:"reservation,omitempty"`
	// Weight between Karpenter pools that fit the same pod, 1 to 100; higher wins.
	Weight int `json:"weight,omitempty"`
	// ConsolidateAfter an empty node is removed, a duration or "Never" (Karpenter and Auto Mode).
	ConsolidateAfter string `json:"consolidateAfter,omitempty" jsonschema:"default=10m"`
	// ExpireAfter a node is replaced, a duration or "Never" (Karpenter and Auto Mode); Never with Karpenter, 480h with
	// Auto Mode, which allows 21 days at most.
	ExpireAfter string `json:"expireAfter,omitempty"`
	// TerminationGracePeriod bounds how long a node may drain, a duration (Karpenter and Auto Mode).
	TerminationGracePeriod string `json:"terminationGracePeriod,omitempty"`
	// Budgets limit how many nodes are disrupted at once; 1 by default.
	Budgets []nodepool.Budget `json:"budgets,omitempty"`
	// Kubelet settings of the node class (Karpenter only), for example maxPods.
	Kubelet nodepool.Kubelet `json:"kubelet,omitzero"`
}

// Reservation is an EC2 capacity reservation.
type Reservation struct {
	ID    string `json:"id"`
	Count int    `json:"count"`
	// End of the reservation, RFC 3339; open without.
	End string `json:"end,omitempty"`
}

// Spot says what this account needs before it can run spot instances.
type Spot struct {
	// CreateServiceLinkedRole makes AWSServiceRoleForEC2Spot. One per account, so never by default, and refused for a
	// new environment where the account has it.
	CreateServiceLinkedRole bool `json:"createServiceLinkedRole,omitempty" jsonschema:"default=false"`
}

// Capacity is how the capacity contract is computed and published.
type Capacity struct {
	// ValidFor is how long a published document may be believed, a duration of 1m to 6h.
	ValidFor string `json:"validFor,omitempty" jsonschema:"default=1h"`
	// ReservedVCPUs of the account's quotas that other users of the account may take.
	ReservedVCPUs ReservedVCPUs `json:"reservedVcpus,omitempty"`
	// SurgeMarginPercent of a soft maximum is kept back; Karpenter checks its limits with delay.
	SurgeMarginPercent int `json:"surgeMarginPercent,omitempty" jsonschema:"default=0"`
	// ConfigMap also publishes the document as a ConfigMap in kube-system.
	ConfigMap bool `json:"configMap,omitempty" jsonschema:"default=false"`
	// SSMParameter also publishes the document under this parameter name, a path outside of /aws and /ssm; beyond 8 KiB
	// as base64 of gzip.
	SSMParameter string `json:"ssmParameter,omitempty"`
}

// ReservedVCPUs of the quotas for G and VT instances.
type ReservedVCPUs struct {
	OnDemand int `json:"onDemand,omitempty" jsonschema:"default=0"`
	Spot     int `json:"spot,omitempty" jsonschema:"default=0"`
}

// GitOps leaves NodePools and node classes to someone else.
type GitOps struct {
	// NodePools: "apply" makes them here; "keep" too, but leaves them in the cluster when they leave this program;
	// "manifests" makes none and gives them as output `manifests`. A live pool moves by way of "keep", in an update of
	// its own, or it would be deleted.
	NodePools string `json:"nodePools,omitempty" jsonschema:"enum=apply,enum=keep,enum=manifests,default=apply"`
	// Applied confirms that the manifests are in the cluster; until then pools advertise what is realized.
	Applied bool `json:"applied,omitempty" jsonschema:"default=false"`
}
