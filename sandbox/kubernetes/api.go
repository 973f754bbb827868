package kubernetes

import (
	"context"
	"crypto/tls"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/headroom-eks/headroom/sandbox/authority"
	"github.com/headroom-eks/headroom/sandbox/world"
)

// API answers on a loopback address for the API servers of all clusters of a world: it reads NodePools, and says who
// may do what. A right is withdrawn by denying <resource>.<group>:<verb>, nodepools.karpenter.sh:list for example.
type API struct {
	world    *world.World
	listener net.Listener
	server   *http.Server
}

// Serve answers until Close.
func Serve(w *world.World) (*API, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("the sandbox's Kubernetes API: %w", err)
	}
	a := &API{world: w, listener: listener}
	a.server = &http.Server{
		Handler:   a,
		TLSConfig: &tls.Config{MinVersion: tls.VersionTLS12, GetCertificate: a.certificate},
		ErrorLog:  log.New(io.Discard, "", 0), // a client that does not trust the certificate says so itself
	}
	go a.server.ServeTLS(listener, "", "") // ends with Close
	return a, nil
}

// Close ends the answers and every connection.
func (a *API) Close() error { return a.server.Close() }

// Dial connects to the API server that has an address in the world.
func (a *API) Dial(ctx context.Context, network, address string) (net.Conn, error) {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	if err := a.world.View(func(s *world.State) error {
		if _, err := clusterOfHost(s, host); err != nil {
			return &net.DNSError{Err: err.Error(), Name: host, IsNotFound: true}
		}
		return admitted(s, host)
	}); err != nil {
		return nil, err
	}
	return (&net.Dialer{}).DialContext(ctx, network, a.listener.Addr().String())
}

// admitted refuses a machine that no security group lets in. The sandbox runs in the ranges of a public
// endpoint, or in the VPC of a private one. There the cluster's group lets in nothing but nodes until a rule does.
// https://docs.aws.amazon.com/eks/latest/userguide/sec-group-reqs.html
func admitted(s *world.State, host string) error {
	vpc := object(s.Find(clusterType, "endpoint", "https://"+host).Outputs)
	if public, _ := vpc.at("vpcConfig", "endpointPublicAccess").(bool); public {
		return nil
	}
	group := vpc.at("vpcConfig", "clusterSecurityGroupId")
	if group == nil { // a cluster without a network, as unit tests have one
		return nil
	}
	for _, rule := range s.OfType("aws:vpc/securityGroupIngressRule:SecurityGroupIngressRule") {
		if rule.Inputs["securityGroupId"] == group && rule.Inputs["toPort"] == 443.0 {
			return nil
		}
	}
	return &net.OpError{Op: "dial", Net: "tcp", Err: fmt.Errorf("i/o timeout: no rule of %v lets port 443 in", group)}
}

func clusterOfHost(s *world.State, host string) (*cluster, error) {
	return clusterAt(s, "https://"+host)
}

func (a *API) certificate(hello *tls.ClientHelloInfo) (certificate *tls.Certificate, err error) {
	err = a.world.View(func(s *world.State) error {
		c, err := clusterOfHost(s, hello.ServerName)
		if err == nil {
			certificate, err = authority.Server(c.name, hello.ServerName)
		}
		return err
	})
	return certificate, err
}

// ServeHTTP answers one question.
func (a *API) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var code int
	var body object
	if err := a.world.View(func(s *world.State) error {
		c, err := clusterOfHost(s, r.Host)
		if err == nil {
			code, body = c.answer(r)
		}
		return err
	}); err != nil {
		code, body = status(http.StatusInternalServerError, err.Error())
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(body) // who has gone away needs no answer
}

const (
	reviewsPath   = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
	nodePoolsPath = "/apis/karpenter.sh/v1/nodepools"
)

func (c *cluster) answer(r *http.Request) (int, object) {
	if !c.authentic(r.Header.Get("Authorization")) {
		return status(http.StatusUnauthorized, "Unauthorized")
	}
	name, one := strings.CutPrefix(r.URL.Path, nodePoolsPath+"/")
	switch {
	case r.Method == http.MethodPost && r.URL.Path == reviewsPath:
		return c.review(r)
	case r.Method == http.MethodGet && one:
		return c.readNodePools("get", name)
	case r.Method == http.MethodGet && r.URL.Path == nodePoolsPath:
		return c.readNodePools("list", "")
	}
	return status(http.StatusNotFound, "the server could not find the requested resource")
}

