package publish

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/headroom-eks/headroom/capacity"
	"github.com/headroom-eks/headroom/infra/ask"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
)

// formerWithin bounds the question for the stack's own output: a backend may let it wait for another update.
const formerWithin = 20 * time.Second

// warnOfFalls names, in a preview, each pool that promises less than the stack's output says now. An update writes its
// outputs at its very end, so a consumer reads the higher number until then, or until it expires.
func warnOfFalls(ctx *pulumi.Context, after capacity.Document) error {
	output, err := former(ctx)
	if err != nil {
		return ctx.Log.Info(fmt.Sprintf("capacity: the output of the last update cannot be read (%s); compare it "+
			"yourself when this update lowers a pool", ask.FirstLine(err)), nil)
	}
	if output == nil {
		return nil // the first update
	}
	before, err := capacity.Decode(output)
	if err != nil || !before.ValidUntil.After(after.ObservedAt) {
		return nil // no consumer takes it for a promise
	}
	if text := falls(before, after); text != "" {
		return ctx.Log.Warn(text, nil)
	}
	return nil
}

// falls says which pools promise less after an update than before it; empty when none does.
func falls(before, after capacity.Document) string {
	var lower []string
	for _, c := range capacity.Diff(before, after) {
		if c.Lower {
			lower = append(lower, fmt.Sprintf("%q (%s)", c.Pool, c.Text))
		}
	}
	if len(lower) == 0 {
		return ""
	}
	return fmt.Sprintf("capacity: the output says too much of %s until this update has ended (valid until %s); let no "+
		"scheduler place on it meanwhile", strings.Join(lower, ", "), before.ValidUntil.Format(time.RFC3339))
}

// former is the output `capacity` of the stack's last update; nil when there is none.
func former(ctx *pulumi.Context) (any, error) {
	name := strings.Join([]string{ctx.Organization(), ctx.Project(), ctx.Stack()}, "/")
	args := struct {
		Name string `pulumi:"name"`
	}{name}
	var answer struct {
		Outputs map[string]any `pulumi:"outputs"`
	}
	answers := make(chan error, 1)
	go func() {
		// The function behind a StackReference, without a resource in the state. Other outputs are secret.
		_, err := ctx.InvokePackageRaw("pulumi:pulumi:readStackOutputs", args, &answer, "")
		answers <- err
	}()
	bounded, cancel := context.WithTimeout(ctx.Context(), formerWithin)
	defer cancel()
	select {
	case err := <-answers:
		if err != nil {
			return nil, fmt.Errorf("read the outputs of stack %s: %w", name, err)
		}
		return answer.Outputs["capacity"], nil
	case <-bounded.Done():
		return nil, fmt.Errorf("read the outputs of stack %s: no answer within %s", name, formerWithin)
	}
}
