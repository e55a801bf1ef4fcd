//go:build linux

package postgres

import (
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/randflake/randflake/internal/test/enginetest"
	"github.com/randflake/randflake/internal/test/require"
	"github.com/randflake/randflake/internal/test/servers"
	"github.com/randflake/randflake/lease"
	"github.com/randflake/randflake/lease/leasetest"
)

// shared is the server of all tests that leave it as it is. Each has a schema of its own.
var (
	shared  *servers.Postgres
	schemas atomic.Int64
)

func TestMain(m *testing.M) {
	os.Exit(servers.Share(m, &shared, func(dir string) (*servers.Postgres, error) {
		return servers.StartPostgres(filepath.Join(dir, "pg"), map[string]string{"max_connections": "300"})
	}))
}

var (
	entry       = leasetest.Entry
	put         = leasetest.Put
	read        = leasetest.Get
	wantRefused = enginetest.WantUnsafe
)

// ownServer starts a server that the test may kill and change.
func ownServer(t testing.TB, config map[string]string) *servers.Postgres {
	t.Helper()
	server, err := servers.StartPostgres(filepath.Join(t.TempDir(), "pg"), config)
	require.NoError(t, err)
	t.Cleanup(func() { server.Kill() })
	return server
}

// newURL returns where nothing is yet.
func newURL(server *servers.Postgres) string {
	return fmt.Sprintf("%s&schema=test_%d", server.URL(), schemas.Add(1))
}

// through returns where, by way of another address.
func through(t testing.TB, addr, where string) string {
	t.Helper()
	u, err := url.Parse(where)
	require.NoError(t, err)
	u.Host = addr
	return u.String()
}

func open(t testing.TB, where string) *Engine { return enginetest.Open(t, Connect, where) }

// prepared returns an Engine that holds nothing yet.
func prepared(t testing.TB, where string) *Engine {
	t.Helper()
	e := open(t, where)
	require.NoError(t, e.Prepare(t.Context()))
	return e
}

// run runs statements as the superuser.
func run(t testing.TB, server *servers.Postgres, statements ...string) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), server.URL())
	require.NoError(t, err)
	defer conn.Close(t.Context())
	for _, statement := range statements {
		if _, err := conn.Exec(t.Context(), statement); err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
	}
}

// waitUntil waits until a query is true.
func waitUntil(t testing.TB, server *servers.Postgres, query string) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), server.URL())
	require.NoError(t, err)
	defer conn.Close(t.Context())
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(time.Millisecond) {
		var yes bool
		require.NoError(t, conn.QueryRow(t.Context(), query).Scan(&yes))
		if yes {
			return
		}
	}
	t.Fatalf("not true within a minute: %s", query)
}

// TestSuite: a pooler gives each transaction another of three sessions.
func TestSuite(t *testing.T) {
	direct := func(*testing.T) string { return newURL(shared) }
	leasetest.Run(t, enginetest.Handles(direct, open))
	pooler, err := servers.StartPgBouncer(filepath.Join(t.TempDir(), "pooler"), shared, 3)
	require.NoError(t, err)
	t.Cleanup(func() { pooler.Kill() })
	t.Run("PgBouncer", func(t *testing.T) {
		pooled := func(t *testing.T) string { return through(t, pooler.Addr(), newURL(shared)) }
		leasetest.Run(t, enginetest.Handles(pooled, open))
	})
}

func TestServer(t *testing.T) {
	t.Parallel()
	server := ownServer(t, nil)
	where := newURL(server)
	enginetest.RunServer(t, server, true, func(t *testing.T, addr string) lease.Engine { return prepared(t, through(t, addr, where)) })
}

// TestSettings: those that are not durable are refused by name, also if they came after the engine was opened. Others
// that could do harm are overridden: what a swap put outlives a crash that follows at once.
func TestSettings(t *testing.T) {
	t.Parallel()
	server := ownServer(t, map[string]string{"wal_writer_delay": "10s", "autovacuum": "off"})
	e := prepared(t, newURL(server))
	for name, value := range map[string]string{"fsync": "off", "full_page_writes": "off"} {
		run(t, server, fmt.Sprintf("ALTER SYSTEM SET %s = %s", name, value), "SELECT pg_reload_conf()")
		waitUntil(t, server, fmt.Sprintf("SELECT reset_val = '%s' FROM pg_settings WHERE name = '%s'", value, name))
		e.pool.Reset()
		wantRefused(t, e, name+" is off")
		run(t, server, "ALTER SYSTEM RESET "+name, "SELECT pg_reload_conf()")
		waitUntil(t, server, fmt.Sprintf("SELECT reset_val = 'on' FROM pg_settings WHERE name = '%s'", name))
		e.pool.Reset()
	}
	run(t, server, e.config.statement("ALTER TABLE @schema.entries SET UNLOGGED"))
	wantRefused(t, e, "entries is not logged")
	run(t, server, e.config.statement("ALTER TABLE @schema.entries SET LOGGED"))

	run(t, server, "CREATE TABLE t (n int)")
	for _, setting := range []string{"synchronous_commit = off", "default_transaction_isolation = 'serializable'"} {
		run(t, server, "ALTER ROLE postgres SET "+setting)
	}
	e.pool.Reset()
	a := put(t, e, "a", "1")
	lost := false
	for range 5 { // the server may sync by itself just then, and then the test shows nothing
		a = put(t, e, "a", "1")
		run(t, server, "INSERT INTO t SELECT generate_series(1, 1000)")
		require.NoError(t, server.Kill())
		require.NoError(t, server.Start())
		e.pool.Reset()
		if value, after := read(t, e, "a"); value != "1" || after.Position < a.Position {
			t.Errorf("after a crash: %s, %+v, want 1, after %+v", value, after, a)
		}
		conn, err := pgx.Connect(t.Context(), server.URL())
		require.NoError(t, err)
		require.NoError(t, conn.QueryRow(t.Context(), "SELECT count(*) % 1000 = 0 AND count(*) < 5000 FROM t").Scan(&lost))
		conn.Close(t.Context())
		if lost {
			break
		}
	}
	require.That(t, lost, "no commit was lost: the test shows nothing")
}

