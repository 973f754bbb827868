package cluster

import (
	"fmt"

	"github.com/headroom-eks/headroom/components/handle"
	"github.com/headroom-eks/headroom/components/iampolicy"
	"github.com/headroom-eks/headroom/components/irsa"
	"github.com/headroom-eks/headroom/pool"
	awseks "github.com/pulumi/pulumi-aws/sdk/v6/go/aws/eks"
	metav1 "github.com/pulumi/pulumi-kubernetes/sdk/v4/go/kubernetes/meta/v1"
	storagev1 "github.com/pulumi/pulumi-kubernetes/sdk/v4/go/kubernetes/storage/v1"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
)

const addonsType = "headroom:cluster:Addons"

// AddonsArgs of the add-ons that run on the first nodes.
type AddonsArgs struct {
	Cluster handle.Cluster
	// Pinned add-on versions; not used with Auto Mode, which brings DNS and driver itself.
	CoreDNSVersion, EBSCSIVersion string
	// SystemTaints are the taints of the system group; every add-on tolerates them (field fault BR-59).
	SystemTaints []pool.Taint
	// Needs must exist before the add-ons and outlive them: the nodes they run on. EKS reports DNS without nodes as
	// degraded, after twenty minutes (field fault BR-58).
	Needs []pulumi.Resource
	// AutoMode leaves only the storage class to make.
	AutoMode bool
}

// Addons are DNS, the EBS driver and the default storage class. What installs workloads depends on it.
type Addons struct {
	pulumi.ResourceState

	StorageClass pulumi.StringOutput
}

// NewAddons makes the add-ons that wait for nodes. The caller passes an aws and a kubernetes provider.
func NewAddons(ctx *pulumi.Context, name string, args *AddonsArgs, opts ...pulumi.ResourceOption) (*Addons, error) {
	if args == nil {
		return nil, fmt.Errorf("add-ons %q: no arguments were given", name)
	}
	problems := args.validate()
	if err := problems.Err(); err != nil {
		return nil, fmt.Errorf("add-ons %q: %w", name, err)
	}
	c := &Addons{}
	inputs := pulumi.Map{"autoMode": pulumi.Bool(args.AutoMode)}
	if err := ctx.RegisterComponentResourceV2(addonsType, name, inputs, c, opts...); err != nil {
		return nil, fmt.Errorf("register %s: %w", name, err)
	}
	var driver []pulumi.Resource
	if !args.AutoMode {
		dns, err := corednsValues(args.SystemTaints)
		if err != nil {
			return nil, fmt.Errorf("configure DNS: %w", err)
		}
		if _, err := c.addon(ctx, name, "coredns", args.CoreDNSVersion, dns, nil, args); err != nil {
			return nil, err
		}
		if driver, err = c.ebs(ctx, name, args); err != nil {
			return nil, err
		}
	}
	class, err := storagev1.NewStorageClass(ctx, name+"-gp3", &storagev1.StorageClassArgs{
		Metadata: &metav1.ObjectMetaArgs{
			Name:        pulumi.String(storageClassName),
			Annotations: pulumi.StringMap{"storageclass.kubernetes.io/is-default-class": pulumi.String("true")},
		},
		Provisioner:          pulumi.String(provisioner(args.AutoMode)),
		Parameters:           pulumi.StringMap{"type": pulumi.String("gp3"), "encrypted": pulumi.String("true")},
		AllowVolumeExpansion: pulumi.Bool(true),
		// A volume in the zone of the pod, not the other way round.
		VolumeBindingMode: pulumi.String("WaitForFirstConsumer"),
		// Nearly every field is immutable, and the name is the contract: the new one cannot be made beside the old one.
	}, pulumi.Parent(c), pulumi.DependsOn(driver), pulumi.DeleteBeforeReplace(true))
	if err != nil {
		return nil, fmt.Errorf("create storage class: %w", err)
	}
	c.StorageClass = class.Metadata.Name().Elem()
	return c, ctx.RegisterResourceOutputs(c, pulumi.Map{"storageClass": c.StorageClass})
}

func (c *Addons) ebs(ctx *pulumi.Context, name string, args *AddonsArgs) ([]pulumi.Resource, error) {
	role, err := irsa.New(ctx, name+"-ebs-csi", &irsa.Args{
		Cluster:        args.Cluster,
		Namespace:      ebsNamespace,
		ServiceAccount: ebsServiceAccount,
		ManagedPolicyArns: map[string]string{
			"driver": iampolicy.ManagedPolicyArn(args.Cluster.Partition, ebsPolicy),
		},
	}, pulumi.Parent(c))
	if err != nil {
		return nil, err
	}
	config, err := ebsValues(args.SystemTaints, args.Cluster.Tags)
	if err != nil {
		return nil, fmt.Errorf("configure EBS driver: %w", err)
	}
	addon, err := c.addon(ctx, name, "aws-ebs-csi-driver", args.EBSCSIVersion, config, role, args)
	return []pulumi.Resource{addon}, err
}

func (c *Addons) addon(ctx *pulumi.Context, name, addon, version, config string, role *irsa.Role,
	args *AddonsArgs) (*awseks.Addon, error) {
	a := &awseks.AddonArgs{
		ClusterName:              args.Cluster.Name,
		AddonName:                pulumi.String(addon),
		AddonVersion:             pulumi.String(version),
		ConfigurationValues:      pulumi.String(config),
		ResolveConflictsOnCreate: pulumi.String("OVERWRITE"),
		ResolveConflictsOnUpdate: pulumi.String("OVERWRITE"),
		Tags:                     pulumi.ToStringMap(args.Cluster.Tags),
	}
	after := args.Needs
	if role != nil {
		a.ServiceAccountRoleArn = role.Arn.ToStringPtrOutput()
		// The driver asks EC2 as soon as it starts, and when it deletes the last volume.
		after = append(after[:len(after):len(after)], role.Ready...)
	}
	r, err := awseks.NewAddon(ctx, name+"-"+addon, a, pulumi.Parent(c), pulumi.DependsOn(after))
	if err != nil {
		return nil, fmt.Errorf("create add-on %s: %w", addon, err)
	}
	return r, nil
}
