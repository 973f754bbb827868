package aws

import (
	"slices"
	"testing"

	"github.com/headroom-eks/headroom/sandbox/plugin"
)

func TestAPlatformComesUpAndGoesDownToAnEmptyAccount(t *testing.T) {
	a := newAccount(t)
	p := a.platform()
	template := a.create(tLaunchTemplate, "gpu", templateInputs("gpu-l4"))
	group := a.create(tNodeGroup, "gpu", groupInputs(p, template, 0, 2, 4))
	running := a.asks("aws:ec2/getInstances:getInstances", obj{"instanceTags": obj{
		"headroom/cluster": "headroom-test",
		"headroom/pool":    "gpu-l4",
	}})
	if n := len(list(running, "ids")); n != 2 {
		t.Errorf("%d instances run with the pool's tags, want 2", n)
	}
	wantError(t, a.delete(p.cluster), "ResourceInUseException", "nodegroups")
	a.deletes(group, template)
	a.destroys(p)
}

func TestOutputsTheProgramReads(t *testing.T) {
	a := newAccount(t)
	p := a.platform()
	for _, k := range []string{"endpoint", "arn", "certificateAuthority.data", "vpcConfig.clusterSecurityGroupId",
		"vpcConfig.vpcId"} {
		if str(p.cluster.out, k) == "" {
			t.Errorf("the cluster's output %s is empty", k)
		}
	}
	issuer := at(p.cluster.out, "identities.oidcs.issuer")
	if len(issuer) != 1 || issuer[0].(string)[:13] != "https://oidc." {
		t.Errorf("issuer %v", issuer)
	}
	group := a.create(tNodeGroup, "gpu", groupInputs(p, a.create(tLaunchTemplate, "gpu", templateInputs("gpu-l4")), 0,
		0, 4))
	if asg := at(group.out, "resources.autoscalingGroups.name"); len(asg) != 1 || asg[0] == "" {
		t.Errorf("autoscaling group %v", asg)
	}
}

// tried-2, D2: a known block is not complete before AWS has filled it in.
func TestThePreviewOfAClusterKnowsNoSecurityGroup(t *testing.T) {
	a := newAccount(t)
	p := a.platform()
	_, out, err := a.b.Create(plugin.Request{
		URN:     urn(tCluster, "another"),
		Type:    tCluster,
		Preview: true,
		Inputs:  toProperties(with(p.cluster.in, obj{"name": "another"})),
	})
	if err != nil {
		t.Fatal(err)
	}
	vpc := fromProperties(out)["vpcConfig"].(obj)
	for _, key := range []string{"clusterSecurityGroupId", "vpcId"} {
		if !isUnknown(vpc[key]) {
			t.Errorf("%s is %v", key, vpc[key])
		}
	}
	if len(list(vpc, "subnetIds")) < 2 {
		t.Errorf("what is asked for is not planned: %v", vpc)
	}
}

func TestThePreviewOfAnUpdateKeepsWhatAWSFilledIn(t *testing.T) {
	a := newAccount(t)
	p := a.platform()
	in := with(p.cluster.in, obj{"vpcConfig": with(p.cluster.in["vpcConfig"].(obj), obj{"endpointPublicAccess": true})})
	out, err := a.b.Update(plugin.Request{
		URN:        urn(tCluster, p.cluster.name),
		Type:       tCluster,
		ID:         p.cluster.id,
		Preview:    true,
		Inputs:     toProperties(in),
		OldInputs:  toProperties(p.cluster.in),
		OldOutputs: toProperties(p.cluster.out),
	})
	if err != nil {
		t.Fatal(err)
	}
	planned := fromProperties(out)
	if group := str(planned, "vpcConfig.clusterSecurityGroupId"); group == "" ||
		group != str(p.cluster.out, "vpcConfig.clusterSecurityGroupId") {
		t.Errorf("the cluster's security group becomes %q", group)
	}
	if !truth(planned, "vpcConfig.endpointPublicAccess") {
		t.Error("what is asked for is not planned")
	}
}

func TestASecondRunDiffersInNothing(t *testing.T) {
	a := newAccount(t)
	p := a.platform()
	in := groupInputs(p, a.create(tLaunchTemplate, "gpu", templateInputs("gpu-l4")), 0, 1, 4)
	group := a.create(tNodeGroup, "gpu", in)
	in["subnetIds"] = []string{p.b.id, p.a.id} // sets have no order
	if d := a.diff(group, in); len(d.Changed) > 0 {
		t.Errorf("changed %v", d.Changed)
	}
	read, _ := a.read(group)
	if d := a.diff(read, in); len(d.Changed) > 0 {
		t.Errorf("after a refresh changed %v", d.Changed)
	}
}

