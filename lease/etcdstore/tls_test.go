package etcdstore

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/randflake/randflake/lease/etcdstore/etcdtest"
)

// An authority signs certificates.
type authority struct {
	dir, name string
	cert      *x509.Certificate
	key       *ecdsa.PrivateKey
}

func newAuthority(t *testing.T, dir, name string) *authority {
	t.Helper()
	a := &authority{dir: dir, name: name}
	a.cert, a.key = a.issue(t, name, &x509.Certificate{
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	})
	return a
}

// file returns the path of the certificate or the key of that name.
func (a *authority) file(name string) string { return filepath.Join(a.dir, name+".pem") }

// issue writes a certificate and its key.
func (a *authority) issue(t *testing.T, name string, cert *x509.Certificate) (*x509.Certificate, *ecdsa.PrivateKey) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	cert.SerialNumber = big.NewInt(time.Now().UnixNano())
	cert.Subject = pkix.Name{CommonName: name}
	cert.NotBefore, cert.NotAfter = time.Now().Add(-time.Hour), time.Now().Add(time.Hour)
	signer, signerKey := a.cert, a.key
	if signer == nil {
		signer, signerKey = cert, key
	}
	der, err := x509.CreateCertificate(rand.Reader, cert, signer, &key.PublicKey, signerKey)
	if err != nil {
		t.Fatal(err)
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	a.write(t, name, "CERTIFICATE", der)
	a.write(t, name+"-key", "PRIVATE KEY", keyDER)
	parsed, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return parsed, key
}

func (a *authority) write(t *testing.T, name, kind string, der []byte) {
	t.Helper()
	content := pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
	if err := os.WriteFile(a.file(name), content, 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestTLS: the server must prove who it is, and so must the client.
func TestTLS(t *testing.T) {
	ca := newAuthority(t, t.TempDir(), "ca")
	stranger := newAuthority(t, t.TempDir(), "stranger")
	ca.issue(t, "server", &x509.Certificate{
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, DNSNames: []string{"etcd.example"},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	})
	client := &x509.Certificate{ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}}
	ca.issue(t, "client", client)
	stranger.issue(t, "client", client)
	cluster := startCluster(t, 1, &etcdtest.TLS{Cert: ca.file("server"), Key: ca.file("server-key"), CA: ca.file("ca")})

	base := "etcds://" + cluster.Hosts() + "/?dial-timeout=1s"
	trust := base + "&ca=" + ca.file("ca")
	good := trust + "&cert=" + ca.file("client") + "&key=" + ca.file("client-key")
	s, clock := create(t, good)
	held := acquire(t, s, oneMinute)
	renew(t, open(t, good+"&server-name=etcd.example", clock), held)

	var wg sync.WaitGroup
	defer wg.Wait()
	for name, tt := range map[string]struct{ url, says string }{
		"unknown authority":           {base + "&cert=" + ca.file("client") + "&key=" + ca.file("client-key"), "x509"},
		"wrong authority":             {base + "&ca=" + stranger.file("stranger") + "&cert=" + ca.file("client") + "&key=" + ca.file("client-key"), "x509"},
		"wrong name":                  {good + "&server-name=elsewhere.example", "elsewhere.example"},
		"no client certificate":       {trust, ""},
		"client of a stranger":        {trust + "&cert=" + stranger.file("client") + "&key=" + stranger.file("client-key"), ""},
		"no TLS where the server has": {"etcd://" + cluster.Hosts(), ""},
	} {
		wg.Go(func() {
			s, err := Open(t.Context(), tt.url)
			if err == nil {
				s.Close()
				t.Errorf("%s: connected", name)
			} else if !strings.Contains(err.Error(), tt.says) {
				t.Errorf("%s: error %q does not say %q", name, err, tt.says)
			}
		})
	}
}
