//go:build linux

package pgstore

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"log/slog"
	"math/big"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/randflake/randflake/internal/engines"
	"github.com/randflake/randflake/lease"
	"github.com/randflake/randflake/lease/leasetest"
)

func TestURLErrors(t *testing.T) {
	server := sharedServer(t)
	u, err := url.Parse(server.URL())
	must(t, err)
	password, _ := u.User.Password()
	for _, tt := range []struct{ url, want string }{
		{"", "want postgres://"},
		{"host=db user=app password=" + password, "want postgres://"},
		{"redis://app:" + password + "@db", "want postgres://"},
		{"postgres://app:" + password + "@db/x?shcema=leases", `unknown parameter "shcema"`},
		{"postgres://app:" + password + "@db/x?work_mem=1GB", `unknown parameter "work_mem"`},
		{"postgres://app:" + password + "@db/x?default_query_exec_mode=exec", `unknown parameter "default_query_exec_mode"`},
		{"postgres://app:" + password + "@db/x?recovery=yes", `recovery "yes": want "trusted"`},
		{"postgres://app:" + password + "@db/x?schema=", `schema "": want a name`},
		{"postgres://app:" + password + "@db/x?schema=pg_x", `schema "pg_x"`},
		{"postgres://app:" + password + "@db/x?sch%ZZma=1", "not encoded"},
		{"postgres://app:" + password + "@db/x?sslmode=sometimes", "sslmode"},
		{"postgres://app:" + password + "@db:port/x", "want postgres://"},
		{"postgres://app:x?" + password + "@db/x", "@ after the host"},
		{"postgres://app:1/" + password + "@db/x", "@ after the host"},
		{"postgres://app:x?sslmode=" + password + "@db/x", "@ after the host"},
		{"postgres://app:x#" + password + "@db/x", "@ after the host"},
		{"postgres://app@" + password + ":db/x?sslmode=disable", "want postgres://"},
		{"postgres://app:" + password + "/x?pool_max_conns=none", "want postgres://"},
		{"postgres://app:" + password + "@db/x?password=" + password + "&pool_max_conns=none", "pool_max_conns"},
		{strings.Replace(server.URL(), password, password+"-not", 1), "password authentication failed"},
		{strings.Replace(server.URL(), fmt.Sprint(server.Port()), "1", 1), "connect"},
		{server.URL(), "no store"},
	} {
		for name, call := range map[string]func(context.Context, string, ...Option) (*Store, error){"Open": Open, "Create": Create} {
			if name == "Create" && tt.want == "no store" {
				continue
			}
			_, err := call(t.Context(), tt.url)
			shown := fmt.Sprintf("%v %+v %#v", err, err, err == nil)
			var logged bytes.Buffer
			slog.New(slog.NewJSONHandler(&logged, nil)).Error("opening", "err", err)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%s %s: error %v, want %q", name, strings.ReplaceAll(tt.url, password, "..."), err, tt.want)
			}
			if strings.Contains(shown+logged.String(), password) {
				t.Errorf("%s %s: the error shows the password", name, strings.ReplaceAll(tt.url, password, "..."))
			}
		}
	}
}

func TestURLParameters(t *testing.T) {
	pool, config, err := parseURL("postgresql://a:b@h1:1,h2:2/d?sslmode=disable&schema=le%20ases&pool_max_conns=7&recovery=trusted&target_session_attrs=read-write")
	if err != nil || config != (Config{"le ases", true}) || pool.MaxConns != 7 || pool.ConnConfig.Host != "h1" || len(pool.ConnConfig.Fallbacks) != 1 || len(pool.ConnConfig.RuntimeParams) != 0 {
		t.Errorf("parsed to %+v, %+v, %v", pool, config, err)
	}
}

func TestSchemaOf(t *testing.T) {
	for url, want := range map[string]string{
		"postgres://u@h/d": DefaultSchema,
		"postgres://u@h/d?sslmode=disable&schema=le%20ases": "le ases",
	} {
		if got, err := SchemaOf(url); got != want || err != nil {
			t.Errorf("%s: %q, %v, want %q", url, got, err, want)
		}
	}
	for _, url := range []string{"postgres://u@h/d?shcema=s", "postgres://u@h/d?schema=pg_s", "redis://h"} {
		if got, err := SchemaOf(url); err == nil {
			t.Errorf("%s: %q, want an error", url, got)
		}
	}
}

// A countedConn counts how often its user turns from reading to writing.
type countedConn struct {
	net.Conn
	trips   *atomic.Int64
	writing atomic.Bool
}

func (c *countedConn) Write(b []byte) (int, error) {
	if !c.writing.Swap(true) {
		c.trips.Add(1)
	}
	return c.Conn.Write(b)
}

func (c *countedConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	c.writing.Store(false)
	return n, err
}

