package aws

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/headroom-eks/headroom/sandbox/world"
)

func getCluster(s *world.State, in obj) (obj, error) {
	r := s.Get(tCluster, str(in, "name"))
	if r == nil {
		return nil,
			fmt.Errorf("ResourceNotFoundException: reading EKS Cluster (%s): No cluster found for name: %s.",
				str(in, "name"), str(in, "name"))
	}
	out := obj{"id": r.ID, "tags": tagsOrEmpty(r.Outputs)}
	for _, k := range []string{
		"arn", "createdAt", "enabledClusterLogTypes", "endpoint", "name", "platformVersion", "roleArn", "status",
		"version", "vpcConfig", "identities", "certificateAuthorities",
	} {
		out[k] = r.Outputs[k]
		if out[k] == nil {
			out[k] = []any{}
		}
	}
	for single, answered := range map[string]string{
		"accessConfig":            "accessConfigs",
		"computeConfig":           "computeConfigs",
		"storageConfig":           "storageConfigs",
		"upgradePolicy":           "upgradePolicies",
		"kubernetesNetworkConfig": "kubernetesNetworkConfigs",
		"remoteNetworkConfig":     "remoteNetworkConfigs",
		"outpostConfig":           "outpostConfigs",
		"zonalShiftConfig":        "zonalShiftConfigs",
	} {
		out[answered] = []any{}
		if v, given := r.Outputs[single]; given {
			out[answered] = []any{v}
		}
	}
	return out, nil
}

func getClusters(s *world.State, _ obj) (obj, error) {
	names := []string{}
	for _, r := range s.OfType(tCluster) {
		names = append(names, r.ID)
	}
	return obj{"id": s.Region, "names": names}, nil
}

func getClusterVersions(s *world.State, in obj) (obj, error) {
	versions, today := []any{}, world.Now().Format("2006-01-02")
	only := texts(list(in, "clusterVersionsOnlies"))
	for _, v := range served {
		status := "STANDARD_SUPPORT"
		if today > v.endOfExtended {
			status = "UNSUPPORTED"
		} else if today > v.endOfStandard {
			status = "EXTENDED_SUPPORT"
		}
		if len(only) > 0 && !slices.Contains(only, v.version) || has(in, "versionStatus") &&
			str(in, "versionStatus") != status || truth(in, "defaultOnly") && v.version != defaultVersion {
			continue
		}
		versions = append(versions, obj{
			"clusterType":              "eks",
			"clusterVersion":           v.version,
			"defaultPlatformVersion":   "eks.1",
			"defaultVersion":           v.version == defaultVersion,
			"kubernetesPatchVersion":   v.patch,
			"releaseDate":              v.released,
			"endOfStandardSupportDate": v.endOfStandard,
			"endOfExtendedSupportDate": v.endOfExtended,
			"versionStatus":            status,
		})
	}
	return obj{"id": s.Region, "clusterVersions": versions}, nil
}

func getNodeGroup(s *world.State, in obj) (obj, error) {
	r := s.Get(tNodeGroup, str(in, "clusterName")+":"+str(in, "nodeGroupName"))
	if r == nil {
		return nil, fmt.Errorf("ResourceNotFoundException: reading EKS Node Group (%s:%s): No node group "+
			"found for name: %s.",
			str(in, "clusterName"), str(in, "nodeGroupName"), str(in, "nodeGroupName"))
	}
	live := &call{s: s, row: table[tNodeGroup], res: r, in: clone(r.Inputs), out: clone(r.Outputs)}
	if err := readNodeGroup(live); err != nil {
		return nil, err
	}
	out := obj{
		"id":              r.ID,
		"tags":            tagsOrEmpty(r.Outputs),
		"launchTemplates": []any{},
		"remoteAccesses":  []any{},
		"scalingConfigs":  []any{live.out["scalingConfig"]},
	}
	for _, k := range []string{
		"amiType", "arn", "capacityType", "clusterName", "diskSize", "instanceTypes", "labels",
		"nodeGroupName", "nodeRoleArn", "releaseVersion", "resources", "status", "subnetIds", "taints",
		"version",
	} {
		out[k] = live.out[k]
	}
	if template, ok := live.out["launchTemplate"].(obj); ok {
		found := obj{"id": "", "name": "", "version": template["version"]}
		if lt := lookup(s, reference{typ: tLaunchTemplate}, template["id"]); lt != nil {
			found["id"], found["name"] = lt.ID, lt.Outputs["name"]
		} else if named := lookup(s, reference{typ: tLaunchTemplate, by: "name"}, template["name"]); named != nil {
			found["id"], found["name"] = named.ID, named.Outputs["name"]
		}
		out["launchTemplates"] = []any{found}
	}
	for _, k := range []string{"instanceTypes", "subnetIds", "taints"} {
		if out[k] == nil {
			out[k] = []any{}
		}
	}
	if out["diskSize"] == nil {
		out["diskSize"] = 0
	}
	return out, nil
}

