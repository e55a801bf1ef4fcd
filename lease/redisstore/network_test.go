package redisstore

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"io/fs"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/randflake/randflake/lease"
)

// A wire is a connection that counts round trips, and that can lose replies.
type wire struct {
	net.Conn
	*wires
	wrote bool // something was sent since the last reply
}

type wires struct {
	trips atomic.Int64
	// lose cuts the connection once the server has a request that contains the words, and before its reply
	// is seen.
	lose atomic.Pointer[string]
	cut  atomic.Int64
}

func (w *wires) options(addr string) *redis.Options {
	dialer := net.Dialer{}
	return &redis.Options{
		Addr: addr, ContextTimeoutEnabled: true,
		Dialer: func(ctx context.Context, network, addr string) (net.Conn, error) {
			conn, err := dialer.DialContext(ctx, network, addr)
			return &wire{Conn: conn, wires: w}, err
		},
	}
}

func (w *wire) Write(b []byte) (int, error) {
	if !w.wrote {
		w.wrote = true
		w.trips.Add(1)
	}
	n, err := w.Conn.Write(b)
	if words := w.lose.Load(); words != nil && strings.Contains(string(b), *words) {
		w.cut.Add(1)
		w.Conn.Read(make([]byte, 1)) // the server has done it
		w.Conn.Close()
	}
	return n, err
}

func (w *wire) Read(b []byte) (int, error) {
	w.wrote = false
	return w.Conn.Read(b)
}

// on opens a store through w.
func on(t testing.TB, w *wires, server string, config Config, opts ...Option) *Store {
	t.Helper()
	client := redis.NewClient(w.options(server))
	t.Cleanup(func() { client.Close() })
	s, err := CreateOn(t.Context(), client, config, append(opts, WithRules(testRules), ForNewSecret())...)
	mustDo(t, err)
	return s
}

// TestOneRoundTripAndOneCommit: each call sends one request, and Redis writes one transaction.
func TestOneRoundTripAndOneCommit(t *testing.T) {
	server := startServer(t)
	w := new(wires)
	s := on(t, w, server.Addr(), Config{})
	commits := func() int {
		files, err := filepath.Glob(filepath.Join(server.Dir(), "appendonlydir", "*.incr.aof"))
		mustDo(t, err)
		n := 0
		for _, file := range files {
			content, err := os.ReadFile(file)
			mustDo(t, err)
			transactions, states := strings.Count(string(content), "MULTI"), strings.Count(string(content), s.keys[0]+"\r\n")
			n += max(transactions, states) // a commit is one transaction, and has the meta key in it once
		}
		return n
	}
	var held lease.Record
	var err error
	for _, tt := range []struct {
		name    string
		commits int
		call    func()
	}{
		{"Acquire", 1, func() { held, err = s.Acquire(t.Context(), oneMinute) }},
		{"Renew", 1, func() { held, err = s.Renew(t.Context(), held, time.Minute) }},
		{"Lookup", 1, func() { held, err = s.Lookup(t.Context(), held) }},
		{"List", 0, func() { _, err = s.List(t.Context()) }},
		{"Release", 1, func() { err = s.Release(t.Context(), held, time.Now()) }},
		{"Renew of a lost lease", 0, func() { _, err = s.Renew(t.Context(), held, time.Minute); err = nil }},
	} {
		trips, before := w.trips.Load(), commits()
		tt.call()
		mustDo(t, err)
		if got := w.trips.Load() - trips; got != 1 {
			t.Errorf("%s: %d round trips, want 1", tt.name, got)
		}
		if got := commits() - before; got != tt.commits {
			t.Errorf("%s: %d commits, want %d", tt.name, got, tt.commits)
		}
	}
}

// TestLostReplies: the call takes effect once, also with a client that sends again what failed, and
// Lookup tells.
func TestLostReplies(t *testing.T) {
	w := new(wires)
	s := on(t, w, shared.Addr(), Config{Prefix: "{lost replies}"})
	lose := func(op string) {
		words := `"op":"` + op + `"`
		w.lose.Store(&words)
	}
	held := acquire(t, s, oneMinute)

	lose("renew")
	_, err := s.Renew(t.Context(), held, 90*time.Second)
	if err == nil || errors.Is(err, lease.ErrLost) {
		t.Errorf("Renew, reply lost: error %v, want one of unknown outcome", err)
	}
	w.lose.Store(nil)
	if _, err := s.Renew(t.Context(), held, time.Minute); !errors.Is(err, lease.ErrLost) {
		t.Errorf("Renew of the version before: error %v, want ErrLost", err)
	}
	got, err := s.Lookup(t.Context(), held)
	if err != nil || got.Version != held.Version+1 || got.HighWater <= held.HighWater {
		t.Errorf("Lookup: %+v, %v, want one renewal of %+v", got, err, held)
	}

	lose("acquire")
	if _, err := s.Acquire(t.Context(), oneMinute); err == nil {
		t.Error("Acquire, reply lost: no error")
	}
	w.lose.Store(nil)
	if records, err := s.List(t.Context()); err != nil || len(records) != 2 {
		t.Errorf("%d records, %v, want 2: the call must not be sent twice", len(records), err)
	}
	if n := w.cut.Load(); n != 2 {
		t.Errorf("%d replies lost, want 2", n)
	}
}

