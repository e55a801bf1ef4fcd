//go:build linux

package pgstore

import (
	"context"
	"errors"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/randflake/randflake/lease"
)

// lazily makes the server take its time to sync what is committed asynchronously.
var lazily = map[string]string{"wal_writer_delay": "10s", "autovacuum": "off"}

// crash kills the server's processes and starts it again.
func crash(t testing.TB, server interface {
	Kill() error
	Start() error
}) {
	t.Helper()
	if err := server.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
}

// TestDurableWhateverTheDefaults: each call that returned outlives a crash that follows at once,
// though role, database and server say that commits need not be durable.
func TestDurableWhateverTheDefaults(t *testing.T) {
	t.Parallel()
	server := ownServer(t, lazily)
	run(t, server,
		"ALTER SYSTEM SET synchronous_commit = off",
		"SELECT pg_reload_conf()",
		"ALTER ROLE postgres SET synchronous_commit = off",
		"ALTER DATABASE postgres SET synchronous_commit = off")
	if got := value[string](t, server, "SHOW synchronous_commit"); got != "off" {
		t.Fatalf("synchronous_commit is %s: the test shows nothing", got)
	}
	where := newURL(t, server)
	create(t, where).Close()
	crash(t, server)
	s := open(t, where)

	held := acquire(t, s)
	crash(t, server)
	s = open(t, where)
	if got, err := s.Lookup(t.Context(), held); err != nil || got != held {
		t.Fatalf("after Acquire and a crash: %+v, %v; want %+v", got, err, held)
	}
	renewed, err := s.Renew(t.Context(), held, 90*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	crash(t, server)
	s = open(t, where)
	if got, err := s.Lookup(t.Context(), held); err != nil || got != renewed {
		t.Fatalf("after Renew and a crash: %+v, %v; want %+v", got, err, renewed)
	}
	if err := s.Distrust(t.Context()); err != nil {
		t.Fatal(err)
	}
	_, floor, _ := s.Limits(t.Context())
	crash(t, server)
	s = open(t, where)
	if _, got, err := s.Limits(t.Context()); err != nil || !got.Equal(floor) || got.IsZero() {
		t.Fatalf("after Distrust and a crash: floor %v, %v; want %v", got, err, floor)
	}
	if err := s.Release(t.Context(), renewed, time.Unix(held.Start, 0)); err != nil {
		t.Fatal(err)
	}
	crash(t, server)
	records, err := open(t, where).List(t.Context())
	if err != nil || len(records) != 1 || records[0].Owner != (lease.Owner{}) {
		t.Fatalf("after Release and a crash: %+v, %v; want nobody to own the range", records, err)
	}
}

// TestCrashLosesAsynchronousCommits is the negative control: the same crash loses what another client
// commits with the same defaults.
func TestCrashLosesAsynchronousCommits(t *testing.T) {
	t.Parallel()
	server := ownServer(t, lazily)
	run(t, server, "CREATE TABLE t (n int)", "ALTER ROLE postgres SET synchronous_commit = off")
	for range 5 { // the server may sync by itself just then
		run(t, server, "INSERT INTO t VALUES (1)")
		crash(t, server)
		if value[int](t, server, "SELECT count(*) FROM t") == 0 {
			return
		}
		run(t, server, "TRUNCATE t")
	}
	t.Error("no commit was lost")
}

// TestLookupMakesDurable: what Lookup finds stays, also if another client wrote it without waiting
// for the disk.
func TestLookupMakesDurable(t *testing.T) {
	t.Parallel()
	server := ownServer(t, lazily)
	where := newURL(t, server)
	held := acquire(t, create(t, where))
	run(t, server, "SET synchronous_commit = off",
		"UPDATE "+schemaOf(t, where)+".ranges SET version = version + 1, high_water = high_water + 7")
	found, err := open(t, where).Lookup(t.Context(), held)
	if err != nil || found.HighWater != held.HighWater+7 {
		t.Fatalf("Lookup: %+v, %v; want what was written", found, err)
	}
	crash(t, server)
	if got, err := open(t, where).Lookup(t.Context(), held); err != nil || got != found {
		t.Errorf("after a crash: %+v, %v; want %+v", got, err, found)
	}
}

// TestCrashInTheMiddle kills the server under holders that renew: nothing is lost that was
// acknowledged, handles go on by themselves, and nobody takes the restart for a loss.
func TestCrashInTheMiddle(t *testing.T) {
	t.Parallel()
	server := ownServer(t, nil)
	clock, withClock := atNoon()
	where := newURL(t, server)
	s := create(t, where, withClock)
	known := make([]lease.Record, 8)
	stop := make(chan struct{})
	var wg, running sync.WaitGroup
	for i := range known {
		known[i] = acquire(t, s)
		running.Add(1)
		wg.Go(func() {
			for n := 0; ; n++ {
				if n == 5 {
					running.Done()
				}
				select {
				case <-stop:
					return
				default:
				}
				if rec, err := s.Renew(t.Context(), known[i], time.Minute); err == nil {
					known[i] = rec
				} else if rec, err := s.Lookup(t.Context(), known[i]); err == nil {
					known[i] = rec
				}
			}
		})
	}
	running.Wait()
	crash(t, server)
	close(stop)
	wg.Wait()
	clock.Advance(time.Second)
	for i, held := range known {
		for _, handle := range []*Store{s, open(t, where, withClock)} {
			rec, err := handle.Lookup(t.Context(), held)
			for retry := 0; err != nil && !errors.Is(err, lease.ErrLost) && retry < 8; retry++ {
				rec, err = handle.Lookup(t.Context(), held) // on a connection that died
			}
			if err != nil || rec.Version < held.Version || rec.HighWater < held.HighWater {
				t.Errorf("holder %d: after the crash %+v, %v; want %+v or later", i, rec, err, held)
			}
			held = rec
		}
		if _, err := s.Renew(t.Context(), held, time.Minute); err != nil {
			t.Errorf("holder %d: Renew after the crash: %v", i, err)
		}
	}
	wantFloor(t, "after a crash", s, 0)
}

// TestLostReply: the request arrives and the reply does not. Lookup then tells what became of it.
func TestLostReply(t *testing.T) {
	server := sharedServer(t)
	proxy := newProxy(t, server.Port())
	where := newURL(t, server)
	u, err := url.Parse(where)
	if err != nil {
		t.Fatal(err)
	}
	u.Host = proxy.addr()
	clock, withClock := atNoon()
	direct := create(t, where, withClock)
	s := open(t, u.String(), withClock)
	held := acquire(t, s)

	clock.Advance(time.Second)
	proxy.cutNext("renew")
	if rec, err := s.Renew(t.Context(), held, time.Minute); err == nil || errors.Is(err, lease.ErrLost) {
		t.Fatalf("Renew without a reply: %+v, %v; want an error that leaves it open", rec, err)
	}
	found, err := s.Lookup(t.Context(), held)
	if err != nil || found.Version != held.Version+1 || found.HighWater != held.HighWater+1 {
		t.Fatalf("Lookup: %+v, %v; want the renewed lease", found, err)
	}
	proxy.cutNext("release")
	if err := s.Release(t.Context(), found, noon); err == nil {
		t.Fatal("Release without a reply: no error")
	}
	if _, err := s.Lookup(t.Context(), found); !errors.Is(err, lease.ErrLost) {
		t.Errorf("Lookup after Release: %v, want ErrLost", err)
	}
	proxy.cutNext("acquire")
	if rec, err := s.Acquire(t.Context(), oneMinute); err == nil {
		t.Fatalf("Acquire without a reply: %+v", rec)
	}
	wantFloor(t, "after lost replies", direct, 0)
	if rec := acquire(t, direct); rec.FirstNode == held.FirstNode {
		t.Errorf("granted %+v, whose reply to another was lost", rec)
	}
}

// waitForLock waits until some call waits for the lock of another session.
func waitForLock(t testing.TB, conn *pgx.Conn) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(time.Millisecond) {
		var waiting int
		if err := conn.QueryRow(t.Context(), "SELECT count(*) FROM pg_locks WHERE NOT granted").Scan(&waiting); err != nil {
			t.Fatal(err)
		}
		if waiting > 0 {
			return
		}
	}
	t.Fatal("nobody waits for a lock")
}

