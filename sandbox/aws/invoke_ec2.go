package aws

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/headroom-eks/headroom/sandbox/world"
)

func getInstanceType(s *world.State, in obj) (obj, error) {
	name := str(in, "instanceType")
	t, known := world.Types[name]
	if !known {
		return nil, fmt.Errorf("InvalidInstanceType: The following supplied instance types do not exist: "+
			"[%s] (if AWS has it, add it to sandbox/world/types.go)",
			name)
	}
	return describeType(name, t), nil
}

func getInstanceTypes(s *world.State, in obj) (obj, error) {
	var found []string
	for name, t := range world.Types {
		fits, err := matches(in, func(filter string) ([]string, bool) {
			switch filter {
			case "instance-type":
				return []string{name}, true
			case "processor-info.supported-architecture":
				return []string{t.Arch}, true
			case "current-generation", "supported-usage-class":
				return []string{"true", "on-demand", "spot"}, true
			case "vcpu-info.default-vcpus":
				return []string{fmt.Sprint(t.VCPUs)}, true
			case "memory-info.size-in-mib":
				return []string{fmt.Sprint(t.MemoryMiB)}, true
			}
			return nil, false
		})
		if err != nil {
			return nil, err
		}
		if fits && slices.ContainsFunc(s.Zones(), func(z world.Zone) bool { return s.Offered(name, z.Name) }) {
			found = append(found, name)
		}
	}
	slices.Sort(found)
	return obj{"id": s.Region, "instanceTypes": found}, nil
}

func getSubnet(s *world.State, in obj) (obj, error) {
	found, err := matchingSubnets(s, in)
	if err != nil {
		return nil, err
	}
	if len(found) != 1 {
		return nil, fmt.Errorf("%s", noOne("EC2 Subnet", len(found)))
	}
	r := found[0]
	out := clone(r.Outputs)
	out["id"], out["tags"], out["state"], out["defaultForAz"] = r.ID, out["tagsAll"], "available", false
	out["availableIpAddressCount"] = s.FreeAddresses(r.ID)
	delete(out, "tagsAll")
	return out, nil
}

func getSubnets(s *world.State, in obj) (obj, error) {
	found, err := matchingSubnets(s, in)
	ids := []string{}
	for _, r := range found {
		ids = append(ids, r.ID)
	}
	return obj{"id": s.Region, "ids": ids}, err
}

func getVpc(s *world.State, in obj) (obj, error) {
	var found []*world.Resource
	for _, r := range s.OfType(tVpc) {
		if id := str(in, "id"); (id == "" || id == r.ID) && hasTags(stringMap(r.Outputs["tagsAll"]), in["tags"]) &&
			(!has(in, "cidrBlock") || in["cidrBlock"] == r.Outputs["cidrBlock"]) {
			found = append(found, r)
		}
	}
	if len(found) != 1 {
		return nil, fmt.Errorf("%s", noOne("EC2 VPC", len(found)))
	}
	out := clone(found[0].Outputs)
	out["id"], out["tags"], out["state"], out["default"] = found[0].ID, out["tagsAll"], "available", false
	delete(out, "tagsAll")
	return out, nil
}

func getLaunchTemplate(s *world.State, in obj) (obj, error) {
	for _, r := range s.OfType(tLaunchTemplate) {
		if r.ID == str(in, "id") || r.Outputs["name"] == in["name"] && has(in, "name") {
			out := clone(r.Outputs)
			out["id"], out["tags"] = r.ID, tagsOrEmpty(r.Outputs)
			delete(out, "tagsAll")
			for k, answered := range templateLists {
				if v, given := out[k]; given {
					delete(out, k)
					out[answered] = []any{v}
				}
			}
			return out, nil
		}
	}
	return nil, fmt.Errorf("InvalidLaunchTemplateId.NotFound: reading EC2 Launch Template: couldn't find " +
		"resource")
}

func getAutoScalingGroup(s *world.State, in obj) (obj, error) {
	g := s.Groups[str(in, "name")]
	if g == nil {
		return nil, fmt.Errorf("ValidationError: reading Auto Scaling Group (%s): couldn't find resource",
			str(in, "name"))
	}
	tags, zones := []any{}, []string{}
	for _, k := range sorted(plain(g.Tags).(obj)) {
		tags = append(tags, obj{"key": k, "value": g.Tags[k], "propagateAtLaunch": true})
	}
	for _, subnet := range g.Subnets {
		zones = append(zones, str(s.Get(tSubnet, subnet).Outputs, "availabilityZone"))
	}
	return obj{
		"id": g.Name,
		"arn": fmt.Sprintf(
			"arn:%s:autoscaling:%s:%s:autoScalingGroup:sandbox:autoScalingGroupName/%s", s.Partition, s.Region,
			s.Account, g.Name),
		"minSize":             g.Min,
		"maxSize":             g.Max,
		"desiredCapacity":     g.Desired,
		"tags":                tags,
		"availabilityZones":   zones,
		"vpcZoneIdentifier":   strings.Join(g.Subnets, ","),
		"status":              "",
		"desiredCapacityType": "",
		"healthCheckType":     "EC2",
	}, nil
}

