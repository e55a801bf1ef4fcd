package redisstore

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/randflake/randflake/internal/servers"
	"github.com/randflake/randflake/store"
)

// through returns a proxy to the server, and an engine that reaches it that way.
func through(t *testing.T, addr string, config Config) (*servers.Proxy, *Engine) {
	t.Helper()
	proxy, err := servers.StartProxy(addr)
	mustDo(t, err)
	t.Cleanup(proxy.Close)
	client := redis.NewClient(&redis.Options{Addr: proxy.Addr(), ContextTimeoutEnabled: true})
	t.Cleanup(func() { client.Close() })
	e, err := New(t.Context(), client, config)
	mustDo(t, err)
	mustDo(t, e.Prepare(t.Context()))
	return proxy, e
}

// TestOneRoundTrip: each call sends one request, once Redis knows the scripts, and another when it forgot them.
func TestOneRoundTrip(t *testing.T) {
	server := startServer(t)
	proxy, e := through(t, server.Addr(), Config{})
	swap := func() { put(t, e, "a", "1") }
	for _, tt := range []struct {
		name  string
		trips int64
		call  func()
	}{
		{"Read", 1, func() { read(t, e, "a") }},
		{"Swap", 1, swap},
		{"Swap of a forgotten script", 2, func() { mustDo(t, newClient(t, server).ScriptFlush(t.Context()).Err()); swap() }},
		{"Swap again", 1, swap},
	} {
		before := proxy.Requests()
		tt.call()
		if got := proxy.Requests() - before; got != tt.trips {
			t.Errorf("%s: %d round trips, want %d", tt.name, got, tt.trips)
		}
	}
}

// TestLostReply: a Swap takes effect once, also with a client that sends again what failed.
func TestLostReply(t *testing.T) {
	proxy, e := through(t, shared.Addr(), newPlace())
	before := put(t, e, "a", "1")
	proxy.LoseReply("\r\nswap\r\n")
	_, err := e.Swap(t.Context(), entry("a", "1"), entry("a", "2"))
	wantError(t, "Swap", err, nil)
	if value, now := read(t, e, "a"); value != "2" || now.Position != before.Position+1 || !proxy.Lost() {
		t.Errorf("%q, %+v, reply lost %v: want 2, and one swap more than %+v", value, now, proxy.Lost(), before.Evidence)
	}
}

// TestClients: an engine closes its client if it made it, and takes only those that it knows.
func TestClients(t *testing.T) {
	e := prepare(t, shared, newPlace())
	mustDo(t, e.Close())
	mustDo(t, e.client.Ping(t.Context()).Err())
	ring := redis.NewRing(&redis.RingOptions{})
	defer ring.Close()
	_, err := New(t.Context(), ring, Config{})
	wantError(t, "New on a ring", err, nil, "Ring")
}

// TestTLS: both sides prove who they are by a certificate that no system trusts.
func TestTLS(t *testing.T) {
	t.Parallel()
	cert, key := selfSigned(t, t.TempDir())
	port, err := servers.FreePort()
	mustDo(t, err)
	startServer(t, "--tls-port", fmt.Sprint(port), "--tls-cert-file", cert, "--tls-key-file", key, "--tls-ca-cert-file", cert)
	url := fmt.Sprintf("rediss://127.0.0.1:%d", port)
	_, err = Create(t.Context(), url)
	wantError(t, "unknown authority", err, nil, "certificate")
	_, err = Create(t.Context(), url+"?ca="+cert)
	wantError(t, "no certificate of the client's", err, nil, "certificate")
	s, err := Create(t.Context(), url+"?ca="+cert+"&cert="+cert+"&key="+key, store.ForNewSecret())
	mustDo(t, err)
	mustDo(t, s.Close())
}

func selfSigned(t *testing.T, dir string) (certFile, keyFile string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	mustDo(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	mustDo(t, err)
	keyDER, err := x509.MarshalPKCS8PrivateKey(key)
	mustDo(t, err)
	certFile, keyFile = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	mustDo(t, os.WriteFile(certFile, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600))
	mustDo(t, os.WriteFile(keyFile, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: keyDER}), 0o600))
	return certFile, keyFile
}
