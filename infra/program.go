// Package infra is this stack: it turns the configuration into components, watches what they became, and publishes the
// capacity contract.
//
// It owns the way of a pool: config -> ask -> plan -> build and publish, each a package of its own. It owns no decision
// and no arithmetic, and knows nothing of the sandbox.
package infra

import (
	"fmt"
	"time"

	"github.com/headroom-eks/headroom/infra/ask"
	"github.com/headroom-eks/headroom/infra/build"
	"github.com/headroom-eks/headroom/infra/kubeapi"
	"github.com/headroom-eks/headroom/infra/plan"
	"github.com/headroom-eks/headroom/infra/provider"
	"github.com/headroom-eks/headroom/infra/publish"
	"github.com/pulumi/pulumi-aws/sdk/v6/go/aws"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
)

// Options are what the program takes from the world around it; the zero value is the real one.
type Options struct {
	// Now is the clock of the capacity document.
	Now func() time.Time
	// Dial opens a connection to the Kubernetes API; nil lets the system do it.
	Dial kubeapi.Dial
	// EnterFor bounds the wait for the Kubernetes API to let the caller in; 0 is five minutes.
	EnterFor time.Duration
}

// Program is the stack as a Pulumi program.
func Program(o Options) pulumi.RunFunc {
	if o.Now == nil {
		o.Now = time.Now
	}
	return func(ctx *pulumi.Context) error {
		env, settings, err := load(ctx)
		if err != nil {
			return err
		}
		if err := guardAccount(ctx, settings); err != nil {
			return err
		}
		asked, err := aws.NewProvider(ctx, "aws", settings.Args())
		if err != nil {
			return fmt.Errorf("configure aws: %w", err)
		}
		answers, err := ask.AWS(ctx, env, pulumi.Provider(asked))
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
		made, err := build.Environment(ctx, decided, build.Asks{
			AWS:      asked,
			Caller:   settings.Caller(),
			Dial:     o.Dial,
			EnterFor: o.EnterFor,
		})
		if err != nil {
			return err
		}
		return publish.Outputs(ctx, decided, made, o.Now)
	}
}

// guardAccount refuses the wrong account before anything is made, in words that name both. The provider that everything
// uses refuses it too, which holds for a destroy and a refresh as well, but names one account, and ends the update
// before the program can add the other. So where there is a guard, a provider without it is asked first.
func guardAccount(ctx *pulumi.Context, settings provider.Settings) error {
	if !settings.Guarded() {
		return nil
	}
	open, err := aws.NewProvider(ctx, "aws-account", settings.WithoutGuard().Args())
	if err != nil {
		return fmt.Errorf("configure aws: %w", err)
	}
	identity, err := aws.GetCallerIdentity(ctx, nil, pulumi.Provider(open))
	if err != nil {
		return fmt.Errorf("ask AWS whose credentials these are: %w", err)
	}
	wrong := settings.Account(identity.AccountId)
	if err := wrong.Err(); err != nil {
		return fmt.Errorf("this is not the account that is configured: %w", err)
	}
	return nil
}