func (c *cluster) readNodePools(verb, name string) (int, object) {
	if !c.allowed(verb, "karpenter.sh", "nodepools") {
		return status(http.StatusForbidden, fmt.Sprintf("nodepools.karpenter.sh is forbidden: User %q cannot %s "+
			"resource \"nodepools\" in API group \"karpenter.sh\" at the cluster scope", c.state.CallerARN(), verb))
	}
	if _, err := c.scope("karpenter.sh/v1", nodePool); err != nil {
		return status(http.StatusNotFound, "the server could not find the requested resource")
	}
	if verb == "get" {
		if o, found := c.get("karpenter.sh/v1", nodePool, "", name); found {
			return http.StatusOK, o
		}
		return status(http.StatusNotFound, fmt.Sprintf("nodepools.karpenter.sh %q not found", name))
	}
	items := c.all(func(o object) bool { return o.kind() == nodePool })
	if items == nil {
		items = []object{}
	}
	return http.StatusOK, object{"apiVersion": "karpenter.sh/v1", "kind": "NodePoolList",
		"metadata": map[string]any{"resourceVersion": "1"}, "items": items}
}

// review answers a SelfSubjectAccessReview.
func (c *cluster) review(r *http.Request) (int, object) {
	var asked object
	if json.NewDecoder(http.MaxBytesReader(nil, r.Body, 1<<20)).Decode(&asked) != nil ||
		asked.kind() != "SelfSubjectAccessReview" {
		return status(http.StatusBadRequest, "the body is no SelfSubjectAccessReview")
	}
	wants := asked.strings("spec", "resourceAttributes")
	asked["status"] = map[string]any{"allowed": c.allowed(wants["verb"], wants["group"], wants["resource"])}
	return http.StatusCreated, asked
}

func (c *cluster) allowed(verb, group, resource string) bool {
	if group != "" {
		resource += "." + group
	}
	return c.state.Allowed(resource + ":" + verb)
}

// authentic reports whether a header carries a token for this cluster.
func (c *cluster) authentic(authorization string) bool {
	token, bearer := strings.CutPrefix(authorization, "Bearer "+tokenPrefix)
	text, err := base64.RawURLEncoding.DecodeString(token)
	asked, errURL := url.Parse(string(text))
	return bearer && err == nil && errURL == nil && asked.Query().Get("cluster") == c.name
}

const (
	tokenPrefix = "k8s-aws-v1."
	tokenLife   = 14 * time.Minute
)

// GetToken answers as `aws eks get-token` does. The real token is a signed address of STS, with the cluster's name in a
// header; this one has it in the address, and no signature.
// https://github.com/kubernetes-sigs/aws-iam-authenticator#api-authorization-from-outside-a-cluster
func GetToken(args []string) (string, error) {
	if len(args) < 2 || args[0] != "eks" || args[1] != "get-token" {
		return "", fmt.Errorf("the sandbox's aws command knows `aws eks get-token` alone (found %q)", args)
	}
	given := map[string]string{}
	for i := 2; i+1 < len(args); i += 2 {
		given[args[i]] = args[i+1]
	}
	if given["--cluster-name"] == "" || given["--region"] == "" {
		return "", fmt.Errorf("aws eks get-token needs --cluster-name and --region (found %q)", args)
	}
	address := fmt.Sprintf("https://sts.%s.amazonaws.com/?Action=GetCallerIdentity&cluster=%s", given["--region"],
		url.QueryEscape(given["--cluster-name"]))
	text, err := json.Marshal(object{
		"apiVersion": "client.authentication.k8s.io/v1",
		"kind":       "ExecCredential",
		"spec":       map[string]any{},
		"status": map[string]any{
			"token":               tokenPrefix + base64.RawURLEncoding.EncodeToString([]byte(address)),
			"expirationTimestamp": world.Now().Add(tokenLife),
		},
	})
	return string(text), err
}

func status(code int, message string) (int, object) {
	return code, object{"apiVersion": "v1", "kind": "Status", "metadata": map[string]any{}, "status": "Failure",
		"message": message, "code": code}
}
