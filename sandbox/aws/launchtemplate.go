package aws

import (
	"encoding/base64"
	"fmt"
	"regexp"
	"strconv"
)

var launchTemplateRow = resourceRow{
	typ: tLaunchTemplate,
	inputs: []string{
		"blockDeviceMappings", "capacityReservationSpecification", "cpuOptions", "creditSpecification",
		"defaultVersion", "description", "disableApiStop", "disableApiTermination", "ebsOptimized", "enclaveOptions",
		"hibernationOptions", "iamInstanceProfile", "imageId", "instanceInitiatedShutdownBehavior",
		"instanceMarketOptions", "instanceRequirements", "instanceType", "keyName", "licenseSpecifications",
		"maintenanceOptions", "metadataOptions", "monitoring", "name", "namePrefix", "networkInterfaces",
		"placement", "privateDnsNameOptions", "securityGroupNames", "tagSpecifications", "updateDefaultVersion",
		"userData", "vpcSecurityGroupIds",
	},
	replaces: []string{"name", "namePrefix"},
	lists:    []string{"blockDeviceMappings", "tagSpecifications", "networkInterfaces"},
	name: naming{
		property: "name",
		prefix:   "namePrefix",
		auto:     true,
		min:      3,
		max:      125,
		pattern:  regexp.MustCompile(`^[a-zA-Z0-9().\-/_]+$`),
		says:     "letters, digits and ().-/_",
	},
	enums: map[string][]string{
		"metadataOptions.httpEndpoint":         {"enabled", "disabled"},
		"metadataOptions.httpTokens":           {"optional", "required"},
		"metadataOptions.instanceMetadataTags": {"enabled", "disabled"},
		"metadataOptions.httpProtocolIpv6":     {"enabled", "disabled"},
		"blockDeviceMappings.ebs.volumeType":   {"standard", "io1", "io2", "gp2", "gp3", "sc1", "st1"},
		"instanceMarketOptions.marketType":     {"spot", "capacity-block"},
		"tagSpecifications.resourceType": {
			"instance", "volume", "network-interface", "spot-instances-request", "elastic-gpu",
		},
		"instanceInitiatedShutdownBehavior": {"stop", "terminate"},
	},
	ranges: map[string]span{
		"metadataOptions.httpPutResponseHopLimit": {1, 64},
		"blockDeviceMappings.ebs.volumeSize":      {1, 65536},
		"blockDeviceMappings.ebs.throughput":      {125, 2000},
		"blockDeviceMappings.ebs.iops":            {100, 256000},
	},
	refs: []reference{
		{path: "vpcSecurityGroupIds", typ: tSecurityGroup, gone: groupGone, onGone: dangles},
		{path: "networkInterfaces.securityGroups", typ: tSecurityGroup, gone: groupGone, onGone: dangles},
	},
	id:       "lt-{hex}",
	arn:      "arn:{partition}:ec2:{region}:{account}:launch-template/{id}",
	tagged:   true,
	changes:  []string{"latestVersion"},
	check:    checkLaunchTemplate,
	onCreate: createLaunchTemplate,
	onUpdate: updateLaunchTemplate,
}

func createLaunchTemplate(c *call) error {
	if c.s.Find(tLaunchTemplate, "name", c.out["name"]) != nil {
		return fmt.Errorf("InvalidLaunchTemplateName.AlreadyExistsException: Launch template name already in " +
			"use.")
	}
	c.set("latestVersion", 1)
	c.set("defaultVersion", 1)
	c.res.Versions = append(c.res.Versions, c.in)
	return nil
}

func updateLaunchTemplate(c *call) error {
	before, after := clone(c.old), clone(c.in)
	for _, k := range []string{"tags", "updateDefaultVersion", "defaultVersion", defaultsKey} {
		delete(before, k)
		delete(after, k)
	}
	if !same(before, after) {
		c.res.Versions = append(c.res.Versions, c.in)
	}
	c.set("latestVersion", len(c.res.Versions))
	if truth(c.in, "updateDefaultVersion") {
		c.set("defaultVersion", len(c.res.Versions))
	}
	return nil
}