// templateLists are the single blocks of a launch template that the data source gives back as lists, with the name it
// gives them.
var templateLists = map[string]string{
	"metadataOptions":                  "metadataOptions",
	"instanceMarketOptions":            "instanceMarketOptions",
	"cpuOptions":                       "cpuOptions",
	"enclaveOptions":                   "enclaveOptions",
	"monitoring":                       "monitorings",
	"placement":                        "placements",
	"iamInstanceProfile":               "iamInstanceProfiles",
	"capacityReservationSpecification": "capacityReservationSpecifications",
}

func noOne(what string, n int) string {
	if n == 0 {
		return "no matching " + what + " found"
	}
	return "multiple " + what + "s matched; use additional constraints to reduce matches to a single " + what
}

func describeType(name string, t world.InstanceType) obj {
	out := obj{
		"id":                               name,
		"instanceType":                     name,
		"defaultVcpus":                     t.VCPUs,
		"memorySize":                       t.MemoryMiB,
		"bareMetal":                        false,
		"currentGeneration":                true,
		"supportedArchitectures":           []string{t.Arch},
		"supportedUsagesClasses":           []string{"on-demand", "spot"},
		"hypervisor":                       "nitro",
		"maximumNetworkInterfaces":         t.ENIs,
		"maximumIpv4AddressesPerInterface": t.IPv4PerENI,
		"maximumIpv6AddressesPerInterface": t.IPv4PerENI,
		"maximumNetworkCards":              1,
		"instanceStorageSupported":         t.DiskGB > 0,
		"totalInstanceStorage":             t.DiskGB,
		"efaSupported":                     t.EFA > 0,
		"efaMaximumInterfaces":             t.EFA,
		"burstablePerformanceSupported":    name[0] == 't',
		"ebsEncryptionSupport":             "supported",
		"ebsNvmeSupport":                   "required",
		"ebsOptimizedSupport":              "default",
		"ipv6Supported":                    true,
		"enaSupport":                       "required",
		"supportedRootDeviceTypes":         []string{"ebs"},
		"supportedVirtualizationTypes":     []string{"hvm"},
		"defaultCores":                     t.VCPUs / 2,
		"defaultThreadsPerCore":            2,
		"gpuses":                           []any{},
		"totalGpuMemory":                   0,
		"instanceDisks":                    []any{},
	}
	if t.Arch == "arm64" {
		out["defaultCores"], out["defaultThreadsPerCore"] = t.VCPUs, 1
	}
	if t.DiskGB > 0 {
		out["instanceDisks"] = []any{obj{"count": 1, "size": t.DiskGB, "type": "ssd"}}
	}
	if t.HasGPU() {
		out["gpuses"] = []any{obj{
			"count":        t.GPUs,
			"manufacturer": t.GPUMaker,
			"name":         t.GPUName,
			"memorySize":   t.GPUMemory,
		}}
		out["totalGpuMemory"] = max(t.GPUs, 1) * t.GPUMemory
	}
	return out
}

func getOfferings(s *world.State, in obj) (obj, error) {
	by := str(in, "locationType")
	if by == "" {
		by = "region"
	}
	if !slices.Contains([]string{"region", "availability-zone", "availability-zone-id"}, by) {
		return nil, fmt.Errorf("InvalidParameterValue: expected locationType to be one of [region availability-zone "+
			"availability-zone-id], got %s",
			by)
	}
	var types, locations, kinds []string
	for name := range world.Types {
		for _, z := range s.Zones() {
			location := map[string]string{
				"region":               s.Region,
				"availability-zone":    z.Name,
				"availability-zone-id": z.ID,
			}[by]
			fits, err := matches(in, func(filter string) ([]string, bool) {
				switch filter {
				case "instance-type":
					return []string{name}, true
				case "location":
					return []string{location}, true
				}
				return nil, false
			})
			if err != nil {
				return nil, err
			}
			if fits && s.Offered(name, z.Name) {
				types = append(types, name+" "+location)
			}
		}
	}
	slices.Sort(types)
	types = slices.Compact(types)
	names := []string{}
	for _, pair := range types {
		name, location, _ := strings.Cut(pair, " ")
		names, locations, kinds = append(names, name), append(locations, location), append(kinds, by)
	}
	return obj{
		"id":            s.Region,
		"instanceTypes": names,
		"locations":     append([]string{}, locations...),
		"locationTypes": append([]string{}, kinds...),
	}, nil
}

