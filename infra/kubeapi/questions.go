package kubeapi

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
)

// Bounds of a NodePool as the cluster has it.
type Bounds struct {
	// Deleting: somebody has deleted it, and it waits for its nodes to go.
	Deleting bool
	// Replicas of a static pool; nil in any other.
	Replicas *int
	// Limits by resource, as quantities.
	Limits map[string]string
}

// NodePools are the bounds of those of the cluster, by name. Where the kind is not defined there is none.
func (c *Client) NodePools(ctx context.Context) (map[string]Bounds, error) {
	const question = "list nodepools.karpenter.sh"
	var list struct {
		Kind     string
		Metadata struct{ Continue string }
		Items    []struct {
			Metadata struct {
				Name              string
				DeletionTimestamp *string
			}
			Spec struct {
				Replicas *int
				Limits   map[string]quantity
			}
		}
	}
	err := c.ask(ctx, question, http.MethodGet, "/apis/karpenter.sh/v1/nodepools", nil, &list)
	if errors.Is(err, errNotServed) {
		return map[string]Bounds{}, nil
	}
	if err == nil && (list.Kind != "NodePoolList" || list.Metadata.Continue != "") {
		err = &Error{Question: question, Server: c.server, As: c.credentials.String(), Status: http.StatusOK,
			Err: fmt.Errorf("the answer is no whole NodePoolList (its kind is %q)", list.Kind)}
	}
	if err != nil {
		return nil, err
	}
	found := map[string]Bounds{}
	for _, item := range list.Items {
		live := Bounds{
			Deleting: item.Metadata.DeletionTimestamp != nil,
			Replicas: item.Spec.Replicas,
			Limits:   map[string]string{},
		}
		for name, q := range item.Spec.Limits {
			live.Limits[name] = string(q)
		}
		found[item.Metadata.Name] = live
	}
	return found, nil
}

// quantity is a text or a number in JSON.
type quantity string

func (q *quantity) UnmarshalJSON(text []byte) error {
	var s string
	if json.Unmarshal(text, &s) != nil {
		s = string(text)
	}
	*q = quantity(s)
	return nil
}

// May asks whether the identity of the token may do something to all objects of a kind in the cluster. False is an
// answer, with the reason that the cluster gives, which may be empty.
func (c *Client) May(ctx context.Context, verb, group, resource string) (allowed bool, reason string, err error) {
	type object = map[string]any
	review := object{
		"apiVersion": "authorization.k8s.io/v1",
		"kind":       "SelfSubjectAccessReview",
		"spec":       object{"resourceAttributes": object{"verb": verb, "group": group, "resource": resource}},
	}
	var answer struct {
		Kind   string
		Status *struct {
			Allowed bool
			Reason  string
		}
	}
	question := fmt.Sprintf("ask for the right to %s %s", verb, resource)
	err = c.ask(ctx, question, http.MethodPost, "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", review,
		&answer)
	if err == nil && (answer.Kind != "SelfSubjectAccessReview" || answer.Status == nil) {
		err = &Error{Question: question, Server: c.server, As: c.credentials.String(), Status: http.StatusCreated,
			Err: fmt.Errorf("the answer is no SelfSubjectAccessReview (its kind is %q)", answer.Kind)}
	}
	if err != nil {
		return false, "", err
	}
	return answer.Status.Allowed, answer.Status.Reason, nil
}
