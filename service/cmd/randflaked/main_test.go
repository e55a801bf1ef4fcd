package main

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"net/http"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"sync"
	"testing"
	"time"

	"connectrpc.com/connect"

	"github.com/randflake/randflake/internal/test/require"
	"github.com/randflake/randflake/internal/test/servers"
	"github.com/randflake/randflake/lease/local"
	api "github.com/randflake/randflake/service/client/api/randflake/v1"
	"github.com/randflake/randflake/service/client/api/randflake/v1/randflakev1connect"
	"github.com/randflake/randflake/service/internal/config"
)

type buffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

// A process is a running service.
type process struct {
	*daemon
	written      *buffer
	stop, reload chan os.Signal
	ended        chan error
	gone         chan struct{}
}

// start starts a service, with the usual limits as changed, and waits until it is ready.
func start(
	t *testing.T,
	read func() (*config.Config, error),
	client *http.Client,
	changed ...func(*limits),
) *process {
	t.Helper()
	b := usual
	b.leave = time.Second
	b.drain = 300 * time.Millisecond
	b.renewal = 10 * time.Millisecond
	for _, change := range changed {
		change(&b)
	}
	p := &process{
		written: new(buffer),
		stop:    make(chan os.Signal, 1),
		reload:  make(chan os.Signal),
		ended:   make(chan error, 1),
		gone:    make(chan struct{}),
	}
	p.daemon = &daemon{
		read:   read,
		logger: slog.New(slog.NewJSONHandler(p.written, nil)),
		stderr: p.written,
		limits: b,
	}
	must(t, p.start())
	go func() {
		p.ended <- p.run(p.stop, p.reload)
		close(p.gone)
	}()
	t.Cleanup(func() {
		select {
		case p.stop <- os.Interrupt:
		default:
		}
		<-p.gone
	})
	for {
		a, err := client.Get(p.url + "/readyz")
		must(t, err)
		a.Body.Close()
		if a.StatusCode == http.StatusOK {
			return p
		}
		time.Sleep(time.Millisecond)
	}
}

// must ends a test on an error.
var must = require.NoError

// TestDev: IDs come by JSON, gRPC and gRPC-Web.
func TestDev(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "state")
	p := start(t, func() (*config.Config, error) { return demo(dir, "localhost:0") }, http.DefaultClient)
	protocols := new(http.Protocols)
	protocols.SetUnencryptedHTTP2(true)
	plain2 := &http.Client{Transport: &http.Transport{Protocols: protocols}}
	defer plain2.CloseIdleConnections()
	seen := map[string]bool{}
	counts := []uint32{1000, 1000, 65536} // as many as there can be
	for i, c := range []randflakev1connect.IDServiceClient{
		randflakev1connect.NewIDServiceClient(http.DefaultClient, p.url, connect.WithProtoJSON()),
		randflakev1connect.NewIDServiceClient(http.DefaultClient, p.url, connect.WithGRPCWeb()),
		randflakev1connect.NewIDServiceClient(plain2, p.url, connect.WithGRPC()),
	} {
		a, err := c.Mint(t.Context(), &api.MintRequest{Space: "demo", Count: counts[i]})
		require.Must(t, err == nil, "protocol %d: %v", i, err)
		for _, id := range a.Ids {
			seen[id] = true
		}
	}
	require.Equal(t, len(seen), 67536, "different IDs")
	http.DefaultClient.CloseIdleConnections()
	p.stop <- os.Interrupt
	must(t, <-p.ended)
	secret, err := local.ReadSecret(filepath.Join(dir, "secret"))
	require.That(t, err == nil && !strings.Contains(p.written.String(), secret.Hex()),
		"the secret was written, or error %v", err)
}

// An authority signs certificates, and writes them to files.
type authority struct {
	*testing.T
	*servers.Authority
	dir string
}

func newAuthority(t *testing.T) *authority {
	a := &authority{t, servers.NewAuthority(), t.TempDir()}
	a.save("ca", a.Certificate)
	return a
}

// sign makes a key and a certificate, and writes both to files.
func (a *authority) sign(name string, change ...func(*x509.Certificate)) tls.Certificate {
	pair := a.Sign(time.Hour, []string{name}, change...)
	a.save(name, pair)
	return pair
}

