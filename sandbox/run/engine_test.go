package run

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pulumi/pulumi-aws/sdk/v6/go/aws"
	"github.com/pulumi/pulumi-aws/sdk/v6/go/aws/ec2"
	"github.com/pulumi/pulumi-eks/sdk/v3/go/eks"
	"github.com/pulumi/pulumi-kubernetes/sdk/v4/go/kubernetes"
	"github.com/pulumi/pulumi-kubernetes/sdk/v4/go/kubernetes/apiextensions"
	corev1 "github.com/pulumi/pulumi-kubernetes/sdk/v4/go/kubernetes/core/v1"
	helm "github.com/pulumi/pulumi-kubernetes/sdk/v4/go/kubernetes/helm/v4"
	metav1 "github.com/pulumi/pulumi-kubernetes/sdk/v4/go/kubernetes/meta/v1"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi/config"

	sandboxkubernetes "github.com/headroom-eks/headroom/sandbox/kubernetes"
	"github.com/headroom-eks/headroom/sandbox/world"
)

// sharedTools are found or built once; the first build of the CLI takes minutes and says how far it is.
var sharedTools Tools

func TestMain(m *testing.M) {
	root, err := ModuleRoot(".")
	if err == nil {
		sharedTools, err = FindTools(context.Background(), root, os.Stderr)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "the engine tests cannot run:", err)
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// projectFolder writes a small project and returns its folder.
func projectFolder(t *testing.T, stack string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"Pulumi.yaml":     "name: tiny\nruntime:\n  name: go\n  options:\n    buildTarget: bin/tiny\n",
		"Pulumi.dev.yaml": stack,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func openSandbox(t *testing.T, dir string, p Program) *Sandbox {
	t.Helper()
	s, err := New(context.Background(), dir, Options{Program: p, Tools: sharedTools})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// must runs an operation and stops the test with the engine's screen when it fails.
func must(t *testing.T, operation func(context.Context) (Result, error)) Result {
	t.Helper()
	start := time.Now()
	r, err := operation(context.Background())
	if err != nil {
		t.Fatalf("%v\n%s", err, r.Screen)
	}
	t.Logf("%v in %s", r.Summary, time.Since(start).Round(10*time.Millisecond))
	return r
}

const region = "config:\n  aws:region: us-west-2\n"

// tiny makes a network and a cluster by pulumi-eks, with a transform on the cluster inside it, and what Karpenter needs
// in the cluster.
func tiny(ctx *pulumi.Context) error {
	provider, err := aws.NewProvider(ctx, "aws",
		&aws.ProviderArgs{Region: pulumi.String(config.Get(ctx, "aws:region"))})
	if err != nil {
		return err
	}
	vpc, subnets, err := tinyNetwork(ctx, provider)
	if err != nil {
		return err
	}
	cluster, err := tinyCluster(ctx, provider, vpc, subnets)
	if err != nil {
		return err
	}
	k8s, err := kubernetes.NewProvider(ctx, "k8s", &kubernetes.ProviderArgs{Kubeconfig: cluster.KubeconfigJson})
	if err != nil {
		return err
	}
	namespace, err := corev1.NewNamespace(ctx, "system", &corev1.NamespaceArgs{
		Metadata: metav1.ObjectMetaArgs{Name: pulumi.String("inference")},
	}, pulumi.Provider(k8s))
	if err != nil {
		return err
	}
	controller, err := tinyKarpenter(ctx, k8s, cluster)
	if err != nil {
		return err
	}
	if err := tinyPool(ctx, k8s, controller); err != nil {
		return err
	}
	ctx.Export("clusterName", cluster.EksCluster.Name())
	ctx.Export("endpoint", cluster.Core.Endpoint())
	ctx.Export("issuer", cluster.OidcIssuer)
	ctx.Export("token", pulumi.ToSecret(pulumi.String("s3cret")))
	ctx.Export("namespace", namespace.Metadata.Name())
	return nil
}

func tinyNetwork(ctx *pulumi.Context, provider *aws.Provider) (*ec2.Vpc, pulumi.StringArray, error) {
	vpc, err := ec2.NewVpc(ctx, "net", &ec2.VpcArgs{CidrBlock: pulumi.String("10.0.0.0/16")}, pulumi.Provider(provider))
	if err != nil {
		return nil, nil, err
	}
	var subnets pulumi.StringArray
	for i, zone := range []string{"us-west-2a", "us-west-2b"} {
		subnet, err := ec2.NewSubnet(ctx, "net-"+zone, &ec2.SubnetArgs{
			VpcId:            vpc.ID(),
			AvailabilityZone: pulumi.String(zone),
			CidrBlock:        pulumi.Sprintf("10.0.%d.0/24", i),
			Tags:             pulumi.StringMap{"karpenter.sh/discovery": pulumi.String("tiny")},
		}, pulumi.Provider(provider))
		if err != nil {
			return nil, nil, err
		}
		subnets = append(subnets, subnet.ID())
	}
	return vpc, subnets, nil
}

func tinyCluster(ctx *pulumi.Context, provider *aws.Provider, vpc *ec2.Vpc, subnets pulumi.StringArray) (*eks.Cluster,
	error) {
	mode := eks.AuthenticationModeApi
	return eks.NewCluster(ctx, "cluster", &eks.ClusterArgs{
		Name:                      pulumi.String("tiny"),
		Version:                   pulumi.String("1.36"),
		AuthenticationMode:        &mode,
		VpcId:                     vpc.ID(),
		PrivateSubnetIds:          subnets,
		SkipDefaultNodeGroup:      pulumi.BoolRef(true),
		SkipDefaultSecurityGroups: pulumi.BoolRef(true),
		CreateOidcProvider:        pulumi.Bool(false),
		CreateInstanceRole:        pulumi.BoolRef(false),
		EndpointPrivateAccess:     pulumi.Bool(true),
		EndpointPublicAccess:      pulumi.Bool(false),
		KubeProxyAddonOptions:     &eks.KubeProxyAddonOptionsArgs{Version: pulumi.String("v1.36.0-eksbuild.9")},
		VpcCniOptions: &eks.VpcCniOptionsArgs{
			AddonVersion: pulumi.String("v1.22.3-eksbuild.1"),
			LogLevel:     pulumi.String("INFO"),
		},
		Tags: pulumi.StringMap{"env": pulumi.String("dev")},
		AccessEntries: map[string]eks.AccessEntryArgs{"admin": {
			PrincipalArn: pulumi.String("arn:aws:iam::123456789012:role/admin"),
		}},
	}, pulumi.Providers(provider), pulumi.Transforms([]pulumi.ResourceTransform{
		func(_ context.Context, a *pulumi.ResourceTransformArgs) *pulumi.ResourceTransformResult {
			if a.Type != "aws:eks/cluster:Cluster" {
				return nil
			}
			a.Props["upgradePolicy"] = pulumi.Map{"supportType": pulumi.String("STANDARD")}
			return &pulumi.ResourceTransformResult{Props: a.Props, Opts: a.Opts}
		},
	}))
}

func tinyKarpenter(ctx *pulumi.Context, k8s *kubernetes.Provider, cluster *eks.Cluster) (*helm.Chart, error) {
	crds, err := helm.NewChart(ctx, "karpenter-crd", &helm.ChartArgs{
		Chart:     pulumi.String("oci://public.ecr.aws/karpenter/karpenter-crd"),
		Version:   pulumi.String("1.15.0"),
		Namespace: pulumi.String("kube-system"),
	}, pulumi.Providers(k8s))
	if err != nil {
		return nil, err
	}
	return helm.NewChart(ctx, "karpenter", &helm.ChartArgs{
		Chart:     pulumi.String("oci://public.ecr.aws/karpenter/karpenter"),
		Version:   pulumi.String("1.15.0"),
		Namespace: pulumi.String("kube-system"),
		SkipCrds:  pulumi.Bool(true),
		Values:    pulumi.Map{"settings": pulumi.Map{"clusterName": cluster.EksCluster.Name()}},
	}, pulumi.Providers(k8s), pulumi.DependsOn([]pulumi.Resource{crds}))
}

func tinyPool(ctx *pulumi.Context, k8s *kubernetes.Provider, controller pulumi.Resource) error {
	class, err := apiextensions.NewCustomResource(ctx, "class", &apiextensions.CustomResourceArgs{
		ApiVersion: pulumi.String("karpenter.k8s.aws/v1"),
		Kind:       pulumi.String("EC2NodeClass"),
		Metadata:   metav1.ObjectMetaArgs{Name: pulumi.String("gpu")},
		OtherFields: kubernetes.UntypedArgs{"spec": pulumi.Map{
			"subnetSelectorTerms": pulumi.Array{
				pulumi.Map{"tags": pulumi.StringMap{"karpenter.sh/discovery": pulumi.String("tiny")}},
			},
			"tags": pulumi.StringMap{"headroom/pool": pulumi.String("gpu")},
		}},
	}, pulumi.Provider(k8s), pulumi.DependsOn([]pulumi.Resource{controller}))
	if err != nil {
		return err
	}
	_, err = apiextensions.NewCustomResource(ctx, "pool", &apiextensions.CustomResourceArgs{
		ApiVersion: pulumi.String("karpenter.sh/v1"),
		Kind:       pulumi.String("NodePool"),
		Metadata: metav1.ObjectMetaArgs{Name: pulumi.String("gpu"), Annotations: pulumi.StringMap{
			"pulumi.com/deletionPropagationPolicy": pulumi.String("foreground"),
		}},
		OtherFields: kubernetes.UntypedArgs{"spec": pulumi.Map{"template": pulumi.Map{"spec": pulumi.Map{
			"nodeClassRef": pulumi.StringMap{
				"group": pulumi.String("karpenter.k8s.aws"),
				"kind":  pulumi.String("EC2NodeClass"),
				"name":  pulumi.String("gpu"),
			},
			"requirements": pulumi.Array{pulumi.Map{
				"key":      pulumi.String("node.kubernetes.io/instance-type"),
				"operator": pulumi.String("In"),
				"values":   pulumi.StringArray{pulumi.String("g6.xlarge")},
			}},
		}}}},
	}, pulumi.Provider(k8s), pulumi.DependsOn([]pulumi.Resource{class}))
	return err
}

// withChart adds a network that does not exist yet and a chart that takes its id.
func withChart(ctx *pulumi.Context, base Program) error {
	if err := base(ctx); err != nil {
		return err
	}
	vpc, err := ec2.NewVpc(ctx, "other", &ec2.VpcArgs{CidrBlock: pulumi.String("10.1.0.0/16")})
	if err != nil {
		return err
	}
	// Its cluster is never asked: nothing is made in a preview.
	k8s, err := kubernetes.NewProvider(ctx, "late-k8s",
		&kubernetes.ProviderArgs{Kubeconfig: pulumi.String(anyKubeconfig)})
	if err != nil {
		return err
	}
	_, err = helm.NewChart(ctx, "late", &helm.ChartArgs{
		Chart:     pulumi.String("oci://example.com/late"),
		Version:   pulumi.String("1.0.0"),
		Namespace: pulumi.String("kube-system"),
		Values:    pulumi.Map{"vpc": vpc.ID()},
	}, pulumi.Providers(k8s))
	return err
}

const anyKubeconfig = `{"current-context":"a","contexts":[{"name":"a","context":{"cluster":"c"}}],` +
	`"clusters":[{"name":"c","cluster":{"server":"https://x"}}]}`

func TestLifeOfAClusterOnTheRealEngine(t *testing.T) {
	t.Parallel()
	s := openSandbox(t, projectFolder(t, region), tiny)

	preview := must(t, s.Preview)
	if preview.Outputs["endpoint"] != Unknown {
		t.Errorf("a preview knows the endpoint of a cluster that does not exist: %v", preview.Outputs["endpoint"])
	}
	if w := preview.Messages("warning"); w != "" {
		t.Errorf("a preview warns:\n%s", w)
	}

	up := must(t, s.Up)
	if got := up.Outputs["clusterName"]; got != "tiny" {
		t.Errorf("clusterName is %v", got)
	}
	if issuer, _ := up.Outputs["issuer"].(string); issuer == "" || strings.HasPrefix(issuer, "https://") {
		t.Errorf("oidcIssuer is %q, want it without its scheme", issuer)
	}
	if w := up.Messages("warning"); w != "" {
		t.Errorf("an update warns:\n%s", w)
	}
	inner := up.Named("cluster-eksCluster")
	if len(inner) != 1 || inner[0].Inputs["upgradePolicy"] == nil {
		t.Errorf("the transform did not reach the cluster inside the component: %+v", inner)
	}
	if pool := up.Named("pool"); len(pool) != 1 || pool[0].Op != "create" {
		t.Errorf("steps of the pool: %+v", pool)
	}

	if again := must(t, s.Up); again.Changed() {
		t.Errorf("a second update changes %v", again.Ops())
	}
	if refreshed := must(t, s.Refresh); refreshed.Changed() {
		t.Errorf("a refresh finds changes that nobody made: %v", refreshed.Ops())
	}

	chartWithUnknownValueIsHidden(t, s)
	if err := s.World().Update(func(state *world.State) error {
		_, err := sandboxkubernetes.ScaleNodePool(state, "tiny", "gpu", 2)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	down := must(t, s.Down)
	var left []string
	_ = s.World().View(func(state *world.State) error { left = state.Leftovers(); return nil })
	if len(left) != 0 {
		t.Errorf("left in the account: %v", left)
	}
	order := func(name string) int {
		return slices.IndexFunc(down.Steps, func(d Step) bool { return d.Name == name && d.Op == "delete" })
	}
	if !(order("pool") < order("class") && order("class") < order("karpenter:kube-system/karpenter") &&
		order("karpenter:kube-system/karpenter") < order("cluster-eksCluster")) {
		t.Errorf("order of deletion: %v", down.Ops())
	}
}

// chartWithUnknownValueIsHidden: a chart whose values are not known yet shows none of its objects, and says so.
func chartWithUnknownValueIsHidden(t *testing.T, s *Sandbox) {
	t.Helper()
	if err := s.Use(context.Background(), func(ctx *pulumi.Context) error { return withChart(ctx, tiny) }); err != nil {
		t.Fatal(err)
	}
	planned := must(t, s.Preview)
	if len(planned.Named("late")) != 1 || len(planned.Named("late:kube-system/late")) != 0 ||
		!strings.Contains(planned.Messages("info"), "Can't preview") {
		t.Errorf("preview of a chart with an unknown value: %v\n%s", planned.Ops(), planned.Messages(""))
	}
}

func TestFailureSaysWhatWentWrongAndKeepsWhatWasMade(t *testing.T) {
	t.Parallel()
	vpc := func(cidr string) Program {
		return func(ctx *pulumi.Context) error {
			v, err := ec2.NewVpc(ctx, "net", &ec2.VpcArgs{CidrBlock: pulumi.String("10.0.0.0/16")})
			if err != nil {
				return err
			}
			_, err = ec2.NewSubnet(ctx, "sub", &ec2.SubnetArgs{
				VpcId:            v.ID(),
				CidrBlock:        pulumi.String(cidr),
				AvailabilityZone: pulumi.String("us-west-2a"),
			})
			return err
		}
	}
	s := openSandbox(t, projectFolder(t, region), vpc("192.168.0.0/24"))
	r, err := s.Up(context.Background())
	if err == nil {
		t.Fatalf("a subnet outside its network was made:\n%s", r.Screen)
	}
	if text := err.Error(); !strings.Contains(text, "192.168.0.0/24") || len(text) > 2000 {
		t.Errorf("the error does not say what is wrong, or says too much:\n%s", text)
	}
	if err := s.Use(context.Background(), vpc("10.0.1.0/24")); err != nil {
		t.Fatal(err)
	}
	if fixed := must(t, s.Up); len(fixed.Named("net")) != 0 || len(fixed.Named("sub")) != 1 {
		t.Errorf("the corrected update does %v", fixed.Ops())
	}
	must(t, s.Down)
}

func TestSecretsStaySecretThroughTheProviders(t *testing.T) {
	t.Parallel()
	s := openSandbox(t, projectFolder(t, region), func(ctx *pulumi.Context) error {
		v, err := ec2.NewVpc(ctx, "net", &ec2.VpcArgs{CidrBlock: pulumi.String("10.0.0.0/16")})
		if err != nil {
			return err
		}
		g, err := ec2.NewSecurityGroup(ctx, "group", &ec2.SecurityGroupArgs{
			VpcId:       v.ID(),
			Description: pulumi.ToSecret(pulumi.String("s3cret")).(pulumi.StringOutput),
		})
		if err == nil {
			ctx.Export("word", g.Description)
		}
		return err
	})
	must(t, s.Up)
	outputs, err := s.stack.Outputs(context.Background())
	if err != nil || !outputs["word"].Secret || outputs["word"].Value != "s3cret" {
		t.Errorf("the output is %+v, %v", outputs["word"], err)
	}
	state, err := os.ReadFile(filepath.Join(s.Home(), "state", ".pulumi", "stacks", "tiny", "dev.json"))
	if err != nil || strings.Contains(string(state), "s3cret") {
		t.Errorf("the state holds the secret in plain text (%v)", err)
	}
}
