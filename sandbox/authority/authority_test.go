package authority

import (
	"bytes"
	"crypto/x509"
	"testing"
)

func TestAClusterKeepsItsCertificateAndVouchesForItsOwnServerAlone(t *testing.T) {
	first, err := Of("a")
	if err != nil {
		t.Fatal(err)
	}
	if again, err := Of("a"); err != nil || !bytes.Equal(first, again) {
		t.Errorf("another one the second time: %v", err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(first)
	for cluster, trusted := range map[string]bool{"a": true, "b": false} {
		shown, err := Server(cluster, "api.example")
		if err != nil {
			t.Fatal(err)
		}
		leaf, err := x509.ParseCertificate(shown.Certificate[0])
		if err != nil {
			t.Fatal(err)
		}
		if _, err := leaf.Verify(x509.VerifyOptions{Roots: roots, DNSName: "api.example"}); (err == nil) != trusted {
			t.Errorf("server of %s: %v", cluster, err)
		}
	}
}
