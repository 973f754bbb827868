package build

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/headroom-eks/headroom/infra/kubeapi"
)

const (
	// enterFor bounds the wait for a new endpoint and for a new access entry. The name of an endpoint takes minutes;
	// AWS says that an entry is "eventually consistent, and may take several seconds to be effective".
	// https://docs.aws.amazon.com/eks/latest/userguide/creating-access-entries.html
	enterFor = 5 * time.Minute
	// enterPause is between two questions, progressEvery between two words on the screen.
	enterPause    = 3 * time.Second
	progressEvery = 20 * time.Second
)

// entrance is the Kubernetes API of the cluster before anything is made in it.
type entrance struct {
	may   func(context.Context) (allowed bool, reason string, err error)
	say   func(string) error
	limit time.Duration
	pause time.Duration
}

// wait asks until the caller has every right in the cluster. Where it never has, the error is the last answer.
func (e entrance) wait(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, e.limit)
	defer cancel()
	var said time.Time
	for {
		allowed, reason, err := e.may(ctx)
		if err == nil && allowed {
			return nil
		}
		if err == nil {
			err = &notAllowed{reason}
		}
		if kubeapi.NoToken(err) {
			return err
		}
		if time.Since(said) >= progressEvery {
			said = time.Now()
			if err := e.say(fmt.Sprintf("waiting for the Kubernetes API to let this update in, for %s at most: %v",
				e.limit, err)); err != nil {
				return err
			}
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(e.pause):
		}
	}
}

// notAllowed: the API knows who asks, who may not do everything.
type notAllowed struct{ reason string }

func (n *notAllowed) Error() string {
	if n.reason == "" {
		return "not every right in the cluster"
	}
	return "not every right in the cluster: " + n.reason
}

// refused says what the last answer means, and what to do.
func refused(err error, endpoint, caller string, open []string) error {
	const kept = "What was made so far is kept; run pulumi up again"
	var failed *kubeapi.Error
	switch status := 0; {
	case kubeapi.NoToken(err):
		return fmt.Errorf("there is no token for the Kubernetes API at %s: %w. %s", endpoint, err, kept)
	case errors.As(err, &failed):
		if status = failed.Status; status == 0 {
			where := "cluster.publicAccessCidrs is empty, so it answers inside the VPC only, and those whom " +
				"cluster.privateAccess lets in: run pulumi up from there, or for a VPC that this stack makes open it " +
				"to this machine first (docs/configuration.md, Private endpoint)"
			if len(open) > 0 {
				where = fmt.Sprintf("cluster.publicAccessCidrs lets in %v, and this machine may not be among them",
					open)
			}
			return fmt.Errorf("the Kubernetes API at %s cannot be reached from here (%w); %s. Where only the "+
				"Kubernetes provider has a way there, set cluster.skipReachabilityCheck: true. %s", endpoint,
				failed.Err, where, kept)
		}
		if status == http.StatusUnauthorized {
			return fmt.Errorf("the Kubernetes API at %s does not know %s, who has no access entry (%w); name its role "+
				"in cluster.access with policy: cluster-admin. %s", endpoint, caller, err, kept)
		}
	}
	return fmt.Errorf("the Kubernetes API at %s does not give %s every right (%w); name its role in cluster.access "+
		"with policy: cluster-admin, or set cluster.skipReachabilityCheck: true if what it has is enough. %s", endpoint,
		caller, err, kept)
}
