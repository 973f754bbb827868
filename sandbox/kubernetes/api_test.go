package kubernetes

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/headroom-eks/headroom/sandbox/authority"
	"github.com/headroom-eks/headroom/sandbox/world"
)

// asking gives a function that puts a question to the API of the lab's cluster, with a token for it.
func (l *lab) asking() func(method, path, body string) (int, string) {
	l.t.Helper()
	api, err := Serve(l.w)
	if err != nil {
		l.t.Fatal(err)
	}
	l.t.Cleanup(func() { _ = api.Close() })
	return func(method, path, body string) (int, string) {
		l.t.Helper()
		return l.ask(api, tokenFor(l.t, "dev"), method, path, body)
	}
}

func tokenFor(t *testing.T, cluster string) string {
	t.Helper()
	text, err := GetToken([]string{"eks", "get-token", "--region", "us-west-2", "--cluster-name", cluster})
	if err != nil {
		t.Fatal(err)
	}
	var credential struct{ Status struct{ Token string } }
	if err := json.Unmarshal([]byte(text), &credential); err != nil || credential.Status.Token == "" {
		t.Fatalf("%s: %v", text, err)
	}
	return credential.Status.Token
}

func (l *lab) ask(api *API, token, method, path, body string) (int, string) {
	l.t.Helper()
	pem, err := authority.Of("dev")
	if err != nil {
		l.t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(pem)
	client := http.Client{Transport: &http.Transport{DialContext: api.Dial, DisableKeepAlives: true,
		TLSClientConfig: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}}}
	request, err := http.NewRequestWithContext(l.t.Context(), method, "https://dev.example"+path,
		strings.NewReader(body))
	if err != nil {
		l.t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+token)
	answer, err := client.Do(request)
	if err != nil {
		l.t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		l.t.Fatal(err)
	}
	return answer.StatusCode, string(text)
}

func TestTheAPIReadsNodePools(t *testing.T) {
	l := newLab(t, true)
	ask := l.asking()
	l.must(somePool(true))
	if code, text := ask(http.MethodGet, nodePoolsPath, ""); code != 200 ||
		!strings.Contains(text, `"kind":"NodePoolList"`) || !strings.Contains(text, `"name":"gpu"`) {
		t.Errorf("%d %s", code, text)
	}
	if code, text := ask(http.MethodGet, nodePoolsPath+"/gpu", ""); code != 200 ||
		!strings.Contains(text, `"kind":"NodePool"`) {
		t.Errorf("%d %s", code, text)
	}
	for _, path := range []string{nodePoolsPath + "/other", "/apis/apps/v1/deployments"} {
		if code, text := ask(http.MethodGet, path, ""); code != 404 || !strings.Contains(text, `"kind":"Status"`) {
			t.Errorf("%s: %d %s", path, code, text)
		}
	}
	l.update(func(s *world.State) error { return LimitNodePool(s, "dev", "gpu", "nodes", "1") })
	if _, text := ask(http.MethodGet, nodePoolsPath, ""); !strings.Contains(text, `"nodes":"1"`) {
		t.Errorf("after the limit was cut: %s", text)
	}
	l.update(func(s *world.State) error { return DeleteNodePool(s, "dev", "gpu") })
	if code, text := ask(http.MethodGet, nodePoolsPath, ""); code != 200 || !strings.Contains(text, `"items":[]`) {
		t.Errorf("after the deletion: %d %s", code, text)
	}
}

func TestTheAPIServesNoKindWithoutItsDefinition(t *testing.T) {
	if code, text := newLab(t, false).asking()(http.MethodGet, nodePoolsPath, ""); code != 404 {
		t.Errorf("%d %s", code, text)
	}
}

func TestTheAPIAsksForATokenOfItsOwnCluster(t *testing.T) {
	l := newLab(t, true)
	api, err := Serve(l.w)
	if err != nil {
		t.Fatal(err)
	}
	defer api.Close()
	for _, token := range []string{"", "garbage", tokenPrefix + "!", tokenFor(t, "other")} {
		if code, text := l.ask(api, token, http.MethodGet, nodePoolsPath, ""); code != 401 {
			t.Errorf("%q: %d %s", token, code, text)
		}
	}
}

func TestTheAPIRefusesWhatIsDeniedAndSaysSoBefore(t *testing.T) {
	l := newLab(t, true)
	ask := l.asking()
	const review = `{"kind":"SelfSubjectAccessReview","spec":{"resourceAttributes":` +
		`{"verb":"list","group":"karpenter.sh","resource":"nodepools"}}}`
	if code, text := ask(http.MethodPost, reviewsPath, review); code != 201 ||
		!strings.Contains(text, `"allowed":true`) {
		t.Errorf("%d %s", code, text)
	}
	l.update(func(s *world.State) error { return s.Deny("nodepools.karpenter.sh:list") })
	if code, text := ask(http.MethodPost, reviewsPath, review); code != 201 ||
		!strings.Contains(text, `"allowed":false`) {
		t.Errorf("%d %s", code, text)
	}
	if code, text := ask(http.MethodGet, nodePoolsPath, ""); code != 403 || !strings.Contains(text, "forbidden") {
		t.Errorf("%d %s", code, text)
	}
	if code, _ := ask(http.MethodPost, reviewsPath, "{}"); code != 400 {
		t.Errorf("a review of nothing: %d", code)
	}
}

func TestNoAddressButAClustersLeadsToTheAPI(t *testing.T) {
	api, err := Serve(newLab(t, true).w)
	if err != nil {
		t.Fatal(err)
	}
	if c, err := api.Dial(context.Background(), "tcp", "elsewhere.example:443"); err == nil {
		c.Close()
		t.Error("it led somewhere")
	}
	address := api.listener.Addr().String()
	if err := api.Close(); err != nil {
		t.Fatal(err)
	}
	if c, err := net.Dial("tcp", address); err == nil {
		c.Close()
		t.Error("a listener was left behind")
	}
}

func TestTheAwsCommandKnowsTheTokenAlone(t *testing.T) {
	for _, args := range [][]string{nil, {"s3", "ls"}, {"eks", "get-token"}, {"eks", "get-token", "--region", "x"}} {
		if text, err := GetToken(args); err == nil {
			t.Errorf("%q: %s", args, text)
		}
	}
}

// Review B1: EKS's own group lets in nothing but itself.
func TestAPrivateAPIAnswersOnlyWhoIsLetIn(t *testing.T) {
	s := &world.State{Resources: map[string]*world.Resource{}}
	s.Resources["cluster"] = &world.Resource{ID: "dev", Type: clusterType, Outputs: map[string]any{
		"endpoint":  "https://dev.example",
		"vpcConfig": map[string]any{"endpointPublicAccess": false, "clusterSecurityGroupId": "sg-1"},
	}}
	if err := admitted(s, "dev.example"); err == nil {
		t.Error("anybody is let in")
	}
	s.Resources["rule"] = &world.Resource{
		ID:     "sgr-1",
		Type:   "aws:vpc/securityGroupIngressRule:SecurityGroupIngressRule",
		Inputs: map[string]any{"securityGroupId": "sg-1", "toPort": 443.0},
	}
	if err := admitted(s, "dev.example"); err != nil {
		t.Error(err)
	}
}
