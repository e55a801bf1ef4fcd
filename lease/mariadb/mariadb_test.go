//go:build linux

package mariadb

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

	"github.com/randflake/randflake/internal/test/enginetest"
	"github.com/randflake/randflake/internal/test/require"
	"github.com/randflake/randflake/internal/test/servers"
	"github.com/randflake/randflake/lease"
	"github.com/randflake/randflake/lease/leasetest"
)

// shared is the server of all tests that leave it as it is. Each has a table of its own.
var (
	shared *servers.MySQL
	tables atomic.Int64
)

func TestMain(m *testing.M) {
	os.Exit(servers.Share(m, &shared, func(dir string) (*servers.MySQL, error) {
		return servers.StartMySQL(filepath.Join(dir, "mysql"), "--max-connections=500")
	}))
}

var (
	entry       = leasetest.Entry
	put         = leasetest.Put
	read        = leasetest.Get
	wantRefused = enginetest.WantUnsafe
)

// ownServer starts a server that the test may kill and change.
func ownServer(t testing.TB, args ...string) *servers.MySQL {
	t.Helper()
	server, err := servers.StartMySQL(filepath.Join(t.TempDir(), "mysql"), args...)
	require.NoError(t, err)
	t.Cleanup(func() { server.Kill() })
	return server
}

// do runs statements as root.
func do(t testing.TB, server *servers.MySQL, statements string) string {
	t.Helper()
	out, err := server.Do(statements)
	require.NoError(t, err)
	return out
}

// newURL returns where nothing is yet.
func newURL(server *servers.MySQL) string {
	return fmt.Sprintf("%s?table=test_%d", server.URL(), tables.Add(1))
}

// placeOn returns what makes such URLs.
func placeOn(server *servers.MySQL) func(*testing.T) string {
	return func(*testing.T) string { return newURL(server) }
}