// counted returns a pool that counts round trips.
func counted(t testing.TB, server *engines.Postgres) (*pgxpool.Pool, *atomic.Int64) {
	t.Helper()
	trips := new(atomic.Int64)
	config, err := pgxpool.ParseConfig(server.URL())
	if err != nil {
		t.Fatal(err)
	}
	// A stall of the test must not look like a cost.
	config.ShouldPing = func(context.Context, pgxpool.ShouldPingParams) bool { return false }
	config.ConnConfig.DialFunc = func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := new(net.Dialer).DialContext(ctx, network, addr)
		return &countedConn{Conn: conn, trips: trips}, err
	}
	pool, err := pgxpool.NewWithConfig(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	return pool, trips
}

// TestCost: a call is one round trip and one durable commit, also where it makes a range. Commits are
// counted in the write-ahead log.
func TestCost(t *testing.T) {
	t.Parallel()
	server := ownServer(t, map[string]string{"autovacuum": "off"})
	where := newURL(t, server)
	create(t, where)
	pool, trips := counted(t, server)
	s, err := New(t.Context(), pool, Config{Schema: strings.Trim(schemaOf(t, where), `"`)})
	must(t, err)
	conn := session(t, server)
	_, err = conn.Exec(t.Context(), "CREATE EXTENSION pg_walinspect")
	must(t, err)
	position := func() (lsn string) {
		must(t, conn.QueryRow(t.Context(), "SELECT pg_current_wal_flush_lsn()::text").Scan(&lsn))
		return lsn
	}
	commits := func(from, to string) (n int64) {
		if from != to {
			must(t, conn.QueryRow(t.Context(), `SELECT count(*) FROM pg_get_wal_records_info($1::pg_lsn, $2::pg_lsn)
				WHERE resource_manager = 'Transaction' AND record_type = 'COMMIT'`, from, to).Scan(&n))
		}
		return n
	}
	var held lease.Record
	for _, tt := range []struct {
		name   string
		writes int64
		call   func() error
	}{
		{"Acquire of new nodes", 1, func() (err error) { held, err = s.Acquire(t.Context(), oneMinute); return err }},
		{"Renew", 1, func() (err error) { held, err = s.Renew(t.Context(), held, time.Minute); return err }},
		{"Lookup", 1, func() error { _, err := s.Lookup(t.Context(), held); return err }},
		{"Release", 1, func() error { return s.Release(t.Context(), held, time.Time{}) }},
		{"Acquire of free nodes", 1, func() (err error) { held, err = s.Acquire(t.Context(), oneMinute); return err }},
		{"List", 0, func() error { _, err := s.List(t.Context()); return err }},
		{"Limits", 0, func() error { _, _, err := s.Limits(t.Context()); return err }},
	} {
		before, from := trips.Load(), position()
		must(t, tt.call())
		if got := trips.Load() - before; got != 1 {
			t.Errorf("%s: %d round trips, want 1", tt.name, got)
		}
		if got := commits(from, position()); got != tt.writes {
			t.Errorf("%s: %d commits, want %d", tt.name, got, tt.writes)
		}
	}
	if held.FirstNode != 0 {
		t.Errorf("the last lease is %+v: not what was free", held)
	}
}

// TestRenewWritesNoIndex: a renewal leaves all indexes alone, so that it stays as cheap as it is.
func TestRenewWritesNoIndex(t *testing.T) {
	server := sharedServer(t)
	where := newURL(t, server)
	s := create(t, where)
	held := acquire(t, s)
	for range 100 {
		var err error
		held, err = s.Renew(t.Context(), held, time.Minute)
		must(t, err)
	}
	s.Close() // its sessions report what they did when they end
	var all, hot int64
	conn := session(t, server)
	for deadline := time.Now().Add(time.Minute); all < 100 && time.Now().Before(deadline); {
		must(t, conn.QueryRow(t.Context(), "SELECT n_tup_upd, n_tup_hot_upd FROM pg_stat_all_tables WHERE relid = $1::text::regclass", schemaOf(t, where)+".ranges").Scan(&all, &hot))
	}
	if all != 100 || hot != all {
		t.Errorf("%d of %d updates wrote no index, want 100 of 100", hot, all)
	}
}

// TestPgBouncer runs the conformance suite, and more clients than there are sessions, through a
// pooler that gives each transaction another session.
func TestPgBouncer(t *testing.T) {
	server := sharedServer(t)
	port := startPgBouncer(t, server)
	through := strings.Replace(server.URL(), fmt.Sprint(":", server.Port()), fmt.Sprint(":", port), 1)
	leasetest.Run(t, leasetest.Harness{New: func(t *testing.T, rules lease.Rules, clock func() time.Time) func() (lease.Store, error) {
		where := newURL(t, server)
		where = strings.Replace(where, server.URL(), through, 1)
		s, err := Create(t.Context(), where, WithRules(rules), WithClock(clock), ForNewSecret())
		if err != nil {
			t.Fatal(err)
		}
		s.Close()
		return func() (lease.Store, error) { return Open(t.Context(), where, WithClock(clock)) }
	}})

	where := strings.Replace(newURL(t, server), server.URL(), through, 1) + "&pool_max_conns=20"
	s := create(t, where)
	var history leasetest.History
	var wg sync.WaitGroup
	for range 60 {
		wg.Go(func() {
			held, err := s.Acquire(t.Context(), oneMinute)
			if err == nil {
				held, err = s.Renew(t.Context(), held, time.Minute)
			}
			if err == nil {
				held, err = s.Lookup(t.Context(), held)
			}
			if err != nil {
				t.Error(err)
			}
			history.Granted(held)
		})
	}
	wg.Wait()
	if err := history.Check(); err != nil || history.Len() != 60 {
		t.Errorf("%d leases, %v; want 60", history.Len(), err)
	}
}

