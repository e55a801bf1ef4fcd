//go:build linux

package pgstore

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
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

// TestCrashInTheMiddle kills the server under swaps: nothing is lost that was acknowledged, the position does
// not fall, nor does the lineage change, and handles go on by themselves.
func TestCrashInTheMiddle(t *testing.T) {
	t.Parallel()
	server := ownServer(t, nil)
	e := prepared(t, newURL(server))
	put(t, e, "meta", "m")
	_, before := read(t, e, "meta")
	const players = 8
	var acknowledged [players]int
	var position, crashed atomic.Uint64
	var wg, running sync.WaitGroup
	for i := range players {
		running.Add(1)
		wg.Go(func() {
			for n := 1; ; n++ {
				a, err := e.Swap(t.Context(), entry("meta", "m"), entry(fmt.Sprint(i), fmt.Sprintf("%06d", n)))
				if err != nil {
					if n <= 20 {
						t.Errorf("before the crash: %v", err)
						running.Done()
					}
					return
				}
				acknowledged[i] = n
				for p := position.Load(); p < a.Position && !position.CompareAndSwap(p, a.Position); p = position.Load() {
				}
				if n == 20 {
					running.Done()
				}
			}
		})
		wg.Go(func() { // reads see what is on disk already, and no more
			for crashed.Load() == 0 {
				if a, err := e.Read(t.Context(), nil, store.Page{}); err == nil {
					for p := position.Load(); p < a.Position && !position.CompareAndSwap(p, a.Position); p = position.Load() {
					}
				}
			}
		})
	}
	running.Wait()
	must(t, server.Kill())
	crashed.Store(1)
	wg.Wait()
	must(t, server.Start())
	for i, n := range acknowledged {
		got, after := read(t, e, fmt.Sprint(i))
		if got < fmt.Sprintf("%06d", n) || after.Lineage != before.Lineage || after.Position < position.Load() {
			t.Errorf("after the crash: %s and %+v; want %d or later, position %d", got, after, n, position.Load())
		}
	}
	put(t, e, "meta", "n")
}

// TestLostReply: the request arrives and the reply does not. That is an error, and the swap is not repeated.
func TestLostReply(t *testing.T) {
	server := shared
	where := newURL(server)
	direct := prepared(t, where)
	run(t, server, "CREATE TABLE "+direct.of("log")+" (n int)",
		"CREATE FUNCTION "+direct.of("note")+"() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN INSERT INTO "+direct.of("log")+" VALUES (1); RETURN NULL; END'",
		"CREATE TRIGGER note AFTER INSERT OR UPDATE ON "+direct.of("entries")+" FOR EACH ROW EXECUTE FUNCTION "+direct.of("note")+"()")
	proxy, err := servers.StartProxy(server.Addr())
	must(t, err)
	defer proxy.Close()
	e := open(t, through(t, proxy.Addr(), where))
	put(t, e, "a", "1")
	proxy.LoseReply(".swap($1")
	if a, err := e.Swap(t.Context(), entry("a", "1"), entry("a", "2")); err == nil {
		t.Fatalf("Swap without a reply: %+v", a)
	}
	if !proxy.Lost() {
		t.Error("no reply was lost")
	}
	wantValue(t, "the reply was lost", direct, "a", "2")
	put(t, e, "a", "3")
	if got := value[int](t, server, "SELECT count(*) FROM "+direct.of("log")); got != 3 {
		t.Errorf("%d swaps took effect, want 3", got)
	}
}

// waitForLock waits until some call waits for the lock of another session.
func waitForLock(t testing.TB, server *servers.Postgres) {
	t.Helper()
	waitUntil(t, server, "SELECT count(*) > 0 FROM pg_locks WHERE NOT granted")
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

// TestCancelledWhileWaiting: a call that the server holds up ends with its context.
func TestCancelledWhileWaiting(t *testing.T) {
	server := shared
	e := prepared(t, newURL(server))
	put(t, e, "a", "1")
	tx, err := session(t, server).Begin(t.Context())
	must(t, err)
	defer tx.Rollback(t.Context())
	_, err = tx.Exec(t.Context(), "SELECT * FROM "+e.of("swap")+"('{a}', '{1}', '{}', '{}')")
	must(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		_, err := e.Swap(ctx, nil, entry("a", "2"))
		done <- err
	}()
	waitForLock(t, server)
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("Swap: error %v, want Canceled", err)
	}
	if _, err := e.Read(ctx, nil, store.Page{}); !errors.Is(err, context.Canceled) {
		t.Errorf("Read: error %v, want Canceled", err)
	}
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
