package rules

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/headroom-eks/headroom/policy/view"
)

// awsSDK is the folder of the AWS provider's SDK in the module cache. The rules import no SDK of a provider, so nothing
// but these tests ties their words to it. Field fault BR-95.
func awsSDK(t *testing.T) string {
	t.Helper()
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/pulumi/pulumi-aws/sdk/v6").Output()
	if err != nil {
		t.Fatal(err)
	}
	root := filepath.Join(strings.TrimSpace(string(out)), "go", "aws")
	if _, err := os.Stat(root); err != nil {
		t.Fatalf("the module cache has no SDK source: %v", err)
	}
	return root
}

func TestTypeTokensAreTheSDKs(t *testing.T) {
	root := awsSDK(t)
	checked := map[string]bool{}
	for _, rule := range All {
		for _, typ := range rule.Types {
			module, isAWS := strings.CutPrefix(typ, "aws:")
			if !isAWS || module == "" || checked[typ] {
				continue
			}
			checked[typ] = true
			file, _, _ := strings.Cut(module, ":")
			source, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(file)+".go"))
			if err != nil || !strings.Contains(string(source), `ctx.RegisterResource("`+typ+`"`) {
				t.Errorf("%s: the SDK registers no type %s (%v)", rule.Name, typ, err)
			}
		}
	}
	if len(checked) < 20 {
		t.Errorf("only %d types checked", len(checked))
	}
}

func TestPropertiesThatRulesReadAreTheSDKs(t *testing.T) {
	root := awsSDK(t)
	for typ, properties := range propertiesRead {
		pkg, _, _ := strings.Cut(strings.TrimPrefix(typ, "aws:"), "/")
		sources, err := filepath.Glob(filepath.Join(root, pkg, "*.go"))
		if err != nil {
			t.Fatal(err)
		}
		var all bytes.Buffer
		for _, source := range sources {
			text, err := os.ReadFile(source)
			if err != nil {
				t.Fatal(err)
			}
			all.Write(text)
		}
		for _, property := range properties {
			if !bytes.Contains(all.Bytes(), []byte(`pulumi:"`+property+`"`)) {
				t.Errorf("%s: the SDK has no property %s", typ, property)
			}
		}
	}
}

// propertiesRead are the property names that rules look for, nested ones included. The golden graph uses the same.
var propertiesRead = map[string][]string{
	view.TypeCluster: {"name", "version", "enabledClusterLogTypes", "encryptionConfig", "provider", "keyArn",
		"resources",
		"computeConfig", "enabled",
		"vpcConfig", "endpointPublicAccess", "publicAccessCidrs", "addonVersion", "tags"},
	view.TypeNodeGroup: {"labels", "taints", "key", "value", "effect", "instanceTypes", "scalingConfig", "minSize",
		"desiredSize", "maxSize",
		"launchTemplate", "releaseVersion", "amiType"},
	view.TypeLaunchTemplate: {"metadataOptions", "httpTokens", "httpPutResponseHopLimit", "blockDeviceMappings", "ebs",
		"encrypted", "tagSpecifications", "resourceType"},
	view.TypeRole:      {"assumeRolePolicy", "inlinePolicies", "policy"},
	view.TypeQueue:     {"sqsManagedSseEnabled", "kmsMasterKeyId", "queueUrl", "arn", "url"},
	view.TypeEventRule: {"eventPattern", "state", "rule", "arn"},
	view.TypeKey:       {"policy", "keyId"},
}