// through returns where, by way of another address or as another user.
func through(t testing.TB, where string, change func(*url.URL)) string {
	t.Helper()
	u, err := url.Parse(where)
	require.NoError(t, err)
	change(u)
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

// TestSuite has a server with its defaults, and one whose odd defaults the engine does not mind.
func TestSuite(t *testing.T) {
	leasetest.Run(t, enginetest.Handles(placeOn(shared), open))
	odd := ownServer(t, "--skip-autocommit", "--transaction-isolation=READ-UNCOMMITTED", "--log-bin", "--sync-binlog=1", "--binlog-format=STATEMENT",
		"--sql-mode=ANSI,NO_BACKSLASH_ESCAPES", "--default-storage-engine=Aria", "--character-set-server=utf32", "--default-time-zone=+05:30")
	t.Run("odd defaults", func(t *testing.T) { leasetest.Run(t, enginetest.Handles(placeOn(odd), open)) })
}

// TestServer has a binary log as well.
func TestServer(t *testing.T) {
	t.Parallel()
	server := ownServer(t, "--log-bin", "--sync-binlog=1")
	where := newURL(server)
	enginetest.RunServer(t, server, true, func(t *testing.T, addr string) lease.Engine {
		return prepared(t, through(t, where, func(u *url.URL) { u.Host = addr }))
	})
}

// TestDeadlock: a call that the server gives up for a deadlock is made again. The call holds the position and waits
// for "a", the test's transaction the other way round; the server gives up the one that has changed less.
func TestDeadlock(t *testing.T) {
	t.Parallel()
	server := ownServer(t)
	e := prepared(t, newURL(server))
	put(t, e, "a", "1")
	tx, err := e.db.BeginTx(t.Context(), nil)
	require.NoError(t, err)
	_, err = tx.Exec(e.statement("INSERT INTO @table SELECT CONCAT('x/', seq), '', 0 FROM seq_1_to_100"))
	require.NoError(t, err)
	lock := e.statement("UPDATE @table SET value = '0' WHERE name = ?")
	_, err = tx.Exec(lock, "a")
	require.NoError(t, err)
	waits := func() string { return do(t, server, "SHOW GLOBAL STATUS LIKE 'Innodb_row_lock_waits'") }
	before, done := waits(), make(chan error)
	go func() {
		a, err := e.Swap(t.Context(), entry("a", "1"), entry("a", "2"))
		if err == nil && !a.Swapped {
			err = fmt.Errorf("not swapped: %+v", a)
		}
		done <- err
	}()
	for waits() == before {
	}
	_, err = tx.Exec(lock, "")
	require.NoError(t, err)
	require.That(t, do(t, server, "SHOW GLOBAL STATUS LIKE 'Innodb_deadlocks'") != "Innodb_deadlocks\t0",
		"there was no deadlock: the test shows nothing")
	require.NoError(t, tx.Rollback())
	require.NoError(t, <-done)
}

// TestUnsafeSettings: each is refused by name when it is in force, also if the engine was opened before.
func TestUnsafeSettings(t *testing.T) {
	t.Parallel()
	server := ownServer(t, "--log-bin", "--sync-binlog=1", "--skip-innodb-doublewrite")
	where := newURL(server)
	e := prepared(t, where+"&pages=atomic")
	wantRefused(t, open(t, where), "innodb_doublewrite is OFF, want ON")
	for _, tt := range []struct{ what, set, reset string }{
		{"innodb_flush_log_at_trx_commit is 2, want 1", "SET GLOBAL innodb_flush_log_at_trx_commit = 2", "SET GLOBAL innodb_flush_log_at_trx_commit = 1"},
		{"innodb_flush_log_at_trx_commit is 0, want 1", "SET GLOBAL innodb_flush_log_at_trx_commit = 0", "SET GLOBAL innodb_flush_log_at_trx_commit = 1"},
		{"sync_binlog is 0, want 1", "SET GLOBAL sync_binlog = 0", "SET GLOBAL sync_binlog = 1"},
		{"read_only is ON, want OFF", "SET GLOBAL read_only = ON", "SET GLOBAL read_only = OFF"},
		{"engine of the table is Aria, want InnoDB", "ALTER TABLE @table ENGINE = Aria", "ALTER TABLE @table ENGINE = InnoDB"},
	} {
		do(t, server, e.statement(tt.set))
		wantRefused(t, e, tt.what)
		do(t, server, e.statement(tt.reset))
		put(t, e, "a", "1")
	}
	do(t, server, "CREATE USER app IDENTIFIED BY 'sesame'; GRANT CREATE, SELECT, INSERT, UPDATE ON randflake.* TO app")
	byApp := func(where string) string {
		return through(t, where, func(u *url.URL) { u.User = url.UserPassword("app", "sesame") })
	}
	put(t, prepared(t, byApp(newURL(server)+"&pages=atomic")), "a", "1") // these rights are enough
	do(t, server, "SET GLOBAL read_only = ON")
	wantRefused(t, open(t, byApp(where)), "read")
}

// TestRestored: a dump that is restored has another lineage and a lower position, and so have older
// files. A restart changes neither.
func TestRestored(t *testing.T) {
	t.Parallel()
	server := ownServer(t)
	e := prepared(t, newURL(server))
	first := put(t, e, "a", "1")
	if made := do(t, server, "SELECT UNIX_TIMESTAMP(create_time) FROM information_schema.tables WHERE table_name = '"+e.config.Table+"'"); fmt.Sprint(first.Time.Unix()) <= made {
		t.Errorf("Swap at %v, in a table made in second %s: a dump restored in that second would not show", first.Time, made)
	}
	lineages := enginetest.Lineages{}
	lineages.WantNew(t, "original", e)
	dump, err := server.Dump()
	require.NoError(t, err)
	require.NoError(t, server.Stop())
	older := filepath.Join(server.Dir(), "older")
	out, err := exec.Command("cp", "-a", server.Data(), older).CombinedOutput()
	require.Must(t, err == nil, "cp: %v: %s", err, out)
	require.NoError(t, server.Start())
	last := put(t, e, "a", "1")
	require.That(t, last.Lineage == first.Lineage && last.Position > first.Position,
		"after a restart: %+v, before: %+v", last, first)
	do(t, server, dump)
	lineages.WantNew(t, "restored", e)
	if _, seen := read(t, e, "a"); seen.Position >= last.Position {
		t.Errorf("position %d after the dump was restored, %d before", seen.Position, last.Position)
	}
	require.NoError(t, errors.Join(server.Kill(), os.RemoveAll(server.Data()), os.Rename(older, server.Data()), server.Start()))
	e = open(t, server.URL()+"?table="+e.config.Table)
	if value, seen := read(t, e, "a"); value != "1" || seen.Lineage == last.Lineage || seen.Position >= last.Position {
		t.Errorf("older files: %s, %+v; before: %+v", value, seen, last)
	}
	do(t, server, e.statement("DROP TABLE @table"))
	require.Refuses(t, lease.ErrNoSpace, "Read without the table")(e.Read(t.Context()))
}

// TestFailover promotes a replica, and then the first server, which came back as a replica of the
// second: each has another lineage. A replica is refused.
func TestFailover(t *testing.T) {
	t.Parallel()
	args := []string{"--log-bin", "--log-slave-updates", "--sync-binlog=1"}
	first, second := ownServer(t, args...), ownServer(t, args...)
	where := newURL(first)
	e := prepared(t, where)
	put(t, e, "a", "1")
	lineages := enginetest.Lineages{}
	lineages.WantNew(t, "first", e)
	for i, pair := range [][2]*servers.MySQL{{first, second}, {second, first}} {
		replica := pair[1]
		onReplica := open(t, through(t, where, func(u *url.URL) { r, _ := url.Parse(replica.URL()); u.Host, u.User = r.Host, r.User }))
		require.NoError(t, replica.ReplicaOf(pair[0]))
		wantRefused(t, onReplica, "read_only")
		do(t, replica, "SET GLOBAL read_only = OFF")
		wantRefused(t, onReplica, "Slaves_running")
		require.NoError(t, replica.ReplicaOf(nil))
		lineages.WantNew(t, fmt.Sprint("promoted, ", i), onReplica)
	}
	if _, seen := read(t, e, "a"); lineages[seen.Lineage] != "promoted, 1" {
		t.Errorf("a handle from before: lineage %s, want that of %v", seen.Lineage, lineages)
	}
}

// TestErrors: each says what is wrong, and none shows a password.
func TestErrors(t *testing.T) {
	u, err := url.Parse(shared.URL())
	require.NoError(t, err)
	password, _ := u.User.Password()
	empty := filepath.Join(t.TempDir(), "ca")
	require.NoError(t, os.WriteFile(empty, nil, 0o600))
	changed := func(old, new string) string { return strings.Replace(shared.URL(), old, new, 1) }
	app := "mysql://app:" + password + "@db/x"
	enginetest.TestURLs(t, Check, Connect, enginetest.URLs{
		Password: password,
		Wrong: map[string]string{
			"app:" + password + "@tcp(db)/x":      "want mysql://",
			app + "?tabel=leases":                 `unknown parameter "tabel"`,
			app + "?table=a-b":                    `table "a-b"`,
			app + "?pages=whole":                  "pages=whole: want pages=atomic",
			app + "?ca=" + empty:                  "no certificate in PEM format",
			"mysql://app:1/" + password + "@db/x": "@ after the host",
		},
		Failing: map[string]string{
			changed(password, password+"-not"):           "Access denied",
			changed("/randflake", "/nowhere"):            "CREATE DATABASE",
			changed(shared.Addr(), "127.0.0.1:1"):        "connect",
			changed("/randflake", "/randflake?tls=true"): "TLS",
			newURL(shared): lease.ErrNoSpace.Error(),
		},
	})
	_, err = open(t, newURL(shared)).Swap(t.Context(), nil, entry("a", "1"))
	require.That(t, errors.Is(err, lease.ErrNoSpace) && errors.Is(err, lease.ErrStore),
		"without a table: %v, want one that says that nothing was changed", err)
}