// TestCommit: what a call returned is nothing before its commit has succeeded. One that was told
// not to wait for its standbys is not acknowledged, though the server says that it succeeded.
func TestCommit(t *testing.T) {
	t.Parallel()
	server := ownServer(t, nil)
	e := prepared(t, newURL(server))
	run(t, server, "CREATE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'not today'; END $$",
		e.config.statement("CREATE CONSTRAINT TRIGGER fail AFTER INSERT ON @schema.entries DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION fail()"))
	if a, err := e.Swap(t.Context(), nil, entry("a", "1")); !errors.Is(err, lease.ErrStore) || !strings.Contains(err.Error(), "not today") {
		t.Errorf("Swap: %+v, %v; want the error of the commit, and that nothing was changed", a, err)
	}
	run(t, server, e.config.statement("DROP TRIGGER fail ON @schema.entries"), "ALTER SYSTEM SET synchronous_standby_names = 'nobody'", "SELECT pg_reload_conf()")
	waitUntil(t, server, "SELECT current_setting('synchronous_standby_names') = 'nobody'")
	done, value := make(chan error, 1), ""
	go func() {
		for n, err := 1, error(nil); err == nil; n++ { // commits do not wait until the checkpointer has seen the setting
			before := entry("a", value)
			value = fmt.Sprint(n)
			if _, err = e.Swap(t.Context(), before, entry("a", value)); err != nil {
				done <- err
			}
		}
	}()
	waitUntil(t, server, "SELECT count(*) > 0 FROM pg_stat_activity WHERE wait_event = 'SyncRep'")
	run(t, server, "SET synchronous_commit = local; SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE wait_event = 'SyncRep'")
	if err := <-done; err == nil || errors.Is(err, lease.ErrStore) || !strings.Contains(err.Error(), "outcome unknown") {
		t.Errorf("Swap: %v, want an error", err)
	}
	if got, _ := read(t, e, "a"); got != value {
		t.Errorf("%q: it did not take effect: the test shows nothing", got)
	}

	// The setting becomes empty while a commit waits.
	waiting := make(chan lease.Answer)
	go func() {
		a, _ := e.Swap(t.Context(), entry("a", value), entry("a", "last"))
		waiting <- a
	}()
	waitUntil(t, server, "SELECT count(*) > 0 FROM pg_stat_activity WHERE wait_event = 'SyncRep'")
	run(t, server, "SET synchronous_commit = local", "ALTER SYSTEM SET synchronous_standby_names = ''", "SELECT pg_reload_conf()")
	a := <-waiting
	require.That(t, a.Swapped && a.Doubt != "", "%+v: want a swap with a doubt", a)
}

// tool runs one of PostgreSQL's programs.
func tool(t *testing.T, name string, args ...string) {
	t.Helper()
	paths, err := filepath.Glob("/usr/lib/postgresql/*/bin/" + name)
	require.Must(t, err == nil && len(paths) != 0, "no program %s: make servers installs it", name)
	out, err := exec.Command(paths[len(paths)-1], args...).CombinedOutput()
	require.Must(t, err == nil, "%s: %v: %s", name, err, out)
}