func getNodeGroups(s *world.State, in obj) (obj, error) {
	cluster := str(in, "clusterName")
	if s.Get(tCluster, cluster) == nil {
		return nil, fmt.Errorf("ResourceNotFoundException: listing EKS Node Groups: No cluster found for "+
			"name: %s.", cluster)
	}
	names := []string{}
	for _, r := range s.OfType(tNodeGroup) {
		if r.Inputs["clusterName"] == cluster {
			names = append(names, str(r.Outputs, "nodeGroupName"))
		}
	}
	return obj{"id": cluster, "names": names}, nil
}

func getAddonVersion(s *world.State, in obj) (obj, error) {
	name, kubernetes := str(in, "addonName"), str(in, "kubernetesVersion")
	if _, known := findVersion(kubernetes); !known {
		return nil, fmt.Errorf("InvalidParameterException: reading EKS Add-On version info (%s, %s): "+
			"unsupported Kubernetes version",
			name, kubernetes)
	}
	versions, err := addonVersions(name, kubernetes)
	if err != nil {
		return nil, err
	}
	version := versions[0]
	if truth(in, "mostRecent") {
		version = versions[len(versions)-1]
	}
	return obj{"id": name, "version": version}, nil
}

func getAddon(s *world.State, in obj) (obj, error) {
	return described(s, tAddon, str(in, "clusterName")+":"+str(in, "addonName"), "ResourceNotFoundException: No "+
		"addon: %s found in cluster", "configurationValues", "serviceAccountRoleArn")
}

func getAccessEntry(s *world.State, in obj) (obj, error) {
	return described(s, tEntry, str(in, "clusterName")+":"+str(in, "principalArn"),
		"ResourceNotFoundException: The specified principalArn could not be found: %s",
		"userName", "accessEntryArn")
}

func getRole(s *world.State, in obj) (obj, error) {
	name := str(in, "name")
	for _, linked := range s.ServiceLinkedRoles {
		if linked == name {
			return obj{
				"id":   name,
				"name": name,
				"path": "/aws-service-role/",
				"arn": fmt.Sprintf("arn:%s:iam::%s:role/aws-service-role/%s", s.Partition, s.Account,
					name),
				"tags":          obj{},
				"roleLastUseds": []any{},
			}, nil
		}
	}
	return described(s, tRole, name, "NoSuchEntity: The role with name %s cannot be found.",
		"description", "permissionsBoundary")
}

func getRoles(s *world.State, in obj) (obj, error) {
	pattern, err := regexp.Compile(str(in, "nameRegex"))
	if err != nil {
		return nil, err
	}
	names, arns := []string{}, []string{}
	for _, r := range s.OfType(tRole) {
		if pattern.MatchString(r.ID) && strings.HasPrefix(str(r.Outputs, "path"), str(in, "pathPrefix")) {
			names, arns = append(names, r.ID), append(arns, str(r.Outputs, "arn"))
		}
	}
	for _, linked := range s.ServiceLinkedRoles {
		if p := "/aws-service-role/"; pattern.MatchString(linked) && strings.HasPrefix(p, str(in, "pathPrefix")) ||
			strings.HasPrefix(str(in, "pathPrefix"), p) && pattern.MatchString(linked) {
			names, arns = append(names, linked),
				append(arns, fmt.Sprintf("arn:%s:iam::%s:role/aws-service-role/%s", s.Partition, s.Account, linked))
		}
	}
	return obj{"id": s.Region, "names": names, "arns": arns}, nil
}

