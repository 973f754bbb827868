package kubeapi

import (
	"context"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// kubeconfigOf a server, with its certificate where it has one, and a user.
func kubeconfigOf(t *testing.T, server *httptest.Server, user map[string]any) string {
	t.Helper()
	type object = map[string]any
	cluster := object{"server": server.URL}
	if c := server.Certificate(); c != nil {
		cluster["certificate-authority-data"] = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: c.Raw})
	}
	text, err := json.Marshal(object{
		"current-context": "dev",
		"contexts":        []object{{"name": "dev", "context": object{"cluster": "dev", "user": "dev"}}},
		"clusters":        []object{{"name": "dev", "cluster": cluster}},
		"users":           []object{{"name": "dev", "user": user}},
	})
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// answering is a client of a server that gives one answer.
func answering(t *testing.T, status int, body string) *Client {
	t.Helper()
	return asking(t, map[string]any{"token": "secret"}, func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		io.WriteString(w, body)
	})
}

func asking(t *testing.T, user map[string]any, handler http.HandlerFunc) *Client {
	t.Helper()
	pause = time.Millisecond
	server := httptest.NewTLSServer(handler)
	t.Cleanup(server.Close)
	c, err := New(kubeconfigOf(t, server, user), nil)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// script is a token command.
func script(t *testing.T, text string) map[string]any {
	t.Helper()
	path := filepath.Join(t.TempDir(), "aws")
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+text+"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	return map[string]any{"exec": map[string]any{"command": path, "args": []string{"eks", "get-token"},
		"env": []map[string]string{{"name": "AWS_PROFILE", "value": "deployer"}}}}
}

func credential(token, expires string) string {
	return fmt.Sprintf(`echo '{"kind":"ExecCredential","status":{"token":"%s"%s}}'`, token, expires)
}

const noPools = `{"kind":"NodePoolList","items":[]}`

func TestNodePoolsAreReadWithTheirLimits(t *testing.T) {
	c := asking(t, map[string]any{"token": "secret"}, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/apis/karpenter.sh/v1/nodepools" || r.Header.Get("Authorization") != "Bearer secret" {
			w.WriteHeader(http.StatusForbidden)
		}
		io.WriteString(w, `{"kind":"NodePoolList","items":[
			{"metadata":{"name":"a"},"spec":{"limits":{"nvidia.com/gpu":4,"cpu":"16"}}},
			{"metadata":{"name":"b","deletionTimestamp":"2026-11-30T09:00:00Z"},"spec":{"replicas":2}}]}`)
	})
	found, err := c.NodePools(t.Context())
	if err != nil || len(found) != 2 {
		t.Fatalf("%v, %v", found, err)
	}
	a, b := found["a"], found["b"]
	if a.Deleting || a.Replicas != nil || a.Limits["nvidia.com/gpu"] != "4" || a.Limits["cpu"] != "16" {
		t.Errorf("a: %+v", a)
	}
	if !b.Deleting || b.Replicas == nil || *b.Replicas != 2 || len(b.Limits) != 0 {
		t.Errorf("b: %+v", b)
	}
}

func TestWithoutTheDefinitionThereIsNoNodePool(t *testing.T) {
	c := answering(t, 404, `{"kind":"Status","code":404,"message":"the server could not find the requested resource"}`)
	if found, err := c.NodePools(t.Context()); err != nil || found == nil || len(found) != 0 {
		t.Errorf("%v, %v", found, err)
	}
}

func TestEveryRefusalSaysWhatWasAskedAsWhomAndWhatCameBack(t *testing.T) {
	for name, c := range map[string]struct {
		status int
		body   string
		says   string
	}{
		"no such token": {401, `{"kind":"Status","code":401,"message":"Unauthorized"}`, "401 Unauthorized"},
		"no such right": {403, `{"kind":"Status","code":403,"message":"nodepools is forbidden"}`,
			"is forbidden"},
		"another server's 404":  {404, "<html>not here</html>", "<html>not here</html>"},
		"a 404 of another API":  {404, `{"code":404,"message":"no route"}`, "no route"},
		"a busy server":         {503, "try later", "503 Service Unavailable (try later)"},
		"an answer of no sense": {200, "<html>welcome</html>", "<html>welcome</html>"},
		"an empty object":       {200, "{}", `no whole NodePoolList`},
		"a part of the list": {200, `{"kind":"NodePoolList","metadata":{"continue":"x"}}`,
			"no whole NodePoolList"},
		"limits that are none": {200, `{"kind":"NodePoolList","items":[{"spec":{"limits":7}}]}`,
			"not what an API server says"},
		"an answer without an end": {200, strings.Repeat("x", maxBody+1), "longer than 16777216 bytes"},
	} {
		t.Run(name, func(t *testing.T) {
			client := answering(t, c.status, c.body)
			_, err := client.NodePools(t.Context())
			var failed *Error
			if !errors.As(err, &failed) || failed.Status != c.status {
				t.Fatalf("%#v", err)
			}
			for _, want := range []string{"list nodepools.karpenter.sh at https://127.0.0.1", "token of the kubeconfig",
				c.says} {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("no %q in: %v", want, err)
				}
			}
			if strings.Contains(err.Error(), "secret") || strings.Contains(err.Error(), "\n") ||
				len(err.Error()) > 500 {
				t.Errorf("the token, many lines or too many words: %v", err)
			}
		})
	}
}

