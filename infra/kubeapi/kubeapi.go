// Package kubeapi asks the API server of one cluster a few questions, with the kubeconfig that the program made.
//
// It owns the way there: the kubeconfig, the token command, TLS, limits of time and size, and what an error says. It
// does not own what an answer means. It makes and changes nothing. There is no client-go here: it would bring every API
// group into the build.
package kubeapi

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"
)

// Dial opens a connection, as a net.Dialer does.
type Dial func(ctx context.Context, network, address string) (net.Conn, error)

const (
	// requestTimeout bounds one request, from the connection to the last byte.
	requestTimeout = 15 * time.Second
	// maxBody of an answer: over a thousand NodePools.
	maxBody = 16 << 20
	// tries of a question that nobody answered, or that the server was too busy for, a pause apart.
	tries = 3
	// maxSaid is how much of an answer that is no Status an error repeats, in bytes.
	maxSaid = 200
)

// pause between two tries; shorter in tests.
var pause = time.Second

// Client asks one cluster's API server.
type Client struct {
	server      string
	credentials *credentials
	http        *http.Client
}

// Error is a question that got no answer.
type Error struct {
	// Question and Server that was asked it.
	Question, Server string
	// As is what gave the token.
	As string
	// Status of HTTP; 0 when nobody answered.
	Status int
	// Err is what came back, or why nothing did.
	Err error
}

func (e *Error) Error() string {
	return fmt.Sprintf("%s at %s, with the token of %s: %v", e.Question, e.Server, e.As, e.Err)
}

// Unwrap gives what came back.
func (e *Error) Unwrap() error { return e.Err }

// New reads a kubeconfig in JSON. With a dial, that opens every connection; without one the system does, through the
// proxy that the environment names, if any.
func New(kubeconfig string, dial Dial) (*Client, error) {
	entry, err := readConfig(kubeconfig)
	if err != nil {
		return nil, fmt.Errorf("kubeconfig: %w", err)
	}
	transport := &http.Transport{
		Proxy:                 http.ProxyFromEnvironment,
		TLSHandshakeTimeout:   requestTimeout,
		ResponseHeaderTimeout: requestTimeout,
		ForceAttemptHTTP2:     true,
		DisableKeepAlives:     true, // seldom asked; nothing is left open
	}
	if dial != nil {
		transport.Proxy, transport.DialContext = nil, dial
	}
	if len(entry.authority) > 0 {
		roots := x509.NewCertPool()
		if !roots.AppendCertsFromPEM(entry.authority) {
			return nil, errors.New("kubeconfig: certificate-authority-data holds no certificate")
		}
		transport.TLSClientConfig = &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}
	}
	return &Client{
		server:      strings.TrimSuffix(entry.server, "/"),
		credentials: entry.credentials,
		http: &http.Client{
			Transport: transport,
			Timeout:   requestTimeout,
			// A redirect would carry the token elsewhere.
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
	}, nil
}

// ask sends one request and decodes the answer. Every error of it is an *Error.
func (c *Client) ask(ctx context.Context, question, method, path string, body, into any) error {
	for try := 1; ; try++ {
		status, err := c.send(ctx, method, path, body, into)
		if err == nil {
			return nil
		}
		if try < tries && mayPass(status, err) {
			select {
			case <-time.After(pause):
				continue
			case <-ctx.Done():
			}
		}
		return &Error{Question: question, Server: c.server, As: c.credentials.String(), Status: status, Err: err}
	}
}

// mayPass: the same question may be answered a moment later.
func mayPass(status int, err error) bool {
	if NoToken(err) || errors.As(err, new(*tls.CertificateVerificationError)) {
		return false
	}
	return status == 0 || status == http.StatusTooManyRequests || status >= http.StatusInternalServerError
}

func (c *Client) send(ctx context.Context, method, path string, body, into any) (status int, err error) {
	token, err := c.credentials.token(ctx)
	if err != nil {
		return 0, &tokenError{err}
	}
	var content io.Reader
	if body != nil {
		text, err := json.Marshal(body)
		if err != nil {
			return 0, err
		}
		content = bytes.NewReader(text)
	}
	request, err := http.NewRequestWithContext(ctx, method, c.server+path, content)
	if err != nil {
		return 0, err
	}
	request.Header.Set("Authorization", "Bearer "+token)
	request.Header.Set("Accept", "application/json")
	request.Header.Set("Content-Type", "application/json")
	answer, err := c.http.Do(request)
	if err != nil {
		return 0, errors.Unwrap(err) // of a url.Error, which repeats method and address
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(io.LimitReader(answer.Body, maxBody+1))
	switch {
	case err != nil:
		return answer.StatusCode, fmt.Errorf("%s, and the answer breaks off: %w", answer.Status, err)
	case len(text) > maxBody:
		return answer.StatusCode, fmt.Errorf("%s, and the answer is longer than %d bytes", answer.Status, maxBody)
	case answer.StatusCode == http.StatusUnauthorized:
		c.credentials.forget()
	}
	if answer.StatusCode < 200 || answer.StatusCode > 299 {
		return answer.StatusCode, refusal(answer.Status, text)
	}
	if err := json.Unmarshal(text, into); err != nil {
		return answer.StatusCode, fmt.Errorf("%s, and the answer is not what an API server says (%s)", answer.Status,
			excerpt(text))
	}
	return answer.StatusCode, nil
}

// errNotServed is the API server's own word that it serves no such kind. Another server's 404 is none.
var errNotServed = errors.New("the kind is not served")

// refusal is what an answer without success says.
func refusal(status string, text []byte) error {
	var said struct {
		Kind, Message string
		Code          int
	}
	if json.Unmarshal(text, &said) != nil || said.Kind != "Status" {
		return fmt.Errorf("%s (%s)", status, excerpt(text))
	}
	if said.Code == http.StatusNotFound {
		return fmt.Errorf("%w: %s", errNotServed, said.Message)
	}
	return fmt.Errorf("%s: %s", status, said.Message)
}

// excerpt of an answer, on one line.
func excerpt(text []byte) string {
	short := strings.ToValidUTF8(string(text[:min(len(text), maxSaid)]), "")
	return strings.Join(strings.Fields(short), " ")
}