// TestForgottenScript: a server that was restarted or flushed knows no scripts.
func TestForgottenScript(t *testing.T) {
	s, _ := create(t, startServer(t).URL())
	held := acquire(t, s, oneMinute)
	mustDo(t, s.client.ScriptFlush(t.Context()).Err())
	if _, err := s.Renew(t.Context(), held, time.Minute); err != nil {
		t.Errorf("Renew: %v", err)
	}
}

// TestCancelledInTheMiddle: a call returns with its context, though the server hangs.
func TestCancelledInTheMiddle(t *testing.T) {
	server := startServer(t)
	s, _ := create(t, server.URL())
	held := acquire(t, s, oneMinute)
	mustDo(t, server.Pause())
	for _, limit := range []func() (context.Context, context.CancelFunc){
		func() (context.Context, context.CancelFunc) {
			return context.WithTimeout(t.Context(), 20*time.Millisecond)
		},
		func() (context.Context, context.CancelFunc) {
			ctx, cancel := context.WithCancel(t.Context())
			time.AfterFunc(20*time.Millisecond, cancel)
			return ctx, cancel
		},
	} {
		ctx, cancel := limit()
		_, renewErr := s.Renew(ctx, held, time.Minute)
		_, listErr := s.List(ctx)
		<-ctx.Done()
		if !errors.Is(renewErr, ctx.Err()) || !errors.Is(listErr, ctx.Err()) {
			t.Errorf("Renew: error %v, List: error %v, want %v", renewErr, listErr, ctx.Err())
		}
		cancel()
	}
	mustDo(t, server.Resume())
	if got, err := s.Lookup(t.Context(), held); err != nil || got.Owner != held.Owner {
		t.Errorf("Lookup: %+v, %v", got, err)
	}
}

func TestClose(t *testing.T) {
	s, _ := create(t, newPlace())
	held := acquire(t, s, oneMinute)
	given, err := New(t.Context(), s.client, s.config)
	mustDo(t, err)
	mustDo(t, given.Close())
	if _, err := s.Renew(t.Context(), held, time.Minute); err != nil {
		t.Errorf("the client was closed with a store that was given it: %v", err)
	}
	mustDo(t, s.Close())
	mustDo(t, s.Close())
	if err := s.client.Ping(t.Context()).Err(); !errors.Is(err, redis.ErrClosed) {
		t.Errorf("the client outlives the store: %v", err)
	}
	_, acquireErr := s.Acquire(t.Context(), oneMinute)
	_, renewErr := s.Renew(t.Context(), held, time.Minute)
	_, lookupErr := s.Lookup(t.Context(), held)
	_, listErr := s.List(t.Context())
	_, _, limitsErr := s.Limits(t.Context())
	for _, err := range []error{acquireErr, renewErr, lookupErr, listErr, limitsErr, s.Release(t.Context(), held, noon), s.Distrust(t.Context())} {
		if !errors.Is(err, fs.ErrClosed) {
			t.Errorf("error %v, want ErrClosed", err)
		}
	}
}

// TestCloseUnderCallers: calls that are under way fail in good order.
func TestCloseUnderCallers(t *testing.T) {
	s, _ := create(t, newPlace())
	var wg sync.WaitGroup
	started := make(chan struct{}, 4)
	for range 4 {
		wg.Go(func() {
			for first := true; ; first = false {
				_, err := s.Acquire(t.Context(), oneMinute)
				if first {
					started <- struct{}{}
				}
				if err == nil {
					continue
				}
				if !errors.Is(err, fs.ErrClosed) && !errors.Is(err, net.ErrClosed) {
					t.Errorf("error %v, want ErrClosed", err)
				}
				return
			}
		})
	}
	for range 4 {
		<-started
	}
	mustDo(t, s.Close())
	wg.Wait()
}

// TestTLS: both sides prove who they are by a certificate that no system trusts.
func TestTLS(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	cert, key := selfSigned(t, dir)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	mustDo(t, err)
	addr := l.Addr().String()
	_, port, _ := net.SplitHostPort(addr)
	mustDo(t, l.Close())
	startServer(t, "--tls-port", port, "--tls-cert-file", cert, "--tls-key-file", key, "--tls-ca-cert-file", cert)
	url := "rediss://" + addr
	if _, err := Create(t.Context(), url); err == nil || !strings.Contains(err.Error(), "x509") && !strings.Contains(err.Error(), "certificate") {
		t.Errorf("unknown authority: error %v, want one about the certificate", err)
	}
	if _, err := Create(t.Context(), url+"?ca="+cert); err == nil {
		t.Error("no certificate of the client's: no error")
	}
	s, err := Create(t.Context(), url+"?ca="+cert+"&cert="+cert+"&key="+key, ForNewSecret())
	mustDo(t, err)
	defer s.Close()
	acquire(t, s, oneMinute)
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
