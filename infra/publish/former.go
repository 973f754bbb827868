package publish

import (
	"fmt"
	"strings"
	"time"

	"github.com/headroom-eks/headroom/capacity"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
)

// warnOfFalls names, in a preview, each pool that promises less than the stack's output says now. An update writes its
// outputs at its very end, so a consumer reads the higher number until then, or until it expires.
func warnOfFalls(ctx *pulumi.Context, former any, after capacity.Document) error {
	before, err := capacity.Decode(former)
	if former == nil || err != nil || !before.ValidUntil.After(after.ObservedAt) {
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