// startPgBouncer starts a pooler with three sessions, in transaction mode.
func startPgBouncer(t *testing.T, server *engines.Postgres) (port int) {
	t.Helper()
	path, err := exec.LookPath("pgbouncer")
	if err != nil {
		t.Fatalf("%v: make servers installs it", err)
	}
	u, err := url.Parse(server.URL())
	must(t, err)
	password, _ := u.User.Password()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	port = listener.Addr().(*net.TCPAddr).Port
	listener.Close()

	dir := filepath.Join(server.Dir(), "pgbouncer") // which the server's user can reach
	must(t, os.Mkdir(dir, 0o755))
	users := filepath.Join(dir, "users")
	must(t, os.WriteFile(users, fmt.Appendf(nil, "%q %q\n", "postgres", password), 0o644))
	config := filepath.Join(dir, "config")
	must(t, os.WriteFile(config, fmt.Appendf(nil, `[databases]
postgres = host=127.0.0.1 port=%d
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = %d
unix_socket_dir =
auth_type = scram-sha-256
auth_file = %s
pool_mode = transaction
default_pool_size = 3
max_client_conn = 100
`, server.Port(), port, users), 0o644))
	cmd := exec.Command(path, config)
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if info, err := os.Stat(server.Dir()); err == nil && os.Geteuid() == 0 {
		owner := info.Sys().(*syscall.Stat_t)
		cmd.SysProcAttr.Credential = &syscall.Credential{Uid: owner.Uid, Gid: owner.Gid}
	}
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	must(t, cmd.Start())
	ended := make(chan struct{})
	go func() { cmd.Wait(); close(ended) }()
	t.Cleanup(func() { cmd.Process.Kill(); <-ended })
	for {
		conn, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", port))
		if err == nil {
			conn.Close()
			return port
		}
		select {
		case <-ended:
			t.Fatalf("pgbouncer: %s", &said)
		case <-time.After(5 * time.Millisecond):
		}
	}
}

// TestTLS: the server's certificate is checked as the URL says.
func TestTLS(t *testing.T) {
	t.Parallel()
	server := ownServer(t, nil)
	certificate, key := newCertificate(t)
	otherCertificate, _ := newCertificate(t)
	files := map[string][]byte{"server.crt": certificate, "server.key": key, "other.crt": otherCertificate}
	info, err := os.Stat(server.Dir())
	must(t, err)
	owner := info.Sys().(*syscall.Stat_t)
	for name, content := range files {
		path := filepath.Join(server.Dir(), name)
		must(t, os.WriteFile(path, content, 0o600))
		must(t, os.Chown(path, int(owner.Uid), int(owner.Gid)))
	}
	run(t, server,
		"ALTER SYSTEM SET ssl_cert_file = '"+filepath.Join(server.Dir(), "server.crt")+"'",
		"ALTER SYSTEM SET ssl_key_file = '"+filepath.Join(server.Dir(), "server.key")+"'",
		"ALTER SYSTEM SET ssl = on")
	must(t, server.Stop())
	must(t, server.Start())

	trusting := func(file string) string {
		return strings.Replace(newURL(t, server), "sslmode=disable", "sslmode=verify-full&sslrootcert="+url.QueryEscape(filepath.Join(server.Dir(), file)), 1)
	}
	s := create(t, trusting("server.crt"))
	acquire(t, s)
	var encrypted bool
	must(t, s.pool.QueryRow(t.Context(), "SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()").Scan(&encrypted))
	if !encrypted {
		t.Error("the connection is not encrypted")
	}
	if _, err := Create(t.Context(), trusting("other.crt")); err == nil || !strings.Contains(err.Error(), "certificate") {
		t.Errorf("another authority: %v, want an error about the certificate", err)
	}
}

// newCertificate returns a certificate for 127.0.0.1 that vouches for itself, and its key.
func newCertificate(t *testing.T) (certificate, key []byte) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(t, err)
	template := &x509.Certificate{
		SerialNumber:          big.NewInt(1),
		Subject:               pkix.Name{CommonName: "test"},
		NotBefore:             time.Now().Add(-time.Hour),
		NotAfter:              time.Now().Add(time.Hour),
		IPAddresses:           []net.IP{net.IPv4(127, 0, 0, 1)},
		BasicConstraintsValid: true,
		IsCA:                  true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	must(t, err)
	keyDER, err := x509.MarshalPKCS8PrivateKey(private)
	must(t, err)
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: keyDER})
}
