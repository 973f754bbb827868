package aws

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/headroom-eks/headroom/sandbox/world"
	"github.com/pulumi/pulumi/sdk/v3/go/common/resource"
)

// answer is a data-source call: the API action it needs and what it says.
type answer struct {
	action string // empty where the provider knows by itself
	say    func(*world.State, obj) (obj, error)
}

// answers holds every data-source call by token.
var answers = map[string]answer{
	"aws:index/getPartition:getPartition":                 {"", getPartition},
	"aws:index/getRegion:getRegion":                       {"", getRegion},
	"aws:index/getCallerIdentity:getCallerIdentity":       {"sts:GetCallerIdentity", getCallerIdentity},
	"aws:index/getAvailabilityZones:getAvailabilityZones": {"ec2:DescribeAvailabilityZones", getAvailabilityZones},

	"aws:servicequotas/getServiceQuota:getServiceQuota": {"servicequotas:GetServiceQuota", getServiceQuota},

	"aws:ssm/getParameter:getParameter": {"ssm:GetParameter", getParameter},

	"aws:sqs/getQueue:getQueue": {"sqs:GetQueueUrl", getQueue},

	"aws:ec2/getInstanceType:getInstanceType":                   {"ec2:DescribeInstanceTypes", getInstanceType},
	"aws:ec2/getInstanceTypes:getInstanceTypes":                 {"ec2:DescribeInstanceTypes", getInstanceTypes},
	"aws:ec2/getInstanceTypeOfferings:getInstanceTypeOfferings": {"ec2:DescribeInstanceTypeOfferings", getOfferings},
	"aws:ec2/getInstances:getInstances":                         {"ec2:DescribeInstances", getInstances},
	"aws:ec2/getInstance:getInstance":                           {"ec2:DescribeInstances", getInstance},
	"aws:ec2/getSubnet:getSubnet":                               {"ec2:DescribeSubnets", getSubnet},
	"aws:ec2/getSubnets:getSubnets":                             {"ec2:DescribeSubnets", getSubnets},
	"aws:ec2/getVpcEndpointService:getVpcEndpointService": {"ec2:DescribeVpcEndpointServices",
		getEndpointService},
	"aws:ec2/getVpc:getVpc":                       {"ec2:DescribeVpcs", getVpc},
	"aws:ec2/getLaunchTemplate:getLaunchTemplate": {"ec2:DescribeLaunchTemplates", getLaunchTemplate},

	"aws:autoscaling/getGroup:getGroup": {"autoscaling:DescribeAutoScalingGroups", getAutoScalingGroup},

	"aws:eks/getCluster:getCluster":                 {"eks:DescribeCluster", getCluster},
	"aws:eks/getClusters:getClusters":               {"eks:ListClusters", getClusters},
	"aws:eks/getClusterVersions:getClusterVersions": {"eks:DescribeClusterVersions", getClusterVersions},
	"aws:eks/getNodeGroup:getNodeGroup":             {"eks:DescribeNodegroup", getNodeGroup},
	"aws:eks/getNodeGroups:getNodeGroups":           {"eks:ListNodegroups", getNodeGroups},
	"aws:eks/getAddonVersion:getAddonVersion":       {"eks:DescribeAddonVersions", getAddonVersion},
	"aws:eks/getAddon:getAddon":                     {"eks:DescribeAddon", getAddon},
	"aws:eks/getAccessEntry:getAccessEntry":         {"eks:DescribeAccessEntry", getAccessEntry},

	"aws:iam/getRole:getRole":                       {"iam:GetRole", getRole},
	"aws:iam/getRoles:getRoles":                     {"iam:ListRoles", getRoles},
	"aws:iam/getPolicy:getPolicy":                   {"iam:GetPolicy", getPolicy},
	"aws:iam/getInstanceProfile:getInstanceProfile": {"iam:GetInstanceProfile", getInstanceProfile},
}

// Invoke answers a data-source call. Arguments come back in the answer, as data sources do.
func (b *Backend) Invoke(token string, args resource.PropertyMap) (resource.PropertyMap, error) {
	a, known := answers[token]
	if !known {
		return nil, fmt.Errorf("the sandbox's AWS has no call %s; add its answer in sandbox/aws", token)
	}
	in := fromProperties(args)
	var out obj
	err := b.view(func(s *world.State) error {
		if a.action != "" {
			if err := denied(s, a.action); err != nil {
				return err
			}
		}
		said, err := a.say(s, in)
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