var tagRow = resourceRow{
	typ:      "aws:ec2/tag:Tag",
	inputs:   []string{"key", "resourceId", "value"},
	required: []string{"key", "resourceId", "value"},
	replaces: []string{"key", "resourceId"},
	id:       "{resourceId},{key}",
	upsert:   true,
	refs: []reference{
		{path: "resourceId", typ: tSubnet, onGone: cascades}, {path: "resourceId", typ: tVpc, onGone: cascades},
		{path: "resourceId", typ: tSecurityGroup, onGone: cascades},
	},
	check:    checkTag,
	onCreate: createTag,
	onUpdate: func(c *call) error { return tagOther(c, c.in["value"]) },
	onDelete: func(c *call) error { return tagOther(c, nil) },
}

func checkTag(in obj, fail func(string, string)) {
	if key := str(in, "key"); key != "" {
		verifyTags("key", obj{key: in["value"]}, fail)
	}
}

func createTag(c *call) error {
	if len(c.res.Refs) == 0 {
		return fmt.Errorf("InvalidID: The ID '%s' is not valid", str(c.in, "resourceId"))
	}
	return tagOther(c, c.in["value"])
}

// tagOther sets or removes a tag of the resource that a tag resource names. Its inputs do not change: the tag is not
// theirs.
func tagOther(c *call, value any) error {
	for _, key := range c.res.Refs {
		target := c.s.Resources[key]
		if target == nil {
			continue
		}
		tags, _ := target.Outputs["tagsAll"].(obj)
		tags = clone(tags)
		if value == nil {
			delete(tags, str(c.in, "key"))
		} else {
			tags[str(c.in, "key")] = value
		}
		target.Outputs["tagsAll"] = tags
	}
	return nil
}

// maxUserData is EC2's limit before base64. https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/user-data.html
const maxUserData = 16 * 1024

var (
	instanceType  = regexp.MustCompile(`^[a-z][a-z0-9-]*\.[a-z0-9-]+$`)
	reservationID = regexp.MustCompile(`^cr-([0-9a-f]{8}|[0-9a-f]{17})$`)
)

// twice reports elements of a list that have the same value of a key.
func twice(in obj, path, key string, fail func(string, string)) {
	seen := map[any]bool{}
	for i, v := range list(in, path) {
		element, _ := v.(obj)
		if value, ok := element[key].(string); ok {
			if seen[value] {
				fail(fmt.Sprintf("%s[%d].%s", path, i, key), "InvalidParameterValue: "+value+" is given twice")
			}
			seen[value] = true
		}
	}
}

func checkLaunchTemplate(in obj, fail func(string, string)) {
	if data := str(in, "userData"); data != "" {
		raw, err := base64.StdEncoding.DecodeString(data)
		if err != nil {
			fail("userData", "InvalidUserData.Malformed: Invalid BASE64 encoding of user data.")
		} else if len(raw) > maxUserData {
			fail("userData", fmt.Sprintf("InvalidParameterValue: User data is limited to %d bytes, this is %d",
				maxUserData, len(raw)))
		}
	}
	if has(in, "instanceType") && has(in, "instanceRequirements") {
		fail("instanceType", "conflicts with instanceRequirements")
	}
	// The words of both are EC2's own; which types there are is the world's.
	if t := str(in, "instanceType"); t != "" && !instanceType.MatchString(t) {
		fail("instanceType", fmt.Sprintf("InvalidParameterValue: Invalid value '%s' for InstanceType.", t))
	}
	const target = "capacityReservationSpecification.capacityReservationTarget.capacityReservationId"
	if id := str(in, target); id != "" && !reservationID.MatchString(id) {
		fail(target, fmt.Sprintf("InvalidCapacityReservationId.Malformed: Invalid id: %q", id))
	}
	twice(in, "blockDeviceMappings", "deviceName", fail)
	twice(in, "tagSpecifications", "resourceType", fail)
	for i, v := range list(in, "tagSpecifications") {
		spec, ok := v.(obj)
		if tags, isMap := spec["tags"].(obj); ok && isMap {
			verifyTags(fmt.Sprintf("tagSpecifications[%d].tags", i), tags, fail)
		}
	}
	for i, v := range list(in, "blockDeviceMappings") {
		mapping, _ := v.(obj)
		for _, k := range []string{"encrypted", "deleteOnTermination"} { // the bridged provider takes these as text
			if s, isText := one(mapping, "ebs."+k).(string); isText {
				if _, err := strconv.ParseBool(s); err != nil {
					fail(fmt.Sprintf("blockDeviceMappings[%d].ebs.%s", i, k),
						fmt.Sprintf("expected true or false, got %q", s))
				}
			}
		}
	}
}
