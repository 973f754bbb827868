package aws

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/headroom-eks/headroom/sandbox/world"
	"github.com/pulumi/pulumi/sdk/v3/go/common/resource"
)

// answers holds what every data-source call says, by token.
var answers = map[string]func(*world.State, obj) (obj, error){
	"aws:index/getPartition:getPartition":                 getPartition,
	"aws:index/getRegion:getRegion":                       getRegion,
	"aws:index/getCallerIdentity:getCallerIdentity":       getCallerIdentity,
	"aws:index/getAvailabilityZones:getAvailabilityZones": getAvailabilityZones,

	"aws:servicequotas/getServiceQuota:getServiceQuota": getServiceQuota,

	"aws:ssm/getParameter:getParameter": getParameter,

	"aws:sqs/getQueue:getQueue": getQueue,

	"aws:ec2/getInstanceType:getInstanceType":                   getInstanceType,
	"aws:ec2/getInstanceTypes:getInstanceTypes":                 getInstanceTypes,
	"aws:ec2/getInstanceTypeOfferings:getInstanceTypeOfferings": getOfferings,
	"aws:ec2/getInstances:getInstances":                         getInstances,
	"aws:ec2/getInstance:getInstance":                           getInstance,
	"aws:ec2/getSubnet:getSubnet":                               getSubnet,
	"aws:ec2/getSubnets:getSubnets":                             getSubnets,
	"aws:ec2/getVpcEndpointService:getVpcEndpointService":       getEndpointService,
	"aws:ec2/getVpc:getVpc":                                     getVpc,
	"aws:ec2/getLaunchTemplate:getLaunchTemplate":               getLaunchTemplate,

	"aws:autoscaling/getGroup:getGroup": getAutoScalingGroup,

	"aws:eks/getCluster:getCluster":                 getCluster,
	"aws:eks/getClusters:getClusters":               getClusters,
	"aws:eks/getClusterVersions:getClusterVersions": getClusterVersions,
	"aws:eks/getNodeGroup:getNodeGroup":             getNodeGroup,
	"aws:eks/getNodeGroups:getNodeGroups":           getNodeGroups,
	"aws:eks/getAddonVersion:getAddonVersion":       getAddonVersion,
	"aws:eks/getAddon:getAddon":                     getAddon,
	"aws:eks/getAccessEntry:getAccessEntry":         getAccessEntry,

	"aws:iam/getRole:getRole":                       getRole,
	"aws:iam/getRoles:getRoles":                     getRoles,
	"aws:iam/getPolicy:getPolicy":                   getPolicy,
	"aws:iam/getInstanceProfile:getInstanceProfile": getInstanceProfile,
}

