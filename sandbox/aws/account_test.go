package aws

import (
	"encoding/json"
	"maps"
	"path/filepath"
	"strings"
	"testing"

	"github.com/headroom-eks/headroom/sandbox/plugin"
	"github.com/headroom-eks/headroom/sandbox/world"
	"github.com/pulumi/pulumi/sdk/v3/go/common/resource"
	"github.com/pulumi/pulumi/sdk/v3/go/common/tokens"
)

// account drives the backend as the engine does: check, then create; and remembers ids by logical name.
type account struct {
	t *testing.T
	b *Backend
}

func newAccount(t *testing.T) *account {
	t.Helper()
	return &account{t: t, b: New(filepath.Join(t.TempDir(), "world.json")).(*Backend)}
}

// on is the same account in a subtest.
func (a *account) on(t *testing.T) *account { return &account{t: t, b: a.b} }

// refusal is what AWS does not take, and words of what it says then.
type refusal struct {
	in     obj
	wanted []string
}

func urn(typ, name string) resource.URN {
	return resource.NewURN("dev", "headroom", "", tokens.Type(typ), name)
}

// thing is one resource as the engine keeps it.
type thing struct {
	typ, name, id string
	in            obj
	out           obj
}

func (a *account) check(typ, name string, in obj, old ...obj) (obj, []plugin.CheckFailure) {
	a.t.Helper()
	var before resource.PropertyMap
	if len(old) > 0 {
		before = toProperties(old[0])
	}
	checked, failures, err := a.b.Check(plugin.Request{
		URN:        urn(typ, name),
		Type:       tokens.Type(typ),
		Name:       name,
		Inputs:     toProperties(plain(in).(obj)),
		OldInputs:  before,
		RandomSeed: []byte("seed of " + name),
	})
	if err != nil {
		a.t.Fatalf("check %s %s: %v", typ, name, err)
	}
	return fromProperties(checked), failures
}

func (a *account) try(typ, name string, in obj) (thing, error) {
	a.t.Helper()
	checked, failures := a.check(typ, name, in)
	if len(failures) > 0 {
		a.t.Fatalf("check of %s %s: %v", typ, name, failures)
	}
	id, out, err := a.b.Create(plugin.Request{
		URN:    urn(typ, name),
		Type:   tokens.Type(typ),
		Name:   name,
		Inputs: toProperties(checked),
	})
	return thing{typ, name, id, checked, fromProperties(out)}, err
}

func (a *account) create(typ, name string, in obj) thing {
	a.t.Helper()
	made, err := a.try(typ, name, in)
	if err != nil {
		a.t.Fatalf("create %s %s: %v", typ, name, err)
	}
	return made
}

// refuses creates and wants an error with the given code and words.
func (a *account) refuses(typ string, in obj, wanted ...string) {
	a.t.Helper()
	_, err := a.try(typ, "refused", in)
	wantError(a.t, err, wanted...)
}

// fails checks and wants a failure of the property with the given words.
func (a *account) fails(typ string, in obj, property string, wanted ...string) {
	a.t.Helper()
	_, failures := a.check(typ, "refused", in)
	for _, f := range failures {
		if strings.HasPrefix(f.Property, property) && containsAll(f.Reason, wanted) {
			return
		}
	}
	a.t.Errorf("%s: no failure of %s with %q in %v", typ, property, wanted, failures)
}

func containsAll(s string, wanted []string) bool {
	for _, w := range wanted {
		if !strings.Contains(s, w) {
			return false
		}
	}
	return true
}

func wantError(t *testing.T, err error, wanted ...string) {
	t.Helper()
	if err == nil {
		t.Fatalf("no error, want one with %q", wanted)
	}
	if !containsAll(err.Error(), wanted) {
		t.Errorf("error %q, want %q in it", err, wanted)
	}
}

func (a *account) tryUpdate(x thing, in obj) (thing, error) {
	a.t.Helper()
	checked, failures := a.check(x.typ, x.name, in, x.in)
	if len(failures) > 0 {
		a.t.Fatalf("check of %s %s: %v", x.typ, x.name, failures)
	}
	out, err := a.b.Update(plugin.Request{
		URN:        urn(x.typ, x.name),
		Type:       tokens.Type(x.typ),
		Name:       x.name,
		ID:         x.id,
		Inputs:     toProperties(checked),
		OldInputs:  toProperties(x.in),
		OldOutputs: toProperties(x.out),
	})
	if err != nil {
		return x, err
	}
	return thing{x.typ, x.name, x.id, checked, fromProperties(out)}, nil
}