func TestARedirectIsNotFollowedWithTheToken(t *testing.T) {
	asked := 0
	c := asking(t, map[string]any{"token": "secret"}, func(w http.ResponseWriter, r *http.Request) {
		asked++
		http.Redirect(w, r, "/elsewhere", http.StatusFound)
	})
	if _, err := c.NodePools(t.Context()); err == nil || !strings.Contains(err.Error(), "302 Found") || asked != 1 {
		t.Errorf("asked %d times: %v", asked, err)
	}
}

func TestAServerThatNobodyAnswersForIsAnError(t *testing.T) {
	pause = time.Millisecond
	server := httptest.NewServer(nil)
	kubeconfig := kubeconfigOf(t, server, map[string]any{"token": "secret"})
	server.Close()
	c, err := New(kubeconfig, nil)
	if err != nil {
		t.Fatal(err)
	}
	var failed *Error
	if _, err := c.NodePools(t.Context()); !errors.As(err, &failed) || failed.Status != 0 ||
		!strings.Contains(err.Error(), "refused") {
		t.Errorf("%v", err)
	}
}

func TestASlowServerIsGivenUpWithTheContext(t *testing.T) {
	done := make(chan struct{})
	defer close(done)
	c := asking(t, map[string]any{"token": "secret"}, func(http.ResponseWriter, *http.Request) { <-done })
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	start := time.Now()
	if _, err := c.NodePools(ctx); !errors.Is(err, context.DeadlineExceeded) || time.Since(start) > 5*time.Second {
		t.Errorf("%v after %v", err, time.Since(start))
	}
}

func TestAServerThatIsBusyOnceIsAskedAgain(t *testing.T) {
	asked := 0
	c := asking(t, map[string]any{"token": "secret"}, func(w http.ResponseWriter, _ *http.Request) {
		if asked++; asked == 1 {
			w.WriteHeader(http.StatusTooManyRequests)
		}
		io.WriteString(w, noPools)
	})
	if _, err := c.NodePools(t.Context()); err != nil || asked != 2 {
		t.Errorf("asked %d times: %v", asked, err)
	}
}

