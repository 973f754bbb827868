// Package infra is this stack: it turns the configuration into components, watches what they became, and publishes the
// capacity contract.
//
// It owns the order (configuration -> questions to AWS -> components -> observation -> outputs) and what ties
// components together. It does not own any decision inside a component, nor the arithmetic of capacity. It knows
// nothing of the sandbox.
package infra

import (
	"fmt"
	"net"
	"time"

	"github.com/headroom-eks/headroom/infra/config"
	"github.com/pulumi/pulumi-aws/sdk/v6/go/aws"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
	pulumiconfig "github.com/pulumi/pulumi/sdk/v3/go/pulumi/config"
)

// Options are what the program takes from the world around it; the zero value is the real one.
type Options struct {
	// Now is the clock of the capacity document.
	Now func() time.Time
	// Dial opens a connection to the Kubernetes API, to see that it can be reached before anything waits on it.
	Dial func(network, address string, timeout time.Duration) (net.Conn, error)
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
		for _, warning := range env.Warnings() {
			if err := ctx.Log.Warn(warning, nil); err != nil {
				return err
			}
		}
		provider, err := aws.NewProvider(ctx, "aws", providerArgs(ctx))
		if err != nil {
			return fmt.Errorf("configure aws: %w", err)
		}
		f, err := ask(ctx, env, pulumi.Provider(provider))
		if err != nil {
			return err
		}
		for _, unknown := range f.Unknown {
			if err := ctx.Log.Warn("not known, so no more is promised than is certain: "+unknown, nil); err != nil {
				return err
			}
		}
		for _, warning := range []string{lockedOut(env, f), fragmentable(env, f), replaced(env, f)} {
			if warning == "" {
				continue
			}
			if err := ctx.Log.Warn(warning, nil); err != nil {
				return err
			}
		}
		problems := judge(env, f)
		if err := problems.Err(); err != nil {
			return fmt.Errorf("AWS cannot give what is configured: %w", err)
		}
		stack := &stack{ctx: ctx, env: env, facts: f, options: o, aws: provider, groups: map[string][]string{}}
		if err := stack.build(); err != nil {
			return err
		}
		return stack.outputs()
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
	problems = validate(env)
	if pulumiconfig.Get(ctx, "aws:region") == "" {
		problems.Addf("aws:region", "is not set; set it, for example: pulumi config set aws:region us-west-2")
	}
	for _, key := range otherProviderKeys {
		if pulumiconfig.Get(ctx, "aws:"+key) != "" {
			problems.Addf("aws:"+key, "is set, and this program reads aws:region and aws:profile alone; remove it, or "+
				"put it into the profile or the environment of the command")
		}
	}
	if err := problems.Err(); err != nil {
		return env, fmt.Errorf("headroom:environment has %w", err)
	}
	return env, nil
}