func (a *account) update(x thing, in obj) thing {
	a.t.Helper()
	y, err := a.tryUpdate(x, in)
	if err != nil {
		a.t.Fatalf("update %s %s: %v", x.typ, x.name, err)
	}
	return y
}

func (a *account) diff(x thing, in obj, ignored ...string) plugin.Diff {
	a.t.Helper()
	checked, _ := a.check(x.typ, x.name, in, x.in)
	d, err := a.b.Diff(plugin.Request{
		URN:           urn(x.typ, x.name),
		Type:          tokens.Type(x.typ),
		ID:            x.id,
		IgnoreChanges: ignored,
		Inputs:        toProperties(checked),
		OldInputs:     toProperties(x.in),
		OldOutputs:    toProperties(x.out),
	})
	if err != nil {
		a.t.Fatal(err)
	}
	return d
}

func (a *account) read(x thing) (thing, bool) {
	a.t.Helper()
	in, out, found, err := a.b.Read(plugin.Request{
		URN:        urn(x.typ, x.name),
		Type:       tokens.Type(x.typ),
		ID:         x.id,
		OldInputs:  toProperties(x.in),
		OldOutputs: toProperties(x.out),
	})
	if err != nil {
		a.t.Fatalf("read %s: %v", x.id, err)
	}
	return thing{x.typ, x.name, x.id, fromProperties(in), fromProperties(out)}, found
}

func (a *account) delete(x thing) error {
	return a.b.Delete(plugin.Request{
		URN:        urn(x.typ, x.name),
		Type:       tokens.Type(x.typ),
		ID:         x.id,
		OldInputs:  toProperties(x.in),
		OldOutputs: toProperties(x.out),
	})
}

func (a *account) deletes(things ...thing) {
	a.t.Helper()
	for _, x := range things {
		if err := a.delete(x); err != nil {
			a.t.Fatalf("delete %s %s: %v", x.typ, x.name, err)
		}
	}
}

func (a *account) ask(token string, args obj) (obj, error) {
	out, err := a.b.Invoke(token, toProperties(plain(args).(obj)))
	return fromProperties(out), err
}

func (a *account) asks(token string, args obj) obj {
	a.t.Helper()
	out, err := a.ask(token, args)
	if err != nil {
		a.t.Fatal(err)
	}
	return out
}

func (a *account) act(f func(*world.State) error) {
	a.t.Helper()
	if err := a.b.world.Update(f); err != nil {
		a.t.Fatal(err)
	}
}

func (a *account) look(f func(*world.State)) {
	a.t.Helper()
	if err := a.b.world.View(func(s *world.State) error { f(s); return nil }); err != nil {
		a.t.Fatal(err)
	}
}

func (a *account) leftovers() (left []string) {
	a.t.Helper()
	a.look(func(s *world.State) { left = s.Leftovers() })
	return left
}

func policyDocument(statements ...obj) string {
	data, err := json.Marshal(obj{"Version": "2012-10-17", "Statement": statements})
	if err != nil {
		panic(err)
	}
	return string(data)
}

// trust is a trust policy for a service.
func trust(service string, actions ...string) string {
	if len(actions) == 0 {
		actions = []string{"sts:AssumeRole"}
	}
	return policyDocument(obj{"Effect": "Allow", "Principal": obj{"Service": service}, "Action": actions})
}

// network is a VPC with two private subnets.
type network struct{ vpc, a, b thing }

func (a *account) network() network {
	a.t.Helper()
	n := network{vpc: a.create(tVpc, "net", obj{"cidrBlock": "10.0.0.0/16", "tags": obj{"env": "test"}})}
	n.a = a.create(tSubnet, "net-a", obj{
		"vpcId":            n.vpc.id,
		"cidrBlock":        "10.0.0.0/20",
		"availabilityZone": "us-west-2a",
		"tags":             obj{"tier": "private"},
	})
	n.b = a.create(tSubnet, "net-b", obj{
		"vpcId":            n.vpc.id,
		"cidrBlock":        "10.0.16.0/20",
		"availabilityZone": "us-west-2b",
		"tags":             obj{"tier": "private"},
	})
	return n
}

