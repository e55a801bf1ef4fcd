//go:build linux

package postgres

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/randflake/randflake/internal/servers"
	"github.com/randflake/randflake/store"
)

// lazily makes the server take its time to sync what is committed asynchronously.
var lazily = map[string]string{"wal_writer_delay": "10s", "autovacuum": "off"}

// crash kills the server's processes and starts it again.
func crash(t testing.TB, server *servers.Postgres) {
	t.Helper()
	must(t, server.Kill())
	must(t, server.Start())
}

// TestDurableWhateverTheDefaults: what a swap put outlives a crash that follows at once, though role, database
// and server say that commits need not be durable, and so does what it found, though another wrote that so.
func TestDurableWhateverTheDefaults(t *testing.T) {
	t.Parallel()
	server := ownServer(t, lazily)
	run(t, server,
		"ALTER SYSTEM SET synchronous_commit = off",
		"SELECT pg_reload_conf()",
		"ALTER ROLE postgres SET synchronous_commit = off",
		"ALTER DATABASE postgres SET synchronous_commit = off",
		"CREATE TABLE t (n int)")
	if got := value[string](t, server, "SHOW synchronous_commit"); got != "off" {
		t.Fatalf("synchronous_commit is %s: the test shows nothing", got)
	}
	where := newURL(server)
	e := prepared(t, where)
	acknowledged := put(t, e, "a", "1")
	crash(t, server)
	e = open(t, where)
	wantValue(t, "put, after a crash", e, "a", "1")
	if _, seen := read(t, e, "a"); seen.Position < acknowledged.Position || seen.Lineage != acknowledged.Lineage {
		t.Errorf("after a crash: %+v, want what comes after %+v", seen, acknowledged.Evidence)
	}
	for _, call := range []struct{ expect, put []store.Entry }{
		{entry("a", "lazy"), nil},
		{entry("a", "lazy"), entry("b", "1")},
		{entry("a", "not lazy"), entry("b", "2")},
	} {
		put(t, e, "a", "1")
		run(t, server, "UPDATE "+e.of("entries")+" SET value = 'lazy' WHERE name = 'a'")
		a, err := e.Swap(t.Context(), call.expect, call.put)
		if err != nil || string(a.Named[0].Value) != "lazy" {
			t.Fatalf("Swap: %+v, %v", a, err)
		}
		crash(t, server)
		e = open(t, where)
		wantValue(t, fmt.Sprintf("found by %s, after a crash", call), e, "a", "lazy")
	}

	// The same crash does lose what is committed by others. No position counts that.
	for range 5 { // the server may sync by itself just then
		run(t, server, "INSERT INTO t SELECT generate_series(1, 1000)")
		_, before := read(t, e, "a")
		crash(t, server)
		if _, after := read(t, e, "a"); after.Position < before.Position {
			t.Errorf("position %d after the crash, %d before", after.Position, before.Position)
		}
		if value[int](t, server, "SELECT count(*) FROM t") == 0 {
			return
		}
		run(t, server, "TRUNCATE t")
	}
	t.Error("no commit was lost: the test shows nothing")
}

// waitUntil waits until a query is true.
func waitUntil(t testing.TB, server *servers.Postgres, query string) {
	t.Helper()
	conn := session(t, server)
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(time.Millisecond) {
		var yes bool
		must(t, conn.QueryRow(t.Context(), query).Scan(&yes))
		if yes {
			return
		}
	}
	t.Fatalf("not true within a minute: %s", query)
}

// TestFailedCommit: what a call returned is nothing before its commit has succeeded.
func TestFailedCommit(t *testing.T) {
	server := shared
	e := prepared(t, newURL(server))
	run(t, server,
		"CREATE FUNCTION "+e.of("fail")+"() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'not today'; END $$",
		"CREATE CONSTRAINT TRIGGER fail AFTER INSERT OR UPDATE ON "+e.of("entries")+" DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION "+e.of("fail")+"()")
	if a, err := e.Swap(t.Context(), nil, entry("a", "1")); err == nil || !strings.Contains(err.Error(), "not today") {
		t.Errorf("Swap: %+v, %v; want the error of the commit", a, err)
	}
	wantValue(t, "after the failure", e, "a", "")
}

// TestCancelledStandbyWait: a commit that was told not to wait for its standbys is not acknowledged, though the
// server says that the statement succeeded. A swap that finds what it wrote waits for it.
func TestCancelledStandbyWait(t *testing.T) {
	t.Parallel()
	server := ownServer(t, nil)
	e := prepared(t, newURL(server))
	run(t, server, "ALTER SYSTEM SET synchronous_standby_names = 'nobody'", "SELECT pg_reload_conf()")
	waitUntil(t, server, "SELECT current_setting('synchronous_standby_names') = 'nobody'")
	for _, call := range []struct{ expect, put []store.Entry }{
		{nil, entry("a", "1")},
		{entry("a", "1"), nil},
		{entry("a", "2"), entry("a", "3")},
	} {
		done := make(chan error, 1)
		go func() {
			_, err := e.Swap(t.Context(), call.expect, call.put)
			done <- err
		}()
		waitUntil(t, server, "SELECT count(*) > 0 FROM pg_stat_activity WHERE wait_event = 'SyncRep'")
		run(t, server, "SET synchronous_commit = local", "SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE wait_event = 'SyncRep'")
		if err := <-done; err == nil || !strings.Contains(err.Error(), "outcome unknown") {
			t.Errorf("Swap: %v, want an error", err)
		}
		wantValue(t, "cancelled", e, "a", "1")
	}
}