func instanceFields(s *world.State, i *world.Instance) func(string) ([]string, bool) {
	return func(name string) ([]string, bool) {
		switch name {
		case "instance-id":
			return []string{i.ID}, true
		case "instance-type":
			return []string{i.Type}, true
		case "instance-state-name":
			return []string{i.State}, true
		case "availability-zone":
			return []string{i.Zone}, true
		case "subnet-id":
			return []string{i.Subnet}, true
		case "vpc-id":
			if r := s.Get(tSubnet, i.Subnet); r != nil {
				return []string{str(r.Outputs, "vpcId")}, true
			}
			return nil, true
		case "instance-lifecycle": // EC2 says nothing for on-demand
			if i.Spot {
				return []string{"spot"}, true
			}
			return nil, true
		case "instance.group-id", "network-interface.group-id":
			return i.SecurityGroups, true
		case "architecture":
			return []string{world.Types[i.Type].Arch}, true
		}
		return tagFilter(name, i.Tags)
	}
}

// getInstances lists running instances unless other states are asked for.
func getInstances(s *world.State, in obj) (obj, error) {
	states := texts(list(in, "instanceStateNames"))
	if len(states) == 0 {
		states = []string{"running"}
	}
	ids, addresses := []string{}, []string{}
	for _, i := range s.SortedInstances(func(i *world.Instance) bool {
		return slices.Contains(states, i.State) && hasTags(i.Tags, in["instanceTags"])
	}) {
		fits, err := matches(in, instanceFields(s, i))
		if err != nil {
			return nil, err
		}
		if fits {
			ids, addresses = append(ids, i.ID), append(addresses, s.PrivateIP(i))
		}
	}
	if _, err := matches(in, instanceFields(s, &world.Instance{})); err != nil {
		return nil, err // an unknown filter is told even when nothing runs
	}
	return obj{
		"id":                 s.Region,
		"ids":                ids,
		"privateIps":         addresses,
		"publicIps":          []string{},
		"ipv6Addresses":      []string{},
		"instanceStateNames": states,
	}, nil
}

func getInstance(s *world.State, in obj) (obj, error) {
	var found []*world.Instance
	for _, i := range s.SortedInstances(func(i *world.Instance) bool {
		return i.Running() && hasTags(i.Tags, in["instanceTags"])
	}) {
		fits, err := matches(in, instanceFields(s, i))
		if err != nil {
			return nil, err
		}
		if id := str(in, "instanceId"); fits && (id == "" || id == i.ID) {
			found = append(found, i)
		}
	}
	if len(found) != 1 {
		return nil, fmt.Errorf("%s", noOne("EC2 Instance", len(found)))
	}
	i := found[0]
	return obj{
		"id":                  i.ID,
		"instanceId":          i.ID,
		"arn":                 fmt.Sprintf("arn:%s:ec2:%s:%s:instance/%s", s.Partition, s.Region, s.Account, i.ID),
		"instanceType":        i.Type,
		"availabilityZone":    i.Zone,
		"subnetId":            i.Subnet,
		"instanceState":       i.State,
		"tags":                i.Tags,
		"vpcSecurityGroupIds": i.SecurityGroups,
		"privateIp":           s.PrivateIP(i),
		"launchTime":          i.Launched.Format(time.RFC3339),
		"tenancy":             "default",
		"monitoring":          false,
	}, nil
}

func matchingSubnets(s *world.State, in obj) (found []*world.Resource, err error) {
	for _, r := range s.OfType(tSubnet) {
		tags := stringMap(r.Outputs["tagsAll"])
		fits, err := matches(in, func(name string) ([]string, bool) {
			switch name {
			case "vpc-id":
				return []string{str(r.Outputs, "vpcId")}, true
			case "subnet-id":
				return []string{r.ID}, true
			case "availability-zone", "availabilityZone":
				return []string{str(r.Outputs, "availabilityZone")}, true
			case "availability-zone-id":
				return []string{str(r.Outputs, "availabilityZoneId")}, true
			case "cidr-block", "cidrBlock":
				return []string{str(r.Outputs, "cidrBlock")}, true
			case "map-public-ip-on-launch":
				return []string{fmt.Sprint(truth(r.Outputs, "mapPublicIpOnLaunch"))}, true
			}
			return tagFilter(name, tags)
		})
		if err != nil {
			return nil, err
		}
		for _, k := range []string{"vpcId", "cidrBlock", "availabilityZone", "availabilityZoneId"} {
			fits = fits && (!has(in, k) || in[k] == r.Outputs[k])
		}
		if id := str(in, "id"); fits && (id == "" || id == r.ID) && hasTags(tags, in["tags"]) {
			found = append(found, r)
		}
	}
	return found, nil
}
