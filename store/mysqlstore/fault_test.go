//go:build linux

package mysqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/randflake/randflake/internal/servers"
	"github.com/randflake/randflake/store"
)

// TestLostReply: the request arrives and the reply does not. That is an error, and the swap is not repeated.
func TestLostReply(t *testing.T) {
	server := shared
	where := newURL(server)
	direct := prepared(t, where)
	proxy := startProxy(t, server)
	e := open(t, through(t, proxy.Addr(), where))
	before := put(t, e, "a", "1")
	proxy.LoseReply("")
	if a, err := e.Swap(t.Context(), entry("a", "1"), entry("a", "2")); err == nil {
		t.Fatalf("Swap without a reply: %+v", a)
	}
	if !proxy.Lost() {
		t.Error("no reply was lost")
	}
	waitUntil(t, func() bool { // it may still be under way
		got, _ := read(t, direct, "a")
		return got == "2"
	})
	if swaps := put(t, e, "a", "3").Position - before.Position; swaps != 2 {
		t.Errorf("%d swaps, want 2: the one without a reply, and one more", swaps)
	}
}

// TestRoundTrips: each call makes one.
func TestRoundTrips(t *testing.T) {
	server := shared
	where := newURL(server)
	put(t, prepared(t, where), "meta", "m")
	proxy := startProxy(t, server)
	e := open(t, through(t, proxy.Addr(), where))
	put(t, e, "a", "1")
	before := proxy.Requests()
	for _, value := range []string{"2", "3"} {
		_, err := e.Swap(t.Context(), append(entry("a", "1"), entry("meta", "m")...), entry("a", value)) // takes effect the first time
		must(t, err)
	}
	_, err := e.Read(t.Context(), []string{"meta"}, store.Page{To: "z", Limit: 5})
	must(t, err)
	if got := proxy.Requests() - before; got != 3 {
		t.Errorf("%d round trips for three calls", got)
	}
}

// status returns a number that the server counts.
func status(t testing.TB, server *servers.MySQL, name string) int {
	t.Helper()
	_, count, _ := strings.Cut(do(t, server, "SHOW GLOBAL STATUS LIKE '"+name+"'"), "\t")
	n, err := strconv.Atoi(count)
	must(t, err)
	return n
}

// TestSwapsThatCollide: of calls that each expect the absence of what the other one puts, which the server can often
// only serve by giving one up, one takes effect, and none fails.
func TestSwapsThatCollide(t *testing.T) {
	e := prepared(t, newURL(shared))
	for round := range 40 {
		names := [3]string{}
		for i := range names {
			names[i] = fmt.Sprintf("%d/%d", round, i)
		}
		var wg sync.WaitGroup
		var swapped [len(names)]bool
		for i, name := range names {
			wg.Go(func() {
				a, err := e.Swap(t.Context(), []store.Entry{{Name: names[(i+1)%3]}, {Name: names[(i+2)%3]}}, entry(name, "1"))
				if err != nil {
					t.Errorf("Swap: %v", err)
				}
				swapped[i] = a.Swapped
			})
		}
		wg.Wait()
		if n := strings.Count(fmt.Sprint(swapped), "true"); n != 1 {
			t.Errorf("round %d: %d swaps took effect, want 1", round, n)
		}
	}
}

// locked returns a function that ends a transaction which has locked an entry.
func locked(t testing.TB, e *Engine, name string) (unlock func()) {
	t.Helper()
	tx, err := e.db.BeginTx(t.Context(), nil)
	must(t, err)
	must(t, lock(tx, e, name))
	return func() { tx.Rollback() }
}

// lock locks an entry for a transaction.
func lock(tx *sql.Tx, e *Engine, name string) error {
	var value []byte
	return tx.QueryRow("SELECT value FROM "+e.config.Table+" WHERE name = ? FOR UPDATE", name).Scan(&value)
}

func waitUntil(t testing.TB, done func() bool) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); !done(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("waited for a minute")
		}
	}
}

// later makes a call that is to take effect, and sends its error, or nil.
func later(t testing.TB, e *Engine, expect, put []store.Entry) <-chan error {
	done := make(chan error)
	go func() {
		a, err := e.Swap(t.Context(), expect, put)
		if err == nil && !a.Swapped {
			err = fmt.Errorf("not swapped: %+v", a)
		}
		done <- err
	}()
	return done
}

