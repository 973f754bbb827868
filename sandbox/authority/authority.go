// Package authority gives the clusters of the simulated account their certificates.
//
// It owns who signs for a cluster's API server. Everything follows from the cluster's name, so that every process of
// the sandbox has the same: the keys guard nothing.
package authority

import (
	"crypto/ed25519"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"time"
)

// Of a cluster is the certificate, in PEM, that a kubeconfig has to trust.
func Of(cluster string) ([]byte, error) {
	der, err := root(cluster)
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), err
}

// Server is what the API server of a cluster shows under a host name.
func Server(cluster, host string) (*tls.Certificate, error) {
	signer, err := root(cluster)
	if err != nil {
		return nil, err
	}
	parent, err := x509.ParseCertificate(signer)
	if err != nil {
		return nil, err
	}
	template := lasting(host)
	template.DNSNames = []string{host}
	template.KeyUsage = x509.KeyUsageDigitalSignature
	template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
	own := key("server/" + host)
	der, err := x509.CreateCertificate(rand.Reader, template, parent, own.Public(), key(cluster))
	if err != nil {
		return nil, fmt.Errorf("certificate of %s: %w", host, err)
	}
	return &tls.Certificate{Certificate: [][]byte{der}, PrivateKey: own}, nil
}

func root(cluster string) ([]byte, error) {
	template := lasting("sandbox " + cluster)
	template.IsCA, template.BasicConstraintsValid = true, true
	template.KeyUsage = x509.KeyUsageCertSign
	own := key(cluster)
	return x509.CreateCertificate(rand.Reader, template, template, own.Public(), own)
}

// key of a name. Ed25519 signs the same text with the same signature.
func key(name string) ed25519.PrivateKey {
	seed := sha256.Sum256([]byte("headroom sandbox " + name))
	return ed25519.NewKeyFromSeed(seed[:])
}

func lasting(name string) *x509.Certificate {
	return &x509.Certificate{
		SerialNumber: big.NewInt(1),
		Subject:      pkix.Name{CommonName: name},
		NotBefore:    time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC),
		NotAfter:     time.Date(2120, 1, 1, 0, 0, 0, 0, time.UTC),
	}
}