// TestCancelledWhileWaiting: a call that the server holds up ends with its context.
func TestCancelledWhileWaiting(t *testing.T) {
	server := sharedServer(t)
	where := newURL(t, server)
	s := create(t, where)
	held := acquire(t, s)
	conn, watcher := session(t, server), session(t, server)
	tx, err := conn.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback(t.Context())
	if _, err := tx.Exec(t.Context(), "SELECT * FROM "+schemaOf(t, where)+".ranges FOR UPDATE"); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		_, err := s.Renew(ctx, held, time.Minute)
		done <- err
	}()
	waitForLock(t, watcher)
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("Renew: error %v, want Canceled", err)
	}
	tx.Rollback(t.Context())
	if _, err := s.Lookup(t.Context(), held); err != nil {
		t.Errorf("Lookup afterwards: %v", err)
	}
}

// TestFailedCommit: what a call reads is nothing before its commit has succeeded.
func TestFailedCommit(t *testing.T) {
	server := sharedServer(t)
	where := newURL(t, server)
	s := create(t, where)
	held := acquire(t, s)
	schema := schemaOf(t, where)
	run(t, server,
		"CREATE FUNCTION "+schema+".fail() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'not today'; END $$",
		"CREATE CONSTRAINT TRIGGER fail AFTER INSERT OR UPDATE ON "+schema+".ranges DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION "+schema+".fail()")
	_, acquireErr := s.Acquire(t.Context(), oneMinute)
	_, renewErr := s.Renew(t.Context(), held, time.Minute)
	for _, err := range []error{acquireErr, renewErr, s.Release(t.Context(), held, noon)} {
		if err == nil || !strings.Contains(err.Error(), "not today") {
			t.Errorf("error %v, want that of the commit", err)
		}
	}
	if got, err := s.Lookup(t.Context(), held); err != nil || got != held {
		t.Errorf("Lookup: %+v, %v; want %+v", got, err, held)
	}
}