func TestAnotherCertificateIsRefused(t *testing.T) {
	server := httptest.NewTLSServer(nil)
	defer server.Close()
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	kubeconfig := kubeconfigOf(t, server, map[string]any{"token": "secret"})
	kubeconfig = strings.Replace(kubeconfig, "127.0.0.1", "localhost", 1) // which the certificate does not name
	c, err := New(kubeconfig, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.NodePools(t.Context()); err == nil || !strings.Contains(err.Error(), "certificate") {
		t.Errorf("%v", err)
	}
}

func TestTheDialIsAskedForTheServersAddress(t *testing.T) {
	var asked string
	server := httptest.NewServer(nil)
	defer server.Close()
	kubeconfig := strings.Replace(kubeconfigOf(t, server, map[string]any{"token": "x"}), server.URL,
		"http://cluster.example", 1)
	c, err := New(kubeconfig, func(_ context.Context, _, address string) (net.Conn, error) {
		asked = address
		return nil, errors.New("connection timed out")
	})
	if err != nil {
		t.Fatal(err)
	}
	pause = time.Millisecond
	if _, err := c.NodePools(t.Context()); asked != "cluster.example:80" || err == nil ||
		!strings.Contains(err.Error(), "connection timed out") {
		t.Errorf("dialled %q: %v", asked, err)
	}
}

func TestTheTokenCommandIsRunOnceForAsLongAsItsTokenHolds(t *testing.T) {
	for name, c := range map[string]struct {
		expires string
		runs    int
	}{
		"no end":        {"", 1},
		"an end far":    {`,"expirationTimestamp":"2999-01-01T00:00:00Z"`, 1},
		"an end passed": {`,"expirationTimestamp":"2020-01-01T00:00:00Z"`, 2},
	} {
		t.Run(name, func(t *testing.T) {
			runs := filepath.Join(t.TempDir(), "runs")
			user := script(t, "echo $AWS_PROFILE $KUBERNETES_EXEC_INFO >>"+runs+"\n"+
				credential("k8s-aws-v1.x", c.expires))
			client := asking(t, user, func(w http.ResponseWriter, r *http.Request) {
				if r.Header.Get("Authorization") != "Bearer k8s-aws-v1.x" {
					w.WriteHeader(http.StatusUnauthorized)
				}
				io.WriteString(w, noPools)
			})
			for range 2 {
				if _, err := client.NodePools(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			text, err := os.ReadFile(runs)
			if err != nil || strings.Count(string(text), "deployer {") != c.runs {
				t.Errorf("want %d runs: %q, %v", c.runs, text, err)
			}
		})
	}
}

func TestARefusedTokenIsNotKept(t *testing.T) {
	runs := filepath.Join(t.TempDir(), "runs")
	client := asking(t, script(t, "echo run >>"+runs+"\n"+credential("x", "")),
		func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusUnauthorized) })
	for range 2 {
		if _, err := client.NodePools(t.Context()); err == nil {
			t.Fatal("it was answered")
		}
	}
	if text, err := os.ReadFile(runs); err != nil || strings.Count(string(text), "run") != 2 {
		t.Errorf("%q, %v", text, err)
	}
}

func TestATokenCommandThatGivesNoneSaysWhy(t *testing.T) {
	missing := map[string]any{"exec": map[string]any{"command": "no-such-command"}}
	for name, c := range map[string]struct {
		user map[string]any
		says string
	}{
		"fails":         {script(t, "echo Unable to locate credentials >&2; exit 255"), "Unable to locate credentials"},
		"is not there":  {missing, "executable file not found"},
		"prints words":  {script(t, "echo secret words"), "printed 13 bytes that are no ExecCredential"},
		"prints a part": {script(t, `echo '{"kind":"ExecCredential","status":{"token":"secret'`), "no ExecCredential"},
		"prints none":   {script(t, `echo '{"kind":"ExecCredential"}'`), "without a token"},
	} {
		t.Run(name, func(t *testing.T) {
			client := asking(t, c.user, func(http.ResponseWriter, *http.Request) { t.Error("the server was asked") })
			_, err := client.NodePools(t.Context())
			if err == nil || !strings.Contains(err.Error(), c.says) || strings.Contains(err.Error(), "secret") {
				t.Errorf("%v", err)
			}
			if c.user["exec"].(map[string]any)["env"] != nil &&
				(!strings.Contains(fmt.Sprint(err), "eks get-token`, AWS_PROFILE:") ||
					strings.Contains(fmt.Sprint(err), "deployer")) {
				t.Errorf("whose token it is, or a value that may be secret: %v", err)
			}
		})
	}
}

func TestASlowTokenCommandIsGivenUpWithTheContext(t *testing.T) {
	client := asking(t, script(t, "sleep 60"), func(http.ResponseWriter, *http.Request) {})
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	start := time.Now()
	if _, err := client.NodePools(ctx); !errors.Is(err, context.DeadlineExceeded) ||
		time.Since(start) > 10*time.Second {
		t.Errorf("%v after %v", err, time.Since(start))
	}
}

func TestAKubeconfigThatCannotBeUsedSaysWhy(t *testing.T) {
	server := httptest.NewServer(nil)
	defer server.Close()
	whole := kubeconfigOf(t, server, map[string]any{"token": "secret"})
	for name, c := range map[string]struct{ text, says string }{
		"no JSON":        {"apiVersion: v1", "it is not the JSON"},
		"nothing":        {"{}", "names no server"},
		"no user":        {strings.Replace(whole, `"token":"secret"`, "", 1), "no user with a token"},
		"another scheme": {strings.Replace(whole, "http://", "file://", 1), "http or https"},
		"no certificate": {strings.Replace(whole, `"server"`, `"certificate-authority-data":"Q0E=","server"`, 1),
			"holds no certificate"},
	} {
		if _, err := New(c.text, nil); err == nil || !strings.Contains(err.Error(), c.says) ||
			strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestARightIsAskedFor(t *testing.T) {
	for name, c := range map[string]struct {
		answer  string
		allowed bool
		says    string
	}{
		"yes": {`{"kind":"SelfSubjectAccessReview","status":{"allowed":true}}`, true, ""},
		"no": {`{"kind":"SelfSubjectAccessReview","status":{"allowed":false,"reason":"no rule"}}`, false,
			"no rule"},
		"neither":      {`{"kind":"SelfSubjectAccessReview"}`, false, "no SelfSubjectAccessReview"},
		"another kind": {`{"kind":"Status","status":{"allowed":true}}`, false, "no SelfSubjectAccessReview"},
	} {
		client := asking(t, map[string]any{"token": "secret"}, func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			if r.Method != http.MethodPost || !strings.Contains(string(body),
				`"resourceAttributes":{"group":"apps","resource":"deployments","verb":"create"}`) {
				w.WriteHeader(http.StatusBadRequest)
				return
			}
			w.WriteHeader(http.StatusCreated)
			io.WriteString(w, c.answer)
		})
		allowed, reason, err := client.May(t.Context(), "create", "apps", "deployments")
		if allowed != c.allowed || !strings.Contains(reason+fmt.Sprint(err), c.says) {
			t.Errorf("%s: %v, %q, %v", name, allowed, reason, err)
		}
	}
}