func (a *authority) save(name string, pair tls.Certificate) {
	key, err := x509.MarshalPKCS8PrivateKey(pair.PrivateKey)
	require.NoError(a, err)
	a.write(name+".pem", string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: pair.Certificate[0]})))
	a.write(name+".key", string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: key})))
}

func (a *authority) write(name, text string) string {
	file := filepath.Join(a.dir, name)
	require.NoError(a, os.WriteFile(file, []byte(text), 0o600))
	return file
}

// client returns one that trusts the authority, and has a certificate of name unless that is empty.
func (a *authority) client(name string) *http.Client {
	conf := &tls.Config{RootCAs: servers.Pool(a.Authority)}
	if name != "" {
		conf.Certificates = []tls.Certificate{a.sign(name)}
	}
	transport := &http.Transport{TLSClientConfig: conf, ForceAttemptHTTP2: true}
	a.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}

// TestTokenIsLost: no token is made if standard output was closed, which Go replaces by a null
// device that can be read too.
func TestTokenIsLost(t *testing.T) {
	closed, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	must(t, err)
	defer closed.Close()
	require.ErrorIs(t, run([]string{"token"}, closed, io.Discard), os.ErrClosed, "token")
	must(t, run([]string{"version"}, closed, io.Discard)) // its status alone may be of use
}

// TestMutualTLS: over TLS a certificate gets IDs, and so does a token; and no secret is written anywhere.
func TestMutualTLS(t *testing.T) {
	a := newAuthority(t)
	a.sign("server")
	dir := filepath.Join(a.dir, "state")
	require.Done(t)(local.Create(dir))
	var made bytes.Buffer
	must(t, run([]string{"token"}, &made, &made))
	words := strings.Fields(made.String())
	token, hash := words[1], words[3]
	text := fmt.Sprintf(`listen: localhost:0
audit: {file: %[1]s/audit.log, mint: true}
tls: {certificate: %[1]s/server.pem, key: %[1]s/server.key, clientCA: %[1]s/ca.pem}
spaces: [{name: shop, kind: randflake, store: "file:%[2]s", secretFile: "%[2]s/secret"}]
principals:
- {name: web, certificates: {dns: [web.example]}}
- {name: cron, tokenHashes: [%[3]s]}
rules:
- {principals: [web, cron], spaces: [shop], verbs: [mint]}
`, a.dir, dir, hash)
	file := a.write("randflaked.yaml", text)
	must(t, run([]string{"check", "--config", file}, &made, &made))
	closed, err := os.Open(file)
	must(t, errors.Join(err, closed.Close()))
	require.ErrorIs(t, run([]string{"check", "--config", file}, closed, &made), os.ErrClosed, "a check that can't say ok")
	a.write("large", strings.Repeat("-", 1<<20+1))
	for _, c := range []struct{ old, new, want string }{
		{dir + "/secret", dir + "/missing", "space shop: "},
		{"file:" + dir, "file:" + dir + "-missing", "space shop: "},
		{"/audit.log", "/missing/audit.log", "audit: the directory: "},
		{"/audit.log", "/state", "/state is a directory: want a file"},
		{"/server.pem", "/large", "tls: certificate and key: read " + a.dir + "/large: more than"},
		{"/server.key", "/large", "tls: certificate and key: read " + a.dir + "/large: more than"},
	} {
		wrong := a.write("wrong.yaml", strings.Replace(text, c.old, c.new, 1))
		err := run([]string{"check", "--config", wrong}, &made, &made)
		require.That(t, err != nil && strings.Count(err.Error(), c.want) == 1,
			"a check with %s for %s: error %v, want %s once", c.new, c.old, err, c.want)
	}
	web, anonymous := a.client("web.example"), a.client("")
	p := start(t, func() (*config.Config, error) { return config.Read(file) }, anonymous)

	must(t, run([]string{"ready", "--ca", a.dir + "/ca.pem", p.url}, &made, &made))
	for _, ca := range []string{file, newAuthority(t).dir + "/ca.pem"} {
		require.That(t, run([]string{"ready", "--ca", ca, p.url}, &made, &made) != nil,
			"ready by the authority of %s: no error", ca)
	}

	mint := func(client *http.Client, token string) connect.Code {
		c := randflakev1connect.NewIDServiceClient(client, p.url, connect.WithGRPC())
		ctx, info := connect.NewClientContext(t.Context())
		if token != "" {
			info.RequestHeader().Set("Authorization", "Bearer "+token)
		}
		_, err := c.Mint(ctx, &api.MintRequest{Space: "shop"})
		if err == nil {
			return 0
		}
		return connect.CodeOf(err)
	}
	secret, err := local.ReadSecret(filepath.Join(dir, "secret"))
	must(t, err)
	require.Equal(t, mint(web, ""), 0, "an ID by certificate: code")
	require.Equal(t, mint(anonymous, ""), connect.CodeUnauthenticated, "an ID without a certificate: code")
	code := mint(newAuthority(t).client("web.example"), "")
	require.That(t, code != 0, "a certificate of another authority did")
	require.Equal(t, mint(anonymous, token), 0, "an ID by token: code")
	require.Equal(t, mint(anonymous, hash), connect.CodeUnauthenticated, "an ID by the hash of a token: code")

	p.stop <- os.Interrupt
	must(t, <-p.ended)
	audit, err := os.ReadFile(filepath.Join(a.dir, "audit.log"))
	require.That(t, err == nil && strings.Contains(string(audit), `"msg":"mint","principal":"web"`),
		"audit log %s, error %v", audit, err)
	for _, hidden := range []string{secret.Hex(), token, hash} {
		require.That(t, !strings.Contains(p.written.String()+string(audit), hidden),
			"a secret, token or hash was written")
	}
}

