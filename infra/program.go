// Package infra is this stack: it turns the configuration into components, watches what they became, and publishes the
// capacity contract.
//
// It owns the way of a pool: config -> ask -> plan -> build and publish, each a package of its own. It owns no decision
// and no arithmetic, and knows nothing of the sandbox.
package infra

import (
	"fmt"
	"net"
	"time"

	"github.com/headroom-eks/headroom/infra/ask"
	"github.com/headroom-eks/headroom/infra/build"
	"github.com/headroom-eks/headroom/infra/config"
	"github.com/headroom-eks/headroom/infra/plan"
	"github.com/headroom-eks/headroom/infra/publish"
	"github.com/pulumi/pulumi-aws/sdk/v6/go/aws"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
	pulumiconfig "github.com/pulumi/pulumi/sdk/v3/go/pulumi/config"
)

// Options are what the program takes from the world around it; the zero value is the real one.
type Options struct {
	// Now is the clock of the capacity document.
	Now func() time.Time
	// Dial opens a connection to the Kubernetes API.
	Dial build.Dial
}

// Program is the stack as a Pulumi program.
func Program(o Options) pulumi.RunFunc {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Dial == nil {
		o.Dial = net.DialTimeout
	}
	return func(ctx *pulumi.Context) error {
		env, err := load(ctx)
		if err != nil {
			return err
		}
		provider, err := aws.NewProvider(ctx, "aws", providerArgs(ctx))
		if err != nil {
			return fmt.Errorf("configure aws: %w", err)
		}
		answers, err := ask.AWS(ctx, env, pulumi.Provider(provider))
		if err != nil {
			return err
		}
		decided := plan.Decide(env, answers)
		for _, warning := range decided.Warnings {
			if err := ctx.Log.Warn(warning, nil); err != nil {
				return err
			}
		}
		if err := decided.Problems.Err(); err != nil {
			return fmt.Errorf("AWS cannot give what is configured: %w", err)
		}
		made, err := build.Environment(ctx, decided, provider, o.Dial)
		if err != nil {
			return err
		}
		return publish.Outputs(ctx, decided, made, o.Now)
	}
}

// providerArgs of the one explicit provider: it takes no setting from the stack file by itself.
func providerArgs(ctx *pulumi.Context) *aws.ProviderArgs {
	args := &aws.ProviderArgs{Region: pulumi.StringPtr(pulumiconfig.Get(ctx, "aws:region"))}
	if profile := pulumiconfig.Get(ctx, "aws:profile"); profile != "" {
		args.Profile = pulumi.StringPtr(profile)
	}
	return args
}

// otherProviderKeys are settings of the aws provider that this program would ignore; one of them set means a protection
// that is not there.
var otherProviderKeys = []string{
	"accessKey", "allowedAccountIds", "assumeRole", "assumeRoles", "assumeRoleWithWebIdentity", "defaultTags",
	"endpoints", "forbiddenAccountIds",
	"ignoreTags", "secretKey", "sharedConfigFiles", "sharedCredentialsFiles", "token",
}

// load reads the configuration and reports everything that is wrong with it at once.
func load(ctx *pulumi.Context) (config.Environment, error) {
	text, err := pulumiconfig.Try(ctx, "headroom:environment")
	if err != nil {
		return config.Environment{}, fmt.Errorf("the stack's configuration has no headroom:environment: start from a "+
			"copy of Pulumi.dev.yaml (%w)", err)
	}
	env, problems := config.Decode(text)
	if err := problems.Err(); err != nil {
		return env, fmt.Errorf("headroom:environment has %w", err)
	}
	env = env.WithDefaults(ctx.Stack())
	problems = plan.Check(env)
	if pulumiconfig.Get(ctx, "aws:region") == "" {
		problems.Add("aws:region", "is not set", nil, "set it, for example: pulumi config set aws:region us-west-2")
	}
	for _, key := range otherProviderKeys {
		if pulumiconfig.Get(ctx, "aws:"+key) != "" {
			problems.Add("aws:"+key, "is set, and this program reads aws:region and aws:profile alone", nil,
				"remove it, or put it into the profile or the environment of the command")
		}
	}
	if err := problems.Err(); err != nil {
		return env, fmt.Errorf("headroom:environment has %w", err)
	}
	return env, nil
}
