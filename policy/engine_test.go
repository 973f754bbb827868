package main

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/headroom-eks/headroom/policy/graphtest"
	"github.com/headroom-eks/headroom/policy/view"
	"github.com/headroom-eks/headroom/sandbox/run"
	"github.com/pulumi/pulumi/sdk/v3/go/auto"
	"github.com/pulumi/pulumi/sdk/v3/go/auto/optpreview"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
)

type anyComponent struct{ pulumi.ResourceState }

// graphProgram registers the golden graph as components of the same types and properties: the engine shows them to the
// pack like any resource, and no provider is needed. Options that only custom resources have are not in it.
func graphProgram(records []graphtest.Record) pulumi.RunFunc {
	return func(ctx *pulumi.Context) error {
		for _, r := range records {
			if r.Type == view.TypeStack {
				for key, v := range r.Props {
					ctx.Export(key, pulumi.ToOutput(v))
				}
				continue
			}
			inputs := pulumi.Map{}
			for key, v := range r.Props {
				inputs[key] = pulumi.Any(v)
			}
			c := &anyComponent{}
			if err := ctx.RegisterComponentResourceV2(r.Type, r.Name, inputs, c, pulumi.Protect(r.Protect),
				pulumi.IgnoreChanges(r.IgnoreChanges)); err != nil {
				return err
			}
			if err := ctx.RegisterResourceOutputs(c, inputs); err != nil {
				return err
			}
		}
		return nil
	}
}

// withEngine points the process at the real CLI and engine, with a file backend of its own.
func withEngine(t *testing.T) {
	t.Helper()
	root, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	tools, err := run.FindTools(context.Background(), root, os.Stderr)
	if err != nil {
		t.Fatalf("the engine is needed and could not be had: %v", err)
	}
	for key, v := range map[string]string{
		"PATH":                     filepath.Dir(tools.CLI) + string(os.PathListSeparator) + os.Getenv("PATH"),
		"PULUMI_BACKEND_URL":       "file://" + filepath.ToSlash(t.TempDir()),
		"PULUMI_HOME":              t.TempDir(),
		"PULUMI_CONFIG_PASSPHRASE": "test",
		"PULUMI_SKIP_UPDATE_CHECK": "true",
	} {
		t.Setenv(key, v)
	}
}

// preview runs the records as a program, with the built pack and an environment's config; the text is what a person
// sees.
func preview(t *testing.T, binary string, records []graphtest.Record) (string, error) {
	t.Helper()
	config, err := filepath.Abs("config/staging.json")
	if err != nil {
		t.Fatal(err)
	}
	ctx := context.Background()
	stack, err := auto.UpsertStackInlineSource(ctx, "staging", "headroom", graphProgram(records))
	if err != nil {
		t.Fatal(err)
	}
	if err := stack.SetConfig(ctx, "aws:region", auto.ConfigValue{Value: "us-west-2"}); err != nil {
		t.Fatal(err)
	}
	result, err := stack.Preview(ctx, optpreview.PolicyPacks(binary), optpreview.PolicyPackConfigs(config))
	if err != nil {
		return err.Error(), err
	}
	return result.StdOut, nil
}

// What the sandbox's own test adds is the program.
func TestBuiltPackFailsAPreviewOfTheRealEngine(t *testing.T) {
	withEngine(t)
	binary := build(t)
	t.Run("the golden graph passes", func(t *testing.T) {
		if out, err := preview(t, binary, graphtest.Golden(t)); err != nil {
			t.Error(out)
		} else if !strings.Contains(out, pack.Name+"@") {
			t.Errorf("the pack is not named, so it may not have run:\n%s", out)
		}
	})
	t.Run("one moved alias, and one ceiling passed, end it with an error", func(t *testing.T) {
		records := graphtest.Golden(t)
		graphtest.Find(t, records, "gpu-l4-class").Set(t, "al2023@latest", "spec", "amiSelectorTerms", 0, "alias")
		graphtest.Find(t, records, "headroom-dev").Set(t, 2, "capacity", "pools", 0, "ceilings", 0, "nodes")
		out, err := preview(t, binary, records)
		if err == nil {
			t.Fatalf("the preview passed:\n%s", out)
		}
		for _, part := range []string{"[mandatory]  nodes-image-pinned", "[mandatory]  capacity-within-ceilings",
			"al2023@latest", "Remedy: "} {
			if !strings.Contains(out, part) {
				t.Errorf("no %q in:\n%s", part, out)
			}
		}
	})
}