// TestUsage: what can't be meant is refused, with what can. A value, which may be a password, is in
// the error alone, as main takes passwords out of that.
func TestUsage(t *testing.T) {
	for _, args := range [][]string{
		nil,
		{"--dev", "--config", "x"},
		{"--config", "x", "--listen", "y"},
		{"--dev", "more"},
		{"--dev", "--dir", t.TempDir() + "/x", "--listen", ":8080"},
		{"serve"},
		{"check"},
		{"check", "--config", "no/such/file"},
		{"ready"},
		{"token", "x"},
		{"token", "--long"},
		{"--dev=hunter2"},
		{"check", "--offline=hunter2"},
		{"ready", "--timeout", "hunter2", "URL"},
		{"version", "now"},
	} {
		var out bytes.Buffer
		err := run(args, &out, &out)
		require.That(t, err != nil && !strings.Contains(out.String(), "hunter2"), "%q: %v, %s", args, err, &out)
	}
}

// TestMemory: a limit that isn't a number of bytes is refused, as otherwise there would be none.
func TestMemory(t *testing.T) {
	t.Setenv("GOGC", "100") // which stays
	t.Setenv("GOMEMLIMIT", "")
	before := debug.SetMemoryLimit(-1)
	defer debug.SetMemoryLimit(before)
	for text, limit := range map[string]int64{
		"":              math.MaxInt64,
		"1000000000000": 900_000_000_000,
		"1000":          900,
		"512Mi":         0, // refused
		"512MiB":        0,
		"+1":            0,
		"0":             0,
		"-1":            0,

		"9223372036854775808": 0,
	} {
		debug.SetMemoryLimit(math.MaxInt64)
		t.Setenv("RANDFLAKED_MEMORY", text)
		err := tuneMemory()
		if limit == 0 && (err == nil || !strings.Contains(err.Error(), "want bytes in digits")) {
			t.Errorf("RANDFLAKED_MEMORY=%q: error %v", text, err)
		}
		if set := debug.SetMemoryLimit(-1); limit != 0 && (err != nil || set != limit) {
			t.Errorf("RANDFLAKED_MEMORY=%q: a limit of %d, error %v, want %d", text, set, err, limit)
		}
	}
}

// TestRedactedLog: an error is logged without the passwords of URLs, whatever it is about.
func TestRedactedLog(t *testing.T) {
	var b bytes.Buffer
	logger := slog.New(slog.NewJSONHandler(&b, &slog.HandlerOptions{ReplaceAttr: redacted}))
	logger.Error("x", "error", fmt.Errorf("open %s", "redis://u:hunter2@h"))
	logger.Error("x", "error", "lookup of postgres://h/db?password=hunter2")
	if strings.Contains(b.String(), "hunter2") || strings.Count(b.String(), "xxxxx") != 2 {
		t.Error(b.String())
	}
}
