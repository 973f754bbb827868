package karpenter_test

import (
	"context"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	iamtypes "github.com/aws/aws-sdk-go-v2/service/iam/types"
	awsv1 "github.com/aws/karpenter-provider-aws/pkg/apis/v1"
	sdk "github.com/aws/karpenter-provider-aws/pkg/aws"
	"github.com/aws/karpenter-provider-aws/pkg/providers/amifamily"
	"github.com/aws/karpenter-provider-aws/pkg/providers/instance"
	"github.com/aws/karpenter-provider-aws/pkg/providers/launchtemplate"
	"github.com/aws/karpenter-provider-aws/pkg/utils"
	"github.com/headroom-eks/headroom/components/iampolicy"
	"github.com/headroom-eks/headroom/components/karpenter"
	"github.com/headroom-eks/headroom/tests/karpenter/iameval"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
)

// place is where a cluster lives.
type place struct{ partition, region, account, dnsSuffix string }

var places = []place{
	{"aws", "us-west-2", "123456789012", "amazonaws.com"},
	{"aws-us-gov", "us-gov-west-1", "123456789012", "amazonaws.com"},
	{"aws-cn", "cn-northwest-1", "123456789012", "amazonaws.com.cn"},
}

// names of a cluster and of what belongs to it alone.
type names struct{ cluster, nodeRoleArn, queueArn string }

func (p place) names(cluster string) names {
	return names{cluster, p.arn("iam", "role/"+cluster+"-node"), p.arn("sqs", cluster+"-queue")}
}

// untagged kinds are what a launch uses without making it; they belong to no cluster.
var untagged = []string{"image", "snapshot", "subnet", "security-group", "capacity-reservation", "placement-group"}

func (p place) arn(service, resource string) string {
	region, owner := p.region, p.account
	if service == "iam" {
		region = ""
	}
	if strings.HasPrefix(resource, "image/") || strings.HasPrefix(resource, "snapshot/") ||
		strings.HasPrefix(resource, "parameter/aws/") {
		owner = ""
	}
	return fmt.Sprintf("arn:%s:%s:%s:%s:%s", p.partition, service, region, owner, resource)
}