func getPolicy(s *world.State, in obj) (obj, error) {
	for _, r := range s.OfType(tPolicy) {
		if r.ID == str(in, "arn") || has(in, "name") && r.Outputs["name"] == in["name"] {
			return described(s, tPolicy, r.ID, "")
		}
	}
	if arn := str(in, "arn"); attachable(s, arn) == nil && arn != "" {
		return obj{"id": arn, "arn": arn, "name": path.Base(arn), "policy": "", "tags": obj{}}, nil
	}
	return nil, fmt.Errorf("NoSuchEntity: Policy %s%s was not found.", str(in, "arn"), str(in, "name"))
}

func getInstanceProfile(s *world.State, in obj) (obj, error) {
	out, err := described(s, tProfile, str(in, "name"), "NoSuchEntity: Instance Profile %s cannot be found.")
	if err == nil {
		out["roleName"] = out["role"]
		if role := s.Get(tRole, str(out, "role")); role != nil {
			out["roleArn"] = role.Outputs["arn"]
		}
	}
	return out, err
}

// described answers with the outputs of a resource; empty lists outputs that are text and empty when not set.
func described(s *world.State, typ, id, missing string, empty ...string) (obj, error) {
	r := s.Get(typ, id)
	if r == nil {
		return nil, fmt.Errorf(missing, id)
	}
	out := clone(r.Outputs)
	out["id"], out["tags"] = r.ID, tagsOrEmpty(r.Outputs)
	delete(out, "tagsAll")
	for _, k := range empty {
		if !has(out, k) {
			out[k] = ""
		}
	}
	return out, nil
}

// getParameter knows the program's own parameters and the public ones that name EKS-optimized AL2023 images:
// /aws/service/eks/optimized-ami/<version>/amazon-linux-2023/<arch>/<variant>/{recommended|<image
// name>}/{image_id|image_name|release_version}.
// https://docs.aws.amazon.com/eks/latest/userguide/retrieve-ami-id.html
func getParameter(s *world.State, in obj) (obj, error) {
	name := str(in, "name")
	arn := fmt.Sprintf("arn:%s:ssm:%s:%s:parameter/%s", s.Partition, s.Region, s.Account, strings.TrimPrefix(name, "/"))
	if r := s.Get(tParameter, name); r != nil {
		return obj{
			"id":            name,
			"arn":           arn,
			"type":          r.Outputs["type"],
			"value":         r.Outputs["value"],
			"insecureValue": r.Outputs["value"],
			"version":       r.Outputs["version"],
		}, nil
	}
	value, known := imageParameter(name)
	if !known {
		return nil, fmt.Errorf("ParameterNotFound: reading SSM Parameter (%s): couldn't find resource", name)
	}
	return obj{
		"id":            name,
		"arn":           strings.Replace(arn, s.Account, "", 1),
		"type":          "String",
		"value":         value,
		"insecureValue": value,
		"version":       1,
	}, nil
}

func imageParameter(name string) (string, bool) {
	rest, found := strings.CutPrefix(name, "/aws/service/eks/optimized-ami/")
	parts := strings.Split(rest, "/")
	if !found || len(parts) != 6 || parts[1] != "amazon-linux-2023" {
		return "", false
	}
	version, arch, variant, which, field := parts[0], parts[2], parts[3], parts[4], parts[5]
	if !slices.Contains([]string{"x86_64", "arm64"}, arch) || !slices.Contains([]string{
		"standard", "nvidia", "neuron",
	}, variant) {
		return "", false
	}
	for _, release := range releases[version] {
		_, date, _ := strings.Cut(release, "-")
		image := fmt.Sprintf("amazon-eks-node-al2023-%s-%s-%s-v%s", arch, variant, version, date)
		if which != image && !(which == "recommended" && release == latestRelease(version)) {
			continue
		}
		switch field {
		case "image_id":
			return "ami-" + hash(image, 17), true
		case "image_name":
			return image, true
		case "release_version":
			return release, true
		}
	}
	return "", false
}