func TestWhatReplacesAndWhatDoesNot(t *testing.T) {
	a := newAccount(t)
	p := a.platform()
	in := groupInputs(p, a.create(tLaunchTemplate, "gpu", templateInputs("gpu-l4")), 0, 1, 4)
	group := a.create(tNodeGroup, "gpu", in)
	cases := []struct {
		name     string
		change   obj
		changed  string
		replaces bool
	}{
		{"instance types", obj{"instanceTypes": []string{"g6.2xlarge"}}, "instanceTypes[0]", true},
		{"maximum", obj{"scalingConfig": obj{
			"minSize":     0,
			"desiredSize": 1,
			"maxSize":     6,
		}}, "scalingConfig.maxSize", false},
		{"template version", obj{"launchTemplate": obj{"id": one(group.in, "launchTemplate.id"), "version": "2"}},
			"launchTemplate.version", false},
		{"template", obj{"launchTemplate": obj{"id": "lt-other", "version": "1"}}, "launchTemplate.id", true},
		{"tags", obj{"tags": obj{"team": "ml"}}, "tags", false},
	}
	for _, c := range cases {
		d := a.diff(group, with(in, c.change))
		if !slices.Equal(d.Changed, []string{c.changed}) || slices.Contains(d.Replaces, c.changed) != c.replaces {
			t.Errorf("%s: changed %v, replaces %v; want %s, replacing %v", c.name, d.Changed, d.Replaces, c.changed,
				c.replaces)
		}
	}
	// Field fault BR-88: a name the program chose cannot exist twice, so the old one goes first.
	if d := a.diff(group, with(in, obj{"diskSize": 50})); !d.DeleteBeforeReplace {
		t.Error("a fixed name is not deleted before it is replaced")
	}
	if d := a.diff(group, with(in, obj{"scalingConfig": obj{
		"minSize":     0,
		"desiredSize": 3,
		"maxSize":     4,
	}}), "scalingConfig.desiredSize"); len(d.Changed) > 0 {
		t.Errorf("an ignored path changed: %v", d.Changed)
	}
}

func TestNamesAreKnownInPreviewAndStable(t *testing.T) {
	a := newAccount(t)
	in := obj{"assumeRolePolicy": trust("ec2.amazonaws.com")}
	first, _ := a.check(tRole, "node", in)
	again, _ := a.check(tRole, "node", in)
	name := str(first, "name")
	if len(name) != len("node-")+7 || str(again, "name") != name {
		t.Errorf("names %q and %q", name, again["name"])
	}
	kept, _ := a.check(tRole, "node", in, obj{"name": "node-0ldname", defaultsKey: []any{"name"}})
	if kept["name"] != "node-0ldname" {
		t.Errorf("an update renames to %v", kept["name"])
	}
	long := "a-logical-name-that-is-much-too-long-for-a-role-in-iam-to-carry-1"
	if _, _, err := a.b.Check(requestFor(tRole, long, in)); err == nil {
		t.Error("a logical name too long for an auto-name is accepted")
	}
}

func TestPreviewMakesNothingAndKnowsWhatWasAsked(t *testing.T) {
	a := newAccount(t)
	r := requestFor(tVpc, "net", obj{"cidrBlock": "10.0.0.0/16"})
	r.Preview = true
	id, out, err := a.b.Create(r)
	if err != nil || id != "" {
		t.Fatalf("id %q, error %v", id, err)
	}
	planned := fromProperties(out)
	if planned["cidrBlock"] != "10.0.0.0/16" || !isUnknown(planned["arn"]) || !isUnknown(planned["mainRouteTableId"]) {
		t.Errorf("planned %v", planned)
	}
	if left := a.leftovers(); len(left) > 0 {
		t.Errorf("a preview made %v", left)
	}
}

func TestReadOfSomethingGone(t *testing.T) {
	a := newAccount(t)
	vpc := a.create(tVpc, "net", obj{"cidrBlock": "10.0.0.0/16"})
	a.deletes(vpc)
	if _, found := a.read(vpc); found {
		t.Error("a deleted VPC is still found")
	}
	if err := a.delete(vpc); err != nil {
		t.Errorf("deleting it again: %v", err)
	}
}

func TestUnknownTypesAndCallsFailLoudly(t *testing.T) {
	a := newAccount(t)
	_, _, err := a.b.Create(requestFor("aws:s3/bucketV2:BucketV2", "x", obj{}))
	wantError(t, err, "aws:s3/bucketV2:BucketV2", "add its row")
	_, err = a.ask("aws:ec2/getAmi:getAmi", obj{})
	wantError(t, err, "aws:ec2/getAmi:getAmi", "add its answer")
	a.fails(tVpc, obj{"cidrBlock": "10.0.0.0/16", "cidrBlok": "x"}, "cidrBlok", "add it to the row")
}