func (a *account) role(name, service string, policies ...string) (thing, []thing) {
	a.t.Helper()
	role := a.create(tRole, name, obj{"assumeRolePolicy": trust(service, "sts:AssumeRole", "sts:TagSession")})
	var attachments []thing
	for _, p := range policies {
		attachments = append(attachments, a.create(tAttachment, name+"-"+p, obj{
			"role":      role.id,
			"policyArn": "arn:aws:iam::aws:policy/" + p,
		}))
	}
	return role, attachments
}

// platform is a cluster in a network, with what a node group needs.
type platform struct {
	network
	clusterRole, nodeRole thing
	policies              []thing
	cluster               thing
}

func (n network) subnets() []string { return []string{n.a.id, n.b.id} }

func clusterInputs(n network, role thing) obj {
	return obj{
		"name":          "headroom-test",
		"roleArn":       role.out["arn"],
		"version":       "1.36",
		"vpcConfig":     obj{"subnetIds": n.subnets(), "endpointPrivateAccess": true, "endpointPublicAccess": false},
		"accessConfig":  obj{"authenticationMode": "API", "bootstrapClusterCreatorAdminPermissions": true},
		"upgradePolicy": obj{"supportType": "STANDARD"},
	}
}

func (a *account) platform() platform {
	a.t.Helper()
	p := platform{network: a.network()}
	var more []thing
	p.clusterRole, p.policies = a.role("cluster", "eks.amazonaws.com", "AmazonEKSClusterPolicy")
	p.nodeRole, more = a.role("node", "ec2.amazonaws.com", "AmazonEKSWorkerNodePolicy",
		"AmazonEC2ContainerRegistryPullOnly")
	p.policies = append(p.policies, more...)
	p.cluster = a.create(tCluster, "platform", clusterInputs(p.network, p.clusterRole))
	return p
}

func (a *account) destroys(p platform) {
	a.t.Helper()
	a.deletes(p.cluster)
	a.deletes(p.policies...)
	a.deletes(p.nodeRole, p.clusterRole, p.a, p.b, p.vpc)
	if left := a.leftovers(); len(left) > 0 {
		a.t.Errorf("left behind: %v", left)
	}
}

func templateInputs(pool string) obj {
	return obj{
		"metadataOptions": obj{"httpTokens": "required", "httpPutResponseHopLimit": 1},
		"blockDeviceMappings": []obj{{
			"deviceName": "/dev/xvda",
			"ebs":        obj{"volumeSize": 100, "volumeType": "gp3", "encrypted": "true"},
		}},
		"tagSpecifications": []obj{{
			"resourceType": "instance",
			"tags":         obj{"headroom/cluster": "headroom-test", "headroom/pool": pool},
		}},
	}
}

// groupInputs of a GPU pool on g6.xlarge.
func groupInputs(p platform, template thing, low, desired, high int) obj {
	return obj{
		"clusterName":    p.cluster.id,
		"nodeGroupName":  "gpu-l4",
		"nodeRoleArn":    p.nodeRole.out["arn"],
		"subnetIds":      p.subnets(),
		"instanceTypes":  []string{"g6.xlarge"},
		"amiType":        "AL2023_x86_64_NVIDIA",
		"releaseVersion": "1.36.3-20260911",
		"launchTemplate": obj{"id": template.id, "version": "1"},
		"scalingConfig":  obj{"minSize": low, "desiredSize": desired, "maxSize": high},
		"taints":         []obj{{"key": "nvidia.com/gpu", "value": "true", "effect": "NO_SCHEDULE"}},
		"labels":         obj{"headroom/pool": "gpu-l4"},
	}
}

func with(in obj, changes ...obj) obj {
	out := maps.Clone(in)
	for _, change := range changes {
		for k, v := range change {
			if v == nil {
				delete(out, k)
				continue
			}
			out[k] = v
		}
	}
	return out
}

func requestFor(typ, name string, in obj) plugin.Request {
	return plugin.Request{
		URN:        urn(typ, name),
		Type:       tokens.Type(typ),
		Name:       name,
		Inputs:     toProperties(plain(in).(obj)),
		RandomSeed: []byte("seed"),
	}
}