// TestDeadlock: a call that the server gives up for a deadlock is made again. The call holds "a" and waits for "b", the
// test's transaction the other way round; the server gives up the one that has changed less.
func TestDeadlock(t *testing.T) {
	t.Parallel()
	server := ownServer(t)
	e := prepared(t, newURL(server))
	put(t, e, "a", "1")
	put(t, e, "b", "1")
	tx, err := e.db.BeginTx(t.Context(), nil)
	must(t, err)
	for i := range 100 {
		_, err := tx.Exec("INSERT INTO "+e.config.Table+" (name, value, calls) VALUES (?, '', 0)", fmt.Sprintf("x/%d", i))
		must(t, err)
	}
	must(t, lock(tx, e, "b"))
	waits, deadlocks := status(t, server, "Innodb_row_lock_waits"), status(t, server, "Innodb_deadlocks")
	done := later(t, e, append(entry("a", "1"), entry("b", "1")...), append(entry("a", "2"), entry("b", "2")...))
	waitUntil(t, func() bool { return status(t, server, "Innodb_row_lock_waits") > waits })
	must(t, lock(tx, e, "a"))
	if n := status(t, server, "Innodb_deadlocks") - deadlocks; n == 0 {
		t.Error("there was no deadlock: the test shows nothing")
	}
	must(t, tx.Rollback())
	if err := <-done; err != nil {
		t.Errorf("Swap: %v", err)
	}
}

// TestLockWait: a call that the server gives up while it waits for a lock is made again.
func TestLockWait(t *testing.T) {
	t.Parallel()
	server := ownServer(t, "--innodb-lock-wait-timeout=1")
	e := prepared(t, newURL(server))
	put(t, e, "a", "1")
	unlock := locked(t, e, "a")
	before := status(t, server, "Innodb_row_lock_waits")
	done := later(t, e, entry("a", "1"), entry("a", "2"))
	waitUntil(t, func() bool { return status(t, server, "Innodb_row_lock_waits") > before+1 })
	unlock()
	if err := <-done; err != nil {
		t.Errorf("Swap: %v", err)
	}
}

// TestCancel: a call that waits ends with its context, and leaves no transaction on a connection that others use.
func TestCancel(t *testing.T) {
	t.Parallel()
	server := ownServer(t)
	e := prepared(t, newURL(server))
	put(t, e, "a", "1")
	put(t, e, "b", "1")
	unlock := locked(t, e, "b")
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	before := status(t, server, "Innodb_row_lock_waits")
	go func() {
		_, err := e.Swap(ctx, append(entry("a", "1"), entry("b", "1")...), append(entry("a", "2"), entry("b", "2")...))
		done <- err
	}()
	waitUntil(t, func() bool { return status(t, server, "Innodb_row_lock_waits") > before })
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("Swap: %v, want context.Canceled", err)
	}
	unlock()
	for i := range 8 {
		put(t, e, "a", fmt.Sprint(i))
	}
}

// TestServerDown: calls fail while the server stalls or is down, and work again after.
func TestServerDown(t *testing.T) {
	t.Parallel()
	server := ownServer(t)
	e := prepared(t, newURL(server))
	put(t, e, "a", "1")
	must(t, server.Pause())
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if _, err := e.Swap(ctx, nil, entry("a", "2")); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Swap on a server that stalls: %v", err)
	}
	must(t, server.Resume())
	put(t, e, "a", "3")
	must(t, server.Kill())
	if _, err := e.Swap(t.Context(), nil, entry("a", "4")); err == nil {
		t.Error("Swap without a server works")
	}
	must(t, server.Start())
	put(t, e, "a", "5")
}

// TestCallersDatabase: New works with connections of the caller's, says what they lack, and leaves them open.
func TestCallersDatabase(t *testing.T) {
	server := shared
	d, _, _, err := parseURL(server.URL())
	must(t, err)
	for _, able := range []bool{true, false} {
		d.MultiStatements, d.InterpolateParams, d.ParseTime = able, able, true
		db, err := sql.Open("mysql", d.FormatDSN())
		must(t, err)
		defer db.Close()
		e, err := New(t.Context(), db, Config{Table: fmt.Sprintf("test_%d", tables.Add(1))})
		if !able {
			if err == nil || !strings.Contains(err.Error(), "multiStatements=true") {
				t.Errorf("New without multiStatements: %v", err)
			}
			continue
		}
		must(t, err)
		must(t, e.Prepare(t.Context()))
		put(t, e, "a", "1")
		if !strings.HasSuffix(e.String(), "/randflake") {
			t.Errorf("String: %s", e)
		}
		must(t, e.Close())
		must(t, db.Ping())
	}
}
