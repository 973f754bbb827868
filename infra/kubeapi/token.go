package kubeapi

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"
)

// command prints a token.
// https://kubernetes.io/docs/reference/access-authn-authz/authentication/#client-go-credential-plugins
type command struct {
	Command string
	Args    []string
	Env     []struct{ Name, Value string }
}

const (
	// commandTimeout bounds the token command; the aws command takes seconds where it asks for a role first.
	commandTimeout = 30 * time.Second
	// earlier is how long before its end a token is asked for anew.
	earlier = time.Minute
	// execInfo tells the command which form of answer is understood.
	execInfo = `KUBERNETES_EXEC_INFO={"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential",` +
		`"spec":{"interactive":false}}`
)

// tokenError: there was no token to ask with.
type tokenError struct{ error }

func (e *tokenError) Unwrap() error { return e.error }

// NoToken: the question was not asked, because the token command gave nothing. Asking again will not help.
func NoToken(err error) bool { return errors.As(err, new(*tokenError)) }

// credentials give the token of a request: a fixed one, or that of a command, kept until it expires.
type credentials struct {
	fixed string
	exec  *command

	mu      sync.Mutex
	kept    string
	expires time.Time // zero: the command did not say
}

// String names them without giving them away: values of options and variables may be secret.
func (c *credentials) String() string {
	if c.fixed != "" {
		return "the kubeconfig"
	}
	words := []string{c.exec.Command}
	for _, arg := range c.exec.Args {
		if strings.HasPrefix(arg, "-") {
			break
		}
		words = append(words, arg)
	}
	said := "`" + strings.Join(words, " ") + "`"
	for _, e := range c.exec.Env {
		said += ", " + e.Name
	}
	return said
}

func (c *credentials) token(ctx context.Context) (string, error) {
	if c.fixed != "" {
		return c.fixed, nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.kept != "" && (c.expires.IsZero() || time.Until(c.expires) > earlier) {
		return c.kept, nil
	}
	var err error
	c.kept, c.expires, err = c.exec.run(ctx)
	return c.kept, err
}

// forget a token that was refused.
func (c *credentials) forget() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.kept = ""
}

// run never repeats what the command prints to its output: it may hold a token.
func (c *command) run(ctx context.Context) (token string, expires time.Time, err error) {
	ctx, cancel := context.WithTimeout(ctx, commandTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, c.Command, c.Args...)
	cmd.Env = append(os.Environ(), execInfo)
	for _, e := range c.Env {
		cmd.Env = append(cmd.Env, e.Name+"="+e.Value)
	}
	cmd.WaitDelay = time.Second // for what the command has started and left
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		if ctx.Err() != nil {
			err = ctx.Err()
		}
		return "", expires, fmt.Errorf("the command gave no token: %w (%s)", err, excerpt(errs.Bytes()))
	}
	var printed struct {
		Kind   string
		Status struct {
			Token   string
			Expires time.Time `json:"expirationTimestamp"`
		}
	}
	if json.Unmarshal(out.Bytes(), &printed) != nil || printed.Kind != "ExecCredential" {
		return "", expires, fmt.Errorf("the command printed %d bytes that are no ExecCredential", out.Len())
	}
	if printed.Status.Token == "" {
		return "", expires, errors.New("the command printed an ExecCredential without a token")
	}
	return printed.Status.Token, printed.Status.Expires, nil
}
