package ask

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
)

// Former are the outputs of this stack's last update that decide about the next. The zero value is that of no update.
type Former struct {
	// Cluster is the name of the cluster that the stack has; empty before it was made.
	Cluster string
	// Capacity is the output of that name.
	Capacity any
	// SecretsKey is the key with which the live cluster encrypts Kubernetes secrets. EKS takes it once, and the data
	// source of a cluster does not tell it.
	SecretsKey SecretsKey
	// KarpenterInstanceProfile is the profile that the program made for Karpenter's nodes; empty when it made none.
	KarpenterInstanceProfile string
	// NodePools is gitOps.nodePools of that update; empty when it did not say.
	NodePools string
	// Marks says that the last update marked the access entries that it made; earlier versions did not.
	Marks bool
}

// SecretsKey encrypts the Kubernetes secrets of a cluster.
type SecretsKey struct {
	Arn string // empty when the last update did not say
	// Made says that this stack has made it.
	Made bool
}

// formerWithin bounds the question: a backend may let it wait for another update.
const formerWithin = 20 * time.Second

// former guards what the last update made: what leaves the program is deleted.
func (a *asker) former() {
	outputs, err := outputsOf(a.ctx)
	if err != nil {
		a.answers.Former = unguarded[Former](&a.answers, "the outputs of this stack's last update", err)
		return
	}
	found := Former{Capacity: outputs["capacity"]}
	found.NodePools, _ = outputs["gitOpsNodePools"].(string)
	found.Cluster, _ = outputs["clusterName"].(string)
	found.KarpenterInstanceProfile, _ = outputs["karpenterInstanceProfileName"].(string)
	if key, ok := outputs["secretsKey"].(map[string]any); ok {
		found.Marks = true
		found.SecretsKey.Arn, _ = key["arn"].(string)
		found.SecretsKey.Made, _ = key["made"].(bool)
	}
	a.answers.Former = Known(found)
}

// outputsOf the stack's last update, by the engine's own function behind a StackReference, which leaves nothing in the
// state here.
func outputsOf(ctx *pulumi.Context) (map[string]any, error) {
	args := struct {
		Name string `pulumi:"name"`
	}{strings.Join([]string{ctx.Organization(), ctx.Project(), ctx.Stack()}, "/")}
	var answer struct {
		Outputs map[string]any `pulumi:"outputs"`
	}
	answers := make(chan error, 1)
	go func() {
		_, err := ctx.InvokePackageRaw("pulumi:pulumi:readStackOutputs", args, &answer, "") // some are secret
		answers <- err
	}()
	bounded, cancel := context.WithTimeout(ctx.Context(), formerWithin)
	defer cancel()
	select {
	case err := <-answers:
		return answer.Outputs, err
	case <-bounded.Done():
		return nil, fmt.Errorf("no answer within %s", formerWithin)
	}
}