func (p place) documents(t *testing.T, n names) (documents []iampolicy.Document) {
	t.Helper()
	planned, err := karpenter.Policies(chartVersion, karpenter.Facts{
		Partition:   p.partition,
		Region:      p.region,
		AccountID:   p.account,
		Cluster:     n.cluster,
		NodeRoleArn: n.nodeRoleArn,
		QueueArn:    n.queueArn,
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range planned {
		text, err := d.JSON(iampolicy.ManagedLimit)
		if err != nil {
			t.Fatal(err)
		}
		read, err := iameval.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		documents = append(documents, read)
	}
	return documents
}

// request of one action in the place, with more context as pairs of key and value.
func (p place) request(action, resource string, pairs ...string) iameval.Request {
	context := map[string][]string{"aws:RequestedRegion": {p.region}}
	for i := 0; i+1 < len(pairs); i += 2 {
		context[pairs[i]] = []string{pairs[i+1]}
	}
	return iameval.Request{Action: action, Resource: resource, Context: context}
}

// sending puts tags into a request; having puts them on the resource.
func sending(r iameval.Request, tags map[string]string) iameval.Request {
	return tagged(r, "aws:RequestTag/", tags, true)
}
func having(r iameval.Request, tags map[string]string) iameval.Request {
	return tagged(r, "aws:ResourceTag/", tags, false)
}

func tagged(r iameval.Request, prefix string, tags map[string]string, keys bool) iameval.Request {
	r.Context = maps.Clone(r.Context)
	for key, value := range tags {
		r.Context[prefix+key] = []string{value}
		if keys {
			r.Context["aws:TagKeys"] = append(r.Context["aws:TagKeys"], key)
		}
	}
	return r
}

// calls are the requests that Karpenter makes for a cluster, as its own code builds them: name to requests.
func (p place) calls(t *testing.T, n names) map[string][]iameval.Request {
	t.Helper()
	cluster := n.cluster
	var class awsv1.EC2NodeClass
	strict(t, classes()["everything set"], &class)
	claim := &karpv1.NodeClaim{ObjectMeta: metav1.ObjectMeta{
		Name:   "gpu-l4-x",
		Labels: map[string]string{karpv1.NodePoolLabelKey: "gpu-l4"},
	}}
	tags, err := utils.GetTags(&class, claim, cluster)
	if err != nil {
		t.Fatal(err)
	}
	profileTags := class.InstanceProfileTags(cluster, p.region)
	profile := p.arn("iam", "instance-profile/karpenter/"+p.region+"/"+cluster+"/uid/"+cluster+"_1")
	instanceArn, template := p.arn("ec2", "instance/i-1"), p.arn("ec2", "launch-template/lt-1")
	clusterArn := p.arn("eks", "cluster/"+cluster)

	out := map[string][]iameval.Request{}
	add := func(name string, requests ...iameval.Request) { out[name] = append(out[name], requests...) }

	p.launches(t, add, tags, template)
	// The tags of a node that has joined, put on afterwards and without CreateAction.
	late := map[string]string{
		awsv1.NameTagKey:           "ip-10-0-0-1",
		awsv1.NodeClaimTagKey:      claim.Name,
		awsv1.EKSClusterNameTagKey: cluster,
	}
	add("CreateTags", sending(having(p.request("ec2:CreateTags", instanceArn), tags), late))
	delete(late, awsv1.EKSClusterNameTagKey)
	add("CreateTags", sending(having(p.request("ec2:CreateTags", instanceArn), tags), late))

	add("TerminateInstances", having(p.request("ec2:TerminateInstances", instanceArn), tags))
	add("RebootInstances", having(p.request("ec2:RebootInstances", instanceArn), tags))
	add("DeleteLaunchTemplate", having(p.request("ec2:DeleteLaunchTemplate", template), tags))

	// Instance profiles and the role in them.
	add("CreateInstanceProfile", sending(p.request("iam:CreateInstanceProfile", profile), profileTags))
	add("TagInstanceProfile", having(sending(p.request("iam:TagInstanceProfile", profile), profileTags), profileTags))
	for _, action := range []string{"AddRoleToInstanceProfile", "RemoveRoleFromInstanceProfile",
		"DeleteInstanceProfile"} {
		add(action, having(p.request("iam:"+action, profile), profileTags))
	}
	add("GetInstanceProfile", p.request("iam:GetInstanceProfile", profile))
	add("PassRole", p.request("iam:PassRole", n.nodeRoleArn, "iam:PassedToService", "ec2."+p.dnsSuffix))

	for _, action := range []string{"GetQueueUrl", "ReceiveMessage", "DeleteMessage"} {
		add(action, p.request("sqs:"+action, n.queueArn))
	}
	add("DescribeCluster", p.request("eks:DescribeCluster", clusterArn))
	add("GetManagedResource", p.request("arc-zonal-shift:GetManagedResource", clusterArn,
		"arc-zonal-shift:ResourceIdentifier", clusterArn))
	return out
}

// launches adds the calls of a launch. CreateFleet and RunInstances (its dry run) touch what the launch template names
// and make the rest.
func (p place) launches(t *testing.T, add func(string, ...iameval.Request), tags map[string]string, template string) {
	t.Helper()
	for _, capacityType := range []string{karpv1.CapacityTypeSpot, karpv1.CapacityTypeOnDemand} {
		launch := p.launchTags(t, capacityType, tags)
		for _, action := range []string{"CreateFleet", "RunInstances"} {
			for _, kind := range untagged {
				add(action, p.request("ec2:"+action, p.arn("ec2", kind+"/x")))
			}
			add(action, having(p.request("ec2:"+action, template), tags))
			for kind, sent := range launch {
				if kind != ec2types.ResourceTypeLaunchTemplate {
					add(action, sending(p.request("ec2:"+action, p.arn("ec2", string(kind)+"/x")), sent))
				}
			}
		}
		add("CreateLaunchTemplate", sending(p.request("ec2:CreateLaunchTemplate", template),
			launch[ec2types.ResourceTypeLaunchTemplate]))
		for kind, sent := range launch {
			by := "CreateFleet"
			if kind == ec2types.ResourceTypeLaunchTemplate {
				by = "CreateLaunchTemplate"
			}
			add("CreateTags", sending(p.request("ec2:CreateTags", p.arn("ec2", string(kind)+"/x"), "ec2:CreateAction",
				by), sent))
		}
	}
}

// shared are the calls that are the same for every cluster of the place: they only read.
func (p place) shared() map[string][]iameval.Request {
	out := map[string][]iameval.Request{
		"ListInstanceProfiles": {p.request("iam:ListInstanceProfiles", p.arn("iam", "instance-profile/karpenter/"))},
		// pricing is not in every region
		"GetProducts": {p.request("pricing:GetProducts", "*", "aws:RequestedRegion", "us-east-1")},
		"GetParameter": {p.request("ssm:GetParameter",
			p.arn("ssm",
				"parameter/aws/service/eks/optimized-ami/1.36/amazon-linux-2023/x86_64/nvidia/v20260911/image_id"))},
	}
	for name := range methods(reflect.TypeFor[sdk.EC2API]()) {
		if strings.HasPrefix(name, "Describe") {
			out[name] = []iameval.Request{p.request("ec2:"+name, "*")}
		}
	}
	return out
}

// foreign are the calls for a cluster that only its own controller may make.
func (p place) foreign(t *testing.T, n names) (out []iameval.Request) {
	t.Helper()
	for name, requests := range p.calls(t, n) {
		for _, r := range requests {
			ofKind := func(kind string) bool { return strings.Contains(r.Resource, ":"+kind+"/") }
			if name != "GetInstanceProfile" && !slices.ContainsFunc(untagged, ofKind) {
				out = append(out, r)
			}
		}
	}
	return out
}

// launchTags are the tags that each resource is made with, by Karpenter's own builders of requests.
func (p place) launchTags(t *testing.T, capacityType string,
	tags map[string]string) map[ec2types.ResourceType]map[string]string {
	t.Helper()
	out := map[ec2types.ResourceType]map[string]string{}
	put := func(kind ec2types.ResourceType, list []ec2types.Tag) {
		out[kind] = map[string]string{}
		for _, tag := range list {
			out[kind][*tag.Key] = *tag.Value
		}
	}
	for _, s := range instance.NewCreateFleetInputBuilder(capacityType, tags, nil).Build().TagSpecifications {
		put(s.ResourceType, s.Tags)
	}
	template := launchtemplate.NewCreateLaunchTemplateInputBuilder(&amifamily.LaunchTemplate{
		Options: &amifamily.Options{Tags: tags}, MetadataOptions: &awsv1.MetadataOptions{}, CapacityType: capacityType,
	}, corev1.IPv4Protocol, "").WithLaunchModeProvider(openLaunch{}).Build(context.Background())
	for _, s := range template.TagSpecifications {
		put(s.ResourceType, s.Tags)
	}
	for _, s := range template.LaunchTemplateData.TagSpecifications {
		put(s.ResourceType, s.Tags)
	}
	return out
}

type openLaunch struct{}

func (openLaunch) LaunchMode(context.Context) launchtemplate.LaunchMode {
	return launchtemplate.LaunchModeOpen
}

func methods(api reflect.Type) map[string]bool {
	out := map[string]bool{}
	for i := range api.NumMethod() {
		out[api.Method(i).Name] = true
	}
	return out
}

func decide(t *testing.T, documents []iampolicy.Document, requests []iameval.Request, want bool) {
	t.Helper()
	for _, r := range requests {
		if got, err := iameval.Allowed(documents, r); err != nil || got != want {
			t.Errorf("%s on %s: allowed %v (%v), want %v; context %v", r.Action, r.Resource, got, err, want, r.Context)
		}
	}
}

func TestEveryCallOfKarpenterIsAllowed(t *testing.T) {
	for _, p := range places {
		t.Run(p.partition, func(t *testing.T) {
			calls := p.calls(t, p.names("gpu-west"))
			maps.Copy(calls, p.shared())
			for _, name := range slices.Sorted(maps.Keys(calls)) {
				decide(t, p.documents(t, p.names("gpu-west")), calls[name], true)
			}
		})
	}
}

func TestEveryCallForAnotherClusterIsDenied(t *testing.T) {
	// The other name begins with ours: a scope by prefix would let it through. What carries no tag of a cluster is left
	// out, and so is reading instance profiles.
	for _, p := range places {
		t.Run(p.partition, func(t *testing.T) {
			decide(t, p.documents(t, p.names("gpu-west")), p.foreign(t, p.names("gpu-west-2")), false)
		})
	}
}

// The list of calls is Karpenter's own: one that a later version adds fails here until it is looked at.
func TestNoCallOfKarpentersClientsIsForgotten(t *testing.T) {
	p := places[0]
	calls := p.calls(t, p.names("gpu-west"))
	maps.Copy(calls, p.shared())
	notOnThePath := map[string]string{
		"GetRole": "only its tests' fake answers it", "SendMessage": "only its own load tests send",
	}
	for _, api := range []reflect.Type{
		reflect.TypeFor[sdk.EC2API](), reflect.TypeFor[sdk.IAMAPI](), reflect.TypeFor[sdk.EKSAPI](),
		reflect.TypeFor[sdk.PricingAPI](),
		reflect.TypeFor[sdk.SSMAPI](), reflect.TypeFor[sdk.SQSAPI](), reflect.TypeFor[sdk.ARCZonalShiftAPI](),
	} {
		for name := range methods(api) {
			if len(calls[name]) == 0 && notOnThePath[name] == "" {
				t.Errorf("%s of %s is not among the calls that are held against the policies", name, api.Name())
			}
		}
	}
}

func TestWhatKarpenterHasNoBusinessWithIsDenied(t *testing.T) {
	p := places[0]
	documents := p.documents(t, p.names("gpu-west"))
	for name, r := range p.forbidden() {
		t.Run(name, func(t *testing.T) { decide(t, documents, []iameval.Request{r}, false) })
	}
}

// forbidden are requests that the controller of cluster gpu-west must not be able to make.
func (p place) forbidden() map[string]iameval.Request {
	owned := map[string]string{"kubernetes.io/cluster/gpu-west": "owned", "eks:eks-cluster-name": "gpu-west"}
	pool := maps.Clone(owned)
	pool[karpv1.NodePoolLabelKey] = "gpu-l4"
	profile := maps.Clone(owned)
	profile["topology.kubernetes.io/region"], profile["karpenter.k8s.aws/ec2nodeclass"] = "us-east-1", "gpu-l4"
	forged := maps.Clone(pool)
	forged["eks:eks-cluster-name"], forged["karpenter.k8s.aws/ec2nodeclass"],
		forged["topology.kubernetes.io/region"] = "other", "gpu-l4", p.region
	instanceArn := p.arn("ec2", "instance/i-1")
	role := p.arn("iam", "role/gpu-west-node")
	elsewhere := place{p.partition, "us-east-1", p.account, p.dnsSuffix}

	return map[string]iameval.Request{
		"a node of a managed group": having(p.request("ec2:TerminateInstances", instanceArn), owned),
		"an instance without tags":  p.request("ec2:TerminateInstances", instanceArn),
		"a launch without tags":     p.request("ec2:RunInstances", instanceArn),
		"a launch from another's template": having(p.request("ec2:RunInstances",
			p.arn("ec2", "launch-template/lt-9")), owned),
		"a launch in another region": sending(elsewhere.request("ec2:RunInstances",
			elsewhere.arn("ec2", "instance/i-1")), pool),
		"a launch in another cluster's name": sending(p.request("ec2:RunInstances", instanceArn), forged),
		"tags in another cluster's name": sending(p.request("ec2:CreateTags", instanceArn, "ec2:CreateAction",
			"RunInstances"), forged),
		"a profile in another cluster's name": sending(p.request("iam:CreateInstanceProfile",
			p.arn("iam", "instance-profile/x")), forged),
		"a launch for no pool": sending(p.request("ec2:RunInstances", instanceArn), owned),
		"tags by another action": sending(p.request("ec2:CreateTags", instanceArn, "ec2:CreateAction",
			"CreateVolume"), pool),
		"tags of its own choice later": sending(having(p.request("ec2:CreateTags", instanceArn), pool),
			map[string]string{"owner": "me"}),
		"taking over another's instance": sending(p.request("ec2:CreateTags", instanceArn), pool),
		"renaming the cluster of an instance": sending(having(p.request("ec2:CreateTags", instanceArn), pool),
			map[string]string{"eks:eks-cluster-name": "other"}),
		"passing another role": p.request("iam:PassRole", p.arn("iam", "role/admin"),
			"iam:PassedToService", "ec2.amazonaws.com"),
		"passing the role to another service": p.request("iam:PassRole", role, "iam:PassedToService",
			"lambda.amazonaws.com"),
		"a profile of another region": having(p.request("iam:DeleteInstanceProfile",
			p.arn("iam", "instance-profile/x")), profile),
		"a role into a profile without tags": p.request("iam:AddRoleToInstanceProfile",
			p.arn("iam", "instance-profile/admin")),
		"making a profile for another region": sending(p.request("iam:CreateInstanceProfile",
			p.arn("iam", "instance-profile/x")), profile),
		"reading in another region": elsewhere.request("ec2:DescribeInstances", "*"),
		"reading the account's own parameters": p.request("ssm:GetParameter",
			"arn:aws:ssm:us-west-2:123456789012:parameter/secrets/db"),
		"sending to the queue": p.request("sqs:SendMessage", p.arn("sqs", "gpu-west-queue")),
		"emptying the queue":   p.request("sqs:PurgeQueue", p.arn("sqs", "gpu-west-queue")),
		"another queue":        p.request("sqs:ReceiveMessage", p.arn("sqs", "gpu-west-queue-2")),
		"making roles":         p.request("iam:CreateRole", p.arn("iam", "role/x")),
		"the Spot role, field fault BR-41": p.request("iam:CreateServiceLinkedRole",
			p.arn("iam", "role/aws-service-role/spot.amazonaws.com/"+karpenter.SpotRoleName)),
		"stopping instances":   having(p.request("ec2:StopInstances", instanceArn), pool),
		"changing the cluster": p.request("eks:UpdateClusterConfig", p.arn("eks", "cluster/gpu-west")),
	}
}

// Field fault BR-30.
func TestNoQueueNoPermission(t *testing.T) {
	p := places[0]
	planned, err := karpenter.Policies(chartVersion, karpenter.Facts{
		Partition:   p.partition,
		Region:      p.region,
		AccountID:   p.account,
		Cluster:     "gpu-west",
		NodeRoleArn: p.arn("iam", "role/n"),
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, action := range []string{"GetQueueUrl", "ReceiveMessage", "DeleteMessage"} {
		decide(t, slices.Collect(maps.Values(planned)),
			[]iameval.Request{p.request("sqs:"+action, p.arn("sqs", "gpu-west-queue"))}, false)
	}
}

// The profile's tags go through the same form as Karpenter sends them.
func TestTagsOfProfilesAreWithinIAMsLimit(t *testing.T) {
	var class awsv1.EC2NodeClass
	strict(t, classes()["everything set"], &class)
	tags := class.InstanceProfileTags(strings.Repeat("c", 100), "us-gov-west-1")
	var sent []iamtypes.Tag = utils.IAMMergeTags(tags)
	if len(sent) > 50 {
		t.Errorf("%d tags, IAM takes 50", len(sent))
	}
	for _, tag := range sent {
		if len(*tag.Key) > 128 || len(*tag.Value) > 256 {
			t.Errorf("tag %s=%s is too long", *tag.Key, *tag.Value)
		}
	}
}