// Invoke answers a data-source call. Arguments come back in the answer, as data sources do.
func (b *Backend) Invoke(token string, args resource.PropertyMap) (resource.PropertyMap, error) {
	say, known := answers[token]
	if !known {
		return nil, fmt.Errorf("the sandbox's AWS has no call %s; add its answer in sandbox/aws", token)
	}
	in := fromProperties(args)
	var out obj
	if err := b.note(token); err != nil {
		return nil, err
	}
	err := b.view(func(s *world.State) error {
		if err := denied(s, permissions[token].Read.List()...); err != nil {
			return err
		}
		said, err := say(s, in)
		if err != nil {
			return err
		}
		out = clone(in)
		for k, v := range said {
			out[k] = plain(v)
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("invoking %s: %w", token, err)
	}
	return toProperties(out), nil
}

// matches reports whether values satisfy EC2-style filters: every filter has a value that fits, * and ? being
// wildcards. A filter that fields does not know is an error rather than ignored.
func matches(in obj, fields func(name string) ([]string, bool)) (bool, error) {
	for _, v := range list(in, "filters") {
		filter, _ := v.(obj)
		have, known := fields(str(filter, "name"))
		if !known {
			return false, fmt.Errorf("InvalidParameterValue: the sandbox does not know the filter '%s'; add it in "+
				"sandbox/aws", str(filter, "name"))
		}
		fits := slices.ContainsFunc(texts(list(filter, "values")), func(pattern string) bool {
			return slices.ContainsFunc(have, func(h string) bool {
				ok, err := path.Match(pattern, h)
				return err == nil && ok || pattern == h
			})
		})
		if !fits {
			return false, nil
		}
	}
	return true, nil
}

// tagFilter answers the filters that ask for tags.
func tagFilter(name string, tags map[string]string) ([]string, bool) {
	if key, found := strings.CutPrefix(name, "tag:"); found {
		if v, tagged := tags[key]; tagged {
			return []string{v}, true
		}
		return nil, true
	}
	if name == "tag-key" {
		var keys []string
		for k := range tags {
			keys = append(keys, k)
		}
		return keys, true
	}
	return nil, false
}

// hasTags reports whether tags contain all that are wanted.
func hasTags(tags map[string]string, wanted any) bool {
	for k, v := range stringMap(wanted) {
		if tags[k] != v {
			return false
		}
	}
	return true
}

func getPartition(s *world.State, _ obj) (obj, error) {
	reverse := "com.amazonaws"
	if s.Partition == "aws-cn" {
		reverse = "cn.com.amazonaws"
	}
	return obj{
		"id":               s.Partition,
		"partition":        s.Partition,
		"dnsSuffix":        dnsSuffix(s.Partition),
		"reverseDnsPrefix": reverse,
	}, nil
}

func getRegion(s *world.State, in obj) (obj, error) {
	if name := str(in, "name"); name != "" && name != s.Region {
		return nil, fmt.Errorf("InvalidParameterValue: the sandbox's account is in %s only, not in %s", s.Region,
			name)
	}
	return obj{
		"id":          s.Region,
		"name":        s.Region,
		"description": "Sandbox",
		"endpoint":    "ec2." + s.Region + "." + dnsSuffix(s.Partition),
	}, nil
}

func getCallerIdentity(s *world.State, _ obj) (obj, error) {
	return obj{"id": s.Account, "accountId": s.Account, "arn": s.CallerARN(), "userId": "AROASANDBOX:session"},
		nil
}

func getAvailabilityZones(s *world.State, in obj) (obj, error) {
	names, ids := []string{}, []string{}
	for _, z := range s.Zones() {
		fits, err := matches(in, func(name string) ([]string, bool) {
			switch name {
			case "zone-name":
				return []string{z.Name}, true
			case "zone-id":
				return []string{z.ID}, true
			case "opt-in-status":
				return []string{"opt-in-not-required"}, true
			case "zone-type":
				return []string{"availability-zone"}, true
			case "region-name", "group-name":
				return []string{s.Region}, true
			case "state":
				return []string{"available"}, true
			}
			return nil, false
		})
		if err != nil {
			return nil, err
		}
		state := str(in, "state")
		excluded := slices.Contains(texts(list(in, "excludeNames")), z.Name) ||
			slices.Contains(texts(list(in, "excludeZoneIds")), z.ID)
		if fits && !excluded && (state == "" || state == "available") {
			names, ids = append(names, z.Name), append(ids, z.ID)
		}
	}
	return obj{"id": s.Region, "names": names, "zoneIds": ids, "groupNames": []string{s.Region}}, nil
}

func getServiceQuota(s *world.State, in obj) (obj, error) {
	for code, q := range world.QuotaNames {
		if q.Service != str(in, "serviceCode") || code != str(in, "quotaCode") &&
			q.Name != str(in, "quotaName") {
			continue
		}
		return obj{
			"id": fmt.Sprintf("arn:%s:servicequotas:%s:%s:%s/%s", s.Partition, s.Region, s.Account,
				q.Service, code),
			"arn": fmt.Sprintf("arn:%s:servicequotas:%s:%s:%s/%s", s.Partition, s.Region, s.Account,
				q.Service, code),
			"quotaCode":    code,
			"quotaName":    q.Name,
			"serviceName":  q.ServiceName,
			"value":        s.Quotas[code],
			"defaultValue": world.DefaultQuotas[code],
			"adjustable":   true,
			"globalQuota":  false,
			"usageMetrics": []any{},
		}, nil
	}
	return nil, fmt.Errorf("NoSuchResourceException: quota %s%s of service %s (if AWS has it, add it to "+
		"sandbox/world/quotas.go)",
		str(in, "quotaCode"), str(in, "quotaName"), str(in, "serviceCode"))
}

func getQueue(s *world.State, in obj) (obj, error) {
	r := queueNamed(s, str(in, "name"))
	if r == nil {
		return nil, fmt.Errorf("AWS.SimpleQueueService.NonExistentQueue: The specified queue does not exist.")
	}
	return obj{"id": r.ID, "url": r.ID, "arn": r.Outputs["arn"], "tags": tagsOrEmpty(r.Outputs)}, nil
}