// TestLoss: a dump that is restored has another lineage, a standby that is promoted another
// incarnation, and older files a lower position. A restart changes nothing.
func TestLoss(t *testing.T) {
	t.Parallel()
	server := ownServer(t, nil)
	where := newURL(server)
	e := prepared(t, where)
	put(t, e, "a", "1")
	lineages := enginetest.Lineages{}
	lineages.WantNew(t, "original", e)
	file := filepath.Join(t.TempDir(), "dump")
	tool(t, "pg_dump", "-d", server.URL(), "-n", e.config.Schema, "-f", file)
	run(t, server, "DROP SCHEMA "+e.config.Schema+" CASCADE")
	tool(t, "psql", "-d", server.URL(), "-v", "ON_ERROR_STOP=1", "-f", file)
	lineages.WantNew(t, "restored", e)
	older, err := server.BaseBackup(filepath.Join(t.TempDir(), "older"), false)
	require.NoError(t, err)
	before := put(t, e, "a", "1")
	require.NoError(t, server.Stop())
	require.NoError(t, server.Start())
	_, after := read(t, open(t, where), "a")
	require.That(t, after.Lineage == before.Lineage && after.Incarnation == before.Incarnation && after.Position == before.Position,
		"after a restart: %+v, before: %+v", after, before)

	promoted := func(primary *servers.Postgres) *servers.Postgres {
		standby, err := primary.BaseBackup(filepath.Join(t.TempDir(), "standby"), true)
		require.NoError(t, err)
		t.Cleanup(func() { standby.Kill() })
		require.NoError(t, standby.Start())
		onStandby := open(t, through(t, standby.Addr(), where))
		wantRefused(t, onStandby, "standby")
		require.NoError(t, standby.Promote())
		lineages.WantNew(t, fmt.Sprintf("promoted after %d", len(lineages)), onStandby)
		return standby
	}
	promoted(promoted(server))

	data := filepath.Join(server.Dir(), "data")
	require.NoError(t, errors.Join(server.Kill(), os.RemoveAll(data), os.Rename(filepath.Join(older.Dir(), "data"), data), server.Start()))
	if value, after := read(t, open(t, where), "a"); value != "1" || after.Lineage != before.Lineage || after.Incarnation != before.Incarnation || after.Position >= before.Position {
		t.Errorf("older files: %q, %+v; want a lower position than %+v", value, after, before)
	}
}

// TestPromotion: a promotion changes the incarnation alone, which is in doubt unless the primary waits for a standby.
func TestPromotion(t *testing.T) {
	t.Parallel()
	server := ownServer(t, nil)
	where := newURL(server)
	e := prepared(t, where)
	if a := put(t, e, "a", "0"); !strings.Contains(a.Doubt, "synchronous_standby_names is empty") {
		t.Errorf("without a standby: doubt %q", a.Doubt)
	}

	follow := func(primary *servers.Postgres) *servers.Postgres {
		standby, err := primary.BaseBackup(filepath.Join(t.TempDir(), "standby"), true)
		require.NoError(t, err)
		t.Cleanup(func() { standby.Kill() })
		require.NoError(t, standby.Start())
		return standby
	}
	standby := follow(server)
	run(t, server, "ALTER SYSTEM SET synchronous_standby_names = '*'", "SELECT pg_reload_conf()")
	waitUntil(t, server, "SELECT current_setting('synchronous_standby_names') = '*'")
	before := put(t, e, "a", "1")

	require.NoError(t, server.Kill())
	require.NoError(t, standby.Promote())
	run(t, standby, "ALTER SYSTEM SET synchronous_standby_names = '*'", "SELECT pg_reload_conf()")
	waitUntil(t, standby, "SELECT current_setting('synchronous_standby_names') = '*'")
	promoted := open(t, through(t, standby.Addr(), where))
	value, after := read(t, promoted, "a")
	promotion := after.Lineage == before.Lineage && after.Incarnation != before.Incarnation
	require.That(t, value == "1" && promotion && after.Position == before.Position && before.Doubt+after.Doubt == "",
		"after the promotion: %q, %+v, want %+v", value, after, before)
	follow(standby)
	put(t, promoted, "a", "2")
}

// TestErrors: each says what is wrong, and none shows a password.
func TestErrors(t *testing.T) {
	u, err := url.Parse(shared.URL())
	require.NoError(t, err)
	password, _ := u.User.Password()
	changed := func(old, new string) string { return strings.Replace(shared.URL(), old, new, 1) }
	app := "postgres://app:" + password + "@db/x"
	enginetest.TestURLs(t, Check, Connect, enginetest.URLs{
		Password: password,
		Wrong: map[string]string{
			"host=db user=app password=" + password:  "want postgres://",
			app + "?shcema=leases":                   `unknown parameter "shcema"`,
			app + "?space=orders":                    "say lease.Config{Name: ...}",
			app + "?schema=a$b":                      `schema "a$b"`,
			app + "?promotion=kept":                  `unknown parameter "promotion"`,
			app + "?password=%ZZ" + password:         "encoded",
			"postgres://app:1/" + password + "@db/x": "@ after the host",
			"postgres://db:99999/shop":               "postgres: URL: invalid port",
		},
		Failing: map[string]string{
			changed(password, password+"-not"):      "password authentication failed",
			changed(fmt.Sprint(shared.Port()), "1"): "connect",
			changed("/postgres?", "/nonesuch?"):     "CREATE DATABASE",
			newURL(shared):                          lease.ErrNoSpace.Error(),
		},
	})
	_, err = open(t, newURL(shared)).Swap(t.Context(), nil, entry("a", "1"))
	require.That(t, errors.Is(err, lease.ErrNoSpace) && errors.Is(err, lease.ErrStore),
		"without a table: %v, want one that says that nothing was changed", err)
}
